package transport

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const (
	// maxRetryAfter is the longest wait that a server may ask for.
	maxRetryAfter = time.Minute
	// maxPauses bounds what a host may make the run wait by asking again and again
	// to come back later.
	maxPauses = 45 * time.Second
)

// pauses are what a host says of when it wants to be asked again. One path may say
// so for itself, so that the host counts as busy until a time that two have named.
type pauses struct {
	said []saying // of two different paths, the latest first
	// count and sum are of the waits that two paths asked for since a good answer.
	count int
	sum   time.Duration
}

// saying is a time that a path has named.
type saying struct {
	path  string
	until time.Time
	at    int64 // when it did, as hosts counts
}

// until is when the host wants to be asked again; in the past if it is not busy.
func (p *pauses) until() time.Time {
	if len(p.said) < 2 {
		return time.Time{}
	}
	return p.said[1].until
}

// left is how long the host still is busy.
func (p *pauses) left() time.Duration { return max(time.Until(p.until()), 0) }

// bearable reports whether the host may be waited for at all: not where it asks to
// come back later again and again.
func (p *pauses) bearable() bool {
	return p.sum <= maxRetryAfter && (p.count < 2 || p.sum <= maxPauses)
}

// add notes a time that a path names.
func (p *pauses) add(n saying) {
	now, before := time.Now(), p.until()
	p.said = slices.DeleteFunc(p.said, func(o saying) bool { return o.path == n.path || !o.until.After(now) })
	p.said = append(p.said, n)
	slices.SortStableFunc(p.said, func(a, b saying) int { return b.until.Compare(a.until) })
	p.said = p.said[:min(len(p.said), 2)]
	after := p.until()
	if !after.After(now) || !after.After(before) {
		return
	}
	if before.After(now) {
		now = before
	} else {
		p.count++
	}
	p.sum += after.Sub(now)
}

// answered notes a good answer to a question that was sent at this time. What the
// host has said since then may hold all the same.
func (p *pauses) answered(sent int64) {
	p.said = slices.DeleteFunc(p.said, func(n saying) bool { return n.at < sent })
	if len(p.said) == 0 {
		*p = pauses{}
	}
}

// pauseOf is how long an answer asks to wait, and whether it does.
func pauseOf(resp *http.Response) (time.Duration, bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	header := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil || errors.Is(err, strconv.ErrRange) {
		return max(time.Duration(seconds)*time.Second, 0), true
	}
	if when, err := http.ParseTime(header); err == nil {
		return max(time.Until(when), 0), true
	}
	return 0, false
}

// troubled reports whether an answer says that its host cannot answer well now.
func troubled(resp *http.Response) bool {
	return resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError
}
