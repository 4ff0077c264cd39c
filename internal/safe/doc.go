// Package safe makes text from outside harmless before a person sees it: what lock
// files, registries, release notes, branches and comments say, and every name that
// somebody could choose.
//
// A text for people is Markdown: its words are constants, and each piece from outside
// enters it by Text or Code. It is printed in three ways. On GitHub a piece becomes
// neither markup nor a mention, a reference, a closing keyword or a link. On a terminal it
// is one line without escape sequences, and for a page of HTML the text is taken apart. A
// whole Markdown text of others, such as release notes, is Quoted. What a terminal alone
// shows, or a format for programs, may be Plain.
package safe
