package transport

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const (
	// maxRetryAfter is the longest pause that a server may demand.
	maxRetryAfter = time.Minute
	// maxPauses limits the total wait for a host that demands pauses again and
	// again.
	maxPauses = 45 * time.Second
)

// pauses are the pauses that a host demands. A single path may be busy by itself,
// so the host counts as busy only when two paths say so.
type pauses struct {
	said []saying // by two different paths, the latest first
	// count and sum are of the pauses that two paths demanded since a good
	// answer.
	count int
	sum   time.Duration
}

// saying is a time that a path demanded.
type saying struct {
	path  string
	until time.Time
	at    int64 // in terms of hosts.events
}

// until is the end of the host's pause; in the past if it is not busy.
func (p *pauses) until() time.Time {
	if len(p.said) < 2 {
		return time.Time{}
	}
	return p.said[1].until
}

// left is the rest of the host's pause.
func (p *pauses) left() time.Duration { return max(time.Until(p.until()), 0) }

// bearable reports whether waiting for the host is allowed: not if it demands
// pauses again and again.
func (p *pauses) bearable() bool {
	return p.sum <= maxRetryAfter && (p.count < 2 || p.sum <= maxPauses)
}

// add records a time that a path demanded.
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

// answered records a good answer to a question that was sent at this time. Later
// demands of the host still hold.
func (p *pauses) answered(sent int64) {
	p.said = slices.DeleteFunc(p.said, func(n saying) bool { return n.at < sent })
	if len(p.said) == 0 {
		*p = pauses{}
	}
}

// pauseOf is the pause that an answer demands, and whether it demands one.
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

// troubled reports whether an answer says that its host has trouble.
func troubled(resp *http.Response) bool {
	return resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError
}
