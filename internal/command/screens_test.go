package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/render"
)

// screensWorld has a newer release of each provider. One of them is held by a module of a
// registry, another one by a constraint.
const screensWorld = `
-- registry/registry.terraform.io/hashicorp/aws --
versions: [5.31.0, 5.34.0, 6.0.0]
-- registry/registry.terraform.io/hashicorp/null --
versions: [3.2.2, 3.2.4]
-- registry/registry.terraform.io/hashicorp/random --
versions: [3.5.1, 3.6.0]
-- modules/registry.terraform.io/acme/vpc/aws/1.0.0/main.tf --
terraform {
  required_providers {
    aws = { version = "~> 5.31" }
  }
}
-- modules/registry.terraform.io/acme/vpc/aws/1.1.0/main.tf --
terraform {
  required_providers {
    aws = { version = ">= 5.31" }
  }
}
-- listings/registry.terraform.io/acme/vpc/aws --
1.0.0 . aws hashicorp/aws ~> 5.31
1.1.0 . aws hashicorp/aws >= 5.31
`

const (
	screensMain = `terraform {
  required_providers {
    null   = { version = ">= 3.2" }
    random = { version = "~> 3.5.1" }
  }
}
module "vpc" {
  source  = "acme/vpc/aws"
  version = "~> 1.0.0"
}
`
	screensLock = `provider "registry.terraform.io/hashicorp/aws" {
  version = "5.31.0"
}
provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.2"
}
provider "registry.terraform.io/hashicorp/random" {
  version = "3.5.1"
}
`
)

// TestFirstScreens holds how much the commands say that people type first, in a repository
// of few root modules and in one of many. In each fifth one a lock file has a hash of no
// package. testdata/screens.txt has the lines and the widest one; -update writes it.
func TestFirstScreens(t *testing.T) {
	t.Parallel()
	s := serveText(t, screensWorld)
	table := "command        root modules  columns  lines  widest\n"
	for _, roots := range []int{5, 200} {
		o, dir := session{home: t.TempDir(), cache: t.TempDir()}, t.TempDir()
		files := map[string]string{".git/HEAD": ""}
		for i := range roots {
			name := fmt.Sprintf("environments/account-%03d/", i)
			files[name+"main.tf"], files[name+".terraform.lock.hcl"] = screensMain, screensLock
		}
		writeAll(t, dir, files)
		if status, said := o.run(t, s, dir, "lock", "--platform", "linux_amd64", "--platform", "darwin_arm64"); status != ExitOK {
			t.Fatalf("lock ends with status %d:\n%s", status, said)
		}
		for i := 0; i < roots; i += 5 {
			name := filepath.Join(dir, "environments", fmt.Sprintf("account-%03d", i), ".terraform.lock.hcl")
			lock := strings.Replace(readLock(t, filepath.Dir(name)), "    \"h1:", "    \"h1:pGSUzXbDrESuGoGpYtDaHj9lc1ul6WPFkOwJ0fBp/9c=\",\n    \"h1:", 1)
			writeAll(t, filepath.Dir(name), map[string]string{filepath.Base(name): lock})
		}
		for _, command := range []string{"check", "verify", "why aws", "why random"} {
			for _, columns := range []int{80, 120} {
				o.width = columns
				_, said := o.run(t, s, dir, strings.Fields(command)...)
				t.Logf("%s, %d root modules, %d columns:\n%s", command, roots, columns, said)
				lines, widest := strings.Split(strings.TrimSuffix(said, "\n"), "\n"), 0
				for _, line := range lines {
					widest = max(widest, render.Columns(line))
				}
				table += fmt.Sprintf("%-13s  %12d  %7d  %5d  %6d\n", command, roots, columns, len(lines), widest)
			}
		}
	}
	name := filepath.Join("testdata", "screens.txt")
	if *update {
		if err := os.WriteFile(name, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), table); diff != "" {
		t.Errorf("the screens have become others (-want +got):\n%s", diff)
	}
}
