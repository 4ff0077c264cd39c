package transport

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxValidity is how long an answer is valid at most, whatever the server says.
// Registries stand behind caches that promise more than a new release can wait.
const maxValidity = time.Hour

// kept is an answer of status 200 as it is kept.
type kept struct {
	URL    string      // that was answered, without its query
	Header http.Header // of keptHeaders
	// Asked are those headers of the question that the answer depends on.
	Asked map[string]string
	At    time.Time // when the server last gave or confirmed it
	body  []byte
}

// keptHeaders are those that callers or this package make something of.
var keptHeaders = []string{"Age", "Cache-Control", "Content-Type", "Etag", "Last-Modified", "Vary"}

// newKept returns an answer as it is kept.
func newKept(r Request, resp *Response, now time.Time) *kept {
	plain := *resp.URL
	plain.User, plain.RawQuery, plain.Fragment = nil, "", ""
	k := &kept{URL: plain.String(), Header: http.Header{}, Asked: map[string]string{}, At: now, body: resp.Body}
	for _, name := range keptHeaders {
		if values := resp.Header.Values(name); len(values) > 0 {
			k.Header[name] = values
		}
	}
	for name := range directives(k.Header, "Vary") {
		k.Asked[name] = strings.Join(r.Header.Values(name), ",")
	}
	return k
}

// answers reports whether this is the answer to a question with these headers.
func (k *kept) answers(r Request) bool {
	for name, value := range k.Asked {
		if strings.Join(r.Header.Values(name), ",") != value {
			return false
		}
	}
	return true
}

// confirmed returns the answer after the server has said that it still holds,
// with what it said beside that.
func (k *kept) confirmed(r Request, resp *Response, now time.Time) *kept {
	again := newKept(r, resp, now)
	for name, values := range k.Header {
		if name != "Age" && again.Header.Get(name) == "" {
			again.Header[name] = values
		}
	}
	again.Asked, again.body = k.Asked, k.body
	return again
}

// response returns the answer as the server gave it.
func (k *kept) response() (*Response, error) {
	u, err := url.Parse(k.URL)
	if err != nil {
		return nil, err
	}
	size := int64(len(k.body))
	return &Response{Status: http.StatusOK, Header: k.Header, URL: u, Size: size, Body: k.body, Kept: true}, nil
}

// valid reports whether the answer can be taken without asking. One from the
// future is of another clock.
func (k *kept) valid(otherwise time.Duration, now time.Time) bool {
	validity, keepable := k.validity(otherwise)
	age := now.Sub(k.At)
	return keepable && age >= 0 && age < validity
}

// validity is how long the answer is valid from when it was given, by the rules
// of RFC 9111 for a cache that one user has, and whether it may be kept at all.
// What the server does not say is decided otherwise.
func (k *kept) validity(otherwise time.Duration) (validity time.Duration, keepable bool) {
	control := directives(k.Header, "Cache-Control")
	_, never := control["no-store"]
	_, varies := k.Asked["*"]
	if never || varies {
		return 0, false
	}
	if _, confirm := control["no-cache"]; confirm {
		return 0, true
	}
	text, stated := control["max-age"]
	if !stated {
		return otherwise, true
	}
	age, _ := strconv.Atoi(k.Header.Get("Age"))
	seconds, _ := strconv.Atoi(text) // what is no number has expired
	seconds = max(min(seconds-max(age, 0), int(maxValidity/time.Second)), 0)
	return time.Duration(seconds) * time.Second, true
}

// directives reads a header that is a list of names, some with a value.
func directives(h http.Header, name string) map[string]string {
	found := map[string]string{}
	for directive := range strings.SplitSeq(strings.Join(h.Values(name), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		if name != "" {
			found[strings.ToLower(name)] = strings.Trim(value, `"`)
		}
	}
	return found
}

// conditions are the headers that ask for another answer only; none if there is
// nothing to tell answers apart by.
func (k *kept) conditions() http.Header {
	if etag := k.Header.Get("Etag"); etag != "" {
		return http.Header{"If-None-Match": {etag}}
	}
	if modified := k.Header.Get("Last-Modified"); modified != "" {
		return http.Header{"If-Modified-Since": {modified}}
	}
	return nil
}

// recall is Do for answers that may be kept.
func (c *Client) recall(ctx context.Context, r Request) (*Response, error) {
	known := c.opts.Answers.find(r)
	if known == nil || r.Fresh {
		return c.askAndKeep(ctx, r)
	}
	resp, err := known.response()
	if err != nil {
		return c.askAndKeep(ctx, r)
	}
	if !c.opts.Confirm && known.valid(r.Validity, c.opts.Answers.now()) {
		c.guard.meet(ctx, resp.URL)
		c.opts.Log.DebugContext(ctx, "kept answer", "url", Redact(r.URL))
		c.recalled.Add(1)
		return resp, nil
	}
	return c.confirm(ctx, r, known)
}

func (c *Client) askAndKeep(ctx context.Context, r Request) (*Response, error) {
	resp, err := c.ask(ctx, r)
	if err == nil && resp.Status == http.StatusOK {
		c.keep(ctx, r, newKept(r, resp, c.opts.Answers.now()))
	}
	return resp, err
}

// confirm asks whether a kept answer still holds.
func (c *Client) confirm(ctx context.Context, r Request, known *kept) (*Response, error) {
	conditions := known.conditions()
	if conditions == nil {
		return c.askAndKeep(ctx, r)
	}
	asking := r
	asking.Header = conditions
	maps.Copy(asking.Header, r.Header)
	resp, err := c.askAndKeep(ctx, asking)
	if err != nil || resp.Status != http.StatusNotModified {
		return resp, err
	}
	known = known.confirmed(r, resp, c.opts.Answers.now())
	c.keep(ctx, r, known)
	return known.response()
}

// keep is no reason for a run to fail.
func (c *Client) keep(ctx context.Context, r Request, k *kept) {
	if err := c.opts.Answers.keep(r, k); err != nil {
		c.opts.Log.DebugContext(ctx, "an answer could not be kept", "url", Redact(r.URL), "reason", err)
	}
}
