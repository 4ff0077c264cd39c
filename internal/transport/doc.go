// Package transport makes every HTTP request of relock; no other package makes an
// http.Client or an http.RoundTripper.
//
// It holds the rules that must not depend on a caller's care:
//
//   - Each answer has a size limit. One that is longer or shorter than announced is an error.
//   - Credentials stay with the host and port that they were given for.
//   - A redirect never leads from https to http.
//   - A table says which addresses may be dialed, by kind of address and by Namer.
//     It is applied to the resolved addresses of each hop. A Client is for one Namer.
//   - Errors and logs name a URL without its query and user information.
//   - Every request and every byte received is counted.
//
// Requests that change nothing are retried here and nowhere else, also after a
// body that breaks off. A long transfer that breaks continues where it broke. A
// silent host gets no more requests, except for probes.
//
// No answer outlives a run. A cache would replace TLS: a person who can write it
// could speak for every server.
//
// Callers decide what a status or a body means.
package transport
