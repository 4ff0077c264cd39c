package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "name")
	holds := func(want string, mode os.FileMode) {
		t.Helper()
		text, err := os.ReadFile(name)
		info, _ := os.Stat(name)
		if err != nil || string(text) != want || os.PathSeparator == '/' && info.Mode().Perm() != mode {
			t.Errorf("the file is %q, %v, %v; want %q, %v", text, info.Mode(), err, want, mode)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("the directory holds %v, %v; want the file alone", entries, err)
		}
	}
	if err := Replace(name, []byte("one"), Options{}); err != nil {
		t.Fatal(err)
	}
	holds("one", 0o600)
	if err := Replace(name, []byte("two"), Options{Mode: 0o644, Durable: true}); err != nil {
		t.Fatal(err)
	}
	holds("two", 0o644)
	if err := Replace(name, []byte("three"), Options{Unless: func() bool { return true }}); err != nil {
		t.Fatal(err)
	}
	holds("two", 0o644)
}

// A file that cannot be replaced stays, and nothing is left beside it.
func TestReplaceFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "directory")
	if err := os.MkdirAll(filepath.Join(name, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Replace(name, nil, Options{}); err == nil {
		t.Error("Replace of a directory = nil, want an error")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v; want what it held", entries, err)
	}
	below := filepath.Join(dir, "missing", "twice", "name")
	if err := Replace(below, nil, Options{}); err == nil {
		t.Error("Replace in a directory that is missing = nil, want an error")
	}
	if err := Replace(below, nil, Options{Parents: 0o700}); err != nil {
		t.Errorf("Replace that makes directories = %v", err)
	}
}

// Who has the file open goes on reading what it was.
func TestReplaceLeavesReadersWhatTheyOpened(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a file that is open is not replaced there")
	}
	name := filepath.Join(t.TempDir(), "name")
	if err := Replace(name, []byte("one"), Options{}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Replace(name, []byte("another"), Options{}); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(f); err != nil || string(text) != "one" {
		t.Errorf("the open file reads %q, %v; want what it was", text, err)
	}
}

// A person or program that acts on the file between the reading and the renaming loses
// nothing. A file that is there already as it would be written is no failure.
func TestReplaceComparesAndSwaps(t *testing.T) {
	t.Parallel()
	old, missing := &Was{Content: []byte("old")}, &Was{Missing: true}
	save := func(content string) func(t *testing.T, name string) {
		return func(t *testing.T, name string) {
			t.Helper()
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(t *testing.T, name string) {
		t.Helper()
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	directory := func(t *testing.T, name string) {
		t.Helper()
		remove(t, name)
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	nothing := func(*testing.T, string) {}
	tests := []struct {
		name   string
		was    *Was
		act    func(t *testing.T, name string)
		want   string // "-" is none
		wanted error
	}{
		{"nobody acts", old, nothing, "new", nil},
		{"edit", old, save("edited"), "edited", ErrChanged},
		{"edit that begins alike", old, save("old and more"), "old and more", ErrChanged},
		{"empty", old, save(""), "", ErrChanged},
		{"the same bytes", old, save("old"), "new", nil},
		{"another run", old, save("new"), "new", nil},
		{"remove", old, remove, "-", ErrChanged},
		{"a directory", old, directory, "-", ErrChanged},
		{"nobody creates", missing, nothing, "new", nil},
		{"create", missing, save("created"), "created", ErrChanged},
		{"create empty", missing, save(""), "", ErrChanged},
		{"another run creates", missing, save("new"), "new", nil},
		{"nobody compares", nil, save("edited"), "new", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "name")
			if tt.was == old {
				save("old")(t, name)
			}
			err := Replace(name, []byte("new"), Options{Durable: true, Was: tt.was, Unless: func() bool {
				tt.act(t, name)
				return false
			}})
			if !errors.Is(err, tt.wanted) {
				t.Errorf("Replace = %v, want %v", err, tt.wanted)
			}
			got, err := Read(name)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrIrregular) {
				got = []byte("-")
			}
			if string(got) != tt.want {
				t.Errorf("the file is %q, want %q", got, tt.want)
			}
			if left := names(t, filepath.Dir(name)); len(left) > 1 {
				t.Errorf("the directory holds %q, want the file alone", left)
			}
		})
	}
}

// No way of creating a file replaces anything, not even a link that leads nowhere.
// Each creates the file where there is nothing.
func TestCreate(t *testing.T) {
	t.Parallel()
	for i, way := range append(slices.Clone(waysToCreate), create) {
		dir := t.TempDir()
		from, to, link, sub := filepath.Join(dir, "from"), filepath.Join(dir, "to"), filepath.Join(dir, "link"), filepath.Join(dir, "sub")
		linked := os.Symlink("nowhere", link) == nil
		for _, err := range []error{os.WriteFile(from, []byte("new"), 0o600), os.WriteFile(to, []byte("old"), 0o600), os.Mkdir(sub, 0o700)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, taken := range []string{to, link, sub} {
			if err := way(from, taken); !errors.Is(err, fs.ErrExist) && (linked || taken != link) {
				t.Errorf("way %d in the place of %s = %v, want that there is one", i, filepath.Base(taken), err)
			}
		}
		if text, err := os.ReadFile(to); err != nil || string(text) != "old" {
			t.Errorf("way %d: the file is %q, %v; want what it was", i, text, err)
		}
		free := filepath.Join(dir, "free")
		if err := way(from, free); err != nil {
			t.Errorf("way %d: %v", i, err)
		}
		if text, err := os.ReadFile(free); err != nil || string(text) != "new" {
			t.Errorf("way %d: the new file is %q, %v; want what was put there", i, text, err)
		}
		if err := way(from, filepath.Join(dir, "missing", "name")); err == nil || errors.Is(err, fs.ErrExist) {
			t.Errorf("way %d in a directory that is missing = %v, want an error", i, err)
		}
	}
}

// The content is on the disk before anybody finds it under the name. After a failure
// the file is as it was, with nothing beside it.
func TestReplaceStepByStep(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for was, steps := range map[*Was]string{
		nil:                      "write chmod sync close rename remove",
		{Content: []byte("old")}: "write chmod sync close rename remove",
		{Missing: true}:          "write chmod sync close create remove",
	} {
		for i := -1; i < len(strings.Fields(steps))-1; i++ {
			name := filepath.Join(t.TempDir(), "name")
			if was == nil || !was.Missing {
				if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var made []string
			err := Replace(name, []byte("new"), Options{Durable: true, Was: was, watch: func(step string) error {
				made = append(made, step)
				if i >= 0 && step == strings.Fields(steps)[i] {
					return full
				}
				return nil
			}})
			text, _ := os.ReadFile(name)
			what := fmt.Sprintf("Replace of %+v with a failure at step %d", was, i)
			switch {
			case i < 0 && (err != nil || string(text) != "new" || strings.Join(made, " ") != steps):
				t.Errorf("%s = %v, the file is %q after %q; want the new one after %q", what, err, text, made, steps)
			case i >= 0 && (!errors.Is(err, full) || string(text) == "new"):
				t.Errorf("%s = %v, and the file is %q; want the old one", what, err, text)
			}
			if left := names(t, filepath.Dir(name)); len(left) > 1 || len(left) == 1 && left[0] != "name" {
				t.Errorf("%s leaves %q", what, left)
			}
		}
	}
}

// A file that nobody may read any more is not replaced.
func TestReplaceOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || syscall.Geteuid() == 0 {
		t.Skip("this user may read every file")
	}
	name := filepath.Join(t.TempDir(), "name")
	if err := os.WriteFile(name, []byte("old"), 0o200); err != nil {
		t.Fatal(err)
	}
	if err := Replace(name, []byte("new"), Options{Was: &Was{Content: []byte("old")}}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Replace = %v, want that it may not be read", err)
	}
}
