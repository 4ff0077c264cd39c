package config_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/provider"
)

func TestParseFileReadsEveryKey(t *testing.T) {
	src := `# comment
version: 1
include: ["envs/**", modules]
exclude:
  - examples/**
tool: opentofu
tool-version: 1.11.4
platforms: all
create: true
keep: [hashicorp/null]
strict: true
pull-request:
  branch-prefix: deps/relock-
  base: release/1.x
  labels: []
  release-notes: false
`
	c := resolve(t, file(t, src))
	want := config.Config{
		Include: []string{"envs/**", "modules"}, Exclude: []string{"examples/**"}, Tool: provider.OpenTofu,
		ToolVersion: provider.Version{Major: 1, Minor: 11, Patch: 4}, Platforms: config.PlatformSet{All: true},
		Create: true, Strict: true,
		PullRequest: config.PullRequest{BranchPrefix: "deps/relock-", Base: "release/1.x"},
	}
	got := config.Config{
		Include: c.Include, Exclude: c.Exclude, Tool: c.Tool, ToolVersion: c.ToolVersion, Platforms: c.Platforms,
		Create: c.Create, Strict: c.Strict, PullRequest: c.PullRequest,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if len(c.Keep) != 1 || !c.Keep[0].Match(provider.Addr{Host: "registry.terraform.io", Namespace: "hashicorp", Type: "null"}) {
		t.Errorf("keep = %v", c.Keep)
	}
}

// refusedFiles are files with one problem each and what is said of it.
var refusedFiles = []struct {
	name, src, want, hint string
	typed                 bool // the JSON schema must refuse it too
}{
	{"unknown key near another", "version: 1\nplatfroms: all\n", `relock.yml:2: unknown key "platfroms"`, `did you mean "platforms"?`, true},
	{"key of a section at the top", "version: 1\nlabels: [a]\n", `relock.yml:2: unknown key "labels"`, `did you mean "pull-request.labels"?`, true},
	{"unknown key in a section", "version: 1\npull-request:\n  lables: [a]\n", `relock.yml:3: unknown key "pull-request.lables"`, `did you mean "pull-request.labels"?`, true},
	{"unknown key like no other", "version: 1\npull-request: {colour: red}\n", `relock.yml:2: unknown key "pull-request.colour"`, "known keys here are branch-prefix, base, labels, release-notes", true},
	{"input in the file", "version: 1\ndirectories: [a]\n", `relock.yml:2: unknown key "directories"`, "directories is an input of the Action, not a key of the file", true},
	{"flag in the file", "version: 1\nformat: json\n", `relock.yml:2: unknown key "format"`, "--format is a flag of the command line, not a key of the file", true},
	{"secret in the file", "version: 1\ntoken: abc\n", `relock.yml:2: unknown key "token"`, "token is an input of the Action, not a key of the file", true},
	{"dotted key", "version: 1\npull-request.base: main\n", `relock.yml:2: unknown key "pull-request.base"`, "write base as a key under pull-request", true},
	{"map that is a list", "version: 1\nmodule-vars: [a]\n", "relock.yml:2: module-vars must be names and texts, like {environment: prod}", "", true},
	{"map of lists", "version: 1\nmodule-vars: {a: [b]}\n", "relock.yml:2: module-vars must be names and texts, like {environment: prod}", "", true},
	{"name that is no variable", "version: 1\nmodule-vars:\n  a: b\n  a.b: c\n", `relock.yml:4: module-vars: "a.b" is not the name of a variable`, "", false},
	{"key that is a number", "version: 1\n2: a\n", "relock.yml:2: a key is not a plain name", "", false},
	{"missing version", "tool: auto\n", "relock.yml:1: the key version is missing", "begin the file with: version: 1", true},
	{"other version", "version: 2\n", "relock.yml:1: version: 2 is not a known version; it must be 1", "", true},
	{"version as text", "version: \"1\"\n", "relock.yml:1: version must be a number", "", true},
	{"empty file", "# nothing\n", "relock.yml: the configuration file is empty", "a file with defaults only is: version: 1", true},
	{"list for a file", "- version\n", "relock.yml:1: the configuration file does not consist of keys and values", "a file with defaults only is: version: 1", true},
	{"two documents", "version: 1\n---\nversion: 1\n", "relock.yml:3: the configuration file holds more than one document", "remove the line ---", false},
	{"text for a list", "version: 1\nexclude: examples\n", "relock.yml:2: exclude must be a list of texts, like [a, b]", "", true},
	{"number in a list", "version: 1\nexclude: [1]\n", "relock.yml:2: exclude must be a list of texts, like [a, b]", "", true},
	{"nothing for a list", "version: 1\nexclude:\n", "relock.yml:2: exclude must be a list of texts, like [a, b]", "", true},
	{"list for a text", "version: 1\npull-request:\n  base: [main]\n", "relock.yml:3: pull-request.base must be one line of text", "", true},
	{"text for a boolean", "version: 1\nstrict: yes\n", "relock.yml:2: strict must be true or false", "", true},
	{"number for a text", "version: 1\ntool-version: 1.11\n", "relock.yml:2: tool-version must be one line of text", `write it in quotes: "1.11"`, true},
	{"text for a section", "version: 1\npull-request: main\n", "relock.yml:2: pull-request must hold keys and values", "", true},
	{"unknown tool", "version: 1\ntool: tofu\n", `relock.yml:2: tool: "tofu" is not one of auto, terraform, opentofu`, "", true},
	{"one platform without a list", "version: 1\nplatforms: linux_amd64\n", "relock.yml:2: platforms must be auto, all or a list like [linux_amd64, darwin_arm64]", "", true},
	{"no platform", "version: 1\nplatforms: []\n", "relock.yml:2: platforms: no platform is given; it must be auto, all or a list like linux_amd64, darwin_arm64", "", true},
	{"bad platform, with its own line", "version: 1\nplatforms:\n  - linux_amd64\n  - darwin\n", `relock.yml:4: platforms: invalid platform "darwin": it must be like linux_amd64`, "", true},
	{"bad pattern", "version: 1\nkeep: [\"a/b/c/d\"]\n", `relock.yml:2: keep: invalid provider pattern "a/b/c/d": it must be like hashicorp/aws or */aws`, "", false},
	{"glob out of the repository", "version: 1\ninclude: [../other]\n", `relock.yml:2: include: "../other" is not a glob of directories; it must be relative to the repository, like envs/** or */prod`, "", false},
	{"absolute glob", "version: 1\ninclude: [/etc]\n", `relock.yml:2: include: "/etc" is not a glob of directories; it must be relative to the repository, like envs/** or */prod`, "", false},
	{"branch that git refuses", "version: 1\npull-request: {base: \"a b\"}\n", `relock.yml:2: pull-request.base: "a b" is not a name that git accepts for a branch`, "", false},
	{"branch prefix that git refuses", "version: 1\npull-request: {branch-prefix: \"x.lock/\"}\n", `relock.yml:2: pull-request.branch-prefix: "x.lock/" is not what git accepts at the beginning of a branch name`, "", false},
	{"empty branch prefix", "version: 1\npull-request: {branch-prefix: \"\"}\n", `relock.yml:2: pull-request.branch-prefix: "" is not what git accepts at the beginning of a branch name`, "", false},
	{"long label", "version: 1\npull-request: {labels: [" + strings.Repeat("x", 51) + "]}\n", `relock.yml:2: pull-request.labels: "` + strings.Repeat("x", 51) + `" is not a label; GitHub accepts up to 50 characters`, "", false},
	{"control character", "version: 1\npull-request: {labels: [\"a\\nb\"]}\n", `relock.yml:2: pull-request.labels: "a\nb" holds a control character`, "", false},
	{"key given twice", "version: 1\nstrict: true\nstrict: false\n", `relock.yml:3: mapping key "strict" already defined at [2:1]`, "", false},
	{"unclosed list", "version: 1\nkeep: [a\n", "relock.yml:2: sequence end token ']' not found", "", false},
	{"tab", "version: 1\nkeep:\n\t- a\n", `relock.yml:3: found character '	' that cannot start any token`, "", false},
	{"alias", "version: 1\nkeep: &k [a]\nexclude: *k\n", "relock.yml:2: keep must be a list of texts, like [a, b]", "", false},
	{"not text", "version: 1\n# \xff\n", "relock.yml: the configuration file is not UTF-8 text", "", false},
	{"too large", "version: 1\n" + strings.Repeat("# comment\n", 7000), "relock.yml: the configuration file is larger than 64 KiB", "", false},
	{"deep brackets", "version: 1\nkeep: " + strings.Repeat("[", 30000) + "\n", "relock.yml:2: lists and maps stand in each other more than 16 deep", "", false},
	{"deep dashes", "version: 1\nkeep: \n" + strings.Repeat("- ", 30000) + "a\n", "relock.yml:3: lists and maps stand in each other more than 16 deep", "", false},
}

func TestParseFileRefuses(t *testing.T) {
	for _, tt := range refusedFiles {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, problems := config.ParseFile([]byte(tt.src), "relock.yml")
			if len(problems) == 0 {
				t.Fatalf("ParseFile(%.60q) reports nothing, want %q", tt.src, tt.want)
			}
			if got := problems[0]; got.Error() != tt.want || got.Hint != tt.hint || got.Severity != provider.SeverityError {
				t.Errorf("ParseFile(%.60q) reports %q with hint %q, want %q with %q", tt.src, got.Error(), got.Hint, tt.want, tt.hint)
			}
		})
	}
}

func TestParseFileReportsEveryProblem(t *testing.T) {
	_, problems := config.ParseFile([]byte("version: 2\nstrict: 1\ntools: auto\n"), "f.yml")
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if diff := cmp.Diff([]int{1, 2, 3}, lines); diff != "" {
		t.Errorf("lines of the problems (-want +got):\n%s\n%v", diff, problems)
	}
}

func TestParseFileReadsWindowsLineEndsAndByteOrderMark(t *testing.T) {
	values := file(t, "\ufeffversion: 1\r\nstrict: true\r\n")
	if got := values["strict"]; got.Line != 2 || got.Items[0] != "true" {
		t.Errorf("strict = %+v, want true on line 2", got)
	}
}

func TestLocate(t *testing.T) {
	tests := []struct {
		files []string
		want  string
		err   string
	}{
		{nil, "", ""},
		{[]string{"main.tf", ".relock.yaml"}, ".relock.yaml", ""},
		{[]string{".github/relock.yml"}, ".github/relock.yml", ""},
		{[]string{".github/relock.yml", ".relock.yml"}, "", ".relock.yml: there is another configuration file, .github/relock.yml"},
	}
	for _, tt := range tests {
		fsys := fstest.MapFS{}
		for _, name := range tt.files {
			fsys[name] = &fstest.MapFile{}
		}
		got, problems := config.Locate(fsys)
		message := ""
		if len(problems) > 0 {
			message = problems[0].Error()
		}
		if got != tt.want || message != tt.err {
			t.Errorf("Locate(%q) = %q, %q, want %q, %q", tt.files, got, message, tt.want, tt.err)
		}
	}
}

func TestInitGivesEveryKeyItsDefault(t *testing.T) {
	values := file(t, string(config.Init()))
	for _, s := range config.Settings {
		if s.Key == "" {
			continue
		}
		if got, ok := values[s.Name()]; !ok {
			t.Errorf("the starting file lacks %s", s.Key)
		} else if want := config.Defaults()[s.Name()].Items; strings.Join(got.Items, ",") != strings.Join(want, ",") {
			t.Errorf("the starting file sets %s to %q, want the default %q", s.Key, got.Items, want)
		}
	}
}

func TestSchemaAcceptsTheStartingFile(t *testing.T) {
	if err := validate(t, config.Init()); err != nil {
		t.Error(err)
	}
}

func TestSchemaRefusesWrongTypesAndUnknownKeys(t *testing.T) {
	for _, tt := range refusedFiles {
		if tt.typed && validate(t, []byte(tt.src)) == nil {
			t.Errorf("the schema accepts %s: %q", tt.name, tt.src)
		}
	}
}

// validate checks a file against the schema, with the keywords that it uses.
func validate(t *testing.T, src []byte) error {
	t.Helper()
	var schema, value any
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(src, &value); err != nil {
		t.Fatal(err)
	}
	// Through JSON, so that numbers are of one type.
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return conforms(t, schema.(map[string]any), value, "")
}

func conforms(t *testing.T, schema map[string]any, value any, at string) error {
	t.Helper()
	for keyword, arg := range schema {
		ok := true
		switch keyword {
		case "$schema", "title", "description", "default", "properties", "required":
		case "type":
			types, several := arg.([]any)
			ok = several && contains(types, jsonType(value)) || jsonType(value) == arg
		case "const":
			ok = cmp.Equal(value, arg)
		case "enum":
			ok = contains(arg.([]any), value)
		case "pattern":
			text, isText := value.(string)
			ok = !isText || regexp.MustCompile(arg.(string)).MatchString(text)
		case "minItems":
			list, isList := value.([]any)
			ok = !isList || len(list) >= int(arg.(float64))
		case "anyOf":
			ok = false
			for _, option := range arg.([]any) {
				ok = ok || conforms(t, option.(map[string]any), value, at) == nil
			}
		case "items":
			list, _ := value.([]any)
			for _, item := range list {
				ok = ok && conforms(t, arg.(map[string]any), item, at) == nil
			}
		case "additionalProperties":
			m, _ := value.(map[string]any)
			if each, ok := arg.(map[string]any); ok {
				for name, v := range m {
					if err := conforms(t, each, v, at+"."+name); err != nil {
						return err
					}
				}
				continue
			}
			properties := schema["properties"].(map[string]any)
			for name, v := range m {
				property, known := properties[name].(map[string]any)
				if !known {
					return fmt.Errorf("%s.%s is unknown", at, name)
				}
				if err := conforms(t, property, v, at+"."+name); err != nil {
					return err
				}
			}
		default:
			t.Fatalf("the schema uses %s, which this test does not know", keyword)
		}
		if !ok {
			return fmt.Errorf("%s: %v is refused by %s %v", at, value, keyword, arg)
		}
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		m, _ := value.(map[string]any)
		if _, ok := m[name.(string)]; !ok {
			return fmt.Errorf("%s.%s is missing", at, name)
		}
	}
	return nil
}

func jsonType(value any) any {
	switch value.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	}
	return ""
}

func contains(list []any, value any) bool {
	for _, v := range list {
		if cmp.Equal(v, value) {
			return true
		}
	}
	return false
}

func FuzzParseFile(f *testing.F) {
	f.Add(config.Init())
	for _, tt := range refusedFiles {
		if len(tt.src) < 1000 {
			f.Add([]byte(tt.src))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		parsed, problems := config.ParseFile(src, "f.yml")
		if len(problems) > 0 {
			return
		}
		if _, problems := config.Resolve(config.Merge(parsed.Values)); len(problems) > 0 {
			t.Errorf("ParseFile accepts %q, Resolve reports %v", src, problems)
		}
	})
}
