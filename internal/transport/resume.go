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

// maxResumes is how often a broken transfer is resumed. One that breaks more
// often does not end in an acceptable time.
const maxResumes = 5

// state identifies a body among all bodies of its URL.
type state struct {
	validator string // an entity tag or a date, for If-Range
	size      int64
}

// resumable returns the state of a body whose rest can be requested. The server
// must have sent its length and a validator that is strong by RFC 9110. A date is
// strong if it is at least a second older than the answer. A body that net/http
// has unpacked is not resumable: its bytes differ from the sent ones.
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

// repeatable reports whether a new request for the URL may give the same body.
func repeatable(r Request, resp *Response) bool {
	get := cmp.Or(r.Method, http.MethodGet) == http.MethodGet && r.Header.Get("Range") == ""
	return get && resp.Status == http.StatusOK
}

// resuming is a body that continues after its transfer breaks. It continues with
// the rest of the same body, if the server can identify it. Otherwise it takes a
// new body that begins with the same bytes, which it compares by a digest.
type resuming struct {
	client  *Client
	inquiry *inquiry // it ends with the body
	request Request
	state
	ranges bool // the rest can be requested
	body   io.ReadCloser
	read   int64
	digest maphash.Hash // of the bytes that were read
	left   int          // of maxResumes; 0 if nothing is sent again
}

func newResuming(c *Client, q *inquiry, r Request, resp *Response, body io.ReadCloser) *resuming {
	b := &resuming{client: c, inquiry: q, request: r, body: body}
	if c.retries(r) > 0 && repeatable(r, resp) {
		b.left = maxResumes
	}
	b.state, b.ranges = resumable(resp)
	return b
}

// Read returns the error of a broken transfer if it cannot be resumed.
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
// whether it could. After one refusal or failure the server is not asked again.
func (b *resuming) resume(broken error) bool {
	if !problem.Coded(broken, problem.CodeUnreachable) || b.left == 0 {
		return false
	}
	b.body.Close() // it is broken anyway
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

// wait gives the server time, longer each time, and hands the turn over. The
// question's time does not run meanwhile.
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

// rest requests the missing bytes; nil if the server does not send them. broke is
// true if the transfer broke again. It uses the first URL: a redirect's target
// may be valid only for a short time or once. A server without ranges sends the
// whole body again.
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

// isSame reads as many bytes of a new body as were read of the broken one, and
// reports whether they are equal. So all bytes that the reader gets are those of
// the new body.
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

// isRest reports whether the answer is the missing part of the same body.
func (b *resuming) isRest(resp *Response) bool {
	etag := resp.Header.Get("Etag")
	return resp.Status == http.StatusPartialContent && resp.Size == b.size-b.read &&
		resp.Header.Get("Content-Range") == fmt.Sprintf("bytes %d-%d/%d", b.read, b.size-1, b.size) &&
		(etag == "" || etag == b.validator || !strings.HasPrefix(b.validator, `"`))
}
