// Package problem is what relock says is wrong: in somebody's files, with the
// answer of a server, with a hash of a lock file, or with the run itself. Every
// other package reports by it.
//
// Each problem has a code, which is the same in every output format and which
// programs go by. An error that has a code travels as an Error, with its cause.
// The package asks nobody and prints nothing: how people read a problem is decided
// in package report.
package problem
