package registry

import (
	"bytes"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
)

// askedFor are the requests whose paths have a text.
func (f *fixture) askedFor(text string) []string {
	return slices.DeleteFunc(f.requests(), func(r string) bool { return !strings.Contains(r, text) })
}

func openCache(t *testing.T, path string) *hash.Cache {
	t.Helper()
	c, err := hash.OpenCache(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// states makes the registry state hashes in its property packages. edit changes them if it
// is not nil.
func (f *fixture) states(t *testing.T, edit func(packages map[string]any)) {
	t.Helper()
	packages := f.report(t)
	if edit != nil {
		edit(packages)
	}
	f.edit = func(_ provider.Platform, answer map[string]any) { answer["packages"] = packages }
}

func TestHashSourceSavesTheDownload(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.states(t, nil)
	path := filepath.Join(t.TempDir(), "hashes")
	hashed := f.sum(t, linux)
	stated := provider.Hashes{
		Sum: provider.Sum{ZH: hashed.Sum.ZH, H1: hashed.Sum.H1, Size: hashed.Sum.Size}, Platform: linux,
		Listed:   checksums(f.list).hashes(),
		Reported: map[provider.Platform][]provider.Hash{linux: {hashed.Sum.H1}},
		Signer:   signerOf(validKey, "self-signed"),
	}
	for _, run := range []string{"first", "second"} {
		c := f.client(t, Options{HashSource: HashSourceOpenTofu, Cache: openCache(t, path)}, "")
		got, err := c.Hashes(t.Context(), terraform, want(privateHost, linux))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stated, got); diff != "" {
			t.Errorf("Hashes in the %s run (-want +got):\n%s", run, diff)
		}
		if diff := cmp.Diff([]provider.Mark{provider.MarkReported}, provider.Marks([]provider.Hashes{got}, []provider.Hash{got.Sum.H1})); diff != "" {
			t.Errorf("Marks (-want +got):\n%s", diff)
		}
		// The second run remembers the first one's answer.
		if n := len(f.askedFor("/registry.opentofu.org/")); n != 1 || c.Packages() != 0 {
			t.Errorf("after the %s run the source was asked %d times and %d packages were downloaded, want 1 and 0", run, n, c.Packages())
		}
	}

	// A stated hash is of no use to a run without that hash source.
	c := f.client(t, Options{Cache: openCache(t, path)}, "")
	got, err := c.Hashes(t.Context(), terraform, want(privateHost, linux))
	if err != nil || got.Sum.H1Zip != hashed.Sum.H1Zip || got.Reported != nil || c.Packages() != 1 {
		t.Errorf("Hashes without the source = %+v, %v; want those of the package", got, err)
	}
	// A computed hash has precedence over a stated one.
	c = f.client(t, Options{HashSource: HashSourceOpenTofu, Cache: openCache(t, path)}, "")
	got, err = c.Hashes(t.Context(), terraform, want(privateHost, linux))
	if err != nil || got.Reported != nil || c.Cached() != 1 {
		t.Errorf("Hashes of a known package = %+v, %v; want it unmarked", got, err)
	}
}

// TestHashSourceOfItsOwnProviders holds that packages of OpenTofu's registry need no
// further question, and that all hashes are recorded as without a source.
func TestHashSourceOfItsOwnProviders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.states(t, nil)
	c := f.client(t, Options{HashSource: HashSourceOpenTofu}, "")
	got, err := c.Hashes(t.Context(), opentofu, want(opentofuHost, linux))
	if err != nil {
		t.Fatal(err)
	}
	if got.Sum.H1 != f.sum(t, linux).Sum.H1 || len(got.Reported) != 3 {
		t.Errorf("Hashes = %+v, want the reported ones of all platforms", got)
	}
	if n := len(f.askedFor("/download/")); n != 1 || c.Packages() != 0 {
		t.Errorf("the registry was asked %d times and %d packages were downloaded, want 1 and 0", n, c.Packages())
	}
}

// TestHashSourceThatSaysNothing holds that the package is downloaded, as without a source,
// if the source fails or its answer is in doubt.
func TestHashSourceThatSaysNothing(t *testing.T) {
	t.Parallel()
	platform := linux.String()
	zh := func(f *fixture, p provider.Platform) string { return "zh:" + sha256Hex(f.zips[p]) }
	h1 := func(letter string) string { return "h1:" + strings.Repeat(letter, 43) + "=" }
	report := func(hashes ...string) map[string]any { return map[string]any{"hashes": hashes, "package_size": 5} }
	source := func(status int, body string) func(*testing.T, *fixture) {
		return func(_ *testing.T, f *fixture) {
			f.hook = func(w http.ResponseWriter, r *http.Request) bool {
				ours := strings.HasPrefix(r.URL.Path, "/registry.opentofu.org/")
				if ours {
					w.WriteHeader(status)
					w.Write([]byte(body))
				}
				return ours
			}
		}
	}
	states := func(edit func(f *fixture, packages map[string]any)) func(*testing.T, *fixture) {
		return func(t *testing.T, f *fixture) { f.states(t, func(packages map[string]any) { edit(f, packages) }) }
	}
	for name, spoil := range map[string]func(*testing.T, *fixture){
		"not_there":   source(404, ""),
		"not_working": source(500, ""),
		"not_allowed": source(403, ""),
		"not_json":    source(200, "<html>"),
		"no_packages": func(*testing.T, *fixture) {},
		"no_platform": states(func(_ *fixture, packages map[string]any) { packages["linux"] = report() }),
		"no_scheme":   states(func(_ *fixture, packages map[string]any) { packages["plan9_mips"] = report("abc") }),
		"no_hashes":   states(func(_ *fixture, packages map[string]any) { packages[platform] = report() }),
		"another_zip": states(func(f *fixture, packages map[string]any) {
			packages[platform] = report(zh(f, darwin)[:66]+"0", h1("A"))
		}),
		"no_zip":       states(func(_ *fixture, packages map[string]any) { packages[platform] = report(h1("A")) }),
		"no_h1":        states(func(f *fixture, packages map[string]any) { packages[platform] = report(zh(f, linux), "h2:A") }),
		"h1_too_short": states(func(f *fixture, packages map[string]any) { packages[platform] = report(zh(f, linux), "h1:AAAA") }),
		"h1_no_base64": states(func(f *fixture, packages map[string]any) { packages[platform] = report(zh(f, linux), h1("*")) }),
		"two_h1":       states(func(f *fixture, packages map[string]any) { packages[platform] = report(zh(f, linux), h1("A"), h1("E")) }),
		"two_zips": states(func(f *fixture, packages map[string]any) {
			packages[platform] = report(zh(f, linux), zh(f, darwin), h1("A"))
		}),
		"two_platforms_disagree": states(func(f *fixture, packages map[string]any) {
			packages[darwin.String()] = report(zh(f, linux), h1("A"))
		}),
		"negative_size": states(func(f *fixture, packages map[string]any) {
			packages[platform] = map[string]any{"hashes": []string{zh(f, linux), h1("A")}, "package_size": -1}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			spoil(t, f)
			c := f.client(t, Options{HashSource: HashSourceOpenTofu}, "")
			got, err := c.Hashes(t.Context(), terraform, want(privateHost, linux))
			if err != nil {
				t.Fatal(err)
			}
			if hashed := f.sum(t, linux); got.Sum.H1 != hashed.Sum.H1 || got.Sum.H1Zip != hashed.Sum.H1Zip || got.Reported != nil || c.Packages() != 1 {
				t.Errorf("Hashes = %+v, and %d packages were downloaded; want what the package hashes to", got, c.Packages())
			}
		})
	}
}

// TestHashSourceNeedsASignedList holds that two answers of one registry do not prove each
// other.
func TestHashSourceNeedsASignedList(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.keys = nil
	f.states(t, nil)
	c := f.client(t, Options{HashSource: HashSourceOpenTofu}, "")
	got, err := c.Hashes(t.Context(), opentofu, want(opentofuHost, linux))
	if err != nil || got.Sum.H1Zip == "" || c.Packages() != 1 {
		t.Errorf("Hashes = %+v, %v, and %d packages were downloaded; want what the package hashes to", got, err, c.Packages())
	}
}

// TestHashSourceThatChangesItsMind holds that contradicting statements count for nothing.
// The package is downloaded, and known from then on.
func TestHashSourceThatChangesItsMind(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		want       provider.Want
		remembered []string
	}{
		"since_it_was_asked": {want(opentofuHost, linux), []string{"A"}},
		"before":             {want(privateHost, linux), []string{"A", "E"}},
	} {
		f := newFixture(t)
		f.states(t, nil)
		hashed := f.sum(t, linux)
		cache := openCache(t, filepath.Join(t.TempDir(), "hashes"))
		for _, letter := range tt.remembered {
			stated := provider.Sum{ZH: hashed.Sum.ZH, H1: provider.Hash("h1:" + strings.Repeat(letter, 43) + "="), Size: hashed.Sum.Size}
			if err := cache.Add(hash.Entry{Hashed: hash.Hashed{Sum: stated}, Origin: hash.FromRegistry}); err != nil {
				t.Fatal(err)
			}
		}
		c := f.client(t, Options{HashSource: HashSourceOpenTofu, Cache: cache}, "")
		got, err := c.Hashes(t.Context(), terraform, tt.want)
		if err != nil || got.Sum.H1Zip != hashed.Sum.H1Zip || got.Reported != nil {
			t.Errorf("%s: Hashes = %+v, %v; want what the package hashes to", name, got, err)
		}
		if e, _ := cache.Lookup(hashed.Sum.ZH); e.Origin != hash.FromPackage || e.Hashed.Sum.H1 != hashed.Sum.H1 {
			t.Errorf("%s: the cache has %+v, want what the package hashes to", name, e)
		}
	}
}

// TestHashSourceThatIsDownIsAskedOnce holds that a run waits for a failing source once, and
// warns once.
func TestHashSourceThatIsDownIsAskedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.hook = func(w http.ResponseWriter, r *http.Request) bool {
		ours := strings.HasPrefix(r.URL.Path, "/registry.opentofu.org/")
		if ours {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return ours
	}
	var log bytes.Buffer
	c := f.client(t, Options{HashSource: HashSourceOpenTofu, Log: slog.New(slog.NewTextHandler(&log, nil))}, "")
	for _, p := range []provider.Platform{linux, darwin, windows} {
		if _, err := c.Hashes(t.Context(), terraform, want(privateHost, p)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.askedFor("/registry.opentofu.org/")); n != 1 || c.Packages() != 3 {
		t.Errorf("the source was asked %d times and %d packages were downloaded, want 1 and 3", n, c.Packages())
	}
	if n := strings.Count(log.String(), "cannot be asked for hashes"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, &log)
	}
}
