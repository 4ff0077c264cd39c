package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// mostProofs is how many old packages coverage requests at most to prove its guess from
// numbers of hashes.
const mostProofs = 40

var six = []string{"linux_amd64", "darwin_arm64", "darwin_amd64", "linux_arm64", "windows_amd64", "freebsd_386"}

// coverage requests old packages one after another, and stops when the hashes are
// explained.
func TestRecoveryAsksForAsFewPackagesAsItCan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		locks     []string
		want      []string // old packages
		remembers bool
	}{
		{"one h1 of the likeliest platform", []string{"a 1.0.0; h1:a-1.0.0-linux_amd64"}, []string{"a linux_amd64"}, false},
		{"one h1 of the next", []string{"a 1.0.0; h1:a-1.0.0-darwin_arm64"}, []string{"a linux_amd64", "a darwin_arm64"}, false},
		{
			name: "two entries of one platform", locks: []string{"a 1.0.0; h1:a-1.0.0-linux_amd64", "b 1.0.0; h1:b-1.0.0-linux_amd64"},
			want: []string{"a linux_amd64", "b linux_amd64"},
		},
		{
			name: "three h1", locks: []string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-darwin_arm64 h1:a-1.0.0-linux_arm64"},
			want: []string{"a linux_amd64", "a darwin_arm64", "a darwin_amd64", "a linux_arm64"},
		},
		{
			name: "an h1 that belongs to nothing", locks: []string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:nothing"},
			want: []string{"a linux_amd64", "a darwin_arm64", "a darwin_amd64", "a linux_arm64", "a windows_amd64", "a freebsd_386"},
		},
		{
			name:  "an entry of fewer, which would lose them",
			locks: []string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-darwin_arm64", "b 1.0.0; h1:b-1.0.0-linux_amd64"},
			want:  []string{"a linux_amd64", "a darwin_arm64", "b linux_amd64"},
		},
		{
			name:  "an entry of as many, which would lose them, first for the likely ones",
			locks: []string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-windows_amd64", "b 1.0.0; h1:b-1.0.0-linux_amd64 h1:b-1.0.0-windows_amd64"},
			want:  []string{"a linux_amd64", "a darwin_arm64", "a darwin_amd64", "a linux_arm64", "a windows_amd64", "b linux_amd64", "b windows_amd64"},
		},
		{
			name:  "one that stays",
			locks: []string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-darwin_arm64", "b 1.1.0; h1:1 h1:2"},
			want:  []string{"a linux_amd64", "a darwin_arm64"},
		},
		{
			name: "entries whose packages are remembered", remembers: true,
			locks: []string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-darwin_arm64", "b 1.0.0; h1:b-1.0.0-linux_amd64 h1:b-1.0.0-windows_amd64"},
		},
		{name: "an h1 for each platform", locks: []string{"a 1.0.0; h1:1 h1:2 h1:3 h1:4 h1:5 h1:6", "b 1.0.0; h1:1 h1:2 h1:3 h1:4 h1:5 h1:6"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := &offer{releases: map[string]map[string][]string{"a": {"1.0.0": six, "1.1.0": six}, "b": {"1.0.0": six, "1.1.0": six}}, remembers: tt.remembers}
			r := Plan(t.Context(), src, modules(module(t, []string{"a", "b"}, tt.locks)), Options{})[0]
			if problem.AnyError(r.Diagnostics) {
				t.Error(r.Diagnostics)
			}
			var got []string
			for _, asked := range src.asked {
				if name, p, ok := strings.Cut(asked, " 1.0.0 "); ok {
					got = append(got, name+" "+p)
				}
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("old packages (-want +got):\n%s", diff)
			}
		})
	}
}

// If a failure leaves a platform unknown, the root module stays as it is: no platform may
// be lost because a source did not answer.
func TestRecoveryTakesNoFailureForAnAnswer(t *testing.T) {
	t.Parallel()
	unreachable := &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}
	unavailable := func(name, version, p string) func(provider.Want, *provider.Hashes) error {
		return func(want provider.Want, _ *provider.Hashes) error {
			if want.Addr.Type == name && want.Version.String() == version && want.Platform.String() == p {
				return unreachable
			}
			return nil
		}
	}
	three := "a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-darwin_arm64 h1:a-1.0.0-windows_amd64"
	tests := []struct {
		name    string
		locks   []string
		edit    func(provider.Want, *provider.Hashes) error
		unheard string // the provider whose versions are not known
		want    []string
		code    problem.Code // empty: no error
	}{
		{
			name: "an old package that cannot be had", locks: []string{three},
			edit: unavailable("a", "1.0.0", "darwin_arm64"), code: problem.CodeUnreachable,
		},
		{
			name: "one that is not needed", locks: []string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-darwin_arm64"},
			edit: unavailable("a", "1.0.0", "windows_amd64"), want: []string{"darwin_arm64", "linux_amd64"},
		},
		{
			name: "an entry of fewer platforms tells of none", locks: []string{three, "b 1.0.0; h1:b-1.0.0-linux_amd64"},
			edit: unavailable("b", "1.0.0", "linux_amd64"), want: []string{"darwin_arm64", "linux_amd64", "windows_amd64"},
		},
		{
			name: "but must not lose one that no other covers", locks: []string{three, "b 1.0.0; h1:b-1.0.0-freebsd_386"},
			edit: unavailable("b", "1.0.0", "freebsd_386"), want: []string{"darwin_arm64", "linux_amd64", "windows_amd64"}, code: problem.CodeUnreachable,
		},
		{
			name: "another entry tells", locks: []string{three, "b 1.0.0; h1:b-1.0.0-linux_amd64 h1:b-1.0.0-darwin_arm64 h1:b-1.0.0-windows_amd64"},
			edit: unavailable("a", "1.0.0", "darwin_arm64"), want: []string{"darwin_arm64", "linux_amd64", "windows_amd64"},
		},
		{
			name: "another entry of fewer does not", locks: []string{three, "b 1.0.0; h1:b-1.0.0-linux_amd64 h1:b-1.0.0-windows_amd64"},
			edit: unavailable("a", "1.0.0", "darwin_arm64"), code: problem.CodeUnreachable,
		},
		{
			name: "a registry that does not answer for an entry of more", locks: []string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-darwin_arm64", "b 1.0.0; h1:1 h1:2 h1:3"},
			unheard: "b", code: problem.CodeUnknownProvider,
		},
		{
			name: "a registry that does not answer for an entry of as many", locks: []string{three, "b 1.0.0; h1:1 h1:2 h1:3"},
			unheard: "b", want: []string{"darwin_arm64", "linux_amd64", "windows_amd64"}, code: problem.CodeUnknownProvider,
		},
		{
			name: "for the only entry of several", locks: []string{"a 1.0.0; h1:a-1.0.0-linux_amd64", "b 1.0.0; h1:1 h1:2 h1:3"},
			unheard: "b", code: problem.CodeUnknownProvider,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := &offer{releases: map[string]map[string][]string{"a": {"1.0.0": six, "1.1.0": six}, "b": {"1.0.0": six, "1.1.0": six}}, edit: tt.edit}
			delete(src.releases, tt.unheard)
			m := module(t, []string{"a", "b"}, tt.locks)
			if len(tt.locks) == 1 {
				m.Tree.Requirements = m.Tree.Requirements[:1]
			}
			r := Plan(t.Context(), src, modules(m), Options{})[0]
			var got []string
			if r.File != nil {
				for _, p := range r.Selections[0].Coverage {
					got = append(got, p.String())
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("platforms of the new entry of a (-want +got):\n%s\n%v", diff, r.Diagnostics)
			}
			if found := slices.ContainsFunc(r.Diagnostics, func(d problem.Problem) bool { return d.Code == tt.code }); found != (tt.code != "") {
				t.Errorf("diagnostics %v, want the code %q", r.Diagnostics, tt.code)
			}
		})
	}
}

// A withdrawn release is no failure: its platforms can never be learned again. So the new
// entries cover what the other entries cover, or the default list, and a warning says so. A
// list that not every method has given is no withdrawal.
func TestRecoveryGoesOnAfterAWithdrawal(t *testing.T) {
	t.Parallel()
	const b = "b 1.0.0; h1:b-1.0.0-linux_amd64 h1:b-1.0.0-windows_amd64"
	usual, ofB := []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64"}, []string{"linux_amd64", "windows_amd64"}
	silent := []provider.Method{{Name: "mirror", Mirror: true}, {Name: "registry", Listed: true}}
	for name, tt := range map[string]struct {
		locks   []string
		opts    Options
		methods []provider.Method
		a, b    []string // the platforms of the new entries; nil: the entry stays
		warns   bool
	}{
		"alone":                            {locks: []string{"a 0.9.0; h1:1 h1:2 h1:3"}, a: usual, warns: true},
		"another entry tells":              {locks: []string{"a 0.9.0; h1:1 h1:2", b}, a: ofB, b: ofB, warns: true},
		"another entry of fewer":           {locks: []string{"a 0.9.0; h1:1 h1:2 h1:3", b}, a: usual, b: usual, warns: true},
		"all are withdrawn":                {locks: []string{"a 0.9.0; h1:1", "b 0.9.0; h1:1"}, a: usual, b: usual, warns: true},
		"the platforms are named":          {locks: []string{"a 0.9.0; h1:1 h1:2 h1:3"}, opts: Options{Platforms: linux}, a: []string{"linux_amd64"}},
		"a method that has listed nothing": {locks: []string{"a 0.9.0; h1:1 h1:2 h1:3"}, methods: silent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := &offer{methods: tt.methods, releases: map[string]map[string][]string{"a": {"1.0.0": six, "1.1.0": six}, "b": {"1.0.0": six, "1.1.0": six}}}
			m := module(t, []string{"a", "b"}[:len(tt.locks)], tt.locks)
			r := Plan(t.Context(), src, modules(m), tt.opts)[0]
			for i, want := range [][]string{tt.a, tt.b}[:len(tt.locks)] {
				var got []string
				for _, p := range r.Selections[i].Coverage {
					got = append(got, p.String())
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("platforms of entry %d (-want +got):\n%s\n%v", i, diff, r.Diagnostics)
				}
			}
			warned := slices.ContainsFunc(r.Diagnostics, func(d problem.Problem) bool {
				return d.Severity == problem.SeverityWarning && d.Code == problem.CodeLockedVersion
			})
			if warned != tt.warns || problem.AnyError(r.Diagnostics) != (tt.a == nil) {
				t.Errorf("diagnostics %v, want a warning: %t", r.Diagnostics, tt.warns)
			}
		})
	}
}

// An outage of one provider's old packages stops that provider. It does not stop providers
// whose platforms are known without it.
func TestRecoveryLetsOthersTell(t *testing.T) {
	t.Parallel()
	src := &offer{
		releases: map[string]map[string][]string{"a": {"1.0.0": six, "1.1.0": six}, "b": {"1.0.0": six, "1.1.0": six}},
		edit: func(want provider.Want, _ *provider.Hashes) error {
			if want.Addr.Type == "a" && want.Version == version("1.0.0") {
				return &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}
			}
			return nil
		},
	}
	locks := []string{
		"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-darwin_arm64 h1:a-1.0.0-windows_amd64",
		"b 1.0.0; h1:b-1.0.0-linux_amd64 h1:b-1.0.0-darwin_arm64 h1:b-1.0.0-windows_amd64",
	}
	r := Plan(t.Context(), src, modules(module(t, []string{"a", "b"}, locks)), Options{})[0]
	a, b := r.Selections[0], r.Selections[1]
	if want := platforms("darwin_arm64", "linux_amd64", "windows_amd64"); b.Err != nil || !slices.Equal(b.Coverage, want) {
		t.Errorf("b covers %v, error %v; want %v", b.Coverage, b.Err, want)
	}
	if !problem.Coded(a.Err, problem.CodeUnreachable) {
		t.Errorf("error of a: %v, want %s", a.Err, problem.CodeUnreachable)
	}
}

// The default list is added to a single platform. It is not added if a failed package may
// hide a second platform.
func TestRecoveryJoinsNoDefaultsToAFailure(t *testing.T) {
	t.Parallel()
	for broken, want := range map[string][]provider.Platform{
		"":              platforms("freebsd_386"), // and linux_amd64, which a does not serve
		"linux_amd64":   nil,
		"windows_amd64": platforms("freebsd_386"), // not needed
	} {
		src := &offer{
			releases: map[string]map[string][]string{
				"a": {"1.0.0": {"freebsd_386", "windows_amd64"}, "1.1.0": {"freebsd_386", "windows_amd64"}},
				"b": {"1.0.0": {"linux_amd64", "windows_amd64"}},
			},
			edit: func(want provider.Want, _ *provider.Hashes) error {
				if want.Addr.Type == "b" && want.Platform.String() == broken {
					return &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}
				}
				return nil
			},
		}
		locks := []string{"a 1.0.0; h1:a-1.0.0-freebsd_386", "b 1.0.0; h1:b-1.0.0-linux_amd64"}
		r := Plan(t.Context(), src, modules(module(t, []string{"a", "b"}, locks)), Options{})[0]
		if a := r.Selections[0]; !slices.Equal(a.Coverage, want) || (a.Err != nil) != (want == nil) {
			t.Errorf("without the package of b for %q, a covers %v, want %v; %v", broken, a.Coverage, want, r.Diagnostics)
		}
	}
}

// A lock file covers the platforms of all its entries. Here the old releases of a and b
// serve different platforms, so neither entry has all of them.
func TestRecoveryJoinsEntries(t *testing.T) {
	t.Parallel()
	src := &offer{releases: map[string]map[string][]string{
		"a": {"1.0.0": {"linux_amd64", "darwin_amd64", "freebsd_386"}, "1.1.0": six},
		"b": {"1.0.0": {"linux_amd64", "darwin_arm64", "freebsd_386"}, "1.1.0": six},
	}}
	locks := []string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-darwin_amd64", "b 1.0.0; h1:b-1.0.0-linux_amd64 h1:b-1.0.0-darwin_arm64"}
	r := Plan(t.Context(), src, modules(module(t, []string{"a", "b"}, locks)), Options{})[0]
	for _, s := range r.Selections {
		want := []provider.Platform{platform("darwin_amd64"), platform("darwin_arm64"), platform("linux_amd64")}
		if diff := cmp.Diff(want, s.Coverage); diff != "" {
			t.Errorf("platforms of %s (-want +got):\n%s", s.Requirement.Addr, diff)
		}
	}
}

// Platforms that only one entry covers stay covered in that entry alone.
func TestRecoveryLeavesEntriesTheirOwn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		serves []string // the old release of a
		b      string
	}{
		"an entry of fewer":                                   {six, "h1:b-1.0.0-freebsd_386"},
		"an entry of as many":                                 {six, "h1:b-1.0.0-freebsd_386 h1:b-1.0.0-linux_amd64"},
		"beside one that covers all that there is":            {two, "h1:b-1.0.0-darwin_arm64 h1:b-1.0.0-freebsd_386"},
		"an entry of more than the platforms that explain it": {six, "h1:b-1.0.0-freebsd_386 h1:b-1.0.0-linux_amd64 h1:b-1.0.0-darwin_arm64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := &offer{releases: map[string]map[string][]string{"a": {"1.0.0": tt.serves, "1.1.0": six}, "b": {"1.0.0": six, "1.1.0": six}}}
			locks := []string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-darwin_arm64", "b 1.0.0; " + tt.b}
			r := Plan(t.Context(), src, modules(module(t, []string{"a", "b"}, locks)), Options{})[0]
			covered := r.Selections[1].Coverage
			for _, p := range []string{"darwin_arm64", "freebsd_386", "linux_amd64"} {
				if strings.Contains(tt.b, p) && !slices.Contains(covered, platform(p)) {
					t.Errorf("the new entry of b covers %v, want %s among them\n%v", covered, p, r.Diagnostics)
				}
			}
		})
	}
}

// A mirror does not list the platforms of its releases.
func TestRecoveryWhereNothingIsSaidOfPlatforms(t *testing.T) {
	t.Parallel()
	src := &quiet{offer{releases: map[string]map[string][]string{"a": {"1.0.0": six, "1.1.0": six}}}}
	m := module(t, []string{"a"}, []string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-freebsd_386"})
	r := Plan(t.Context(), src, modules(m), Options{})[0]
	want := []provider.Platform{platform("freebsd_386"), platform("linux_amd64")}
	if diff := cmp.Diff(want, r.Selections[0].Coverage); diff != "" {
		t.Errorf("platforms (-want +got):\n%s\n%v", diff, r.Diagnostics)
	}
}

// quiet is an offer that lists no platforms.
type quiet struct{ offer }

func (q *quiet) Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (provider.Offer, error) {
	all, err := q.offer.Versions(ctx, tool, addr)
	for i := range all.Releases {
		all.Releases[i].Platforms = nil
	}
	return all, err
}

// Some runs would need many packages to prove that entries were made for the same
// platforms. There relock trusts the number of hashes, and one warning for each root module
// says so. It warns about nothing that is known without a download.
func TestRecoveryProvesSoMuchAndSaysTheRest(t *testing.T) {
	t.Parallel()
	for _, remembers := range []bool{false, true} {
		src := &offer{releases: map[string]map[string][]string{}, remembers: remembers}
		var names, locks []string
		for i := range 12 {
			name := fmt.Sprintf("p%02d", i)
			src.releases[name] = map[string][]string{"1.0.0": six, "1.1.0": six}
			names = append(names, name)
			lock := name + " 1.0.0;"
			for _, p := range six[:5] {
				lock += " h1:" + name + "-1.0.0-" + p
			}
			locks = append(locks, lock)
		}
		r := Plan(t.Context(), src, modules(module(t, names, locks)), Options{})[0]
		old := 0
		for _, asked := range src.asked {
			if strings.Contains(asked, " 1.0.0 ") {
				old++
			}
		}
		if remembers && (old > 0 || len(r.Diagnostics) > 0) {
			t.Errorf("%d old packages and %v, though they are remembered", old, r.Diagnostics)
		}
		if remembers {
			continue
		}
		if want := 5 + mostProofs; old != want {
			t.Errorf("%d old packages, want %d", old, want)
		}
		if len(r.Diagnostics) != 1 || r.Diagnostics[0].Severity != problem.SeverityWarning || r.Diagnostics[0].Place.Path != "root/.terraform.lock.hcl" ||
			!strings.HasPrefix(r.Diagnostics[0].Message, "relock assumes that the old entries of registry.terraform.io/hashicorp/p09 1.0.0, registry.terraform.io/hashicorp/p10 1.0.0, registry.terraform.io/hashicorp/p11 1.0.0 cover") {
			t.Errorf("diagnostics = %+v, want one warning about the last three", r.Diagnostics)
		}
		if r.File == nil {
			t.Error("no lock file")
		}
	}
}

// A guess from the number of hashes counts until evidence contradicts it. Here the entries
// of a and b have equally many hashes, and b is asked about first. a has platforms of its
// own, and finding the last one takes more packages than a proof may.
func TestRecoveryBelievesNoNumberAgainstEvidence(t *testing.T) {
	t.Parallel()
	var all []string
	for _, p := range provider.KnownPlatforms {
		all = append(all, p.String())
	}
	if len(all) <= mostProofs {
		t.Fatalf("%d platforms are known, want more than %d", len(all), mostProofs)
	}
	b := "b 1.0.0; h1:b-1.0.0-linux_amd64 h1:b-1.0.0-darwin_amd64 h1:b-1.0.0-windows_amd64 h1:b-1.0.0-freebsd_386"
	for name, tt := range map[string]struct {
		covers []string // the platforms of a's entry
		broken string   // the package that fails
		want   string   // the new version of a
	}{
		"one of them was not to be had": {[]string{"linux_amd64", "darwin_amd64", "windows_amd64", "windows_arm64"}, "freebsd_386", "1.1.0"},
		"it covers another":             {[]string{"linux_amd64", "darwin_amd64", "linux_arm64", "windows_arm64"}, "", "1.1.0"},
		"it does without one of them":   {[]string{"linux_amd64", "darwin_amd64", "windows_amd64", "windows_arm64"}, "", "1.1.0"},
		"its own was not to be had":     {[]string{"linux_amd64", "darwin_amd64", "linux_arm64", "darwin_arm64"}, "darwin_arm64", "1.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := &offer{
				releases: map[string]map[string][]string{"a": {"1.0.0": all, "1.1.0": all}, "b": {"1.0.0": six}},
				edit: func(want provider.Want, _ *provider.Hashes) error {
					if want.Addr.Type == "a" && want.Version == version("1.0.0") && want.Platform.String() == tt.broken {
						return &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}
					}
					return nil
				},
			}
			a := "a 1.0.0;"
			for _, p := range tt.covers {
				a += " h1:a-1.0.0-" + p
			}
			r := Plan(t.Context(), src, modules(module(t, []string{"a", "b"}, []string{a, b})), Options{})[0]
			got := r.New[0]
			if got.Version != version(tt.want) {
				t.Fatalf("a is at %s, want %s: %v", got.Version, tt.want, r.Diagnostics)
			}
			for _, p := range tt.covers {
				if h := provider.Hash("h1:a-" + tt.want + "-" + p); !slices.Contains(got.Hashes, h) {
					t.Errorf("the entry of a does not cover %s: %v\n%v", p, h1(got.Hashes), r.Diagnostics)
				}
			}
		})
	}
}

// If a package fails, the number of hashes may still say that an entry covers the others'
// platforms. That counts only for an entry that stays.
func TestRecoveryTrustsNumbersAfterFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		locked string
		code   problem.Code
	}{
		"of an entry that stays":        {"1.1.0", ""},
		"of an entry that is made anew": {"1.0.0", problem.CodeUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// b's old release does not serve windows. So only the number of a's hashes says
			// that the lock file does without windows.
			src := &offer{releases: map[string]map[string][]string{
				"a": {"1.0.0": six, "1.1.0": six},
				"b": {"1.0.0": {"linux_amd64", "darwin_arm64", "freebsd_386"}, "1.1.0": six},
			}}
			src.edit = func(want provider.Want, _ *provider.Hashes) error {
				p := want.Platform.String()
				if want.Addr.Type == "a" && want.Version == version(tt.locked) && (p == "darwin_arm64" || p == "windows_amd64") {
					return &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}
				}
				return nil
			}
			locks := []string{
				fmt.Sprintf("a %[1]s; h1:a-%[1]s-linux_amd64 h1:a-%[1]s-darwin_arm64", tt.locked),
				"b 1.0.0; h1:b-1.0.0-linux_amd64 h1:b-1.0.0-darwin_arm64",
			}
			r := Plan(t.Context(), src, modules(module(t, []string{"a", "b"}, locks)), Options{})[0]
			b := r.Selections[1]
			if (b.Err != nil) != (tt.code != "") || tt.code != "" && !problem.Coded(b.Err, tt.code) {
				t.Fatalf("b: %v, want the code %q; %v", b.Err, tt.code, r.Diagnostics)
			}
			if want := platforms("darwin_arm64", "linux_amd64"); tt.code == "" && !slices.Equal(b.Coverage, want) {
				t.Errorf("b covers %v, want %v", b.Coverage, want)
			}
		})
	}
}

// Entries for different platforms prove nothing about each other, even with equally many
// hashes. If a's package arrived, darwin_arm64 would be added to b's platforms.
func TestRecoveryTrustsNoNumberOfOtherPlatforms(t *testing.T) {
	t.Parallel()
	src := &offer{releases: map[string]map[string][]string{
		"a": {"1.1.0": {"linux_amd64", "darwin_arm64", "windows_amd64"}},
		"b": {"1.0.0": six, "1.1.0": six},
	}}
	src.edit = func(want provider.Want, _ *provider.Hashes) error {
		if want.Addr.Type == "a" && want.Platform.String() == "darwin_arm64" {
			return &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}
		}
		return nil
	}
	locks := []string{
		"a 1.1.0; h1:a-1.1.0-linux_amd64 h1:a-1.1.0-darwin_arm64",
		"b 1.0.0; h1:b-1.0.0-windows_amd64 h1:b-1.0.0-freebsd_386",
	}
	r := Plan(t.Context(), src, modules(module(t, []string{"a", "b"}, locks)), Options{})[0]
	if b := r.Selections[1]; !problem.Coded(b.Err, problem.CodeUnreachable) {
		t.Errorf("b covers %v, error %v; want that it stays and that an error says so", b.Coverage, b.Err)
	}
}

// If a lock file covers all platforms that exist, the plan reports a platform that a newer
// release lacks.
func TestRecoveryOfAllTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	src := &offer{releases: map[string]map[string][]string{"a": {"1.0.0": six, "1.1.0": six[1:]}}}
	r := Plan(t.Context(), src, modules(module(t, []string{"a"}, []string{"a 1.0.0; h1:1 h1:2 h1:3 h1:4 h1:5 h1:6"})), Options{})[0]
	if want := platforms(six[0]); !slices.Equal(r.Selections[0].Missing, want) || len(r.Selections[0].Coverage) != 5 {
		t.Errorf("missing %v of %v, want %v", r.Selections[0].Missing, r.Selections[0].Coverage, want)
	}
}
