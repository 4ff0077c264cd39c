package settings

import (
	"cmp"
	goflag "flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/verbs"
)

var update = goflag.Bool("update", false, "write the settings into docs/configuration.md, docs/relock.schema.json and action.yml instead of comparing")

// The markers around the settings in docs/configuration.md.
const (
	referenceBegin = "<!-- settings:begin -->\n"
	referenceEnd   = "<!-- settings:end -->\n"
)

// later are the settings that came with a later release than the first.
var later = map[string]string{}

// examples are values that somebody might set, by the setting's name: as they stand
// behind its key in the file, else as an input or as an argument of the flag. A
// flag without an argument needs none.
var examples = map[string]string{
	"version":                    "1",
	"include":                    `["live/**"]`,
	"exclude":                    `["examples/**", "**/testdata"]`,
	"directories":                "prod/..., staging/app",
	"tool":                       "opentofu",
	"tool-version":               "1.11.4",
	"platforms":                  "[linux_amd64, darwin_arm64]",
	"provider":                   "hashicorp/aws",
	"create":                     "true",
	"unlocked":                   "fail",
	"module-lock":                "write",
	"accept-moved":               `'git::https://example.com/*'`,
	"keep":                       `["hashicorp/template"]`,
	"hashes-from":                "both",
	"hash-source":                "opentofu",
	"verify.accept-re-released":  `["hashicorp/aws@5.31.0"]`,
	"verify.signers":             `{"hashicorp/*": [C874011F0AB405110D02105534365D9472D7468F]}`,
	"registries":                 "\n  registry.example.com:\n    token-env: RELOCK_TOKEN_EXAMPLE",
	"unreadable-modules":         "preserve",
	"terragrunt.environments":    "\n    - name: staging\n      env: {ENVIRONMENT: staging}\n    - name: production\n      env: {ENVIRONMENT: production}\n      features: {new_network: true}\n      directories: [\"live/**\"]",
	"module-vars":                `{module_version: "1.2.0"}`,
	"module-token":               "${{ secrets.MODULE_TOKEN }}",
	"strict":                     "true",
	"downgrades":                 "allow",
	"check":                      "upgrade",
	"touched":                    "origin/main",
	"why":                        "hashicorp/aws",
	"fail-on":                    "warning",
	"verify.severity":            "{unsigned: error}",
	"severity":                   "key-expired=note",
	"ledger":                     "relock.ledger",
	"baseline":                   "baseline.yml",
	"max-download":               "500MiB",
	"offline":                    "true",
	"no-cache":                   "true",
	"recheck":                    "5",
	"rules":                      "\n  - minimum-age: 3d\n  - providers: [\"hashicorp/aws\"]\n    update-types: [major]\n    hold-until: 2027-01-31",
	"judge":                      "all",
	"group-by":                   "directory",
	"groups":                     "\n  - name: network\n    directories: [\"prod/network/**\"]\n    auto-merge: squash",
	"pull-request.branch-prefix": "bots/relock/",
	"pull-request.base":          `[main, "release/1.x"]`,
	"pull-request.title":         `"chore(deps): {{changes}}"`,
	"pull-request.labels":        "[dependencies]",
	"pull-request.reviewers":     "[octocat]", "pull-request.team-reviewers": "[platform]",
	"pull-request.assignees":      "[octocat]",
	"pull-request.milestone":      `"2027, first quarter"`,
	"pull-request.draft":          "true",
	"pull-request.auto-merge":     "squash",
	"pull-request.rebase-when":    "conflicted",
	"pull-request.limit":          "3",
	"pull-request.commit-message": `"chore: {{changes}}"`,
	"pull-request.release-notes":  "false",
	"dashboard.issue":             "true",
	"dashboard.labels":            "[dependencies]",
	"dashboard.repository":        "acme/platform",
	"comments.via-apps":           "false",
	"command":                     "lock",
	"token":                       "${{ secrets.BOT_TOKEN }}",
	"app-id":                      "${{ vars.RELOCK_APP_ID }}",
	"app-private-key":             "${{ secrets.RELOCK_APP_PRIVATE_KEY }}",
	"app-installation-id":         "${{ vars.RELOCK_APP_INSTALLATION }}",
	"repo":                        "acme/infra",
	"org":                         "acme",
	"fleet":                       "fleet.json",
	"shard":                       "3/8",
	"org.where":                   "[topic=terraform, file!=.norelock]",
	"org.max-new":                 "20",
	"org.pause":                   "true",
	"config":                      "/etc/relock.yml",
	"format":                      "json",
	"max-bytes":                   "65536",
	"sarif-category":              "prod",
	"summary":                     "true",
	"cache":                       "/var/cache/relock",
	"jobs":                        "4",
	"timeout":                     "20m",
}

// listExamples are examples of settings as lists that may be maps, too.
var listExamples = map[string]string{
	"module-vars": "\n  - name: staging\n    values: {environment: staging}\n  - name: production\n    var-files: [envs/production.tfvars]\n    directories: [\"live/**\"]",
}

// example is the example of a setting as the place in which it is set has it.
func (s Setting) example() string {
	value := examples[s.Name()]
	switch {
	case s.structured():
		if section, name, ok := strings.Cut(s.Key, "."); ok {
			return section + ":\n  " + name + ":" + value
		}
		return s.Key + ":" + value
	case s.Key != "":
		if section, name, ok := strings.Cut(s.Key, "."); ok {
			return section + ": {" + name + ": " + value + "}"
		}
		return s.Key + ": " + value
	case s.Flag != "" && slices.Contains(s.Values, "true"): // which may stand without a value
		return "relock " + string(s.Verbs[0]) + " --" + s.Flag + "=" + value
	case s.Flag != "":
		return strings.TrimSpace("relock " + string(s.Verbs[0]) + " --" + s.Flag + " " + value)
	}
	return s.Input + ": " + value
}

// reference is what docs/configuration.md says of each setting.
func reference() string {
	var b strings.Builder
	b.WriteString(referenceBegin)
	for _, s := range All {
		fmt.Fprintf(&b, "\n### `%s`\n\n%s\n\n%s.\n", s.Name(), escape(s.docAbout(s.Values)), strings.Join(s.facts(), ". "))
		if len(s.Fields) > 0 {
			example := s.example()
			if s.listable() {
				example = s.Key + ":" + listExamples[s.Key]
			}
			fmt.Fprintf(&b, "\n```yaml\n%s\n```\n\n| key | values | what it says |\n|---|---|---|\n", example)
		}
		for _, f := range s.Fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", last(f.Key), f.takes(), escape(f.Doc))
		}
	}
	b.WriteString("\n" + referenceEnd)
	return b.String()
}

// facts are where a setting is set, what it takes, its default, an example, and the release
// that it came with if that is not the first one.
func (s Setting) facts() []string {
	var facts []string
	if s.Kind != Text && s.Kind != Bool && !s.structured() { // the default or the table of others shows it
		facts = append(facts, "Values: "+s.takes())
	}
	if value := cmp.Or(s.InputDefault, strings.ReplaceAll(s.Default, ",", ", ")); value != "" {
		facts = append(facts, "Default: `"+value+"`")
	}
	for _, value := range s.Values {
		if only, limited := s.Only[value]; limited {
			facts = append(facts, "`"+value+"` is for "+joined(only)+" alone")
		}
	}
	var places []string
	if s.Key != "" {
		places = append(places, "key")
	}
	if s.Flag != "" {
		flag := "flag `--" + s.Flag + "`"
		if len(s.Verbs) <= 3 {
			flag += " of " + joined(s.Verbs)
		}
		places = append(places, flag)
	}
	switch {
	case s.Input == s.Name():
		places = append(places, "input")
	case s.Input != "":
		places = append(places, "input `"+s.Input+"`")
	}
	if s.Env != "" {
		places = append(places, "variable `"+s.Env+"`")
	}
	facts = append(facts, "Set by: "+strings.Join(places, "; "))
	if !s.structured() && s.Kind != Bool {
		facts = append(facts, "Example: `"+s.example()+"`")
	}
	if since := later[s.Name()]; since != "" {
		facts = append(facts, "Since: "+since)
	}
	return facts
}

// joined lists verbs.
func joined(all []verbs.Verb) string {
	var names []string
	for _, verb := range all {
		if verb == verbs.ConfigValidate {
			names = append(names, "config validate", "config show")
			continue
		}
		names = append(names, string(verb))
	}
	return strings.Join(names, ", ")
}

// takes says what the value of a setting may be. Examples show the form of a list.
func (s Setting) takes() string {
	switch {
	case s.Key == "version":
		return "1"
	case len(s.Values) > 0 && s.Kind == List:
		return "a list of " + options(s)
	case len(s.Values) > 0:
		return options(s)
	case s.Kind == List && s.Single:
		return "a text or a list"
	case s.Kind == List:
		return "a list"
	case s.Kind == Text:
		return "text"
	}
	return expected(s)
}

// escape keeps the characters of a description from being Markdown.
var escape = strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "|", `\|`, "@", "&#64;").Replace

func TestDocumentIsFresh(t *testing.T) {
	const name = "../../docs/configuration.md"
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(src), referenceBegin)
	_, after, ends := strings.Cut(rest, referenceEnd)
	if !begins || !ends {
		t.Fatalf("docs/configuration.md has no markers %s and %s", referenceBegin, referenceEnd)
	}
	updateOrCompare(t, name, string(src), before+reference()+after)
}

// updateOrCompare writes a file that is made from the settings with -update, and compares
// it otherwise.
func updateOrCompare(t *testing.T, name, got, want string) {
	t.Helper()
	switch {
	case want == got:
	case *update && os.Getenv("CI") == "":
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the settings in %s are not those of the code; write them with go test ./internal/settings -update", name)
	}
}

// TestExamplesAreTaken sets each setting as its example says, and holds that it is
// something else than the default.
func TestExamplesAreTaken(t *testing.T) {
	for name := range examples {
		if !slices.ContainsFunc(All, func(s Setting) bool { return s.Name() == name }) {
			t.Errorf("%s has an example and is no setting", name)
		}
	}
	for _, s := range All {
		value := examples[s.Name()]
		switch {
		case s.Kind == Bool && s.Key == "":
			continue
		case value == "":
			t.Errorf("%s has no example", s.Name())
			continue
		case s.Key == "version" || strings.HasPrefix(value, "${{"):
			continue
		}
		var values Values
		var problems []string
		switch {
		case s.Key != "":
			file, diagnostics := ParseOperatorFile([]byte("version: 1\n"+s.example()+"\n"), "example")
			for _, d := range diagnostics {
				problems = append(problems, d.String())
			}
			values = file.Values
		case s.Flag != "":
			values = Flags(map[string][]string{s.Flag: {value}})
		default:
			values = Inputs(func(name string) string {
				if name == InputEnv(s.Input) {
					return value
				}
				return ""
			})
		}
		_, diagnostics := Resolve(Merge(values))
		for _, d := range diagnostics {
			problems = append(problems, d.String())
		}
		if len(problems) > 0 || slices.Equal(values.Texts(s.Name()), s.defaults()) && !s.structured() {
			t.Errorf("%s: the example %s has the problems %q, or is the default", s.Name(), value, problems)
		}
	}
}

// TestEveryKeyCanBeEnforced lets an operator enforce each setting as its example says, and
// a repository say the same: none of what it says counts, but for rules, which come after
// its own.
func TestEveryKeyCanBeEnforced(t *testing.T) {
	t.Parallel()
	for _, s := range All {
		if s.Key == "" {
			continue
		}
		operator, problems := ParseOperatorFile([]byte("version: 1\nenforced:\n  "+strings.ReplaceAll(s.example(), "\n", "\n  ")+"\n"), "central.yml")
		if s.Operator || s.Key == "version" {
			if len(problems) != 1 || !strings.Contains(problems[0].Message, "cannot be enforced") {
				t.Errorf("%s: problems %v, want that it cannot be enforced", s.Key, problems)
			}
			continue
		}
		own, more := ParseFile([]byte("version: 1\n"+s.example()+"\n"), "relock.yml")
		if problems = append(problems, more...); len(problems) > 0 {
			t.Errorf("%s: %v", s.Key, problems)
			continue
		}
		both := merge(layersOf(operator, own))
		if _, counts := both.own[s.Name()]; counts && s.Key != "rules" || len(both.notices) == 0 {
			t.Errorf("%s: the repository's own value counts: %t, with the notices %v", s.Key, counts, both.notices)
		}
	}
}

// Editors read the schema from the repository.
func TestSchemaIsPublished(t *testing.T) {
	t.Parallel()
	const name = "../../docs/relock.schema.json"
	if *update && os.Getenv("CI") == "" {
		if err := os.WriteFile(name, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(name)
	if err != nil || string(published) != string(Schema()) {
		t.Errorf("docs/relock.schema.json is not the schema of the code (%v); write it with go test ./internal/settings -update", err)
	}
}

// options are the choices without the empty one.
func options(s Setting) string { return strings.TrimPrefix(s.choices(), `"", `) }
