package transport

import (
	"context"
	"sync"
)

// atOncePerHost bounds the questions that are open at a host at once. They take
// bytes and no processor, so that their number does not depend on this machine; more
// would look like an attack to some servers.
const atOncePerHost = 32

// hostPlaces are the questions that are open at each host.
type hostPlaces struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // by host and port
}

// enter waits for a place at a host; leave gives it back.
func (p *hostPlaces) enter(ctx context.Context, hostport string) (leave func(), err error) {
	taken := p.at(hostport)
	select {
	case taken <- struct{}{}:
		return func() { <-taken }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *hostPlaces) at(hostport string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == nil {
		p.taken = map[string]chan struct{}{}
	}
	if p.taken[hostport] == nil {
		p.taken[hostport] = make(chan struct{}, atOncePerHost)
	}
	return p.taken[hostport]
}
