// Package registry speaks the provider registry protocol for both tools: which
// releases a provider has, and what the package of a release hashes to.
//
// Nothing is returned as proven that is not: the checksum list is verified by
// the keys that the registry announces, the archive by the list, and the h1 is
// computed from the archive. What OpenTofu believes beyond that - the hashes
// that registry.opentofu.org reports, and lists without a key there - is marked
// as reported and unsigned.
//
// Each question is asked once in a run, for both tools where they would ask the
// same, and each archive is downloaded once.
package registry
