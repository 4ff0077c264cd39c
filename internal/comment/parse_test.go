package comment_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/provider"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"/relock":                           {"/relock"},
		"/relock upgrade":                   {"/relock upgrade"},
		"/relock\tupgrade":                  {"/relock\tupgrade"},
		"/relock\u00a0upgrade":              {"/relock\u00a0upgrade"},
		"/relock: upgrade":                  {"/relock: upgrade"},
		"/relock upgrade\r\nThank you":      {"/relock upgrade"},
		"/relock\n":                         {"/relock"},
		"\n/relock upgrade":                 {"/relock upgrade"},
		"Hi\r\n/relock a\r\n\r\n/relock b":  {"/relock a", "/relock b"},
		"*Hi\n/relock a* `b`\n/relock c":    {"/relock a* `b`", "/relock c"},
		"/relock a\n---\n/relock b\n===\n":  {"/relock a", "/relock b"},
		"- a\n\n/relock a\n> b":             {"/relock a"},
		"/relocker upgrade":                 nil,
		"/RELOCK upgrade":                   nil,
		" /relock upgrade":                  nil,
		"> /relock upgrade":                 nil,
		"> so\n/relock upgrade":             nil,
		"- so\n/relock upgrade":             nil,
		"# /relock upgrade":                 nil,
		"```\n/relock upgrade\n```":         nil,
		"~~~\n/relock upgrade":              nil,
		"`so\n/relock upgrade`":             nil,
		"<!--\n/relock upgrade\n-->":        nil,
		"so <!--\n/relock upgrade\n--> it":  nil,
		"<pre>\n/relock upgrade\n</pre>":    nil,
		"    /relock upgrade":               nil,
		"Please run /relock upgrade":        nil,
		"@relock upgrade":                   nil,
		"/rеlock upgrade":                   nil, // a Cyrillic letter
		"/relock\u200bupgrade":              nil,
		"\ufeff/relock upgrade":             nil,
		"":                                  nil,
		strings.Repeat("x", 64<<10):         nil,
		"/relock " + strings.Repeat("x", 9): {"/relock xxxxxxxxx"},
	} {
		if got := comment.Commands(text); !slices.Equal(got, want) {
			t.Errorf("Commands(%.40q) = %q, want %q", text, got, want)
		}
	}
}

func pattern(t *testing.T, s string) provider.Pattern {
	t.Helper()
	p, err := provider.ParsePattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	t.Parallel()
	aws, anyAWS := pattern(t, "hashicorp/aws"), pattern(t, "*/aws")
	longest := "a/" + strings.Repeat("é", 198)
	linux, darwin := provider.Platform{OS: "linux", Arch: "amd64"}, provider.Platform{OS: "darwin", Arch: "arm64"}
	for text, want := range map[string]comment.Command{
		"/relock":                       {Verb: comment.Help},
		"/relock help":                  {Verb: comment.Help},
		"/relock upgrade":               {Verb: comment.Upgrade},
		"/relock:upgrade":               {Verb: comment.Upgrade},
		"/relock: upgrade a b":          {Verb: comment.Upgrade, Dirs: []string{"a", "b"}},
		"/relock  upgrade\tprod  stage": {Verb: comment.Upgrade, Dirs: []string{"prod", "stage"}},
		"/relock upgrade ./prod/ prod":  {Verb: comment.Upgrade, Dirs: []string{"prod"}},
		"/relock upgrade prod/... ./...": {
			Verb: comment.Upgrade, Dirs: []string{"prod/...", "./..."},
		},
		`/relock lock "team a/prod" 'b'`: {Verb: comment.Lock, Dirs: []string{"team a/prod", "b"}},
		"/relock upgrade $(id) `id` ;ls": {Verb: comment.Upgrade, Dirs: []string{"$(id)", "`id`", ";ls"}},
		"/relock upgrade prod --provider hashicorp/aws --provider=*/aws --platform linux_amd64,darwin_arm64": {
			Verb: comment.Upgrade, Dirs: []string{"prod"},
			Providers: []provider.Pattern{aws, anyAWS}, Platforms: []provider.Platform{linux, darwin},
		},
		"/relock\u00a0upgrade prod\u00a0—provider hashicorp/aws –platform=linux_amd64": {
			Verb: comment.Upgrade, Dirs: []string{"prod"}, Providers: []provider.Pattern{aws}, Platforms: []provider.Platform{linux},
		},
		"/relock rebase --sha 0123abc":   {Verb: comment.Rebase, SHA: "0123abc"},
		"/relock upgrade -- --provider":  {Verb: comment.Upgrade, Dirs: []string{"--provider"}},
		"/relock why hashicorp/aws prod": {Verb: comment.Why, Providers: []provider.Pattern{aws}, Dirs: []string{"prod"}},
		"/relock why " + longest:         {Verb: comment.Why, Providers: []provider.Pattern{pattern(t, longest)}},
		"/relock unignore hashicorp/aws": {Verb: comment.Unignore, Providers: []provider.Pattern{aws}, Ignored: policy.Ignore{Provider: "hashicorp/aws"}},
		"/relock ignore hashicorp/aws":   {Verb: comment.Ignore, Providers: []provider.Pattern{aws}, Ignored: policy.Ignore{Provider: "hashicorp/aws"}},
		"/relock ignore */aws major":     {Verb: comment.Ignore, Providers: []provider.Pattern{anyAWS}, Ignored: policy.Ignore{Provider: "*/aws", What: "major"}},
		"/relock ignore */aws >=6.0, < 6.1 until 2027-01-31": {
			Verb: comment.Ignore, Providers: []provider.Pattern{anyAWS},
			Ignored: policy.Ignore{Provider: "*/aws", What: ">= 6.0.0, < 6.1.0", Until: "2027-01-31"},
		},
		"/relock ignore */aws until 2027-01-31": {
			Verb: comment.Ignore, Providers: []provider.Pattern{anyAWS},
			Ignored: policy.Ignore{Provider: "*/aws", Until: "2027-01-31"},
		},
	} {
		got, err := comment.Parse(text, comment.UnderPull)
		if err != nil {
			t.Errorf("Parse(%q) fails: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(provider.Pattern{})); diff != "" {
			t.Errorf("Parse(%q) (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/relock upgrad":                               "there is no such command; did you mean `/relock upgrade`?",
		"/relock merge":                                "there is no such command",
		"/relock Upgrade":                              "there is no such command; did you mean `/relock upgrade`?",
		"/relock upgrade ../other":                     "a directory must be relative",
		"/relock upgrade a/../../etc":                  "a directory must be relative",
		"/relock upgrade /etc":                         "a directory must be relative",
		`/relock upgrade C:\terraform`:                 "a directory must be relative",
		"/relock upgrade prod...":                      "a directory must be relative",
		`/relock upgrade ""`:                           "a directory must be relative",
		"/relock upgrade \"prod":                       "a quotation mark is not closed",
		"/relock upgrade --force":                      "a flag is unknown",
		"/relock upgrade --help":                       "a flag is unknown",
		"/relock upgrade --provider":                   "a flag is unknown, or lacks its value",
		"/relock upgrade --provider a//b":              "a provider must be named like",
		"/relock ignore <!--/aws":                      "a provider must be named like",
		"/relock why a/" + strings.Repeat("é", 199):    "a provider must be named like",
		"/relock upgrade --platform linux":             "a platform must be one that providers are built for, like",
		"/relock upgrade --platform made_up":           "a platform must be one that providers are built for, like",
		"/relock upgrade --platform darwn_arm64":       "did you mean `darwin_arm64`",
		"/relock rebase prod":                          "there are too many words",
		"/relock rebase --sha main":                    "needs the beginning of a commit's id",
		"/relock ignore":                               "the provider is missing",
		"/relock why":                                  "the provider is missing",
		"/relock ignore git::*/net soon":               "the module must be followed by major, minor, patch, commit or a version constraint",
		"/relock upgrade --module net":                 "a module must be named as in the lock file of modules",
		"/relock ignore */aws soon":                    "must be followed by major, minor, patch or a version constraint",
		"/relock ignore */aws until tomorrow":          "the date is not one like",
		"/relock unignore */aws major":                 "there are too many words",
		"/relock upgrade \u202eprod":                   "characters that cannot be seen",
		"/relock upgrade \x1b[2J":                      "characters that cannot be seen",
		"/relock upgrade \xff":                         "characters that cannot be seen",
		"/relock upgrade " + strings.Repeat("a", 5000): "the command is too long",
		"/relock upgrade" + strings.Repeat(" a", 200):  "more than 100 words",
	} {
		_, err := comment.Parse(text, comment.UnderPull)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.60q) = %v, want an error with %q", text, err, want)
		}
	}
}

func TestRefusalsShowTheUsage(t *testing.T) {
	t.Parallel()
	_, err := comment.Parse("/relock unignore", comment.UnderPull)
	if want := "the provider is missing; it is `/relock unignore PROVIDER|MODULE`"; err == nil || err.Error() != want {
		t.Errorf("Parse = %v, want %q", err, want)
	}
}

// FuzzParse holds that no comment makes a command that leads out of the
// repository, and that no refusal repeats what a stranger wrote.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"/relock", "/relock upgrade a b/... --provider */aws", "/relock ignore */aws >= 6 until 2027-01-31",
		`/relock lock "a b" ../x`, "/relock diff\n> quote", "/relock why hashicorp/aws",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range comment.Commands(text) {
			parses(t, line)
		}
	})
}

// parses holds that a command leads nowhere out of the repository, or fails in a few words.
func parses(t *testing.T, text string) {
	c, err := comment.Parse(text, comment.UnderPull)
	if err != nil {
		if len(err.Error()) > 400 {
			t.Errorf("Parse(%q) fails with a long message: %v", text, err)
		}
		return
	}
	for _, dir := range c.Dirs {
		if strings.HasPrefix(dir, "/") || strings.HasPrefix(dir+"/", "../") || strings.ContainsAny(dir, "\x00\n\\") {
			t.Errorf("Parse(%q) names the directory %q", text, dir)
		}
	}
}
