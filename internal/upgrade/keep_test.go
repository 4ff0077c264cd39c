package upgrade

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// A locked version that is no longer offered stays, unless somebody asks for an older one.
func TestWithdrawnVersions(t *testing.T) {
	t.Parallel()
	const gone = "a 1.5.0 ~> 1.0; h1:a-1.5.0-darwin_arm64 h1:a-1.5.0-linux_amd64"
	older := map[string]map[string][]string{"a": {"1.0.0": two, "1.1.0": two}}
	newer := map[string]map[string][]string{"a": {"1.0.0": two, "1.6.0": two}}
	held := []policy.Rule{{Allow: allowing(t, "< 1.6.0")}}
	const mirrorName = "network mirror https://mirror.example/"
	asked := func(mirrorListed, registryListed bool) []provider.Method {
		return []provider.Method{
			{Name: mirrorName, Host: "mirror.example", Mirror: true, Listed: mirrorListed},
			{Name: "registry registry.terraform.io", Host: provider.Terraform.DefaultHost(), Listed: registryListed},
		}
	}
	list := func(names ...string) Platforms { return Platforms{List: platforms(names...)} }
	tests := []struct {
		name     string
		releases map[string]map[string][]string
		requires string
		mirror   bool
		methods  []provider.Method
		opts     Options
		want     string // version
		err      string // an error with this text
		hint     string
		warning  bool
		warns    string
		host     svchost.Hostname // the host in the error; empty: the registry's
	}{
		{
			name: "kept for a person to look", releases: older, want: "1.5.0",
			err:  "the locked version 1.5.0 of registry.terraform.io/hashicorp/a is no longer offered and kept",
			hint: "run `relock upgrade --provider hashicorp/a --allow-downgrade`, which moves it to 1.1.0",
		},
		{name: "down by request", releases: older, opts: Options{AllowDowngrade: true, Platforms: list(two...)}, want: "1.1.0"},
		{name: "down as the tool does", releases: older, opts: Options{Exact: true, Platforms: list(two...)}, want: "1.1.0"},
		{name: "down where the constraints exclude it", releases: older, requires: "a < 1.5.0", opts: Options{Platforms: list(two...)}, want: "1.1.0"},
		{name: "up where there is a newer one", releases: newer, opts: Options{Platforms: list(two...)}, want: "1.6.0"},
		{
			name: "kept where a rule holds the newer one", releases: newer, opts: Options{Policy: policy.Rulebook{Rules: held}, Platforms: list(two...)}, want: "1.5.0",
			err: "no longer offered and kept", hint: "which moves it to 1.6.0, unless a rule holds that",
		},
		{
			name: "kept where nothing else is allowed", releases: older, requires: "a 1.5.0", want: "1.5.0",
			err: "no longer offered and kept", hint: "change the constraints",
		},
		{name: "kept by lock", releases: older, opts: Options{Mode: Complete}, want: "1.5.0", err: "no longer offered and kept", hint: "--allow-downgrade"},
		{name: "refused by exact lock", releases: older, opts: Options{Mode: Complete, Exact: true}, want: "1.5.0", err: "is no longer offered"},
		{name: "kept where a mirror lacks it", releases: older, mirror: true, want: "1.5.0", warning: true},
		{name: "also by lock", releases: older, mirror: true, opts: Options{Mode: Complete}, want: "1.5.0", warning: true},
		{name: "also for as many platforms", releases: older, mirror: true, opts: Options{Platforms: list(two...)}, want: "1.5.0", warning: true},
		{
			name: "unless a platform is missing", releases: older, mirror: true, want: "1.5.0",
			opts: Options{Platforms: list("linux_amd64", "darwin_arm64", "windows_amd64")},
			err:  "no longer offered by the network mirror https://mirror.example/, so that its missing hashes cannot be had",
		},
		{
			name: "unless all are wanted, whichever they are", releases: older, mirror: true, want: "1.5.0",
			opts: Options{Platforms: Platforms{All: true}}, err: "so that its missing hashes cannot be had",
		},
		{
			name: "a mirror and the registry lack it", releases: older, methods: asked(true, true), want: "1.5.0",
			err:  "no longer offered by the " + mirrorName + " or the registry registry.terraform.io and kept",
			hint: "--allow-downgrade`, which moves it to 1.1.0",
		},
		{
			name: "down by request where both lack it", releases: older, methods: asked(true, true), want: "1.1.0",
			opts: Options{AllowDowngrade: true, Platforms: list(two...)},
		},
		{
			name: "the registry lacks it and the mirror lacks the provider", releases: older, methods: asked(false, true), want: "1.5.0",
			err:  "no longer offered by the registry registry.terraform.io and kept: a version goes down only by request; the provider is unknown to the " + mirrorName,
			hint: "it does not go down to 1.1.0 before each of these has listed what it offers",
		},
		{
			name: "by request not before the mirror lists the provider", releases: older, methods: asked(false, true), want: "1.5.0",
			opts: Options{AllowDowngrade: true, Platforms: list(two...)},
			err:  "the provider is unknown to the " + mirrorName, hint: "or exclude it there",
		},
		{
			name: "the mirror lacks it and the registry does not know the provider", releases: older, methods: asked(true, false), want: "1.5.0",
			warning: true, host: "mirror.example",
			warns: "by the " + mirrorName + ", and kept; the provider is unknown to the registry registry.terraform.io",
		},
		{
			name: "unless something of it is missing", releases: older, methods: asked(true, false), want: "1.5.0",
			opts: Options{Platforms: list("linux_amd64", "darwin_arm64", "windows_amd64")}, host: "mirror.example",
			err: "by the " + mirrorName + ", so that its missing hashes cannot be had; the provider is unknown to the registry",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.requires == "" {
				tt.requires = "a ~> 1.0"
			}
			m := module(t, []string{tt.requires}, []string{gone})
			r := Plan(t.Context(), &offer{releases: tt.releases, mirror: tt.mirror, methods: tt.methods}, modules(m), tt.opts)[0]
			if got := r.New[0].Version; got != version(tt.want) || got == version("1.5.0") && r.File != nil {
				t.Errorf("version = %s, want %s; file %q", got, tt.want, r.File)
			}
			var err, hint string
			warned := false
			for _, d := range r.Diagnostics {
				if d.Code != problem.CodeLockedVersion {
					t.Errorf("diagnostic %q of another code %q", d.Message, d.Code)
				}
				if host := cmp.Or(tt.host, provider.Terraform.DefaultHost()); tt.methods != nil && d.Host != host {
					t.Errorf("diagnostic %q blames %s, want %s", d.Message, d.Host, host)
				}
				warned = warned || d.Severity == problem.SeverityWarning
				if warned && !strings.Contains(d.Message, tt.warns) {
					t.Errorf("warning %q, want %q", d.Message, tt.warns)
				}
				if d.Severity == problem.SeverityError {
					err, hint = d.Message, d.Hint
				}
			}
			if !strings.Contains(err, tt.err) || tt.err == "" && err != "" || !strings.Contains(hint, tt.hint) || warned != tt.warning {
				t.Errorf("error %q (%s), warned %v; want %q (%s), %v", err, hint, warned, tt.err, tt.hint, tt.warning)
			}
		})
	}
}

// If the rules let no release in and the entry is complete, no source is asked. So a
// registry that is down causes no failure.
func TestIgnoredProvidersAreNotAskedAbout(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	everything := []policy.Rule{{Where: policy.Where{Providers: patterns("hashicorp/down")}, Ignore: &yes}}
	major := []policy.Rule{{Where: policy.Where{Providers: patterns("hashicorp/down")}, Ignore: &yes, Updates: []provider.Bump{provider.BumpMajor}}}
	but := append(slices.Clone(everything), policy.Rule{Ignore: &no, Versions: allowing(t, "2.0.0")})
	pair := "down 1.0.0; h1:1 h1:2"
	tests := []struct {
		name     string
		requires string
		lock     string
		opts     Options
		asked    bool
		failed   bool
		warned   bool
	}{
		{name: "covers what the others do", lock: pair, opts: Options{Policy: policy.Rulebook{Rules: everything}}},
		{name: "covers a list", lock: pair, opts: Options{Policy: policy.Rulebook{Rules: everything}, Platforms: Platforms{List: platforms(two...)}}},
		{name: "does not cover a list", lock: pair, opts: Options{Policy: policy.Rulebook{Rules: everything}, Platforms: Platforms{List: platforms("linux_amd64", "darwin_arm64", "windows_amd64")}}, asked: true, failed: true},
		{name: "has hashes of one machine", lock: "down 1.0.0; h1:1", opts: Options{Policy: policy.Rulebook{Rules: everything}}, asked: true, failed: true},
		{name: "does not meet the constraints", requires: "down >= 2.0", lock: pair, opts: Options{Policy: policy.Rulebook{Rules: everything}}, asked: true, failed: true},
		{name: "has no entry", opts: Options{Policy: policy.Rulebook{Rules: everything}}, asked: true, failed: true},
		{name: "is ignored in part", lock: pair, opts: Options{Policy: policy.Rulebook{Rules: major}}, asked: true, failed: true},
		{name: "may move after all", lock: pair, opts: Options{Policy: policy.Rulebook{Rules: but}}, asked: true, failed: true},
		{name: "is to be exact", lock: pair, opts: Options{Policy: policy.Rulebook{Rules: everything}, Exact: true, Platforms: Platforms{List: platforms(two...)}}, asked: true, failed: true},
		{name: "is completed where it can be", lock: pair, opts: Options{Policy: policy.Rulebook{Rules: everything}, Mode: Complete}, asked: true, warned: true},
		{name: "and fails where it must be", lock: "down 1.0.0; h1:1", opts: Options{Policy: policy.Rulebook{Rules: everything}, Mode: Complete}, asked: true, failed: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.requires == "" {
				tt.requires = "down"
			}
			locks := []string{"up 1.0.0; h1:up-1.0.0-darwin_arm64 h1:up-1.0.0-linux_amd64"}
			if tt.lock != "" {
				locks = append(locks, tt.lock)
			}
			src := &offer{releases: map[string]map[string][]string{"up": {"1.0.0": six, "1.1.0": six}}}
			r := Plan(t.Context(), src, modules(module(t, []string{tt.requires, "up"}, locks)), tt.opts)[0]
			if asked := slices.Contains(src.asked, "down"); asked != tt.asked || problem.AnyError(r.Diagnostics) != tt.failed || !tt.failed && (len(r.Diagnostics) > 0) != tt.warned {
				t.Errorf("asked %v, diagnostics %v; want %v, failed: %v, warned: %v", asked, r.Diagnostics, tt.asked, tt.failed, tt.warned)
			}
			if !tt.failed && tt.opts.Mode == Upgrade {
				want := []string{"down 1.0.0; h1:1 h1:2"}
				if diff := gocmp.Diff(want, summary(r)[:1]); diff != "" || !strings.HasPrefix(summary(r)[1], "up 1.1.0") {
					t.Errorf("lock file %v (-want +got):\n%s", summary(r), diff)
				}
			}
		})
	}
}
