package upgrade

import (
	"slices"
	"testing"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

func platforms(names ...string) []provider.Platform {
	var list []provider.Platform
	for _, name := range names {
		list = append(list, platform(name))
	}
	return list
}

// A platform of the command line that is not released fails its provider, as in providers
// lock. A platform of a file or an input is reported and left out.
func TestDemandedPlatformsMustBeReleased(t *testing.T) {
	t.Parallel()
	const hint = "choose 1.0.0, which is released for all of them; or leave these out of --platform, or name them in the configuration file: there relock reports a platform without a package and leaves it out"
	src := &offer{releases: map[string]map[string][]string{
		"a": {"1.0.0": {"linux_amd64", "darwin_arm64"}, "2.0.0": {"linux_amd64"}},
		"b": {"1.0.0": {"linux_amd64", "darwin_arm64"}, "1.1.0": {"linux_amd64", "darwin_arm64"}},
	}}
	m := module(t, []string{"a", "b"}, []string{"a 1.0.0; h1:a-1.0.0-linux_amd64", "b 1.0.0; h1:b-1.0.0-linux_amd64"})
	for _, demanded := range []bool{false, true} {
		opts := Options{Platforms: Platforms{List: platforms("linux_amd64", "darwin_arm64"), Demanded: demanded}}
		r := Plan(t.Context(), src, modules(m), opts)[0]
		a, b := r.Selections[0], r.Selections[1]
		if failed := problem.Coded(a.Err, problem.CodeNoPackage); failed != demanded || b.Err != nil || len(a.Missing) != 1 {
			t.Errorf("demanded %v: a without %v and with the error %v, b with %v; want a's error: %v", demanded, a.Missing, a.Err, b.Err, demanded)
		}
		if demanded && problem.Of(a.Err).Hint != hint {
			t.Errorf("the hint is %q, want %q", problem.Of(a.Err).Hint, hint)
		}
		i := slices.IndexFunc(r.New, func(l lockfile.Lock) bool { return l.Addr == addr("a") })
		if kept := r.New[i].Version == version("1.0.0"); kept != demanded || r.File == nil {
			t.Errorf("demanded %v: a is at %s; want it kept: %v, and b written", demanded, r.New[i].Version, demanded)
		}
	}
}

// TestMissingPlatformsSaySinceWhen names the first release for a missing platform, if the
// lists of all older releases lack it.
func TestMissingPlatformsSaySinceWhen(t *testing.T) {
	t.Parallel()
	linux, both := []string{"linux_amd64"}, []string{"linux_amd64", "darwin_arm64"}
	for name, tt := range map[string]struct {
		releases map[string][]string
		want     string
	}{
		"a newer one":      {map[string][]string{"1.0.0": linux, "1.1.0": linux, "2.0.0-rc1": both, "2.0.0": linux, "2.4.0": both, "2.5.0": both}, "2.4.0"},
		"none":             {map[string][]string{"1.0.0": linux, "2.0.0": linux}, "0.0.0"},
		"an older one":     {map[string][]string{"1.0.0": both, "1.1.0": linux, "2.0.0": both}, "0.0.0"},
		"an older silence": {map[string][]string{"1.0.0": nil, "1.1.0": linux, "2.0.0": both}, "0.0.0"},
		"a newer silence":  {map[string][]string{"1.0.0": linux, "1.1.0": linux, "2.0.0": nil, "2.1.0": both}, "0.0.0"},
	} {
		src := &offer{releases: map[string]map[string][]string{"a": tt.releases}}
		opts := Options{Platforms: Platforms{List: platforms("linux_amd64", "darwin_arm64")}}
		s := Plan(t.Context(), src, modules(module(t, []string{"a < 2.0.0"}, nil)), opts)[0].Selections[0]
		if got := s.Since[platform("darwin_arm64")]; len(s.Missing) != 1 || got.String() != tt.want || len(s.Since) == 1 == got.IsZero() {
			t.Errorf("%s: %v is missing since %v, want darwin_arm64 and %s", name, s.Missing, s.Since, tt.want)
		}
	}
}

// A rule's platforms replace those of a setting, but not those of a command line. They do
// not affect other providers.
func TestRulesNamePlatforms(t *testing.T) {
	t.Parallel()
	all := []string{"linux_amd64", "darwin_arm64", "windows_amd64"}
	src := &offer{releases: map[string]map[string][]string{"a": {"1.0.0": all}, "b": {"1.0.0": all}}}
	rules := []policy.Rule{
		{Where: policy.Where{Providers: patterns("hashicorp/a")}, Platforms: platforms("windows_amd64")},
		{Where: policy.Where{Providers: patterns("hashicorp/a")}, Platforms: platforms("linux_amd64")},
	}
	two := []string{"b 1.0.0; h1:b-1.0.0-linux_amd64 h1:b-1.0.0-darwin_arm64", "a 1.0.0; h1:a-1.0.0-linux_amd64"}
	tests := map[string]struct {
		locks  []string
		wanted Platforms
		a, b   []provider.Platform
	}{
		"a list":     {nil, Platforms{List: platforms("darwin_arm64")}, platforms("linux_amd64"), platforms("darwin_arm64")},
		"all":        {nil, Platforms{All: true}, platforms("linux_amd64"), platforms("darwin_arm64", "linux_amd64", "windows_amd64")},
		"a demand":   {nil, Platforms{List: platforms("darwin_arm64"), Demanded: true}, platforms("darwin_arm64"), platforms("darwin_arm64")},
		"recovered":  {two, Platforms{}, platforms("linux_amd64"), platforms("darwin_arm64", "linux_amd64")},
		"by default": {[]string{"a 1.0.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-windows_amd64"}, Platforms{}, platforms("linux_amd64"), platforms("darwin_arm64", "linux_amd64", "windows_amd64")},
		"all, recovered": {
			[]string{"b 1.0.0; h1:b-1.0.0-linux_amd64 h1:b-1.0.0-darwin_arm64 h1:b-1.0.0-windows_amd64", "a 1.0.0; h1:a-1.0.0-linux_amd64"},
			Platforms{}, platforms("linux_amd64"), platforms("darwin_arm64", "linux_amd64", "windows_amd64"),
		},
	}
	for name, test := range tests {
		r := Plan(t.Context(), src, modules(module(t, []string{"a", "b"}, test.locks)), Options{Platforms: test.wanted, Policy: policy.Rulebook{Rules: rules}})[0]
		a, b := r.Selections[0], r.Selections[1]
		if a.Err != nil || b.Err != nil || len(a.Missing) > 0 {
			t.Errorf("%s: a without %v, errors %v and %v", name, a.Missing, a.Err, b.Err)
		}
		if got := a.Coverage; !slices.Equal(got, test.a) {
			t.Errorf("%s: a covers %v, want %v", name, got, test.a)
		}
		if got := b.Coverage; !slices.Equal(got, test.b) {
			t.Errorf("%s: b covers %v, want %v", name, got, test.b)
		}
	}
}
