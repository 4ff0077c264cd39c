// Package module fetches child modules that are not on disk, as the tools' init does
// [terraform 1.11 internal/initwd/module_install.go]. It fetches from module registries,
// git repositories, archives at URLs, object stores and OCI repositories. It does not read
// Mercurial repositories. It is a scan.Source.
//
// A source address is a registry address or a remote address. For a registry address and a
// selected version, the registry returns a remote address. A remote address names a package
// (a commit of a repository, an archive, a directory of a store) and a directory in it.
//
// Each package is fetched once in a run. Its directories and its configuration files are
// kept, and its hash if a lock file of modules needs it. With Options.Whole, the cache gets
// all files of pinned packages. Nothing is checked out or unpacked to a place where a link
// could be followed or a file be run. Everything from outside is bounded.
//
// Sources may come from anyone who can write to a repository, and registries and servers
// may answer anything. Only Options, and never a source, decide which local paths, hosts
// and credentials may be used.
package module
