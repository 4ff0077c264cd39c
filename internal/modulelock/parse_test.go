package modulelock

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

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestParse runs testdata/parse. In each archive in.hcl is a file. out.hcl is the printed
// file, and warnings are its warnings, if any. Or errors says why it was refused.
func TestParse(t *testing.T) {
	t.Parallel()
	archives(t, "testdata/parse/*.txtar", func(in *txtar.Archive) []txtar.File {
		src := in.Files[0].Data
		f, diags := Parse(src, "modules.hcl")
		if f == nil {
			return append(in.Files[:1:1], txtar.File{Name: "errors", Data: listing(diags)})
		}
		files := append(in.Files[:1:1], txtar.File{Name: "out.hcl", Data: f.Print()})
		if len(f.Warnings) > 0 {
			files = append(files, txtar.File{Name: "warnings", Data: listing(f.Warnings)})
		}
		return files
	})
}

// archives holds that each archive has the files that are made of it.
func archives(t *testing.T, pattern string, made func(in *txtar.Archive) []txtar.File) {
	t.Helper()
	for _, file := range glob(t, pattern) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: ar.Comment, Files: made(ar)}
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(ar)), string(txtar.Format(got))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s (error: %v)", pattern, err)
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

// mustParse reads a source that has no errors.
func mustParse(t testing.TB, src []byte) *File {
	t.Helper()
	f, diags := Parse(src, Name)
	if f == nil {
		t.Fatalf("Parse: %s\nsource:\n%s", listing(diags), src)
	}
	return f
}

const commit = "git:51d462976d84fdea54b47d80dcabbf680badcdb8"

func TestParseFindsEntries(t *testing.T) {
	t.Parallel()
	f := mustParse(t, []byte(`module "git::https://example.com/b.git" "v2" { hash = "`+commit+`" }
module "git::https://example.com/b.git" "" { hash = "`+commit+`" }

module "registry.terraform.io/acme/net/aws" "1.0.0" {
  package = "git::https://example.com/n.git//modules"
  hash    = "`+commit+`"
}
`))
	for want, k := range map[int]Key{
		1: {"git::https://example.com/b.git", "v2"}, 2: {"git::https://example.com/b.git", ""}, 4: {"registry.terraform.io/acme/net/aws", "1.0.0"},
	} {
		if e, ok := f.Entry(k); !ok || e.Line() != want || e.Key != k || e.Hash != commit {
			t.Errorf("Entry(%v) = %+v, %v, want that of line %d", k, e, ok, want)
		}
	}
	if e, ok := f.Entry(Key{"registry.terraform.io/acme/net/aws", "1.0.1"}); ok {
		t.Errorf("Entry of a version that is not locked = %v", e)
	}
	if want := "git::https://example.com/n.git//modules"; f.Entries[2].Package != want {
		t.Errorf("Package = %q, want %q", f.Entries[2].Package, want)
	}
}

func TestParseRefusesLargeFiles(t *testing.T) {
	t.Parallel()
	src := bytes.Repeat([]byte("#\n"), lockfile.MaxSize/2+1)
	f, diags := Parse(src, Name)
	if f != nil || len(diags) != 1 || diags[0].Code != problem.CodeUnreadable {
		t.Errorf("Parse of %d bytes = %v, %s, want one error", len(src), f, listing(diags))
	}
}

func TestParseRefusesLongLabels(t *testing.T) {
	t.Parallel()
	_, diags := Parse(fmt.Appendf(nil, "\nmodule \"git::https://example.com/a\" %q {\n  hash = %q\n}\n", strings.Repeat("a", 8<<10), commit), Name)
	if len(diags) != 1 || diags[0].Place.Line != 2 || len(diags[0].Message) > 100 {
		t.Errorf("Parse finds %s, want one short error in line 2", listing(diags))
	}
}

func TestParseAcceptsWindowsText(t *testing.T) {
	t.Parallel()
	want := &File{Entries: []Entry{{Key: Key{"https://example.com/a.zip", ""}, Hash: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}}}
	src := bytes.ReplaceAll(append([]byte("\ufeff"), want.Print()...), []byte("\n"), []byte("\r\n"))
	f := mustParse(t, src)
	if diff := cmp.Diff(want.Entries, f.Entries); diff != "" || len(f.Warnings) > 0 || f.Entries[0].Line() != 5 {
		t.Errorf("Parse with CRLF, line %d, warnings %s (-want +got):\n%s", f.Entries[0].Line(), listing(f.Warnings), diff)
	}
}

// No message repeats what may be secret in a label or an argument.
func TestParseShowsNoSecrets(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"https://user:s3cret@example.com/a.zip", "https://example.com/a.zip?token=s3cret&checksum=x", "git::https://s3cret@example.com/a",
		"git::https://s3cret@example.com/a b", "::s3cret@example.com", "registry.terraform.io/acme/net/aws//x?s3cret",
	} {
		src := fmt.Sprintf("module %q \"\" {\n}\nmodule \"mods.example/a/b/c\" \"1.0.0\" {\n  package = %q\n  hash = %[1]q\n}\n", address, address)
		_, diags := Parse([]byte(src), Name)
		for _, d := range diags {
			if strings.Contains(d.Message+d.Hint+d.About, "s3cret") {
				t.Errorf("with %q: %+v", address, d)
			}
		}
		if len(diags) < 2 {
			t.Errorf("Parse with %q finds %s, want at least two errors", address, listing(diags))
		}
	}
}

// FuzzParse holds the package's promises for any input. It does not panic. Each error has a
// place. A printed file is read as the same entries, without a warning, and printed as the
// same bytes.
func FuzzParse(f *testing.F) {
	for _, file := range append(glob(f, "testdata/parse/*.txtar"), glob(f, "testdata/conflict/*.txtar")...) {
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
			if united, diags := Read(src, Name, nil); (united == nil) != (len(diags) > 0) {
				t.Fatalf("file %v with diagnostics %v", united, diags)
			}
			return
		}
		text := first.Print()
		second := mustParse(t, text)
		if diff := cmp.Diff(first.Entries, second.Entries); diff != "" || len(second.Warnings) > 0 {
			t.Errorf("read, printed, read with %s (-first +second):\n%s", listing(second.Warnings), diff)
		}
		if again := second.Print(); !bytes.Equal(again, text) {
			t.Errorf("printed again:\n%s\nprinted first:\n%s", again, text)
		}
		for i, e := range first.Entries {
			if i > 0 && first.Entries[i-1].Key.Compare(e.Key) >= 0 {
				t.Errorf("%v is not behind %v", e.Key, first.Entries[i-1].Key)
			}
			if at, ok := first.Entry(e.Key); !ok || at.Line() != e.Line() || !strings.Contains(e.Hash, ":") {
				t.Errorf("Entry(%v) = %+v, %v, want %+v", e.Key, at, ok, e)
			}
		}
	})
}

// ExampleParse reads and prints a file.
func ExampleParse() {
	f, _ := Parse([]byte(`module "registry.terraform.io/terraform-aws-modules/vpc/aws" "5.8.1" {
  hash    = "git:25322b6b6be69db6cca7f167d7b0e5327156a595"
  package = "git::https://github.com/terraform-aws-modules/terraform-aws-vpc"
}`), Name)
	os.Stdout.Write(f.Print())
	// Output:
	// # This file is maintained automatically by "relock lock" and "relock upgrade".
	// # Manual edits may be lost in future updates. init does not read it: run
	// # "relock get" before init.
	//
	// module "registry.terraform.io/terraform-aws-modules/vpc/aws" "5.8.1" {
	//   package = "git::https://github.com/terraform-aws-modules/terraform-aws-vpc"
	//   hash    = "git:25322b6b6be69db6cca7f167d7b0e5327156a595"
	// }
}
