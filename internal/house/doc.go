// Package house has tests that read the repository, and run nothing. They hold which
// package imports which, the laws of the shape of the code, the
// sources of the rules of the tools, and what the documents say of all that.
//
// The tests open what they judge in their own process. go test keeps the result of a
// package until the program of its tests changes, or a file, a directory or a variable
// that the tests opened. What a child such as go list reads is not among them: a
// forbidden import would pass as cached.
package house
