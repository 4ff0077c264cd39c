// Package bubble connects clients with a sandbox in memory. So their time is
// virtual in a bubble of testing/synctest: a test sees the effect of minutes
// without waiting. It is part of no program.
package bubble

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Net is a loopback network in memory. The zero value is ready for use, which may be
// concurrent.
type Net struct {
	mu        sync.Mutex
	listeners []*listener // by their ports
}

// firstPort is that of the first listener.
const firstPort = 1024

// Listen listens on a port of its own.
func (n *Net) Listen() (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &listener{
		addr:  &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: firstPort + len(n.listeners)},
		conns: make(chan net.Conn), closed: make(chan struct{}),
	}
	n.listeners = append(n.listeners, l)
	return l, nil
}

// Dial connects to the listener of an address; there may be none.
func (n *Net) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	var to *listener
	for _, l := range n.listeners {
		if l.addr.String() == address {
			to = l
		}
	}
	n.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	if to == nil {
		return nil, refused
	}
	here, there := net.Pipe()
	select {
	case to.conns <- conn{there, to.addr}:
		return conn{here, to.addr}, nil
	case <-to.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// conn is one end of a connection to a listener.
type conn struct {
	net.Conn
	to net.Addr
}

// RemoteAddr implements net.Conn. Servers are not interested in it.
func (c conn) RemoteAddr() net.Addr { return c.to }

// listener implements net.Listener.
type listener struct {
	addr    net.Addr
	conns   chan net.Conn
	closing sync.Once
	closed  chan struct{}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.addr }
