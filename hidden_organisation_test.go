package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/sandbox"
)

// hiddenRun is what a run over an organisation has done and said.
type hiddenRun struct {
	hidden []string // repositories of which it must say that it did not look at them
	spared []string // and those in which it must not have changed anything
	status int
	said   string
}

// waysToHideRepositories are what a run over an organisation may not see, a row each.
var waysToHideRepositories = []struct {
	name string
	run  func(w *hidingWorld, away string) hiddenRun
}{
	{"a list without a repository", func(w *hidingWorld, away string) hiddenRun {
		hidden := w.some(w.repos)
		for _, repo := range hidden {
			unlisted := []sandbox.Unlisted{
				{Type: "FORBIDDEN", Message: "the organization has an IP allow list enabled"},
				{Field: "refs", Message: "Something went wrong while executing your query."},
				{Silent: true},
			}[w.random.IntN(3)]
			w.must(w.hub.Configure(repo, func(s *sandbox.Settings) { s.Unlisted = unlisted }))
		}
		status, said := w.organisation(away)
		for _, repo := range hidden {
			w.must(w.hub.Configure(repo, func(s *sandbox.Settings) { s.Unlisted = sandbox.Unlisted{} }))
		}
		return hiddenRun{hidden, hidden, status, said}
	}},
	{"a repository that cannot be read", func(w *hidingWorld, away string) hiddenRun {
		hidden := w.some(w.repos)
		for _, repo := range hidden {
			w.inject("* /github/api/v3/repos/" + repo + "/... " + []string{"403", "502", "garbage"}[w.random.IntN(3)])
		}
		status, said := w.organisation(away)
		w.box.Mend()
		return hiddenRun{hidden, hidden, status, said}
	}},
	{"a list that breaks off", func(w *hidingWorld, away string) hiddenRun {
		w.inject("POST /github/api/graphql " + []string{"403", "garbage", "empty", "short"}[w.random.IntN(4)])
		status, said := w.organisation(away)
		w.box.Mend()
		if status == command.ExitOK {
			w.Error("a run whose list breaks off is green")
		}
		return hiddenRun{nil, w.repos, status, said}
	}},
	{"one of two shards", func(w *hidingWorld, away string) hiddenRun {
		w.box.ResetRequests()
		from := hiddenRun{}
		from.status, from.said = w.run(away, "pr", "--org", "acme", "--shard", fmt.Sprintf("%d/2", 1+w.random.IntN(2)), "--format", "json")
		var asked strings.Builder
		for _, r := range w.box.Requests() {
			asked.WriteString(r.Path + "/\n")
		}
		for _, repo := range w.repos {
			if !strings.Contains(asked.String(), "/repos/"+repo+"/") {
				from.hidden = append(from.hidden, repo)
			}
		}
		from.spared = from.hidden
		return from
	}},
}

// organisation is a run over all repositories.
func (w *hidingWorld) organisation(away string) (status int, said string) {
	w.Helper()
	return w.run(away, "pr", "--org", "acme", "--fleet", filepath.Join(w.Cleanup, "fleet.json"))
}

// unnamed is how relock counts repositories of other shards, and those of which GitHub gives
// not even the name.
var unnamed = regexp.MustCompile(`\b\d+ that GitHub did not name\b|"in other shards": [1-9]`)

// TestHiddenRepositoriesStay holds what a run over an organisation does that does not see
// all of its repositories: in one that is hidden nothing is closed, pushed or deleted, and
// it is named or counted. Then all is shown, and a run over everything makes the same as
// if nothing had been hidden.
func TestHiddenRepositoriesStay(t *testing.T) {
	t.Parallel()
	for _, way := range waysToHideRepositories {
		for n := range *hiddenWorlds {
			seed := *hiddenSeed + uint64(n)
			t.Run(fmt.Sprintf("%s/%d", way.name, seed), func(t *testing.T) {
				t.Parallel()
				played := func(hides bool) (*hidingWorld, map[string]any) {
					w := newHidingWorld(t, seed, []string{"acme/a", "acme/b", "acme/c"}, []string{"live"})
					w.token = sandbox.UserToken
					away := filepath.Join(w.Cleanup, "away")
					w.must(os.Mkdir(away, 0o700))
					w.organisation(away)
					for _, w.repo = range w.repos {
						w.happen()
					}
					if hides {
						before := w.standing()
						w.log = append(w.log, "-- hidden --")
						from := way.run(w, away)
						w.log = append(w.log, "-- shown --")
						w.spared(from, before)
					}
					return w, w.whole(func() (int, string) { return w.organisation(away) })
				}
				w, got := played(true)
				_, want := played(false)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the pull requests are not as if nothing had been hidden (-want +got):\n%s", diff)
				}
				if t.Failed() {
					t.Log("what happened:\n" + strings.Join(w.log, "\n"))
				}
			})
		}
	}
}

// standing are the pull requests and branches of every repository.
func (w *hidingWorld) standing() map[string]map[string]string {
	w.Helper()
	all := map[string]map[string]string{}
	for _, w.repo = range w.repos {
		refs, err := w.hub.Refs(w.repo)
		w.must(err)
		here := map[string]string{}
		for name, sha := range refs {
			here[name] = fmt.Sprint(sha)
		}
		for branch, pull := range w.pulls() {
			here["pull request from "+branch] = fmt.Sprintln(pull.Number, pull.State, pull.HeadSHA, pull.Title, pull.Body)
		}
		all[w.repo] = here
	}
	return all
}

// spared holds what a run has done against what was hidden from it.
func (w *hidingWorld) spared(from hiddenRun, before map[string]map[string]string) {
	w.Helper()
	after := w.standing()
	for _, repo := range from.spared {
		if diff := cmp.Diff(before[repo], after[repo]); diff != "" {
			w.Errorf("the hidden %s has changed (-before +after):\n%s", repo, diff)
		}
	}
	for _, repo := range from.hidden {
		if !strings.Contains(from.said, repo) && !strings.Contains(from.said, path.Base(repo)+" by name") && !unnamed.MatchString(from.said) {
			w.Errorf("the hidden %s is neither named nor counted, at status %d", repo, from.status)
		}
	}
}
