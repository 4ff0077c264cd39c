// Package problem has relock's statements that something is wrong: with a user's
// files, the answer of a server, a hash of a lock file, or the run itself. Every
// other package reports with it.
//
// Each problem has a code for programs, which is the same in every output format.
// A Problem is a value; an Error carries one that makes a function fail, with its
// cause. Its Place is a path in the repository. Naming turns the path into the
// name that people use, when the place is printed. The package reads no file and
// prints nothing.
package problem
