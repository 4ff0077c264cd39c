package lockfile

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/provider"
)

// TestRead runs testdata/conflict. In each archive in.hcl is a lock file with conflict
// markers, or base.hcl, ours.hcl and theirs.hcl are the files to merge. united is the
// result, and marked is what Merge writes. errors says why there is no result.
func TestRead(t *testing.T) {
	t.Parallel()
	for name, file := range glob(t, "testdata/conflict/*.txtar") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: ar.Comment}
			in := map[string][]byte{}
			for _, f := range ar.Files {
				if strings.HasSuffix(f.Name, ".hcl") {
					got.Files = append(got.Files, f)
					in[f.Name] = f.Data
				}
			}
			src, ok := in["in.hcl"]
			if !ok {
				merged, _, errors := Merge(in["base.hcl"], in["ours.hcl"], in["theirs.hcl"], "lock.hcl")
				if len(errors) > 0 {
					got.Files = append(got.Files, txtar.File{Name: "errors", Data: listing(errors)})
				} else {
					got.Files = append(got.Files, txtar.File{Name: "marked", Data: merged})
				}
				src = merged
			}
			if bytes.Contains(ar.Comment, []byte("CRLF")) {
				src = bytes.ReplaceAll(src, []byte("\n"), []byte("\r\n"))
			}
			if src != nil {
				got.Files = append(got.Files, united(src))
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(ar)), string(txtar.Format(got))); diff != "" {
				t.Errorf("Read(%s) (-want +got):\n%s", file, diff)
			}
		})
	}
}

// united lists the result of Read.
func united(src []byte) txtar.File {
	f, errors := Read(src, "lock.hcl", nil)
	if f == nil {
		return txtar.File{Name: "errors", Data: listing(errors)}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "conflict in line %d, tool %q\n", f.Conflict, f.Tool)
	for _, l := range f.Locks {
		if f.Disputed[l.Addr] == nil {
			describe(&b, l.Addr.String(), l)
		}
	}
	for _, addr := range slices.SortedFunc(maps.Keys(f.Disputed), provider.Addr.Compare) {
		for _, l := range f.Disputed[addr] {
			describe(&b, "disputed "+addr.String(), l)
		}
	}
	return txtar.File{Name: "united", Data: []byte(b.String())}
}

func describe(b *strings.Builder, name string, l Lock) {
	fmt.Fprintf(b, "%s %s (%s) %s\n", name, l.Version, l.Constraints, l.Hashes)
}

// The result of Merge has the same disputes if the sides are swapped.
func TestMergeIsTheSameFromBothSides(t *testing.T) {
	t.Parallel()
	entry := func(version, hash string) []byte {
		return []byte("provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"" + version + "\"\n  hashes = [\"" + hash + "\"]\n}\n")
	}
	base, ours, theirs := entry("1.0.0", "h1:a"), entry("1.1.0", "h1:b"), entry("1.2.0", "h1:c")
	one, disputed, _ := Merge(base, ours, theirs, "lock.hcl")
	other, _, _ := Merge(base, theirs, ours, "lock.hcl")
	if a, b := united(one), united(other); !disputed || string(a.Data) != string(b.Data) {
		t.Errorf("merged one way:\n%s\nand the other way:\n%s", a.Data, b.Data)
	}
}

func TestMarkedEndsItsLines(t *testing.T) {
	t.Parallel()
	want := "<<<<<<< ours\na\n=======\n>>>>>>> theirs\n"
	if got := string(Marked([]byte("a"), nil)); got != want {
		t.Errorf("Marked(a, nothing) = %q, want %q", got, want)
	}
}
