package module

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// docs/reliability.md names these limits on git.
func TestGitLimits(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	if want := (gitLimits{command: 5 * time.Minute, greeting: 20 * time.Second, silence: time.Minute}); c.opts.limits != want {
		t.Errorf("limits %+v, want %+v", c.opts.limits, want)
	}
	env := (&gitProgram{means: c.means}).environ(gitRemote{url: &url.URL{Scheme: "https", Host: "git.example.com"}})
	for key, want := range map[string]string{"http.lowSpeedLimit": "1", "http.lowSpeedTime": "60"} {
		if i := slices.IndexFunc(env, func(v string) bool { return strings.HasSuffix(v, "="+key) }); i < 0 || !strings.HasSuffix(env[i+1], "="+want) {
			t.Errorf("git's environment lacks %s=%s:\n%s", key, want, strings.Join(env, "\n"))
		}
	}
}

// stalling lets slow answer those of git's own requests that have a word in their path or
// body. The repositories of moduletest answer all others. It counts the slow ones.
func stalling(t *testing.T, asked *atomic.Int64, word string, slow http.HandlerFunc) string {
	t.Helper()
	git := moduletest.Handler(t, moduletest.Repositories(t))
	over := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !strings.HasPrefix(r.UserAgent(), "git/") || !strings.Contains(r.URL.Path+string(body), word) {
			git.ServeHTTP(w, r)
			return
		}
		asked.Add(1)
		slow(w, r)
		select {
		case <-r.Context().Done():
		case <-over:
		}
	})
	t.Cleanup(func() { close(over) })
	return s.URL
}

// TestGitGivesUpASilentServer has servers that accept a question and send nothing: the
// first question, the one for branches and tags, or the one for the files.
func TestGitGivesUpASilentServer(t *testing.T) {
	t.Parallel()
	for name, word := range map[string]string{"first": "/info/refs", "references": "command=ls-refs", "files": "command=fetch"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			at := stalling(t, &asked, word, func(http.ResponseWriter, *http.Request) {})
			c := New(newTransport(), nil, Options{Env: testEnv(t, Options{}.Env), limits: gitLimits{command: time.Minute, silence: time.Second}})
			c.transport.Admit(strings.TrimPrefix(at, "http://"))
			e := failing(t, c, "git::"+at+"/modrepo.git?ref=v1.0.0", problem.CodeUnreachable)
			if !strings.Contains(e.Error(), "nothing came within 1 s") || asked.Load() != 1 {
				t.Errorf("error %v after %d requests of git, want that nothing came, after 1", e, asked.Load())
			}
		})
	}
}

// TestGitGivesUpATricklingServer has a server that keeps sending a little.
func TestGitGivesUpATricklingServer(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	at := stalling(t, &asked, "command=ls-refs", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		for now := time.Tick(10 * time.Millisecond); r.Context().Err() == nil; <-now {
			io.WriteString(w, "003a"+strings.Repeat("0", 40)+" refs/heads/a\n") // the length is 0x3a
			http.NewResponseController(w).Flush()
		}
	})
	c := New(newTransport(), nil, Options{Env: testEnv(t, Options{}.Env), limits: gitLimits{command: time.Second, silence: time.Minute}})
	c.transport.Admit(strings.TrimPrefix(at, "http://"))
	e := failing(t, c, "git::"+at+"/modrepo.git?ref=v1.0.0", problem.CodeUnreachable)
	if !strings.Contains(e.Error(), "it did not end within 1 s") || asked.Load() != 1 {
		t.Errorf("error %v after %d requests of git, want that it took too long, after 1", e, asked.Load())
	}
}

// silentListener accepts connections and sends nothing, until the test ends.
func silentListener(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // until the listener is closed
		var held []net.Conn
		for {
			conn, err := l.Accept()
			if err != nil {
				for _, c := range held {
					c.Close()
				}
				return
			}
			held = append(held, conn)
		}
	}()
	return l.Addr().String()
}

// fetchAll fetches sources at the same time. Each must fail.
func fetchAll(t *testing.T, c *Client, sources ...string) {
	t.Helper()
	var all sync.WaitGroup
	for _, source := range sources {
		all.Go(func() {
			if _, err := c.Fetch(t.Context(), terraform, call(source)); !problem.Coded(err, problem.CodeUnreachable) {
				t.Errorf("Fetch(%q) = %v, want code %q", source, err, problem.CodeUnreachable)
			}
		})
	}
	all.Wait()
}

// wantDown checks that these hosts, with their ports, count as down.
func wantDown(t *testing.T, c *Client, want ...string) {
	t.Helper()
	var got []string
	for _, o := range c.transport.Outages() {
		got = append(got, o.Server)
	}
	if !slices.Equal(got, want) {
		t.Errorf("hosts that are down: %q, want %q", got, want)
	}
}

// TestGitSharesTheCircuitOfAHost has three repositories that do not answer git. The host is
// then down for relock's own requests, too, but not for ssh.
func TestGitSharesTheCircuitOfAHost(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var dead atomic.Bool
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.UserAgent(), "git/"):
			asked.Add(1)
			<-r.Context().Done()
		case dead.Load():
			panic(http.ErrAbortHandler)
		}
	})
	c := newClient(t, Options{limits: gitLimits{command: time.Minute, greeting: time.Minute, silence: 4 * time.Second}}, s)
	fetchAll(t, c, "git::"+s.URL+"/a.git", "git::"+s.URL+"/b.git", "git::"+s.URL+"/c.git")
	wantDown(t, c, s.Listener.Addr().String())
	dead.Store(true)
	before := asked.Load()
	// The first question is relock's own probe.
	fetchAll(t, c, "git::"+s.URL+"/d.git")
	if _, err := c.transport.Do(t.Context(), transport.Request{URL: &url.URL{Scheme: "http", Host: s.Listener.Addr().String()}}); !transport.Unanswered(err) {
		t.Errorf("a request of relock = %v, want that the host is down", err)
	}
	if asked.Load() != before {
		t.Errorf("git asks a host that is down %d times", asked.Load()-before)
	}
}

// TestSSHHasACircuitOfItsOwn has an ssh server that sends nothing.
func TestSSHHasACircuitOfItsOwn(t *testing.T) {
	t.Parallel()
	program(t, "ssh")
	silent := silentListener(t)
	c := newClient(t, Options{limits: gitLimits{command: time.Minute, greeting: 4 * time.Second, silence: time.Minute}})
	c.transport.Admit(silent)
	fetchAll(t, c, "git::ssh://git@"+silent+"/a.git", "git::ssh://git@"+silent+"/b.git", "git::ssh://git@"+silent+"/c.git")
	wantDown(t, c, silent)
}

// TestSSHTriesEveryAddress has a host with two addresses. The first one is dead or sends
// nothing.
func TestSSHTriesEveryAddress(t *testing.T) {
	t.Parallel()
	greets, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer greets.Close()
	go func() { // until the listener is closed
		for {
			conn, err := greets.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "SSH-2.0-test\r\n")
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(greets.Addr().String())
	silent, err := net.Listen("tcp", "127.0.0.3:"+port)
	if err != nil {
		t.Skip("this machine has one address of its own alone")
	}
	defer silent.Close()
	for first, want := range map[string]string{"127.0.0.2": "127.0.0.1", "127.0.0.3": "127.0.0.1", "127.0.0.1": "127.0.0.1"} {
		env, options := fakeSSH(t, false)
		opts := Options{limits: gitLimits{command: time.Minute, greeting: time.Second, silence: time.Minute}}
		opts.Env = testEnv(t, cliconfig.Env{Environ: env})
		names := &nameserver{names: map[string][]string{"git.test": {first + " 127.0.0.1"}}}
		tr := transport.New(transport.Options{RetryWait: time.Nanosecond, Resolver: names.resolver()})
		tr.Admit("git.test:" + port)
		c := New(tr, nil, opts)
		failing(t, c, "git::ssh://git@git.test:"+port+"/modrepo.git", problem.CodeUnreadModule)
		if got := options(); !strings.Contains(got, " HostName="+want+" ") {
			t.Errorf("ssh was called with\n%s\nwant the address %s", got, want)
		}
	}
}
