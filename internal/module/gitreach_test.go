package module

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// named makes a client for which hosts have these addresses, one after the other. They may
// be on this machine, at the servers' ports.
func named(t *testing.T, opts Options, hosts map[string][]string, servers ...*httptest.Server) *Client {
	t.Helper()
	tr := transport.New(transport.Options{RetryWait: time.Nanosecond, Resolver: (&nameserver{names: hosts}).resolver()})
	for _, s := range servers {
		for host := range hosts {
			tr.Admit(net.JoinHostPort(host, portOf(s)))
		}
	}
	opts.Env = testEnv(t, opts.Env)
	return New(tr, nil, opts)
}

func portOf(s *httptest.Server) string {
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return port
}

// byGit counts the requests that git itself sends.
func byGit(n *atomic.Int64, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.UserAgent(), "git/") {
			n.Add(1)
		}
		handler(w, r)
	}
}

// recordGit puts a program before git that writes down git's calls, and may answer them.
func recordGit(t *testing.T, script string) (calls func() string) {
	t.Helper()
	real := program(t, "git")
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	writeFile(t, filepath.Join(bin, "git"), "#!/bin/sh\necho \"$@\" >>'"+log+"'\n"+script+"\nexec '"+real+"' \"$@\"\n", 0o755)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() string {
		text, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
}

// asksServers reports whether one of these calls of git asks a server.
func asksServers(calls string) bool {
	return strings.Contains(calls, "ls-remote --symref") || strings.Contains(calls, "fetch")
}

var namers = map[string]bool{"a_base": false, "a_head": true}

// TestGitConnectsToWhatWasChecked has a name whose address changes to the metadata service
// before git would look it up. Certificates are for the name.
func TestGitConnectsToWhatWasChecked(t *testing.T) {
	t.Parallel()
	dir := moduletest.Repositories(t)
	for name, head := range namers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			s := serveTLS(t, byGit(&asked, moduletest.Handler(t, dir).ServeHTTP))
			// The check asks first, then transport, which looks for redirects.
			c := named(t, Options{Head: head}, map[string][]string{"example.com": {"127.0.0.1", "127.0.0.1", "169.254.169.254"}}, s)
			if got := mainOf(t, fetch(t, c, "git::https://example.com:"+portOf(s)+"/modrepo.git?ref=v1.0.0")); !strings.Contains(got, "0.0.1") {
				t.Errorf("main.tf = %q", got)
			}
			if asked.Load() == 0 {
				t.Error("git did not ask the address that was checked")
			}
		})
	}
}

// If a name gets a forbidden address right after the check, git is not started.
func TestGitIsNotStartedAfterRebinding(t *testing.T) {
	for name, head := range namers {
		t.Run(name, func(t *testing.T) {
			calls := recordGit(t, "")
			s := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s asks the server", r.UserAgent()) })
			c := named(t, Options{Head: head}, map[string][]string{"git.test": {"127.0.0.1", "169.254.169.254"}}, s)
			e := failing(t, c, "git::http://git.test:"+portOf(s)+"/r.git", problem.CodeUnreachable)
			if !transport.Refused(e) || !strings.Contains(e.Error(), "a metadata service") {
				t.Errorf("error = %v, want the refusal", e)
			}
			if asksServers(calls()) {
				t.Errorf("git was called with\n%s", calls())
			}
		})
	}
}

// git must also connect to the checked addresses after a redirect.
func TestGitConnectsToWhatWasCheckedBehindRedirects(t *testing.T) {
	t.Parallel()
	dir := moduletest.Repositories(t)
	s := serve(t, moduletest.Handler(t, dir).ServeHTTP)
	moving := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://new.test:"+portOf(s)+r.URL.String(), http.StatusMovedPermanently)
	})
	for name, head := range namers {
		c := named(t, Options{Head: head}, map[string][]string{"old.test": {"127.0.0.1"}, "new.test": {"127.0.0.1"}}, s, moving)
		if got := mainOf(t, fetch(t, c, "git::http://old.test:"+portOf(moving)+"/modrepo.git?ref=v1.0.0")); !strings.Contains(got, "0.0.1") {
			t.Errorf("%s: main.tf = %q", name, got)
		}
	}
}

func TestGitIsNotStartedAfterRefusedRedirects(t *testing.T) {
	t.Parallel()
	for name, head := range namers {
		for _, to := range []string{"http://169.254.169.254", "http://rebound.test", "ftp://203.0.113.1"} {
			var asked atomic.Int64
			s := serve(t, byGit(&asked, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, to+r.URL.String(), http.StatusFound)
			}))
			c := named(t, Options{Head: head}, map[string][]string{"git.test": {"203.0.113.1"}, "rebound.test": {"169.254.169.254"}})
			c.transport.Admit(s.Listener.Addr().String())
			e := failing(t, c, "git::"+s.URL+"/r.git", problem.CodeUnreachable)
			if !transport.Refused(e) {
				t.Errorf("%s: error of a redirect to %s = %v, want the refusal", name, to, e)
			}
			if asked.Load() != 0 {
				t.Errorf("%s: after a refused redirect to %s git asks %d times", name, to, asked.Load())
			}
		}
	}
}

// If transport cannot ask a server, git does not ask it for a head. For a base it may: the
// operator's configuration may know a way.
func TestGitIsNoOtherWayForHeads(t *testing.T) {
	t.Parallel()
	dir := moduletest.Repositories(t)
	git := moduletest.Handler(t, dir)
	for name, head := range namers {
		var asked atomic.Int64
		s := serve(t, byGit(&asked, func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.UserAgent(), "git/") {
				panic(http.ErrAbortHandler)
			}
			git.ServeHTTP(w, r)
		}))
		_, err := newClient(t, Options{Head: head}, s).Fetch(t.Context(), terraform, call("git::"+s.URL+"/modrepo.git"))
		if (err != nil) != head || (asked.Load() == 0) != head {
			t.Errorf("%s: Fetch = %v after %d requests of git", name, err, asked.Load())
		}
	}
}

func TestGitLooksUpNoName(t *testing.T) {
	for name, head := range namers {
		t.Run(name, func(t *testing.T) {
			calls := recordGit(t, "")
			e := failing(t, named(t, Options{Head: head}, nil), "git::http://gone.test/r.git", problem.CodeUnreachable)
			if dns, ok := errors.AsType[*net.DNSError](e); !ok || dns.Name != "gone.test" {
				t.Errorf("error = %v, want that nobody knows the name", e)
			}
			if asksServers(calls()) {
				t.Errorf("git was called with\n%s", calls())
			}
		})
	}
}

// git's own protocol cannot use a fixed address.
func TestGitProtocolAsksNoNamesForHeads(t *testing.T) {
	calls := recordGit(t, "")
	c := named(t, Options{Head: true}, map[string][]string{"git.test": {"203.0.113.1"}})
	if e := failing(t, c, "git::git://git.test/r.git", problem.CodeUnreadModule); e.Problem.Hint == "" {
		t.Errorf("error %v has no hint", e)
	}
	if asksServers(calls()) {
		t.Errorf("git was called with\n%s", calls())
	}
}

func TestPins(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url   string
		addrs []string
		want  []string
	}{
		{"https://203.0.113.1/r.git", nil, nil},
		{"https://git.test/r.git", []string{"203.0.113.1"}, []string{"git.test:443:203.0.113.1"}},
		{"http://GIT.test/r.git", []string{"203.0.113.1"}, []string{"git.test:80:203.0.113.1", "GIT.test:80:203.0.113.1"}},
		{"http://git.test:8080/r.git", []string{"2001:db8::1", "203.0.113.1"}, []string{"git.test:8080:[2001:db8::1],203.0.113.1"}},
		{"https://git.test./r.git", []string{"203.0.113.1"}, []string{"git.test.:443:203.0.113.1", "git.test:443:203.0.113.1"}},
		{"https://bücher.test/r.git", []string{"203.0.113.1"}, []string{"xn--bcher-kva.test:443:203.0.113.1", "bücher.test:443:203.0.113.1"}},
	}
	for _, tt := range tests {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		var addrs []netip.Addr
		for _, text := range tt.addrs {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
		var got []string
		for _, s := range pinSettings(u, addrs) {
			if s.key != "http.curloptResolve" {
				t.Errorf("pins(%q) sets %s", tt.url, s.key)
			}
			got = append(got, s.value)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("pins(%q) (-want +got):\n%s", tt.url, diff)
		}
	}
}

// TestOldGit holds that a git that cannot use fixed addresses asks hosts only for a base.
func TestOldGit(t *testing.T) {
	dir := moduletest.Repositories(t)
	s := moduletest.Serve(t, dir)
	hosts := map[string][]string{"git.test": {"127.0.0.1"}}
	byName, byAddress := "git::http://git.test:"+portOf(s)+"/modrepo.git", "git::"+s.URL+"/modrepo.git"
	for version, known := range map[string]bool{
		"2.37.0": true, "2.39.5 (Apple Git-154)": true, "2.47.1.windows.1": true, "3.0.0": true,
		"2.36.6": false, "1.99.0": false, "of another program": false,
	} {
		t.Run(version, func(t *testing.T) {
			calls := recordGit(t, `if [ "$1" = version ]; then echo "git version `+version+`"; exit; fi`)
			c := named(t, Options{Head: true}, hosts, s)
			c.transport.Admit(s.Listener.Addr().String())
			if _, err := c.Fetch(t.Context(), terraform, call(byName)); (err == nil) != known {
				t.Errorf("Fetch for a head = %v, want an error %v", err, !known)
			}
			if known {
				return
			}
			if e := failing(t, c, byName, problem.CodeUnreadModule); !strings.Contains(e.Problem.Hint, "update git") {
				t.Errorf("error = %v, hint %q", e, e.Problem.Hint)
			}
			if asksServers(calls()) {
				t.Errorf("git was called with\n%s", calls())
			}
			fetch(t, c, byAddress)
			fetch(t, named(t, Options{}, hosts, s), byName)
		})
	}
}

// proxied makes a client whose transport has a proxy with a password.
func proxied(t *testing.T, opts Options, asked *atomic.Int64) *Client {
	t.Helper()
	git := moduletest.Handler(t, moduletest.Repositories(t))
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") == "" {
			w.Header().Set("Proxy-Authenticate", `Basic realm="proxy"`)
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		if r.URL.Host != "inside.test" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		byGit(asked, git.ServeHTTP)(w, r)
	})
	u, _ := url.Parse(strings.Replace(proxy.URL, "http://", "http://user:pa55@", 1))
	tr := transport.New(transport.Options{
		RetryWait: time.Nanosecond, Resolver: (&nameserver{}).resolver(),
		Proxy: func(*http.Request) (*url.URL, error) { return u, nil },
	})
	opts.Env = testEnv(t, opts.Env)
	return New(tr, nil, opts)
}

// TestGitThroughTheProxy asks for a name that only the proxy knows. git gets no variables
// of proxies for a head, and reads them differently for a base.
func TestGitThroughTheProxy(t *testing.T) {
	t.Parallel()
	for name, head := range namers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			c := proxied(t, Options{Head: head}, &asked)
			if got := mainOf(t, fetch(t, c, "git::http://inside.test/modrepo.git?ref=v1.0.0")); !strings.Contains(got, "0.0.1") {
				t.Errorf("main.tf = %q", got)
			}
			if asked.Load() == 0 {
				t.Error("git did not ask the proxy")
			}
			for _, address := range []string{"127.0.0.1", "169.254.169.254"} {
				if e := failing(t, c, "git::http://"+address+"/r.git", problem.CodeUnreachable); !transport.Refused(e) {
					t.Errorf("error of %s behind a proxy = %v, want a refusal", address, e)
				}
			}
		})
	}
}

// The operator's proxy for git is used for a base, and never for a head.
func TestGitThroughAProxyOfItsOwn(t *testing.T) {
	t.Parallel()
	git := moduletest.Handler(t, moduletest.Repositories(t))
	proxy := serve(t, git.ServeHTTP)
	for name, set := range map[string][]string{
		"configuration": {"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.http://inside.test/.proxy", "GIT_CONFIG_VALUE_0=" + proxy.URL},
		"variable":      {"ALL_PROXY=" + proxy.URL},
	} {
		env := testEnv(t, Options{}.Env)
		env.Environ, env.Getenv = append(env.Environ, set...), nil
		const source = "git::http://inside.test/modrepo.git?ref=v1.0.0"
		if got := mainOf(t, fetch(t, named(t, Options{Env: env}, nil), source)); !strings.Contains(got, "0.0.1") {
			t.Errorf("%s: main.tf = %q", name, got)
		}
		failing(t, named(t, Options{Env: env, Head: true}, nil), source, problem.CodeUnreachable)
	}
}

func TestSOCKSProxiesResolveNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"socks5://u:p@proxy.test:1080": "socks5h://u:p@proxy.test:1080", "socks5h://proxy.test": "socks5h://proxy.test", "http://proxy.test:3128": "http://proxy.test:3128",
	} {
		u, _ := url.Parse(text)
		if got := resolving(u).String(); got != want || u.String() != text {
			t.Errorf("resolving(%q) = %q, want %q", text, got, want)
		}
	}
}
