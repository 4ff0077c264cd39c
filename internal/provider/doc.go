// Package provider is the vocabulary of all packages of relock. It has provider
// source addresses, the tools and their rules by release, versions and
// constraints, platforms, hashes, and a registry's statements about a release and
// its packages.
//
// Dependency lock files are compared byte for byte, so each type has one
// canonical form: String produces it, and its parser accepts it. The package uses
// no file, no network and no clock.
package provider
