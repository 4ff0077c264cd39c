package module

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/provider"
)

// The limits on git that docs/reliability.md names.
func TestGitLimits(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	if want := (gitLimits{command: 5 * time.Minute, silence: time.Minute}); c.opts.limits != want {
		t.Errorf("limits %+v, want %+v", c.opts.limits, want)
	}
	env := (&gitProgram{means: c.means}).environ(gitRemote{url: &url.URL{Scheme: "https", Host: "git.example.com"}})
	for key, want := range map[string]string{"http.lowSpeedLimit": "1", "http.lowSpeedTime": "60"} {
		if i := slices.IndexFunc(env, func(v string) bool { return strings.HasSuffix(v, "="+key) }); i < 0 || !strings.HasSuffix(env[i+1], "="+want) {
			t.Errorf("git's environment lacks %s=%s:\n%s", key, want, strings.Join(env, "\n"))
		}
	}
}

// stalling answers git's own requests that hold a word, in their path or body, as slow
// does, and all others as the repositories of moduletest. It counts those.
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

// TestGitGivesUpASilentServer has servers that accept what git asks and say nothing: to
// its first question, to that for branches and tags, and to that for the files.
func TestGitGivesUpASilentServer(t *testing.T) {
	t.Parallel()
	for name, word := range map[string]string{"first": "/info/refs", "references": "command=ls-refs", "files": "command=fetch"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			at := stalling(t, &asked, word, func(http.ResponseWriter, *http.Request) {})
			c := New(newTransport(), nil, Options{Env: testEnv(t, Options{}.Env), limits: gitLimits{command: time.Minute, silence: time.Second}})
			c.transport.Admit(strings.TrimPrefix(at, "http://"))
			e := failing(t, c, "git::"+at+"/modrepo.git?ref=v1.0.0", provider.CodeUnreachable)
			if !strings.Contains(e.Error(), "nothing came for 1s") || asked.Load() != 1 {
				t.Errorf("error %v after %d requests of git, want that nothing came, after 1", e, asked.Load())
			}
		})
	}
}

// TestGitGivesUpATricklingServer has one that goes on to say a little.
func TestGitGivesUpATricklingServer(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	at := stalling(t, &asked, "command=ls-refs", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		for now := time.Tick(10 * time.Millisecond); r.Context().Err() == nil; <-now {
			io.WriteString(w, "003a"+strings.Repeat("0", 40)+" refs/heads/a\n") // of length 0x3a
			http.NewResponseController(w).Flush()
		}
	})
	c := New(newTransport(), nil, Options{Env: testEnv(t, Options{}.Env), limits: gitLimits{command: time.Second, silence: time.Minute}})
	c.transport.Admit(strings.TrimPrefix(at, "http://"))
	e := failing(t, c, "git::"+at+"/modrepo.git?ref=v1.0.0", provider.CodeUnreachable)
	if !strings.Contains(e.Error(), "took longer than 1s") || asked.Load() != 1 {
		t.Errorf("error %v after %d requests of git, want that it took too long, after 1", e, asked.Load())
	}
}
