package scan

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// remoteCalls is a module that calls n modules that must be fetched.
func remoteCalls(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "module \"m%d\" {\n  source = \"https://example.com/m%d.zip\"\n}\n", i, i)
	}
	return b.String()
}

// meetingSource answers a call only when a number of calls have met.
type meetingSource struct {
	size int

	mu            sync.Mutex
	open, most    int
	waiting, asks int
	met           chan struct{}
}

func (s *meetingSource) Fetch(context.Context, provider.Tool, Call) (Package, error) {
	s.mu.Lock()
	s.open++
	s.most = max(s.most, s.open)
	s.asks++
	met := s.met
	if s.waiting++; s.waiting == s.size {
		close(met)
		s.waiting, s.met = 0, make(chan struct{})
	}
	s.mu.Unlock()
	<-met
	s.mu.Lock()
	s.open--
	s.mu.Unlock()
	return Package{FS: fstest.MapFS{}, Dir: ".", ID: "empty"}, nil
}

// Modules are fetched several at once, no more than Jobs, each once however many
// root modules call it.
func TestModules_fetches_together(t *testing.T) {
	t.Parallel()
	const jobs, calls = 3, 12
	tree := fileTree(map[string]string{
		"a/main.tf": remoteCalls(calls / 2), "a/.terraform.lock.hcl": "",
		"b/main.tf": remoteCalls(calls), "b/.terraform.lock.hcl": "",
	}, nil)
	source := &meetingSource{size: jobs, met: make(chan struct{})}
	modules, _, err := scanned(t.Context(), tree, source, Options{Jobs: jobs})
	if err != nil || len(modules) != 2 {
		t.Fatalf("scanned = %v, %v, want two modules", modules, err)
	}
	if source.most != jobs || source.asks != calls {
		t.Errorf("%d calls were open at once and %d were made, want %d and %d", source.most, source.asks, jobs, calls)
	}
	if got := len(modules[1].Tree.Fetched); got != calls {
		t.Errorf("%d modules are listed as fetched, want %d", got, calls)
	}
}

// holed is a file tree with a directory that cannot be read.
type holed struct{ fstest.MapFS }

func (h holed) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "submodule" {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: &problem.Error{
			Problem: problem.Problem{Code: problem.CodeUnauthorized, Message: "example.com wants credentials", Hint: "set module-token"},
		}}
	}
	return h.MapFS.ReadDir(name)
}

// What a package has of others that could not be fetched is unread, with the
// reason, and only where it is called.
func TestModules_holes_in_packages(t *testing.T) {
	t.Parallel()
	pkg := holed{fileTree(map[string]string{
		"main.tf":           "module \"sub\" {\n  source = \"./submodule\"\n}\n",
		"alone/main.tf":     "resource \"null_resource\" \"x\" {}\n",
		"submodule/main.tf": "",
	}, nil)}
	source := newTableSource()
	source.answers[Call{Source: "https://example.com/m0.zip"}] = tableAnswer{pkg: Package{FS: pkg, Dir: ".", ID: "1"}}
	source.answers[Call{Source: "https://example.com/m1.zip"}] = tableAnswer{pkg: Package{FS: pkg, Dir: "alone", ID: "1"}}
	tree := fileTree(map[string]string{"main.tf": remoteCalls(2)}, nil)
	modules, _, err := scanned(t.Context(), tree, source, Options{Dirs: []string{"."}})
	if err != nil || len(modules) != 1 || len(modules[0].Tree.Diagnostics) > 0 {
		t.Fatalf("scanned = %v, %v, want one module without diagnostics", modules, err)
	}
	want := []Unread{{
		Module: "m0.sub", Source: "./submodule", Code: problem.CodeUnauthorized,
		Reason: "example.com wants credentials", Hint: "set module-token",
		Place: problem.Place{Path: "main.tf", Line: 2, Package: "https://example.com/m0.zip"},
	}}
	if diff := cmp.Diff(want, modules[0].Tree.Unread); diff != "" {
		t.Errorf("Unread (-want +got):\n%s", diff)
	}
}

// Only what is in a package says so.
func TestPackage(t *testing.T) {
	t.Parallel()
	source := newTableSource()
	source.answers[Call{Source: "/opt/modules//net"}] = tableAnswer{pkg: Package{
		FS: fileTree(map[string]string{"net/main.tf": "resource \"b_x\" \"y\" {}\n"}, nil), Dir: "net", ID: "1",
	}}
	tree := fileTree(map[string]string{"main.tf": "resource \"a_x\" \"y\" {}\nmodule \"m\" {\n  source = \"/opt/modules//net\"\n}\n"}, nil)
	modules, _, err := scanned(t.Context(), tree, source, Options{Dirs: []string{"."}})
	if err != nil || len(modules) != 1 || len(modules[0].Tree.Requirements) != 2 {
		t.Fatalf("scanned = %v, %v, want one module with two requirements", modules, err)
	}
	for i, want := range []problem.Place{{Path: "main.tf", Line: 1}, {Path: "net/main.tf", Package: "/opt/modules", Line: 1}} {
		if got := modules[0].Tree.Requirements[i].Terms[0].Place; got != want {
			t.Errorf("the term is at %+v, want %+v", got, want)
		}
	}
}

func TestModule_All(t *testing.T) {
	t.Parallel()
	tree := fileTree(map[string]string{
		"main.tf":      "resource \"a_x\" \"y\" {}\nmodule \"m\" {\n  source = \"./m\"\n}\n",
		"m/main.tf":    "resource \"b_x\" \"y\" {}\nmodule \"far\" {\n  source = \"a/b/c\"\n}\nprovider \"B\" {}\n",
		"t/main.tf":    "resource \"b_x\" \"y\" {}\nresource \"c_x\" \"y\" {}\nmodule \"far\" {\n  source = \"a/b/d\"\n}\nprovider \"C\" {}\n",
		"x.tftest.hcl": "run \"r\" {\n  module {\n    source = \"./t\"\n  }\n}\nrun \"again\" {\n  module {\n    source = \"./m\"\n  }\n}\nprovider \"X\" {}\n",
	}, nil)
	modules, _, err := scanned(t.Context(), tree, nil, Options{Dirs: []string{"."}})
	if err != nil || len(modules) != 1 {
		t.Fatalf("scanned = %v, %v, want one module", modules, err)
	}
	all, rest := modules[0].All(), modules[0]
	if len(all.Requirements) != 3 || len(all.Unread) != 3 || len(all.Diagnostics) != 3 || len(rest.Tests.Diagnostics) != 2 {
		t.Fatalf("scanned = %+v, want 3 requirements, 3 unread calls, 3 diagnostics, 2 of tests", all)
	}
	var terms []string
	for _, r := range rest.Tree.Requirements {
		for _, term := range r.Terms {
			terms = append(terms, r.Addr.Type+" "+term.Place.String())
		}
	}
	if diff := cmp.Diff([]string{"a main.tf:1", "b m/main.tf:1"}, terms); diff != "" {
		t.Errorf("terms without tests (-want +got):\n%s", diff)
	}
	if len(rest.Tree.Unread) != 1 || rest.Tree.Unread[0].Module != "m.far" {
		t.Errorf("Unread without tests = %+v, want m.far", rest.Tree.Unread)
	}
	if len(rest.Tree.Diagnostics) != 1 || rest.Tree.Diagnostics[0].Place.Path != "m/main.tf" {
		t.Errorf("Diagnostics without tests = %v, want the one in m/main.tf", rest.Tree.Diagnostics)
	}
}
