package scan

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// endingSource ends the run when it is asked for one module, of several side by side.
type endingSource struct {
	*tableSource
	last Call
	end  context.CancelCauseFunc
}

func (s endingSource) Fetch(ctx context.Context, tool provider.Tool, call Call) (Package, error) {
	if call == s.last {
		s.end(&problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "the time is over"}})
		return Package{}, problem.Ended(ctx)
	}
	return s.tableSource.Fetch(context.WithoutCancel(ctx), tool, call)
}

// TestLoad_end has a run that ends while modules are fetched: what has been read and
// fetched is there, and of the rest it is said why it is not.
func TestLoad_end(t *testing.T) {
	t.Parallel()
	source := newTableSource()
	call := func(name string) string {
		return "module \"m\" {\n  source = \"https://example.com/" + name + ".zip\"\n}\n"
	}
	for _, name := range []string{"fast", "deep"} {
		files := map[string]string{"main.tf": "resource \"" + name + "_x\" \"y\" {}\n"}
		if name == "deep" {
			files["main.tf"] += call("gone")
		}
		source.answers[Call{Source: "https://example.com/" + name + ".zip"}] = tableAnswer{pkg: Package{FS: fileTree(files, nil), Dir: ".", ID: name}}
	}
	tree := fileTree(map[string]string{
		"local/main.tf": "resource \"local_x\" \"y\" {}\n", "fast/main.tf": call("fast"), "deep/main.tf": call("deep"), "slow/main.tf": call("slow"),
	}, nil)
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	roots, _, err := Find(ctx, tree, Options{Dirs: []string{"local", "fast", "deep", "slow"}})
	if err != nil {
		t.Fatal(err)
	}
	ending := endingSource{source, Call{Source: "https://example.com/slow.zip"}, end}
	source.answers[Call{Source: "https://example.com/gone.zip"}] = tableAnswer{err: &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "the time is over"}}}
	got := map[string]string{}
	for _, m := range Load(ctx, roots, ending, Options{}) {
		for _, r := range m.Tree.Requirements {
			got[m.Dir] += r.Addr.Type + " "
		}
		for _, u := range m.Tree.Unread {
			got[m.Dir] += u.Module + ": " + u.Reason
		}
	}
	want := map[string]string{"local": "local ", "fast": "fast ", "deep": "deep m.m: the time is over", "slow": "m: the time is over"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Load (-want +got):\n%s", diff)
	}
}

// TestLoad_after_the_end has a run that ends before any root module is read: each of them
// is there, wanted or not, and is not taken for one that requires nothing.
func TestLoad_after_the_end(t *testing.T) {
	t.Parallel()
	roots, _, err := Find(t.Context(), fileTree(map[string]string{"a/main.tf": "", "b/main.tf": ""}, nil), Options{Dirs: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	modules := Load(ctx, roots, nil, Options{Wanted: func(RootModule) bool { return false }})
	if len(modules) != 2 {
		t.Fatalf("Load = %v, want both root modules", modules)
	}
	for _, m := range modules {
		if len(m.Tree.Unread) != 1 || m.Tree.Unread[0].Code != problem.CodeCancelled {
			t.Errorf("of %s is unread %+v, want that the run was interrupted", m.Dir, m.Tree.Unread)
		}
	}
}

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
	if err != nil || len(roots) != 1 || roots[0].Kind != TerragruntUnit || !roots[0].Standalone() {
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
	unit.StandIn, unit.Made.Dir, unit.Made.Sources = StandInParts, "work/net", []string{"live", "modules/net"}
	unit.Made.Tree = tfconfig.NewTree(filetree.SourceOf(b.Tree()), func(name string) problem.Place {
		return problem.Place{Path: strings.Replace(name, "work", "modules", 1)}
	})
	modules := Load(t.Context(), []Root{unit}, nil, Options{})
	if len(modules) != 1 {
		t.Fatalf("Load = %v, want one module", modules)
	}
	m := modules[0]
	var said []string
	for _, r := range m.Tree.Requirements {
		said = append(said, r.Addr.String()+" at "+r.Terms[0].Place.String())
	}
	for _, d := range m.Tree.Diagnostics {
		said = append(said, d.String())
	}
	want := []string{
		"registry.terraform.io/hashicorp/acme at modules/net/own/a.tf:1",
		"modules/net/main.tf:5: unreadable module directory: it is outside of the module package that calls it",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("Load (-want +got):\n%s", diff)
	}
	if m.Dir != "live" || m.Kind != TerragruntUnit || m.Lock.Path != "live/.terraform.lock.hcl" || m.Searched != nil || m.Made.Tree != nil {
		t.Errorf("Load = %+v, want the unit live with its lock file, without a file tree", m.Root)
	}
	// Whoever made the tree names what it was made of; what was read in it is added.
	if diff := cmp.Diff(append(unit.Made.Sources, "modules/net/own"), m.All().Dirs); diff != "" {
		t.Errorf("Dirs (-want +got):\n%s", diff)
	}
}
