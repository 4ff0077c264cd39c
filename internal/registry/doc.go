// Package registry finds out which releases a provider has, and what the package
// of a release hashes to, from every place that the tools get providers from:
// the registry of the provider's own host, filesystem and network mirrors, and
// OpenTofu's OCI mirrors. The tool's installation methods say which of them are
// asked for a provider, in which order [terraform 1.11 provider_source.go].
//
// Of a registry nothing is returned as proven that is not: the checksum list is
// verified by the keys that the registry announces, the archive by the list, and
// the h1 is computed from the archive. What the tools believe beyond that is
// marked: the hashes that registry.opentofu.org reports and lists without a key
// there, and all that comes from a mirror, which the operator has chosen to
// trust. Where the operator says so, what that registry reports is taken for
// packages of other registries as well, and marked too. A mirror's package must
// match what the mirror itself says of it.
//
// Each question is asked once in a run, whatever the tool where that changes
// nothing, and each archive is downloaded once. No answer outlives a run: only what
// packages hash to is remembered, by their verified zh.
package registry
