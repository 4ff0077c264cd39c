package setup

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/examples"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/worktree"
)

// usual is a clone on its default branch, with lock files.
func usual() Discovered {
	return Discovered{
		Server: "github.com", Repository: "acme/infra",
		Branches: worktree.Branches{Remote: "origin", Current: "main", Default: "main", From: "refs/remotes/origin/HEAD"},
		Roots:    settings.Found{Notes: map[string]string{"include": "2 directories with a lock file.", "tool": "Terraform 1.11.4 in 2."}},
	}
}

const commitLine = `git add .github/workflows/relock.yml && git commit -m "Keep lock files fresh with relock" && git push`

const allowLine = `https://github.com/acme/infra/settings/actions   # tick "Allow GitHub Actions to create and approve pull requests"; ` +
	"greyed out? First in the organisation: https://github.com/organizations/acme/settings/actions"

func TestAdvise(t *testing.T) {
	t.Parallel()
	found := []string{
		"Repository: acme/infra on github.com", "Default branch: main, by refs/remotes/origin/HEAD",
		"Lock files: 2 directories with a lock file.", "Tools: Terraform 1.11.4 in 2.",
	}
	replaced := func(i int, line string) []string {
		lines := slices.Clone(found)
		lines[i] = line
		return lines
	}
	const start = "gh workflow run relock.yml"
	tests := map[string]struct {
		change func(d *Discovered)
		files  string
		found  []string
		next   [3]string
	}{
		"a usual clone": {func(*Discovered) {}, ".github/workflows/relock.yml", found, [3]string{commitLine, start, allowLine}},
		"all workflows, below the top": {
			func(d *Discovered) { d.Check, d.Comments, d.Up = true, true, "../.." },
			".github/workflows/relock.yml .github/workflows/relock-check.yml .github/workflows/relock-comments.yml", found,
			[3]string{strings.Replace(commitLine, ".github/workflows/relock.yml", "../../.github/workflows/relock.yml ../../.github/workflows/relock-check.yml ../../.github/workflows/relock-comments.yml", 1), start, allowLine},
		},
		"another branch": {
			func(d *Discovered) { d.Branches.Current = "topic" }, "", found,
			[3]string{commitLine + " --set-upstream origin HEAD", start + "   # once the workflow is on the default branch, main", allowLine},
		},
		"no branch": {
			func(d *Discovered) { d.Branches.Current = "" }, "", found,
			[3]string{"git switch --create add-relock && " + commitLine + " --set-upstream origin HEAD", start + "   # once the workflow is on the default branch, main", allowLine},
		},
		"a default branch that nothing says": {
			func(d *Discovered) { d.Branches.Default, d.Branches.From = "", "" }, "", replaced(1, "Default branch: not known here; git remote set-head origin --auto asks GitHub"),
			[3]string{commitLine + " --set-upstream origin HEAD", start + "   # once the workflow is on the default branch", allowLine},
		},
		"a default branch by the one that is checked out": {
			func(d *Discovered) { d.Branches.From = "" }, "",
			replaced(1, "Default branch: main is taken for it: it is checked out, and nothing was fetched from the remote origin"),
			[3]string{commitLine + " --set-upstream origin HEAD", start, allowLine},
		},
		"no clone of the repository": {
			func(d *Discovered) { d.Branches = worktree.Branches{} }, "", replaced(1, "Default branch: not known here, since no remote of this clone is that repository"),
			[3]string{commitLine, start + " --repo github.com/acme/infra   # once the workflow is on the default branch", allowLine},
		},
		"several repositories": {
			func(d *Discovered) { d.Others = true }, "", found, [3]string{commitLine, start + " --repo github.com/acme/infra", allowLine},
		},
		"a remote of a strange name": {
			func(d *Discovered) { d.Branches.Remote, d.Branches.Current = "it's $(mine)", "topic" }, "", found,
			[3]string{commitLine + ` --set-upstream 'it'\''s $(mine)' HEAD`, start + "   # once the workflow is on the default branch, main", allowLine},
		},
		"an enterprise's server": {
			func(d *Discovered) { d.Server = "git.acme.example" }, "", replaced(0, "Repository: acme/infra on git.acme.example"),
			[3]string{commitLine, start, strings.ReplaceAll(allowLine, "github.com", "git.acme.example")},
		},
		"no lock file": {
			func(d *Discovered) { d.Roots = settings.Found{Notes: map[string]string{"include": "no lock file."}} }, "",
			append(slices.Clone(found[:2]), "Lock files: none yet. The workflow proposes nothing before one is committed; relock upgrade --create writes them."),
			[3]string{commitLine, start, allowLine},
		},
		"other workflows": {
			func(d *Discovered) { d.Running = []string{".github/workflows/a.yml", ".github/workflows/b.yml"} }, "",
			append(slices.Clone(found), "Workflows: relock runs already in .github/workflows/a.yml, .github/workflows/b.yml. Check that no two of them open pull requests."),
			[3]string{commitLine, start, allowLine},
		},
		"other bots": {
			func(d *Discovered) {
				d.Bots = []Bot{{"Dependabot", ".github/dependabot.yml", true}, {"Dependabot", ".github/dependabot.yml", false}, {"Renovate", "renovate.json", false}}
			}, "",
			append(
				slices.Clone(found),
				"Dependabot: .github/dependabot.yml sets it up for providers, too. Two bots would propose one provider: remove that package-ecosystem, or let relock complete its branches instead: "+besideURL,
				"Dependabot: .github/dependabot.yml sets it up, and not for providers. With the package-ecosystem github-actions it updates the workflow's actions, relock's too.",
				"Renovate: renovate.json sets it up. Two bots would propose one provider: disable its manager terraform, or let relock complete its branches instead: "+besideURL,
			),
			[3]string{commitLine, start, allowLine},
		},
	}
	for name, tt := range tests {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			d := usual()
			tt.change(&d)
			got := Advise(d)
			var paths []string
			for _, f := range got.Files {
				paths = append(paths, f.Path)
			}
			if want := tt.files; want != "" && strings.Join(paths, " ") != want || want == "" && len(paths) != 1 {
				t.Errorf("files %s, want %s", paths, want)
			}
			if diff := cmp.Diff(tt.found, got.Found); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.next[:], got.Next); diff != "" {
				t.Errorf("next (-want +got):\n%s", diff)
			}
		})
	}
}

// What is written is the example that the tests run, byte by byte but for the release and
// the minute.
func TestAdviseWritesTheExamples(t *testing.T) {
	t.Parallel()
	commit := strings.Repeat("0123456789", 4)
	cron := regexp.MustCompile(`cron: "([0-9]+) 5 \* \* 1-5"`)
	for name, tt := range map[string]struct {
		release OwnRelease
		uses    string
	}{
		"a development build": {OwnRelease{}, "relock-dev/relock@v1"},
		"a release":           {OwnRelease{"1.2.3", commit}, "relock-dev/relock@" + commit + " # v1.2.3"},
		"a prerelease":        {OwnRelease{"2.0.0-rc.1", commit}, "relock-dev/relock@" + commit + " # v2.0.0-rc.1"},
		"an unknown commit":   {OwnRelease{"1.2.3", ""}, "relock-dev/relock@v1.2.3"},
	} {
		d := usual()
		d.Check, d.Comments, d.Release = true, true, tt.release
		for i, want := range []string{examples.ProposeWorkflow, examples.CheckWorkflow, examples.CommentsWorkflow} {
			got := Advise(d).Files[i]
			if first, _, _ := strings.Cut(got.Content, "\n"); first != "# "+got.Path {
				t.Errorf("%s: %s begins with %q, want its path", name, got.Path, first)
			}
			if n := strings.Count(got.Content, tt.uses+"\n"); n != 1 {
				t.Errorf("%s: %s uses %s %d times, want once", name, got.Path, tt.uses, n)
			}
			back := strings.ReplaceAll(got.Content, tt.uses+"\n", "relock-dev/relock@v1\n")
			if m := cron.FindStringSubmatch(back); m != nil {
				back = strings.Replace(back, m[0], cron.FindString(want), 1)
			}
			if diff := cmp.Diff(want, back); diff != "" {
				t.Errorf("%s: %s (-example +written):\n%s", name, got.Path, diff)
			}
		}
	}
}

// The minute is the repository's own, always the same one, and never the first of an hour.
func TestAdviseSpreadsTheMinutes(t *testing.T) {
	t.Parallel()
	minute := regexp.MustCompile(`cron: "([0-9]+) `)
	seen := map[string]int{}
	for i := range 400 {
		d := usual()
		d.Repository = "acme/infra-" + strings.Repeat("x", i%20) + string(rune('a'+i/20))
		first, again := Advise(d).Files[0].Content, Advise(d).Files[0].Content
		if first != again {
			t.Fatalf("two runs write different workflows for %s", d.Repository)
		}
		m := minute.FindStringSubmatch(first)
		if m == nil {
			t.Fatalf("there is no minute in:\n%s", first)
		}
		seen[m[1]]++
	}
	if len(seen) < 50 || seen["0"] > 0 {
		t.Errorf("400 repositories begin at %d minutes, %d of them at minute 0: %v", len(seen), seen["0"], seen)
	}
}

func TestUpdatesProviders(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"updates:\n  - package-ecosystem: terraform\n":            true,
		"updates:\r\n  - package-ecosystem: \"opentofu\"\r\n":     true,
		"updates:\n- {package-ecosystem: 'terraform', x: y}\n":    true,
		"{\"updates\": [{\"package-ecosystem\": \"terraform\"}]}": true,
		"updates:\n  - package-ecosystem: github-actions\n":       false,
		"updates:\n  # - package-ecosystem: terraform\n":          false,
		"updates:\n  - package-ecosystem: npm # not terraform\n":  false,
		"updates:\n  - directory: package-ecosystem\n":            false,
		"": false,
	} {
		if got := UpdatesProviders([]byte(text)); got != want {
			t.Errorf("UpdatesProviders(%q) = %t, want %t", text, got, want)
		}
	}
}

func TestRunsRelock(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		examples.ProposeWorkflow:                                 true,
		examples.CheckWorkflow:                                   true,
		"steps:\n- {uses: \"relock-dev/relock@v1\", with: {}}\n": true,
		"steps:\n  # - uses: relock-dev/relock@v1\n":             false,
		"steps:\n  - uses: acme/relock-dev/relock@v1\n":          false,
		"name: relock-dev/relock@v1\n":                           false,
		"":                                                       false,
	} {
		if got := RunsRelock([]byte(text)); got != want {
			t.Errorf("RunsRelock(%q) = %t, want %t", text, got, want)
		}
	}
}
