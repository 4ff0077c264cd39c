package module

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

const recordedModules = "../../testdata/modules"

// fetchedPackages is a source that remembers the package of each call.
type fetchedPackages struct {
	scan.Source
	mu    sync.Mutex
	known map[scan.Call]scan.Package
}

func (f *fetchedPackages) Fetch(ctx context.Context, tool provider.Tool, call scan.Call) (scan.Package, error) {
	p, err := f.Source.Fetch(ctx, tool, call)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[call] = p
	return p, err
}

// moduleRecord is an element of modules.json.
type moduleRecord struct{ Key, Source, Version, Dir string }

// installedPackages is where init puts packages.
const installedPackages = ".terraform/modules/"

// TestRecordedModules loads the module trees of the recorded cases. Each call of a remote
// module must lead to the package that init installed.
func TestRecordedModules(t *testing.T) {
	t.Parallel()
	sources := moduletest.NewSources(t, recordedModules)
	for _, c := range moduletest.Cases(t, recordedModules) {
		for _, tool := range []provider.Tool{terraform, tofu} {
			want := c.Of(tool.Name == provider.OpenTofu)
			t.Run(c.ID+"/"+string(tool.Name), func(t *testing.T) {
				t.Parallel()
				seen := &fetchedPackages{Source: configured(t, Options{AllowLocal: true}, sources.CLIConfig()), known: map[scan.Call]scan.Package{}}
				m := loadCase(t, c, sources, tool, seen)
				if want.Exit != 0 {
					if len(troubles(m)) == 0 {
						t.Errorf("nothing is wrong, want an error like %q", want.Error)
					}
					return
				}
				for _, trouble := range troubles(m) {
					t.Error(trouble)
				}
				compareModules(t, want, sources, tool, m, seen.known)
			})
		}
	}
}

// loadCase loads the module tree of a case.
func loadCase(t *testing.T, c moduletest.Case, sources *moduletest.Sources, tool provider.Tool, source scan.Source) scan.RootModule {
	t.Helper()
	tree := fstest.MapFS{}
	for name, f := range c.Files {
		tree[name] = &fstest.MapFile{Data: []byte(sources.Named(f.Text)), Mode: 0o644}
		if f.Link != "" {
			tree[name] = &fstest.MapFile{Data: []byte(f.Link), Mode: fs.ModeSymlink | 0o777}
		}
	}
	opts := scan.Options{Dirs: []string{"."}, Tool: tool.Name, ToolVersion: tool.Version}
	roots, _, err := scan.Find(t.Context(), tree, opts)
	if err != nil || len(roots) != 1 {
		t.Fatalf("found %d root modules, %v", len(roots), err)
	}
	return scan.Load(t.Context(), roots, source, opts)[0]
}

// troubles are the errors of a root module, and the calls that could not be followed.
func troubles(m scan.RootModule) []string {
	var all []string
	for _, u := range m.All().Unread {
		all = append(all, u.Module+": "+u.Reason)
	}
	for _, d := range m.All().Diagnostics {
		if d.Severity == problem.SeverityError {
			all = append(all, d.Message)
		}
	}
	return all
}

// compareModules compares the calls with the records of the packages that init installed.
func compareModules(t *testing.T, want moduletest.Expected, sources *moduletest.Sources, tool provider.Tool, m scan.RootModule, packages map[scan.Call]scan.Package) {
	t.Helper()
	var manifest struct{ Modules []moduleRecord }
	if err := json.Unmarshal([]byte(sources.Named(want.Manifest)), &manifest); err != nil {
		t.Fatal(err)
	}
	calls := map[string]scan.Fetched{}
	for _, f := range slices.Concat(m.Tree.Fetched, m.Tests.Fetched) {
		calls[f.Module] = f
	}
	for _, record := range manifest.Modules {
		if record.Key == "" || strings.HasPrefix(record.Source, ".") { // a path in the package of the caller
			continue
		}
		f, ok := calls[record.Key]
		if !ok {
			t.Errorf("nothing was fetched for %s", record.Key)
			continue
		}
		compareModule(t, want, sources, tool, record, f, packages[f.Call])
		delete(calls, record.Key)
	}
	for key := range calls {
		t.Errorf("a package was fetched for %s, want none", key)
	}
}

func compareModule(t *testing.T, want moduletest.Expected, sources *moduletest.Sources, tool provider.Tool, record moduleRecord, f scan.Fetched, p scan.Package) {
	t.Helper()
	recorded, err := moduleaddr.Parse(record.Source, tool.Name)
	if err != nil {
		t.Fatal(err)
	}
	if called, err := moduleaddr.Parse(f.Call.Source, tool.Name); err != nil || !called.Same(recorded) {
		t.Errorf("%s calls %s, want %s", record.Key, f.Call.Source, record.Source)
	}
	if f.Version != record.Version {
		t.Errorf("%s has version %q, want %q", record.Key, f.Version, record.Version)
	}
	if got := path.Join(installedPackages, record.Key, p.Dir); got != record.Dir {
		t.Errorf("%s is in %s, want %s", record.Key, got, record.Dir)
	}
	if target, ok := strings.CutPrefix(sources.Named(want.Files[record.Key]), "link "); ok {
		if p.ID != "file://"+target {
			t.Errorf("%s is the package %s, want the directory %s", record.Key, p.ID, target)
		}
		return
	}
	got := contentOf(t, p.FS)
	for name, content := range want.Files {
		name, ok := strings.CutPrefix(name, record.Key+"/")
		link := strings.HasPrefix(content, "link ")
		same := got[name] == content || sources.Placed(strings.TrimPrefix(got[name], "file "))
		if ok && !same && (link || kept(name)) {
			t.Errorf("%s has %s as %q, want %q", record.Key, name, got[name], content)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s has %s, want no such file", record.Key, name)
	}
}

// contentOf has the files of a package as they are in the recorded cases. No configuration
// file there has the x bit.
func contentOf(t *testing.T, fsys fs.FS) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case d.Type() == fs.ModeSymlink:
			target, err := fs.ReadLink(fsys, name)
			found[name] = "link " + target
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		sum := sha256.Sum256(data)
		found[name] = "file " + hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
