package modulelock

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestRead runs testdata/conflict. In each archive in.hcl is a file with conflict markers,
// and stored.hcl may be the base that is stored, or base.hcl, ours.hcl and theirs.hcl are the
// files to merge. united is the result, and merged is what Merge writes. errors says why
// there is no result.
func TestRead(t *testing.T) {
	t.Parallel()
	archives(t, "testdata/conflict/*.txtar", func(ar *txtar.Archive) (files []txtar.File) {
		in := map[string][]byte{}
		for _, f := range ar.Files {
			if strings.HasSuffix(f.Name, ".hcl") {
				files = append(files, f)
				in[f.Name] = f.Data
			}
		}
		src := in["in.hcl"]
		if src == nil {
			merged, _, errors := Merge(in["base.hcl"], in["ours.hcl"], in["theirs.hcl"], "modules.hcl")
			if len(errors) > 0 {
				return append(files, txtar.File{Name: "errors", Data: listing(errors)})
			}
			files, src = append(files, txtar.File{Name: "merged", Data: merged}), merged
		}
		return append(files, united(src, in["stored.hcl"]))
	})
}

// united lists the result of Read.
func united(src, stored []byte) txtar.File {
	f, errors := Read(src, "modules.hcl", func() []byte { return stored })
	if f == nil {
		return txtar.File{Name: "errors", Data: listing(errors)}
	}
	var b strings.Builder
	if d, ok := f.Conflicted(); ok {
		fmt.Fprintf(&b, "%s: %s\n", d.Place.String(), d.Message)
	}
	for _, e := range f.Entries {
		fmt.Fprintf(&b, "%s %s (line %d)\n", e, e.Hash, e.Line())
		for _, d := range f.Disputed[e.Key] {
			fmt.Fprintf(&b, "  or %s (line %d)\n", d.Hash, d.Line())
		}
	}
	return txtar.File{Name: "united", Data: []byte(b.String())}
}
