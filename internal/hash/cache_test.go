package hash

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
)

// known returns an entry for the package of that number.
func known(n int, origin Origin) Entry {
	digest := func(kind byte) []byte {
		b := make([]byte, 32)
		copy(b, fmt.Sprint(n))
		b[31] = kind
		return b
	}
	e := Entry{Hashed{Sum: provider.Sum{ZH: provider.ZH(hex.EncodeToString(digest('z'))), H1: newH1(digest('d')), Size: int64(n) + 1}}, origin}
	if origin == FromPackage {
		e.Hashed.Sum.H1Zip, e.Hashed.Programs = newH1(digest('p')), []string{"terraform-provider-x_v1.0.0"}
	}
	return e
}

// other returns an entry that says something else of the package.
func other(n int, origin Origin) Entry {
	e := known(n, origin)
	e.Hashed.Sum.H1 = known(n+1000, origin).Hashed.Sum.H1
	return e
}

func cachePath(t testing.TB) string { return filepath.Join(t.TempDir(), "cache", "hashes") }

func open(t testing.TB, path string) *Cache {
	t.Helper()
	c, err := OpenCache(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func add(t testing.TB, c *Cache, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		if err := c.Add(e); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// finds holds that the cache knows the entries as they are.
func finds(t testing.TB, c *Cache, entries ...Entry) {
	t.Helper()
	for _, want := range entries {
		got, ok := c.Lookup(want.Hashed.Sum.ZH)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("Lookup(%s) = %v (-want +got):\n%s", want.Hashed.Sum.ZH, ok, diff)
		}
	}
}

func misses(t testing.TB, c *Cache, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		if got, ok := c.Lookup(e.Hashed.Sum.ZH); ok {
			t.Errorf("Lookup(%s) = %v, want nothing", e.Hashed.Sum.ZH, got)
		}
	}
}

func TestCacheRemembers(t *testing.T) {
	t.Parallel()
	path := cachePath(t)
	several := known(3, FromPackage)
	several.Hashed.Programs = []string{"terraform-provider-a b,c%", "terraform-provider-ä\n", "terraform-provider-\xff"}
	none := known(4, FromPackage)
	none.Hashed.Programs = nil
	entries := []Entry{known(1, FromPackage), known(2, FromRegistry), several, none}

	c := open(t, path)
	misses(t, c, entries...)
	add(t, c, entries...)
	finds(t, c, entries...)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	text := read(t, path)
	c = open(t, path)
	finds(t, c, entries...)
	misses(t, c, known(5, FromPackage))
	add(t, c, entries...)
	if got := read(t, path); got != text {
		t.Errorf("adding what is known changed the file:\n%s\nwant\n%s", got, text)
	}
}

// TestCacheFormat holds the format: files outlive releases.
func TestCacheFormat(t *testing.T) {
	t.Parallel()
	const want = "relock hash cache 1." +
		"\npackage zh:310000000000000000000000000000000000000000000000000000000000007a h1:MQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAGQ= h1:MQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAHA= 2 terraform-provider-x_v1.0.0 3408ec21b80d903b" +
		"\nregistry zh:320000000000000000000000000000000000000000000000000000000000007a h1:MgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAGQ= - 3 - 13a18ee6a2be5061"
	path := cachePath(t)
	add(t, open(t, path), known(1, FromPackage), known(2, FromRegistry))
	if diff := cmp.Diff(want, read(t, path)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	write(t, path, want)
	finds(t, open(t, path), known(1, FromPackage), known(2, FromRegistry))
}

// TestCacheBelieves holds what is known after entries for one package, in
// whatever order they come.
func TestCacheBelieves(t *testing.T) {
	t.Parallel()
	pkg, reg := known(1, FromPackage), known(1, FromRegistry)
	pkg2, reg2 := other(1, FromPackage), other(1, FromRegistry)
	size, programs := pkg, pkg
	size.Hashed.Sum.Size++
	programs.Hashed.Programs = nil
	for name, tt := range map[string]struct {
		entries []Entry
		want    []Entry
	}{
		"package_over_registry":                 {[]Entry{reg, pkg}, []Entry{pkg}},
		"package_over_another_registry":         {[]Entry{reg2, pkg}, []Entry{pkg}},
		"package_over_registries_that_disagree": {[]Entry{reg, reg2, pkg}, []Entry{pkg}},
		"same_twice":                            {[]Entry{pkg, pkg}, []Entry{pkg}},
		"packages_that_disagree":                {[]Entry{pkg, pkg2}, nil},
		"packages_that_disagree_again":          {[]Entry{pkg, pkg2, pkg}, nil},
		"packages_that_disagree_and_a_registry": {[]Entry{pkg, pkg2, reg}, nil},
		"packages_that_disagree_on_size":        {[]Entry{pkg, size}, nil},
		"packages_that_disagree_on_programs":    {[]Entry{pkg, programs}, nil},
		"registries_that_disagree":              {[]Entry{reg, reg2}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range len(tt.entries) {
				tt.entries = append(tt.entries[1:], tt.entries[0])
				for _, entries := range [][]Entry{tt.entries, reversed(tt.entries)} {
					path := cachePath(t)
					c := open(t, path)
					add(t, c, entries...)
					for _, c := range []*Cache{c, open(t, path)} {
						finds(t, c, tt.want...)
						if tt.want == nil {
							misses(t, c, pkg)
						}
					}
				}
			}
		})
	}
}

func reversed(entries []Entry) []Entry {
	entries = slices.Clone(entries)
	slices.Reverse(entries)
	return entries
}

func TestCacheRefusesEntriesThatAreNotWhole(t *testing.T) {
	t.Parallel()
	c := open(t, cachePath(t))
	for name, change := range map[string]func(*Entry){
		"origin":           func(e *Entry) { e.Origin = "" },
		"zh":               func(e *Entry) { e.Hashed.Sum.ZH = "" },
		"zh_scheme":        func(e *Entry) { e.Hashed.Sum.ZH = "h1:" + e.Hashed.Sum.ZH[3:] },
		"zh_upper_case":    func(e *Entry) { e.Hashed.Sum.ZH = provider.Hash(strings.ToUpper(string(e.Hashed.Sum.ZH))) },
		"zh_short":         func(e *Entry) { e.Hashed.Sum.ZH = e.Hashed.Sum.ZH[:60] },
		"h1":               func(e *Entry) { e.Hashed.Sum.H1 = "" },
		"h1_scheme":        func(e *Entry) { e.Hashed.Sum.H1 = "h2:" + e.Hashed.Sum.H1[3:] },
		"h1_loose_base64":  func(e *Entry) { e.Hashed.Sum.H1 = e.Hashed.Sum.H1[:len(e.Hashed.Sum.H1)-2] + "R=" },
		"h1zip":            func(e *Entry) { e.Hashed.Sum.H1Zip = "" },
		"size":             func(e *Entry) { e.Hashed.Sum.Size = 0 },
		"negative_size":    func(e *Entry) { e.Origin, e.Hashed.Sum.Size, e.Hashed.Programs = FromRegistry, -1, nil },
		"other_program":    func(e *Entry) { e.Hashed.Programs = []string{"-"} },
		"reported_program": func(e *Entry) { e.Origin = FromRegistry },
		"long":             func(e *Entry) { e.Hashed.Programs = []string{programPrefix + strings.Repeat("x", maxRecord)} },
	} {
		e := known(1, FromPackage)
		change(&e)
		if err := c.Add(e); err == nil {
			t.Errorf("%s: Add(%v) succeeded", name, e)
		}
	}
	misses(t, c, known(1, FromPackage))
}

// TestCacheSurvivesDamage holds that whatever is cut off or changed costs that
// record alone, and never makes another.
func TestCacheSurvivesDamage(t *testing.T) {
	t.Parallel()
	path := cachePath(t)
	entries := []Entry{known(1, FromPackage), known(2, FromRegistry), known(3, FromPackage)}
	add(t, open(t, path), entries...)
	text := read(t, path)
	lines := strings.Count(text, "\n")
	damaged := filepath.Join(t.TempDir(), "hashes")

	for n := range len(text) {
		write(t, damaged, text[:n])
		c := open(t, damaged)
		whole := strings.Count(text[:n], "\n")
		if whole > 0 && text[n] != '\n' {
			whole-- // the last is cut
		}
		finds(t, c, entries[:whole]...)
		misses(t, c, entries[whole:]...)
		add(t, c, known(4, FromPackage))
		again := open(t, damaged)
		finds(t, again, append(slices.Clone(entries[:whole]), known(4, FromPackage))...)
		c.Close()
		again.Close()
	}
	for n := range len(text) {
		for bit := range 8 {
			flipped := []byte(text)
			flipped[n] ^= 1 << bit
			found := 0
			if _, err := scanRecords(bytes.NewReader(flipped), func(e Entry) {
				if !slices.ContainsFunc(entries, e.equal) {
					t.Errorf("bit %d of byte %d flipped made %v", bit, n, e)
				}
				found++
			}); err != nil || found < lines-2 || found < lines && n < len(cacheHeader) {
				t.Errorf("bit %d of byte %d flipped left %d entries, %v", bit, n, found, err)
			}
		}
	}
}

func TestCachePassesOverGarbage(t *testing.T) {
	t.Parallel()
	path := cachePath(t)
	first, _ := known(1, FromPackage).record()
	second, _ := known(2, FromPackage).record()
	for name, text := range map[string]string{
		"header_twice":   cacheHeader + cacheHeader + first + second,
		"without_header": first[1:] + second,
		"concatenated":   cacheHeader + first + "\n" + cacheHeader + second,
		"nul_bytes":      cacheHeader + first + strings.Repeat("\x00", 500) + second + second,
		"long_lines":     cacheHeader + "\n" + strings.Repeat("x", 3*maxRecord) + first + "\n" + strings.Repeat("package ", maxRecord) + second,
		"half_a_record":  cacheHeader + first + second[:100] + second,
		"no_newline":     cacheHeader + first + second + cacheHeader + second,
	} {
		t.Run(name, func(t *testing.T) {
			write(t, path, text)
			finds(t, open(t, path), known(2, FromPackage))
			if _, ok := open(t, path).Lookup(known(1, FromPackage).Hashed.Sum.ZH); ok != (name != "nul_bytes") {
				t.Errorf("Lookup of the record before the garbage = %v", ok)
			}
		})
	}
}

// TestCacheLeavesOtherFilesAlone holds that a path given by mistake costs no
// file.
func TestCacheLeavesOtherFilesAlone(t *testing.T) {
	t.Parallel()
	path := cachePath(t)
	for name, text := range map[string]string{
		"text":             "# README\n\nrelock keeps lock files fresh.\n",
		"blank_line":       "\ntext",
		"newlines":         "\n\n\n",
		"later_version":    "relock hash cache 2.\nsomething else",
		"version_ten":      "relock hash cache 10.",
		"one_long_line":    strings.Repeat("x", 2*maxRecord),
		"part_of_a_header": "relock hash\nand more",
	} {
		write(t, path, text)
		for how, f := range map[string]func(string) error{
			"OpenCache":         func(path string) error { _, err := OpenCache(path); return err },
			"OpenReadOnlyCache": func(path string) error { _, err := OpenReadOnlyCache(path); return err },
		} {
			if err := f(path); !errors.Is(err, ErrNoCache) {
				t.Errorf("%s of a file with %s = %v, want %v", how, name, err, ErrNoCache)
			}
		}
		if got := read(t, path); got != text {
			t.Errorf("file with %s became %q", name, got)
		}
	}
	if _, err := OpenCache(filepath.Dir(path)); !errors.Is(err, ErrNoCache) {
		t.Errorf("OpenCache of a directory = %v, want %v", err, ErrNoCache)
	}
}

func TestReadOnlyCacheIsNotWritten(t *testing.T) {
	t.Parallel()
	path := cachePath(t)
	c, err := OpenReadOnlyCache(path)
	if err != nil {
		t.Fatal(err)
	}
	add(t, c, known(1, FromPackage))
	finds(t, c, known(1, FromPackage))
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenReadOnlyCache created a directory: %v", err)
	}
	add(t, open(t, path), known(2, FromPackage))
	text := read(t, path)
	if c, err = OpenReadOnlyCache(path); err != nil {
		t.Fatal(err)
	}
	add(t, c, known(3, FromPackage))
	finds(t, c, known(2, FromPackage), known(3, FromPackage))
	if got := read(t, path); got != text {
		t.Errorf("the file became %q, want %q", got, text)
	}
}

// TestUnwritableCacheIsRead holds that a file that cannot be written is used all
// the same, and that it is said only if something had to be written.
func TestUnwritableCacheIsRead(t *testing.T) {
	t.Parallel()
	path := cachePath(t)
	add(t, open(t, path), known(1, FromPackage))
	text := read(t, path)
	for _, name := range []string{path, filepath.Dir(path)} { // no temporary file either
		if err := os.Chmod(name, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(filepath.Dir(path), 0o700) })
	withoutRights(t, path)
	c := open(t, path)
	add(t, c, known(1, FromPackage))
	finds(t, c, known(1, FromPackage))
	if err := c.Close(); err != nil {
		t.Errorf("Close = %v after nothing new was added", err)
	}
	c = open(t, path)
	add(t, c, known(2, FromPackage))
	finds(t, c, known(1, FromPackage), known(2, FromPackage))
	if err := c.Close(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Close = %v, want %v", err, fs.ErrPermission)
	}
	if got := read(t, path); got != text {
		t.Errorf("the file became %q, want %q", got, text)
	}
	if _, err := OpenCache(filepath.Join(filepath.Dir(path), "missing")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("OpenCache of a file that cannot be created = %v, want %v", err, fs.ErrPermission)
	}
}

// TestAddSurvivesAReplacedFile holds that what one run adds stands in the file
// that another has put in the place of the one that the first has opened.
func TestAddSurvivesAReplacedFile(t *testing.T) {
	t.Parallel()
	path := cachePath(t)
	c := open(t, path)
	add(t, c, known(1, FromPackage))
	fresh := cachePath(t)
	add(t, open(t, fresh), known(2, FromPackage))
	if err := os.Rename(fresh, path); err != nil {
		t.Fatal(err)
	}
	add(t, c, known(3, FromPackage))
	finds(t, open(t, path), known(2, FromPackage), known(3, FromPackage))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	add(t, c, known(4, FromPackage))
	finds(t, open(t, path), known(4, FromPackage))
}

func TestNilCacheRemembersNothing(t *testing.T) {
	t.Parallel()
	var c *Cache
	add(t, c, known(1, FromPackage))
	misses(t, c, known(1, FromPackage))
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestCacheEntriesAreTheCallers(t *testing.T) {
	t.Parallel()
	c := open(t, cachePath(t))
	e := known(1, FromPackage)
	add(t, c, e)
	e.Hashed.Programs[0] = "changed"
	got, _ := c.Lookup(e.Hashed.Sum.ZH)
	finds(t, c, known(1, FromPackage))
	got.Hashed.Programs[0] = "changed"
	finds(t, c, known(1, FromPackage))
}

// TestCacheIsBounded holds that of a long file the end is read.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	path := cachePath(t)
	first, _ := known(1, FromPackage).record()
	last, _ := known(2, FromPackage).record()
	write(t, path, cacheHeader+first+strings.Repeat("\n"+strings.Repeat("x", 1023), maxCache/1024)+last)
	c := open(t, path)
	finds(t, c, known(2, FromPackage))
	misses(t, c, known(1, FromPackage))
}

// TestRunsAppendAtTheSameTime holds that nothing is lost where several
// processes, and several parts of each, add to one file.
func TestRunsAppendAtTheSameTime(t *testing.T) {
	t.Parallel()
	const processes, each = 3, 200
	if path := os.Getenv("RELOCK_TEST_CACHE"); path != "" {
		var first int
		fmt.Sscan(os.Getenv("RELOCK_TEST_FIRST"), &first)
		appendAtOnce(t, path, first, each)
		return
	}
	path := cachePath(t)
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestRunsAppendAtTheSameTime$")
			cmd.Env = append(os.Environ(), "RELOCK_TEST_CACHE="+path, fmt.Sprintf("RELOCK_TEST_FIRST=%d", (i+1)*each))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	appendAtOnce(t, path, 0, each)
	wg.Wait()
	c := open(t, path)
	for i := range (processes + 1) * each {
		finds(t, c, known(i, FromPackage))
	}
}

// appendAtOnce adds entries through two caches, each used by two goroutines.
func appendAtOnce(t *testing.T, path string, first, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for range 2 {
		c := open(t, path)
		for range 2 {
			wg.Go(func() {
				for _, i := range rand.Perm(n) {
					if err := c.Add(known(first+i, FromPackage)); err != nil {
						t.Error(err)
					}
					if _, ok := c.Lookup(known(first+i, FromPackage).Hashed.Sum.ZH); !ok {
						t.Errorf("entry %d is unknown after Add", first+i)
					}
				}
			})
		}
	}
	wg.Wait()
}

// FuzzCache holds that no file makes reading panic, and that what is read from
// it is whole, and the same once it is written again.
func FuzzCache(f *testing.F) {
	first, _ := known(1, FromPackage).record()
	second, _ := known(2, FromRegistry).record()
	f.Add([]byte(cacheHeader + first + second))
	f.Add([]byte(first[:50] + second))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var text string
		var entries []Entry
		if _, err := scanRecords(bytes.NewReader(data), func(e Entry) {
			record, err := e.record()
			if err != nil {
				t.Errorf("read %v: %v", e, err)
			}
			entries, text = append(entries, e), text+record
		}); err != nil {
			t.Error(err)
		}
		var again []Entry
		if _, err := scanRecords(strings.NewReader(text), func(e Entry) { again = append(again, e) }); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(entries, again); diff != "" {
			t.Errorf("written and read again (-want +got):\n%s", diff)
		}
		path := cachePath(t)
		write(t, path, string(data))
		c, err := OpenCache(path)
		if err != nil {
			if !errors.Is(err, ErrNoCache) {
				t.Error(err)
			}
			return
		}
		defer c.Close()
		e := known(3, FromPackage)
		add(t, c, e)
		finds(t, c, e)
		if read(t, path) != string(data) {
			finds(t, open(t, path), e)
		}
	})
}

// What a container makes as root, the runner's user archives; nobody but who made
// it writes to it.
func TestOthersMayReadACacheAndNotWriteToIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	top := t.TempDir()
	path := filepath.Join(top, "new", "relock", "hashes")
	c, err := OpenCache(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	umask := permissions(t, top) ^ 0o777 // TempDir asks for 0777
	for name, want := range map[string]fs.FileMode{filepath.Join(top, "new"): 0o755, filepath.Dir(path): 0o755, path: 0o644} {
		if got := permissions(t, name); got != want&^umask {
			t.Errorf("%s has the permissions %v, want %v", filepath.Base(name), got, want&^umask)
		}
	}
}

func permissions(t *testing.T, name string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
