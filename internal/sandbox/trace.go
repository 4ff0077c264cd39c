package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// Request is one request that the sandbox has received.
type Request struct {
	Method     string
	Path       string // decoded, without the query
	Authorized bool   // an Authorization header came with it
	Query      bool   // of GraphQL, which is a POST although it only reads
	Status     int    // of the answer; 0 if there was none
	Bytes      int64  // sent of the answer's body
}

// String returns the method and the path.
func (r Request) String() string { return r.Method + " " + r.Path }

// Writes reports whether the request could change something.
func (r Request) Writes() bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !r.Query
}

// Before adds a hook that runs before each request is answered, on the goroutine
// that answers it. With a hook, a test can change the world between two requests.
func (s *Sandbox) Before(hook func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = append(s.before, hook)
}

// After adds a hook that runs when the answer to a request is complete. The
// client may not have read it yet.
func (s *Sandbox) After(hook func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = append(s.after, hook)
}

// Requests returns all requests so far, in order of arrival.
func (s *Sandbox) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := make([]Request, len(s.log))
	for i, r := range s.log {
		requests[i] = *r
	}
	return requests
}

// ResetRequests empties the log.
func (s *Sandbox) ResetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = nil
}

// Downloads returns the number of provider packages that were requested, and
// their sent bytes, since the start or the last ResetRequests.
func (s *Sandbox) Downloads() (packages int, bytes int64) {
	for _, r := range s.Requests() {
		if r.Method == http.MethodGet && isPackage(r.Path) {
			packages++
			bytes += r.Bytes
		}
	}
	return packages, bytes
}

func isPackage(p string) bool {
	name := path.Base(p)
	return strings.HasPrefix(name, "terraform-provider-") && path.Ext(name) == ".zip"
}

// observe logs each request and runs the hooks around it.
func (s *Sandbox) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := isQuery(r)
		s.mu.Lock()
		entry := &Request{Method: r.Method, Path: r.URL.Path, Authorized: r.Header.Get("Authorization") != "", Query: query}
		s.log = append(s.log, entry)
		before, after := s.before, s.after
		s.mu.Unlock()

		run(before, r)
		defer run(after, r) // also when a fault aborts the answer
		next.ServeHTTP(&observed{ResponseWriter: w, sandbox: s, entry: entry}, r)
	})
}

// isQuery reports whether a POST to GraphQL only reads.
func isQuery(r *http.Request) bool {
	if r.URL.Path != graphqlPath || r.Method != http.MethodPost {
		return false
	}
	var posted struct{ Query string }
	if json.Unmarshal(peek(r), &posted) != nil {
		return false
	}
	document, err := parser.ParseQuery(&ast.Source{Input: posted.Query})
	return err == nil && len(document.Operations) == 1 && document.Operations[0].Operation == ast.Query
}

// peek reads a body, up to GitHub's limit, so that it can be read again.
func peek(r *http.Request) []byte {
	head, _ := io.ReadAll(io.LimitReader(r.Body, maxRequest)) // the next reader meets the error again
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), r.Body), r.Body}
	return head
}

func run(hooks []func(*http.Request), r *http.Request) {
	for _, hook := range hooks {
		hook(r)
	}
}

// observed logs status and size before it passes them on. So a client that has
// read an answer finds all of it in the log.
type observed struct {
	http.ResponseWriter
	sandbox *Sandbox
	entry   *Request
}

func (o *observed) WriteHeader(status int) {
	o.note(status, 0)
	o.ResponseWriter.WriteHeader(status)
}

func (o *observed) Write(p []byte) (int, error) {
	o.note(http.StatusOK, len(p))
	return o.ResponseWriter.Write(p)
}

func (o *observed) note(status, bytes int) {
	o.sandbox.mu.Lock()
	defer o.sandbox.mu.Unlock()
	if o.entry.Status == 0 {
		o.entry.Status = status
	}
	o.entry.Bytes += int64(bytes)
}

// Unwrap serves http.ResponseController.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }
