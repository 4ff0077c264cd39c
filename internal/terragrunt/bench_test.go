package terragrunt

import (
	"fmt"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// estate is a repository of many units with one root file and a few modules.
func estate(units int) fstest.MapFS {
	text := "-- root.hcl --\nlocals {\n  region = read_terragrunt_config(find_in_parent_folders(\"region.hcl\"))\n  common = yamldecode(file(\"common.yaml\"))\n}\n" +
		generated("p", "provider.tf", "overwrite", "provider \"aws\" {\n  region = \"${local.region.locals.name}\"\n  role = \"${get_env(\"ROLE\")}\"\n}") +
		"remote_state {\n  backend = \"s3\"\n  generate = {\n    path = \"backend.tf\"\n    if_exists = \"overwrite\"\n  }\n  config = {\n    key = path_relative_to_include()\n  }\n}\n" +
		"-- common.yaml --\nowner: team\ntags: {a: b}\n"
	for i := range 5 {
		text += module(fmt.Sprintf("modules/m%d", i), "random", "~> 3.0")
	}
	for i := range 10 {
		text += fmt.Sprintf("-- live/r%d/region.hcl --\nlocals {\n  name = \"r%d\"\n}\n", i, i)
	}
	for i := range units {
		text += fmt.Sprintf("-- live/r%d/u%d/terragrunt.hcl --\n%sterraform {\n  source = \"${get_repo_root()}/modules//m%d\"\n}\n", i%10, i, root, i%5)
	}
	return tree(text)
}

// counting counts how often each file is opened.
type counting struct {
	fs.ReadLinkFS
	opened map[string]*atomic.Int64
}

func (c counting) Open(name string) (fs.File, error) {
	if n := c.opened[name]; n != nil {
		n.Add(1)
	}
	return c.ReadLinkFS.Open(name)
}

// load reads all units of a file tree.
func load(t testing.TB, fsys fs.FS, units int) []scan.RootModule {
	t.Helper()
	var roots []scan.Root
	for i := range units {
		roots = append(roots, scan.Root{
			Dir: fmt.Sprintf("live/r%d/u%d", i%10, i), Kind: scan.TerragruntUnit, StandIn: scan.StandInAll,
			Tool: provider.Newest(provider.Terraform), Lock: &lockfile.File{},
		})
	}
	roots, _, err := unitRoots(t.Context(), fsys, roots, Options{})
	if err != nil {
		t.Fatal(err)
	}
	modules := scan.Load(t.Context(), roots, nil, scan.Options{})
	for _, m := range modules {
		if len(m.Tree.Requirements) != 2 || len(m.Tree.Unread) > 0 {
			t.Fatalf("%s requires %v, unread %v", m.Dir, m.Tree.Requirements, m.Tree.Unread)
		}
	}
	return modules
}

// TestRoots_reads_once holds that files that units share are read once.
func TestRoots_reads_once(t *testing.T) {
	t.Parallel()
	files := estate(30)
	c := counting{files, map[string]*atomic.Int64{}}
	for name := range files {
		c.opened[name] = &atomic.Int64{}
	}
	if got := len(load(t, c, 30)); got != 30 {
		t.Fatalf("%d root modules, want 30", got)
	}
	for name, n := range c.opened {
		if n.Load() > 1 {
			t.Errorf("%s is read %d times", name, n.Load())
		}
	}
}

// BenchmarkTerragrunt reads repositories of many units.
func BenchmarkTerragrunt(b *testing.B) {
	for _, units := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(units), func(b *testing.B) {
			var build filetree.Builder
			for name, f := range estate(units) {
				if err := build.AddFile(name, 0o644, f.Data); err != nil {
					b.Fatal(err)
				}
			}
			files := build.Tree()
			for b.Loop() {
				load(b, files, units)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*units), "µs/unit")
		})
	}
}
