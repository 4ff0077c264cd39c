package scan

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/versionfile"
)

var update = flag.Bool("update", false, "rewrite what the archives in testdata expect")

// TestModules runs each archive in testdata: files, links (NAME -> TARGET), and
// sections named "want FLAGS" with what Find and Load return under these flags.
func TestModules(t *testing.T) {
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
			tree := archiveTree(ar)
			for i, f := range ar.Files {
				flags, ok := strings.CutPrefix(f.Name, "want")
				if !ok {
					continue
				}
				opts := optionsOf(t, strings.Fields(flags))
				source := archiveSource(t, ar)
				var from Source
				if source != nil {
					from = source
				}
				modules, diags, err := scanned(t.Context(), tree, from, opts)
				var out bytes.Buffer
				printModules(&out, modules, diags, err)
				if source != nil {
					source.checkOnce(t)
				}
				if *update {
					ar.Files[i].Data = out.Bytes()
				} else if diff := cmp.Diff(string(f.Data), out.String()); diff != "" {
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

func archiveTree(ar *txtar.Archive) fstest.MapFS {
	files, links := map[string]string{}, map[string]string{}
	for _, f := range ar.Files {
		name, target, isLink := strings.Cut(f.Name, " -> ")
		switch {
		case strings.HasPrefix(f.Name, "want"), f.Name == "packages", strings.Contains(f.Name, "::"):
		case isLink:
			links[name] = target
		default:
			files[name] = string(f.Data)
		}
	}
	return fileTree(files, links)
}

func optionsOf(t *testing.T, args []string) Options {
	t.Helper()
	var opts Options
	flags := flag.NewFlagSet("want", flag.ContinueOnError)
	flags.Func("tool", "", func(s string) (err error) {
		name, version, _ := strings.Cut(s, "@")
		opts.Tool = provider.ToolName(name)
		if version == "" {
			return nil
		}
		opts.ToolVersion, err = provider.ParseVersion(version)
		return err
	})
	flags.BoolVar(&opts.Create, "create", false, "")
	flags.BoolVar(&opts.Unlocked, "unlocked", false, "")
	flags.BoolVar(&opts.PassedOver, "passed-over", false, "")
	flags.BoolVar(&opts.Orphans, "orphans", false, "")
	flags.StringVar(&opts.Workspace, "workspace", "", "")
	flags.StringVar(&opts.Path, "path", "", "")
	values := func(name string, to *map[string]string) {
		flags.Func(name, "", func(s string) error {
			if *to == nil {
				*to = map[string]string{}
			}
			key, value, _ := strings.Cut(s, "=")
			(*to)[key] = value
			return nil
		})
	}
	values("var", &opts.Variables)
	values("env", &opts.Environment)
	list := func(name string, to *[]string) {
		flags.Func(name, "", func(s string) error { *to = append(*to, s); return nil })
	}
	list("include", &opts.Include)
	list("exclude", &opts.Exclude)
	var ignored, copied []string
	list("ignored", &ignored)
	list("copied", &copied)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	opts.Dirs = flags.Args()
	opts.CopiedLock = func(name string) bool { return slices.Contains(copied, name) }
	opts.IgnoredDir = func(dir string) string {
		if globs.InAny(ignored, dir) {
			return ".gitignore:1"
		}
		return ""
	}
	return opts
}

func printModules(w io.Writer, modules []RootModule, diags []problem.Problem, err error) {
	for _, m := range modules {
		assumed := m.Assumed && m.Tool.Version != provider.Newest(m.Tool.Name).Version
		fmt.Fprintf(w, "%s: %s%s%s%s\n", m.Dir, m.Tool, map[bool]string{true: " assumed"}[assumed], map[bool]string{true: ", locked"}[m.Lock != nil], kindText(m))
		if m.Pin != nil && m.Pin.Kind != versionfile.Exact {
			fmt.Fprintf(w, "  pinned %s by %q at %s\n", m.Pin.Kind, m.Pin.Text, m.Pin.Place)
		}
		all := m.All()
		for _, r := range all.Requirements {
			fmt.Fprintf(w, "  %s %q\n", r.Addr, r.Constraints())
			for _, term := range r.Terms {
				tested := slices.ContainsFunc(m.Tests.Requirements, func(q Requirement) bool { return q.Addr == r.Addr && slices.Contains(q.Terms, term) })
				printTerm(w, term, tested)
			}
		}
		for _, u := range all.Unread {
			if u.Entry != nil {
				fmt.Fprintf(w, "  open %s: %s of module.%s is %s: %s\n", u.Place, u.Provider, u.Module, u.Expression, u.Reason)
				continue
			}
			fmt.Fprintf(w, "  unread%s %s: module.%s %q: %s\n", map[bool]string{true: " in tests"}[slices.Contains(m.Tests.Unread, u)], u.Place, u.Module, u.Source, u.Reason)
			if u.Hint != "" {
				fmt.Fprintf(w, "    hint: %s\n", u.Hint)
			}
		}
		for _, f := range all.Fetched {
			fmt.Fprintf(w, "  fetched%s module.%s %q %s%s\n", map[bool]string{true: " in tests"}[slices.Contains(m.Tests.Fetched, f)], f.Module, f.Source, f.Version+f.Ref, map[bool]string{true: " (stored)"}[f.ID == ""])
		}
		printDiagnostics(w, "  ", all.Diagnostics)
		printDiagnostics(w, "  ", all.Notes)
	}
	printDiagnostics(w, "", diags)
	if err != nil {
		fmt.Fprintf(w, "failed: %v\n", err)
	}
}

func kindText(m RootModule) string {
	text := ""
	if m.Kind != Ordinary {
		text += ", " + string(m.Kind)
	}
	if m.Standalone() {
		text += ", standalone"
	}
	return text
}

func printTerm(w io.Writer, t Term, tested bool) {
	text := "any version"
	if t.Constraint != (provider.Term{}) {
		text = t.Constraint.String()
	}
	fmt.Fprintf(w, "    %s", t.Place)
	if t.Module != "" {
		fmt.Fprintf(w, " module.%s", t.Module)
	}
	if tested {
		fmt.Fprint(w, " (test)")
	}
	if t.Source+t.Expression != "" {
		fmt.Fprintf(w, " (source %q, version %q)", t.Source, t.Expression)
	}
	fmt.Fprintf(w, ": %s\n", text)
}

func printDiagnostics(w io.Writer, indent string, diags []problem.Problem) {
	for _, d := range diags {
		severity := map[problem.Severity]string{problem.SeverityError: "error", problem.SeverityWarning: "warning", problem.SeverityNote: "note"}[d.Severity]
		fmt.Fprintf(w, "%s%s [%s] %s\n", indent, severity, d.Code, d.String())
		if d.Hint != "" {
			fmt.Fprintf(w, "%s  hint: %s\n", indent, d.Hint)
		}
	}
}

func TestModulesSayWhichDirectoriesTheyAreMadeOf(t *testing.T) {
	t.Parallel()
	tree := fileTree(map[string]string{
		"live/main.tf":               `module "net" { source = "../modules/net" }`,
		"live/.terraform.lock.hcl":   "",
		"modules/net/main.tf":        `module "names" { source = "./names" }`,
		"modules/net/names/main.tf":  "",
		"modules/unused/main.tf":     "",
		"other/main.tf":              "",
		"other/.terraform.lock.hcl":  "",
		"linked/.terraform.lock.hcl": "",
		"linked/main.tf":             `module "net" { source = "./net" }`,
	}, map[string]string{"linked/net": "../modules/net/names"})
	modules, _, err := scanned(t.Context(), tree, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, m := range modules {
		got[m.Dir] = m.All().Dirs
	}
	want := map[string][]string{
		"live":   {"live", "modules/net", "modules/net/names"},
		"linked": {"linked", "modules/net/names"},
		"other":  {"other"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Dirs (-want +got):\n%s", diff)
	}
}

// scanned finds and loads all at once.
func scanned(ctx context.Context, fsys fs.FS, source Source, opts Options) ([]RootModule, []problem.Problem, error) {
	roots, diags, err := Find(ctx, fsys, opts)
	if err != nil {
		return nil, nil, err
	}
	modules := Load(ctx, roots, source, opts)
	return modules, sorted(slices.Concat(diags, Newer(modules))), nil
}
