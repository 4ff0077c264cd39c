package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/problem"
)

// Visit asks whether another program may contact a URL's host now. The visit
// counts for the host's circuit like a request, and fails like one while the
// circuit is open. The program must end with the context, which is short for a
// probe. The caller calls leave with the reason why the host did not answer, or
// nil.
//
// Errors are *problem.Error: CodeUnreachable, or CodeCancelled if ctx has ended.
func (c *Client) Visit(ctx context.Context, u *url.URL) (visiting context.Context, leave func(unanswered error), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, failure(ctx, u, err)
	}
	a, err := c.guard.shared.hosts.enter(ctx, HostPort(u), u.EscapedPath())
	if err != nil {
		return nil, nil, failure(ctx, u, err)
	}
	visiting, cancel := context.WithCancelCause(ctx)
	var brief *time.Timer
	if a.brief {
		brief = endAfter(cancel, probeTimeout)
	}
	return visiting, func(unanswered error) {
		defer cancel(nil)
		stop(brief)
		switch {
		case ctx.Err() != nil:
			a.unsent() // nobody has waited for an answer
		case unanswered != nil:
			a.failed(unanswered)
		default:
			a.well()
		}
	}, nil
}

// Greeting returns the first address of a host, from Resolve, whose server greets
// with these words. It tries one after the other, with a time limit for each.
// Errors are those of Visit.
func (c *Client) Greeting(ctx context.Context, u *url.URL, addrs []netip.Addr, words string, patience time.Duration) (netip.Addr, error) {
	visiting, leave, err := c.Visit(ctx, u)
	if err != nil {
		return netip.Addr{}, err
	}
	var first error
	for _, ip := range addrs {
		if err = greeted(visiting, u, ip, words, patience); err == nil {
			leave(nil)
			return ip, nil
		}
		first = cmp.Or(first, fmt.Errorf("at %s: %w", ip, err))
	}
	leave(first)
	return netip.Addr{}, failure(ctx, u, first)
}

// greeted connects to a host at an address, and waits for its greeting.
func greeted(ctx context.Context, u *url.URL, ip netip.Addr, words string, patience time.Duration) error {
	_, port, err := net.SplitHostPort(HostPort(u))
	if err != nil {
		return err
	}
	d := net.Dialer{Timeout: min(patience, dialTimeout)}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(ip.String(), port))
	if err != nil {
		return err
	}
	defer conn.Close() // nothing is lost
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	heard := make([]byte, len(words))
	if _, err := io.ReadFull(conn, heard); err != nil {
		return err
	}
	if string(heard) != words {
		return fmt.Errorf("the server greets with %q", heard)
	}
	return nil
}

// Late is the error of another program's wait that took too long.
func Late(what string, after time.Duration) error { return &late{what, after} }

// Unanswered reports whether a host accepted a connection but gave no answer in
// time. It is also true if the host was not asked because it is silent. The end
// of a run is no such error.
func Unanswered(err error) bool {
	if _, down := errors.AsType[*outage](err); down {
		return true
	}
	op, isOp := errors.AsType[*net.OpError](err)
	return timedOut(err) && !errors.Is(err, context.DeadlineExceeded) && !(isOp && op.Op == "dial")
}

// Outages returns the servers with open circuits, sorted, each with the reason of
// its last failure.
func (c *Client) Outages() []problem.Outage {
	h := &c.guard.shared.hosts
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []problem.Outage
	for name, s := range h.known {
		if s.circuit.open() {
			all = append(all, problem.Outage{Server: shownServer(name), Reason: Plainly(s.circuit.cause).Error()})
		}
	}
	slices.SortFunc(all, func(a, b problem.Outage) int { return cmp.Compare(a.Server, b.Server) })
	return all
}
