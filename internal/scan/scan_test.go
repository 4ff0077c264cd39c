package scan

import (
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
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
	modules, diags, err := Modules(t.Context(), tree, Options{})
	if err != nil || len(diags) > 0 || len(modules) != 50 {
		t.Fatalf("Modules = %d modules, %v, %v, want 50 modules", len(modules), diags, err)
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
	modules, _, err := Modules(t.Context(), tree, Options{Dirs: []string{"envs/team3/root13"}})
	if err != nil || len(modules) != 1 {
		t.Fatalf("Modules = %v, %v, want one module", modules, err)
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
	first, _, err := Modules(t.Context(), tree, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, _, err := Modules(t.Context(), tree, Options{})
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
	f.Fuzz(func(t *testing.T, kind int, text string) {
		files := map[string]string{"x.tf": "module \"a\" {\n  source = \"./empty\"\n}\n", "a/main.tf": "", "empty/x": ""}
		files[names[uint(kind)%uint(len(names))]] = text
		tree := fileTree(files, nil)
		for _, tool := range []provider.ToolName{"", provider.Terraform, provider.OpenTofu} {
			modules, _, err := Modules(t.Context(), tree, Options{Dirs: []string{".", "./..."}, Tool: tool, Create: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range modules {
				checkModule(t, m)
			}
		}
	})
}

func checkModule(t *testing.T, m Module) {
	t.Helper()
	for _, r := range m.Requirements {
		if !r.Addr.Lockable() || len(r.Terms) == 0 {
			t.Errorf("requirement %+v of a provider that cannot be locked, or without a place", r)
		}
		for _, term := range r.Terms {
			if term.File == "" || term.Line == 0 {
				t.Errorf("term %+v without a place", term)
			}
		}
	}
	for _, u := range m.Unread {
		if u.Module == "" || u.Reason == "" || u.File == "" || u.Line == 0 {
			t.Errorf("incomplete %+v", u)
		}
	}
	for _, d := range m.Diagnostics {
		if d.Code == "" || d.Message == "" || d.File == "" {
			t.Errorf("incomplete %+v", d)
		}
	}
}

// BenchmarkScan scans 1,000 root modules that share their children. The metric
// files/op is the number of files read: nearly all are the roots' own.
func BenchmarkScan(b *testing.B) {
	for _, roots := range []int{100, 1000} {
		b.Run(fmt.Sprintf("roots=%d", roots), func(b *testing.B) {
			dir := b.TempDir()
			if err := os.CopyFS(dir, monorepo(roots)); err != nil {
				b.Fatal(err)
			}
			tree := newCounted(os.DirFS(dir))
			for b.Loop() {
				modules, diags, err := Modules(b.Context(), tree, Options{})
				if err != nil || len(diags) > 0 || len(modules) != roots {
					b.Fatalf("Modules = %d modules, %v, %v, want %d modules", len(modules), diags, err, roots)
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
