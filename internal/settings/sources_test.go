package settings_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
)

// operators is an operator's configuration file.
func operators(t *testing.T, text string) settings.File {
	t.Helper()
	file, err := settings.ReadOperatorFile("central.yml", func() ([]byte, error) { return []byte("version: 1\n" + text), nil })
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// sound admits all severities but those of one code.
func sound(s settings.Severities) error {
	for _, codes := range []map[problem.Code]problem.Severity{s.Chosen, s.Given, s.Raised} {
		if _, ok := codes["odd"]; ok {
			return errors.New("it is odd")
		}
	}
	return nil
}

func unset(string) string { return "" }

// A repository's own file is the one that is named, else one of FileNames, and it must be
// sound.
func TestSourcesReadTheFilesOfATree(t *testing.T) {
	t.Parallel()
	text := func(limit string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("version: 1\npull-request: {limit: " + limit + "}\n")}
	}
	for name, tt := range map[string]struct {
		files fstest.MapFS
		named string
		own   string
		limit int
		fails string
	}{
		"searched":           {fstest.MapFS{".relock.yml": text("2"), "a.yml": text("3")}, "", ".relock.yml", 2, ""},
		"named":              {fstest.MapFS{".relock.yml": text("2"), "a.yml": text("3")}, "a.yml", "a.yml", 3, ""},
		"none":               {fstest.MapFS{"a.yml": text("3")}, "", "", 10, ""},
		"named, and missing": {fstest.MapFS{".relock.yml": text("2")}, "a.yml", "", 0, "reading the configuration file a.yml: "},
		"two":                {fstest.MapFS{".relock.yml": text("2"), ".relock.yaml": text("2")}, "", "", 0, "there is another configuration file"},
		"with an error":      {fstest.MapFS{".relock.yml": text("many")}, "", "", 0, ".relock.yml:2: pull-request.limit must be a number"},
		"unsound":            {fstest.MapFS{".relock.yml": {Data: []byte("version: 1\nverify:\n  severity: {odd: note}\n")}}, "", "", 0, ".relock.yml:3: verify.severity: it is odd"},
	} {
		s, err := settings.Sources{Named: tt.named, Getenv: unset, Sound: sound}.In(tt.files)
		if s.Own != tt.own || s.PullRequest.Limit != tt.limit || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: the file is %q with the limit %d, %v, want %q with %d, %q", name, s.Own, s.PullRequest.Limit, err, tt.own, tt.limit, tt.fails)
		}
	}
}

// The operator's file chooses severities, and a flag outranks what it enforces. A
// repository's file only makes findings worse.
func TestSourcesKnowWhoChoosesSeverities(t *testing.T) {
	t.Parallel()
	op := operators(t, "verify: {severity: {a: note}}\nenforced: {verify: {severity: {b: note, c: note}}}\n")
	own := settings.File{Name: "relock.yml", Values: file(t, "version: 1\nverify: {severity: {d: error}}\n")}
	flags := settings.Flags(map[string][]string{"severity": {"b=warning"}})
	for want, operator := range map[[3]int]settings.File{{2, 1, 1}: op, {1, 0, 1}: {}} {
		s, err := settings.Sources{Given: []settings.Values{flags}, Operator: operator, Getenv: unset, Sound: sound}.With(own)
		if err != nil {
			t.Fatal(err)
		}
		got := [3]int{len(s.Severities.Chosen), len(s.Severities.Given), len(s.Severities.Raised)}
		if got != want || s.Severities.Chosen["b"] != problem.SeverityWarning {
			t.Errorf("by the operator's %q: the severities are %v, want %v of each kind, and what the flag says", operator.Name, s.Severities, want)
		}
	}
}

// A registry's token must be there for a run, and not for a check of the file.
func TestSourcesNeedTokens(t *testing.T) {
	t.Parallel()
	from := settings.Sources{Operator: operators(t, "registries: {a.example.com: {token-env: RELOCK_TOKEN_A}}\n"), Getenv: unset, Sound: sound}
	if err := from.Check(); err != nil {
		t.Errorf("Check() = %v", err)
	}
	if _, err := from.With(settings.File{}); err == nil || !strings.Contains(err.Error(), "RELOCK_TOKEN_A, which holds the token for a.example.com, is not set") {
		t.Errorf("without the token the settings are made: %v", err)
	}
	from.Getenv = func(name string) string { return map[string]string{"RELOCK_TOKEN_A": "s3cret"}[name] }
	s, err := from.With(settings.File{})
	if got := s.RegistryTokens(from.Getenv); err != nil || !slices.Equal(got, []string{"TF_TOKEN_a.example.com=s3cret"}) {
		t.Errorf("the tokens are %v, %v", got, err)
	}
	from.Operator = operators(t, "verify: {severity: {odd: note}}\n")
	if err := from.Check(); err == nil {
		t.Error("Check() accepts severities that are not sound")
	}
}

// A file that is called as a repository's own would be gets another name.
func TestOperatorsFileHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"central.yml": "central.yml", ".relock.yml": "operator:.relock.yml", "./.relock.yml": "operator:./.relock.yml"} {
		read := func() ([]byte, error) { return []byte("version: 1\n"), nil }
		if file, err := settings.ReadOperatorFile(name, read); err != nil || file.Name != want {
			t.Errorf("the operator's file %s is called %q, %v, want %q", name, file.Name, err, want)
		}
	}
}
