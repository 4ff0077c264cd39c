package provider

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func constraints(t testing.TB, s string) Constraints {
	t.Helper()
	c, err := ParseConstraints(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestConstraintsAreThoseOfTheTools runs what Terraform 1.11.4 and OpenTofu
// 1.12.6 made of constraint strings: the canonical form that they recorded and
// the version that they selected from VERSIONS.txt, or an error.
func TestConstraintsAreThoseOfTheTools(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/VERSIONS.txt")
	if err != nil {
		t.Fatal(err)
	}
	var versions []Version
	for _, s := range strings.Fields(string(text)) {
		versions = append(versions, version(t, s))
	}
	files, err := filepath.Glob("testdata/constraints.*.json")
	if err != nil || len(files) != 2 {
		t.Fatalf("tables: %v (error: %v), want two", files, err)
	}
	for _, file := range files {
		for _, row := range readTable(t, file) {
			t.Run(filepath.Base(file)+"/"+row.Input, func(t *testing.T) {
				t.Parallel()
				row.check(t, versions)
			})
		}
	}
}

type tableRow struct {
	Input       string
	Constraints string  // canonical form
	Selected    *string // nil if no version is allowed
	Error       string
}

func readTable(t *testing.T, file string) []tableRow {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []tableRow
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 87 {
		t.Fatalf("%s has %d rows, want 87", file, len(rows))
	}
	return rows
}

func (row tableRow) check(t *testing.T, versions []Version) {
	t.Helper()
	c, err := ParseConstraints(row.Input)
	got := newestAllowed(c, versions)
	switch {
	case strings.Contains(row.Error, "0.0.0 is not a valid provider version"):
		// OpenTofu's installer says so; the constraints are read all the same.
		if err != nil || got != nil {
			t.Errorf("%q selects %v, error %v; want nothing selected", row.Input, got, err)
		}
	case row.Error != "":
		if err == nil {
			t.Errorf("ParseConstraints(%q) = %q, want the error %s", row.Input, c, row.Error)
		}
	case err != nil:
		t.Errorf("ParseConstraints(%q): %v; want %q", row.Input, err, row.Constraints)
	default:
		if c.String() != row.Constraints {
			t.Errorf("ParseConstraints(%q) = %q, want %q", row.Input, c, row.Constraints)
		}
		if diff := cmp.Diff(row.Selected, got); diff != "" {
			t.Errorf("version selected by %q (-want +got):\n%s", row.Input, diff)
		}
	}
}

func newestAllowed(c Constraints, versions []Version) *string {
	allowed := slices.DeleteFunc(slices.Clone(versions), func(v Version) bool { return !c.Allows(v) })
	if len(allowed) == 0 {
		return nil
	}
	newest := slices.MaxFunc(allowed, Version.Compare).String()
	return &newest
}

func TestConstraintsMergeInOneOrder(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"< 1.2.0, <= 1.2.0, ~> 1.2, ~> 1.2.0, 1.2.0, >= 1.2.0, > 1.2.0, != 1.2.0": "> 1.2.0, >= 1.2.0, 1.2.0, ~> 1.2.0, ~> 1.2, <= 1.2.0, < 1.2.0, != 1.2.0",
		">= 1.0, >= 1.0.0, >= 1, >=01":                                            ">= 1.0.0",
		">= 10.0.0, >= 9.0.0":                                                     ">= 9.0.0, >= 10.0.0",
		">= 1.0.0-beta+m1, >= 1.0.0-beta":                                         ">= 1.0.0-beta, >= 1.0.0-beta+m1",
		"~> 1.0, ~> 1.0.0, ~> 1":                                                  "~> 1.0.0, ~> 1.0",
		"~> 1.0+m, ~> 1-rc.1+m":                                                   "~> 1.0-rc.1+m, ~> 1.0+m",
		"~> 0, ~> 10, ~> 10.0.0":                                                  "~> 0.0, ~> 10.0.0, ~> 10.0",
		" \t>= 1.0\n,\n< 2.0 \r\n":                                                ">= 1.0.0, < 2.0.0",
	} {
		c, err := ParseConstraints(input)
		if err != nil || c.String() != want {
			t.Errorf("ParseConstraints(%q) = %q, %v; want %q", input, c, err, want)
		}
	}
}

func TestParseConstraintsRefuses(t *testing.T) {
	t.Parallel()
	for input, reason := range map[string]string{
		"":             "a constraint is empty",
		">= 1.0,":      "a constraint is empty",
		">= 1.0,, < 2": "a constraint is empty",
		"latest":       `"latest" is not an operator (=, !=, >, >=, <, <= or ~>) and a version`,
		">= v1":        `">= v1" is not an operator (=, !=, >, >=, <, <= or ~>) and a version`,
		">=\u00a01.0":  `">=\u00a01.0" is not an operator (=, !=, >, >=, <, <= or ~>) and a version`,
		"~> 1.x":       `invalid version "1.x": it must be like 1.2.3 or 1.2.3-beta.1`,
		"1.0 2.0":      `invalid version "1.0 2.0": it must be like 1.2.3 or 1.2.3-beta.1`,
	} {
		_, err := ParseConstraints(input)
		if err == nil || !strings.HasSuffix(err.Error(), ": "+reason) {
			t.Errorf("ParseConstraints(%q): error %v, want it to end in %s", input, err, reason)
		}
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, constraints string
		allowed, refused  string // versions separated by spaces
	}{
		{"tilde_major_stops_at_next_major", "~> 1", "1.0.0 1.9.9", "0.9.9 2.0.0 2.0.0-rc1 3.0.0"},
		{"tilde_minor_stops_at_next_major", "~> 1.2", "1.2.0 1.10.0", "1.1.9 2.0.0"},
		{"tilde_patch_stops_at_next_minor", "~> 1.2.3", "1.2.3 1.2.10", "1.2.2 1.3.0 2.0.0"},
		{"tilde_prerelease_begins_there_but_admits_none", "~> 1.2.3-beta.1", "1.2.3 1.2.4", "1.2.3-beta.1 1.2.3-beta.2 1.3.0"},
		{"tilde_admits_the_next_prerelease_that_is_named", "~> 1.0, 2.0.0-rc1", "2.0.0-rc1", "1.0.0 2.0.0"},
		{"ranges_admit_no_prerelease", ">= 1.0.0-beta, <= 2.0.0-rc1", "1.0.0 1.9.0", "1.0.0-beta 1.0.0-rc 2.0.0-rc1 2.0.0"},
		{"exclusions_admit_no_prerelease", "!= 1.0.0", "0.9.0 1.0.1 1.0.0+b", "1.0.0 1.1.0-rc1"},
		{"exact_terms_admit_their_prerelease", "= 2.0.0-rc1, >= 1.0", "2.0.0-rc1", "1.0.0 2.0.0"},
		{"other_terms_still_hold_for_it", "= 2.0.0-rc1, < 2.0.0-alpha", "", "2.0.0-rc1 1.0.0"},
		{"exact_terms_compare_metadata", "1.0.0+a", "1.0.0+a", "1.0.0 1.0.0+b"},
		{"exact_terms_without_metadata", "1.0.0", "1.0.0", "1.0.0+a"},
		{"ranges_ignore_metadata", "> 1.0.0+a, <= 1.1.0+a", "1.1.0+z 1.1.0", "1.0.0+z 1.0.0"},
		{"zero_is_never_allowed", ">= 0, 0.0.0", "", "0.0.0 0.0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := constraints(t, tt.constraints)
			for _, s := range strings.Fields(tt.allowed) {
				if !c.Allows(version(t, s)) {
					t.Errorf("%q does not allow %s", c, s)
				}
			}
			for _, s := range strings.Fields(tt.refused) {
				if c.Allows(version(t, s)) {
					t.Errorf("%q allows %s", c, s)
				}
			}
		})
	}
}

func TestNoConstraintsAllowReleases(t *testing.T) {
	t.Parallel()
	var none Constraints
	for s, want := range map[string]bool{"0.0.1": true, "1.0.0+b": true, "1.0.0-rc1": false, "0.0.0": false} {
		if got := none.Allows(version(t, s)); got != want {
			t.Errorf("no constraints allow %s: %v, want %v", s, got, want)
		}
	}
	if !none.Empty() || none.String() != "" || len(none.Terms()) != 0 || !none.Equal(NewConstraints()) {
		t.Errorf("the zero value is not the empty set: %q", none)
	}
}

func TestNewConstraintsSortsInItsOwnSlice(t *testing.T) {
	t.Parallel()
	terms := slices.Concat(constraints(t, "< 2.0").Terms(), constraints(t, ">= 1.0").Terms(), constraints(t, "<2").Terms())
	c := NewConstraints(terms...)
	if text, err := c.MarshalText(); err != nil || string(text) != ">= 1.0.0, < 2.0.0" {
		t.Errorf("MarshalText = %q, %v; want >= 1.0.0, < 2.0.0", text, err)
	}
	for _, text := range []string{"~> 5.0", "~> 5.0.0", "1.0.0", "!= 1.0.0-rc1"} {
		if again, err := constraints(t, text).Terms()[0].MarshalText(); err != nil || string(again) != text {
			t.Errorf("the term %q is written as %q, %v", text, again, err)
		}
	}
	if text, err := (Term{}).MarshalText(); err != nil || len(text) > 0 {
		t.Errorf("no term is written as %q, %v", text, err)
	}
	if terms[0].Op != Less {
		t.Errorf("NewConstraints changed its argument to %v", terms)
	}
	if !c.Equal(constraints(t, ">=1,<2")) || c.Equal(constraints(t, ">=1")) || c.Empty() {
		t.Errorf("Equal or Empty is wrong about %q", c)
	}
}

// FuzzConstraints holds that the canonical form means what was written.
func FuzzConstraints(f *testing.F) {
	f.Add("~> 1.2, != 1.10.0-rc.1+m", "1.10.0")
	f.Add("= 2.0.0-rc1, < 2", "2.0.0-rc1")
	f.Add("~> 9223372036854775807", "1.0.0-")
	f.Add(">=01.0.0-, <=1+x", "01.0.0+x")
	f.Fuzz(func(t *testing.T, s, candidate string) {
		first, err := ParseConstraints(s)
		if err != nil {
			return
		}
		second, err := ParseConstraints(first.String())
		if err != nil || !second.Equal(first) || second.String() != first.String() {
			t.Fatalf("ParseConstraints(%q) prints %q, which is read as %q, %v", s, first, second, err)
		}
		versions := []Version{{Major: 1}}
		if v, err := ParseVersion(candidate); err == nil {
			versions = append(versions, v)
		}
		for _, term := range first.Terms() {
			versions = append(versions, term.Bound, term.Bound.Core())
		}
		for _, v := range versions {
			if first.Allows(v) != second.Allows(v) {
				t.Errorf("%q allows %s: %v; its text %q: %v", s, v, first.Allows(v), first, second.Allows(v))
			}
			if v.Prerelease != "" && first.Allows(v) && !slices.Contains(first.Terms(), Term{Op: Exactly, Bound: v}) {
				t.Errorf("%q allows the prerelease %s without naming it", s, v)
			}
		}
	})
}
