package pr_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/sandbox"
)

var (
	historySteps = flag.Int("steps", 40, "how many steps the random histories of TestRandomHistories take together")
	historySeed  = flag.Uint64("seed", 1, "the seed of the first random history; each further one has the next")
)

// stepsOfHistory is how long one history is, after which another world begins.
const stepsOfHistory = 40

// TestRandomHistories plays people, releases, changes of the configuration, runs
// that end in the middle of their work, answers that fail, are lost or come half,
// registries that do not answer, and runs at the same time. It checks after each
// step that a run in an outage closes nothing and takes nothing back, that one
// undisturbed run brings everything in order, and that the next one finds nothing
// to do, whatever is down then.
func TestRandomHistories(t *testing.T) {
	count := new(figures)
	t.Cleanup(func() { t.Log(count) })
	for i := range uint64((*historySteps + stepsOfHistory - 1) / stepsOfHistory) {
		seed := *historySeed + i
		t.Run(fmt.Sprint("seed_", seed), func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, seed)
			h.count = count
			for range stepsOfHistory {
				h.step()
				count.add("steps")
				if t.Failed() {
					t.Fatalf("run again with -seed %d -steps %d; what happened:\n%s", seed, stepsOfHistory, strings.Join(h.told, "\n"))
				}
			}
		})
	}
}

// figures count what happened in all histories.
type figures struct {
	mu     sync.Mutex
	counts map[string]int
}

func (f *figures) add(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts == nil {
		f.counts = map[string]int{}
	}
	f.counts[what]++
}

func (f *figures) String() string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(f.counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", f.counts[what], what))
	}
	return strings.Join(parts, ", ")
}

// historyWorld has two root modules on each of two branches.
const historyWorld = `
-- settings/octo/infra --
labels: [dependencies]
-- github/octo/infra/main/prod/.terraform.lock.hcl --
# version 1
-- github/octo/infra/main/stage/.terraform.lock.hcl* --
# version 1
-- github/octo/infra/release/prod/.terraform.lock.hcl --
# version 1
-- github/octo/infra/release/stage/.terraform.lock.hcl* --
# version 1
`

// history is what happens to one repository.
type history struct {
	*scene
	rng   *rand.Rand
	told  []string
	count *figures

	newest int      // version
	facts  int      // that the text tells
	split  bool     // each directory is a group
	bases  []string // that are configured

	// theirs are the commits of people, which must not be lost.
	theirs map[string]bool
	// reworded are the pull requests whose body somebody has rewritten.
	reworded map[int]bool
	// twins says that two runs went on at once in this step: none of them can see
	// the comment that the other is about to write.
	twins bool
	said  map[string]int
	// anew are commits that GitHub made of ours for people.
	anew map[string]bool
	// evil are merges of a base, by people, that change more than that does.
	evil       map[string]bool
	retargeted map[int]bool // by people
	// called is what bases are called now that were renamed.
	called map[string]string
	// ignored is what people said last that relock should ignore, by branch.
	ignored map[string]string
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	h := &history{
		scene: sceneOf(t, historyWorld), rng: rand.New(rand.NewPCG(seed, 0)),
		newest: 2, bases: []string{"main"}, theirs: map[string]bool{}, reworded: map[int]bool{}, evil: map[string]bool{}, anew: map[string]bool{}, retargeted: map[int]bool{}, called: map[string]string{}, ignored: map[string]string{}, said: map[string]int{},
	}
	h.when = []pr.RebaseWhen{pr.RebaseAuto, pr.RebaseBehindBase, pr.RebaseConflicted}[h.rng.IntN(3)]
	if h.rng.IntN(4) == 0 {
		h.hub.WithoutUpdateRefs()
		h.tell("the server has no updateRefs")
	}
	h.tell("branches are updated by %s", h.when)
	h.must(h.hub.Fork(repoName, "stranger"))
	return h
}

func (h *history) tell(format string, args ...any) {
	h.told = append(h.told, fmt.Sprintf(format, args...))
}

// act is one thing that may happen, as often as its weight says.
type act struct {
	weight int
	name   string
	do     func() error
}

// step lets something happen and checks that a run comes to terms with it.
func (h *history) step() {
	h.Helper()
	h.twins = false
	if h.rng.IntN(2) == 0 {
		h.any(append(h.acts(), h.commands()...))
	} else {
		h.any(h.acts()) // so that there is something to be disturbed in
		h.disturbed()
	}
	if h.rng.IntN(3) == 0 {
		h.outage()
	}
	h.runUndisturbed()
}

// any does one of the acts. What cannot be done now is refused, as it is to a
// person.
func (h *history) any(acts []act) {
	sum := 0
	for _, a := range acts {
		sum += a.weight
	}
	n := h.rng.IntN(sum)
	for _, a := range acts {
		if n -= a.weight; n < 0 {
			err := a.do()
			h.tell("%s (%v)", a.name, err)
			return
		}
	}
}

// acts are those of people and of the world, which may also happen between two
// requests of a run.
func (h *history) acts() []act {
	pull, branch, base := h.somePull(), h.someBranch(), h.someBase()
	n := pull.Number
	lock := h.someDir() + "/.terraform.lock.hcl"
	return []act{
		{6, "a version is released", func() error { h.newest++; return nil }},
		{2, "a fact changes", func() error { h.facts++; return nil }},
		{2, "the groups change", func() error { h.split = !h.split; return nil }},
		{2, "the bases change", func() error {
			h.bases = slices.Clone([][]string{{"main"}, {"release"}, {"main", "release"}}[h.rng.IntN(3)])
			for i := range h.bases {
				h.bases[i] = h.now(h.bases[i])
			}
			return nil
		}},
		{2, "somebody pushes to " + base, func() error { return h.commit(base, "README.md", false) }},
		{3, "somebody changes a lock on " + base, func() error {
			return h.write(base, lock, fmt.Sprintf("# version %d\n", h.rng.IntN(h.newest+1)), false)
		}},
		{3, "somebody pushes to " + branch, func() error { return h.commit(branch, "main.tf", false) }},
		{1, "somebody amends " + branch, func() error { return h.commit(branch, "main.tf", true) }},
		{1, "somebody changes the lock on " + branch, func() error { return h.write(branch, lock, "# by hand\n", false) }},
		{2, "somebody deletes " + branch, func() error { return h.lossy(func() error { return h.hub.DeleteBranch(repoName, branch) }) }},
		{3, fmt.Sprintf("somebody closes #%d", n), func() error { return h.hub.Close(repoName, n, "monalisa") }},
		{2, fmt.Sprintf("somebody reopens #%d", n), func() error { return h.hub.Reopen(repoName, n) }},
		{4, fmt.Sprintf("somebody merges #%d", n), func() error {
			_, err := h.hub.Merge(repoName, n, "monalisa")
			return err
		}},
		{1, fmt.Sprintf("somebody changes the base of #%d to %s", n, base), func() error {
			delete(h.ignored, pull.Head) // it was for the group and the base that it had
			h.retargeted[n] = true
			return h.hub.Retarget(repoName, n, base)
		}},
		{1, fmt.Sprintf("somebody rewrites #%d", n), func() error {
			h.reworded[n] = true
			delete(h.ignored, pull.Head)
			return h.hub.Edit(repoName, n, "My title", "My words.")
		}},
		{1, fmt.Sprintf("somebody adds to #%d", n), func() error { return h.hub.Edit(repoName, n, "", pull.Body+"\r\nMy words.") }},
		{1, fmt.Sprintf("somebody asks for a rebase of #%d", n), func() error { return h.hub.Tick(repoName, n, "rebuild the branch") }},
		{2, "the rules of " + base + " change", func() error {
			rules := []*sandbox.Protection{nil, {Strict: true}, {Strict: true, Reviews: 1, DismissStale: true, Ruleset: true}, {Queue: true}, {Checks: true}}
			return h.hub.Protect(repoName, base, rules[h.rng.IntN(len(rules))])
		}},
		{2, fmt.Sprintf("somebody approves #%d", n), func() error { return h.hub.Approve(repoName, n, "monalisa") }},
		{1, fmt.Sprintf("somebody asks for changes of #%d", n), func() error { return h.hub.RequestChanges(repoName, n, "monalisa") }},
		{2, "GitHub computes states of merges otherwise", func() error {
			return h.hub.Configure(repoName, func(s *sandbox.Settings) { s.MergeStates = []string{"", "never", "stale"}[h.rng.IntN(3)] })
		}},
		{2, fmt.Sprintf("the checks of #%d pass", n), func() error { return h.hub.PassChecks(repoName, n) }},
		{3, fmt.Sprintf("somebody updates the branch of #%d", n), func() error {
			return h.update(pull, (*sandbox.GitHub).UpdateBranch)
		}},
		{2, fmt.Sprintf("somebody merges the base into #%d, and more", n), func() error { return h.evilMerge(pull) }},
		{3, fmt.Sprintf("#%d is queued", n), func() error { return h.hub.Enqueue(repoName, n, "monalisa") }},
		{1, fmt.Sprintf("#%d leaves the queue", n), func() error { return h.hub.Dequeue(repoName, n) }},
		{2, fmt.Sprintf("the queue merges #%d", n), func() error { return h.hub.MergeQueued(repoName, n) }},
		{2, fmt.Sprintf("somebody squashes #%d", n), func() error {
			_, err := h.hub.Squash(repoName, n, "monalisa")
			return err
		}},
		{3, fmt.Sprintf("somebody rebases the branch of #%d", n), func() error {
			return h.update(pull, (*sandbox.GitHub).RebaseBranch)
		}},
		{2, "somebody rewrites " + base, func() error {
			delete(h.theirs, h.head(base)) // what only our branches hold then goes with them
			return h.commit(base, "README.md", true)
		}},
		{1, base + " is renamed", func() error { return h.rename(base) }},
		{1, "a stranger opens a pull request from " + branch, func() error {
			_, err := h.hub.Push("stranger/infra", sandbox.Push{Branch: branch, Files: map[string]sandbox.File{
				"x": {Mode: sandbox.ModeFile, Content: []byte(fmt.Sprint(h.rng.Uint64()))},
			}})
			if err == nil {
				_, err = h.hub.Open(repoName, "stranger:"+branch, base, "Mine", "stranger")
			}
			return err
		}},
	}
}

// commands are what people ask relock for in comments; each is a run.
func (h *history) commands() []act {
	pull, base := h.somePull(), h.someBase()
	found, err := h.repo.PullRequest(context.Background(), pull.Number)
	if err != nil {
		return nil
	}
	o, ok, err := pr.Find(context.Background(), h.repo, found, "")
	if err != nil || !ok {
		return nil
	}
	n := pull.Number
	return []act{
		{2, fmt.Sprintf("/relock ignore in #%d", n), func() error {
			if last := h.newestOf(pull.Head, pull.Base); last.Number != n || h.reworded[n] || pull.Base != o.Base {
				return errors.New("not the newest")
			}
			what := fmt.Sprintf("%d.0.0", h.rng.IntN(100))
			h.ignored[pull.Head] = what
			return pr.SetIgnores(context.Background(), h.repo, o, []policy.Ignore{
				{Provider: "hashicorp/aws", What: what, By: "monalisa", When: "2026-01-05"},
			})
		}},
		{1, fmt.Sprintf("/relock close in #%d", n), func() error {
			_, err := pr.Close(context.Background(), h.repo, o)
			return err
		}},
		{1, fmt.Sprintf("/relock reopen in #%d", n), func() error { return pr.Reopen(context.Background(), h.repo, o) }},
		{1, fmt.Sprintf("/relock rebase of %s", pull.Head), func() error {
			return failed(h.run(context.Background(), h.repo, base, pr.Options{Only: pull.Head, Rebase: true}))
		}},
		{2, fmt.Sprintf("/relock recreate of %s", pull.Head), func() error {
			return h.lossy(func() error {
				return failed(h.run(context.Background(), h.repo, base, pr.Options{Only: pull.Head, Recreate: true}))
			})
		}},
	}
}

func failed(outcomes []pr.Outcome) error {
	var errs []error
	for _, o := range outcomes {
		errs = append(errs, o.Err)
	}
	return errors.Join(errs...)
}

// The dimensions of the world.
var (
	historyGroups = []string{"all", "prod", "stage"}
	historyBases  = []string{"main", "release"}
)

// branchesOf are all names that our branches can have, with their bases as they are
// called now.
func (h *history) branchesOf() map[string]string {
	names := map[string]string{}
	for _, base := range historyBases {
		for _, group := range historyGroups {
			names[pr.Branch(group, base, "")] = h.now(base)
			names[pr.Branch(group, base+"-now", "")] = h.now(base)
		}
	}
	return names
}

// somePull is a pull request from one of our branches, mostly a late one.
func (h *history) somePull() sandbox.PullRequest {
	pulls := h.fromOurs()
	if len(pulls) == 0 {
		return sandbox.PullRequest{}
	}
	return pulls[max(h.rng.IntN(len(pulls)), h.rng.IntN(len(pulls)))]
}

// fromOurs are the pull requests from branches with our names.
func (h *history) fromOurs() []sandbox.PullRequest {
	names := h.branchesOf()
	pulls := slices.DeleteFunc(h.pulls(), func(p sandbox.PullRequest) bool { return names[p.Head] == "" || p.HeadOwner != "octo" })
	for i := range pulls {
		pulls[i].Base = h.now(pulls[i].Base) // GitHub takes open ones along alone
	}
	return pulls
}

// newestOf is the newest pull request from a branch to a base.
func (h *history) newestOf(branch, base string) sandbox.PullRequest {
	var newest sandbox.PullRequest
	for _, p := range h.fromOurs() {
		if p.Head == branch && p.Base == base {
			newest = p
		}
	}
	return newest
}

func (h *history) someBranch() string {
	if pull := h.somePull(); pull.Head != "" && h.rng.IntN(4) > 0 {
		return pull.Head
	}
	names := slices.Sorted(maps.Keys(h.branchesOf()))
	return names[h.rng.IntN(len(names))]
}

func (h *history) someBase() string { return h.now(historyBases[h.rng.IntN(len(historyBases))]) }

func (h *history) someDir() string { return []string{"prod", "stage"}[h.rng.IntN(2)] }

// update is one that GitHub makes for a person. Where it brings back what the base has
// lost, or leaves out what the base has taken, it is somebody's work to relock.
func (h *history) update(pull sandbox.PullRequest, update func(*sandbox.GitHub, string, int, string) error) error {
	return h.lossy(func() error {
		if pull.State != "open" || h.head(pull.Head) == "" {
			return errors.New("not open")
		}
		own, before := h.ours(pull.Head), h.reachable()
		if err := update(h.hub, repoName, pull.Number, "monalisa"); err != nil {
			return err
		}
		head := h.head(pull.Head)
		for _, c := range h.commits(pull.Head) {
			h.anew[c.SHA] = !before[c.SHA]
		}
		if len(own.Parents) > 0 && h.changes(head, pull.Base) != h.changes(own.SHA, own.Parents[len(own.Parents)-1]) {
			h.theirs[head], h.evil[head] = true, true
		}
		return nil
	})
}

// ours is the newest commit below another that relock has made, by first parents; none
// if there is none.
func (h *history) ours(ref string) sandbox.Commit {
	commits, log := map[string]sandbox.Commit{}, h.commits(ref)
	for _, c := range log {
		commits[c.SHA] = c
	}
	for c := log[0]; ; c = commits[c.Parents[0]] {
		switch {
		case c.Author == "github-actions[bot]" && digestOf(c) != "":
			return c
		case len(c.Parents) == 0:
			return sandbox.Commit{}
		}
	}
}

// changes are the files that a commit has otherwise than another one.
func (h *history) changes(ref, base string) string {
	was, err := h.hub.Files(repoName, base)
	h.must(err)
	is, err := h.hub.Files(repoName, ref)
	h.must(err)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if f := is[name]; string(f.Content) != string(was[name].Content) {
			fmt.Fprintf(&b, "%s %s\n", name, f.Content)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, ok := is[name]; !ok {
			fmt.Fprintf(&b, "no %s\n", name)
		}
	}
	return b.String()
}

// evilMerge is a merge of the base by a person who changes something on the way.
func (h *history) evilMerge(pull sandbox.PullRequest) error {
	return h.lossy(func() error {
		if err := h.hub.UpdateBranch(repoName, pull.Number, "monalisa"); err != nil {
			return err
		}
		sha, err := h.hub.Push(repoName, sandbox.Push{Branch: pull.Head, Amend: true, Message: "Merge branch 'main'", Files: map[string]sandbox.File{
			"main.tf": {Mode: sandbox.ModeFile, Content: []byte(fmt.Sprint(h.rng.Uint64()))},
		}})
		if err == nil {
			h.theirs[sha], h.evil[sha] = true, true
		}
		return err
	})
}

// rename gives a base another name, once.
func (h *history) rename(base string) error {
	if h.called[strings.TrimSuffix(base, "-now")] != "" {
		return errors.New("it was renamed before")
	}
	if err := h.hub.RenameBranch(repoName, base, base+"-now"); err != nil {
		return err
	}
	h.called[base] = base + "-now"
	h.count.add("renamed bases")
	for i := range h.bases {
		h.bases[i] = h.now(h.bases[i])
	}
	return nil
}

// now is what a base is called now.
func (h *history) now(base string) string { return cmp.Or(h.called[base], base) }

// commit is a person's, of something that is no lock.
func (h *history) commit(branch, path string, amend bool) error {
	return h.write(branch, path, fmt.Sprint(h.rng.Uint64()), amend)
}

func (h *history) write(branch, path, content string, amend bool) error {
	p := sandbox.Push{Branch: branch, Amend: amend, Files: map[string]sandbox.File{path: {Mode: sandbox.ModeFile, Content: []byte(content)}}}
	return h.lossy(func() error {
		if amend {
			commits, err := h.hub.Commits(repoName, branch)
			if err != nil {
				return err
			}
			p.Message = commits[0].Message
		}
		sha, err := h.hub.Push(repoName, p)
		if err == nil {
			h.theirs[sha] = true
		}
		return err
	})
}

// lossy is an act by which people may lose commits of people themselves.
func (h *history) lossy(do func() error) error {
	err := do()
	kept := h.reachable()
	maps.DeleteFunc(h.theirs, func(sha string, _ bool) bool { return !kept[sha] })
	return err
}

// reachable are the commits that some ref holds, those of pull requests too.
func (h *history) reachable() map[string]bool {
	refs, err := h.hub.Refs(repoName)
	h.must(err)
	kept := map[string]bool{}
	for _, sha := range refs {
		if !kept[sha] {
			for _, c := range h.commits(sha) {
				kept[c.SHA] = true
			}
		}
	}
	return kept
}

// wanted are the proposals for a base as it is now.
func (h *history) wanted(base string) []pr.Proposal {
	return h.plan(base, "").proposals(nil)
}

// planned is what a run wants for a base, and the directory whose registries do
// not answer, if any.
type planned struct {
	base, content, down string
	facts               int
	groups              map[string]string       // by directory
	now                 map[string]sandbox.File // by path
	opts                pr.Options
}

func (h *history) plan(base, down string) planned {
	p := planned{
		base: base, content: fmt.Sprintf("# version %d\n", h.newest), down: down, facts: h.facts,
		groups: map[string]string{}, now: map[string]sandbox.File{},
		opts: pr.Options{Base: base, SHA: h.head(base), Bases: slices.Clone(h.bases), RebaseWhen: h.when},
	}
	if down != "" {
		p.opts.Spare = func(_ string, files []pr.File) bool {
			return slices.ContainsFunc(files, func(f pr.File) bool {
				return path.Dir(f.Path) == down && string(f.Content) != string(p.now[f.Path].Content)
			})
		}
	}
	for _, dir := range []string{"prod", "stage"} {
		p.groups[dir] = "all"
		if h.split {
			p.groups[dir] = dir
		}
		p.now[dir+"/.terraform.lock.hcl"] = h.file(base, dir+"/.terraform.lock.hcl")
	}
	return p
}

// proposals are those of a plan. Of a directory whose registries do not answer it
// is what stands for its group, if the base has what that was made from.
func (p planned) proposals(standing map[string]pr.Standing) []pr.Proposal {
	byGroup, alone := map[string][]pr.File{}, map[string]pr.LeftAlone{}
	for _, dir := range []string{"prod", "stage"} {
		group, name := p.groups[dir], dir+"/.terraform.lock.hcl"
		now := p.now[name]
		f := pr.File{Path: name, Mode: now.Mode, Content: []byte(p.content), Old: now.Content}
		if dir == p.down {
			f.Content = now.Content
			if standing[group].Head != "" && standing[group].Files == nil {
				alone[group] = pr.NotReadable
			}
			for _, stands := range standing[group].Files {
				if stands.Path != name || string(stands.Content) == string(now.Content) {
					continue
				}
				f.Content = stands.Content
				if string(stands.Old) != string(now.Content) {
					alone[group] = pr.Overtaken
				}
			}
		}
		if string(now.Content) != string(f.Content) {
			byGroup[group] = append(byGroup[group], f)
		}
	}
	var proposals []pr.Proposal
	for group, why := range alone {
		made := pr.New(group, p.base, "", nil)
		made.Alone = why
		proposals = append(proposals, made)
		delete(byGroup, group)
	}
	for _, group := range slices.Sorted(maps.Keys(byGroup)) {
		made := pr.New(group, p.base, "", byGroup[group])
		made.Title = fmt.Sprintf("Bump %s to %s", group, strings.TrimSpace(strings.TrimPrefix(p.content, "# version ")))
		made.Subject, made.Facts = made.Title, fmt.Sprint(p.facts)
		made.Body = safe.Format("%s\n\nFact %s.", safe.Text(made.Title), safe.Int(p.facts))
		made.Labels = []string{"dependencies"}
		if stands, read := standing[group]; read {
			made.From = &stands
		}
		proposals = append(proposals, made)
	}
	return proposals
}

// propose brings the plan to GitHub as a run does: where something is down it reads
// what stands, and leaves alone what it cannot read.
func (p planned) propose(ctx context.Context, repo *github.Repository) []pr.Outcome {
	survey, err := p.look(ctx, repo)
	if err != nil {
		return []pr.Outcome{{Operation: pr.None, Err: err}}
	}
	p.opts.Survey = survey
	if p.down == "" {
		return pr.Propose(ctx, repo, p.proposals(nil), p.opts)
	}
	group := p.groups[p.down]
	stands, err := survey.Standing(ctx, repo, group, p.base, "")
	proposals := p.proposals(map[string]pr.Standing{group: stands})
	if err != nil {
		proposals = slices.DeleteFunc(proposals, func(made pr.Proposal) bool { return made.Group == group })
	}
	return pr.Propose(ctx, repo, proposals, p.opts)
}

// look is what a run finds out about its groups before it plans.
func (p planned) look(ctx context.Context, repo *github.Repository) (pr.Survey, error) {
	groups := slices.Compact(slices.Sorted(maps.Values(p.groups)))
	return pr.Look(ctx, repo, p.base, "", groups...)
}

// run is a run over one base.
func (h *history) run(ctx context.Context, repo *github.Repository, base string, opts pr.Options) []pr.Outcome {
	p := h.plan(base, "")
	opts.Base, opts.SHA, opts.Bases, opts.RebaseWhen = base, p.opts.SHA, p.opts.Bases, h.when
	p.opts = opts
	return p.propose(ctx, repo)
}

// outage runs undisturbed while the registries of one directory do not answer,
// and checks that no pull request is closed that proposes something for it, and that
// none proposes less of it than before, where the base still has what that was made
// from.
func (h *history) outage() {
	h.Helper()
	down := h.someDir()
	name := down + "/.terraform.lock.hcl"
	before := h.fromOurs()
	held := map[int]string{}
	for _, pull := range before {
		if pull.State == "open" && !h.touched(pull.Head, pull.Base) && slices.Contains(h.bases, pull.Base) {
			held[pull.Number] = string(h.file(pull.HeadSHA, name).Content)
		}
	}
	h.tell("  the registries of %s do not answer", down)
	h.count.add("outages")
	for _, base := range h.bases {
		for _, o := range h.plan(base, down).propose(context.Background(), h.repo) {
			h.tell("    %s: %s #%d %s %v", o.Branch, o.Operation, o.Number, o.Reason, o.Err)
		}
	}
	for _, pull := range before {
		after := h.pull(pull.Number)
		proposes := string(h.file(pull.HeadSHA, name).Content)
		hidden := proposes != h.replaced(pull, name) && proposes != string(h.file(pull.Base, name).Content)
		if pull.State == "open" && after.State != "open" && hidden {
			h.Errorf("#%d is closed by an outage", pull.Number)
		}
		was, ok := held[pull.Number]
		if !ok || pull.Base != h.branchesOf()[pull.Head] || was != h.replaced(pull, name) && h.replaced(pull, name) != string(h.file(pull.Base, name).Content) {
			continue
		}
		if is := string(h.file(after.HeadSHA, name).Content); was != h.replaced(pull, name) && is != was {
			h.Errorf("#%d had %q in %s and has %q after an outage", pull.Number, was, name, is)
		}
	}
}

// outdated reports whether a person has turned down what the base has changed
// under since, or what they had merged something into: what of it needs no answer is
// another proposal then.
func (h *history) outdated(base, down string) bool {
	p, name := h.plan(base, ""), down+"/.terraform.lock.hcl"
	last := h.newestOf(pr.Branch(p.groups[down], base, ""), base)
	return last.State == "closed" && !last.Merged &&
		(h.theirs[last.HeadSHA] || h.replaced(last, name) != string(p.now[name].Content))
}

// replaced is what a pull request replaces: the file where it left its base.
func (h *history) replaced(pull sandbox.PullRequest, name string) string {
	if own := h.ours(pull.HeadSHA); own.SHA == pull.HeadSHA { // which the base may have lost
		return string(h.file(own.Parents[len(own.Parents)-1], name).Content)
	}
	inBase := map[string]bool{}
	for _, c := range h.commits(pull.Base) {
		inBase[c.SHA] = true
	}
	for _, c := range h.commits(pull.HeadSHA) {
		if inBase[c.SHA] {
			return string(h.file(c.SHA, name).Content)
		}
	}
	return ""
}

// runUndisturbed runs undisturbed, checks what GitHub holds then, and runs again.
func (h *history) runUndisturbed() {
	h.Helper()
	before := h.fromOurs()
	for _, base := range h.bases {
		for _, o := range h.run(context.Background(), h.repo, base, pr.Options{}) {
			h.tell("  %s: %s #%d %s %v", o.Branch, o.Operation, o.Number, o.Reason, o.Err)
			if o.Err != nil && !strings.Contains(o.Err.Error(), "its commits are not relock's") {
				h.Errorf("%s: %v", o.Branch, o.Err)
			}
		}
	}
	h.check(before)

	h.sandbox.ResetRequests()
	for _, base := range h.bases {
		for _, o := range h.run(context.Background(), h.repo, base, pr.Options{}) {
			if o.Operation != pr.None {
				h.Errorf("%s: a second run has %s it", o.Branch, o.Operation)
			}
		}
		// And if something were down by now, too.
		down := h.someDir()
		if h.outdated(base, down) {
			continue
		}
		for _, o := range h.plan(base, down).propose(context.Background(), h.repo) {
			if o.Operation != pr.None {
				h.Errorf("%s: an outage of %s has %s it", o.Branch, down, o.Operation)
			}
		}
	}
	for _, w := range h.wrote() {
		// Asking a server to delete what it cannot delete changes nothing.
		if !h.cannotDelete() || !strings.HasSuffix(w, "/graphql") {
			h.Errorf("a second run sends %s", w)
		}
	}
}

// check holds what must be true after a run that nothing has disturbed. before
// are the pull requests at its beginning.
func (h *history) check(before []sandbox.PullRequest) {
	h.Helper()
	kept := h.reachable()
	for sha := range h.theirs {
		if !kept[sha] {
			h.Errorf("commit %s of somebody is lost", sha)
		}
	}
	wanted := map[string]pr.Proposal{}
	for _, base := range h.bases {
		for _, p := range h.wanted(base) {
			wanted[p.Branch] = p
		}
	}
	for _, pull := range before {
		now := h.pull(pull.Number)
		if pull.Queued && (!now.Queued || now.Ejections > pull.Ejections || now.Body != pull.Body) {
			h.Errorf("#%d was in the merge queue, and is %+v now", pull.Number, now)
		}
	}
	h.checkDoubles()
	open := map[string]int{}
	for _, pull := range h.fromOurs() {
		h.checkComments(pull)
		opened := !slices.ContainsFunc(before, func(p sandbox.PullRequest) bool { return p.Number == pull.Number })
		if opened && len(pull.Labels) == 0 {
			h.Errorf("#%d has no label", pull.Number)
		}
		if pull.State == "open" {
			if open[pull.Head+" "+pull.Base]++; open[pull.Head+" "+pull.Base] > 1 {
				h.Errorf("#%d is a second pull request from %s to %s", pull.Number, pull.Head, pull.Base)
			}
			h.checkOpen(pull, wanted)
		}
		h.checkNotRefused(pull, before)
	}
	for branch, p := range wanted {
		if open[branch+" "+p.Base] == 0 && !h.excused(p) {
			h.Errorf("%s is wanted and not proposed", branch)
		}
	}
	h.checkLeftovers(wanted)
	for branch, what := range h.ignored {
		last := h.newestOf(branch, h.branchesOf()[branch])
		if m, _ := pr.ParseMarker(last.Body); last.Number > 0 && (len(m.Ignores) != 1 || m.Ignores[0].What != what) {
			h.Errorf("#%d has forgotten to ignore %s: %+v", last.Number, what, m.Ignores)
		}
	}
}

// outlived reports whether a branch has a name for a base that has another name now.
func (h *history) outlived(branch string) bool {
	for base := range h.called {
		for _, group := range historyGroups {
			if branch == pr.Branch(group, base, "") {
				return true
			}
		}
	}
	return false
}

// checkDoubles makes sure that a rename has given no group a second pull request, but where
// a person has had a hand in the first one.
func (h *history) checkDoubles() {
	h.Helper()
	for _, base := range historyBases {
		for _, group := range historyGroups {
			var open []int
			for _, pull := range h.fromOurs() {
				own := pull.Head == pr.Branch(group, base, "") || pull.Head == pr.Branch(group, base+"-now", "")
				own = own && pull.State == "open" && pull.Base == h.now(base) && !h.retargeted[pull.Number] && h.ours(pull.HeadSHA).SHA != ""
				if own && !(h.outlived(pull.Head) && (h.reworded[pull.Number] || pull.Queued || h.touched(pull.Head, pull.Base))) {
					open = append(open, pull.Number)
				}
			}
			if len(open) > 1 {
				h.Errorf("%v are all pull requests of %s for %s", open, group, h.now(base))
			}
		}
	}
}

func (h *history) checkComments(pull sandbox.PullRequest) {
	h.Helper()
	said := map[string]int{}
	for _, c := range pull.Comments {
		said[fmt.Sprintf("#%d is told %q", pull.Number, c.Body)]++
	}
	for what, times := range said {
		if times > max(1, h.said[what]) && !h.twins {
			h.Errorf("%s %d times", what, times)
		}
		h.said[what] = times
	}
}

// checkOpen makes sure that an open pull request is either in a person's hands
// or proposes what is wanted in the words for it.
func (h *history) checkOpen(pull sandbox.PullRequest, wanted map[string]pr.Proposal) {
	h.Helper()
	if pull.Base != h.branchesOf()[pull.Head] || h.touched(pull.Head, pull.Base) || pull.Queued {
		return
	}
	p, ok := wanted[pull.Head]
	if !ok && h.outlived(pull.Head) && h.reworded[pull.Number] {
		return // nothing tells any more that it was ours
	}
	if !ok {
		h.Errorf("#%d is stale: nothing of %s is wanted", pull.Number, pull.Head)
		return
	}
	if !h.holds(pull.HeadSHA, p) {
		h.Errorf("#%d does not hold what %s proposes", pull.Number, p.Title)
	}
	m, ours := pr.ParseMarker(pull.Body)
	if !ours {
		return
	}
	if m.Closed != "" || m.Stopped {
		h.Errorf("#%d remembers what no longer holds: %+v", pull.Number, m)
	}
	if pull.Title != p.Title && !h.reworded[pull.Number] || !strings.Contains(pull.Body, fmt.Sprintf("Fact %d.", h.facts)) {
		h.Errorf("#%d says %q %q, want %q with fact %d", pull.Number, pull.Title, pull.Body, p.Title, h.facts)
	}
}

// holds reports whether a commit has the files of the proposal.
func (h *history) holds(sha string, p pr.Proposal) bool {
	files, err := h.hub.Files(repoName, sha)
	h.must(err)
	return !slices.ContainsFunc(p.Files, func(f pr.File) bool { return string(files[f.Path].Content) != string(f.Content) })
}

// touched reports whether a branch has commits of people that its base has not.
// What relock put its own commit and the base on was settled then. Of an update by
// GitHub nobody knows what is in it, once the base has lost what that was made with.
func (h *history) touched(branch, base string) bool {
	inBase, own := map[string]bool{}, map[string]sandbox.Commit{}
	for _, c := range h.commits(base) {
		inBase[c.SHA] = true
	}
	for _, c := range h.commits(branch) {
		own[c.SHA] = c
	}
	for sha := h.head(branch); sha != "" && !inBase[sha]; {
		c := own[sha]
		ours := c.Author == "github-actions[bot]" && digestOf(c) != ""
		lost := len(c.Parents) == 0 || !inBase[c.Parents[len(c.Parents)-1]]
		switch {
		case ours:
			return h.evil[sha] || h.anew[sha] && lost
		case len(c.Parents) != 2 || h.evil[sha] || h.theirs[sha] || lost: // no mere merge of the base
			return true
		}
		sha = c.Parents[0]
	}
	return false
}

// excused reports whether it is right that a proposal has no pull request.
func (h *history) excused(p pr.Proposal) bool {
	pulls := slices.DeleteFunc(h.fromOurs(), func(pull sandbox.PullRequest) bool { return pull.Head != p.Branch })
	if slices.ContainsFunc(pulls, func(pull sandbox.PullRequest) bool { return pull.State == "open" }) {
		return true // to another base
	}
	pulls = slices.DeleteFunc(pulls, func(pull sandbox.PullRequest) bool { return pull.Base != p.Base })
	if len(pulls) > 0 {
		last := pulls[len(pulls)-1]
		if !last.Merged && h.holds(last.HeadSHA, p) {
			return true // turned down
		}
		if last.Merged && h.reworded[last.Number] && last.HeadSHA == h.head(p.Branch) {
			return true // nothing tells any more that the merged branch was ours
		}
	}
	return h.head(p.Branch) != "" && h.touched(p.Branch, p.Base)
}

// checkNotRefused makes sure that a pull request that the run has opened does
// not propose again what a person has just turned down.
func (h *history) checkNotRefused(pull sandbox.PullRequest, before []sandbox.PullRequest) {
	h.Helper()
	known := func(p sandbox.PullRequest) bool { return p.Number == pull.Number }
	if slices.ContainsFunc(before, known) {
		return
	}
	for _, old := range slices.Backward(before) {
		if old.Head != pull.Head || old.Base != pull.Base {
			continue
		}
		m, _ := pr.ParseMarker(old.Body)
		was, is := h.commits(old.HeadSHA)[0], h.commits(pull.HeadSHA)[0]
		if old.State == "closed" && !old.Merged && m.Closed == "" && digestOf(was) == digestOf(is) && was.Author == is.Author {
			h.Errorf("#%d proposes again what was turned down in #%d", pull.Number, old.Number)
		}
		return
	}
}

func digestOf(c sandbox.Commit) string {
	_, after, _ := strings.Cut(c.Message, "Relock-Digest: ")
	digest, _, _ := strings.Cut(after, "\n")
	return digest
}

// checkLeftovers makes sure that a branch of ours that nothing needs is gone.
func (h *history) checkLeftovers(wanted map[string]pr.Proposal) {
	h.Helper()
	for branch, base := range h.branchesOf() {
		_, needed := wanted[branch]
		if needed || h.head(branch) == "" || h.touched(branch, base) || len(h.commits(branch)) == 0 {
			continue
		}
		if h.outlived(branch) && h.anew[h.head(branch)] {
			continue // GitHub made it on a base that nothing names any more
		}
		open := slices.ContainsFunc(h.fromOurs(), func(p sandbox.PullRequest) bool { return p.Head == branch && p.State == "open" })
		if !open && digestOf(h.commits(branch)[0]) != "" && !h.cannotDelete() {
			h.Errorf("branch %s is left over", branch)
		}
	}
}

func (h *history) cannotDelete() bool { return strings.Contains(h.told[0], "no updateRefs") }

// disturbed lets one or two runs go on step by step, and between two requests
// people act, answers are lost and runs end.
func (h *history) disturbed() {
	runs := make([]*runInSteps, 1+h.rng.IntN(2))
	h.twins = len(runs) > 1
	for i := range runs {
		h.count.add("disturbed runs")
		runs[i] = h.start(i + 1)
	}
	crashes := h.rng.IntN(2) == 0
	for {
		live := slices.DeleteFunc(slices.Clone(runs), func(r *runInSteps) bool { return r.ended })
		if len(live) == 0 {
			return
		}
		if h.rng.IntN(8) == 0 {
			h.any(h.acts())
		}
		r := live[h.rng.IntN(len(live))]
		fate := proceeds
		oneIn := 40
		if !strings.HasPrefix(r.asked, http.MethodGet) {
			oneIn = 12 // where it matters most
		}
		if n := h.rng.IntN(oneIn); crashes && n < int(proceeds) {
			fate = fateOf(n)
		}
		h.tell("  run %d: %s%s", r.number, r.asked, fate)
		h.count.add("requests" + fate.String())
		r.fates <- fate
		r.wait()
	}
}

// fateOf is what becomes of a request.
type fateOf int

const (
	endsBefore fateOf = iota // the run ends before the request is sent
	endsAfter                // the run ends before the answer comes
	isLost                   // the server never gets it
	answerLost               // the server does it, and the answer is lost
	fails                    // the server does nothing and says that it failed
	failsAfter               // the server does it and says that it failed
	isHalf                   // the server does it, and half of the answer comes
	isHalfWell               // the same, and looks like the end
	proceeds
)

func (f fateOf) String() string {
	return []string{", and ends before", ", and ends after", " is lost", ", whose answer is lost",
		" fails", " fails after it is done", " is half answered", " is half answered and ends well", ""}[f]
}

// runInSteps is a run that waits for leave before each request.
type runInSteps struct {
	number int
	asks   chan string // closed at the end
	fates  chan fateOf
	asked  string
	ended  bool
}

// start begins a run over the configured bases, up to its first request.
func (h *history) start(number int) *runInSteps {
	r := &runInSteps{number: number, asks: make(chan string), fates: make(chan fateOf)}
	ctx, cancel := context.WithCancel(context.Background())
	repo := h.as(sandbox.ActionsToken, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return r.send(req, next, cancel) })
	})
	var todo []planned
	for _, base := range h.bases {
		down := ""
		if h.rng.IntN(4) == 0 {
			down = h.someDir()
			h.tell("  to run %d the registries of %s do not answer", number, down)
		}
		p := h.plan(base, down)
		p.opts.Rebase = h.rng.IntN(6) == 0
		todo = append(todo, p)
	}
	go func() {
		defer close(r.asks)
		defer cancel()
		for _, p := range todo {
			p.propose(ctx, repo)
		}
	}()
	r.wait()
	return r
}

// wait lets the run go on to its next request, or to its end.
func (r *runInSteps) wait() {
	asked, more := <-r.asks
	r.asked, r.ended = asked, !more
}

var errLost = errors.New("the connection is lost")

func (r *runInSteps) send(req *http.Request, next http.RoundTripper, end func()) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	r.asks <- req.Method + " " + req.URL.Path
	fate := <-r.fates
	switch fate {
	case endsBefore:
		end()
		return nil, req.Context().Err()
	case isLost:
		return nil, errLost
	case fails:
		return badGateway(req), nil
	}
	resp, err := next.RoundTrip(req)
	if err != nil || fate == proceeds {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	switch fate {
	case failsAfter:
		return badGateway(req), err
	case isHalf:
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), iotest.ErrReader(io.ErrUnexpectedEOF)))
		return resp, err
	case isHalfWell:
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body[:len(body)/2])), -1
		return resp, err
	}
	if fate == endsAfter {
		end()
		err = req.Context().Err()
	}
	return nil, errors.Join(errLost, err)
}

func badGateway(req *http.Request) *http.Response {
	resp := answerOf(req, "<html>")
	resp.Status, resp.StatusCode, resp.Header = "502 Bad Gateway", http.StatusBadGateway, http.Header{"Content-Type": {"text/html"}}
	return resp
}
