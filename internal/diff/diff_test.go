package diff

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestLocks runs testdata. In each archive before.hcl and after.hcl are lock files.
// known has the platform of each hash, and changes has the kind and the text of each
// change.
func TestLocks(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives in testdata (error: %v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changes := Locks(locks(t, ar, "before.hcl"), locks(t, ar, "after.hcl"), known(t, ar))
			got := with(ar, "changes", listing(changes))
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(ar)), string(txtar.Format(got))); diff != "" {
				t.Errorf("Locks of %s (-want +got):\n%s", file, diff)
			}
		})
	}
}

func listing(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s: %s\n", c.Kind, c)
	}
	return b.String()
}

func locks(t *testing.T, ar *txtar.Archive, name string) []lockfile.Lock {
	t.Helper()
	f, diags := lockfile.Parse(data(ar, name), name)
	if f == nil {
		t.Fatal(diags)
	}
	return f.Locks
}

func known(t *testing.T, ar *txtar.Archive) map[provider.Hash]provider.Platform {
	t.Helper()
	m := map[provider.Hash]provider.Platform{}
	for line := range strings.Lines(string(data(ar, "known"))) {
		hash, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		platform, err := provider.ParsePlatform(name)
		if err != nil {
			t.Fatal(err)
		}
		m[provider.Hash(hash)] = platform
	}
	return m
}

func data(ar *txtar.Archive, name string) []byte {
	i := slices.IndexFunc(ar.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return ar.Files[i].Data
}

// with returns the archive with one file replaced or added at the end.
func with(ar *txtar.Archive, name, text string) *txtar.Archive {
	files := slices.DeleteFunc(slices.Clone(ar.Files), func(f txtar.File) bool { return f.Name == name })
	return &txtar.Archive{Comment: ar.Comment, Files: append(files, txtar.File{Name: name, Data: []byte(text)})}
}

func lock(t *testing.T, addr, version, constraints string, hashes ...provider.Hash) lockfile.Lock {
	t.Helper()
	a, err := provider.ParseFullAddr(addr)
	if err != nil {
		t.Fatal(err)
	}
	v, err := provider.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	var c provider.Constraints
	if constraints != "" {
		if c, err = provider.ParseConstraints(constraints); err != nil {
			t.Fatal(err)
		}
	}
	return lockfile.New(a, v, c, hashes)
}

func TestChangesCarryBothSides(t *testing.T) {
	t.Parallel()
	before := lock(t, "registry.terraform.io/hashicorp/aws", "5.31.0", "~> 5.0", "h1:a", "h1:b", "zh:a", "zh:shared")
	after := lock(t, "registry.opentofu.org/hashicorp/aws", "5.34.0", "~> 5.30", "h1:c", "h1:d", "zh:shared")
	linux, darwin := provider.Platform{OS: "linux", Arch: "amd64"}, provider.Platform{OS: "darwin", Arch: "arm64"}
	known := map[provider.Hash]provider.Platform{"h1:c": linux, "h1:d": darwin, "h1:a": {OS: "windows", Arch: "amd64"}}

	want := []Change{{
		Addr: after.Addr, AddrFrom: before.Addr, Kind: Moved,
		From: before.Version, To: after.Version, Bump: provider.BumpMinor,
		ConstraintsFrom: before.Constraints, ConstraintsTo: after.Constraints,
		HashesAdded:   []provider.Hash{"h1:c", "h1:d"},
		HashesRemoved: []provider.Hash{"h1:a", "h1:b", "zh:a"},
		Platforms:     []provider.Platform{darwin, linux},
	}}
	if diff := cmp.Diff(want, Locks([]lockfile.Lock{before}, []lockfile.Lock{after}, known)); diff != "" {
		t.Errorf("Locks of a moved provider (-want +got):\n%s", diff)
	}

	want = []Change{{
		Addr: before.Addr, Kind: Removed, From: before.Version,
		ConstraintsFrom: before.Constraints, HashesRemoved: before.Hashes,
	}}
	if diff := cmp.Diff(want, Locks([]lockfile.Lock{before}, nil, known)); diff != "" {
		t.Errorf("Locks of a removed provider (-want +got):\n%s", diff)
	}
}

func TestRewritten(t *testing.T) {
	t.Parallel()
	l := lock(t, "registry.terraform.io/hashicorp/aws", "5.31.0", "~> 5.0", "h1:a")
	want := []Change{{
		Addr: l.Addr, Kind: Normalised, From: l.Version, To: l.Version,
		ConstraintsFrom: l.Constraints, ConstraintsTo: l.Constraints,
	}}
	got := Rewritten([]lockfile.Lock{l})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Rewritten (-want +got):\n%s", diff)
	}
}
