package house

import (
	"encoding/json"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sourced are the packages in which every rule of the tools names its source.
var sourced = []string{
	"cliconfig", "content", "coverage", "hash", "hclfile", "lockfile", "module", "moduleaddr", "provider", "registry", "scan", "staticeval", "terragrunt", "units",
	"tfconfig", "upgrade", "verify",
}

// ofTheTools is how a paragraph speaks of what the tools do: "the tools" or a name
// of theirs before one of these verbs, or a comparison such as "as the tools do".
var ofTheTools = regexp.MustCompile(
	`\b([Tt]he tools?|[Bb]oth tools|Terraform|OpenTofu|Terragrunt|go-getter)( itself| alone| also| then| never)? ` +
		`(do|does|did|would|could|cannot|can|must|accepts?|adds?|asks?|checks?|compares?|completes?|counts?|evaluates?|fetch|fetches|finds?|follows?|forgives?|gets?|goes|ignores?|` +
		`installs?|joins?|keeps?|knows?|leaves?|lets?|locks?|looks?|makes?|names?|notes?|orders?|parses?|prints?|puts?|reads?|records?|refuses?|selects?|sends?|skips?|sorts?|starts?|stops?|` +
		`takes?|treats?|tries|try|unpacks?|uses?|verify|verifies|wants?|writes?)\b` +
		`|\b(as|for|like|than|by) (the tools|both tools)\b|\b[Aa]s (Terraform|OpenTofu|Terragrunt) `)

// source is where a rule comes from: recorded cases, files of a tool or of one of its
// libraries at a release, or a page that describes a protocol or a language.
var source = regexp.MustCompile(`\[(cases?|terraform|opentofu|terragrunt|go-getter|hcl|go-version|go-versions|registry-address|svchost|protocol:|docs:) ([^\]]+)\]`)

// fileAt is how files are cited: the release's first two numbers and paths.
var fileAt = regexp.MustCompile(`^\d+\.\d+( [\w./-]+(,|$))+$`)

// TestRulesOfToolsNameTheirSource holds that each paragraph of a comment that
// speaks of what the tools do names a source in brackets, and that cited cases are
// recorded here.
func TestRulesOfToolsNameTheirSource(t *testing.T) {
	t.Parallel()
	cases := recordedCases(t)
	cited := 0
	for _, s := range rooms(t) {
		held := slices.Contains(sourced, s.name)
		for _, file := range s.files {
			name := s.fileOf(file)
			for _, paragraph := range paragraphs(file) {
				found := source.FindAllStringSubmatch(paragraph, -1)
				if held && len(found) == 0 && ofTheTools.MatchString(paragraph) {
					t.Errorf("%s speaks of what the tools do without a source such as [case 26b] or [terraform 1.11 internal/depsfile/locks.go]: %q", name, paragraph)
				}
				for _, f := range found {
					cited++
					if kind := strings.TrimSuffix(f[1], "s"); kind != "case" {
						if !strings.HasSuffix(kind, ":") && !fileAt.MatchString(f[2]) {
							t.Errorf("%s cites %s, want [%s RELEASE FILE, FILE]", name, f[0], kind)
						}
						continue
					}
					for id := range strings.SplitSeq(f[2], ", ") {
						if !cases[id] {
							t.Errorf("%s cites case %s, which is neither in testdata/lock, nor in testdata/terragrunt, testdata/terragrunt-stacks or testdata/modules, nor in internal/scan/testdata", name, id)
						}
					}
				}
			}
		}
	}
	if cited < 50 {
		t.Errorf("found %d sources in the house, which cannot be all", cited)
	}
}

// recordedCases are the names by which cases are cited: what stands before the
// first hyphen of their ids, or the whole name of one of Terragrunt, of two releases or of
// modules.
func recordedCases(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	dirs := glob(t, "testdata/lock/*")
	if len(dirs) == 0 {
		t.Fatal("no recorded cases")
	}
	for _, dir := range dirs {
		id, _, _ := strings.Cut(path.Base(dir), "-")
		known[id] = true
	}
	var units []string
	for _, pattern := range []string{"testdata/terragrunt/*.txtar", "testdata/terragrunt-stacks/*.txtar"} {
		matched := glob(t, pattern)
		if len(matched) == 0 {
			t.Fatalf("no recorded cases of Terragrunt in %s", pattern)
		}
		units = append(units, matched...)
	}
	for _, name := range units {
		known[strings.TrimSuffix(path.Base(name), ".txtar")] = true
	}
	for _, id := range recordedIDs(t, "internal/scan/testdata/cases.json") {
		number, _, _ := strings.Cut(id, "-")
		known[number] = true
	}
	for _, name := range []string{"internal/scan/testdata/terraform-1.16.json", "testdata/modules/cases.json"} {
		for _, id := range recordedIDs(t, name) {
			known[id] = true
		}
	}
	return known
}

// recordedIDs are the ids of the cases in a file.
func recordedIDs(t *testing.T, name string) []string {
	t.Helper()
	var cases []struct{ ID string }
	if err := json.Unmarshal(read(t, name), &cases); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(cases))
	for i, c := range cases {
		ids[i] = c.ID
	}
	return ids
}

// paragraphs are those of the comments of a file, each on one line.
func paragraphs(file *ast.File) []string {
	var all []string
	for _, group := range file.Comments {
		for paragraph := range strings.SplitSeq(group.Text(), "\n\n") {
			all = append(all, strings.Join(strings.Fields(paragraph), " "))
		}
	}
	return all
}
