package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// twoNew are two files below a directory, of which only the first part is there.
func twoNew(t *testing.T) (top string, files []New) {
	t.Helper()
	top = t.TempDir()
	dir := filepath.Join(top, "a", "b")
	return top, []New{{filepath.Join(dir, "one"), []byte("1")}, {filepath.Join(dir, "two"), []byte("2")}}
}

// allBelow are the files and directories below a directory, with what files hold.
func allBelow(t *testing.T, top string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == top {
			return err
		}
		rel, err := filepath.Rel(top, name)
		line := filepath.ToSlash(rel)
		if err == nil && d.Type().IsRegular() {
			var text []byte
			text, err = os.ReadFile(name)
			line += "=" + string(text)
		}
		all = append(all, line)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func TestCreateAll(t *testing.T) {
	t.Parallel()
	top, files := twoNew(t)
	if err := CreateAll(files, Options{Mode: 0o644, Parents: 0o755}); err != nil {
		t.Fatal(err)
	}
	if got := allBelow(t, top); got != "a a/b a/b/one=1 a/b/two=2" {
		t.Errorf("there is %q", got)
	}
	if info, err := os.Stat(files[1].Name); err != nil || os.PathSeparator == '/' && info.Mode().Perm() != 0o644 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	// Also the same content is another's file.
	if err := CreateAll(files, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("CreateAll of what is there = %v, want fs.ErrExist", err)
	}
	if got := allBelow(t, top); got != "a a/b a/b/one=1 a/b/two=2" {
		t.Errorf("there is %q", got)
	}
}

// Whatever has one of the names, in whatever moment it comes: nothing is written, and it stays.
func TestCreateAllMakesAllOrNone(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tests := map[string]struct {
		before func(top string) error           // what is there
		during func(top string, step int) error // what happens before the first and second file is made
		want   string
		is     error
	}{
		"the first is there": {
			before: func(top string) error {
				return errors.Join(os.MkdirAll(top+"/a/b", 0o755), os.WriteFile(top+"/a/b/one", []byte("theirs"), 0o644))
			}, want: "a a/b a/b/one=theirs", is: fs.ErrExist,
		},
		"the second is there": {
			before: func(top string) error {
				return errors.Join(os.MkdirAll(top+"/a/b", 0o755), os.WriteFile(top+"/a/b/two", []byte("2"), 0o644))
			}, want: "a a/b a/b/two=2", is: fs.ErrExist,
		},
		"the second is a directory": {
			before: func(top string) error { return os.MkdirAll(top+"/a/b/two", 0o755) },
			want:   "a a/b a/b/two", is: fs.ErrExist,
		},
		"the second comes when the first is made": {
			during: func(top string, step int) error {
				if step == 2 {
					return os.WriteFile(top+"/a/b/two", []byte("theirs"), 0o644)
				}
				return nil
			}, want: "a a/b a/b/two=theirs", is: fs.ErrExist,
		},
		"the second fails, when somebody has changed the first": {
			during: func(top string, step int) error {
				if step == 2 {
					return errors.Join(broken, os.WriteFile(top+"/a/b/one", []byte("theirs"), 0o644))
				}
				return nil
			}, want: "a a/b a/b/one=theirs", is: broken,
		},
		"the second fails": {
			during: func(_ string, step int) error {
				if step == 2 {
					return broken
				}
				return nil
			}, want: "", is: broken,
		},
		"the first fails": {
			during: func(string, int) error { return broken },
			want:   "", is: broken,
		},
		"a directory above is a file": {
			before: func(top string) error { return os.WriteFile(top+"/a", []byte("theirs"), 0o644) },
			want:   "a=theirs", is: nil,
		},
	}
	for name, tt := range tests {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			top, files := twoNew(t)
			if tt.before != nil {
				if err := tt.before(top); err != nil {
					t.Fatal(err)
				}
			}
			steps := 0
			err := CreateAll(files, Options{Parents: 0o755, watch: func(step string) error {
				if step != "create" || tt.during == nil {
					return nil
				}
				steps++
				return tt.during(top, steps)
			}})
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("CreateAll() = %v, want %v", err, tt.is)
			}
			if got := allBelow(t, top); got != tt.want {
				t.Errorf("there is %q, want %q", got, tt.want)
			}
		})
	}
}

// A failure before anything is made leaves nothing, not even what was filled.
func TestCreateAllLeavesNothingOfAFailedWrite(t *testing.T) {
	t.Parallel()
	for _, failing := range []string{"write", "chmod", "sync", "close"} {
		top, files := twoNew(t)
		seen := 0
		err := CreateAll(files, Options{Parents: 0o755, Durable: true, watch: func(step string) error {
			if step == failing {
				seen++
			}
			if step == failing && seen == 2 {
				return errors.New("the disk is full")
			}
			return nil
		}})
		if got := allBelow(t, top); err == nil || got != "" {
			t.Errorf("%s: CreateAll() = %v, and there is %q, want an error and nothing", failing, err, got)
		}
	}
}
