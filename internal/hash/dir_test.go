package hash

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"golang.org/x/mod/sumdb/dirhash"
)

func TestDirHashesAsTheToolsDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"terraform-provider-x_v1.0.0": "a", "LICENSE": "b", "docs/terraform-provider-x": "c", ".hidden/z": "d",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A link to a file is read through.
	if err := os.Symlink("LICENSE", filepath.Join(dir, "COPYING")); err != nil {
		t.Skipf("no links here: %v", err)
	}
	want, err := dirhash.HashDir(dir, "", dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Dir(os.DirFS(dir))
	if err != nil || string(got.Sum.H1) != want || got.Sum.H1Zip != got.Sum.H1 || got.Sum.ZH != "" || got.Sum.Size != 0 {
		t.Errorf("Dir = %+v, %v; want h1 %s alone", got, err, want)
	}
	if !slices.Equal(got.Programs, []string{"terraform-provider-x_v1.0.0"}) || !got.Runs("x") || got.Runs("y") {
		t.Errorf("programs = %v, want the one at the top", got.Programs)
	}

	// A link to a directory is what the tools cannot read.
	if err := os.Symlink("docs", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(os.DirFS(dir)); !errors.Is(err, ErrUnpack) {
		t.Errorf("Dir with a link to a directory: %v, want ErrUnpack", err)
	}
}

func TestDirRefuses(t *testing.T) {
	t.Parallel()
	crowd := fstest.MapFS{}
	for i := range maxEntries + 1 {
		crowd[fmt.Sprint(i)] = &fstest.MapFile{}
	}
	for name, fsys := range map[string]fs.FS{
		"a name with a newline": fstest.MapFS{"a\nb": {}},
		"too many files":        crowd,
		"a missing directory":   os.DirFS(filepath.Join(t.TempDir(), "missing")),
	} {
		if _, err := Dir(fsys); !errors.Is(err, ErrUnpack) {
			t.Errorf("Dir of %s: %v, want ErrUnpack", name, err)
		}
	}
}
