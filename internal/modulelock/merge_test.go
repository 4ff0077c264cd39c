package modulelock

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// FuzzMerge merges small files, one letter an entry and the next one its commit. What Merge
// writes is read as what it decided. The other way round the same entries are disputed, and
// the others are the same. Two equal sides are their merge.
func FuzzMerge(f *testing.F) {
	f.Add("axbxcxdx", "axbycxex", "axbzcydx")
	f.Add("", "axbx", "aybxcx")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		b, o, r := lettered(base), lettered(ours), lettered(theirs)
		content, disputed, errors := Merge(b, o, r, Name)
		if len(errors) > 0 {
			t.Fatalf("Merge: %s", listing(errors))
		}
		read, errors := Read(content, Name, nil)
		if read == nil || (read.Conflict > 0) != disputed || (len(read.Disputed) > 0) != disputed {
			t.Fatalf("disputed: %v, and Read finds %+v, %s\n%s", disputed, read, listing(errors), content)
		}
		united := unite(mustParse(t, b), mustParse(t, o), mustParse(t, r))
		if diff := cmp.Diff(united.Entries, read.Entries) + cmp.Diff(united.Disputed, read.Disputed, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("united, and merged and read (-united +read):\n%s", diff)
		}
		other := unite(mustParse(t, b), mustParse(t, r), mustParse(t, o))
		if a, b := slices.SortedFunc(maps.Keys(united.Disputed), Key.Compare), slices.SortedFunc(maps.Keys(other.Disputed), Key.Compare); !slices.Equal(a, b) {
			t.Errorf("disputed one way: %v, the other way: %v", a, b)
		}
		for i, e := range united.Entries {
			if united.Disputed[e.Key] == nil && !e.Equal(other.Entries[i]) {
				t.Errorf("one way: %+v, the other way: %+v", e, other.Entries[i])
			}
		}
		if same, disputed, _ := Merge(b, o, o, Name); disputed || string(same) != string(mustParse(t, o).Print()) {
			t.Errorf("merged with itself:\n%s", same)
		}
	})
}

// lettered is the file of a text of FuzzMerge.
func lettered(text string) []byte {
	entries := map[Key]Entry{}
	for pair := range slices.Chunk([]byte(text), 2) {
		k := Key{"git::https://example.com/r.git", fmt.Sprintf("v%d", pair[0])}
		entries[k] = Entry{Key: k, Hash: fmt.Sprintf("git:%040x", pair[len(pair)-1])}
	}
	return (&File{Entries: slices.Collect(maps.Values(entries))}).Print()
}
