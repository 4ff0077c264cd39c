package run

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// openedSession is a session in a repository with one outdated root module, live.
func openedSession(t *testing.T, a Ask) (s *Session, lock string) {
	t.Helper()
	w, err := sandbox.ParseWorld(txtar.Parse([]byte("-- registry/registry.terraform.io/hashicorp/null --\nversions: [3.2.2, 3.2.4]\nplatforms: [linux_amd64]\n")))
	if err != nil {
		t.Fatal(err)
	}
	world, err := sandbox.Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(world.Close)
	root := locked(t, 0, "live")
	rc := filepath.Join(t.TempDir(), "terraformrc")
	if err := os.WriteFile(rc, []byte(world.CLIConfig()), 0o644); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"TF_CLI_CONFIG_FILE": rc}[name] }
	env := Env{WorkDir: root, Getenv: getenv, Home: t.TempDir(), GOOS: "linux", Log: slog.New(slog.DiscardHandler), Now: time.Unix(1, 0)}
	s, err = Open(env, a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, filepath.Join(root, "live", ".terraform.lock.hcl")
}

// forLinux are means of a run over root modules of Terraform, for one platform.
var forLinux = Means{Settings: settings.Settings{
	Tool: provider.Terraform, Platforms: settings.PlatformSet{List: []provider.Platform{{OS: "linux", Arch: "amd64"}}},
}}

// Check plans a lock file and leaves it as it is; Upgrade writes it where it was read.
func TestDestinations(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ask     Ask
		written bool
	}{
		"check":   {ToCheck(forLinux, Checkout{}, nil, JudgedBy{}, upgrade.Upgrade, nil), false},
		"upgrade": {ToUpgrade(forLinux, Checkout{}, nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, lock := openedSession(t, tt.ask)
			before, _ := os.ReadFile(lock)
			r, err := Run(t.Context(), s, tt.ask)
			if err != nil || !r.Pending() || r.Failed() {
				t.Fatalf("Run() = %+v, %v, want a change", r, err)
			}
			after, _ := os.ReadFile(lock)
			if written := string(before) != string(after); written != tt.written || r.Modules[0].Written != tt.written {
				t.Errorf("written: %v, said to be: %v, want %v", written, r.Modules[0].Written, tt.written)
			}
		})
	}
}

// Whoever watches a run learns how many packages it may download; a session that has
// hashed them downloads none again.
func TestPackagesAreAnnounced(t *testing.T) {
	t.Parallel()
	ask := ToCheck(forLinux, Checkout{}, nil, JudgedBy{}, upgrade.Upgrade, nil)
	s, _ := openedSession(t, ask)
	var announced []int
	s.env.Announce = func(d provider.Downloads) {
		if d.Packages > 0 || d.Sized == 0 {
			announced = append(announced, d.Packages)
		}
	}
	for range 2 {
		if _, err := Run(t.Context(), s, ask); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{1, 0}; !slices.Equal(announced, want) {
		t.Errorf("announced %v packages, want %v", announced, want)
	}
}

// Whoever bounds what the run takes learns of the root modules before their packages
// are asked for.
func TestFoundIsToldFirst(t *testing.T) {
	t.Parallel()
	ask := ToUpgrade(forLinux, Checkout{}, nil)
	s, _ := openedSession(t, ask)
	var told []string
	s.env.Found = func(roots int) { told = append(told, fmt.Sprintf("found %d", roots)) }
	s.env.Announce = func(d provider.Downloads) {
		if d.Sized == 0 {
			told = append(told, "packages")
		}
	}
	if _, err := Run(t.Context(), s, ask); err != nil {
		t.Fatal(err)
	}
	if want := []string{"found 1", "packages"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// Repositories that cannot be read stop no other and are named.
func TestTargetsFailAlone(t *testing.T) {
	t.Parallel()
	ask := ToProposeIn(forLinux, []string{"acme/one", "no name"}, nil)
	s, _ := openedSession(t, ask)
	r, err := Run(t.Context(), s, ask)
	if err != nil || len(r.Diagnostics) != 2 || !r.Failed() {
		t.Fatalf("Run() = %+v, %v, want two problems", r, err)
	}
	for i, want := range []string{"acme/one: there is no token for GitHub", "no name: the repository is not known"} {
		if got := r.Diagnostics[i].Message; got != want {
			t.Errorf("problem %d is %q, want %q", i, got, want)
		}
	}
}

// What is named and is in none of a run's targets is told once, at its end; what one
// of them has is a warning about the others.
func TestSoughtOverTargets(t *testing.T) {
	t.Parallel()
	var s Lookup
	for _, n := range []lookupTerm{
		{name: "hashicorp/aws", found: true},
		{name: "hashicorp/aws", lacking: []string{"acme/two"}},
		{name: "hashicorp/gone", lacking: []string{"acme/one"}},
		{name: "hashicorp/gone", lacking: []string{"acme/two"}},
	} {
		n.single = true
		s.add(n)
	}
	told := report.Report{Diagnostics: s.Problems()}
	if len(told.Diagnostics) != 2 || !told.Failed() || told.Diagnostics[1].Severity != problem.SeverityWarning ||
		told.Diagnostics[1].Message != "hashicorp/aws was not found in acme/two" {
		t.Errorf("told %v", told.Diagnostics)
	}
}

// What is fetched for one repository serves the others of a run, but for an App that has a
// token for each, and for files that another person chose.
func TestModulesAreShared(t *testing.T) {
	t.Parallel()
	app := forLinux
	app.Settings.App = settings.App{ID: "1", Key: "key"}
	remote := func(repository string) target { return target{repository: repository, remote: &Remote{}} }
	fork := PullHead{Repository: "acme/one", Files: &Remote{}, Fork: true}
	for name, tt := range map[string]struct {
		one, other             Ask
		oneTarget, otherTarget target
		shared                 bool
	}{
		"two_repositories": {ToProposeIn(forLinux, nil, nil), ToProposeIn(forLinux, nil, nil), remote("acme/one"), remote("acme/two"), true},
		"an_app":           {ToProposeIn(app, nil, nil), ToProposeIn(app, nil, nil), remote("acme/one"), remote("acme/two"), false},
		"an_owner":         {ToProposeOf(app, "acme", nil), ToProposeOf(app, "acme", nil), remote("acme/one"), remote("acme/two"), true},
		"a_checkout":       {ToPropose(forLinux, Checkout{}, nil), ToPropose(forLinux, Checkout{}, nil), target{checkout: &Checkout{}}, remote("acme/one"), false},
		"a_fork":           {ToProposeIn(forLinux, nil, nil), ToLook(forLinux, verbs.Check, fork, Wanted{}, JudgedBy{}), remote("acme/one"), remote("acme/one"), false},
	} {
		s, _ := openedSession(t, tt.one)
		one := newJob(s, tt.one, tt.one.Settings(), tt.oneTarget, Visit{})
		other := newJob(s, tt.other, tt.other.Settings(), tt.otherTarget, Visit{})
		if shared := one.modules == other.modules; shared != tt.shared {
			t.Errorf("%s: shared is %t, want %t", name, shared, tt.shared)
		}
	}
}
