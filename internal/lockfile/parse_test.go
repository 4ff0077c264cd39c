package lockfile

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestParse runs testdata/parse. In each archive in.hcl is a lock file. out.hcl is the
// printed file, and warnings are its warnings, if any. Or errors says why it was refused.
func TestParse(t *testing.T) {
	t.Parallel()
	for name, file := range glob(t, "testdata/parse/*.txtar") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: ar.Comment, Files: append(ar.Files[:1:1], parsed(ar.Files[0].Data)...)}
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(ar)), string(txtar.Format(got))); diff != "" {
				t.Errorf("Parse(%s) (-want +got):\n%s", file, diff)
			}
		})
	}
}

// parsed are the results of Parse as files of an archive.
func parsed(src []byte) []txtar.File {
	f, diags := Parse(src, "lock.hcl")
	if f == nil {
		return []txtar.File{{Name: "errors", Data: listing(diags)}}
	}
	files := []txtar.File{{Name: "out.hcl", Data: f.Print()}}
	if len(f.Warnings) > 0 {
		files = append(files, txtar.File{Name: "warnings", Data: listing(f.Warnings)})
	}
	return files
}

func listing(diags []problem.Problem) []byte {
	var b bytes.Buffer
	for _, d := range diags {
		fmt.Fprintf(&b, "%s: %s: %s\n", d.Place.String(), d.Code, d.Message)
		if d.Hint != "" {
			fmt.Fprintf(&b, "  %s\n", d.Hint)
		}
	}
	return b.Bytes()
}

// glob returns the matching files, by name without directory and suffix.
func glob(t testing.TB, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s (error: %v)", pattern, err)
	}
	names := map[string]string{}
	for _, f := range files {
		names[strings.TrimSuffix(filepath.Base(f), filepath.Ext(f))] = f
	}
	return names
}

// mustParse reads a source that has no errors.
func mustParse(t testing.TB, src []byte) *File {
	t.Helper()
	f, diags := Parse(src, Name)
	if f == nil {
		t.Fatalf("Parse: %s\nsource:\n%s", listing(diags), src)
	}
	return f
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestParseErrorsNameTheProvider(t *testing.T) {
	t.Parallel()
	_, diags := Parse([]byte("\n\nprovider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3\"\n}\n"), "env/"+Name)
	want := []problem.Problem{{
		Code:    problem.CodeInvalidLock,
		Message: `invalid provider version number: the version of registry.terraform.io/hashicorp/null must be written as "3.0.0"`,
		Place:   problem.Place{Path: "env/" + Name, Line: 4},
		Subject: problem.Subject{Addr: addr(t, "registry.terraform.io/hashicorp/null")},
	}}
	if diff := cmp.Diff(want, diags); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
}

func TestParseAcceptsWindowsText(t *testing.T) {
	t.Parallel()
	src := read(t, "testdata/canonical/terraform.hcl")
	crlf := bytes.ReplaceAll(src, []byte("\n"), []byte("\r\n"))
	bom := append([]byte("\ufeff"), src...)
	both := append([]byte("\ufeff"), crlf...)
	for name, text := range map[string][]byte{"CRLF": crlf, "BOM": bom, "BOM and CRLF": both} {
		f := mustParse(t, text)
		if f.Canonical() {
			t.Errorf("%s: Canonical() = true, want false", name)
		}
		if diff := cmp.Diff(string(src), string(f.Print())); diff != "" {
			t.Errorf("%s: Print (-want +got):\n%s", name, diff)
		}
		if l := f.Locks[0]; l.Line() != 4 || l.HashLine(l.Hashes[1]) != 9 {
			t.Errorf("%s: block in line %d and second hash in line %d, want 4 and 9", name, l.Line(), l.HashLine(l.Hashes[1]))
		}
	}
}

// TestParseRefusesDeepNesting would crash the test binary if the parser exhausted the
// stack.
func TestParseRefusesDeepNesting(t *testing.T) {
	t.Parallel()
	const depth = 1 << 17
	for name, expr := range map[string]string{
		"lists":        strings.Repeat("[", depth),
		"unclosed":     strings.Repeat("]", depth) + strings.Repeat("[", depth),
		"parentheses":  strings.Repeat("(", depth) + strings.Repeat(")", depth),
		"objects":      strings.Repeat("{a=", depth),
		"negations":    strings.Repeat("!", depth) + "true",
		"sums":         "1" + strings.Repeat("+1", depth),
		"conditionals": "1" + strings.Repeat("?1:1", depth),
		"templates":    strings.Repeat(`"${`, depth),
		"directives":   `"` + strings.Repeat("%{if true}", depth) + `"`,
	} {
		src := "provider \"registry.terraform.io/hashicorp/null\" {\n  version = " + expr + "\n}\n"
		_, diags := Parse([]byte(src), Name)
		if len(diags) != 1 || diags[0].Place.Line != 2 {
			t.Errorf("Parse of %s nested %d times: %d diagnostics, the first: %+v; want one error in line 2",
				name, depth, len(diags), append(diags, problem.Problem{})[0])
		}
	}
}

func TestParseDoesNotRefuseManyEntries(t *testing.T) {
	t.Parallel()
	var locks []Lock
	for i := range 2000 {
		locks = append(locks, New(addr(t, fmt.Sprintf("registry.terraform.io/acme/p%d", i)), version(t, "1.0.0"),
			constraints(t, ">= 1.0.0"), []provider.Hash{"h1:AAAA", "zh:00"}))
	}
	if f := mustParse(t, printed(provider.Terraform, locks)); len(f.Locks) != len(locks) {
		t.Errorf("Parse found %d locks, want %d", len(f.Locks), len(locks))
	}
}

// FuzzParse holds the package's promises for any input. It does not panic. It reads a
// printed file as the same locks, and prints the same bytes again. The same holds if every
// entry keeps its bytes.
func FuzzParse(f *testing.F) {
	for _, file := range glob(f, "testdata/canonical/*.hcl") {
		f.Add(read(f, file))
	}
	for _, file := range glob(f, "testdata/parse/*.txtar") {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(ar.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		first, diags := Parse(src, Name)
		if (first == nil) != (len(diags) > 0) {
			t.Fatalf("file %v with diagnostics %v", first, diags)
		}
		for _, d := range diags {
			if d.Place.Path != Name || d.Place.Line < 1 || d.Message == "" {
				t.Fatalf("diagnostic without place or text: %+v", d)
			}
		}
		if first == nil {
			return
		}
		text := first.Print()
		second := mustParse(t, text)
		if diff := cmp.Diff(first.Locks, second.Locks); diff != "" {
			t.Errorf("read, printed, read (-first +second):\n%s", diff)
		}
		if !second.Canonical() {
			t.Errorf("printed again:\n%s\nprinted first:\n%s", second.Print(), text)
		}
		var kept []Lock
		for _, l := range first.Locks {
			kept = append(kept, l.Kept())
		}
		if diff := cmp.Diff(first.Locks, mustParse(t, printed(first.Tool, kept)).Locks); diff != "" {
			t.Errorf("read, printed as kept, read (-first +second):\n%s", diff)
		}
	})
}
