package config

import (
	"slices"
	"strings"
	"testing"
)

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
	"keep":                       `["hashicorp/template"]`,
	"hashes-from":                "both",
	"hash-source":                "opentofu",
	"verify.accept-re-released":  `["hashicorp/aws@5.31.0"]`,
	"verify.signers":             `{"hashicorp/*": [34365D9472D7468F]}`,
	"registries":                 "\n  registry.example.com:\n    token-env: RELOCK_TOKEN_EXAMPLE",
	"unreadable-modules":         "preserve",
	"module-vars":                `{module_version: "1.2.0"}`,
	"module-token":               "${{ secrets.MODULE_TOKEN }}",
	"strict":                     "true",
	"downgrades":                 "allow",
	"check":                      "upgrade",
	"touched":                    "origin/main",
	"why":                        "hashicorp/aws",
	"rules":                      "\n  - minimum-age: 3d\n  - providers: [\"hashicorp/aws\"]\n    update-types: [major]\n    hold-until: 2027-01-31",
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
	"pull-request.limit":          "3",
	"pull-request.commit-message": `"chore: {{changes}}"`,
	"pull-request.release-notes":  "false",
	"command":                     "lock",
	"token":                       "${{ secrets.BOT_TOKEN }}",
	"app-id":                      "${{ vars.RELOCK_APP_ID }}",
	"app-private-key":             "${{ secrets.RELOCK_APP_PRIVATE_KEY }}",
	"app-installation-id":         "${{ vars.RELOCK_APP_INSTALLATION }}",
	"repo":                        "acme/infra",
	"config":                      "/etc/relock.yml",
	"format":                      "json",
	"cache":                       "/var/cache/relock",
	"jobs":                        "4",
	"timeout":                     "20m",
}

// example is the example of a setting as the place in which it is set has it.
func (s Setting) example() string {
	value := examples[s.Name()]
	switch {
	case s.structured():
		return s.Key + ":" + value
	case s.Key != "":
		if section, name, ok := strings.Cut(s.Key, "."); ok {
			return section + ": {" + name + ": " + value + "}"
		}
		return s.Key + ": " + value
	case s.Flag != "":
		return strings.TrimSpace("relock " + s.Verbs[0] + " --" + s.Flag + " " + value)
	}
	return s.Input + ": " + value
}

// TestExamplesAreTaken sets each setting as its example says, and holds that it is
// something else than the default.
func TestExamplesAreTaken(t *testing.T) {
	for name := range examples {
		if !slices.ContainsFunc(Settings, func(s Setting) bool { return s.Name() == name }) {
			t.Errorf("%s has an example and is no setting", name)
		}
	}
	for _, s := range Settings {
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
				problems = append(problems, d.Error())
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
			problems = append(problems, d.Error())
		}
		if len(problems) > 0 || slices.Equal(values[s.Name()].Items, s.defaults()) && !s.structured() {
			t.Errorf("%s: the example %s has the problems %q, or is the default", s.Name(), value, problems)
		}
	}
}
