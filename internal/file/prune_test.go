package file

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPrune(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	tests := []struct {
		name  string
		files map[string]time.Duration // since they were used; each has 100 bytes
		size  int64
		want  []string
	}{
		{"unused for the age", map[string]time.Duration{"old.kept": 31 * day, "new.kept": 29 * day}, 1000, []string{"new.kept"}},
		{"used longest ago", map[string]time.Duration{"a.kept": 3 * day, "b.kept": day, "c.kept": 2 * day}, 250, []string{"b.kept", "c.kept"}},
		{"as large as may be", map[string]time.Duration{"a.kept": 3 * day, "b.kept": day}, 200, []string{"a.kept", "b.kept"}},
		{"in use", map[string]time.Duration{"a.kept": time.Minute, "b.kept": 0, "c.kept": 2 * time.Hour}, 10, []string{"a.kept", "b.kept"}},
		{"of tomorrow", map[string]time.Duration{"a.kept": -day, "b.kept": 40 * day}, 10, []string{"a.kept"}},
		{"somebody's own", map[string]time.Duration{"README": 40 * day, "old.kept": 40 * day}, 10, []string{"README"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, unused := range tt.files {
				leave(t, filepath.Join(dir, name), unused)
			}
			for range 2 { // and a second time there is nothing to do
				Prune(dir, isKept, 30*day, tt.size)
				if got := names(t, dir); !slices.Equal(got, tt.want) {
					t.Errorf("Prune leaves %q, want %q", got, tt.want)
				}
			}
		})
	}
	Prune(filepath.Join(t.TempDir(), "missing"), isKept, day, 0)
}

func isKept(name string) bool { return strings.HasSuffix(name, ".kept") }

// leave makes a file that was used so long ago.
func leave(t *testing.T, name string, unused time.Duration) {
	t.Helper()
	if err := os.WriteFile(name, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-unused)
	if err := os.Chtimes(name, then, then); err != nil {
		t.Fatal(err)
	}
}

// Prune keeps a file that was used, anything that is no regular file, and the target
// of a link.
func TestPruneLeavesWhatIsUsedAndLinks(t *testing.T) {
	t.Parallel()
	const old = 1000 * time.Hour
	dir, other := t.TempDir(), t.TempDir()
	leave(t, filepath.Join(dir, "used.kept"), old)
	leave(t, filepath.Join(dir, "unused.kept"), old)
	leave(t, filepath.Join(other, "precious.kept"), old)
	full := filepath.Join(dir, "directory.kept")
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	leave(t, filepath.Join(full, "in.kept"), old)
	want := []string{"directory.kept", "used.kept"}
	if err := os.Symlink(filepath.Join(other, "precious.kept"), filepath.Join(dir, "link.kept")); err == nil {
		want = []string{"directory.kept", "link.kept", "used.kept"}
	}
	Touch(filepath.Join(dir, "used.kept"))
	Touch(filepath.Join(dir, "link.kept"))
	Touch(filepath.Join(dir, "missing.kept"))
	Prune(dir, isKept, time.Hour, 0)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("Prune leaves %q, want %q", got, want)
	}
	if info, err := os.Stat(filepath.Join(other, "precious.kept")); err != nil || time.Since(info.ModTime()) < old {
		t.Errorf("behind the link: %v, used %v; want the file as it was", err, info.ModTime())
	}
	if got := names(t, full); len(got) != 1 {
		t.Errorf("the directory holds %q, want its file", got)
	}
}

// Who has a file open reads it to its end, also where it goes meanwhile.
func TestPruneBesideReaders(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.kept")
	leave(t, name, 1000*time.Hour)
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	Prune(filepath.Dir(name), isKept, time.Hour, 0)
	content := make([]byte, 200)
	if n, err := f.Read(content); n != 100 || err != nil {
		t.Errorf("reading what has gone: %d bytes, %v; want 100", n, err)
	}
}
