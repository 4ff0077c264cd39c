package command

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

var update = flag.Bool("update", false, "write testdata/choices.txt instead of comparing")

// saying is a configuration file that is known by what it says.
func saying(name string) string { return "version: 1\nmodule-vars: {" + name + ": said}\n" }

// bothCommitted makes two clones that have a commit in common, work and elsewhere, of which
// each has a configuration file of its own and another one that may be named. What is
// checked out differs from the commit. It returns the top directory and the commit.
func bothCommitted(t *testing.T) (top, commit string) {
	t.Helper()
	top = t.TempDir()
	work := filepath.Join(top, "work")
	put(t, filepath.Join(work, ".github", "relock.yml"), saying("own_of_base"))
	put(t, filepath.Join(work, "named.yml"), saying("named_of_base"))
	commit = committed(t, work)
	if err := os.CopyFS(filepath.Join(top, "elsewhere"), os.DirFS(work)); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(work, ".github", "relock.yml"), saying("own_here"))
	put(t, filepath.Join(work, "named.yml"), saying("named_here"))
	put(t, filepath.Join(top, "elsewhere", "named.yml"), saying("named_elsewhere"))
	put(t, filepath.Join(top, "op.yml"), saying("outside"))
	for link, to := range map[string]string{"here.yml": "work/named.yml", "there.yml": "elsewhere/named.yml"} {
		if err := os.Symlink(filepath.Join(top, filepath.FromSlash(to)), filepath.Join(top, link)); err != nil {
			t.Skipf("links are missing on this system: %v", err)
		}
	}
	return top, commit
}

// committed makes a repository of a directory, and returns its one commit.
func committed(t *testing.T, dir string) string {
	t.Helper()
	repo, err := git.PlainInit(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := repo.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.AddGlob("."); err != nil {
		t.Fatal(err)
	}
	who := &object.Signature{Name: "a", Email: "a@example.com", When: time.Unix(1, 0)}
	hash, err := tree.Commit("first", &git.CommitOptions{Author: who})
	if err != nil {
		t.Fatal(err)
	}
	return hash.String()
}

// Each case is a row of the table.
func TestEightRowsOfFiles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		facts facts
		want  files
	}{
		"others":                                   {facts{others: true, proposes: true}, files{}},
		"others, by a file of a head":              {facts{others: true, head: true, proposes: true, named: inside}, files{operator: fromBase}},
		"others, by a file of a checkout":          {facts{others: true, proposes: true, named: inside}, files{operator: fromDisk}},
		"a checkout":                               {facts{named: inside}, files{own: fromDisk}},
		"a head":                                   {facts{head: true, named: inside}, files{own: fromBase}},
		"by the operator's":                        {facts{head: true, named: outside}, files{operator: fromDisk}},
		"a proposal over the operator's":           {facts{named: outside, proposes: true}, files{operator: fromDisk, own: fromDisk}},
		"a proposal of a head over the operator's": {facts{head: true, named: outside, proposes: true}, files{operator: fromDisk, own: fromBase}},
	} {
		if got := filesOf(tt.facts); got != tt.want {
			t.Errorf("%s: filesOf(%+v) = %+v, want %+v", name, tt.facts, got, tt.want)
		}
		tt.facts.head = true
		if got := filesOf(tt.facts); got.own == fromDisk || got.operator == fromDisk && tt.facts.named == inside {
			t.Errorf("%s, in a head: filesOf(%+v) = %+v: the head decides", name, tt.facts, got)
		}
	}
}

// Inputs may name other repositories for a step that is about the checkout.
func TestGivenToAVerb(t *testing.T) {
	t.Parallel()
	given := []settings.Values{settings.Flags(map[string][]string{"repo": {"a/b"}, "org": {"a"}, "tool": {"opentofu"}})}
	for verb, others := range map[verbs.Verb]bool{verbs.Verify: false, verbs.Scan: false, verbs.PR: true} {
		got := givenTo(verb, given)[0]
		_, repo := got["repo"]
		_, org := got["org"]
		if repo != others || org != others || got.Text("tool") != "opentofu" {
			t.Errorf("%s is given %v, want other repositories: %t", verb, got, others)
		}
	}
	if len(given[0]) != 3 {
		t.Errorf("givenTo changes what is given: %v", given[0])
	}
}

// TestFilesOfARun holds for each verb and each place of a configuration file that is named
// which files make the settings: testdata/choices.txt has them all.
func TestFilesOfARun(t *testing.T) {
	t.Parallel()
	top, commit := bothCommitted(t)
	var text strings.Builder
	for _, place := range []struct{ name, config, dir string }{
		{"unnamed", "", ""}, {"outside", "../op.yml", ""},
		{"at hand", "named.yml", "."}, {"at hand, unread", "named.yml", "../elsewhere"}, {"elsewhere", "../elsewhere/named.yml", "../elsewhere"},
		{"at hand, by a link", "../here.yml", "."}, {"at hand, unread, by a link", "../here.yml", "../elsewhere"}, {"elsewhere, by a link", "../there.yml", "../elsewhere"},
	} {
		for _, head := range []string{"", "head, ", "head, base unknown, "} {
			for _, others := range []string{"", "others, "} {
				verbsOf := map[string][]string{}
				for _, verb := range []string{"scan", "upgrade", "lock", "check", "verify", "pr", "none", "comment", "config show", "config", "diff", "merge-driver"} {
					got := filesOfVerb(t, verb, top, commit, place.config, place.dir, head, others)
					verbsOf[got] = append(verbsOf[got], verb)
				}
				for _, got := range slices.SortedFunc(maps.Keys(verbsOf), func(a, b string) int { return slices.Compare(verbsOf[a], verbsOf[b]) }) {
					fmt.Fprintf(&text, "%s%s%s: %s: %s\n", head, others, place.name, strings.Join(verbsOf[got], ", "), strings.ReplaceAll(got, top, "TOP"))
				}
			}
		}
	}
	const golden = "testdata/choices.txt"
	if *update {
		put(t, golden, text.String())
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text.String(), "\n")); diff != "" {
		t.Errorf("which files make the settings (-want +got):\n%s", diff)
	}
}

// filesOfVerb says which files make the settings of a run, or why there are none.
func filesOfVerb(t *testing.T, verb, top, commit, config, dir, head, others string) string {
	t.Helper()
	environ := map[string]string{}
	if head != "" {
		if strings.Contains(head, "unknown") {
			commit = "0123456789012345678901234567890123456789"
		}
		event := filepath.Join(t.TempDir(), "event.json")
		put(t, event, `{"pull_request": {"head": {"sha": "b"}, "base": {"sha": "`+commit+`"}}}`)
		environ["GITHUB_EVENT_NAME"], environ["GITHUB_EVENT_PATH"] = "pull_request", event
	}
	env := Env{WorkDir: filepath.Join(top, "work"), Getenv: func(name string) string { return environ[name] }}
	flags := map[string][]string{"config": {config}}
	if others != "" {
		flags["repo"] = []string{"octo/infra"}
	}
	given := []settings.Values{settings.Flags(flags)}
	if dir != "" {
		given = append(given, settings.Arguments([]string{dir}))
	}
	from, s, err := settingsOfRun(t.Context(), env, verbs.Verb(strings.TrimPrefix(verb, "none")), given...)
	if err != nil {
		return "error: " + err.Error()
	}
	said := "values of " + strings.Join(slices.Sorted(maps.Keys(s.ModuleVars)), ", ")
	if len(s.ModuleVars) == 0 {
		said += "no file"
	}
	for _, part := range []struct{ what, text string }{{"own", s.Own}, {"operator's", from.Operator.Name}, {"in a tree", from.Named}} {
		if part.text != "" {
			said += "; " + part.what + " " + part.text
		}
	}
	if len(s.Repositories) > 0 {
		said += "; of others"
	}
	for _, d := range s.Notices {
		said += "; " + d.Message
	}
	return said
}
