package scan

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

// counted counts what is asked of a file tree.
type counted struct {
	fs.FS
	mu     sync.Mutex
	opened map[string]int
	listed map[string]int
}

func newCounted(tree fs.FS) *counted {
	return &counted{FS: tree, opened: map[string]int{}, listed: map[string]int{}}
}

func (c *counted) ReadFile(name string) ([]byte, error) {
	c.mu.Lock()
	c.opened[name]++
	c.mu.Unlock()
	return fs.ReadFile(c.FS, name)
}

func (c *counted) ReadDir(name string) ([]fs.DirEntry, error) {
	c.mu.Lock()
	c.listed[name]++
	c.mu.Unlock()
	return fs.ReadDir(c.FS, name)
}

func (c *counted) ReadLink(name string) (string, error)   { return fs.ReadLink(c.FS, name) }
func (c *counted) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(c.FS, name) }

// monorepo generates root modules that share two layers of local modules.
func monorepo(roots int) fstest.MapFS {
	const shared = 20
	files := map[string]string{".terraform-version": "1.11.4\n"}
	for i := range shared {
		files[fmt.Sprintf("modules/base%d/main.tf", i)] = "terraform {\n  required_providers {\n    aws = {\n      source  = \"hashicorp/aws\"\n      version = \">= 4.0\"\n    }\n  }\n}\n" +
			strings.Repeat("# about what follows\n", 20) + "resource \"aws_vpc\" \"v\" {\n  cidr_block = var.cidr\n}\n"
		files[fmt.Sprintf("modules/app%d/main.tf", i)] = fmt.Sprintf("module \"base\" {\n  source = \"../base%d\"\n}\nresource \"random_id\" \"r\" {\n  byte_length = 8\n}\n", i)
		files[fmt.Sprintf("modules/app%d/variables.tf", i)] = "variable \"name\" {\n  type = string\n}\n"
	}
	for i := range roots {
		dir := fmt.Sprintf("envs/team%d/root%d", i%10, i)
		files[dir+"/main.tf"] = fmt.Sprintf("module \"a\" {\n  source = \"../../../modules/app%d\"\n  name   = \"a\"\n}\nmodule \"b\" {\n  source = \"../../../modules/app%d\"\n  name   = \"b\"\n}\n", i%shared, (i+7)%shared)
		files[dir+"/versions.tf"] = "terraform {\n  required_providers {\n    aws = {\n      source  = \"hashicorp/aws\"\n      version = \"~> 5.0\"\n    }\n  }\n}\n"
		files[dir+"/.terraform.lock.hcl"] = "provider \"registry.terraform.io/hashicorp/aws\" {\n  version = \"5.0.0\"\n}\n"
	}
	return fileTree(files, nil)
}

// However many root modules share a module, each of its files is read once, and
// each directory is listed once.
func TestModules_reads_once(t *testing.T) {
	t.Parallel()
	tree := newCounted(monorepo(50))
	modules, diags, err := scanned(t.Context(), tree, nil, Options{})
	if err != nil || len(diags) > 0 || len(modules) != 50 {
		t.Fatalf("scanned = %d modules, %v, %v, want 50 modules", len(modules), diags, err)
	}
	for _, counts := range []map[string]int{tree.opened, tree.listed} {
		for name, n := range counts {
			if n > 1 {
				t.Errorf("%s was read %d times, want once", name, n)
			}
		}
	}
	if tree.opened["modules/base0/main.tf"] != 1 {
		t.Errorf("modules/base0/main.tf was not read")
	}
}

// To answer for one root module, the others are left unread.
func TestModules_reads_what_is_named(t *testing.T) {
	t.Parallel()
	tree := newCounted(monorepo(50))
	modules, _, err := scanned(t.Context(), tree, nil, Options{Dirs: []string{"envs/team3/root13"}})
	if err != nil || len(modules) != 1 {
		t.Fatalf("scanned = %v, %v, want one module", modules, err)
	}
	for name := range tree.opened {
		if strings.HasPrefix(name, "envs/") && !strings.HasPrefix(name, "envs/team3/root13/") {
			t.Errorf("%s was read", name)
		}
	}
	if len(tree.listed) > 6 {
		t.Errorf("%d directories were listed, want those of the module tree only", len(tree.listed))
	}
}

// Two runs over one tree give equal results, in whatever order they finish.
func TestModules_deterministic(t *testing.T) {
	t.Parallel()
	tree := monorepo(50)
	tree["envs/team0/root0/bad.tf"] = &fstest.MapFile{Data: []byte("x = 1\ny = 2\nprovider \"A\" {}\nprovider \"B\" {\n  count = 1\n  source = 2\n}\n")}
	tree["envs/team0/root0/one.tf.json"] = &fstest.MapFile{Data: []byte(`{"provider":{"aws":[{"version":">= 1"},{"alias":"b","version":"< 9"},{"alias":"c","version":"!= 2"}]}}`)}
	first, _, err := scanned(t.Context(), tree, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, _, err := scanned(t.Context(), tree, nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(first, again) {
			t.Fatalf("results differ:\n%s", cmp.Diff(fmt.Sprint(first), fmt.Sprint(again)))
		}
	}
}

// FuzzScan reads one file of any kind, by the rules of both tools. Whatever is in it, the
// scan ends with modules whose every statement has a place.
func FuzzScan(f *testing.F) {
	names := []string{
		"main.tf", "main.tf.json", "override.tf", "main.tofu", "x.tftest.hcl", "tests/x.tftest.json",
		".terraform.lock.hcl", ".terraform-version", ".tool-versions", ".gitmodules", "terraform.tfvars",
		"x.auto.tfvars.json", ".terraform/modules/modules.json", "terragrunt.hcl", "mise.toml",
	}
	for _, c := range recordedCases(f) {
		for name, text := range c.Files {
			for i, n := range names {
				if strings.HasSuffix(name, n) {
					f.Add(i, text)
				}
			}
		}
	}
	for _, text := range []string{"[tools]\nopentofu = ['1.9', { version = '1.8' }]\n", "tools = { terraform.version = 'latest:^1' }\n", "[[tools.terraform]]\nprefix = '1'\n"} {
		f.Add(len(names)-1, text)
	}
	f.Fuzz(func(t *testing.T, kind int, text string) {
		files := map[string]string{
			"x.tf":      "variable \"v\" {}\nmodule \"a\" {\n  source = \"./empty\"\n  v = var.v\n}\nmodule \"v\" {\n  source = var.v\n}\nmodule \"r\" {\n  source = \"a/b/c\"\n}\n",
			"a/main.tf": "", "empty/x": "",
		}
		files[names[uint(kind)%uint(len(names))]] = text
		tree := fileTree(files, nil)
		for _, tool := range []provider.ToolName{"", provider.Terraform, provider.OpenTofu} {
			modules, _, err := scanned(t.Context(), tree, fuzzSource{tree}, Options{
				Dirs: []string{".", "./..."}, Tool: tool, Create: true, Orphans: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range modules {
				checkModule(t, m)
			}
		}
	})
}

// fuzzSource answers some calls with the whole tree as a package.
type fuzzSource struct{ fs.FS }

func (s fuzzSource) Fetch(_ context.Context, _ provider.Tool, call Call) (Package, error) {
	if len(call.Source)%2 == 0 {
		return Package{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}
	}
	return Package{FS: s.FS, Dir: ".", ID: "1"}, nil
}

// FuzzEvaluate evaluates an expression early. Whatever it is, evaluation ends, with a
// reason if the module is not read.
func FuzzEvaluate(f *testing.F) {
	f.Add("var.a")
	f.Add("local.a[0].b")
	f.Add(`[for a, b in var.o : "${a}${b}" if can(regex("a", b))]...`)
	f.Add(`join("", [format("%05d", 1), replace("a", "/a/", "b"), lookup({ a = 1 }, "a", 2), one(["./a"])])`)
	f.Add(`try(jsondecode(file("main.tf")), coalesce("", "./a"), sensitive(path.module))`)
	for _, fn := range staticeval.Tools {
		f.Add(fn.Name + `("./a", var.o, [1, null, true], -1)`)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		tree := fileTree(map[string]string{
			"main.tf":   "variable \"a\" {\n  default = \"./a\"\n}\nvariable \"o\" {\n  default = { a = \"./a\" }\n}\nvariable \"u\" {}\nlocals {\n  a = [{ b = var.u }, var.a]\n}\nmodule \"m\" {\n  source = " + expr + "\n}\n",
			"a/main.tf": "",
		}, nil)
		modules, _, err := scanned(t.Context(), tree, nil, Options{Dirs: []string{"."}, Tool: provider.OpenTofu})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range modules {
			checkModule(t, m)
		}
	})
}

func checkModule(t *testing.T, m RootModule) {
	t.Helper()
	for _, r := range m.All().Requirements {
		if !r.Addr.Lockable() || len(r.Terms) == 0 {
			t.Errorf("requirement %+v of a provider that cannot be locked, or without a place", r)
		}
		for _, term := range r.Terms {
			if term.Place.Path == "" || term.Place.Line == 0 {
				t.Errorf("term %+v without a place", term)
			}
		}
	}
	for _, u := range m.All().Unread {
		if u.Module == "" && u.Entry == nil || u.Reason == "" || u.Place.Path == "" || u.Place.Line == 0 {
			t.Errorf("incomplete %+v", u)
		}
	}
	for _, d := range m.All().Diagnostics {
		if d.Code == "" || d.Message == "" || d.Place.Path == "" {
			t.Errorf("incomplete %+v", d)
		}
	}
}

// BenchmarkScan scans thousands of root modules that share their children, by
// the rules of a tool that evaluates nothing early and of one that does. The
// metric files/op is the number of files read: nearly all are the roots' own.
func BenchmarkScan(b *testing.B) {
	for _, roots := range []int{1000, 5000} {
		dir := b.TempDir()
		if err := os.CopyFS(dir, monorepo(roots)); err != nil {
			b.Fatal(err)
		}
		for _, tool := range []provider.Tool{terraform1_11, provider.Newest(provider.OpenTofu)} {
			b.Run(fmt.Sprintf("roots=%d/%s", roots, tool.Name), func(b *testing.B) {
				tree := newCounted(os.DirFS(dir))
				for b.Loop() {
					modules, diags, err := scanned(b.Context(), tree, nil, Options{Tool: tool.Name, ToolVersion: tool.Version})
					if err != nil || len(diags) > 0 || len(modules) != roots {
						b.Fatalf("scanned = %d modules, %v, %v, want %d modules", len(modules), diags, err, roots)
					}
				}
				read := 0
				for _, n := range tree.opened {
					read += n
				}
				b.ReportMetric(float64(read)/float64(b.N), "files/op")
			})
		}
	}
}
