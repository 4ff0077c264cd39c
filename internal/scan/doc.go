// Package scan finds the root modules in a repository's file tree, and what each of them
// requires of each provider, term by term, with the place of every term.
//
// A root module is a directory in which a tool is run. Its requirements are those of its
// module tree: the root module, the modules that it calls, the modules that those call, and
// the modules that its tests run. The rules are those of the tools, by release, and by tool
// where they differ. Scanning runs nothing, makes no request itself, and follows no link
// out of the file tree. For modules elsewhere it asks a Source, which returns file trees. A
// module call that cannot be followed is Unread. The requirements of that root module are
// then incomplete, and the caller decides about them.
//
// If a tool evaluates the sources of modules before it installs them, so does the package,
// within bounds of size and effort. A value that depends on more than the files and Options
// is not statically known. Then the call is unread.
//
// If nobody names the release of the tool, it is the newest one that the required_version
// constraints of the module tree allow. The tree is read by the newest rules to find it,
// and then again by its own rules.
//
// A root module that runs with several sets of values is read once for each set that makes
// a difference. The readings are joined before the result is returned, so callers do not
// know of them.
//
// Package tfconfig reads the files of one directory.
package scan
