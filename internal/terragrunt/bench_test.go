package terragrunt

import (
	"fmt"
	"io/fs"
	"strings"
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

// FuzzUnit reads units with any content: the result has the files that init sees, or a
// reason.
func FuzzUnit(f *testing.F) {
	for _, seed := range []string{
		"include \"a\" {\n  path = \"a.hcl\"\n  expose = true\n  merge_strategy = \"deep\"\n}\nterraform {\n  source = include.a.locals.x\n}\n",
		"locals {\n  x = read_terragrunt_config(\"terragrunt.hcl\")\n  y = [for a in local.x : \"${a}${local.y}\"]\n}\ngenerate = local.x.generate\n",
		generated("g", "../g.tf", "overwrite", "${run_cmd(\"x\")} %{ if get_env(\"x\") }a%{ endif }"),
		"generate \"g\" {\n  path = \"g.tf.json\"\n  if_exists = \"skip\"\n  contents = jsonencode({ a = templatefile(\"a.hcl\", { x = dependency.y }) })\n}\n",
		"terraform {\n  source = \"tfr:///a/b/c?version=${values.x}\"\n  include_in_copy = [\"**/**\", find_in_parent_folders(\"a\", \"b\")]\n  before_hook \"x\" {\n    commands = null\n  }\n}\n",
		"remote_state = { generate = { path = deep_merge({}, {}), if_exists = sops_decrypt_file(\"x\") } }\nfeature \"x\" {\n  default = feature.x.value\n}\n",
		`{"terraform": {"source": "${feature.x.value}"}, "generate": {"": {"path": []}}, "include": {"path": "x"}}`,
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, unit, other string) {
		name := "u/" + ConfigName
		if strings.HasPrefix(unit, "{") {
			name = "u/" + JSONName
		}
		a := NewAssembler(NewFiles(fstest.MapFS{
			name: {Data: []byte(unit)}, "u/a.hcl": {Data: []byte(other)}, "u/" + autoName: {Data: []byte(other)}, "u/" + valuesName: {Data: []byte(unit)},
			"u/main.tf": {Data: []byte("")},
		}), nil, scan.Options{})
		made := a.Assemble(t.Context(), a.tree.unit("u", nil), provider.Newest(provider.OpenTofu))
		if (made.Tree == nil) == made.Unit.Known() {
			t.Errorf("there is a tree: %t, problems: %v", made.Tree != nil, made.Unit.Problems)
		}
		for _, p := range made.Unit.Problems {
			if p.Reason == "" || strings.Contains(p.Reason, repositoryTop) {
				t.Errorf("a problem is %+v", p)
			}
		}
	})
}
