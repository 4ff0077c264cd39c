// Package safe makes outside text harmless before people see it: the content of
// lock files, registries, release notes, branches and comments, and every name
// that others chose.
//
// A text for people is Markdown. Its words are constants; outside text enters it
// by Text or Code. There are three outputs. On GitHub an outside piece is never
// markup, a mention, a reference, a closing keyword or a link. On a terminal it
// is one line without escape sequences. A page of HTML gets the text in pieces. A
// whole Markdown text of others, such as release notes, is Quoted. Text only for
// a terminal or for a program may be Plain. In a command that people copy, it is a
// ShellWord.
package safe
