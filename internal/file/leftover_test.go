package file

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// ended is the number of a process that is gone.
func ended(t *testing.T) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const day = 24 * time.Hour
	gone := ended(t)
	name := func(machine string, process int) string { return fmt.Sprintf("x.relock-%s-%d-123", machine, process) }
	tests := []struct {
		name string
		age  time.Duration
		stay bool
	}{
		{name(machine(), gone), 0, false},
		{name(machine(), os.Getppid()), 2 * day, true},
		{name(machine(), os.Getpid()), 0, true},
		{"own." + name(machine(), os.Getpid()), 2 * day, false}, // of an earlier process of that number
		{name("00000000", gone), 0, true},                       // a container's
		{"old." + name("00000000", gone), 2 * day, false},
		{".relock-00000000-1-1", 2 * day, true}, // not our name
		{"x.relock-00000000-1", 2 * day, true},
		{"x.relock-00000000-1-1.tf", 2 * day, true},
		{".terraform.lock.hcl", 2 * day, true},
	}
	if runtime.GOOS == "windows" {
		tests = tests[4:] // processes end later there
	}
	var want []string
	for _, test := range tests {
		path := filepath.Join(dir, test.name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-test.age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		if test.stay {
			want = append(want, test.name)
		}
	}
	full := filepath.Join(dir, "git."+name(machine(), gone), "objects")
	if err := os.MkdirAll(full, 0o700); err != nil {
		t.Fatal(err)
	}
	Sweep(dir)
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("Sweep leaves %q, want %q", got, want)
	}
}

// A link with such a name is nobody's temporary file, and what it leads to even
// less so.
func TestSweepFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	link := fmt.Sprintf("x.relock-%s-%d-1", machine(), ended(t))
	if err := os.WriteFile(filepath.Join(other, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(dir, link)); err != nil {
		t.Skipf("this system lets us make no symbolic links: %v", err)
	}
	Sweep(dir)
	if got := names(t, other); len(got) != 1 {
		t.Errorf("behind the link are %q, want the file that was there", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("the directory holds %q, want the link", got)
	}
}

// Who writes cleans up, and what is made has a name that the next run knows.
func TestWritersSweep(t *testing.T) {
	left := func(dir string) string {
		t.Helper()
		f, err := os.CreateTemp(dir, fmt.Sprintf("x.relock-%s-%d-*", machine(), ended(t)))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return f.Name()
	}
	tests := map[string]func(dir string) error{
		"Replace": func(dir string) error {
			return Replace(filepath.Join(dir, "name"), nil, Options{Unless: func() bool {
				during := names(t, dir)
				if len(during) != 1 || !ours.MatchString(during[0]) {
					t.Errorf("while a file is replaced the directory holds %q, want one temporary file", during)
				}
				return true
			}})
		},
		"NewTemporary": func(dir string) error {
			t.Setenv("TMPDIR", dir)
			t.Setenv("TMP", dir)
			f, err := NewTemporary()
			if err != nil {
				return err
			}
			if !ours.MatchString(filepath.Base(f.Name())) {
				t.Errorf("the name %q is not known again", f.Name())
			}
			return f.Remove()
		},
		"NewTemporaryDir": func(dir string) error {
			t.Setenv("TMPDIR", dir)
			t.Setenv("TMP", dir)
			made, err := NewTemporaryDir("git")
			if err != nil {
				return err
			}
			if !ours.MatchString(filepath.Base(made)) {
				t.Errorf("the name %q is not known again", made)
			}
			return os.Remove(made)
		},
	}
	for name, write := range tests {
		dir := t.TempDir()
		old := left(dir)
		if err := write(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(old); err == nil {
			t.Errorf("%s leaves %s where it is", name, old)
		}
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
