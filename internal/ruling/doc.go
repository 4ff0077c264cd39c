// Package ruling holds the entries of lock files against the rules of a repository, also those
// that relock did not write. It says which provider, version, age or signer the rules refuse.
//
// A rule binds what a change does: an entry is changed if its version is another one than on
// the base of the change, or is not there. What was there before is reported, and fails nothing
// unless all entries are judged alike. More hashes, other constraints and other comments are no
// change, and nor is a lock file that was moved as it is.
//
// What relock proposes obeys the same rules (package upgrade), but where they leave no release
// that the constraints allow: the tools need an entry, so that one is proposed. Such an entry is
// a warning here.
package ruling
