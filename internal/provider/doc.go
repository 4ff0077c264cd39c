// Package provider is the vocabulary that every other package of relock
// shares: provider source addresses, the tools and their rules by release,
// versions and version constraints, platforms, hashes, what a registry says of
// a release and of its packages, and the diagnostics that people read.
//
// Each type has one canonical form, produced by its String method and accepted
// by its parser, because dependency lock files are compared byte for byte.
// The package knows no file, no network and no clock.
package provider
