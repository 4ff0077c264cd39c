package registry

import (
	"cmp"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// contents are the platforms whose packages' content a listing knows.
func contents(l provider.Listing) []string {
	var known []string
	for _, f := range l.Files {
		if f.Sum.Computed() {
			known = append(known, f.Platform.String())
		}
	}
	return known
}

func TestListingOfWhatWasAskedCostsNoRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.list += strings.Repeat("a", 64) + "  terraform-provider-alpha_1.1.0_manifest.json\n"
	c := f.client(t, Options{}, "")
	if _, err := c.Hashes(t.Context(), terraform, want(privateHost, linux)); err != nil {
		t.Fatal(err)
	}
	before := len(f.requests())
	got, err := c.Listing(t.Context(), terraform, want(privateHost, darwin))
	if err != nil {
		t.Fatal(err)
	}
	wanted := provider.Listing{Signer: got.Signer, Files: []provider.ListedFile{
		{Name: filename(darwin), Sum: provider.Sum{ZH: provider.ZH(sha256Hex(f.zips[darwin]))}, Platform: darwin},
		{Name: filename(linux), Sum: f.sum(t, linux).Sum, Platform: linux, Fresh: true},
		{Name: filename(windows), Sum: provider.Sum{ZH: provider.ZH(sha256Hex(f.zips[windows]))}, Platform: windows},
		{Name: "terraform-provider-alpha_1.1.0_manifest.json", Sum: provider.Sum{ZH: provider.ZH(strings.Repeat("a", 64))}},
	}}
	if diff := gocmp.Diff(wanted, got); diff != "" || !got.Signed() {
		t.Errorf("listing (-want +got):\n%s", diff)
	}
	if more := f.since(before); len(more) > 0 {
		t.Errorf("the listing cost requests: %v", more)
	}
}

func TestListingAsksForItselfWhereNobodyDid(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.client(t, Options{}, "")
	if _, err := c.Listing(t.Context(), terraform, want(privateHost, provider.Platform{OS: "plan9", Arch: "386"})); !problem.Coded(err, problem.CodeNoPackage) {
		t.Errorf("error for a platform without a package: %v, want %s", err, problem.CodeNoPackage)
	}
	// That answer is the release's first one. It must not be used for the other platforms.
	if got, err := c.Listing(t.Context(), terraform, want(privateHost, linux)); err != nil || len(got.Files) != 3 {
		t.Errorf("Listing = %d files, error %v, want 3 files", len(got.Files), err)
	}
}

// TestPackageThatIsListedIsNotAbsent holds that a lost answer does not mean that the
// release lacks the platform. That would refute hashes of it.
func TestPackageThatIsListedIsNotAbsent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.versions = served
	f.status["download/linux/amd64"] = http.StatusNotFound
	c := f.client(t, Options{}, "")
	if _, err := c.Package(t.Context(), terraform, want(privateHost, linux), 1<<20); !problem.Coded(err, problem.CodeBadAnswer) {
		t.Errorf("Package: error %v, want %s", err, problem.CodeBadAnswer)
	}
	if _, err := c.Size(t.Context(), terraform, want(privateHost, linux)); !problem.Coded(err, problem.CodeBadAnswer) {
		t.Errorf("Size: error %v, want %s", err, problem.CodeBadAnswer)
	}
}

func TestNothingIsListedWhereAMirrorHasASay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		config string
		listed bool
	}{
		"implied":               {"", true},
		"direct":                {"provider_installation {\n  direct {}\n}\n", true},
		"mirror for another":    {"provider_installation {\n  filesystem_mirror {\n    path = \"" + dir + "\"\n    include = [\"other/*\"]\n  }\n  direct {}\n}\n", true},
		"mirror before direct":  {"provider_installation {\n  filesystem_mirror {\n    path = \"" + dir + "\"\n  }\n  direct {}\n}\n", false},
		"mirror alone":          {"provider_installation {\n  network_mirror {\n    url = \"https://mirror.example.com/\"\n  }\n}\n", false},
		"direct is for another": {"provider_installation {\n  direct {\n    include = [\"other/*\"]\n  }\n}\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			// providers lock asks the registry, whatever the methods are. But the lock file
			// still has the hashes that init has recorded from a mirror.
			c := f.client(t, Options{Origin: true}, tt.config)
			got, err := c.Listing(t.Context(), terraform, want(privateHost, linux))
			if err != nil || got.Signed() != tt.listed {
				t.Errorf("signed: %t, error %v, want %t", got.Signed(), err, tt.listed)
			}
			if !tt.listed {
				if _, err := c.Package(t.Context(), terraform, want(privateHost, linux), 1<<20); err != nil || len(f.requests()) > 0 {
					t.Errorf("asked %v, error %v, want nothing", f.requests(), err)
				}
			}
		})
	}
}

func TestUnsignedListIsSaidToBe(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.keys = nil
	f.signature = []byte("none")
	got, err := f.client(t, Options{}, "").Listing(t.Context(), opentofu, want(opentofuHost, linux))
	if err != nil || got.Signed() || len(got.Files) != 3 {
		t.Errorf("Listing = %+v, error %v, want 3 files that nobody signed", got, err)
	}
}

func TestPackageIsHashedWithinItsLimit(t *testing.T) {
	t.Parallel()
	f, path := newFixture(t), filepath.Join(t.TempDir(), "hashes")
	size := int64(len(f.zips[linux]))
	c := f.client(t, Options{Cache: openCache(t, path)}, "")
	zips := func() (n int) {
		for _, r := range f.requests() {
			if r == "/files/"+linux.String() {
				n++
			}
		}
		return n
	}
	got, err := c.Package(t.Context(), terraform, want(privateHost, linux), 0)
	if err != nil || contents(got) != nil || zips() != 0 {
		t.Errorf("without a limit: contents of %v, error %v, %d downloads, want none", contents(got), err, zips())
	}
	if _, err := c.Package(t.Context(), terraform, want(privateHost, linux), size-1); err == nil {
		t.Error("a package above the limit was taken")
	}
	// The limit was only for that question.
	got, err = c.Package(t.Context(), terraform, want(privateHost, linux), size)
	if err != nil || !slices.Equal(contents(got), []string{linux.String()}) {
		t.Errorf("within the limit: contents of %v, error %v, want %s", contents(got), err, linux)
	}
	if _, err := c.Hashes(t.Context(), terraform, want(privateHost, linux)); err != nil || zips() != 2 {
		t.Errorf("the hashed package is asked for again: %d downloads, error %v", zips(), err)
	}
	got, err = f.client(t, Options{Cache: openCache(t, path)}, "").Listing(t.Context(), terraform, want(privateHost, darwin))
	if err != nil || !slices.Equal(contents(got), []string{linux.String()}) || zips() != 2 {
		t.Errorf("the next run knows the contents of %v, error %v, %d downloads, want %s and 2", contents(got), err, zips(), linux)
	}
}

func TestPackageThatLiesIsNoEvidence(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.hook = func(w http.ResponseWriter, r *http.Request) bool {
		lies := r.URL.Path == "/files/"+linux.String()
		if lies {
			w.Write(f.zips[darwin])
		}
		return lies
	}
	c := f.client(t, Options{}, "")
	_, err := c.Package(t.Context(), terraform, want(privateHost, linux), 1<<20)
	if !problem.Coded(err, problem.CodeBadChecksum) {
		t.Errorf("error %v, want %s", err, problem.CodeBadChecksum)
	}
	if got, err := c.Listing(t.Context(), terraform, want(privateHost, linux)); err != nil || contents(got) != nil {
		t.Errorf("contents of %v are known, error %v, want none", contents(got), err)
	}
}

// TestOddArchiveIsAskedForOnce is about an archive that cannot be hashed in one pass. It
// holds that with a limit its bytes are not downloaded twice.
func TestOddArchiveIsAskedForOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	odd := append([]byte("prefix"), f.zips[linux]...)
	f.list = strings.ReplaceAll(f.list, sha256Hex(f.zips[linux]), sha256Hex(odd))
	f.zips[linux] = odd
	got, err := f.client(t, Options{}, "").Package(t.Context(), terraform, want(privateHost, linux), 1<<20)
	if err != nil || !slices.Equal(contents(got), []string{linux.String()}) {
		t.Errorf("contents of %v, error %v", contents(got), err)
	}
	asked := slices.DeleteFunc(f.requests(), func(r string) bool { return r != "/files/"+linux.String() })
	if len(asked) != 1 {
		t.Errorf("the archive was asked for %d times, want once", len(asked))
	}
}

func TestSizeOfPackage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool provider.Tool
		edit func(t *testing.T, f *fixture)
		hook func(w http.ResponseWriter, r *http.Request)
		want int64 // 0: the size of the zip; negative: none
	}{
		"by its server": {tool: terraform},
		"above what answers may have": {tool: terraform, want: 900 << 20, hook: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(900<<20))
		}},
		"as its registry reports": {tool: opentofu, edit: func(t *testing.T, f *fixture) { f.states(t, nil) }, hook: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
		}},
		"by nobody": {tool: terraform, want: -1, hook: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if tt.edit != nil {
				tt.edit(t, f)
			}
			f.hook = func(w http.ResponseWriter, r *http.Request) bool {
				head := r.Method == http.MethodHead && tt.hook != nil
				if head {
					tt.hook(w, r)
				}
				return head
			}
			got, err := f.client(t, Options{}, "").Size(t.Context(), tt.tool, want(opentofuHost, linux))
			if wanted := max(cmp.Or(tt.want, int64(len(f.zips[linux]))), 0); err != nil || got != wanted {
				t.Errorf("Size = %d, error %v, want %d", got, err, wanted)
			}
		})
	}
}

func TestReportedHashesAreListedWhereTheToolTakesThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.states(t, nil)
	c := f.client(t, Options{}, "")
	for _, tt := range []struct {
		tool provider.Tool
		want int
	}{{opentofu, 3}, {terraform, 0}} {
		got, err := c.Listing(t.Context(), tt.tool, want(opentofuHost, linux))
		if err != nil || len(got.Reported) != tt.want {
			t.Errorf("%s: reported %v, error %v, want %d hashes", tt.tool, got.Reported, err, tt.want)
		}
	}
	if got, err := c.Listing(t.Context(), opentofu, want(privateHost, linux)); err != nil || len(got.Reported) > 0 {
		t.Errorf("another registry: reported %v, error %v, want none", got.Reported, err)
	}
	cache := openCache(t, filepath.Join(t.TempDir(), "hashes"))
	stated := provider.Sum{ZH: provider.ZH(sha256Hex(f.zips[linux])), H1: f.sum(t, linux).Sum.H1, Size: 1}
	if err := cache.Add(hash.Entry{Hashed: hash.Hashed{Sum: stated}, Origin: hash.FromRegistry}); err != nil {
		t.Fatal(err)
	}
	for source, want1 := range map[string][]provider.Hash{"": nil, HashSourceOpenTofu: {stated.H1}} {
		got, err := f.client(t, Options{Cache: cache, HashSource: source}, "").Listing(t.Context(), terraform, want(privateHost, linux))
		if diff := gocmp.Diff(want1, got.Reported); err != nil || diff != "" || contents(got) != nil {
			t.Errorf("hash source %q: error %v, contents %v, reported (-want +got):\n%s", source, err, contents(got), diff)
		}
	}
}
