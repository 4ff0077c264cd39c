// Package problem is what relock says is wrong: in somebody's files, with the
// answer of a server, with a hash of a lock file, or with the run itself. Every
// other package reports by it.
//
// Each problem has a code, which is the same in every output format and which
// programs go by. A Problem is a value; one that makes a function fail travels as
// an Error, with its cause. Its Place is a path in the repository: Naming says how
// people name that, and is asked where the place is printed. The package asks
// nobody and prints nothing.
package problem
