package tfconfig

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

var update = flag.Bool("update", false, "rewrite what the archives in testdata expect")

// TestConfigurations runs each archive in testdata. An archive has files, links (NAME ->
// TARGET), and sections "want FLAGS DIRECTORY…" with the configurations of these
// directories. -tool NAME@VERSION selects the rules; -stack reads component files.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range ar.Files {
				flags, ok := strings.CutPrefix(f.Name, "want ")
				if !ok {
					continue
				}
				var out bytes.Buffer
				printConfigurations(t, &out, archiveTree(ar), strings.Fields(flags))
				if *update {
					ar.Files[i].Data = out.Bytes()
				} else if diff := gocmp.Diff(string(f.Data), out.String()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// archiveTree is the file tree of an archive.
func archiveTree(ar *txtar.Archive) fstest.MapFS {
	tree := fstest.MapFS{}
	for _, f := range ar.Files {
		name, target, isLink := strings.Cut(f.Name, " -> ")
		switch {
		case strings.HasPrefix(f.Name, "want "):
		case isLink:
			tree[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
		default:
			tree[name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
		}
	}
	return tree
}

func printConfigurations(t *testing.T, w io.Writer, files fs.FS, args []string) {
	t.Helper()
	tool := provider.Newest(provider.Terraform)
	flags := flag.NewFlagSet("want", flag.ContinueOnError)
	flags.Func("tool", "", func(s string) (err error) {
		name, version, versioned := strings.Cut(s, "@")
		tool = provider.Newest(provider.ToolName(name))
		if versioned {
			tool.Version, err = provider.ParseVersion(version)
		}
		return err
	})
	stack := flags.Bool("stack", false, "")
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	tree := Searched(files, nil, "")
	for _, name := range flags.Args() {
		at, err := tree.Dir(name)
		if err != nil {
			t.Fatal(err)
		}
		c := at.Configuration(tool)
		if *stack {
			c = at.Stack(tool)
		}
		fmt.Fprintf(w, "%s: %s\n", at, tool)
		printConfiguration(w, c)
	}
}

// printConfiguration prints the configuration. No variable has a value.
func printConfiguration(w io.Writer, c *Configuration) {
	for _, v := range c.Versions {
		fmt.Fprintf(w, "  takes %s: %q\n", v.Place, v.Text)
	}
	scope := staticeval.Scope{Functions: staticeval.Tools, Refer: func(_, _ string) (cty.Value, *staticeval.Unknown) {
		return cty.DynamicVal, &staticeval.Unknown{Reason: "no variable has a value"}
	}}
	evaluated, open, diags := c.Evaluated(scope.Value)
	tests := c.Tests()
	printNeeds(w, "", evaluated.Needs)
	printNeeds(w, " (test)", tests.Needs)
	for _, e := range open {
		fmt.Fprintf(w, "  open %s: %s is %s: %s\n", e.Place, e.Name, e.Expression, e.Why.Reason)
	}
	for _, call := range c.Calls {
		printCall(w, "module", call)
	}
	for _, run := range tests.Runs {
		printCall(w, "run", run)
	}
	printProblems(w, slices.Concat(c.Diagnostics, diags, tests.Diags))
	for _, d := range c.Doubts {
		fmt.Fprintf(w, "  doubt %s\n", d.Problem.String())
	}
}

// printNeeds prints the terms of each provider.
func printNeeds(w io.Writer, tested string, needs []Need) {
	by := map[provider.Addr][]Need{}
	for _, n := range needs {
		by[n.Addr] = append(by[n.Addr], n)
	}
	for _, addr := range slices.SortedFunc(maps.Keys(by), provider.Addr.Compare) {
		var terms []provider.Term
		for _, n := range by[addr] {
			if n.Term != (provider.Term{}) {
				terms = append(terms, n.Term)
			}
		}
		fmt.Fprintf(w, "  %s %q%s\n", addr, provider.NewConstraints(terms...), tested)
		for _, n := range slices.SortedStableFunc(slices.Values(by[addr]), func(a, b Need) int { return a.Place.Compare(b.Place) }) {
			text := "any version"
			if n.Term != (provider.Term{}) {
				text = n.Term.String()
			}
			if n.Source+n.Version != "" {
				text = fmt.Sprintf("(source %q, version %q) %s", n.Source, n.Version, text)
			}
			fmt.Fprintf(w, "    %s: %s\n", n.Place, text)
		}
	}
}

func printCall(w io.Writer, kind string, call ModuleCall) {
	names := map[SourceKind]string{badSource: "an error", LocalSource: "local", RemoteSource: "remote", EarlySource: "evaluated", UnknownSource: "unknown"}
	fmt.Fprintf(w, "  %s %s at %s is %s", kind, call.Name, call.Place, names[call.Module.Kind])
	if call.Module.Text != "" {
		fmt.Fprintf(w, ": %q", call.Module.Text)
	}
	if call.Module.Versioned {
		fmt.Fprintf(w, " version %q", call.Module.Version)
	}
	if reason := call.Module.Why.Reason; reason != "" && call.Module.Kind != LocalSource {
		fmt.Fprintf(w, ": %s", reason)
	}
	fmt.Fprintln(w)
}

func printProblems(w io.Writer, diags []problem.Problem) {
	slices.SortStableFunc(diags, func(a, b problem.Problem) int {
		return cmp.Or(a.Place.Compare(b.Place), cmp.Compare(a.Message, b.Message))
	})
	for _, d := range slices.Compact(diags) {
		fmt.Fprintf(w, "  error [%s] %s\n", d.Code, d.String())
		if d.Hint != "" {
			fmt.Fprintf(w, "    hint: %s\n", d.Hint)
		}
	}
}
