package settings_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/settings"
)

// everyKey is a file that an operator gives, with every key at another value
// than its default.
const everyKey = `version: 1 # comment
include: ["envs/**", modules]
exclude:
  - examples/**
tool: opentofu
tool-version: 1.11.4
platforms: all
create: true
keep: [hashicorp/null]
hashes-from: both
hash-source: opentofu
verify:
  severity: {unsigned: error, tool-header: warning}
  accept-re-released: [hashicorp/aws@5.31.0]
  signers:
    hashicorp/*: [34365D9472D7468F, 0c0af313e5fd9f80]
    example.com/corp/tool: [1234567890123456]
registries:
  Registry.Example.com: {token-env: RELOCK_TOKEN_EXAMPLE}
  registry.example.net:8443:
    token-env: RELOCK_TOKEN_NET
unreadable-modules: preserve
module-vars: [{name: prod, values: {environment: prod}, directories: ["prod/**"]}, {name: sandbox, var-files: [sandbox.tfvars, ../common.tfvars.json]}]
strict: true
rules:
  - providers: ["hashicorp/*"]
    directories: [prod/**]
    update-types: [major, minor, patch]
    ignore: true
  - {providers: [azurerm], allow-versions: "< 6.0.0", platforms: [linux_amd64, darwin_arm64, linux_amd64], auto-merge: false, permitted: false}
  - {modules: ["git::https://example.com/*"], update-types: [commit], ignore: true, moving: true}
  - update-types:
      - major
    ignore: false
    ignore-versions: ">= 6.0.0, < 6.0.3"
    hold-until: 2027-01-31
    minimum-age: 2w
    age-unknown: hold
group-by: provider
groups:
  - name: aws
    providers: [hashicorp/aws, hashicorp/awscc]
    directories: ["prod/**"]
  - {name: sandbox-2, directories: [sandbox/**], labels: [own], reviewers: [hubot], team-reviewers: [ops], assignees: [], milestone: v1, draft: true, auto-merge: "", limit: 5}
  - {name: network, modules: ["git::https://example.com/*"]}

pull-request:
  branch-prefix: deps/relock-
  base: [main, release/1.x]
  title: "chore: {{changes}}"
  labels: []
  reviewers: [octocat]
  team-reviewers: [platform-admins]
  assignees: [hubot, mona_corp]
  milestone: "2027 Q1"
  draft: false
  auto-merge: squash
  rebase-when: behind-base
  limit: 3
  commit-message: "build(deps): {{ provider }} {{to}}"
  release-notes: false
dashboard: {issue: true, labels: [page], repository: acme/platform}
comments: {via-apps: false}
unlocked: fail
module-lock: write
check: upgrade
judge: all
downgrades: allow
timeout: 20m
org: {where: [topic=terraform], max-new: 5, pause: true}
terragrunt:
  environments:
    - {name: production, env: {ENVIRONMENT: production}, features: {new-network: true}, directories: ["env/production/**"]}
    - name: staging
      env: {ENVIRONMENT: staging}
`

func operatorFile(t *testing.T, src string) settings.Values {
	t.Helper()
	f, problems := settings.ParseOperatorFile([]byte(src), "relock.yml")
	if len(problems) > 0 {
		t.Fatalf("ParseOperatorFile(%q) reports %v", src, problems)
	}
	return f.Values
}

func parsed[T any](t *testing.T, parse func(string) (T, error), text string) T {
	t.Helper()
	v, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParseFileReadsEveryKey(t *testing.T) {
	t.Parallel()
	pattern := func(text string) provider.Pattern { return parsed(t, provider.ParsePattern, text) }
	constraints := func(text string) *provider.Constraints {
		c := parsed(t, provider.ParseConstraints, text)
		return &c
	}
	yes, no, age := true, false, 14*24*time.Hour
	want := settings.Settings{
		Version: 1, Downgrades: "allow",
		Include: []string{"envs/**", "modules"}, Exclude: []string{"examples/**"}, Tool: provider.OpenTofu,
		ToolVersion: provider.Version{Major: 1, Minor: 11, Patch: 4}, Platforms: settings.PlatformSet{All: true},
		Create: true, Keep: []provider.Pattern{pattern("hashicorp/null")}, HashesFrom: "both", HashSource: "opentofu",
		AcceptReReleased: []provider.ReleasePattern{parsed(t, provider.ParseReleasePattern, "hashicorp/aws@5.31.0")},
		MaxDownload:      4 << 30,
		Severities:       settings.Severities{Raised: map[problem.Code]problem.Severity{"unsigned": problem.SeverityError, "tool-header": problem.SeverityWarning}},
		Signers: provider.Signers{
			pattern("hashicorp/*"):           {"34365D9472D7468F", "0C0AF313E5FD9F80"},
			pattern("example.com/corp/tool"): {"1234567890123456"},
		},
		Registries: []settings.Registry{
			{Host: "registry.example.com", TokenEnv: "RELOCK_TOKEN_EXAMPLE", Place: problem.Place{Path: "relock.yml", Line: 19}},
			{Host: "registry.example.net:8443", TokenEnv: "RELOCK_TOKEN_NET", Place: problem.Place{Path: "relock.yml", Line: 20}},
		},
		Organisation:      settings.Organisation{Where: []settings.Condition{{Key: "topic", Value: "terraform"}}, MaxNew: 5, Pause: true},
		UnreadableModules: "preserve", ModuleLock: "write", Unlocked: "fail", Strict: true, AllowDowngrade: true,
		VariableSets: []settings.VariableSet{
			{Name: "prod", Values: map[string]string{"environment": "prod"}, Directories: []string{"prod/**"}},
			{Name: "sandbox", Files: []string{"sandbox.tfvars", "../common.tfvars.json"}},
		},
		Environments: []settings.EnvironmentSet{
			{Name: "production", Env: map[string]string{"ENVIRONMENT": "production"}, Features: map[string]string{"new-network": "true"}, Directories: []string{"env/production/**"}},
			{Name: "staging", Env: map[string]string{"ENVIRONMENT": "staging"}},
		},
		Policy: policy.Rulebook{
			Rules: []policy.Rule{
				{
					Where:   policy.Where{Providers: []provider.Pattern{pattern("hashicorp/*")}, Directories: []string{"prod/**"}},
					Updates: []provider.Bump{provider.BumpMajor, provider.BumpMinor, provider.BumpPatch}, Ignore: &yes,
					Place: problem.Place{Path: "relock.yml", Line: 26},
				},
				{
					Where: policy.Where{Providers: []provider.Pattern{pattern("azurerm")}}, Allow: constraints("< 6.0.0"), AutoMerge: &no, Permitted: &no,
					Platforms: []provider.Platform{{OS: "linux", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}},
					Place:     problem.Place{Path: "relock.yml", Line: 30},
				},
				{
					Modules: []string{"git::https://example.com/*"}, Updates: []provider.Bump{provider.BumpCommit}, Ignore: &yes, Moving: &yes,
					Place: problem.Place{Path: "relock.yml", Line: 31},
				},
				{
					Updates: []provider.Bump{provider.BumpMajor}, Ignore: &no, Except: constraints(">= 6.0.0, < 6.0.3"),
					HoldUntil: time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC), MinimumAge: &age, UnknownAge: "hold",
					Place: problem.Place{Path: "relock.yml", Line: 32},
				},
			},
			GroupBy: "provider",
			Groups: []policy.Group{
				{
					Name: "aws", Where: policy.Where{Providers: []provider.Pattern{pattern("hashicorp/aws"), pattern("hashicorp/awscc")}, Directories: []string{"prod/**"}},
					Place: problem.Place{Path: "relock.yml", Line: 41},
				},
				{Name: "sandbox-2", Where: policy.Where{Directories: []string{"sandbox/**"}}, Place: problem.Place{Path: "relock.yml", Line: 44}},
				{Name: "network", Modules: []string{"git::https://example.com/*"}, Place: problem.Place{Path: "relock.yml", Line: 45}},
			},
		},
		PullRequest: settings.PullRequest{
			BranchPrefix: "deps/relock-", Base: []string{"main", "release/1.x"}, Title: "chore: {{changes}}",
			CreateLabels: true,
			Reviewers:    []string{"octocat"}, TeamReviewers: []string{"platform-admins"}, Assignees: []string{"hubot", "mona_corp"},
			Milestone: "2027 Q1", AutoMerge: "squash", RebaseWhen: "behind-base", Limit: 3, CommitMessage: "build(deps): {{ provider }} {{to}}",
		},
		Dashboard: settings.Dashboard{Issue: true, Labels: []string{"page"}, Repository: "acme/platform"},
		Check:     "upgrade", Judge: settings.JudgeAll, Command: "auto", Format: "text", Timeout: 20 * time.Minute,
	}
	own := want.PullRequest
	want.GroupPulls = map[string]settings.PullRequest{"aws": own, "network": own}
	own.Labels, own.Reviewers, own.TeamReviewers, own.Assignees = []string{"own"}, []string{"hubot"}, []string{"ops"}, nil
	own.Milestone, own.Draft, own.AutoMerge, own.Limit = "v1", true, "", 5
	want.GroupPulls["sandbox-2"] = own
	got := resolve(t, operatorFile(t, everyKey))
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(provider.Pattern{}), cmpopts.IgnoreFields(settings.Settings{}, "Values")); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	inFile := 0
	for _, v := range got.Values {
		if v.Place.Path != "" {
			inFile++
		}
	}
	if at := got.Values["keep"].Place; at != (problem.Place{Path: "relock.yml", Line: 9}) || inFile < 20 {
		t.Errorf("keep stands at %v of %d places, want relock.yml:9", at, inFile)
	}
}

func TestParseFileReadsEveryKeyOfTheTable(t *testing.T) {
	t.Parallel()
	values := settings.Merge(operatorFile(t, everyKey))
	shown := values.Show()
	for _, s := range settings.All {
		if v := values[s.Name()]; s.Key != "" && v.Source == "default" {
			t.Errorf("the file with every key lacks %s", s.Key)
		}
		for _, f := range s.Fields {
			if name := f.Key[strings.LastIndex(f.Key, ".")+1:]; !strings.Contains(shown, name+": ") {
				t.Errorf("the file with every key lacks %s", f.Key)
			}
		}
	}
}

// TestShowIsAFile holds that what Show prints is a configuration file with the same
// settings; with the defaults one that may lie in a repository.
func TestShowIsAFile(t *testing.T) {
	t.Parallel()
	shown := settings.Merge(operatorFile(t, everyKey)).Show()
	again := settings.Merge(operatorFile(t, shown)).Show()
	sources := regexp.MustCompile(`  # .*`)
	if diff := cmp.Diff(sources.ReplaceAllString(shown, ""), sources.ReplaceAllString(again, "")); diff != "" {
		t.Errorf("settings of what Show prints (-first +then):\n%s", diff)
	}
	if _, problems := settings.ParseFile([]byte(settings.Merge().Show()), "shown.yml"); len(problems) > 0 {
		t.Errorf("no repository may hold what Show prints of the defaults: %v", problems)
	}
}

func TestShowWritesStructuresAsTheFileWould(t *testing.T) {
	t.Parallel()
	shown := settings.Merge(operatorFile(t, everyKey)).Show()
	for _, want := range []string{
		`  signers: {"hashicorp/*": ["34365D9472D7468F", "0c0af313e5fd9f80"], "example.com/corp/tool": ["1234567890123456"]}  # relock.yml:15` + "\n",
		`registries: {"Registry.Example.com": {token-env: "RELOCK_TOKEN_EXAMPLE"}, "registry.example.net:8443": {token-env: "RELOCK_TOKEN_NET"}}  # relock.yml:18` + "\n",
		`groups: [{name: "aws", providers: ["hashicorp/aws", "hashicorp/awscc"], directories: ["prod/**"]}, {name: "sandbox-2", directories: ["sandbox/**"], labels: ["own"], reviewers: ["hubot"], team-reviewers: ["ops"], assignees: [], milestone: "v1", draft: true, auto-merge: "", limit: 5}, {name: "network", modules: ["git::https://example.com/*"]}]  # relock.yml:40` + "\n",
		`  auto-merge: squash  # relock.yml:57` + "\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("Show lacks %s\n%s", want, shown)
		}
	}
	if shown := settings.Merge().Show(); !strings.Contains(shown, "rules: []  # default\n") || !strings.Contains(shown, "\n  auto-merge: \"\"  # default\n") {
		t.Errorf("Show of the defaults:\n%s", shown)
	}
}

func TestOneBaseMayBeWrittenAsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{"main": {"main"}, `""`: nil, "[]": nil, "[main]": {"main"}, "[a, b]": {"a", "b"}} {
		got := resolve(t, file(t, "version: 1\npull-request: {base: "+text+"}\n")).PullRequest.Base
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("base: %s (-want +got):\n%s", text, diff)
		}
	}
}

func TestMinimumAges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0d": 0, "12h": 12 * time.Hour, "3d": 72 * time.Hour, "2w": 14 * 24 * time.Hour} {
		rules := resolve(t, file(t, "version: 1\nrules: [{minimum-age: "+text+"}]\n")).Policy.Rules
		if len(rules) != 1 || rules[0].MinimumAge == nil || *rules[0].MinimumAge != want {
			t.Errorf("minimum-age: %s gives %+v, want %s", text, rules, want)
		}
	}
}

// TestOnlyAnOperatorNamesCredentials holds the rule that whoever writes to a
// repository does not choose who gets the runner's secrets.
func TestOnlyAnOperatorNamesCredentials(t *testing.T) {
	t.Parallel()
	src := []byte("version: 1\nregistries:\n  example.com: {token-env: RELOCK_TOKEN_X}\n")
	if _, problems := settings.ParseOperatorFile(src, "/etc/relock.yml"); len(problems) > 0 {
		t.Errorf("ParseOperatorFile reports %v", problems)
	}
	_, problems := settings.ParseFile(src, ".github/relock.yml")
	const want = ".github/relock.yml:2: registries must not be in a repository's own configuration file, since it chooses who gets credentials"
	if len(problems) != 1 || problems[0].String() != want || problems[0].Hint != "keep it in a file outside of the repository, and name that with --config" {
		t.Errorf("ParseFile reports %+v, want %q", problems, want)
	}
}

// sets are so many sets of values.
func sets(n int) string {
	text := ""
	for i := range n {
		text += fmt.Sprintf("  - {name: s%d, values: {a: b}}\n", i)
	}
	return text
}

// refusedFiles are files with one problem each and what is said of it.
var refusedFiles = []struct {
	name, src, want, hint string
	typed                 bool // the JSON schema must refuse it too
}{
	{"unknown key near another", "version: 1\nplatfroms: all\n", `relock.yml:2: unknown key "platfroms"`, `did you mean "platforms"?`, true},
	{"key of a section at the top", "version: 1\nreviewers: [a]\n", `relock.yml:2: unknown key "reviewers"`, `did you mean "pull-request.reviewers"?`, true},
	{"unknown key in a section", "version: 1\npull-request:\n  lables: [a]\n", `relock.yml:3: unknown key "pull-request.lables"`, `did you mean "pull-request.labels"?`, true},
	{"unknown key like no other", "version: 1\npull-request: {colour: red}\n", `relock.yml:2: unknown key "pull-request.colour"`, "known keys here are branch-prefix, base, title, labels, reviewers, team-reviewers, assignees, milestone, draft, auto-merge, rebase-when, limit, commit-message, release-notes", true},
	{"input in the file", "version: 1\ndirectories: [a]\n", `relock.yml:2: unknown key "directories"`, "directories is an input of the Action, not a key of the file", true},
	{"flag in the file", "version: 1\nformat: json\n", `relock.yml:2: unknown key "format"`, "--format is a flag of the command line, not a key of the file", true},
	{"secret in the file", "version: 1\ntoken: abc\n", `relock.yml:2: unknown key "token"`, "token is an input of the Action, not a key of the file", true},
	{"dotted key", "version: 1\npull-request.base: main\n", `relock.yml:2: unknown key "pull-request.base"`, "write base as a key under pull-request", true},
	{"list of sets that is one of texts", "version: 1\nmodule-vars: [a]\n", "relock.yml:2: module-vars must be names and texts, like {environment: prod}, or a list of sets of values", "", true},
	{"map that is a list", "version: 1\nverify: {severity: [a]}\n", "relock.yml:2: verify.severity must be names and texts, like {environment: prod}", "", true},
	{"set without a name", "version: 1\nmodule-vars:\n  - values: {a: b}\n", "relock.yml:3: module-vars[].name is missing", "", true},
	{"set without values", "version: 1\nmodule-vars:\n  - name: prod\n    directories: [live]\n", "relock.yml:3: module-vars: the set prod has no values", "", false},
	{"set with an unknown key", "version: 1\nmodule-vars:\n  - name: prod\n    value: {a: b}\n", `relock.yml:4: unknown key "module-vars[].value"`, `did you mean "module-vars[].values"?`, true},
	{"set with a name for nobody", "version: 1\nmodule-vars:\n  - name: a b\n    values: {a: b}\n", `relock.yml:3: module-vars[].name: "a b" is not a name of up to 50 letters, digits, dots, dashes and underscores`, "", false},
	{"two sets of one name", "version: 1\nmodule-vars:\n  - {name: a, values: {A: b}}\n  - {name: a, values: {A: c}}\n", `relock.yml:4: module-vars: there is another set "a", relock.yml:3`, "", false},
	{"more sets than there may be", "version: 1\nmodule-vars:\n" + sets(17), "relock.yml:19: module-vars: there are 17 sets, and there may be 16", "", true},
	{"variable file that is none", "version: 1\nmodule-vars:\n  - name: a\n    var-files: [prod.json]\n", `relock.yml:4: module-vars[].var-files: "prod.json" is no variable file; it must end in .tfvars or .tfvars.json`, "", false},
	{"variable file elsewhere", "version: 1\nmodule-vars:\n  - name: a\n    var-files: [/etc/prod.tfvars]\n", `relock.yml:4: module-vars[].var-files: "/etc/prod.tfvars" is not relative to the root module`, "", false},
	{"map of lists", "version: 1\nmodule-vars: {a: [b]}\n", "relock.yml:2: module-vars must be names and texts, like {environment: prod}, or a list of sets of values", "", true},
	{"variable of no environment", "version: 1\nterragrunt:\n  environments:\n    - name: a\n      env: {a-b: c}\n", `relock.yml:5: terragrunt.environments[].env: "a-b" is not the name of a variable of the environment`, "", false},
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
	{"list for a text", "version: 1\npull-request:\n  milestone: [main]\n", "relock.yml:3: pull-request.milestone must be one line of text", "", true},
	{"number for a base", "version: 1\npull-request:\n  base: 1\n", "relock.yml:3: pull-request.base must be a text or a list of texts, like [a, b]", "", true},
	{"text for a boolean", "version: 1\nstrict: yes\n", "relock.yml:2: strict must be true or false", "", true},
	{"number for a text", "version: 1\ntool-version: 1.11\n", "relock.yml:2: tool-version must be one line of text", `write it in quotes: "1.11"`, true},
	{"text for a section", "version: 1\npull-request: main\n", "relock.yml:2: pull-request must hold keys and values", "", true},
	{"unknown tool", "version: 1\ntool: tofu\n", `relock.yml:2: tool: "tofu" is not one of auto, terraform, opentofu`, "", true},
	{"one platform without a list", "version: 1\nplatforms: linux_amd64\n", "relock.yml:2: platforms must be auto, all or a list like [linux_amd64, darwin_arm64]", "", true},
	{"no platform", "version: 1\nplatforms: []\n", "relock.yml:2: platforms: no platform is given; it must be auto, all or a list like linux_amd64, darwin_arm64", "", true},
	{"misspelt platform", "version: 1\nplatforms: [linux_amd64, darwn_arm64]\n", `relock.yml:2: platforms: providers are not built for a platform "darwn_arm64"; did you mean darwin_arm64?`, "", true},
	{"bad platform, with its own line", "version: 1\nplatforms:\n  - linux_amd64\n  - darwin\n", `relock.yml:4: platforms: invalid platform "darwin": it must be like linux_amd64`, "", true},
	{"bad pattern", "version: 1\nkeep: [\"a/b/c/d\"]\n", `relock.yml:2: keep: invalid provider pattern "a/b/c/d": it must be like hashicorp/aws or */aws`, "", false},
	{"glob out of the repository", "version: 1\ninclude: [../other]\n", `relock.yml:2: include: "../other" is not a glob of directories; it must be relative to the repository, like envs/** or */prod`, "", false},
	{"absolute glob", "version: 1\ninclude: [/etc]\n", `relock.yml:2: include: "/etc" is not a glob of directories; it must be relative to the repository, like envs/** or */prod`, "", false},
	{"branch that git refuses", "version: 1\npull-request: {base: \"a b\"}\n", `relock.yml:2: pull-request.base: "a b" is not a name that git accepts for a branch`, "", false},
	{"branch prefix that git refuses", "version: 1\npull-request: {branch-prefix: \"x.lock/\"}\n", `relock.yml:2: pull-request.branch-prefix: "x.lock/" is not what git accepts at the beginning of a branch name`, "", false},
	{"empty branch prefix", "version: 1\npull-request: {branch-prefix: \"\"}\n", `relock.yml:2: pull-request.branch-prefix: "" is not what git accepts at the beginning of a branch name`, "", false},
	{"empty base in a list", "version: 1\npull-request: {base: [main, \"\"]}\n", `relock.yml:2: pull-request.base: "" is not a name that git accepts for a branch`, "", false},
	{"unknown group-by", "version: 1\ngroup-by: team\n", `relock.yml:2: group-by: "team" is not one of all, provider, directory, namespace`, "", true},
	{"timeout without a unit", "version: 1\ntimeout: \"90\"\n", `relock.yml:2: timeout: "90" is no time like 90s, 20m or 1h30m`, "", false},
	{"unknown hash source", "version: 1\nhash-source: me\n", `relock.yml:2: hash-source: "me" is not one of "", opentofu`, "", true},
	{"unknown merge method", "version: 1\npull-request: {auto-merge: true}\n", `relock.yml:2: pull-request.auto-merge must be one of "", squash, merge, rebase`, "", true},
	{"unknown placeholder", "version: 1\npull-request:\n  title: \"Bump {{ name }}\"\n", `relock.yml:3: pull-request.title: "{{ name }}" is not a placeholder; known are {{changes}}, {{group}}, {{provider}}, {{from}}, {{to}}, {{directories}}, {{base}}`, "", false},
	{"open placeholder", "version: 1\npull-request:\n  commit-message: \"x {{to\"\n", `relock.yml:3: pull-request.commit-message: "x {{to" holds braces that are no placeholder; known are {{changes}}, {{group}}, {{provider}}, {{from}}, {{to}}, {{directories}}, {{base}}`, "", false},
	{"merge conflict", "version: 1\n<<<<<<< HEAD\nstrict: true\n=======\nstrict: false\n>>>>>>> topic\n", "relock.yml:2: the file has the markers of a merge conflict", "finish the merge: `git status` lists the files", false},
	{"placeholder without quotes", "version: 1\npull-request:\n  title: {{to}}\n", "relock.yml:3: could not find flow map content", "", false},
	{"long template", "version: 1\npull-request: {title: " + strings.Repeat("x", 257) + "}\n", "relock.yml:2: pull-request.title: the template is longer than 256 bytes", "", false},
	{"reviewer with @", "version: 1\npull-request: {reviewers: [\"@octocat\"]}\n", `relock.yml:2: pull-request.reviewers: "@octocat" is not the name of a user; it must be like octocat, without @`, "", false},
	{"assignee that is a path", "version: 1\npull-request: {assignees: [a/b]}\n", `relock.yml:2: pull-request.assignees: "a/b" is not the name of a user; it must be like octocat, without @`, "", false},
	{"team with its organisation", "version: 1\npull-request: {team-reviewers: [corp/admins]}\n", `relock.yml:2: pull-request.team-reviewers: "corp/admins" is not a team; it must be like platform-admins, without the organisation`, "", false},
	{"number for a milestone", "version: 1\npull-request: {milestone: 3}\n", "relock.yml:2: pull-request.milestone must be one line of text", `write it in quotes: "3"`, true},
	{"text for draft", "version: 1\npull-request: {draft: \"true\"}\n", "relock.yml:2: pull-request.draft must be true or false", "", true},
	{"no pull request at all", "version: 1\npull-request: {limit: 0}\n", `relock.yml:2: pull-request.limit: "0" is not a number from 1 up`, "", true},
	{"half a pull request", "version: 1\npull-request: {limit: 1.5}\n", "relock.yml:2: pull-request.limit must be a number", "", true},
	{"signers that are no map", "version: 1\nverify:\n  signers: [a]\n", "relock.yml:3: verify.signers must be names and lists of texts, like {a: [b, c]}", "", true},
	{"signers without a list", "version: 1\nverify:\n  signers: {hashicorp/aws: 34365D9472D7468F}\n", "relock.yml:3: verify.signers must be names and lists of texts, like {a: [b, c]}", "", true},
	{"a severity that is none", "version: 1\nverify:\n  severity: {unsigned: fatal}\n", `relock.yml:3: verify.severity: unsigned: "fatal" is no severity: it must be error, warning or note`, "", false},
	{"no signer", "version: 1\nverify:\n  signers: {hashicorp/aws: []}\n", "relock.yml:3: verify.signers must be names and lists of texts, like {a: [b, c]}", "", true},
	{"part of a fingerprint for a signer", "version: 1\nverify:\n  signers:\n    hashicorp/aws:\n      - C874011F0AB405110D02105534365D9472D7468F\n      - 105534365D9472D7468F\n", `relock.yml:6: verify.signers: "105534365D9472D7468F" is not the fingerprint of a key; it must be 40 hexadecimal digits, or 64, or the last 16 of them`, "", false},
	{"signers of no pattern", "version: 1\nverify:\n  signers: {a//b: [34365D9472D7468F]}\n", `relock.yml:3: verify.signers: invalid provider pattern "a//b": it must be like hashicorp/aws or */aws`, "", false},
	{"rules that are a map", "version: 1\nrules: {ignore: true}\n", "relock.yml:2: rules must be a list of entries with keys and values", "", true},
	{"rules of text", "version: 1\nrules: [aws]\n", "relock.yml:2: rules must be a list of entries with keys and values", "", true},
	{"nothing for rules", "version: 1\nrules:\n", "relock.yml:2: rules must be a list of entries with keys and values", "", true},
	{"rule that does nothing", "version: 1\nrules:\n  - ignore: true\n  - providers: [aws]\n    update-types: [major]\n", "relock.yml:4: rules: the rule does nothing; it must hold ignore, allow-versions, ignore-versions, moving, hold-until, minimum-age, age-unknown, auto-merge, permitted or platforms", "", false},
	{"rule of no platform", "version: 1\nrules:\n  - platforms: []\n", "relock.yml:3: rules: platforms is empty; it must be a list like [linux_amd64, darwin_arm64]", "", false},
	{"rule of a misspelt platform", "version: 1\nrules:\n  - platforms: [darwn_arm64]\n", `relock.yml:3: rules[].platforms: providers are not built for a platform "darwn_arm64"; did you mean darwin_arm64?`, "", false},
	{"rule about providers and modules", "version: 1\nrules:\n  - {modules: [a], providers: [aws], ignore: true}\n", "relock.yml:3: rules: providers is about providers, and the rule is about modules; write two rules", "", false},
	{"rule of moving tags without modules", "version: 1\nrules:\n  - moving: true\n", "relock.yml:3: rules: moving and the update type commit are about modules; name some with modules, like git::https://example.com/*", "", false},
	{"permission for some updates", "version: 1\nrules:\n  - {permitted: false, update-types: [major]}\n", "relock.yml:3: rules: permitted does not depend on the kind of an update; put it in a rule without update-types", "", false},
	{"permission on every host", "version: 1\nrules:\n  - {providers: [registry.terraform.io/acme/*, hashicorp/*], permitted: true}\n", "relock.yml:3: rules: with permitted: true, hashicorp/* would permit such providers of every host; write registry.terraform.io/hashicorp/* or registry.opentofu.org/hashicorp/*, or the host that you mean", "", false},
	{"permission on a host that is a wildcard", "version: 1\nrules:\n  - {providers: ['*/hashicorp/aws'], permitted: true}\n", "relock.yml:3: rules: with permitted: true, */hashicorp/aws would permit such providers of every host; write registry.terraform.io/hashicorp/aws or registry.opentofu.org/hashicorp/aws, or the host that you mean", "", false},
	{"permission for a type", "version: 1\nrules:\n  - {providers: [aws], permitted: true}\n", "relock.yml:3: rules: with permitted: true, aws would permit such providers of every host; write registry.terraform.io/*/aws or registry.opentofu.org/*/aws, or the host that you mean", "", false},
	{"rule of platforms for some updates", "version: 1\nrules:\n  - {platforms: [linux_amd64], update-types: [major]}\n", "relock.yml:3: rules: platforms do not depend on the kind of an update; put them in a rule without update-types", "", false},
	{"unknown key of a rule", "version: 1\nrules:\n  - ignore: true\n    provider: [aws]\n", `relock.yml:4: unknown key "rules[].provider"`, `did you mean "rules[].providers"?`, true},
	{"key of a rule like no other", "version: 1\nrules:\n  - colour: red\n", `relock.yml:3: unknown key "rules[].colour"`, "known keys here are providers, modules, directories, update-types, ignore, allow-versions, ignore-versions, moving, hold-until, minimum-age, age-unknown, auto-merge, permitted, platforms", true},
	{"key of a rule at the top", "version: 1\nminimum-age: 3d\n", `relock.yml:2: unknown key "minimum-age"`, `did you mean "rules[].minimum-age"?`, true},
	{"dotted key of a rule", "version: 1\nrules: [{a.b: 1}]\n", `relock.yml:2: unknown key "rules[].a.b"`, "write b as a key under a", true},
	{"text for a rule's providers", "version: 1\nrules: [{ignore: true, providers: aws}]\n", "relock.yml:2: rules[].providers must be a list of texts, like [a, b]", "", true},
	{"bad pattern in a rule", "version: 1\nrules:\n  - ignore: true\n    providers:\n      - aws\n      - a//b\n", `relock.yml:6: rules[].providers: invalid provider pattern "a//b": it must be like hashicorp/aws or */aws`, "", false},
	{"bad glob in a rule", "version: 1\nrules: [{ignore: true, directories: [/prod]}]\n", `relock.yml:2: rules[].directories: "/prod" is not a glob of directories; it must be relative to the repository, like envs/** or */prod`, "", false},
	{"unknown update type", "version: 1\nrules:\n  - ignore: true\n    update-types: [major, huge]\n", `relock.yml:4: rules[].update-types: "huge" is not one of major, minor, patch, commit`, "", true},
	{"text for ignore", "version: 1\nrules: [{ignore: all}]\n", "relock.yml:2: rules[].ignore must be true or false", "", true},
	{"number for allow-versions", "version: 1\nrules: [{allow-versions: 6.0}]\n", "relock.yml:2: rules[].allow-versions must be one line of text", `write it in quotes: "6.0"`, true},
	{"bad allow-versions", "version: 1\nrules: [{allow-versions: \"<6,\"}]\n", `relock.yml:2: rules[].allow-versions: invalid version constraints "<6,": a constraint is empty`, "", false},
	{"empty ignore-versions", "version: 1\nrules: [{ignore-versions: \"\"}]\n", `relock.yml:2: rules[].ignore-versions: invalid version constraints "": a constraint is empty`, "", false},
	{"date that is none", "version: 1\nrules: [{hold-until: 2027-02-30}]\n", `relock.yml:2: rules[].hold-until: "2027-02-30" is not a date like 2027-01-31`, "", false},
	{"date with a time", "version: 1\nrules: [{hold-until: 2027-01-31T00:00:00Z}]\n", `relock.yml:2: rules[].hold-until: "2027-01-31T00:00:00Z" is not a date like 2027-01-31`, "", false},
	{"age without a unit", "version: 1\nrules: [{minimum-age: 3}]\n", "relock.yml:2: rules[].minimum-age must be one line of text", `write it in quotes: "3"`, true},
	{"age in months", "version: 1\nrules: [{minimum-age: 3m}]\n", `relock.yml:2: rules[].minimum-age: "3m" is not an age like 12h, 3d or 2w`, "", false},
	{"age beyond all releases", "version: 1\nrules: [{minimum-age: 10000d}]\n", `relock.yml:2: rules[].minimum-age: "10000d" is not an age like 12h, 3d or 2w`, "", false},
	{"unknown choice for unknown ages", "version: 1\nrules: [{age-unknown: skip}]\n", `relock.yml:2: rules[].age-unknown: "skip" is not one of allow, hold`, "", true},
	{"groups that are a map", "version: 1\ngroups: {aws: [aws]}\n", "relock.yml:2: groups must be a list of entries with keys and values", "", true},
	{"group without a name", "version: 1\ngroups:\n  - providers: [aws]\n", "relock.yml:3: groups[].name is missing", "", true},
	{"group with an odd name", "version: 1\ngroups: [{name: \"a b\", providers: [aws]}]\n", `relock.yml:2: groups[].name: "a b" is not a name of up to 50 letters, digits, dots, dashes and underscores`, "", false},
	{"group that takes everything", "version: 1\ngroups:\n  - name: a\n    providers: []\n", "relock.yml:3: groups: the group takes everything; it must name providers, modules or directories", "", false},
	{"group of providers and modules", "version: 1\ngroups:\n  - {name: a, modules: [\"*\"], providers: [aws]}\n", "relock.yml:3: groups: the group is about providers and modules; write two groups", "", false},
	{"two groups of one name", "version: 1\ngroups:\n  - name: a\n    providers: [aws]\n  - providers: [null]\n    name: a\n", "relock.yml:5: groups[].providers must be a list of texts, like [a, b]", "", true},
	{"second group of a name", "version: 1\ngroups:\n  - name: a\n    providers: [aws]\n  - providers: [azurerm]\n    name: a\n", `relock.yml:5: groups: there is another group "a", relock.yml:3`, "", false},
	{"long label", "version: 1\npull-request: {labels: [" + strings.Repeat("x", 51) + "]}\n", `relock.yml:2: pull-request.labels: "` + strings.Repeat("x", 51) + `" is not a label; GitHub accepts up to 50 characters`, "", false},
	{"control character", "version: 1\npull-request: {labels: [\"a\\nb\"]}\n", `relock.yml:2: pull-request.labels: "a\nb" holds a control character`, "", false},
	{"key given twice", "version: 1\nstrict: true\nstrict: false\n", `relock.yml:3: mapping key "strict" already defined at [2:1]`, "", false},
	{"unclosed list", "version: 1\nkeep: [a\n", "relock.yml:2: sequence end token ']' not found", "", false},
	{"tab", "version: 1\nkeep:\n\t- a\n", `relock.yml:3: found character '	' that cannot start any token`, "", false},
	{"alias", "version: 1\nkeep: &k [a]\nexclude: *k\n", "relock.yml:2: keep must be a list of texts, like [a, b]", "", false},
	{"not text", "version: 1\n# \xff\n", "relock.yml: the configuration file is not UTF-8 text", "", false},
	{"too large", "version: 1\n" + strings.Repeat("# comment\n", 7000), "relock.yml: the configuration file is larger than 64 KiB", "", false},
	{"deep brackets", "version: 1\nkeep: " + strings.Repeat("[", 30000) + "\n", "relock.yml:2: lists and maps are nested more than 16 deep", "", false},
	{"deep dashes", "version: 1\nkeep: \n" + strings.Repeat("- ", 30000) + "a\n", "relock.yml:3: lists and maps are nested more than 16 deep", "", false},
}

func TestParseFileRefuses(t *testing.T) {
	for _, tt := range refusedFiles {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, problems := settings.ParseFile([]byte(tt.src), "relock.yml")
			if len(problems) == 0 {
				t.Fatalf("ParseFile(%.60q) reports nothing, want %q", tt.src, tt.want)
			}
			if got := problems[0]; got.String() != tt.want || got.Hint != tt.hint || got.Severity != problem.SeverityError {
				t.Errorf("ParseFile(%.60q) reports %q with hint %q, want %q with %q", tt.src, got.String(), got.Hint, tt.want, tt.hint)
			}
		})
	}
}

func TestParseOperatorFileRefuses(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"registries: [a]":                                      "f.yml:2: registries must be names with keys and values each",
		"registries: {example.com: RELOCK_TOKEN}":              "f.yml:2: registries must be names with keys and values each",
		"registries: {example.com: {}}":                        "f.yml:2: registries.*.token-env is missing",
		"registries: {example.com: {token: x}}":                `f.yml:2: unknown key "registries.*.token"`,
		"registries: {a_b: {token-env: RELOCK_TOKEN_A}}":       `f.yml:2: registries: "a_b" is not the name of a host; it must be like registry.example.com`,
		"registries: {example.com: {token-env: GITHUB_TOKEN}}": `f.yml:2: registries.*.token-env: "GITHUB_TOKEN" is not a variable like RELOCK_TOKEN_EXAMPLE; tokens come from variables with that beginning only`,
		"registries:\n  example.com: {token-env: RELOCK_TOKEN_A}\n  EXAMPLE.com: {token-env: RELOCK_TOKEN_B}\n": "f.yml:4: registries: example.com is named twice, also in f.yml:3",
	} {
		_, problems := settings.ParseOperatorFile([]byte("version: 1\n"+src+"\n"), "f.yml")
		if len(problems) == 0 || problems[0].String() != want {
			t.Errorf("ParseOperatorFile(%q) reports %v, want %q", src, problems, want)
		}
	}
}

func TestParseFileReportsEveryProblem(t *testing.T) {
	_, problems := settings.ParseFile([]byte("version: 2\nstrict: 1\ntools: auto\n"), "f.yml")
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Place.Line)
	}
	if diff := cmp.Diff([]int{1, 2, 3}, lines); diff != "" {
		t.Errorf("lines of the problems (-want +got):\n%s\n%v", diff, problems)
	}
}

func TestParseFileReadsWindowsLineEndsAndByteOrderMark(t *testing.T) {
	values := file(t, "\ufeffversion: 1\r\nstrict: true\r\n")
	if got := values["strict"]; got.Place.Line != 2 || values.Text("strict") != "true" {
		t.Errorf("strict = %+v, want true on line 2", got)
	}
}

func TestReadFileSearches(t *testing.T) {
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
			fsys[name] = &fstest.MapFile{Data: []byte("version: 1\n")}
		}
		got, err := settings.ReadFile(fsys, "")
		message := ""
		if err != nil {
			message = err.Error()
		}
		if got.Name != tt.want || message != tt.err {
			t.Errorf("ReadFile(%q) = %q, %q, want %q, %q", tt.files, got.Name, message, tt.want, tt.err)
		}
	}
}

func TestSchemaAcceptsEveryKey(t *testing.T) {
	if err := validate(t, []byte(everyKey)); err != nil {
		t.Error(err)
	}
}

func TestSchemaDescribesEveryKey(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(settings.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	described := func(key string) bool {
		at := schema
		for name := range strings.SplitSeq(strings.ReplaceAll(key, "[]", ".[]"), ".") {
			next := "properties"
			switch name {
			case "[]":
				next = "items"
				if options, ok := at["anyOf"].([]any); ok {
					at, _ = options[1].(map[string]any)
				}
			case "*":
				next = "additionalProperties"
			}
			at, _ = at[next].(map[string]any)
			if next == "properties" {
				at, _ = at[name].(map[string]any)
			}
		}
		text, _ := at["description"].(string)
		return text != ""
	}
	for _, s := range settings.All {
		for _, row := range append([]settings.Setting{s}, s.Fields...) {
			if row.Key != "" && !described(row.Key) {
				t.Errorf("the schema does not describe %s", row.Key)
			}
		}
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
	if err := json.Unmarshal(settings.Schema(), &schema); err != nil {
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
			ok = several && contains(types, jsonType(value)) || jsonType(value) == arg || arg == "integer" && isInteger(value)
		case "minimum":
			number, isNumber := value.(float64)
			ok = !isNumber || number >= arg.(float64)
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
		case "maxItems":
			list, isList := value.([]any)
			ok = !isList || len(list) <= int(arg.(float64))
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

func isInteger(value any) bool {
	number, ok := value.(float64)
	return ok && number == math.Trunc(number)
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
	f.Add(settings.Init(settings.Found{}, "v1"))
	f.Add([]byte(everyKey))
	for _, tt := range refusedFiles {
		if len(tt.src) < 1000 {
			f.Add([]byte(tt.src))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		settings.ParseFile(src, "f.yml")
		parsed, problems := settings.ParseOperatorFile(src, "f.yml")
		if len(problems) > 0 {
			return
		}
		// Drafts that shall merge by themselves are seen where all sources are together.
		drafts := func(d problem.Problem) bool { return strings.Contains(d.Message, "a draft is not merged") }
		if _, problems := settings.Resolve(settings.Merge(parsed.Values)); len(slices.DeleteFunc(problems, drafts)) > 0 {
			t.Errorf("ParseOperatorFile accepts %q, Resolve reports %v", src, problems)
		}
		shown := settings.Merge(parsed.Values).Show()
		if _, problems := settings.ParseOperatorFile([]byte(shown), "shown.yml"); len(problems) > 0 {
			t.Errorf("Show prints of %q what no file may say: %v\n%s", src, problems, shown)
		}
	})
}

func TestDraftsDoNotMergeByThemselves(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"all":      {"version: 1\npull-request: {draft: true, auto-merge: squash}\n", "relock.yml:2: a draft is not merged"},
		"a_group":  {"version: 1\npull-request: {auto-merge: squash}\ngroups: [{name: a, providers: [a/b], draft: true}]\n", "relock.yml:3: group a: a draft is not merged"},
		"not_here": {"version: 1\npull-request: {draft: true}\ngroups: [{name: a, providers: [a/b], draft: false, auto-merge: merge}]\n", ""},
	} {
		file, problems := settings.ParseFile([]byte(test.text), "relock.yml")
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		_, problems = settings.Resolve(settings.Merge(file.Values))
		if (test.want != "") != (len(problems) == 1) || test.want != "" && !strings.Contains(problems[0].String(), test.want) {
			t.Errorf("%s: problems = %v, want %q", name, problems, test.want)
		}
	}
}

// operatorsMistakes are files of an operator with one problem each.
var operatorsMistakes = []struct{ name, src, want, hint string }{
	{"an unknown key", "enforced:\n  plattforms: all\n", `central.yml:3: unknown key "enforced.plattforms"`, `did you mean "platforms"?`},
	{"an unknown key of a section", "enforced:\n  pull-request:\n    limits: 3\n", `central.yml:4: unknown key "enforced.pull-request.limits"`, `did you mean "pull-request.limit"?`},
	{"an unknown key of a rule", "enforced:\n  rules:\n    - ignores: true\n", `central.yml:4: unknown key "enforced.rules[].ignores"`, `did you mean "rules[].ignore"?`},
	{"itself", "enforced:\n  enforced: {strict: true}\n", `central.yml:3: unknown key "enforced.enforced"`, ""},
	{"another case", "Enforced: {strict: true}\n", `central.yml:2: unknown key "Enforced"`, ""},
	{"a value that is wrong", "enforced:\n  tool: tofu\n", `central.yml:3: tool: "tofu" is not one of auto, terraform, opentofu`, ""},
	{"no keys", "enforced: strict\n", "central.yml:2: enforced must hold keys and values", ""},
	{"what no repository may say", "enforced:\n  org: {pause: true}\n", "central.yml:3: org.pause cannot be enforced, since no repository has a say in it", "write it without enforced"},
	{"the version", "enforced:\n  version: 1\n", "central.yml:3: version cannot be enforced, since no repository has a say in it", "write it without enforced"},
	{"twice", "enforced:\n  strict: true\nstrict: false\n", "central.yml:3: strict is in line 4, too, where it would have no effect", "keep one of them"},
	{"nothing", "enforced:\n  rules: []\n", "central.yml:3: rules is empty, so that nothing is enforced", ""},
	{"no names", "enforced:\n  module-vars: {}\n", "central.yml:3: module-vars is empty, so that nothing is enforced", ""},
}

func TestMistakesOfAnOperator(t *testing.T) {
	t.Parallel()
	for _, tt := range operatorsMistakes {
		_, problems := settings.ParseOperatorFile([]byte("version: 1\n"+tt.src), "central.yml")
		if len(problems) != 1 || problems[0].String() != tt.want || tt.hint != "" && problems[0].Hint != tt.hint {
			t.Errorf("%s: ParseOperatorFile reports %q, want %q", tt.name, problems, tt.want)
		}
	}
	if _, problems := settings.ParseOperatorFile([]byte("enforced: {version: 1}\n"), "central.yml"); len(problems) == 0 {
		t.Error("a version that is enforced counts as the file's")
	}
}

// escapes are files of a repository that would get round what is enforced by the form
// of YAML, by another name of a key or by another place. None is read: the repository
// fails, and nothing is written to it.
var escapes = map[string]string{
	"an alias":                   "exclude: &all [linux_amd64]\nplatforms: *all\n",
	"an anchor":                  "platforms: &mine [darwin_arm64]\n",
	"a merge key":                "<<: {platforms: [darwin_arm64]}\n",
	"a merge key in a section":   "pull-request:\n  <<: {auto-merge: squash}\n",
	"the key twice":              "platforms: all\nplatforms: [darwin_arm64]\n",
	"the key twice, quoted":      "platforms: all\n\"platforms\": [darwin_arm64]\n",
	"the key twice, escaped":     "platforms: all\n\"plat\\u0066orms\": [darwin_arm64]\n",
	"the section twice":          "pull-request: {draft: true}\npull-request: {auto-merge: squash}\n",
	"another case":               "Platforms: [darwin_arm64]\n",
	"the flag's name":            "platform: [darwin_arm64]\n",
	"a dotted key":               "pull-request.auto-merge: squash\n",
	"a tag":                      "platforms: !!seq [darwin_arm64]\n",
	"a tagged key":               "!!str platforms: [darwin_arm64]\n",
	"a complex key":              "? [platforms]\n: [darwin_arm64]\n",
	"what an operator may say":   "org: {pause: true}\n",
	"enforcing":                  "enforced: {platforms: [darwin_arm64]}\n",
	"enforcing nothing":          "enforced: {}\n",
	"a second document":          "platforms: all\n---\nversion: 1\nplatforms: [darwin_arm64]\n",
	"more than a file may have":  "# " + strings.Repeat("x", settings.MaxFileSize) + "\nplatforms: all\n",
	"settings for one directory": "directories: {prod: {platforms: all}}\n",
}

func TestEscapesAreNotRead(t *testing.T) {
	t.Parallel()
	for name, src := range escapes {
		if f, problems := settings.ParseFile([]byte("version: 1\n"+src), "relock.yml"); len(problems) == 0 {
			t.Errorf("%s is read: %v", name, f.Values)
		}
	}
}
