package module

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// cached are the packages in a cache, and the notes about commits that are reachable.
func cached(t *testing.T, dir string) (packages, marks []string) {
	t.Helper()
	for _, name := range names(t, os.DirFS(dir)) {
		switch filepath.Ext(name) {
		case treeFile:
			packages = append(packages, name)
		case noteFile:
			marks = append(marks, name)
		}
	}
	return packages, marks
}

func TestCacheKeepsCommits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"), moduletest.Commit{
		Tag:   "v1",
		Files: map[string]string{"main.tf": "# one", "docs/README.md": "x", "ü/ö.tf": "# two"},
		Links: map[string]string{"link.tf": "ü/ö.tf", "out": "../../x"},
	})
	git := moduletest.Handler(t, dir)
	var asked atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		git.ServeHTTP(w, r)
	})
	cache := filepath.Join(t.TempDir(), "modules")
	source := "git::" + s.URL + "/r.git"

	first := newClient(t, Options{Cache: cache}, s)
	fresh := fetch(t, first, source+"?ref=v1")
	asked.Store(0)
	second := newClient(t, Options{Cache: cache}, s)
	kept := fetch(t, second, source+"?ref="+ids[0])
	if asked.Load() != 0 || second.Packages() != 0 || first.Packages() != 1 {
		t.Errorf("a known commit took %d requests; %d and %d packages were fetched", asked.Load(), first.Packages(), second.Packages())
	}
	if kept.ID != fresh.ID || mainOf(t, kept) != "# one" {
		t.Errorf("ID = %q, main.tf = %q", kept.ID, mainOf(t, kept))
	}
	if diff := cmp.Diff(names(t, fresh.FS), names(t, kept.FS)); diff != "" {
		t.Errorf("kept package (-fresh +kept):\n%s", diff)
	}
	// A tag may have moved, so the server is asked for its commit.
	third := newClient(t, Options{Cache: cache}, s)
	fetch(t, third, source+"?ref=v1")
	if asked.Load() == 0 || third.Packages() != 0 {
		t.Errorf("a tag took %d requests and %d packages", asked.Load(), third.Packages())
	}
	if packages, marks := cached(t, cache); len(packages) != 1 || len(marks) != 1 {
		t.Errorf("cache holds %v and %v; want one package, and that its commit is reachable", packages, marks)
	}
}

func TestCacheKeepsArchivesOfKnownChecksum(t *testing.T) {
	t.Parallel()
	body := zipOf(t, member{name: "main.tf", data: "# sum"})
	sum := sha256.Sum256(body)
	var asked atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Write(body)
	})
	cache := t.TempDir()
	for _, query := range []string{"?checksum=sha256:" + hex.EncodeToString(sum[:]), ""} {
		asked.Store(0)
		for range 2 {
			if got := mainOf(t, fetch(t, newClient(t, Options{Cache: cache}, s), s.URL+"/a.zip"+query)); got != "# sum" {
				t.Errorf("main.tf = %q", got)
			}
		}
		if want := map[bool]int64{true: 1, false: 2}[query != ""]; asked.Load() != want {
			t.Errorf("with %q the server was asked %d times, want %d", query, asked.Load(), want)
		}
	}
}

// TestPackagesKeepAllConfiguration holds that one list says which files are configuration,
// and that a package that was kept with another list is not used.
func TestPackagesKeepAllConfiguration(t *testing.T) {
	t.Parallel()
	extensions := tfconfig.Extensions()
	for _, ext := range extensions {
		if name := "dir/a" + ext; !kept(name) || !scan.Reads(name) {
			t.Errorf("%s is not kept", name)
		}
	}
	if treeKey("id", extensions) == treeKey("id", extensions[1:]) || treeKey("id", extensions) != treeKey("id", slices.Clone(extensions)) {
		t.Error("the file of a package does not tell which files are kept")
	}
}

func TestCacheIsNoObstacle(t *testing.T) {
	t.Parallel()
	dir := moduletest.Repositories(t)
	commit := moduletest.Git(t, dir+"/modrepo.git", nil, "rev-parse", "v1.0.0")
	source := "git::file://" + dir + "/modrepo.git?ref=" + commit
	notDir := filepath.Join(t.TempDir(), "file")
	writeFile(t, notDir, "", 0o600)
	fetch(t, newClient(t, Options{AllowLocal: true, Cache: notDir}), source)

	good := t.TempDir()
	fetch(t, newClient(t, Options{AllowLocal: true, Cache: good}), source)
	packages, _ := cached(t, good)
	if len(packages) != 1 {
		t.Fatalf("cache holds %v", packages)
	}
	name := filepath.Join(good, packages[0])
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	altered := append([]byte{}, data...)
	altered[len(altered)/2] ^= 1
	for _, bad := range [][]byte{nil, []byte("text"), data[:len(data)/2], data[:len(data)-4], altered} {
		writeFile(t, name, string(bad), 0o600)
		c := newClient(t, Options{AllowLocal: true, Cache: good})
		if p := fetch(t, c, source); c.Packages() != 1 || !strings.Contains(mainOf(t, p), "0.0.1") {
			t.Errorf("a damaged file of %d bytes was used", len(bad))
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	fetch(t, newClient(t, Options{AllowLocal: true, Cache: good}), source)
}

// A package is one file, so that a killed run leaves a whole package or none. If a full
// disk truncates the file anywhere, it does not count.
func TestNoBeginningOfAPackageIsOne(t *testing.T) {
	t.Parallel()
	into := newFilling(archiveForm{})
	if err := errors.Join(into.AddDir("docs"), into.AddLink("link.tf", "main.tf"), into.file("main.tf", strings.NewReader("# one"))); err != nil {
		t.Fatal(err)
	}
	c := &cache{dir: t.TempDir(), log: slog.New(slog.DiscardHandler)}
	c.save(contents{fs: into.Tree(), id: "id"}, "id")
	name := c.file(treeFile, treeKey("id", keptExtensions))
	saved, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := range saved {
		writeFile(t, name, string(saved[:n]), 0o600)
		if _, ok := c.load("id"); ok {
			t.Errorf("%d of %d bytes are read as a package", n, len(saved))
		}
	}
	writeFile(t, name, string(saved), 0o600)
	if _, ok := c.load("id"); !ok {
		t.Error("all of it is not read as a package")
	}
}

func TestCacheKeepsNoHalfPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"), moduletest.Commit{
		Files:   map[string]string{"main.tf": "# one", ".gitmodules": gitmodules("m", "../gone.git")},
		Modules: map[string]string{"m": strings.Repeat("1", 40)},
	})
	cache := t.TempDir()
	c := newClient(t, Options{AllowLocal: true, Cache: cache})
	source := "git::file://" + dir + "/r.git?ref=" + ids[0]
	fetch(t, c, source)
	failing(t, c, source[:strings.Index(source, "?")]+"//m?ref="+ids[0], problem.CodeUnreadModule)
	if packages, _ := cached(t, cache); len(packages) != 0 {
		t.Errorf("cache holds %v, want nothing", packages)
	}
}

// Adding a package removes those that no run has used for a long time. Other people's files
// stay, and so do half-written ones: another run may be writing them.
func TestCacheForgetsWhatNobodyUses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"),
		moduletest.Commit{Files: map[string]string{"main.tf": "# one"}}, moduletest.Commit{Files: map[string]string{"main.tf": "# two"}},
	)
	source := "git::file://" + dir + "/r.git?ref="
	cache := t.TempDir()
	age := func(name string) string {
		then := time.Now().Add(-2 * keptFor)
		if err := os.Chtimes(filepath.Join(cache, name), then, then); err != nil {
			t.Fatal(err)
		}
		return name
	}
	fetch(t, newClient(t, Options{AllowLocal: true, Cache: cache}), source+ids[0])
	packages, marks := cached(t, cache)
	used, usedMark := age(packages[0]), age(marks[0])
	unused, unusedMark := strings.Repeat("0123456789abcdef", 4)+treeFile, strings.Repeat("0123456789abcdef", 4)+noteFile
	own := []string{"README", "backup.tree", strings.ToUpper(unused), used + ".part", "x.note", unusedMark + treeFile}
	for _, name := range append(own, unused, unusedMark) {
		writeFile(t, filepath.Join(cache, name), "x", 0o600)
		age(name)
	}

	c := newClient(t, Options{AllowLocal: true, Cache: cache})
	fetch(t, c, source+ids[0])
	if got := names(t, os.DirFS(cache)); !slices.Contains(got, unused) || c.Packages() != 0 {
		t.Errorf("a run that adds nothing leaves %q", got)
	}
	fetch(t, c, source+ids[1])
	got := names(t, os.DirFS(cache))
	for _, name := range append(own, used, usedMark) {
		if !slices.Contains(got, name) {
			t.Errorf("%s has gone", name)
		}
	}
	if slices.Contains(got, unused) || slices.Contains(got, unusedMark) || len(got) != len(own)+4 {
		t.Errorf("the cache holds %q, want it without %s and %s", got, unused, unusedMark)
	}
}
