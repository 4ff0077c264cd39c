package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// limited is a configuration file that is known by the limit in it.
func limited(n string) string { return "version: 1\npull-request: {limit: " + n + "}\n" }

// noFile is the limit where no file says it.
const noFile = 10

// For a comment, a named file inside of the checkout is read from the base, and one outside
// of it from disk. Without a name, and beside an operator's file, the base's own file is
// searched for. The checkout decides nothing.
func TestSettingsOnABase(t *testing.T) {
	t.Parallel()
	base := fstest.MapFS{
		".github/relock.yml": {Data: []byte(limited("2"))},
		"named.yml":          {Data: []byte(limited("3"))},
	}
	for name, tt := range map[string]struct {
		config string
		known  bool // the base is
		want   int
		fails  string
	}{
		"searched":                         {"", true, 2, ""},
		"searched where none is known yet": {"", false, noFile, ""},
		"named":                            {"named.yml", true, 3, ""},
		"named where none is known yet":    {"named.yml", false, noFile, ""},
		"named and missing there":          {"mine.yml", true, 0, "reading the configuration file mine.yml"},
		"over the operator's":              {"../op.yml", true, 2, ""},
		"the operator's, at once":          {"../op.yml", false, 5, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, top := place(t)
			put(t, filepath.Join(top, "work", ".github", "relock.yml"), limited("7"))
			put(t, filepath.Join(top, "work", "named.yml"), limited("7"))
			put(t, filepath.Join(top, "work", "mine.yml"), limited("7"))
			put(t, filepath.Join(top, "op.yml"), limited("5"))
			given := settings.Flags(map[string][]string{"config": {tt.config}})
			from, s, err := settingsOfRun(t.Context(), env, verbs.Comment, given)
			if err == nil && tt.known {
				s, err = from.In(base)
			}
			if s.PullRequest.Limit != tt.want || problemText(err) != tt.fails && tt.fails == "" || tt.fails != "" && err == nil {
				t.Errorf("the limit is %d, %v, want %d and %q", s.PullRequest.Limit, err, tt.want, tt.fails)
			}
		})
	}
}

// A repository that is not on disk has its own file. It overrides the operator's, which does
// not replace a broken one.
func TestSettingsOfAnotherRepository(t *testing.T) {
	t.Parallel()
	env, top := place(t)
	put(t, filepath.Join(top, "work", ".github", "relock.yml"), limited("7"))
	put(t, filepath.Join(top, "op.yml"), limited("5"))
	put(t, filepath.Join(top, "hard.yml"), "version: 1\nenforced: {pull-request: {limit: 6}}\n")
	for name, tt := range map[string]struct {
		files  fstest.MapFS
		config string
		want   int
		fails  bool
	}{
		"its own":             {fstest.MapFS{".github/relock.yml": {Data: []byte(limited("2"))}}, "", 2, false},
		"none":                {fstest.MapFS{}, "", noFile, false},
		"two":                 {fstest.MapFS{".github/relock.yml": {Data: []byte("version: 1\n")}, ".github/relock.yaml": {Data: []byte("version: 1\n")}}, "", 0, true},
		"with errors":         {fstest.MapFS{".github/relock.yml": {Data: []byte("version: 1\nnope: 2\n")}}, "", 0, true},
		"over the operator's": {fstest.MapFS{".github/relock.yml": {Data: []byte(limited("2"))}}, "../op.yml", 2, false},
		"the operator's":      {fstest.MapFS{}, "../op.yml", 5, false},
		"enforced":            {fstest.MapFS{".github/relock.yml": {Data: []byte(limited("2"))}}, "../hard.yml", 6, false},
		"errors, below it":    {fstest.MapFS{".github/relock.yml": {Data: []byte("version: 1\nnope: 2\n")}}, "../op.yml", 0, true},
		"two, below it":       {fstest.MapFS{".github/relock.yml": {Data: []byte("version: 1\n")}, ".relock.yml": {Data: []byte("version: 1\n")}}, "../hard.yml", 0, true},
		"a link to nothing":   {fstest.MapFS{".github/relock.yml": {Mode: fs.ModeSymlink, Data: []byte("gone.yml")}}, "../op.yml", 0, true},
		"enforcing itself":    {fstest.MapFS{".github/relock.yml": {Data: []byte("version: 1\nenforced: {strict: false}\n")}}, "../op.yml", 0, true},
		"one not there":       {fstest.MapFS{}, "../gone.yml", 0, true},
	} {
		from, s, err := settingsOfRun(t.Context(), env, verbs.Comment, settings.Flags(map[string][]string{"config": {tt.config}, "repo": {"octo/infra"}}))
		if err == nil {
			s, err = from.In(tt.files)
		}
		if s.PullRequest.Limit != tt.want || (err != nil) != tt.fails {
			t.Errorf("%s: the limit is %d, %v, want %d and an error: %t", name, s.PullRequest.Limit, err, tt.want, tt.fails)
		}
	}
}

// An operator's file in the checkout may lower severities for other repositories. For the
// checkout itself it is the repository's own, and may not.
func TestSeveritiesOfOtherRepositories(t *testing.T) {
	t.Parallel()
	env, top := place(t)
	put(t, filepath.Join(top, "work", "central.yml"), "version: 1\nverify: {severity: {hash-unknown: note}}\n")
	for _, there := range []string{"repo=octo/infra", "org=octo"} {
		flag, value, _ := strings.Cut(there, "=")
		from, s, err := settingsOfRun(t.Context(), env, verbs.PR, settings.Flags(map[string][]string{"config": {"central.yml"}, flag: {value}}))
		if err != nil || s.Severities.Given["hash-unknown"] != problem.SeverityNote {
			t.Errorf("for --%s the severities are %v, %v, want a note", flag, s.Severities.Given, err)
			continue
		}
		s, err = from.In(fstest.MapFS{".relock.yml": {Data: []byte("version: 1\nverify: {severity: {hash-unknown: warning}}\n")}})
		if err != nil || s.Severities.Raised["hash-unknown"] != problem.SeverityWarning {
			t.Errorf("for --%s the repository makes it %v, %v, want a warning", flag, s.Severities.Raised, err)
		}
		if _, err := from.In(fstest.MapFS{".relock.yml": {Data: []byte("version: 1\nverify: {severity: {unsigned: note}}\n")}}); err == nil {
			t.Errorf("for --%s a repository makes a finding less bad", flag)
		}
	}
	for _, named := range []string{"repo", "plan"} { // as inputs may, whatever the step does
		given := settings.Flags(map[string][]string{"config": {"central.yml"}, named: {"octo/infra"}})
		for _, verb := range []verbs.Verb{verbs.Verify, verbs.Check, verbs.Upgrade} {
			if _, _, err := settingsOfRun(t.Context(), env, verb, given); err == nil {
				t.Errorf("the repository at hand makes a finding of %s less bad, with %s", verb, named)
			}
		}
	}
}

// GitHub is asked for a configuration file by its name in the repository.
func TestConfigurationFileInItsRepository(t *testing.T) {
	t.Parallel()
	env, top := place(t)
	for given, want := range map[string]string{
		"": "", "named.yml": "named.yml", "prod/named.yml": "prod/named.yml", "../op.yml": "", filepath.Join(top, "work", "a.yml"): "a.yml",
	} {
		if got := groundsOf(env, verbs.Comment, []settings.Values{settings.Flags(map[string][]string{"config": {given}})}).sources(settings.File{}).Named; got != want {
			t.Errorf("%q is named %q in the repository, want %q", given, got, want)
		}
	}
}

// On a pull request's head the file is the base's. A base that cannot be read is an error,
// unless only the operator's file counts.
func TestSettingsOfAHead(t *testing.T) {
	t.Parallel()
	env, top := place(t)
	work := filepath.Join(top, "work")
	put(t, filepath.Join(work, ".github", "relock.yml"), limited("7"))
	put(t, filepath.Join(top, "op.yml"), limited("5"))
	event := filepath.Join(top, "event.json")
	put(t, event, `{"pull_request": {"head": {"sha": "b"}, "base": {"sha": "0123456789012345678901234567890123456789"}}}`)
	env.Getenv = func(name string) string {
		return map[string]string{"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": event}[name]
	}
	const unread = "the configuration file is not read: that of a pull request's head decides nothing, and its base is not here"
	if _, _, err := settingsOfRun(t.Context(), env, verbs.Check); problemText(err) != unread {
		t.Errorf("without a base the settings fail with %v, want %q", err, unread)
	}
	_, s, err := settingsOfRun(t.Context(), env, verbs.Check, settings.Flags(map[string][]string{"config": {"../op.yml"}}))
	if err != nil || s.PullRequest.Limit != 5 {
		t.Errorf("by the operator's file the limit is %d, %v, want 5", s.PullRequest.Limit, err)
	}
	_, _, err = settingsOfRun(t.Context(), env, verbs.PR, settings.Flags(map[string][]string{"config": {"../op.yml"}}))
	if problemText(err) != unread {
		t.Errorf("without a base a proposal over the operator's file fails with %v, want %q", err, unread)
	}
	t.Run("link", func(t *testing.T) {
		if err := os.Symlink(filepath.Join(work, ".github", "relock.yml"), filepath.Join(top, "link.yml")); err != nil {
			t.Skipf("links are missing on this system: %v", err)
		}
		if _, _, err := settingsOfRun(t.Context(), env, verbs.Check, settings.Flags(map[string][]string{"config": {"../link.yml"}})); err == nil {
			t.Error("a link from outside into the head's checkout is read")
		}
	})
}

// Proposals from a checkout use its own file, which overrides the operator's. The other
// verbs use the operator's file alone: nothing in the checkout decides.
func TestSettingsOfACheckout(t *testing.T) {
	t.Parallel()
	for own, want := range map[string]map[verbs.Verb]int{
		limited("7"): {verbs.PR: 7, verbs.Check: 5, verbs.Verify: 5, verbs.Upgrade: 5, verbs.Lock: 5, verbs.Scan: 5},
		"version: 1\npull-request: {limit: none}\n": {verbs.PR: 0, verbs.Check: 5},
	} {
		env, top := place(t)
		put(t, filepath.Join(top, "work", ".github", "relock.yml"), own)
		put(t, filepath.Join(top, "op.yml"), limited("5"))
		for verb, limit := range want {
			_, s, err := settingsOfRun(t.Context(), env, verb, settings.Flags(map[string][]string{"config": {"../op.yml"}}))
			if s.PullRequest.Limit != limit || (err != nil) != (limit == 0) {
				t.Errorf("%s: the limit is %d, %v, want %d", verb, s.PullRequest.Limit, err, limit)
			}
		}
	}
}

// Another default, and the same value enforced, changes the identity of settings. Another
// order, another place and a comment do not.
func TestIdentityOfSettings(t *testing.T) {
	t.Parallel()
	env, top := place(t)
	identity := func(src string) string {
		put(t, filepath.Join(top, "op.yml"), "version: 1\n"+src)
		from, s, err := settingsOfRun(t.Context(), env, verbs.Comment, settings.Flags(map[string][]string{"config": {"../op.yml"}, "org": {"octo"}}))
		if err != nil {
			t.Fatal(err)
		}
		return from.Identity(s)
	}
	first := identity("strict: true\nplatforms: [linux_amd64]\n")
	for src, same := range map[string]bool{
		"strict: true\nplatforms: [darwin_arm64]\n":                   false,
		"strict: true\nenforced: {platforms: [linux_amd64]}\n":        false,
		"platforms: [linux_amd64]\nenforced: {strict: true}\n":        false,
		"# a comment\nplatforms: [linux_amd64]\nstrict: true\n":       true,
		"strict: true\nplatforms: [linux_amd64]\norg: {max-new: 3}\n": true,
	} {
		if (identity(src) == first) != same {
			t.Errorf("settings %q have the identity of the first: want %t", src, same)
		}
	}
	if identity("rules: [{minimum-age: 3d}]\n") == identity("enforced: {rules: [{minimum-age: 3d}]}\n") {
		t.Error("rules that are enforced have the identity of those that are not")
	}
}
