package transport

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/relock-dev/relock/internal/problem"
)

// maxResumes is how often a transfer that breaks is taken up again. What breaks
// more often than that will not end in a time that a run can wait.
const maxResumes = 5

// state is what tells a body from any other that its URL may stand for.
type state struct {
	validator string // an entity tag or a date, as If-Range takes it
	size      int64
}

// resumable returns the state of a body whose rest can be asked for: the server
// must have said how long it is, and by what it knows it again, in a way that is
// strong in the words of RFC 9110. A date is so if it is at least a second older
// than the answer. What net/http has unpacked has other bytes than were sent.
func resumable(resp *Response) (state, bool) {
	s := state{validator: resp.Header.Get("Etag"), size: resp.Size}
	if s.validator == "" {
		s.validator = resp.Header.Get("Last-Modified")
		modified, err := http.ParseTime(s.validator)
		date, dateErr := http.ParseTime(resp.Header.Get("Date"))
		if err != nil || dateErr != nil || date.Sub(modified) < time.Second {
			return s, false
		}
	}
	return s, s.size > 0 && !strings.HasPrefix(s.validator, "W/")
}

// repeatable reports whether the body of an answer is what its URL stands for, so
// that asking again may give the same one.
func repeatable(r Request, resp *Response) bool {
	get := cmp.Or(r.Method, http.MethodGet) == http.MethodGet && r.Header.Get("Range") == ""
	return get && resp.Status == http.StatusOK
}

// resuming is a body that goes on where its transfer breaks: by the rest of the
// very same body, if the server can tell it from others; else by a body that
// begins with the bytes that were read, of which a digest is kept.
type resuming struct {
	client  *Client
	inquiry *inquiry // which ends with the body
	request Request
	state
	ranges bool // whether the rest can be asked for
	body   io.ReadCloser
	read   int64
	digest maphash.Hash // of what was read
	left   int          // of maxResumes; none where nothing is sent again
}

func newResuming(c *Client, q *inquiry, r Request, resp *Response, body io.ReadCloser) *resuming {
	b := &resuming{client: c, inquiry: q, request: r, body: body}
	if c.retries(r) > 0 && repeatable(r, resp) {
		b.left = maxResumes
	}
	b.state, b.ranges = resumable(resp)
	return b
}

// Read returns the error of a broken transfer if it cannot be taken up again.
func (b *resuming) Read(p []byte) (int, error) {
	for {
		n, err := b.body.Read(p)
		b.read += int64(n)
		b.digest.Write(p[:n])
		if err == nil || err == io.EOF || !b.resume(err) {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
	}
}

func (b *resuming) Close() error {
	defer b.client.guard.shared.hosts.end(b.inquiry)
	return b.body.Close()
}

// resume replaces a broken body by one that begins where it ended, and reports
// whether it could. A server that refuses or fails once is not asked again.
func (b *resuming) resume(broken error) bool {
	if !problem.Coded(broken, problem.CodeUnreachable) || b.left == 0 {
		return false
	}
	b.body.Close() // that it broke is known
	for b.left > 0 && b.wait() {
		b.left--
		rest, broke := b.rest()
		if rest != nil {
			b.body = rest
			return true
		}
		if !broke {
			return false
		}
	}
	return false
}

// wait lets the server come to itself, longer each time, and others go before: for
// these the time of the question does not run.
func (b *resuming) wait() bool {
	q, turn, opts := b.inquiry, b.request.Turn, b.client.opts
	if turn != nil {
		turn.Leave()
	}
	q.wait()
	err := waitFor(q.ctx, retryablehttp.DefaultBackoff(opts.RetryWait, max(maxRetryWait, opts.RetryWait), maxResumes-b.left, nil))
	q.rest(0)
	return err == nil && (turn == nil || turn.Enter(q.ctx) == nil)
}

// rest asks for what is missing; nil if the server does not give it, and whether
// that is because the transfer broke again. It asks the URL that was asked first:
// the one that it redirects to may be for a short time or for one use. A server
// that knows no ranges sends the whole body again.
func (b *resuming) rest() (rest io.ReadCloser, broke bool) {
	r := b.request
	if b.ranges {
		r.Header = http.Header{"Range": {fmt.Sprintf("bytes=%d-", b.read)}, "If-Range": {b.validator}}
		maps.Copy(r.Header, b.request.Header)
	}
	b.inquiry.repeated, b.inquiry.silent = true, true
	b.inquiry.wait()
	resp, body, err := b.client.begin(b.inquiry, r)
	if err != nil {
		return nil, false
	}
	same := b.ranges && b.isRest(resp)
	if !same && resp.Status == http.StatusOK {
		same, err = b.isSame(resp, body)
	}
	if !same {
		body.Close()
		return nil, problem.Coded(err, problem.CodeUnreachable)
	}
	return body, false
}

// isSame reads as much of a body as was read of the broken one, and reports
// whether these are the same bytes. What follows them belongs to this body, so
// that what the reader gets in all is this body, whatever the other one was.
func (b *resuming) isSame(resp *Response, body io.Reader) (bool, error) {
	if resp.Size >= 0 && b.size >= 0 && resp.Size != b.size {
		return false, nil
	}
	var again maphash.Hash
	again.SetSeed(b.digest.Seed())
	if _, err := io.CopyN(&again, body, b.read); err != nil {
		return false, err
	}
	return again.Sum64() == b.digest.Sum64(), nil
}

// isRest reports whether the answer is what is missing of the very same body.
func (b *resuming) isRest(resp *Response) bool {
	etag := resp.Header.Get("Etag")
	return resp.Status == http.StatusPartialContent && resp.Size == b.size-b.read &&
		resp.Header.Get("Content-Range") == fmt.Sprintf("bytes %d-%d/%d", b.read, b.size-1, b.size) &&
		(etag == "" || etag == b.validator || !strings.HasPrefix(b.validator, `"`))
}
