package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/settings"
)

// environment is a getenv over a map.
func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func file(t *testing.T, src string) settings.Values {
	t.Helper()
	f, problems := settings.ParseFile([]byte(src), "relock.yml")
	if len(problems) > 0 {
		t.Fatalf("ParseFile(%q) reports %v", src, problems)
	}
	return f.Values
}

func resolve(t *testing.T, strongestFirst ...settings.Values) settings.Settings {
	t.Helper()
	c, problems := settings.Resolve(settings.Merge(strongestFirst...))
	if len(problems) > 0 {
		t.Fatalf("Resolve reports %v", problems)
	}
	return c
}

func TestResolveWithoutSourcesGivesDefaults(t *testing.T) {
	want := settings.Settings{
		Version: 1, Include: []string{"**"}, Downgrades: "keep", Command: "auto", Format: "text",
		HashesFrom:  "methods",
		Judge:       settings.JudgeChanged,
		MaxDownload: 4 << 30, Organisation: settings.Organisation{MaxNew: 50}, UnreadableModules: "fail", ModuleLock: "keep", Unlocked: "warn", Policy: policy.Rulebook{GroupBy: "all"},
		PullRequest: settings.PullRequest{
			BranchPrefix: "relock/", Labels: []string{"dependencies", "terraform"}, RebaseWhen: "auto", Limit: 10, ReleaseNotes: true,
		},
		CommandsViaApps: true, Values: settings.Merge(),
	}
	got := resolve(t)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(provider.Pattern{}, settings.Value{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestSourcesOutrankEachOther(t *testing.T) {
	flags := settings.Flags(map[string][]string{"tool": {"terraform"}})
	inputs := settings.Inputs(environment(map[string]string{"INPUT_TOOL": "opentofu", "INPUT_STRICT": "true"}))
	fromFile := file(t, "version: 1\ntool: auto\nstrict: false\ncreate: true\n")
	tests := []struct {
		name                       string
		layers                     []settings.Values
		tool                       provider.ToolName
		strict, create             bool
		toolFrom, strictFrom, cFrm string
	}{
		{"flags over inputs over file", []settings.Values{flags, inputs, fromFile}, provider.Terraform, true, true, "flag --tool", "input strict", "relock.yml:4"},
		{"inputs over file", []settings.Values{nil, inputs, fromFile}, provider.OpenTofu, true, true, "input tool", "input strict", "relock.yml:4"},
		{"file over defaults", []settings.Values{nil, nil, fromFile}, "", false, true, "relock.yml:2", "relock.yml:3", "relock.yml:4"},
		{"defaults", nil, "", false, false, "default", "default", "default"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := resolve(t, tt.layers...)
			if c.Tool != tt.tool || c.Strict != tt.strict || c.Create != tt.create {
				t.Errorf("tool %q, strict %t, create %t, want %q, %t, %t", c.Tool, c.Strict, c.Create, tt.tool, tt.strict, tt.create)
			}
			v := settings.Merge(tt.layers...)
			if got := []string{v["tool"].Source, v["strict"].Source, v["create"].Source}; !cmp.Equal(got, []string{tt.toolFrom, tt.strictFrom, tt.cFrm}) {
				t.Errorf("sources %q, want %q", got, []string{tt.toolFrom, tt.strictFrom, tt.cFrm})
			}
		})
	}
}

func TestEmptyInputIsNotSet(t *testing.T) {
	inputs := settings.Inputs(environment(map[string]string{"INPUT_TOOL": "", "INPUT_PLATFORMS": " \n", "INPUT_DRY-RUN": ""}))
	if len(inputs) > 0 {
		t.Errorf("Inputs = %v, want none", inputs)
	}
	if c := resolve(t, inputs, file(t, "version: 1\ntool: opentofu\n")); c.Tool != provider.OpenTofu {
		t.Errorf("tool = %q, want the file's", c.Tool)
	}
}

// A shell hands on no variable with a hyphen in its name, and the runner passes
// inputs to the image of an action by such names.
func TestInputsAreReadUnderBothOfTheirNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"INPUT_TOOL-VERSION", "INPUT_TOOL_VERSION"} {
		if got := settings.Inputs(environment(map[string]string{name: "1.11.4"})).Texts("tool-version"); !cmp.Equal(got, []string{"1.11.4"}) {
			t.Errorf("tool-version by %s is %q, want 1.11.4", name, got)
		}
	}
}

func TestDispatchOutranksInputs(t *testing.T) {
	t.Parallel()
	dispatch := settings.Dispatch(map[string]string{
		"relock-tool": "opentofu", "relock-platforms": "linux_amd64, darwin_arm64", "relock-providers": " ",
		"relock-token": "stolen", "relock-module-token": "stolen", "relock-app-private-key": "stolen",
		"command": "deploy", "strict": "true", "directories": "eu", "environment": "prod", // the workflow's own
	})
	inputs := settings.Inputs(environment(map[string]string{"INPUT_TOOL": "terraform", "INPUT_PROVIDERS": "aws", "INPUT_TOKEN": "own"}))
	c := resolve(t, dispatch, inputs)
	if c.Tool != provider.OpenTofu || len(c.Platforms.List) != 2 || len(c.Providers) != 1 {
		t.Errorf("tool %q, platforms %v, providers %v, want the dispatch's, the dispatch's, the input's", c.Tool, c.Platforms, c.Providers)
	}
	if c.Token != "own" || c.ModuleToken != "" || c.App.Key != "" {
		t.Errorf("secrets %q, %q, %q, want none of the dispatch", c.Token, c.ModuleToken, c.App.Key)
	}
	if got := dispatch["tool"].Source; got != "dispatch input relock-tool" || len(dispatch) != 2 {
		t.Errorf("Dispatch = %v, want tool and platforms", dispatch)
	}
}

func TestListsSplitByCommaAndNewline(t *testing.T) {
	want := []provider.Platform{{OS: "linux", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}, {OS: "linux", Arch: "arm64"}}
	for name, values := range map[string]settings.Values{
		"input": settings.Inputs(environment(map[string]string{"INPUT_PLATFORMS": "linux_amd64, darwin_arm64\nlinux_arm64\r\n,linux_amd64"})),
		"flag":  settings.Flags(map[string][]string{"platform": {"linux_amd64,darwin_arm64", "linux_arm64", "linux_amd64"}}),
		"file":  file(t, "version: 1\nplatforms: [linux_amd64, darwin_arm64, linux_arm64, linux_amd64]\n"),
	} {
		if diff := cmp.Diff(settings.PlatformSet{List: want, Demanded: name == "flag"}, resolve(t, values).Platforms); diff != "" {
			t.Errorf("platforms by %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPlatformWords(t *testing.T) {
	for word, want := range map[string]settings.PlatformSet{"auto": {Demanded: true}, "all": {All: true, Demanded: true}} {
		if got := resolve(t, settings.Flags(map[string][]string{"platform": {word}})).Platforms; !cmp.Equal(got, want) {
			t.Errorf("--platform %s gives %v, want %v", word, got, want)
		}
	}
}

func TestBadValuesNameTheirSource(t *testing.T) {
	tests := []struct {
		name   string
		values settings.Values
		want   string
	}{
		{"flag", settings.Flags(map[string][]string{"tool": {"tf"}}), `flag --tool: "tf" is not one of auto, terraform, opentofu`},
		{"flag given twice", settings.Flags(map[string][]string{"tool": {"auto", "auto"}}), "flag --tool: 2 values are given, it must be one"},
		{"input", settings.Inputs(environment(map[string]string{"INPUT_STRICT": "yes"})), `input strict: "yes" is neither true nor false`},
		{"command", settings.Inputs(environment(map[string]string{"INPUT_COMMAND": "deploy"})), `input command: "deploy" is not one of auto, pr, check, verify, upgrade, lock, scan, comment, get, get --require, get --check`},
		{"platform", settings.Flags(map[string][]string{"platform": {"linux"}}), `flag --platform: invalid platform "linux": it must be like linux_amd64`},
		{"misspelt platform", settings.Flags(map[string][]string{"platform": {"darwn_arm64"}}), `flag --platform: providers are not built for a platform "darwn_arm64"; did you mean darwin_arm64?`},
		{"no platform", settings.Flags(map[string][]string{"platform": {","}}), "flag --platform: no platform is given; it must be auto, all or a list like linux_amd64, darwin_arm64"},
		{"mixed platforms", settings.Flags(map[string][]string{"platform": {"all", "linux_amd64"}}), "flag --platform: auto and all cannot be combined with other platforms"},
		{"pattern", settings.Flags(map[string][]string{"provider": {"a//b"}}), `flag --provider: invalid provider pattern "a//b": it must be like hashicorp/aws or */aws`},
		{"jobs", settings.Flags(map[string][]string{"jobs": {"-1"}}), `flag --jobs: "-1" is not a number from 0 up`},
		{"tool version", settings.Flags(map[string][]string{"tool-version": {"v1"}}), `flag --tool-version: invalid version "v1": it must be like 1.2.3 or 1.2.3-beta.1`},
		{"group-by", settings.Flags(map[string][]string{"group-by": {"x"}}), `flag --group-by: "x" is not one of all, provider, directory, namespace`},
		{"dispatch", settings.Dispatch(map[string]string{"relock-group-by": "x"}), `dispatch input relock-group-by: "x" is not one of all, provider, directory, namespace`},
		{"repository", settings.Flags(map[string][]string{"repo": {"octo/infra,octo"}}), `flag --repo: "octo" is not a repository; it must be OWNER/NAME`},
		{"repository that leads upwards", settings.Flags(map[string][]string{"repo": {"octo/.."}}), `flag --repo: "octo/.." is not a repository; it must be OWNER/NAME`},
		{"installation", settings.Inputs(environment(map[string]string{"INPUT_APP-ID": "1", "INPUT_APP-PRIVATE-KEY": pemKey, "INPUT_APP-INSTALLATION-ID": "x"})), `input app-installation-id: "x" is not a number from 0 up`},
		{"App", settings.Inputs(environment(map[string]string{"INPUT_APP-ID": "my app", "INPUT_APP-PRIVATE-KEY": pemKey})), `input app-id: "my app" is not the ID of a GitHub App; it must be like 123456 or Iv23liAbCd`},
		{"control character", settings.Flags(map[string][]string{"config": {"a\x1b[2Jb"}}), `flag --config: "a\x1b[2Jb" holds a control character`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := settings.Resolve(settings.Merge(tt.values))
			if len(problems) != 1 || problems[0].String() != tt.want || problems[0].Code != problem.CodeSettings {
				t.Errorf("Resolve reports %v, want %q", problems, tt.want)
			}
		})
	}
}

// pemKey has the form of a key, which is all that is checked here.
const pemKey = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"

func TestApp(t *testing.T) {
	t.Parallel()
	inputs := settings.Inputs(environment(map[string]string{"INPUT_APP-ID": "123456", "INPUT_APP-INSTALLATION-ID": "42"}))
	env := settings.Environment(environment(map[string]string{"RELOCK_APP_PRIVATE_KEY": pemKey, "RELOCK_APP_ID": "7"}))
	want := settings.App{ID: "123456", Key: pemKey, Installation: 42}
	if diff := cmp.Diff(want, resolve(t, inputs, nil, env).App); diff != "" {
		t.Errorf("App (-want +got):\n%s", diff)
	}
}

func TestAppNeedsItsIDAndItsKey(t *testing.T) {
	t.Parallel()
	for want, vars := range map[string]map[string]string{
		"app-private-key is missing: a GitHub App needs its ID and its private key": {"INPUT_APP-ID": "1"},
		"app-id is missing: a GitHub App needs its ID and its private key":          {"INPUT_APP-PRIVATE-KEY": pemKey},
	} {
		_, problems := settings.Resolve(settings.Merge(settings.Inputs(environment(vars))))
		if len(problems) != 1 || problems[0].String() != want || problems[0].Hint == "" {
			t.Errorf("Resolve reports %v, want %q with a hint", problems, want)
		}
	}
}

func TestSecretsAreNotRepeatedWhenRefused(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"INPUT_APP-PRIVATE-KEY": "input app-private-key: the text is not a private key in PEM form, which begins with -----BEGIN",
		"INPUT_TOKEN":           "input token: the secret holds a control character",
	} {
		_, problems := settings.Resolve(settings.Merge(settings.Inputs(environment(map[string]string{name: "s3cr\net", "INPUT_APP-ID": "1"}))))
		if len(problems) == 0 || problems[0].String() != want {
			t.Errorf("Resolve with a bad %s reports %v, want %q", name, problems, want)
		}
		for _, p := range problems {
			if strings.Contains(p.String(), "s3cr") {
				t.Errorf("Resolve repeats the secret: %v", p)
			}
		}
	}
}

func TestSignersAdmit(t *testing.T) {
	t.Parallel()
	signers := resolve(t, file(t, "version: 1\nverify:\n  signers:\n    hashicorp/*: [AAAAAAAAAAAAAAAA, bbbbbbbbbbbbbbbb, 1111 2222 3333 4444 5555  6666 7777 8888 9999 dddd]\n    aws: [BBBBBBBBBBBBBBBB]\n")).Signers
	tests := []struct {
		source, key string
		want        bool
	}{
		{"hashicorp/null", "AAAAAAAAAAAAAAAA", true},
		{"hashicorp/null", "CCCCCCCCCCCCCCCC", false},
		{"hashicorp/null", "111122223333444455556666777788889999DDDD", true},
		{"hashicorp/null", "011122223333444455556666777788889999DDDD", false},
		{"hashicorp/null", "777788889999DDDD", false},
		{"hashicorp/null", "", false},
		{"hashicorp/aws", "AAAAAAAAAAAAAAAA", false},
		{"hashicorp/aws", "BBBBBBBBBBBBBBBB", true},
		{"other/null", "CCCCCCCCCCCCCCCC", true},
		{"other/null", "", true},
	}
	for _, tt := range tests {
		addr, err := provider.ParseAddr(tt.source, provider.Terraform)
		if err != nil {
			t.Fatal(err)
		}
		if got := signers.Admits(addr, provider.Signer{KeyID: tt.key[max(0, len(tt.key)-16):], Fingerprint: tt.key}); got != tt.want {
			t.Errorf("Admits(%s, %q) = %t, want %t", tt.source, tt.key, got, tt.want)
		}
	}
}

func TestTokenComesFromInputBeforeEnvironment(t *testing.T) {
	vars := environment(map[string]string{"INPUT_TOKEN": "of-input", "GITHUB_TOKEN": "of-environment"})
	if got := resolve(t, nil, settings.Inputs(vars), nil, settings.Environment(vars)).Token; got != "of-input" {
		t.Errorf("token = %q, want the input's", got)
	}
	if got := resolve(t, nil, nil, nil, settings.Environment(vars)).Token; got != "of-environment" {
		t.Errorf("token = %q, want the environment's", got)
	}
}

func TestShowSaysWhereValuesComeFromAndHidesSecrets(t *testing.T) {
	vars := environment(map[string]string{"GITHUB_TOKEN": "ghs_secret"})
	got := settings.Merge(
		settings.Flags(map[string][]string{"platform": {"linux_amd64"}}), file(t, "version: 1\nexclude: [\"examples/**\"]\n"), settings.Environment(vars)).Show()
	for _, want := range []string{
		"platforms: [\"linux_amd64\"]  # flag --platform\n",
		"exclude: [\"examples/**\"]  # relock.yml:2\n",
		"tool: auto  # default\n",
		"token: (set)  # environment variable GITHUB_TOKEN\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("Show lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "ghs_secret") {
		t.Errorf("Show prints the token:\n%s", got)
	}
}

func TestMapsKeepTextsAsWritten(t *testing.T) {
	t.Parallel()
	values := file(t, "version: 1\nmodule-vars:\n  environment: prod\n  size: 3\n  ratio: 1.50\n  public: true\n  equation: a=b\n")
	want := map[string]string{"environment": "prod", "size": "3", "ratio": "1.50", "public": "true", "equation": "a=b"}
	if diff := cmp.Diff(want, resolve(t, values).ModuleVars); diff != "" {
		t.Errorf("ModuleVars (-want +got):\n%s", diff)
	}
}
