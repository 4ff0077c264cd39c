// Package conversation carries out commands in comments under pull requests and under
// relock's issue, and answers them.
//
// Package comment reads the command and decides whether its author may give it. This package
// asks GitHub for the facts of that decision, makes a run.Ask of the command, and writes the
// answer. A command about a pull request of ours becomes what a scheduled run would ask, for
// that pull request alone.
package conversation
