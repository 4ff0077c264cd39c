package module

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/transport"
)

// reach prepares git for the URL that it asks. Its host is checked as transport
// would, and git is held to the addresses that were found, since the name may
// stand for others when git looks it up. What is refused here no git asks.
func (r *repository) reach(ctx context.Context, asked *url.URL, key string) error {
	switch asked.Scheme {
	case "https", "http":
		return r.overHTTP(ctx, asked)
	case "ssh":
		return r.overSSH(ctx, asked, key)
	case "file":
		return nil // git refuses it where it may not: see environ
	}
	addrs, _, err := r.client.transport.Resolve(ctx, asked, r.remote.from)
	if err == nil && len(addrs) > 0 && r.client.opts.Head {
		return refused("use https instead", "over %s git would look the name %s up by itself, which it may not do for a pull request's head", asked.Scheme, asked.Hostname())
	}
	return err
}

func (r *repository) overHTTP(ctx context.Context, asked *url.URL) error {
	if err := r.hold(ctx, r.remote, asked, r.remote.from); err != nil {
		return err
	}
	moved, err := r.settle(ctx, asked)
	if err != nil || moved == nil {
		return err
	}
	return r.hold(ctx, *moved, moved.url, asked)
}

// hold configures git for a remote, which it asks at a URL, so that it connects
// to the addresses that were checked, or to the proxy that transport uses: the two
// read the variables of proxies in different ways.
func (r *repository) hold(ctx context.Context, of remote, asked, from *url.URL) error {
	c := r.client
	addrs, proxy, err := c.transport.Resolve(ctx, asked, from)
	if err != nil && (ended(ctx) != nil || transport.Refused(err)) {
		return err
	}
	if (err != nil || proxy != nil) && c.opts.own(of.url.Hostname()) && r.hasProxy(ctx, asked) {
		return r.configure(of) // that proxy may know the name
	}
	if err != nil {
		return err
	}
	if len(addrs) > 0 && c.opts.Head {
		if err := r.mustPin(ctx); err != nil {
			return err
		}
	}
	more := pins(asked, addrs)
	if proxy != nil {
		more = append(more, setting{"http.proxy", resolving(proxy).String()})
	}
	return r.configure(of, more...)
}

// resolving is the address of a proxy to which names are left. Transport leaves
// them to any; libcurl resolves those that are for a proxy of plain socks5.
func resolving(proxy *url.URL) *url.URL {
	u := *proxy
	if u.Scheme == "socks5" {
		u.Scheme = "socks5h"
	}
	return &u
}

// hasProxy reports whether the operator told git of a proxy in ways that transport
// does not know: by git's configuration, or by a variable for all schemes.
func (r *repository) hasProxy(ctx context.Context, asked *url.URL) bool {
	getenv := r.client.opts.Env.Getenv
	if getenv("ALL_PROXY") != "" || getenv("all_proxy") != "" {
		return true
	}
	_, err := r.run(ctx, nil, "config", "--get-urlmatch", "http.proxy", redact(asked))
	return err == nil
}

// pins are the settings by which git connects to these addresses for a URL.
func pins(u *url.URL, addrs []netip.Addr) []setting {
	if len(addrs) == 0 {
		return nil
	}
	texts := make([]string, len(addrs))
	for i, ip := range addrs {
		if texts[i] = ip.String(); ip.Is6() {
			texts[i] = "[" + texts[i] + "]"
		}
	}
	host, port, _ := net.SplitHostPort(transport.HostPort(u)) // which joined them
	// Versions of libcurl differ in whether they drop the dot at the end, and in
	// whether they know names that are not ASCII.
	names := []string{host, strings.TrimSuffix(host, "."), u.Hostname()}
	var found []setting
	for i, name := range names {
		if !slices.Contains(names[:i], name) {
			found = append(found, setting{"http.curloptResolve", name + ":" + port + ":" + strings.Join(texts, ",")})
		}
	}
	return found
}

// mustPin refuses a git that does not know http.curloptResolve, which came with
// 2.37.
func (r *repository) mustPin(ctx context.Context) error {
	out, err := r.run(ctx, nil, "version")
	if err != nil {
		return err
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "git version %d.%d", &major, &minor); err == nil && (major > 2 || major == 2 && minor >= 37) {
		return nil
	}
	return refused("update git to 2.37 or later",
		"this git cannot be held to the addresses that were checked, and so asks no host for a pull request's head")
}
