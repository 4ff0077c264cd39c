package pr

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/settings"
)

// changeOf reads "KIND PROVIDER [FROM] [TO]".
func changeOf(t *testing.T, text string) diff.Change {
	t.Helper()
	words := strings.Fields(text)
	addr, err := provider.ParseAddr(words[1], provider.Terraform)
	if err != nil {
		t.Fatal(err)
	}
	c := diff.Change{Kind: diff.Kind(words[0]), Addr: addr}
	versions := words[2:]
	parse := func(s string) provider.Version {
		v, err := provider.ParseVersion(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	switch {
	case len(versions) == 2:
		c.From, c.To = parse(versions[0]), parse(versions[1])
	case c.Kind == diff.Added:
		c.To = parse(versions[0])
	case c.Kind == diff.Removed:
		c.From = parse(versions[0])
	default:
		c.From, c.To = parse(versions[0]), parse(versions[0])
	}
	return c
}

// changed reads one root module in a line: "DIR: CHANGE, CHANGE".
func changed(t *testing.T, lines ...string) []Changed {
	t.Helper()
	var all []Changed
	for _, line := range lines {
		dir, changes, _ := strings.Cut(line, ": ")
		m := Changed{Dir: dir}
		for text := range strings.SplitSeq(changes, ", ") {
			m.Changes = append(m.Changes, changeOf(t, text))
		}
		all = append(all, m)
	}
	return all
}

func TestTitle(t *testing.T) {
	const aws = "upgraded hashicorp/aws 5.31.0 5.34.0"
	seven := "upgraded hashicorp/p1 1.0.0 1.1.0"
	for i := range 6 {
		seven += fmt.Sprintf(", upgraded hashicorp/p%d 1.0.0 1.1.0", i+2)
	}
	tests := map[string]struct {
		changed []string
		want    string
	}{
		"one_provider": {[]string{"a: " + aws, "b: " + aws, "c: " + aws},
			"Bump hashicorp/aws from 5.31.0 to 5.34.0 in 3 root modules"},
		"one_directory_is_named": {[]string{"prod/vpc: " + aws}, "Bump hashicorp/aws from 5.31.0 to 5.34.0 in prod/vpc"},
		"the_top_is_not":         {[]string{".: " + aws}, "Bump hashicorp/aws from 5.31.0 to 5.34.0"},
		"nor_an_odd_one":         {[]string{"pr`od: " + aws}, "Bump hashicorp/aws from 5.31.0 to 5.34.0 in 1 root module"},
		"from_two_versions": {[]string{"a: " + aws, "b: upgraded hashicorp/aws 5.30.0 5.34.0"},
			"Bump hashicorp/aws to 5.34.0 in 2 root modules"},
		"to_two_versions": {[]string{"a: " + aws, "b: upgraded hashicorp/aws 4.0.0 4.1.0"},
			"Bump hashicorp/aws in 2 root modules"},
		"several_providers": {[]string{"a: " + seven, "b: " + aws}, "Bump 8 providers in 2 root modules"},
		"completed": {[]string{"a: completed hashicorp/aws 5.31.0", "b: completed hashicorp/aws 5.31.0, completed hashicorp/null 3.2.1"},
			"Complete lock file hashes in 2 root modules"},
		"a_bump_is_louder_than_hashes": {[]string{"a: " + aws, "b: completed hashicorp/null 3.2.1"},
			"Bump hashicorp/aws from 5.31.0 to 5.34.0 in a"},
		"added":       {[]string{"a: added hashicorp/random 3.6.0", "b: added hashicorp/random 3.6.0"}, "Add hashicorp/random 3.6.0 in 2 root modules"},
		"removed":     {[]string{"a: removed hashicorp/null 3.2.1"}, "Remove hashicorp/null in a"},
		"constraints": {[]string{"a: constrained hashicorp/null 3.2.1"}, "Update lock file constraints in a"},
		"normalised":  {[]string{"a: normalised hashicorp/null 3.2.1"}, "Format lock files in a"},
		"downgraded":  {[]string{"a: downgraded hashicorp/aws 5.34.0 5.31.0"}, "Downgrade hashicorp/aws from 5.34.0 to 5.31.0 in a"},
		"re_released": {[]string{"a: re-released hashicorp/aws 5.34.0"}, "Replace the hashes of re-released hashicorp/aws 5.34.0 in a"},
		"several_kinds": {[]string{"a: " + aws + ", added hashicorp/random 3.6.0", "b: removed hashicorp/null 3.2.1, removed hashicorp/http 1.0.0"},
			"Bump hashicorp/aws, add hashicorp/random and remove 2 providers in 2 root modules"},
		"bumped_here_and_added_there": {[]string{"a: " + aws, "b: added hashicorp/aws 5.34.0"},
			"Bump hashicorp/aws from 5.31.0 to 5.34.0 in 2 root modules"},
		"the_same_provider_of_both_registries": {[]string{"a: " + aws, "b: upgraded registry.opentofu.org/hashicorp/aws 5.31.0 5.34.0"},
			"Bump 2 providers in 2 root modules"},
		"bumped_from_one_registry_and_added_from_the_other": {[]string{"a: " + aws, "b: added registry.opentofu.org/hashicorp/aws 5.34.0"},
			"Bump registry.terraform.io/hashicorp/aws and add registry.opentofu.org/hashicorp/aws in 2 root modules"},
		"other_registry": {[]string{"a: upgraded example.com/acme/x 1.0.0 1.1.0"}, "Bump example.com/acme/x from 1.0.0 to 1.1.0 in a"},
		"nothing":        {nil, "Update lock files"},
	}
	for name, test := range tests {
		if got := titleOf(changed(t, test.changed...)); got != test.want {
			t.Errorf("%s: titleOf(%q) = %q, want %q", name, test.changed, got, test.want)
		}
	}
}

// A short name is read by the tool of its root module: the registry of the other tool
// has another provider of that name.
func TestNamesAreShortByTheTool(t *testing.T) {
	t.Parallel()
	c := changeOf(t, "upgraded registry.opentofu.org/hashicorp/aws 5.31.0 5.34.0")
	for name, want := range map[provider.ToolName]string{
		provider.OpenTofu:  "Bump hashicorp/aws from 5.31.0 to 5.34.0 in prod",
		provider.Terraform: "Bump registry.opentofu.org/hashicorp/aws from 5.31.0 to 5.34.0 in prod",
		"":                 "Bump hashicorp/aws from 5.31.0 to 5.34.0 in prod", // nobody says: a diff of files
	} {
		tool := provider.Tool{Name: name}
		if got := titleOf([]Changed{{Dir: "prod", Tool: tool, Changes: []diff.Change{c}}}); got != want {
			t.Errorf("for %q: titleOf = %q, want %q", name, got, want)
		}
	}
}

// The templates of the settings stand in place of our own words. A prefix is put before
// those only.
func TestDescribe(t *testing.T) {
	t.Parallel()
	const ours = "Bump hashicorp/aws from 5.31.0 to 5.34.0 in prod"
	long := settings.Template(strings.Repeat("long ", 20))
	tests := map[string]struct {
		title, message                 settings.Template
		wantTitle, wantSubject, styled string
	}{
		"no template":      {"", "", ours, ours, "ci: bump hashicorp/aws from 5.31.0 to 5.34.0 in prod"},
		"a title":          {"[{{group}}] {{changes}} on {{base}}", "", "[cloud] " + ours + " on main", ours, ""},
		"a commit message": {"", "deps: {{provider}} {{to}} in {{directories}}", ours, "deps: hashicorp/aws 5.34.0 in prod", ""},
		"both":             {"{{from}}", "{{to}}", "5.31.0", "5.34.0", ""},
		"a long message":   {"", long, ours, strings.Repeat("long ", 14)[:69] + "…", ""},
	}
	for name, tt := range tests {
		p := New("cloud", "main", "", nil)
		p.PullRequest = settings.PullRequest{Title: tt.title, CommitMessage: tt.message}
		p.Describe(changed(t, "prod: upgraded hashicorp/aws 5.31.0 5.34.0"))
		styled := ""
		if p.Styled != nil {
			styled = p.Styled("ci: ")
		}
		if p.Title != tt.wantTitle || p.Subject != tt.wantSubject || styled != tt.styled {
			t.Errorf("%s: title %q, subject %q, %q behind a prefix; want %q, %q, %q", name, p.Title, p.Subject, styled, tt.wantTitle, tt.wantSubject, tt.styled)
		}
		if want := "hashicorp/aws  5.31.0 -> 5.34.0  1 root module\n"; p.Summary != want {
			t.Errorf("%s: summary %q, want %q", name, p.Summary, want)
		}
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	const details = "hashicorp/aws  5.31.0 -> 5.34.0  1 root module\n"
	for subject, want := range map[string]string{
		"":                             "Bump hashicorp/aws from 5.31.0 to 5.34.0 in prod\n\n" + details,
		"Merge main into feature":      "Merge main into feature\n\n" + details,
		strings.Repeat("Merge it ", 9): strings.Repeat("Merge it ", 7) + "Merge…\n\n" + details,
	} {
		if got := Message(changed(t, "prod: upgraded hashicorp/aws 5.31.0 5.34.0"), subject); got != want {
			t.Errorf("Message below %q = %q, want %q", subject, got, want)
		}
	}
}

func TestSubjectFitsItsLine(t *testing.T) {
	long := strings.Repeat("x", 40)
	tests := map[string]struct {
		prefix, changed, want string
	}{
		"short":             {"", "a: upgraded hashicorp/aws 1.0.0 1.1.0", "Bump hashicorp/aws from 1.0.0 to 1.1.0 in a"},
		"without_the_place": {"", long + ": upgraded hashicorp/google-beta 1.0.0 1.1.0", "Bump hashicorp/google-beta from 1.0.0 to 1.1.0"},
		"without_the_name":  {"", "a: upgraded " + long + "/" + long + " 1.0.0 1.1.0", "Update lock files in 1 root module"},
		"behind_a_prefix":   {"chore(deps): ", "a: upgraded hashicorp/aws 1.0.0 1.1.0", "chore(deps): bump hashicorp/aws from 1.0.0 to 1.1.0 in a"},
		"with_less_room": {"chore(deps): ", strings.Repeat("x", 20) + ": upgraded hashicorp/aws 1.0.0 1.1.0",
			"chore(deps): bump hashicorp/aws from 1.0.0 to 1.1.0"},
	}
	for name, test := range tests {
		got := subjectOf(changed(t, test.changed), test.prefix)
		if got != test.want || utf8.RuneCountInString(got) > maxSubject {
			t.Errorf("%s: subjectOf = %q, want %q", name, got, test.want)
		}
	}
}

func TestDetails(t *testing.T) {
	got := detailsOf(changed(t,
		"a: upgraded hashicorp/aws 5.31.0 5.34.0, completed hashicorp/null 3.2.1",
		"b: upgraded hashicorp/aws 5.31.0 5.34.0, removed hashicorp/http 3.0.0",
		"c: added hashicorp/random 3.6.0",
	))
	want := `hashicorp/aws     5.31.0 -> 5.34.0        2 root modules
hashicorp/http    3.0.0 removed           1 root module
hashicorp/null    3.2.1 hashes completed  1 root module
hashicorp/random  3.6.0 added             1 root module
`
	if got != want {
		t.Errorf("detailsOf =\n%s\nwant\n%s", got, want)
	}
}

func TestDetailsTellsRegistriesApart(t *testing.T) {
	got := detailsOf(changed(t,
		"a: upgraded hashicorp/random 3.6.0 3.7.2",
		"b: upgraded registry.opentofu.org/hashicorp/random 3.6.0 3.7.2",
	))
	want := `registry.opentofu.org/hashicorp/random  3.6.0 -> 3.7.2  1 root module
registry.terraform.io/hashicorp/random  3.6.0 -> 3.7.2  1 root module
`
	if got != want {
		t.Errorf("detailsOf =\n%s\nwant\n%s", got, want)
	}
}

func TestDetailsIsBounded(t *testing.T) {
	m := "a: added hashicorp/p0 1.0.0"
	for i := range 59 {
		m += fmt.Sprintf(", added hashicorp/p%d 1.0.0", i+1)
	}
	got := detailsOf(changed(t, m))
	if lines := strings.Count(got, "\n"); lines != 51 || !strings.HasSuffix(got, "and 10 more\n") {
		t.Errorf("detailsOf has %d lines and ends in %q, want 50 and the rest counted", lines, got[len(got)-20:])
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	aws, older, null := changeOf(t, "upgraded hashicorp/aws 5.31.0 5.34.0"), changeOf(t, "upgraded hashicorp/aws 5.30.0 5.34.0"), changeOf(t, "upgraded hashicorp/null 3.2.2 3.2.4")
	tests := []struct {
		name    string
		changed []Changed
		want    map[string]string
	}{
		{"one provider in one directory", []Changed{{Dir: "prod", Changes: []diff.Change{aws}}}, map[string]string{
			"changes":  "Bump hashicorp/aws from 5.31.0 to 5.34.0 in prod",
			"provider": "hashicorp/aws", "from": "5.31.0", "to": "5.34.0", "directories": "prod",
		}},
		{"from several versions", []Changed{{Dir: "prod", Changes: []diff.Change{aws}}, {Dir: "stage", Changes: []diff.Change{older}}}, map[string]string{
			"changes":  "Bump hashicorp/aws to 5.34.0 in 2 root modules",
			"provider": "hashicorp/aws", "from": "", "to": "5.34.0", "directories": "2 root modules",
		}},
		{"several providers", []Changed{{Dir: "prod", Changes: []diff.Change{aws, null}}}, map[string]string{
			"changes":  "Bump 2 providers in prod",
			"provider": "2 providers", "from": "", "to": "", "directories": "prod",
		}},
	}
	tofu := aws
	tofu.Addr.Host = provider.OpenTofu.DefaultHost()
	tests = append(tests, struct {
		name    string
		changed []Changed
		want    map[string]string
	}{"the same provider of two registries", []Changed{{Dir: "prod", Changes: []diff.Change{aws, tofu}}}, map[string]string{
		"changes":  "Bump 2 providers in prod",
		"provider": "2 providers", "from": "5.31.0", "to": "5.34.0", "directories": "prod",
	}})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, templateValues(tt.changed)); diff != "" {
				t.Errorf("templateValues (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCutSubject(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]string{
		"short":                           "short",
		strings.Repeat("é", maxSubject):   strings.Repeat("é", maxSubject),
		strings.Repeat("word ", 20):       strings.Repeat("word ", 14)[:69] + "…",
		strings.Repeat("x", maxSubject+1): strings.Repeat("x", maxSubject-1) + "…",
	} {
		if got := cutSubject(subject); got != want {
			t.Errorf("cutSubject(%q) = %q, want %q", subject, got, want)
		}
	}
}
