package github_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/described"
	"github.com/relock-dev/relock/internal/transport"
)

// hub is a sandbox's GitHub that remembers what it was asked.
type hub struct {
	*sandbox.GitHub
	box *sandbox.Sandbox

	mu    sync.Mutex
	asked []string // method and path below the repository or the API
}

func newHub(t *testing.T, world string) *hub {
	t.Helper()
	t.Parallel()
	w, err := sandbox.ParseWorld(txtar.Parse([]byte(world)))
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.Close)
	described.Check(t, box.GitHub())
	h := &hub{GitHub: box.GitHub(), box: box}
	h.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.mu.Lock()
			name := strings.NewReplacer("/github/api/v3", "", "/repos/octo/infra", "", "/github/", "").Replace(r.URL.Path)
			h.asked = append(h.asked, r.Method+" "+name)
			h.mu.Unlock()
			next.ServeHTTP(w, r)
		})
	})
	return h
}

// client is the API as a token or an App sees it.
func (h *hub) client(t *testing.T, o github.Options) *github.Client {
	t.Helper()
	at := h.options(t)
	o.HTTP, o.Access.API, o.Access.GraphQL = at.HTTP, at.Access.API, at.Access.GraphQL
	var slept atomic.Int64
	if o.Clock.Now == nil {
		o.Clock.Now = func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
	}
	o.Clock.Sleep = func(_ context.Context, d time.Duration) error {
		slept.Add(int64(d))
		return nil
	}
	c, err := github.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// options are where the API is.
func (h *hub) options(t *testing.T) github.Options {
	t.Helper()
	conn := transport.New(transport.Options{})
	u, err := url.Parse(h.box.URL())
	if err != nil {
		t.Fatal(err)
	}
	conn.Admit(transport.HostPort(u))
	return github.Options{Access: github.Access{API: h.box.GitHubAPI(), GraphQL: h.box.GraphQL()}, HTTP: conn.HTTP()}
}

func (h *hub) repository(t *testing.T) *github.Repository {
	t.Helper()
	return h.client(t, github.Options{Access: github.Access{Token: sandbox.ActionsToken}}).Repository("octo", "infra")
}

func (h *hub) head(t *testing.T, branch string) string {
	t.Helper()
	refs, err := h.Refs("octo/infra")
	if err != nil {
		t.Fatal(err)
	}
	return refs["refs/heads/"+branch]
}

const snapshotWorld = `
-- github/octo/infra/main/.gitattributes --
/modules/secret export-ignore
version.tf export-subst
-- github/octo/infra/main/prod/main.tf --
# prod
-- github/octo/infra/main/prod/version.tf --
# $Format:%H$
-- github/octo/infra/main/prod/run.sh* --
#!/bin/sh
-- github/octo/infra/main/prod/shared.tf@ -> ../common/all.txt --
-- github/octo/infra/main/prod/modules@ -> ../modules --
-- github/octo/infra/main/common/all.txt --
# shared
-- github/octo/infra/main/modules/secret/main.tf --
# secret
-- github/octo/infra/main/README.md --
Words.
`

func always(string) bool { return true }

func configuration(name string) bool { return strings.HasSuffix(name, ".tf") }

// contents reads the files of these names; what cannot be read is the reason.
func contents(fsys fs.FS, names ...string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			data = []byte(err.Error())
		}
		out[name] = string(data)
	}
	return out
}

func TestSnapshotIsTheCommit(t *testing.T) {
	h := newHub(t, snapshotWorld)
	sha, err := h.Push("octo/infra", sandbox.Push{Branch: "main", Files: map[string]sandbox.File{
		"vendored/module": {Mode: "160000", Content: []byte(strings.Repeat("a", 40))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.repository(t).Snapshot(t.Context(), sha, always)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(s, "prod/main.tf", "prod/run.sh", "modules/secret/main.tf", "vendored/module"); err != nil {
		t.Error(err)
	}
	want := map[string]string{
		"prod/main.tf": "# prod\n", "prod/version.tf": "# $Format:%H$\n", "prod/shared.tf": "# shared\n",
		"prod/modules/secret/main.tf": "# secret\n", "modules/secret/main.tf": "# secret\n",
	}
	if diff := cmp.Diff(want, contents(s, "prod/main.tf", "prod/version.tf", "prod/shared.tf", "prod/modules/secret/main.tf", "modules/secret/main.tf")); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
	for name, want := range map[string]fs.FileMode{
		"prod/run.sh": 0o755, "prod/main.tf": 0o644, "prod/modules": fs.ModeSymlink | 0o777, "vendored/module": fs.ModeDir | 0o755,
	} {
		if info, err := s.Lstat(name); err != nil || info.Mode() != want {
			t.Errorf("Lstat(%q) = %v, %v, want mode %v", name, info, err, want)
		}
	}
	if info, err := s.Stat("prod/modules"); err != nil || !info.IsDir() {
		t.Errorf("Stat through a link = %v, %v, want a directory", info, err)
	}
	if target, err := s.ReadLink("prod/modules"); target != "../modules" || err != nil {
		t.Errorf("ReadLink = %q, %v, want ../modules", target, err)
	}
	// The archive lacks a directory, and holds a file changed.
	h.wantAsked(t, "GET /git/trees/", "GET /tarball/", "GET _codeload/", "GET /git/blobs/", "GET /git/blobs/")
}

// wantAsked compares how the requests began.
func (h *hub) wantAsked(t *testing.T, want ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	same := slices.EqualFunc(h.asked, want, strings.HasPrefix)
	if !same {
		t.Errorf("requests = %q, want %q", h.asked, want)
	}
}

func TestSnapshotHoldsWhatIsAskedFor(t *testing.T) {
	h := newHub(t, snapshotWorld)
	s, err := h.repository(t).Snapshot(t.Context(), h.head(t, "main"), configuration)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"prod/main.tf":   "# prod\n",
		"prod/shared.tf": "# shared\n", // a link to what has another name
		"prod/run.sh":    "open prod/run.sh: its content was not asked for",
		"prod/none.tf":   "open prod/none.tf: file does not exist",
	}
	if diff := cmp.Diff(want, contents(s, "prod/main.tf", "prod/shared.tf", "prod/run.sh", "prod/none.tf")); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
	entries, err := s.ReadDir("prod")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"main.tf", "modules", "run.sh", "shared.tf", "version.tf"}, names); diff != "" {
		t.Errorf("ReadDir (-want +got):\n%s", diff)
	}
}

func TestSnapshotOfNothingReadsNoArchive(t *testing.T) {
	h := newHub(t, "-- github/octo/infra/main/README.md --\nWords.\n")
	if _, err := h.repository(t).Snapshot(t.Context(), h.head(t, "main"), configuration); err != nil {
		t.Fatal(err)
	}
	h.wantAsked(t, "GET /git/trees/")
}

func TestSnapshotOfALargeTreeListsItsParts(t *testing.T) {
	h := newHub(t, snapshotWorld)
	sha := h.head(t, "main")
	want, err := h.repository(t).Snapshot(t.Context(), sha, always)
	if err != nil {
		t.Fatal(err)
	}
	h.TruncateTrees(6)
	got, err := h.repository(t).Snapshot(t.Context(), sha, always)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(listing(t, want), listing(t, got)); diff != "" {
		t.Errorf("the tree read in parts (-whole +parts):\n%s", diff)
	}
	h.TruncateTrees(2)
	if _, err := h.repository(t).Snapshot(t.Context(), sha, always); err == nil || !strings.Contains(err.Error(), "more entries than GitHub lists") {
		t.Errorf("error = %v, want one about a directory that is never whole", err)
	}
}

// listing is all that is in a tree.
func listing(t *testing.T, s *filetree.Tree) []string {
	t.Helper()
	var lines []string
	err := fs.WalkDir(s, ".", func(name string, d fs.DirEntry, err error) error {
		text := ""
		if d.Type().IsRegular() {
			text = contents(s, name)[name]
		}
		info, infoErr := d.Info()
		lines = append(lines, fmt.Sprintf("%s %s %q", name, info.Mode(), text))
		return errors.Join(err, infoErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestSnapshotReadsABrokenArchiveAgain(t *testing.T) {
	for name, fault := range map[string]sandbox.Fault{
		"cut":     {Truncate: 100, Times: 1},
		"altered": {Corrupt: true, Times: 2},
		"dropped": {Drop: true, Times: 2},
		"busy":    {Status: http.StatusBadGateway, Times: 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, snapshotWorld)
			fault.Method, fault.Path = "GET", "/github/_codeload/..."
			h.box.Inject(fault)
			s, err := h.repository(t).Snapshot(t.Context(), h.head(t, "main"), always)
			if err != nil {
				t.Fatal(err)
			}
			if got := contents(s, "prod/main.tf")["prod/main.tf"]; got != "# prod\n" {
				t.Errorf("main.tf = %q", got)
			}
		})
	}
}

func TestSnapshotGivesUp(t *testing.T) {
	tests := map[string]struct {
		fault sandbox.Fault
		code  problem.Code
		want  string
	}{
		"broken_archive": {sandbox.Fault{Path: "/github/_codeload/...", Truncate: 100}, problem.CodeGitHub, "reading the archive of commit"},
		"no_archive":     {sandbox.Fault{Path: "/github/api/v3/repos/octo/infra/tarball/...", Status: http.StatusNotFound}, problem.CodeGitHub, "GitHub answered 404"},
		"altered_blob":   {sandbox.Fault{Path: "/github/api/v3/repos/octo/infra/git/blobs/...", Corrupt: true}, problem.CodeGitHub, "the content of blob"},
		"empty_tree":     {sandbox.Fault{Path: "/github/api/v3/repos/octo/infra/git/trees/...", Wild: "empty"}, problem.CodeUnreachable, "the answer is empty"},
		"no_tree":        {sandbox.Fault{Path: "/github/api/v3/repos/octo/infra/git/trees/...", Status: http.StatusNotFound}, problem.CodeGitHub, "reading the tree of commit"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, snapshotWorld)
			test.fault.Method = "GET"
			h.box.Inject(test.fault)
			_, err := h.repository(t).Snapshot(t.Context(), h.head(t, "main"), always)
			if !problem.Coded(err, test.code) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want one with %q", err, test.want)
			}
		})
	}
}

// treeEntry is an entry of a tree that GitHub lists.
type treeEntry struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
	Type string `json:"type"`
	Size int    `json:"size"`
	SHA  string `json:"sha"`
}

func blob(name, content string) treeEntry {
	return treeEntry{name, "100644", "blob", len(content), fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content)))}
}

func link(name, target string) treeEntry {
	e := blob(name, target)
	e.Mode = "120000"
	return e
}

// served is a GitHub with a tree and the archive of other contents at another
// host, of which alone it has blobs.
func served(t *testing.T, tree []treeEntry, archive ...tar.Header) (*github.Repository, *[]string) {
	t.Helper()
	var asked []string
	mux := http.NewServeMux()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, "archive "+r.Header.Get("Authorization"))
		gz := gzip.NewWriter(w)
		defer gz.Close()
		files := tar.NewWriter(gz)
		defer files.Close()
		for _, h := range archive {
			if raw, ok := h.PAXRecords["RELOCK.raw"]; ok {
				files.Flush()
				io.WriteString(gz, raw)
				continue
			}
			content := h.PAXRecords["RELOCK.content"]
			h.PAXRecords, h.Size, h.Mode = nil, int64(len(content)), 0o644
			if err := files.WriteHeader(&h); err != nil {
				t.Error(err)
			}
			files.Write([]byte(content))
		}
	}))
	t.Cleanup(other.Close)
	mux.HandleFunc("GET /repos/octo/infra/git/trees/c0", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, "tree "+r.Header.Get("Authorization"))
		json.NewEncoder(w).Encode(map[string]any{"sha": "c0", "tree": tree})
	})
	mux.HandleFunc("GET /repos/octo/infra/tarball/c0", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, "tarball "+r.Header.Get("Authorization"))
		http.Redirect(w, r, other.URL+"/codeload?token=secret", http.StatusFound)
	})
	mux.HandleFunc("GET /repos/octo/infra/git/blobs/{id}", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, "blob "+r.Header.Get("Authorization"))
		for _, h := range archive {
			if content := h.PAXRecords["RELOCK.content"]; blob(h.Name, content).SHA == r.PathValue("id") {
				fmt.Fprint(w, content)
				return
			}
		}
		http.NotFound(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c, err := github.New(github.Options{Access: github.Access{API: server.URL, Token: token}, HTTP: server.Client(), Clock: github.Clock{
		Sleep: func(context.Context, time.Duration) error { return nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c.Repository("octo", "infra"), &asked
}

func packed(name, content string) tar.Header {
	return tar.Header{Name: "top/" + name, Typeflag: tar.TypeReg, PAXRecords: map[string]string{"RELOCK.content": content}}
}

func TestSnapshotSendsNoTokenToTheArchive(t *testing.T) {
	repo, asked := served(t, []treeEntry{blob("a.tf", "a"), blob("b.tf", "b"), blob("c.tf", "c")}, packed("a.tf", "a"), packed("b.tf", "b"), packed("c.tf", "c"))
	if _, err := repo.Snapshot(t.Context(), "c0", always); err != nil {
		t.Fatal(err)
	}
	want := []string{"tree Bearer " + token, "tarball Bearer " + token, "archive "}
	if diff := cmp.Diff(want, *asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestSnapshotReadsFewFilesWithoutTheArchive(t *testing.T) {
	repo, asked := served(t, []treeEntry{blob("a.tf", "a"), blob("b.tf", "b")}, packed("a.tf", "a"), packed("b.tf", "b"))
	s, err := repo.Snapshot(t.Context(), "c0", func(name string) bool { return name == "a.tf" })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"tree Bearer " + token, "blob Bearer " + token}, *asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got := contents(s, "a.tf")["a.tf"]; got != "a" {
		t.Errorf("a.tf = %q", got)
	}
}

func TestSnapshotTakesWhatHasTheRightIDOnly(t *testing.T) {
	tree := []treeEntry{blob("a.tf", "line 1\nline 2\n"), link("l.tf", "a.tf"), blob("b.tf", ""), blob("copy.tf", "line 1\nline 2\n")}
	repo, _ := served(t, tree,
		packed("a.tf", "line 1\nline 3\n"), // altered: the copy stands in
		packed("b.tf", ""),
		tar.Header{Name: "top/l.tf", Typeflag: tar.TypeSymlink, Linkname: "a.tf"},
		packed("../outside", "x"), packed("a.tf/b", "x"),
		packed("copy.tf", "line 1\r\nline 2\r\n"), // .gitattributes says eol=crlf
	)
	s, err := repo.Snapshot(t.Context(), "c0", always)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.tf": "line 1\nline 2\n", "b.tf": "", "l.tf": "line 1\nline 2\n", "copy.tf": "line 1\nline 2\n"}
	if diff := cmp.Diff(want, contents(s, "a.tf", "b.tf", "l.tf", "copy.tf")); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
}

func TestSnapshotFollowsNoLinkOutOfTheTree(t *testing.T) {
	targets := map[string]string{
		"up": "../x", "far": "d/../../x", "absolute": "/etc/passwd", "loop": "pool", "pool": "loop",
		"inside": "d/./../d//a.tf", "dangling": "none",
	}
	tree := []treeEntry{blob("d/a.tf", "a")}
	archive := []tar.Header{packed("d/a.tf", "a")}
	for name, target := range targets {
		tree = append(tree, link(name, target))
		archive = append(archive, tar.Header{Name: "top/" + name, Typeflag: tar.TypeSymlink, Linkname: target})
	}
	repo, _ := served(t, tree, archive...)
	s, err := repo.Snapshot(t.Context(), "c0", always)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"up": "open up: file does not exist", "far": "open far: file does not exist", "absolute": "open absolute: file does not exist",
		"loop": "open loop: its links go round in circles", "inside": "a", "dangling": "open dangling: file does not exist", "../x": "open ../x: invalid argument",
	}
	if diff := cmp.Diff(want, contents(s, "up", "far", "absolute", "loop", "inside", "dangling", "../x")); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
}

func TestSnapshotLeavesOutWhatIsNoPath(t *testing.T) {
	tree := []treeEntry{
		blob("../x", "x"), blob("/x", "x"), blob("a//b", "x"), blob("a.tf", "a"), blob("a.tf/b.tf", "b"), blob("a.tf", "b"), {Path: "", Mode: "040000", Type: "tree"},
	}
	repo, _ := served(t, tree, packed("a.tf", "a"))
	s, err := repo.Snapshot(t.Context(), "c0", always)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`. drwxr-xr-x ""`, `a.tf -rw-r--r-- "a"`}, listing(t, s)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func TestSnapshotIsBounded(t *testing.T) {
	large := blob("large.tf", "")
	large.Size = 16<<20 + 1
	t.Run("a_large_file_is_not_read", func(t *testing.T) {
		repo, _ := served(t, []treeEntry{large, blob("a.tf", "a")}, packed("a.tf", "a"))
		s, err := repo.Snapshot(t.Context(), "c0", always)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"large.tf": "open large.tf: it is larger than 16 MiB"}
		if diff := cmp.Diff(want, contents(s, "large.tf")); diff != "" {
			t.Errorf("contents (-want +got):\n%s", diff)
		}
	})
	t.Run("all_contents", func(t *testing.T) {
		var tree []treeEntry
		for i := range 20 {
			e := blob(fmt.Sprint(i), fmt.Sprint(i))
			e.Size = 15 << 20
			tree = append(tree, e)
		}
		repo, asked := served(t, tree)
		_, err := repo.Snapshot(t.Context(), "c0", always)
		if err == nil || !strings.Contains(err.Error(), "larger than 128 MiB") || problem.Of(err).Hint == "" || len(*asked) != 1 {
			t.Errorf("error = %v after %q, want one with a hint before the archive", err, *asked)
		}
	})
	t.Run("blobs_one_by_one", func(t *testing.T) {
		var tree []treeEntry
		for i := range 501 {
			tree = append(tree, blob(fmt.Sprint(i), fmt.Sprint(i)))
		}
		repo, asked := served(t, tree)
		if _, err := repo.Snapshot(t.Context(), "c0", always); err == nil || !strings.Contains(err.Error(), "501 files") || len(*asked) != 3 {
			t.Errorf("error = %v after %d requests, want one after 3", err, len(*asked))
		}
	})
	t.Run("no_archive_of_gigabytes", func(t *testing.T) {
		film := blob("film.mp4", "")
		film.Size = 2 << 30
		repo, asked := served(t, []treeEntry{film, blob("a.tf", "a")})
		if _, err := repo.Snapshot(t.Context(), "c0", configuration); err == nil || slices.Contains(*asked, "archive ") {
			t.Errorf("error = %v after %q, want one about a blob instead", err, *asked)
		}
	})
}

func TestSnapshotEndsWithTheContext(t *testing.T) {
	repo, _ := served(t, []treeEntry{blob("a.tf", "a")}, packed("a.tf", "a"))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := repo.Snapshot(ctx, "c0", func(string) bool { cancel(); return true })
	if !problem.Coded(err, problem.CodeCancelled) {
		t.Errorf("error = %v, want a cancelled one", err)
	}
}
