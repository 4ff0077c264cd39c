package scan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// A root module may bring a file tree of its own, with the names of its files and
// the directories that it was made of. Its lock file stays where it was found.
func TestLoad_tree_of_its_own(t *testing.T) {
	t.Parallel()
	repository := fileTree(map[string]string{
		"live/terragrunt.hcl":      "terraform {\n  source = \"../modules/net\"\n}\n",
		"live/.terraform.lock.hcl": "provider \"registry.terraform.io/acme/old\" {\n  version = \"1.0.0\"\n}\n",
		"modules/net/main.tf":      "",
	}, nil)
	roots, _, err := Find(t.Context(), repository, Options{Orphans: true})
	if err != nil || len(roots) != 1 || roots[0].Kind != TerragruntUnit || !roots[0].Standalone {
		t.Fatalf("Find = %+v, %v, want the unit", roots, err)
	}

	var b filetree.Builder
	for name, text := range map[string]string{
		"work/net/main.tf":  "module \"own\" {\n  source = \"./own\"\n}\nmodule \"lost\" {\n  source = \"../../../lost\"\n}\n",
		"work/net/own/a.tf": "resource \"acme_x\" \"x\" {}\n",
	} {
		if err := b.AddFile(name, 0o644, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	unit := roots[0]
	unit.Standalone, unit.TreeDir, unit.Sources = false, "work/net", []string{"live", "modules/net"}
	unit.Tree = tfconfig.NewTree(b.Tree(), func(name string) tfconfig.FileName {
		return tfconfig.FileName{File: strings.Replace(name, "work", "modules", 1)}
	})
	modules, err := Load(t.Context(), []Root{unit}, nil, Options{})
	if err != nil || len(modules) != 1 {
		t.Fatalf("Load = %v, %v, want one module", modules, err)
	}
	m := modules[0]
	var said []string
	for _, r := range m.Tree.Requirements {
		said = append(said, r.Addr.String()+" at "+r.Terms[0].place().String())
	}
	for _, d := range m.Tree.Diagnostics {
		said = append(said, d.Error())
	}
	want := []string{
		"registry.terraform.io/hashicorp/acme at modules/net/own/a.tf:1",
		"modules/net/main.tf:5: unreadable module directory: it is outside of the module package that calls it",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("Load (-want +got):\n%s", diff)
	}
	if m.Dir != "live" || m.Kind != TerragruntUnit || m.Lock.Path != "live/.terraform.lock.hcl" || m.Root.Tree != nil {
		t.Errorf("Load = %+v, want the unit live with its lock file, without a file tree", m.Root)
	}
	// Whoever made the tree names what it was made of; what was read in it is added.
	if diff := cmp.Diff(append(unit.Sources, "modules/net/own"), m.All().Dirs); diff != "" {
		t.Errorf("Dirs (-want +got):\n%s", diff)
	}
}
