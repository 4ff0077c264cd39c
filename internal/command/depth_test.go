package command

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/waves"
)

// So many round trips a run needs in sequence, besides the first connections and
// the discovery of each host: three for each level of modules of registries, of
// which the first is for versions of providers, too; one for those that only modules
// require; and three for packages, the first two of them also for who signed what is
// left. docs/performance.md states them.
func TestRoundTripsInSequence(t *testing.T) {
	t.Parallel()
	s := serveText(t, `
-- registry/registry.terraform.io/hashicorp/alpha --
versions: [1.0.0, 1.1.0]
-- registry/registry.terraform.io/hashicorp/beta --
versions: [1.0.0]
-- modules/registry.terraform.io/acme/net/aws/1.0.0/main.tf --
terraform {
  required_providers {
    beta = { source = "hashicorp/beta" }
  }
}
`)
	dir, o := t.TempDir(), session{home: t.TempDir()}
	main := `terraform {
  required_providers {
    alpha = {
      source  = "hashicorp/alpha"
      version = "1.0.0"
    }
  }
}

module "net" {
  source  = "acme/net/aws"
  version = "1.0.0"
}
`
	upgrade := func() {
		t.Helper()
		write(t, filepath.Join(dir, "main.tf"), []byte(main))
		if status, out := o.run(t, s, dir, "upgrade", "--create", "--platform", "linux_amd64", "."); status != 0 {
			t.Fatalf("upgrade ends with %d:\n%s", status, out)
		}
	}
	upgrade()
	main = strings.Replace(main, `"1.0.0"`, `">= 1.0.0"`, 1)
	checkWaves(t, s, upgrade,
		[]string{"aws/versions", "aws/1.0.0/download", "alpha/versions"},
		[]string{"aws/1.0.0.zip"},
		[]string{"beta/versions"},
		[]string{"alpha/1.1.0/download/linux/amd64", "beta/1.0.0/download/linux/amd64", "alpha/1.0.0/download/linux/amd64"},
		[]string{
			"alpha_1.1.0_SHA256SUMS", "alpha_1.1.0_SHA256SUMS.sig", "beta_1.0.0_SHA256SUMS", "beta_1.0.0_SHA256SUMS.sig",
			"alpha_1.0.0_SHA256SUMS", "alpha_1.0.0_SHA256SUMS.sig",
		},
		[]string{"alpha_1.1.0_linux_amd64.zip", "beta_1.0.0_linux_amd64.zip"},
	)
}

// A tree of modules needs three round trips for each of its levels, however many
// modules are on one, and two where all calls of a level name one version. What a
// level requires is asked for beside the first question about the next one.
func TestRoundTripsOfModuleTree(t *testing.T) {
	t.Parallel()
	s := serveText(t, `
-- registry/registry.terraform.io/hashicorp/alpha --
versions: [1.0.0]
-- registry/registry.terraform.io/hashicorp/beta --
versions: [1.0.0]
-- registry/registry.terraform.io/hashicorp/gamma --
versions: [1.0.0]
-- modules/registry.terraform.io/acme/first/aws/1.0.0/main.tf --
terraform {
  required_providers {
    beta = { source = "hashicorp/beta" }
  }
}

module "second" {
  source  = "acme/second/aws"
  version = "1.0.0"
}

module "other" {
  source  = "acme/other/aws"
  version = "= 1.0.0"
}
-- modules/registry.terraform.io/acme/second/aws/1.0.0/main.tf --
module "third" {
  source = "acme/third/aws"
}
-- modules/registry.terraform.io/acme/other/aws/1.0.0/main.tf --
module "third" {
  source  = "acme/third/aws"
  version = "~> 1.0"
}
-- modules/registry.terraform.io/acme/third/aws/1.0.0/main.tf --
terraform {
  required_providers {
    gamma = { source = "hashicorp/gamma" }
  }
}
`)
	dir, o := t.TempDir(), session{home: t.TempDir()}
	write(t, filepath.Join(dir, "main.tf"), []byte(`terraform {
  required_providers {
    alpha = { source = "hashicorp/alpha" }
  }
}

module "first" {
  source  = "acme/first/aws"
  version = ">= 1.0.0"
}
`))
	var trips [][]string
	for _, level := range []string{
		"first/aws/versions alpha/versions, first/aws/1.0.0/download, first/aws/1.0.0.zip",
		"second/aws/versions second/aws/1.0.0/download other/aws/versions other/aws/1.0.0/download beta/versions, second/aws/1.0.0.zip other/aws/1.0.0.zip",
		"third/aws/versions, third/aws/1.0.0/download, third/aws/1.0.0.zip",
		"gamma/versions",
	} {
		for wave := range strings.SplitSeq(level, ", ") {
			trips = append(trips, strings.Fields(wave))
		}
	}
	packages := make([][]string, 3)
	for _, name := range []string{"alpha", "beta", "gamma"} {
		packages[0] = append(packages[0], name+"/1.0.0/download/linux/amd64")
		packages[1] = append(packages[1], name+"_1.0.0_SHA256SUMS", name+"_1.0.0_SHA256SUMS.sig")
		packages[2] = append(packages[2], name+"_1.0.0_linux_amd64.zip")
	}
	checkWaves(t, s, func() {
		if status, out := o.run(t, s, dir, "check", "--create", "--platform", "linux_amd64", "."); status != ExitChanges {
			t.Fatalf("check ends with %d:\n%s", status, out)
		}
	}, append(trips, packages...)...)
}

// checkWaves holds that a run asks the questions in as many round trips as there are
// groups, which are ends of paths.
func checkWaves(t *testing.T, s *sandbox.Sandbox, run func(), groups ...[]string) {
	t.Helper()
	w := waves.New(groups...)
	s.ResetRequests()
	s.Before(w.Hold)
	run()
	if missed := w.Missed(); len(missed) > 0 {
		t.Errorf("not asked in their turn: %v", missed)
		for _, r := range s.Requests() {
			t.Log(r.Method, r.Path)
		}
	}
}

// Where the platforms of a lock file are to be found out, that takes no round trip of
// its own while the cache knows what old packages hash to. Without the cache it takes
// four, however many entries and platforms there are.
func TestRoundTripsOfPlatformsThatNobodyNames(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		constraint string
		forgets    bool
		trips      string // a line each; EACH is every provider
	}{
		"nothing_changes": {"1.0.0", false, `
EACH/versions
EACH/1.0.0/download/linux/amd64
EACH_1.0.0_SHA256SUMS EACH_1.0.0_SHA256SUMS.sig`},
		"new_releases": {">= 1.0.0", false, `
EACH/versions
EACH/1.0.0/download/linux/amd64 EACH/1.1.0/download/linux/amd64
EACH_1.0.0_SHA256SUMS EACH_1.0.0_SHA256SUMS.sig EACH_1.1.0_SHA256SUMS EACH_1.1.0_SHA256SUMS.sig
EACH/1.1.0/download/darwin/arm64 EACH_1.1.0_linux_amd64.zip
EACH_1.1.0_darwin_arm64.zip`},
		"new_releases_and_no_cache": {">= 1.0.0", true, `
EACH/versions
EACH/1.0.0/download/linux/amd64 EACH/1.1.0/download/linux/amd64
EACH_1.0.0_SHA256SUMS EACH_1.0.0_SHA256SUMS.sig EACH_1.1.0_SHA256SUMS EACH_1.1.0_SHA256SUMS.sig
alpha/1.0.0/download/darwin/arm64 alpha_1.0.0_linux_amd64.zip
alpha_1.0.0_darwin_arm64.zip
beta/1.0.0/download/darwin/arm64 beta_1.0.0_linux_amd64.zip gamma/1.0.0/download/darwin/arm64 gamma_1.0.0_linux_amd64.zip
beta_1.0.0_darwin_arm64.zip gamma_1.0.0_darwin_arm64.zip
EACH/1.1.0/download/darwin/arm64 EACH_1.1.0_linux_amd64.zip
EACH_1.1.0_darwin_arm64.zip`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			providers := []string{"alpha", "beta", "gamma"}
			var world, required strings.Builder
			for _, p := range providers {
				fmt.Fprintf(&world, "-- registry/registry.terraform.io/hashicorp/%s --\nversions: [1.0.0, 1.1.0]\nplatforms: [linux_amd64, darwin_arm64, windows_amd64]\n", p)
				fmt.Fprintf(&required, "    %s = { source = \"hashicorp/%[1]s\", version = \"VERSION\" }\n", p)
			}
			s, dir, o := serveText(t, world.String()), t.TempDir(), session{home: t.TempDir()}
			upgrade := func(version, cache string, args ...string) {
				t.Helper()
				main := strings.ReplaceAll("terraform {\n  required_providers {\n"+required.String()+"  }\n}\n", "VERSION", version)
				write(t, filepath.Join(dir, "main.tf"), []byte(main))
				if status, out := o.run(t, s, dir, append(args, "upgrade", "--create", "--cache", filepath.Join(o.home, cache), ".")...); status != 0 {
					t.Fatalf("upgrade ends with %d:\n%s", status, out)
				}
			}
			upgrade("1.0.0", "kept", "--platform", "linux_amd64", "--platform", "darwin_arm64")
			var trips [][]string
			for line := range strings.Lines(strings.TrimSpace(tt.trips)) {
				var trip []string
				for _, end := range strings.Fields(line) {
					for _, p := range providers {
						if name := strings.ReplaceAll(end, "EACH", p); !slices.Contains(trip, name) {
							trip = append(trip, name)
						}
					}
				}
				trips = append(trips, trip)
			}
			cache := "kept"
			if tt.forgets {
				cache = "lost"
			}
			checkWaves(t, s, func() { upgrade(tt.constraint, cache) }, trips...)
		})
	}
}

// Versions that are asked for beside modules are asked for in vain where a module
// then cannot be had: once for each provider, however many root modules and levels
// there are, and no more of it.
func TestVersionsInVainAreAskedOnce(t *testing.T) {
	t.Parallel()
	s := serveText(t, `
-- registry/registry.terraform.io/hashicorp/alpha --
versions: [1.0.0]
-- registry/registry.terraform.io/hashicorp/beta --
versions: [1.0.0]
-- modules/registry.terraform.io/acme/first/aws/1.0.0/main.tf --
terraform {
  required_providers {
    beta = { source = "hashicorp/beta" }
  }
}

module "gone" {
  source = "acme/gone/aws"
}
`)
	dir, o := t.TempDir(), session{home: t.TempDir()}
	for _, root := range []string{"one", "two", "three"} {
		write(t, filepath.Join(dir, root, "main.tf"), []byte(`terraform {
  backend "local" {}

  required_providers {
    alpha = { source = "hashicorp/alpha" }
    none  = { source = "hashicorp/none" }
  }
}

module "first" {
  source = "acme/first/aws"
}
`))
	}
	if status, out := o.run(t, s, dir, "upgrade", "--create", "./..."); status != ExitFailed || !strings.Contains(out, "acme/gone/aws") {
		t.Fatalf("upgrade ends with %d, want a failure for a module that is gone:\n%s", status, out)
	}
	asked := map[string]int{}
	for _, r := range s.Requests() {
		if _, question, ok := strings.Cut(r.Path, "/v1/providers/"); ok {
			asked[question]++
		}
	}
	want := map[string]int{"hashicorp/alpha/versions": 1, "hashicorp/beta/versions": 1, "hashicorp/none/versions": 1, "-/none/versions": 1}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("questions about providers (-want +got):\n%s", diff)
	}
}
