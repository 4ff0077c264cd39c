package module

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// route is how git reaches a remote. Its host is checked as transport would, and
// git is held to the addresses that were found, since the name may stand for others
// when git looks it up. What is refused here no git asks.
type route struct{ *gitProgram }

// open prepares git for the URL that it asks: the operator's configuration may put
// another one in the place of the source's (insteadOf), or a path or an alias of
// ssh, which is none.
func (r *route) open(ctx context.Context) error {
	asked := r.remote.url
	if r.opts.own(asked.Hostname()) {
		out, err := r.run(ctx, nil, "ls-remote", "--get-url", "origin")
		if err != nil {
			return err
		}
		text := strings.TrimSpace(string(out))
		u, isSCP := moduleaddr.ParseSCP(text)
		switch {
		case strings.Contains(text, "://"):
			u, err = url.Parse(text)
			if err != nil {
				return unread("git's configuration puts something in place of %s that is no URL", redact(asked))
			}
		case !isSCP:
			u = &url.URL{Scheme: "file", Path: text}
		}
		asked = u
	}
	switch asked.Scheme {
	case "https", "http":
		if err := r.hold(ctx, r.remote, asked, r.remote.from); err != nil {
			return err
		}
		r.asks = firstQuestion(asked)
		moved, err := r.followRedirects(ctx, asked)
		if err != nil || moved == nil {
			return err
		}
		r.asks = firstQuestion(moved.url)
		return r.hold(ctx, *moved, moved.url, asked)
	case "ssh":
		r.asks = asked
		return r.overSSH(ctx, asked)
	case "file":
		return nil // git refuses it where it may not: see environ
	}
	addrs, _, err := r.transport.Resolve(ctx, asked, r.remote.from)
	r.asks = asked
	if err == nil && len(addrs) > 0 && r.opts.Head {
		return refusedModule("use https instead", "over %s git would look the name %s up by itself, which it may not do for a pull request's head", asked.Scheme, asked.Hostname())
	}
	return err
}

// hold configures git for a remote, which it asks at a URL, so that it connects
// to the addresses that were checked, or to the proxy that transport uses: the two
// read the variables of proxies in different ways.
func (r *route) hold(ctx context.Context, of gitRemote, asked, from *url.URL) error {
	addrs, proxy, err := r.transport.Resolve(ctx, asked, from)
	if err != nil && (ended(ctx) != nil || transport.Refused(err)) {
		return err
	}
	if (err != nil || proxy != nil) && r.opts.own(of.url.Hostname()) && r.hasProxy(ctx, asked) {
		return r.configure(of) // that proxy may know the name
	}
	if err != nil {
		return err
	}
	if len(addrs) > 0 && r.opts.Head {
		out, err := r.run(ctx, nil, "version")
		if err != nil {
			return err
		}
		var major, minor int
		if _, err := fmt.Sscanf(string(out), "git version %d.%d", &major, &minor); err != nil || major < 2 || major == 2 && minor < 37 { // http.curloptResolve came with 2.37
			return refusedModule("update git to 2.37 or later",
				"this git cannot be held to the addresses that were checked, and so asks no host for a pull request's head")
		}
	}
	more := pinSettings(asked, addrs)
	if proxy != nil {
		more = append(more, setting{"http.proxy", resolving(proxy).String()})
	}
	return r.configure(of, more...)
}

// hasProxy reports whether the operator has told git of a proxy in ways that transport
// does not know: by a variable for all schemes, or by git's configuration.
func (r *route) hasProxy(ctx context.Context, asked *url.URL) bool {
	getenv := r.opts.Env.Getenv
	if getenv("ALL_PROXY") != "" || getenv("all_proxy") != "" {
		return true
	}
	_, err := r.run(ctx, nil, "config", "--get-urlmatch", "http.proxy", redact(asked))
	return err == nil
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

// pinSettings are the settings by which git connects to these addresses for a URL.
func pinSettings(u *url.URL, addrs []netip.Addr) []setting {
	if len(addrs) == 0 {
		return nil
	}
	texts := make([]string, len(addrs))
	for i, ip := range addrs {
		texts[i] = ip.String()
		if ip.Is6() {
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

// maxAdvertised bounds what a server answers when git asks it first: by version 2
// of the protocol some hundred bytes, before that a line for each branch and tag.
const maxAdvertised = 32 << 20

// refsPath is what git asks for first, below the URL of a repository.
const refsPath = "/info/refs"

func firstQuestion(repository *url.URL) *url.URL { return repository.JoinPath(refsPath) }

// followRedirects follows the redirects of a server for git, which is told not to: the
// rules for what may be connected to hold at each hop only here. It returns where
// the repository has moved to, nil if nowhere. What cannot be asked is left to
// git where it may know other ways by the operator's configuration.
func (r *route) followRedirects(ctx context.Context, asked *url.URL) (*gitRemote, error) {
	u := firstQuestion(asked)
	query := u.Query()
	query.Set("service", "git-upload-pack")
	u.RawQuery = query.Encode()
	header := http.Header{"Git-Protocol": {"version=2"}}
	if r.remote.token != "" && u.Host == r.remote.url.Host {
		header.Set("Authorization", basic(r.remote.token))
	}
	own := r.opts.own(r.remote.url.Hostname())
	resp, body, err := r.transport.Stream(ctx, transport.Request{
		URL: u, Referrer: r.remote.from, Header: header, NoRetry: own, Limit: maxAdvertised,
	})
	if err != nil {
		if over := ended(ctx); over != nil || transport.Refused(err) || !own || transport.Unanswered(err) && !r.hasProxy(ctx, asked) {
			return nil, cmp.Or(over, err)
		}
		r.doubt = err
		return nil, nil
	}
	defer body.Close()
	// git keeps all of it in memory, however much that is.
	if _, err := io.Copy(io.Discard, body); problem.Coded(err, problem.CodeBadAnswer) {
		return nil, err
	}
	end, ok := strings.CutSuffix(resp.URL.Path, refsPath)
	if !ok || end == strings.TrimSuffix(u.Path, refsPath) && transport.HostPort(resp.URL) == transport.HostPort(u) {
		return nil, nil
	}
	final := *resp.URL
	final.Path, final.RawPath, final.RawQuery = end, "", asked.RawQuery
	if transport.HostPort(&final) == transport.HostPort(asked) {
		final.User = asked.User
	}
	moved := gitRemote{url: &final, key: r.remote.key, from: r.remote.from}
	moved, err = r.opts.admitted(ctx, moved)
	if err != nil {
		return nil, err
	}
	return &moved, nil
}

// basic is the header for a token of any of the large git hosts: they ignore
// the user name, or want this one.
func basic(token string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token))
}
