package hash

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wasted returns the text of a cache in which most is of no use, and the entries
// that are, in the order in which they were last added.
func wasted(t *testing.T) (text string, entries []Entry) {
	t.Helper()
	path := cachePath(t)
	add(t, open(t, path),
		known(1, FromRegistry), known(2, FromPackage), known(3, FromPackage),
		known(1, FromPackage), other(3, FromPackage), known(4, FromPackage))
	again, err := known(2, FromPackage).record()
	if err != nil {
		t.Fatal(err)
	}
	return read(t, path) + "\ngarbage" + strings.Repeat(again, 2*tolerated), []Entry{known(2, FromPackage), known(1, FromPackage), known(4, FromPackage)}
}

func TestClosePrunes(t *testing.T) {
	t.Parallel()
	path, pruned := cachePath(t), cachePath(t)
	text, entries := wasted(t)
	add(t, open(t, path))
	add(t, open(t, pruned), entries...)
	write(t, path, text)
	c := open(t, path)
	add(t, c, known(5, FromPackage))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	add(t, open(t, pruned), known(5, FromPackage))
	if diff := cmp.Diff(read(t, pruned), read(t, path)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	// What was disputed can be learnt again.
	c = open(t, path)
	misses(t, c, known(3, FromPackage))
	add(t, c, known(3, FromPackage))
	finds(t, open(t, path), known(3, FromPackage))
	if left, err := filepath.Glob(path + ".*"); err != nil || left != nil {
		t.Errorf("Close left %v, %v", left, err)
	}
}

func TestCloseLeavesAFileThatIsOfUse(t *testing.T) {
	t.Parallel()
	text, _ := wasted(t)
	fewer := text[:len(text)/3]
	for name, tt := range map[string]struct {
		text string
		open func(string) (*Cache, error)
	}{
		"little_waste": {fewer, OpenCache},
		"read_only":    {text, OpenReadOnlyCache},
	} {
		path := cachePath(t)
		add(t, open(t, path))
		write(t, path, tt.text)
		c, err := tt.open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil || read(t, path) != tt.text {
			t.Errorf("%s: Close = %v, and the file has %d bytes, want %d", name, err, len(read(t, path)), len(tt.text))
		}
	}
}

// TestPruneKeepsLinksAndPermissions holds that a cache which others use stays
// usable for them.
func TestPruneKeepsLinksAndPermissions(t *testing.T) {
	t.Parallel()
	text, entries := wasted(t)
	path, link := cachePath(t), filepath.Join(t.TempDir(), "link")
	add(t, open(t, path))
	write(t, path, text)
	if err := errors.Join(os.Chmod(path, 0o644), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	if err := open(t, link).Close(); err != nil {
		t.Fatal(err)
	}
	finds(t, open(t, path), entries...)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o644 || info.Size() >= int64(len(text)) {
		t.Errorf("the file has mode %v and %d bytes, %v; want mode 0644 and less than %d", info.Mode(), info.Size(), err, len(text))
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link became %v, %v", info, err)
	}
}

func TestCloseOfAFileThatIsGone(t *testing.T) {
	t.Parallel()
	path := cachePath(t)
	c := open(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestPruneKeepsTheNewest holds that a file too long to be read whole is cut to
// what was added last, with room for more.
func TestPruneKeepsTheNewest(t *testing.T) {
	t.Parallel()
	path := cachePath(t)
	var text strings.Builder
	text.WriteString(cacheHeader)
	n := 0
	for ; text.Len() <= maxCache; n++ {
		e := known(n, FromPackage)
		e.Hashed.Programs[0] += strings.Repeat("x", 3000)
		record, err := e.record()
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(record)
	}
	add(t, open(t, path))
	write(t, path, text.String())
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	got := read(t, path)
	if len(got) > roomy+len(cacheHeader) || len(got) < roomy-maxRecord || !strings.HasSuffix(text.String(), got[len(cacheHeader):]) {
		t.Errorf("the file has %d bytes, want the last %d of %d", len(got), roomy, text.Len())
	}
	c := open(t, path)
	if _, ok := c.Lookup(known(n-1, FromPackage).Hashed.Sum.ZH); !ok {
		t.Error("the newest entry is gone")
	}
}

// TestPruneKeepsWhatOthersAdd holds that a file that has changed since it was
// looked at is left alone.
func TestPruneKeepsWhatOthersAdd(t *testing.T) {
	t.Parallel()
	text, _ := wasted(t)
	for name, change := range map[string]func(path string) error{
		"added_to": func(path string) error {
			record, _ := known(6, FromPackage).record()
			return appendTo(path, record)
		},
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		path := cachePath(t)
		add(t, open(t, path))
		write(t, path, text)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		changed := read(t, path)
		if err := prune(path, info); err != nil || read(t, path) != changed {
			t.Errorf("%s: prune = %v, and the file has %d bytes, want %d", name, err, len(read(t, path)), len(changed))
		}
		if left, err := filepath.Glob(path + ".*"); err != nil || left != nil {
			t.Errorf("%s: prune left %v, %v", name, left, err)
		}
	}
}
