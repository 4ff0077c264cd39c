// Package module fetches child modules that are not on disk, as the tools'
// init does [terraform 1.11 internal/initwd/module_install.go]: from module
// registries, git repositories, archives behind URLs, object stores and OCI
// repositories. It is a scan.Source. Mercurial repositories are not read.
//
// A source address is a registry address or a remote one. A registry address
// stands for a remote one, which the registry says once a version is selected.
// A remote address names a package (a commit of a repository, an archive, a
// directory of a store) and a directory in it. Packages are fetched once in a
// run; what is kept of one is its directories, and the files that
// configuration is read from. Nothing is ever checked out or unpacked where it
// would be followed or run, and whatever comes from outside is bounded.
//
// Sources may come from anyone who can write to a repository, and registries
// and servers may answer anything. Which local paths, hosts and credentials a
// source may use is said by Options, never by a source.
package module
