package upgrade

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// mirroring gives every package that is not requested from its origin another content, as
// from a mirror. Unpacked packages have no zip.
func mirroring(unpacked bool) func(provider.Want, *provider.Hashes) error {
	return func(want provider.Want, h *provider.Hashes) error {
		if want.Origin {
			return nil
		}
		content := provider.Hash("h1:mirror-" + want.Platform.String())
		h.Mirror, h.Sum.H1, h.Sum.H1Zip = "network mirror https://mirror.example/", content, content
		h.Listed, h.Signer = nil, provider.Signer{}
		if unpacked {
			h.Sum.ZH = ""
		}
		return nil
	}
}

// faithful is a mirror that has the registry's packages.
func faithful(want provider.Want, h *provider.Hashes) error {
	content := h.Sum.H1
	err := mirroring(false)(want, h)
	h.Sum.H1, h.Sum.H1Zip = content, content
	return err
}

func TestHashesFrom(t *testing.T) {
	t.Parallel()
	const (
		listed = "zh:a-1.1.0-darwin_arm64 zh:a-1.1.0-linux_amd64"
		signer = "0123456789ABCDEF"
	)
	both := Platforms{List: []provider.Platform{platform("linux_amd64"), platform("darwin_arm64")}}
	tests := []struct {
		name  string
		opts  Options
		lock  []string
		want  string
		marks []provider.Mark
		key   string
		// faithful: the mirror has the registry's packages.
		faithful bool
	}{
		{
			name: "methods_by_default", opts: Options{},
			want: "h1:mirror-darwin_arm64 h1:mirror-linux_amd64", marks: []provider.Mark{provider.MarkMirror},
		},
		{
			name: "origin", opts: Options{HashesFrom: FromOrigin},
			want: "h1:a-1.1.0-darwin_arm64 h1:a-1.1.0-linux_amd64 " + listed, key: signer,
		},
		{
			name: "both", opts: Options{HashesFrom: FromBoth}, faithful: true,
			want:  "h1:a-1.1.0-darwin_arm64 h1:a-1.1.0-linux_amd64 " + listed,
			marks: []provider.Mark{provider.MarkMirror}, key: signer,
		},
		{
			// init follows the methods on the first platform, providers lock asks
			// the registry for all.
			name: "exact_upgrade", opts: Options{Exact: true},
			want:  "h1:a-1.1.0-darwin_arm64 h1:a-1.1.0-linux_amd64 h1:mirror-linux_amd64 " + listed,
			marks: []provider.Mark{provider.MarkMirror}, key: signer,
		},
		{
			name: "exact_lock", opts: Options{Exact: true, Mode: Complete}, lock: []string{"a 1.1.0 ~> 1.0; h2:x"},
			want: "h1:a-1.1.0-darwin_arm64 h1:a-1.1.0-linux_amd64 h2:x " + listed, key: signer,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := &offer{
				releases: map[string]map[string][]string{"a": {"1.1.0": {"linux_amd64", "darwin_arm64"}}},
				edit:     mirroring(false),
			}
			if tt.faithful {
				src.edit = faithful
			}
			tt.opts.Platforms = both
			r := Plan(t.Context(), src, modules(module(t, []string{"a ~> 1.0"}, tt.lock)), tt.opts)[0]
			if diff := cmp.Diff([]string{"a 1.1.0 ~> 1.0; " + tt.want}, summary(r)); diff != "" {
				t.Fatalf("lock file (-want +got), diagnostics %v:\n%s", r.Diagnostics, diff)
			}
			s := r.Selections[0]
			if diff := cmp.Diff(tt.marks, s.Marks); diff != "" || s.Signer.KeyID != tt.key {
				t.Errorf("signer %q, want %q; marks (-want +got):\n%s", s.Signer.KeyID, tt.key, diff)
			}
		})
	}
}

func TestPlatformIsMissingWhereNoSourceHasIt(t *testing.T) {
	t.Parallel()
	src := &offer{
		releases: map[string]map[string][]string{"a": {"1.1.0": {"linux_amd64", "darwin_arm64"}}},
		edit: func(want provider.Want, h *provider.Hashes) error {
			if !want.Origin && want.Platform.OS == "darwin" {
				return &problem.Error{Problem: problem.Problem{Code: problem.CodeNoPackage, Message: "the mirror has none"}}
			}
			return faithful(want, h)
		},
	}
	opts := Options{HashesFrom: FromBoth, Platforms: Platforms{List: []provider.Platform{platform("linux_amd64"), platform("darwin_arm64"), platform("plan9_mips")}}}
	s := Plan(t.Context(), src, modules(module(t, []string{"a"}, nil)), opts)[0].Selections[0]
	if want := []provider.Platform{platform("plan9_mips")}; !slices.Equal(s.Missing, want) || s.Err != nil {
		t.Errorf("missing = %v, %v; want %v", s.Missing, s.Err, want)
	}
}

func TestMirrorWithOtherContentThanTheRegistry(t *testing.T) {
	t.Parallel()
	const want = "the package of registry.terraform.io/hashicorp/a 1.1.0 for linux_amd64 in the network mirror https://mirror.example/ (h1:mirror-linux_amd64) is not that of its registry (h1:a-1.1.0-linux_amd64)"
	linux := Platforms{List: []provider.Platform{platform("linux_amd64")}}
	for _, tt := range []struct {
		opts     Options
		severity problem.Severity
		written  bool
	}{
		{Options{HashesFrom: FromBoth, Platforms: linux}, problem.SeverityError, false},
		{Options{Exact: true, Platforms: linux}, problem.SeverityWarning, true},
	} {
		src := &offer{releases: map[string]map[string][]string{"a": {"1.1.0": {"linux_amd64"}}}, edit: mirroring(false)}
		r := Plan(t.Context(), src, modules(module(t, []string{"a"}, nil)), tt.opts)[0]
		if len(r.Diagnostics) != 1 || r.Diagnostics[0].Message != want || r.Diagnostics[0].Severity != tt.severity || (r.File != nil) != tt.written {
			t.Errorf("with %+v: diagnostics %+v, written %v; want %q, written %v", tt.opts, r.Diagnostics, r.File != nil, want, tt.written)
		}
	}
}

func TestAllPlatformsOfAReleaseThatSaysNone(t *testing.T) {
	t.Parallel()
	src := silent{&offer{releases: map[string]map[string][]string{"a": {"1.1.0": {"linux_amd64", "darwin_arm64"}}}, edit: mirroring(false)}}
	s := Plan(t.Context(), src, modules(module(t, []string{"a"}, nil)), Options{Platforms: Platforms{All: true}})[0].Selections[0]
	if want := []provider.Platform{platform("darwin_arm64"), platform("linux_amd64")}; !slices.Equal(s.Coverage, want) || len(s.Missing) != 3 {
		t.Errorf("platforms = %v, missing %v, %v; want the usual ones asked for", s.Coverage, s.Missing, s.Err)
	}
}

// silent is a source that lists no platforms, like a network mirror.
type silent struct{ *offer }

func (s silent) Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (provider.Offer, error) {
	all, err := s.offer.Versions(ctx, tool, addr)
	for i := range all.Releases {
		all.Releases[i].Platforms = nil
	}
	return all, err
}

func TestStrictRefusesMirrors(t *testing.T) {
	t.Parallel()
	src := &offer{releases: map[string]map[string][]string{"a": {"1.1.0": {"linux_amd64"}}}, edit: mirroring(false)}
	opts := Options{Strict: true, Platforms: Platforms{List: []provider.Platform{platform("linux_amd64")}}}
	r := Plan(t.Context(), src, modules(module(t, []string{"a"}, nil)), opts)[0]
	const want = "the package of registry.terraform.io/hashicorp/a 1.1.0 for linux_amd64 is from the network mirror https://mirror.example/, which no signature covers"
	if len(r.Diagnostics) != 1 || r.Diagnostics[0].Message != want || r.Diagnostics[0].Hint == "" || r.File != nil {
		t.Errorf("diagnostics = %+v, file %q; want %q and no file", r.Diagnostics, r.File, want)
	}
}

func TestPackagesOfMirrorsAreHeldAgainstTheEntry(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		unpacked bool
		hashes   string
		refused  bool
	}{
		{"packed_with_its_zh", false, "zh:a-1.1.0-linux_amd64", false},
		{"packed_with_its_h1", false, "h1:mirror-linux_amd64 zh:other", false},
		{"packed_with_other_zh", false, "zh:other", true},
		{"packed_with_other_h1_alone", false, "h1:other", false}, // nobody knows of which platform
		{"unpacked_with_zh_alone", true, "zh:other", false},
		{"unpacked_with_its_h1", true, "h1:mirror-linux_amd64 h1:other zh:other", false},
		{"unpacked_with_other_h1", true, "h1:other zh:other", true},
		{"unpacked_with_an_unknown_scheme", true, "h2:other", false},
	}
	for _, tt := range tests {
		for _, exact := range []bool{false, true} {
			name := tt.name
			refused := tt.refused
			if exact {
				name += "_exact"
				refused = refused || tt.name == "packed_with_other_h1_alone" // init refuses it
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				src := &offer{releases: map[string]map[string][]string{"a": {"1.1.0": {"linux_amd64"}}}, edit: mirroring(tt.unpacked)}
				opts := Options{Exact: exact, Platforms: Platforms{List: []provider.Platform{platform("linux_amd64")}}}
				r := Plan(t.Context(), src, modules(module(t, []string{"a"}, []string{"a 1.1.0; " + tt.hashes})), opts)[0]
				if got := problem.Coded(r.Selections[0].Err, problem.CodeReReleased); got != refused {
					t.Errorf("refused: %v (%v), want %v", got, r.Selections[0].Err, refused)
				}
				if refused && strings.Contains(r.Selections[0].Err.Error(), "()") {
					t.Errorf("the error names no hash: %v", r.Selections[0].Err)
				}
			})
		}
	}
}

func modules(m ...scan.RootModule) []scan.RootModule { return m }

// half lists one platform of a release that may serve others, like a directory beside a
// network mirror.
type half struct{ *offer }

func (h half) Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (provider.Offer, error) {
	all, err := h.offer.Versions(ctx, tool, addr)
	for i := range all.Releases {
		all.Releases[i].Platforms, all.Releases[i].Open = []provider.Platform{platform("linux_amd64")}, true
	}
	return all, err
}

// If one method lists its platforms and another one does not, there may be platforms beyond
// the list.
func TestPlatformsThatOneMethodDoesNotSay(t *testing.T) {
	t.Parallel()
	all := Platforms{All: true}
	for name, tt := range map[string]struct {
		lock []string
		opts Options
		want []provider.Platform
	}{
		"are recovered": {
			[]string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-darwin_arm64 h1:a-1.0.0-freebsd_386"}, Options{},
			platforms("darwin_arm64", "freebsd_386", "linux_amd64"),
		},
		"do not cover all there is":   {[]string{"a 1.0.0; h1:a-1.0.0-linux_amd64"}, Options{}, platforms("darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64")},
		"are asked for, if the usual": {nil, Options{Platforms: all}, platforms("darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := half{&offer{releases: map[string]map[string][]string{"a": {"1.0.0": six, "1.1.0": six}}}}
			r := Plan(t.Context(), src, modules(module(t, []string{"a"}, tt.lock)), tt.opts)[0]
			if diff := cmp.Diff(tt.want, r.Selections[0].Coverage); diff != "" || problem.AnyError(r.Diagnostics) {
				t.Errorf("platforms (-want +got):\n%s\n%v", diff, r.Diagnostics)
			}
		})
	}
}
