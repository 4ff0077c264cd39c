package github

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
)

// The bounds of what is remembered. Lists of refs and pull requests are below
// the first one; trees and archives, which are asked for once, need not be.
const (
	largestKept = 1 << 20
	mostKept    = 64 << 20
)

// revalidating remembers answers with their ETags for the life of a Client, and
// asks again with If-None-Match. GitHub does not count an answer that nothing
// has changed [docs.github.com, "Best practices for using the REST API", "Use
// conditional requests if appropriate"]: a caller that lost a race reads again for
// nothing. It is above the limits, whose refusals are not remembered.
type revalidating struct {
	next http.RoundTripper

	mu   sync.Mutex
	kept map[question]answer
	size int
}

// question is what the answer to a GET depends on, in addition to the token.
type question struct{ url, accept string }

type answer struct {
	header http.Header
	body   []byte
}

func (r *revalidating) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet || req.Header.Get("If-None-Match") != "" {
		return r.next.RoundTrip(req)
	}
	q := question{req.URL.String(), req.Header.Get("Accept")}
	r.mu.Lock()
	known, ok := r.kept[q]
	r.mu.Unlock()
	if ok {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", known.header.Get("ETag"))
	}
	resp, err := r.next.RoundTrip(req)
	switch {
	case err != nil:
		return nil, err
	case ok && resp.StatusCode == http.StatusNotModified:
		return known.instead(resp), nil
	case resp.StatusCode == http.StatusOK && changes(resp.Header):
		r.keep(q, resp)
	}
	return resp, nil
}

// changes reports whether a later answer may be another: blobs and archives, which
// are no JSON, are what they are for ever.
func changes(h http.Header) bool {
	return h.Get("ETag") != "" && strings.HasPrefix(h.Get("Content-Type"), "application/json")
}

// instead is the answer as the server would give it again.
func (a answer) instead(resp *http.Response) *http.Response {
	resp.Body.Close()
	resp.Status, resp.StatusCode = "200 OK", http.StatusOK
	resp.Header = a.header.Clone()
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body))
	return resp
}

// keep remembers an answer when it has been read to its end, if it is small.
func (r *revalidating) keep(q question, resp *http.Response) {
	if resp.ContentLength > largestKept {
		return
	}
	resp.Body = &smallBody{ReadCloser: resp.Body, whole: func(body []byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		size := r.size - len(r.kept[q].body) + len(body)
		if size > mostKept {
			return
		}
		if r.kept == nil {
			r.kept = make(map[question]answer)
		}
		r.size = size
		r.kept[q] = answer{resp.Header.Clone(), body}
	}}
}

// smallBody gathers what is read of a body, as long as it is small.
type smallBody struct {
	io.ReadCloser
	read  []byte
	whole func([]byte) // called once, at the end of a small body
}

func (m *smallBody) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	if m.whole == nil {
		return n, err
	}
	m.read = append(m.read, p[:n]...)
	if len(m.read) > largestKept {
		m.read, m.whole = nil, nil
	} else if err == io.EOF {
		m.whole(m.read)
		m.whole = nil
	}
	return n, err
}

// Close reads what may be left of a small body, as after the end of a JSON value.
func (m *smallBody) Close() error {
	if m.whole != nil {
		io.CopyN(io.Discard, m, bytes.MinRead) // an error leaves the answer unremembered
	}
	return m.ReadCloser.Close()
}
