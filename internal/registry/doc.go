// Package registry finds the releases of a provider and the hashes of its packages. It asks
// every source of the tools: the registry of the provider's own host, filesystem and
// network mirrors, and OpenTofu's OCI mirrors. The tool's installation methods say which
// sources are asked about a provider, and in which order [terraform 1.11
// provider_source.go].
//
// Nothing from a registry is returned as proven unless it is:
//
//   - The keys that the registry announces prove the checksum list.
//   - The checksum list proves the archive.
//   - relock computes the h1 from the archive.
//
// The tools believe more than that, and the result marks it:
//
//   - the hashes that registry.opentofu.org reports, and its lists without a key;
//   - every hash from a mirror, which the operator has chosen to trust;
//   - hashes that registry.opentofu.org reports for other registries, if the operator allows it.
//
// A mirror's package must match the mirror's own hashes.
//
// A Client answers many small questions instead of a few large ones. Callers mostly want
// one fact, such as a size or a date, and each fact may cost a request. Each place of
// packages is a file, from its requests to its hashes. What reads and checks an answer
// asks nothing.
//
// Each question is asked once in a run, unless the tool changes the answer. Each archive is
// downloaded once. No answer outlives a run. Only the hashes of packages are remembered, by
// their verified zh.
package registry
