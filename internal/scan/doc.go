// Package scan finds the root modules in a repository's file tree and says what
// each of them requires of which provider, term by term, with the place of
// every term.
//
// A root module is a directory in which a tool is run. Its requirements are
// those of its module tree: of the root module, of each module that it calls,
// of those that they call, and of the modules that its tests run. The rules
// are the tools' own, by release, and where both differ by tool. Scanning runs
// nothing, asks no network itself and follows no link out of the file tree. What
// is elsewhere it asks a Source for, which gives it file trees of their own. A
// module call that cannot be followed is Unread: the requirements of that root
// module are then incomplete, and what to make of that is somebody else's
// decision.
//
// Where a tool evaluates the sources of modules before it installs them, so does
// the package, within bounds of size and effort. What depends on more than the
// files and Options is not statically known, and the call unread.
//
// What one directory holds is read by package tfconfig.
package scan
