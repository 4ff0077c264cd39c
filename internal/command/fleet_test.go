package command

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
)

// TestJoinedCachesBelieveNobodyAlone holds that of caches that contradict each other none
// is believed, whichever comes first, and that a shard cannot put its word in the place of
// what was known.
func TestJoinedCachesBelieveNobodyAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sum := func(letter string) provider.Hash { return provider.Hash("h1:" + strings.Repeat(letter, 43) + "=") }
	zh := func(digit string) provider.Hash { return provider.Hash("zh:" + strings.Repeat(digit, 64)) }
	keep := func(name string, entries ...hash.Entry) string {
		t.Helper()
		c, err := hash.OpenCache(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := c.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		return name
	}
	entry := func(digit, letter string, origin hash.Origin) hash.Entry {
		return hash.Entry{Hashed: hash.Hashed{Sum: provider.Sum{ZH: zh(digit), H1: sum(letter), H1Zip: sum(letter), Size: 2}}, Origin: origin}
	}
	all := keep("all", entry("1", "A", hash.FromPackage), entry("4", "A", hash.FromPackage))
	one := keep("one", entry("1", "A", hash.FromPackage), entry("2", "A", hash.FromPackage), entry("3", "A", hash.FromPackage))
	two := keep("two", entry("1", "E", hash.FromPackage), entry("2", "E", hash.FromPackage), entry("4", "E", hash.FromRegistry))
	env := Env{WorkDir: dir, Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	for _, order := range [][]string{{one, two}, {two, one}} {
		if told := joinCaches(env, all, order); len(told) > 0 {
			t.Errorf("joining %v = %v, want nothing to tell", order, told)
		}
		c, err := hash.OpenReadOnlyCache(filepath.Join(dir, all))
		if err != nil {
			t.Fatal(err)
		}
		for digit, want := range map[string]provider.Hash{"1": "", "2": "", "3": sum("A"), "4": sum("A")} {
			if e, _ := c.Lookup(zh(digit)); e.Hashed.Sum.H1 != want {
				t.Errorf("after %v the package %s has %q, want %q", order, digit, e.Hashed.Sum.H1, want)
			}
		}
	}
	env.Getenv = func(name string) string {
		return map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "merge_group"}[name]
	}
	if told := joinCaches(env, "head", []string{one}); len(told) != 1 || !strings.Contains(told[0].Message, "head") {
		t.Errorf("joining on a head = %v, want a warning", told)
	}
	if _, err := os.Lstat(filepath.Join(dir, "head")); err == nil {
		t.Error("a run about a head has made a cache")
	}
}
