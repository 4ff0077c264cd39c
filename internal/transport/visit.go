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

// Visit asks whether another program may ask a host now, for what is at a URL. That
// counts for the circuit of the host as a request does, and fails like one while the
// circuit is open. The program is to end with the context, which is a short one for a
// probe. The caller says then why the host has not answered it, nil if it has.
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
			a.unsent() // nobody has waited for what comes
		case unanswered != nil:
			a.failed(unanswered)
		default:
			a.well()
		}
	}, nil
}

// Greeting returns the first of the addresses of a host, which Resolve has found, at
// which a server greets with these first words. It asks one after the other, each for
// some time. Errors are those of Visit.
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
	defer conn.Close() // nothing is lost by that
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

// Late is the error of what another program was waiting for, and did not come in this
// time.
func Late(what string, after time.Duration) error { return &late{what, after} }

// Unanswered reports whether a host was connected to and gave no answer in time, or was
// not asked since it gives none to others. The end of a run is no such error.
func Unanswered(err error) bool {
	if _, down := errors.AsType[*outage](err); down {
		return true
	}
	op, isOp := errors.AsType[*net.OpError](err)
	return timedOut(err) && !errors.Is(err, context.DeadlineExceeded) && !(isOp && op.Op == "dial")
}

// Outages returns the servers whose circuits are open, sorted, with the reason of the last
// question that was asked.
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
