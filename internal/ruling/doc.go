// Package ruling compares the entries of lock files with the rules of a repository, also
// entries that relock did not write. It returns which provider, version, age or signer the
// rules refuse.
//
// A rule applies to changed entries. An entry is changed if its version differs from the
// base of the change, or if it is new. A refused entry that is unchanged is reported, and
// fails nothing, unless all entries are judged in the same way. Other hashes, constraints
// or comments are no change, and neither is a moved lock file.
//
// relock's proposals follow the same rules (package upgrade), with one exception: the rules
// may leave no release that the constraints allow. The tools need an entry, so relock
// proposes one. Such an entry is a warning here.
package ruling
