package module

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
)

// withPull makes a repository with commits of a branch, of a tag alone, and of a pull
// request. Tags also name a tree and a file.
func withPull(t *testing.T, dir string) (branch []string, tag []string, pull string) {
	t.Helper()
	repository := filepath.Join(dir, "r.git")
	ids := moduletest.Repository(t, repository,
		moduletest.Commit{Files: text("one")}, moduletest.Commit{Tag: "v1", Files: text("two")}, moduletest.Commit{Files: text("three")},
		moduletest.Commit{Branch: "released", Files: text("four")}, moduletest.Commit{Branch: "released", Annotated: "v2", Files: text("five")},
		moduletest.Commit{Branch: "theirs", Files: text("theirs")},
	)
	moduletest.Git(t, repository, nil, "update-ref", "refs/pull/7/head", ids[5])
	moduletest.Git(t, repository, nil, "branch", "-D", "released", "theirs")
	moduletest.Git(t, repository, nil, "tag", "tree", "main^{tree}")
	moduletest.Git(t, repository, nil, "tag", "file", "main:main.tf")
	return ids[:3], ids[3:5], ids[5]
}

// gitServers are the kinds of servers that differ in what they send.
func gitServers(t *testing.T, dir string) map[string]http.HandlerFunc {
	t.Helper()
	old := func(h http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Git-Protocol")
			h.ServeHTTP(w, r)
		}
	}
	files := http.FileServer(http.Dir(dir))
	return map[string]http.HandlerFunc{
		"filters":        moduletest.Handler(t, dir, "uploadpack.allowFilter=true", "uploadpack.allowAnySHA1InWant=true").ServeHTTP,
		"no_filters":     moduletest.Handler(t, dir, "uploadpack.allowFilter=false").ServeHTTP,
		"protocol_0":     old(moduletest.Handler(t, dir, "uploadpack.allowFilter=true", "uploadpack.allowAnySHA1InWant=true")),
		"tips_only":      old(moduletest.Handler(t, dir)),
		"files_of_a_web": func(w http.ResponseWriter, r *http.Request) { r.URL.RawQuery = ""; files.ServeHTTP(w, r) },
	}
}

func TestCommitsOfPullRequestsAreForeign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	branch, tag, pull := withPull(t, dir)
	moduletest.Git(t, filepath.Join(dir, "r.git"), nil, "repack", "-a", "-d", "-q")
	moduletest.Git(t, filepath.Join(dir, "r.git"), nil, "update-server-info")
	for name, handler := range gitServers(t, dir) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, handler)
			c := newClient(t, Options{}, s)
			source := "git::" + s.URL + "/r.git?ref="
			for commit, want := range map[string]string{branch[0]: "one", branch[2]: "three", tag[0]: "four", tag[1]: "five"} {
				if got := mainOf(t, fetch(t, c, source+commit)); got != "# "+want {
					t.Errorf("main.tf = %q, want %q", got, want)
				}
			}
			for _, foreign := range []string{pull, strings.Repeat("0", 40)} {
				e := failing(t, c, source+foreign, problem.CodeModuleForeign)
				if at := s.URL + "/r.git"; !strings.Contains(e.Error(), foreign) || e.Problem.About != at || e.Problem.Hint == "" {
					t.Errorf("error = %v about %q, hint %q", e, e.Problem.About, e.Problem.Hint)
				}
			}
		})
	}
}

// questions counts the requests of git and for git.
func questions(t *testing.T, dir string) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	git := moduletest.Handler(t, dir, "uploadpack.allowFilter=true")
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		git.ServeHTTP(w, r)
	}), &asked
}

func TestReachableIsAskedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	branch, tag, pull := withPull(t, dir)
	s, asked := questions(t, dir)
	cache := t.TempDir()
	repository := moduleaddr.Package{Getter: "git", URL: parsedURL(t, s.URL+"/r.git")}
	c := newClient(t, Options{Cache: cache}, s)
	var wg sync.WaitGroup
	for range 5 {
		for _, commit := range []string{branch[0], branch[2], tag[0]} {
			wg.Go(func() {
				if err := c.Reachable(t.Context(), repository, commit); err != nil {
					t.Errorf("Reachable(%s) = %v", commit, err)
				}
			})
		}
	}
	wg.Wait()
	once := asked.Load()
	for range 2 {
		wantCode(t, "a pull request", c.Reachable(t.Context(), repository, pull), problem.CodeModuleForeign)
	}
	if asked.Load() != once || c.Packages() != 0 {
		t.Errorf("%d requests, and later %d more; %d packages", once, asked.Load()-once, c.Packages())
	}
	asked.Store(0)
	later := newClient(t, Options{Cache: cache}, s)
	for _, commit := range []string{branch[0], branch[2], tag[0]} {
		if err := later.Reachable(t.Context(), repository, commit); err != nil {
			t.Errorf("Reachable(%s) = %v", commit, err)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("a later run asks %d times", asked.Load())
	}
	// What is no commit of a branch today may be one tomorrow.
	wantCode(t, "a pull request", later.Reachable(t.Context(), repository, pull), problem.CodeModuleForeign)
	moduletest.Git(t, filepath.Join(dir, "r.git"), nil, "update-ref", "refs/heads/merged", pull)
	if err := newClient(t, Options{Cache: cache}, s).Reachable(t.Context(), repository, pull); err != nil {
		t.Errorf("Reachable of a merged pull request = %v", err)
	}
}

func parsedURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A package that an earlier run has read is no proof: that run may have read it as a
// submodule.
func TestCachedPackagesMustBeReachable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, _, pull := withPull(t, dir)
	moduletest.Repository(t, filepath.Join(dir, "top.git"), moduletest.Commit{
		Files: map[string]string{"main.tf": "# top", ".gitmodules": gitmodules("lib", "../r.git")}, Modules: map[string]string{"lib": pull},
	})
	opts := Options{AllowLocal: true, Cache: t.TempDir()}
	if got := mainOf(t, fetch(t, newClient(t, opts), "git::file://"+dir+"/top.git//lib")); got != "# theirs" {
		t.Errorf("main.tf of the submodule = %q", got)
	}
	failing(t, newClient(t, opts), "git::file://"+dir+"/r.git?ref="+pull, problem.CodeModuleForeign)
}

// Registries name commits, too.
func TestRegistriesNameNoForeignCommits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	branch, _, pull := withPull(t, dir)
	var location string
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(getHeader, location) })
	for commit, foreign := range map[string]bool{branch[0]: false, pull: true} {
		location = "git::file://" + dir + "/r.git?ref=" + commit
		_, err := newClient(t, Options{AllowLocal: true}, s).Fetch(t.Context(), terraform, call(s.URL+"/get"))
		if problem.Coded(err, problem.CodeModuleForeign) != foreign || err != nil && !foreign {
			t.Errorf("a server that names %s: %v", commit, err)
		}
	}
}

// Branches and tags need no further question.
func TestRefsCostNoHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	withPull(t, dir)
	s, asked := questions(t, dir)
	for _, ref := range []string{"", "?ref=v1", "?ref=main"} {
		asked.Store(0)
		fetch(t, newClient(t, Options{Cache: t.TempDir()}, s), "git::"+s.URL+"/r.git"+ref)
		if asked.Load() != 5 { // for redirects, two for ls-remote, two for fetch
			t.Errorf("%q took %d requests, want 5", ref, asked.Load())
		}
	}
}

func TestReachableCannotBeAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	branch, _, _ := withPull(t, dir)
	broken := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	ask := func(opts Options, u string) error {
		return newClient(t, opts, broken).Reachable(t.Context(), moduleaddr.Package{Getter: "git", URL: parsedURL(t, u)}, branch[0])
	}
	wantCode(t, "a broken server", ask(Options{}, broken.URL+"/r.git"), problem.CodeUnreachable)
	wantCode(t, "this machine", ask(Options{}, "file://"+dir+"/r.git"), problem.CodeUnreadModule)
	wantCode(t, "a refused host", ask(Options{Contact: func(string) bool { return false }}, broken.URL+"/r.git"), problem.CodeUnreadModule)
}

func TestCommitsAreBounded(t *testing.T) {
	t.Parallel()
	all := make(commits, maxCommits-1)
	line := strings.Repeat("a", 40)
	for i, want := range []error{nil, nil, errTooManyCommits} {
		text := []string{line, "no commit", line}[i]
		if got := all.add(text); got != want {
			t.Errorf("%d: add(%q) to %d commits = %v, want %v", i, text, len(all), got, want)
		}
	}
}
