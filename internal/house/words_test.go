package house

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// wordsFile has the words of the house, each with its meaning or its packages.
const wordsFile = "internal/house/testdata/words.txt"

// TestWordsHaveOneMeaning holds that a name that several packages of the house
// declare means one thing: wordsFile says which, or lists the packages in
// which it still means something else, and has neither without need. What is in no
// package's own block, such as methods, is read with its type, and may be short.
func TestWordsHaveOneMeaning(t *testing.T) {
	meanings, exceptions := map[string]string{}, map[string][]string{}
	for lines := bufio.NewScanner(bytes.NewReader(read(t, wordsFile))); lines.Scan(); {
		text := lines.Text()
		name, meaning, one := strings.Cut(text, ": ")
		several, packages, _ := strings.Cut(text, "? ")
		switch {
		case text == "" || strings.HasPrefix(text, "#"):
		case one && meanings[name] == "":
			meanings[name] = meaning
		case !one && exceptions[several] == nil && packages != "":
			exceptions[several] = strings.Fields(packages)
		default:
			t.Errorf("%s: %q is neither NAME: MEANING nor NAME? PACKAGES, or stands there twice", wordsFile, text)
		}
	}
	declared := wordsOfTheHouse(t)
	if len(declared) < 1000 {
		t.Fatalf("found %d names in the house, which cannot be all", len(declared))
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		packages := declared[name]
		switch {
		case len(packages) < 2, meanings[name] != "" && exceptions[name] == nil:
		case meanings[name] != "":
			t.Errorf("%s has a meaning for %s and says that it has several", wordsFile, name)
		case !slices.ContainsFunc(packages, func(p string) bool { return !slices.Contains(exceptions[name], p) }):
		default:
			t.Errorf("%s is declared by %s: give one of them another name, or write its one meaning into %s", name, strings.Join(packages, ", "), wordsFile)
		}
	}
	for _, stale := range staleWords(meanings, exceptions, declared) {
		t.Errorf("%s: %s", wordsFile, stale)
	}
}

// staleWords says what the list has that the house has no more: it is to become
// shorter with every name that gets one meaning.
func staleWords(meanings map[string]string, exceptions, declared map[string][]string) []string {
	var stale []string
	for _, name := range slices.Sorted(maps.Keys(meanings)) {
		if len(declared[name]) < 2 {
			stale = append(stale, fmt.Sprintf("%s needs no meaning: it is declared by %q and nowhere else", name, declared[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(exceptions)) {
		gone := slices.DeleteFunc(slices.Clone(exceptions[name]), func(p string) bool { return slices.Contains(declared[name], p) })
		switch {
		case len(exceptions[name])-len(gone) < 2:
			stale = append(stale, fmt.Sprintf("%s is no exception: it is declared by %q and nowhere else", name, declared[name]))
		case len(gone) > 0:
			stale = append(stale, fmt.Sprintf("%s is not declared by %s", name, strings.Join(gone, ", ")))
		}
	}
	return stale
}

func TestStaleWordsAreNamed(t *testing.T) {
	t.Parallel()
	declared := map[string][]string{"New": {"hash", "oci"}, "Load": {"scan"}, "Text": {"config", "report"}, "Read": {"file"}}
	meanings := map[string]string{"New": "makes", "Load": "reads", "Gone": "is no more"}
	exceptions := map[string][]string{"Text": {"config", "report", "run"}, "Read": {"file", "notes"}, "Lost": {"oci", "run"}}
	want := []string{
		`Gone needs no meaning: it is declared by [] and nowhere else`,
		`Load needs no meaning: it is declared by ["scan"] and nowhere else`,
		`Lost is no exception: it is declared by [] and nowhere else`,
		`Read is no exception: it is declared by ["file"] and nowhere else`,
		`Text is not declared by run`,
	}
	if got := staleWords(meanings, exceptions, declared); !slices.Equal(got, want) {
		t.Errorf("staleWords = %q, want %q", got, want)
	}
}

// wordsOfTheHouse are the names that packages of the house declare, except for
// tests, and by which packages.
func wordsOfTheHouse(t *testing.T) map[string][]string {
	t.Helper()
	words := map[string][]string{}
	for _, s := range rooms(t) {
		if _, ok := levels[s.name]; !ok {
			continue
		}
		for _, f := range s.files {
			for _, word := range declaredIn(f) {
				if word != "_" && word != "init" && !slices.Contains(words[word], s.name) {
					words[word] = append(words[word], s.name)
				}
			}
		}
	}
	for _, packages := range words {
		slices.Sort(packages)
	}
	return words
}

// declaredIn are the package-level names of a file.
func declaredIn(f *ast.File) []string {
	var names []string
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}
