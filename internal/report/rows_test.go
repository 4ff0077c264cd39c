package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRowsHaveTheKeysOfEarlierReleases reads every file of testdata/format1 as
// the rows of its verb, and writes them again. No key is unknown, lost or moved.
func TestRowsHaveTheKeysOfEarlierReleases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "format1", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports: %v", err)
	}
	for _, name := range files {
		written, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		verb, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".json"), "-")
		if verb == "settings" {
			sameAgain[settingsJSON](t, name, string(written))
			continue
		}
		const first, last = "\n  \"modules\": [\n", "\n  ],\n"
		before, rest, _ := strings.Cut(string(written), first)
		modules, behind, found := strings.Cut(rest, last)
		if !found { // a diff has none
			sameAgain[document](t, name, string(written))
			continue
		}
		sameAgain[document](t, name, before+strings.TrimSuffix(first, "\n")+strings.TrimPrefix(last, "\n  ")+behind)
		modules = "[\n" + strings.ReplaceAll("\n"+modules, "\n  ", "\n")[1:] + "\n]\n"
		switch verb {
		case "scan":
			sameAgain[[]scanJSON](t, name, modules)
		case "verify":
			sameAgain[[]verifiedJSON](t, name, modules)
		default:
			sameAgain[[]planJSON](t, name, modules)
		}
	}
}

// sameAgain reads a text as a value of a type, and compares the written value
// with the text.
func sameAgain[T any](t *testing.T, name, text string) {
	t.Helper()
	var value T
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&value); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	var again strings.Builder
	if err := Encode(&again, value, "  "); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, again.String()); diff != "" {
		t.Errorf("%s: read as %T and written again (-first +then):\n%s", name, value, diff)
	}
}
