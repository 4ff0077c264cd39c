// Package safe makes text from outside harmless before a person sees it: what lock
// files, registries, release notes, branches and comments say, and every name that
// somebody could choose.
//
// There are three places in which such text is shown. On a terminal it is Plain: one
// line without escape sequences. In Markdown as GitHub renders it, it is Inert or Code:
// it becomes neither markup nor a mention, a reference, a closing keyword or a link. A
// whole Markdown text of others, such as release notes, is Quoted.
package safe
