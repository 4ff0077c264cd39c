package settings_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
)

// layer lays a repository's own file over an operator's; both lack their version.
func layer(t *testing.T, operator, own string, given ...settings.Values) settings.Settings {
	t.Helper()
	op, problems := settings.ParseOperatorFile([]byte("version: 1\n"+operator), "central.yml")
	if len(problems) > 0 {
		t.Fatalf("ParseOperatorFile(%q) reports %v", operator, problems)
	}
	mine, problems := settings.ParseFile([]byte("version: 1\n"+own), "relock.yml")
	if len(problems) > 0 {
		t.Fatalf("ParseFile(%q) reports %v", own, problems)
	}
	return with(t, mine, settings.Sources{Given: given, Operator: op})
}

// with makes the settings of sources and a repository's own file.
func with(t *testing.T, own settings.File, from settings.Sources) settings.Settings {
	t.Helper()
	from.Getenv, from.Sound = unset, sound
	s, err := from.With(own)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func messages(problems []problem.Problem) []string {
	var texts []string
	for _, d := range problems {
		texts = append(texts, d.String())
	}
	return texts
}

var layered = []struct {
	name, operator, own string
	want                []string // lines that Show prints
	notices             []string
}{
	{
		"a repository's own file goes over defaults, key by key", "strict: true\ntool: opentofu\npull-request: {limit: 3, draft: true}\n", "strict: false\npull-request: {limit: 5}\n",
		[]string{
			"strict: false  # relock.yml:2; not true, central.yml:2", `tool: opentofu  # central.yml:3`,
			`  limit: 5  # relock.yml:3; not 3, central.yml:4`, `  draft: true  # central.yml:4`,
		}, nil,
	},
	{
		"lists replace each other whole, empty ones too", "exclude: [a/**]\nplatforms: [linux_amd64]\npull-request: {labels: [a]}\n", "exclude: [b/**]\nplatforms: [darwin_arm64]\npull-request: {labels: []}\n",
		[]string{
			`exclude: ["b/**"]  # relock.yml:2; not ["a/**"], central.yml:2`, `platforms: ["darwin_arm64"]  # relock.yml:3; not ["linux_amd64"], central.yml:3`,
			`  labels: []  # relock.yml:4; not ["a"], central.yml:4`,
		}, nil,
	},
	{
		"what is enforced holds", "enforced:\n  platforms: [linux_amd64]\n  pull-request:\n    draft: true\n    labels: []\n",
		"platforms: all\npull-request:\n  draft: false\n  labels: [a]\n  limit: 2\n",
		[]string{
			`platforms: ["linux_amd64"]  # enforced by central.yml:3; not all, relock.yml:2`, "  draft: true  # enforced by central.yml:5; not false, relock.yml:4",
			`  labels: []  # enforced by central.yml:6; not ["a"], relock.yml:5`, "  limit: 2  # relock.yml:6",
		},
		[]string{
			`relock.yml:2: the operator enforces platforms: ["linux_amd64"] (central.yml:3)`, "relock.yml:4: the operator enforces pull-request.draft: true (central.yml:5)",
			"relock.yml:5: the operator enforces pull-request.labels: [] (central.yml:6)",
		},
	},
	{
		"what stands in place of an enforced setting goes with it", "enforced:\n  platforms: [linux_amd64]\n  pull-request: {limit: 1, auto-merge: \"\"}\n",
		"rules:\n  - {providers: [a/b], platforms: [darwin_arm64]}\n  - platforms: [darwin_arm64]\n    ignore: true\ngroups:\n  - name: x\n    directories: [\"**\"]\n    auto-merge: squash\n    limit: 9\n",
		[]string{`rules: [{ignore: true}]  # relock.yml:2`, `groups: [{name: "x", directories: ["**"], draft: false}]  # relock.yml:6`},
		[]string{
			`relock.yml:3: the operator enforces platforms: ["linux_amd64"] (central.yml:3)`, `relock.yml:4: the operator enforces platforms: ["linux_amd64"] (central.yml:3)`,
			`relock.yml:9: the operator enforces pull-request.auto-merge: "" (central.yml:4)`, "relock.yml:10: the operator enforces pull-request.limit: 1 (central.yml:4)",
		},
	},
	{
		"rules are joined, enforced ones last", "rules:\n  - minimum-age: 3d\nenforced:\n  rules:\n    - providers: [hashicorp/aws]\n      allow-versions: < 6\n",
		"rules:\n  - minimum-age: 0d\n  - providers: [hashicorp/aws]\n    allow-versions: \">= 6\"\n    hold-until: 2027-01-01\n  - allow-versions: < 2\n",
		[]string{`rules: [{minimum-age: "3d"}, {minimum-age: "0d"}, {providers: ["hashicorp/aws"], allow-versions: ">= 6", hold-until: "2027-01-01"}, {allow-versions: "< 2"}, {providers: ["hashicorp/aws"], allow-versions: "< 6"}]  # central.yml:2, relock.yml:2, enforced by central.yml:5`},
		[]string{`relock.yml:5: the operator enforces rules[].allow-versions: "< 6" (central.yml:7)`},
	},
	{
		"a rule that is enforced everywhere outranks narrower ones", "enforced:\n  rules: [{minimum-age: 7d}]\n", "rules:\n  - {providers: [a/b], directories: [x], update-types: [patch], minimum-age: 0h}\n", nil,
		[]string{`relock.yml:3: the operator enforces rules[].minimum-age: "7d" (central.yml:3)`},
	},
	{
		"maps are laid over each other by their names", "module-vars: {a: one, b: one}\nenforced:\n  module-vars: {c: one, d: one}\n", "module-vars:\n  b: two\n  c: two\n  e: two\n",
		[]string{`module-vars: {a: "one", b: "two", e: "two", c: "one", d: "one"}  # central.yml:2, relock.yml:2, enforced by central.yml:4; not {b: "one"}, central.yml:2; not {c: "two"}, relock.yml:2`},
		[]string{`relock.yml:4: the operator enforces module-vars: {c: "one"} (central.yml:4)`},
	},
	{
		"sets are laid over each other by their names", "module-vars: [{name: a, values: {x: one}}, {name: b, values: {x: one}}]\nenforced:\n  module-vars: [{name: c, values: {x: one}}]\n",
		"module-vars:\n  - {name: b, values: {x: two}}\n  - {name: c, values: {x: two}}\n  - {name: e, values: {x: two}}\n",
		[]string{`module-vars: [{name: "a", values: {x: "one"}}, {name: "b", values: {x: "two"}}, {name: "e", values: {x: "two"}}, {name: "c", values: {x: "one"}}]  # central.yml:2, relock.yml:2, enforced by central.yml:4; not [{name: "b", values: {x: "one"}}], central.yml:2; not [{name: "c", values: {x: "two"}}], relock.yml:2`},
		[]string{`relock.yml:4: the operator enforces module-vars: [{name: "c", values: {x: "one"}}] (central.yml:4)`},
	},
	{
		"environments are laid over each other by their names", "terragrunt: {environments: [{name: a, env: {X: one}}]}\n", "terragrunt:\n  environments:\n  - {name: b, env: {X: two}}\n",
		[]string{`  environments: [{name: "a", env: {X: "one"}}, {name: "b", env: {X: "two"}}]  # central.yml:2, relock.yml:3`}, nil,
	},
	{
		"signers add up", "verify: {signers: {hashicorp/*: [34365D9472D7468F]}}\nenforced: {verify: {signers: {b/b: [1234567890123456]}}}\n", "verify:\n  signers:\n    a/a: [6543210987654321]\n    b/b: [6543210987654321, 6543210987654322]\n",
		[]string{`  signers: {"hashicorp/*": ["34365D9472D7468F"], "a/a": ["6543210987654321"], "b/b": ["1234567890123456"]}  # central.yml:2, relock.yml:3, enforced by central.yml:3; not {"b/b": ["6543210987654321", "6543210987654322"]}, relock.yml:3`},
		[]string{`relock.yml:5: the operator enforces verify.signers: {"b/b": ["1234567890123456"]} (central.yml:3)`},
	},
	{
		"findings are made worse alone", "verify: {severity: {unsigned: warning, reported: error}}\n", "verify:\n  severity:\n    unsigned: error\n    reported: note\n",
		[]string{`  severity: {reported: "error", unsigned: "error"}  # central.yml:2, relock.yml:3; not {unsigned: "warning"}, central.yml:2; not {reported: "note"}, relock.yml:3`},
		[]string{`relock.yml:5: verify.severity: the operator has chosen {reported: "error"} (central.yml:2), and a repository's own file can only make that worse`},
	},
	{
		"groups replace each other whole", "groups: [{name: a, providers: [a/a]}]\n", "groups: [{name: b, providers: [b/b]}]\n",
		[]string{`groups: [{name: "b", providers: ["b/b"]}]  # relock.yml:2; not [{name: "a", providers: ["a/a"]}], central.yml:2`}, nil,
	},
	{
		"enforced groups", "enforced: {groups: []}\n", "groups:\n  - {name: b, providers: [b/b]}\n",
		[]string{`groups: []  # enforced by central.yml:2; not [{name: "b", providers: ["b/b"]}], relock.yml:2`},
		[]string{"relock.yml:2: the operator enforces groups: [] (central.yml:2)"},
	},
	{
		"a draft of the repository is not merged by default", "pull-request: {auto-merge: squash}\n", "pull-request: {draft: true}\n",
		[]string{`  draft: true  # relock.yml:2; not false, central.yml:2`, `  auto-merge: ""  # relock.yml:2; not squash, central.yml:2`}, nil,
	},
	{
		"a group of the repository that is merged is no draft by default", "pull-request: {draft: true}\n", "groups: [{name: a, providers: [a/a], auto-merge: squash}]\n",
		[]string{`groups: [{name: "a", providers: ["a/a"], draft: false, auto-merge: squash}]  # relock.yml:2`}, nil,
	},
	{
		"nothing is a draft where merging is enforced", "enforced: {pull-request: {auto-merge: squash}}\n", "pull-request: {draft: true}\ngroups: [{name: a, providers: [a/a], draft: true}]\n",
		[]string{`  draft: false  # enforced by central.yml:2; not true, relock.yml:2`, `groups: [{name: "a", providers: ["a/a"]}]  # relock.yml:3`},
		[]string{"relock.yml:2: the operator enforces pull-request.draft: false (central.yml:2)", "relock.yml:3: the operator enforces pull-request.draft: false (central.yml:2)"},
	},
}

func TestLayers(t *testing.T) {
	t.Parallel()
	for _, tt := range layered {
		both := layer(t, tt.operator, tt.own)
		shown := both.Values.Show()
		for _, want := range tt.want {
			if !slices.Contains(strings.Split(shown, "\n"), want) {
				key, _, _ := strings.Cut(want, ":")
				i := slices.IndexFunc(strings.Split(shown, "\n"), func(line string) bool { return strings.HasPrefix(line, key+":") })
				t.Errorf("%s: the line is\n%s, want\n%s", tt.name, strings.Split(shown, "\n")[i], want)
			}
		}
		if diff := cmp.Diff(tt.notices, messages(both.Notices)); diff != "" {
			t.Errorf("%s: notices (-want +got):\n%s", tt.name, diff)
		}
		for _, d := range both.Notices {
			if d.Severity != problem.SeverityWarning {
				t.Errorf("%s: %v stops the repository", tt.name, d)
			}
		}
	}
}

// What the command line says outranks what is enforced, and the layers below it are not
// forgotten.
func TestFlagsOutrankWhatIsEnforced(t *testing.T) {
	t.Parallel()
	flags := settings.Flags(map[string][]string{"platform": {"darwin_arm64"}})
	const want = `platforms: ["darwin_arm64"]  # flag --platform; not ["linux_amd64"], enforced by central.yml:2; not all, relock.yml:2` + "\n"
	if shown := layer(t, "enforced: {platforms: [linux_amd64]}\n", "platforms: all\n", flags).Values.Show(); !strings.Contains(shown, want) {
		t.Errorf("no line %s in\n%s", want, shown)
	}
}

// Of a map in one file and a list in another nobody knows what is meant.
func TestMapAndListOfSets(t *testing.T) {
	t.Parallel()
	operator, _ := settings.ParseOperatorFile([]byte("version: 1\nmodule-vars: {a: one}\n"), "central.yml")
	own, _ := settings.ParseFile([]byte("version: 1\nmodule-vars:\n  - {name: b, values: {a: two}}\n"), "relock.yml")
	_, err := settings.Sources{Operator: operator, Getenv: unset, Sound: sound}.With(own)
	const want = "relock.yml:2: module-vars is a list of sets here, and a map in central.yml:2"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the settings have the error %v, want %s", err, want)
	}
}

// Without an operator's file a repository's own says what it says.
func TestSettingsWithoutAnOperator(t *testing.T) {
	t.Parallel()
	own := settings.File{Name: "relock.yml", Values: file(t, "version: 1\npull-request: {draft: true}\n")}
	if s := with(t, own, settings.Sources{}); len(s.Notices) > 0 || s.Values.Show() != settings.Merge(own.Values).Show() {
		t.Errorf("the settings are %s with %v", s.Values.Show(), s.Notices)
	}
}
