// Package conversation carries out commands in comments under pull requests and under
// relock's issue, and answers them.
//
// What a comment says is comment's to read, and so is the decision who may. This package asks
// GitHub for what that decision rests on, makes a run.Ask of the command, and writes the
// answer. A command about a pull request of ours becomes what a scheduled run would ask, for
// that pull request alone.
package conversation
