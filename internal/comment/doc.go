// Package comment is the language in which people steer relock under a pull
// request and under relock's issue, and the decision who may.
//
// A command is a line of a comment that begins with /relock. Commands finds them. Verbs is
// the one table of what may follow: Parse reads by it, Help and docs/comments.md are
// written from it. Decide says whether a command is carried out. It asks a Source for each
// fact when what is known before does not refuse the command.
//
// A comment is written by strangers. Everything here is bounded, no message of this package
// repeats anything of a comment, and words are only ever words: there is no
// shell, no expansion and no escape.
package comment
