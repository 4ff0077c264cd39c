package tfconfig

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// TestPackagesAreBounded holds that a module package has one bound for all its files and
// modules, and that a repository has none.
func TestPackagesAreBounded(t *testing.T) {
	t.Parallel()
	half := []byte(strings.Repeat("a=1\n", (maxPackage/2-2*pieceFile)/6))
	files := fstest.MapFS{"a/main.tf": {Data: half}, "b/main.tf": {Data: half}, "c/main.tf": {}}
	read := func(tree *Tree) (errs []error) {
		for _, name := range []string{"a/main.tf", "b/main.tf", "c/main.tf", "c/main.tf", "c/main.tf", "c/main.tf"} {
			_, err := tree.Read(name)
			errs = append(errs, err)
		}
		return errs
	}
	errs := read(PackageTree(files, "evil.example"))
	if errs[1] != nil || !errors.Is(errs[5], errCostly) {
		t.Errorf("reading a package = %v, want that it ends with %v", errs, errCostly)
	}
	if errs := read(Searched(files, nil, "")); errors.Join(errs...) != nil {
		t.Errorf("reading a repository = %v", errs)
	}
}

// TestTree_Sharing holds that trees read a shared file once. It has the same name, content
// and rules.
func TestTree_Sharing(t *testing.T) {
	t.Parallel()
	const content = "terraform {\n  required_providers {\n    a = [1]\n  }\n}\n"
	var kept Decoded
	shared := func(name string) bool { return name != "own.tf" }
	read := func(name, content string, tool provider.ToolName) *requiredBlock {
		d := &decoder{tool: provider.Newest(tool), file: problem.Place{Path: name}}
		f := NewTree(fstest.MapFS{}, nil).Sharing(&kept, shared).decode(name, []byte(content), d)
		if len(f.required) != 1 || len(d.Diags) != 1 {
			t.Fatalf("%s holds %+v, with the problems %v, want one block and one problem", name, f, d.Diags)
		}
		return &f.required[0]
	}
	first := read("a.tf", content, provider.Terraform)
	if read("a.tf", content, provider.Terraform) != first {
		t.Error("the same file is read twice")
	}
	own := read("own.tf", content, provider.Terraform)
	if read("own.tf", content, provider.Terraform) == own {
		t.Error("a file that is not shared is read once")
	}
	for _, other := range []*requiredBlock{read("b.tf", content, provider.Terraform), read("a.tf", content+"\n", provider.Terraform), read("a.tf", content, provider.OpenTofu)} {
		if other == first {
			t.Error("another file is taken for the first")
		}
	}
}
