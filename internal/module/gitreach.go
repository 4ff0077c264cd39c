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
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// route is the way in which git reaches a remote. Its host is checked with transport's
// rules. git must then connect to the checked addresses: the name may have others when git
// looks it up. git is never started for a refused host.
type route struct{ *gitProgram }

// open prepares git for the URL to ask. With insteadOf, the operator's configuration may
// replace the source's URL. The replacement is another URL, a path, or an alias of ssh,
// which is no URL.
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
		return nil // git refuses it if it must: see environ
	}
	addrs, _, err := r.transport.Resolve(ctx, asked, r.remote.from)
	r.asks = asked
	if err == nil && len(addrs) > 0 && r.opts.Head {
		return refusedModule("use https instead", "over %s git would look the name %s up by itself, which it may not do for a pull request's head", asked.Scheme, asked.Hostname())
	}
	return err
}

// hold configures git for a remote and the URL to ask. git then connects to the checked
// addresses, or to the proxy that transport uses: git and transport read the variables of
// proxies differently.
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
		if _, err := fmt.Sscanf(string(out), "git version %d.%d", &major, &minor); err != nil || major < 2 || major == 2 && minor < 37 { // http.curloptResolve exists from 2.37 on
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

// hasProxy reports whether the operator has given git a proxy that transport does not know:
// with a variable for all schemes, or in git's configuration.
func (r *route) hasProxy(ctx context.Context, asked *url.URL) bool {
	getenv := r.opts.Env.Getenv
	if getenv("ALL_PROXY") != "" || getenv("all_proxy") != "" {
		return true
	}
	_, err := r.run(ctx, nil, "config", "--get-urlmatch", "http.proxy", redact(asked))
	return err == nil
}

// resolving is the address of a proxy that looks names up itself. Transport lets any proxy
// do so. For a proxy of plain socks5, libcurl looks the names up.
func resolving(proxy *url.URL) *url.URL {
	u := *proxy
	if u.Scheme == "socks5" {
		u.Scheme = "socks5h"
	}
	return &u
}

// pinSettings are the settings with which git connects to these addresses for a URL.
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
	host, port, _ := net.SplitHostPort(transport.HostPort(u)) // HostPort has joined them
	// Versions of libcurl differ in two ways: whether they drop the dot at the end of a
	// name, and whether they know names outside ASCII.
	var names collect.Set[string]
	names.Add(host, strings.TrimSuffix(host, "."), u.Hostname())
	return collect.Mapped(names.List, func(name string) setting {
		return setting{"http.curloptResolve", name + ":" + port + ":" + strings.Join(texts, ",")}
	})
}

// maxAdvertised bounds a server's answer to git's first question. In version 2 of the
// protocol it has some hundred bytes. Earlier versions have a line for each branch and tag.
const maxAdvertised = 32 << 20

// refsPath is the path of git's first question, below the URL of a repository.
const refsPath = "/info/refs"

func firstQuestion(repository *url.URL) *url.URL { return repository.JoinPath(refsPath) }

// followRedirects follows a server's redirects for git, which is configured not to: only
// here can every hop be checked. It returns the new place of the repository, or nil. If
// relock cannot ask, git may, as the operator's configuration may know other ways.
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
	// git would keep all of it in memory
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

// basic is the header for a token of any large git host: they ignore the user name, or want
// this one.
func basic(token string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token))
}
