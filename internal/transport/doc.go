// Package transport makes every HTTP request of relock; no other package makes
// an http.Client or an http.RoundTripper.
//
// It holds the rules that must not depend on a caller's care. Each answer is
// bounded, and one that is longer or shorter than announced is an error.
// Credentials stay with the host and port that they were given for. A redirect
// never leads from https to http. Which addresses are dialed is a table, by what
// an address is and who named the host: a Client is for one Namer. It is applied
// to what names resolve to, at each hop.
// Errors and logs name a URL without its query and user information. Every
// request and every byte received is counted.
//
// Questions that change nothing are asked again here and nowhere else: also where
// a body breaks off. A long transfer that breaks goes on where it broke.
// A host that leaves questions without an answer is asked no more, except for probes.
//
// No answer outlives a run: one that did would stand for TLS, and anyone who could
// write it would speak for every server.
//
// What a status or a body means is left to the callers.
package transport
