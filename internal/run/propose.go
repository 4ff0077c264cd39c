package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/upgrade"
)

// groupKeys lists the keys of all groups that may have changes: those of providers that are
// required or locked.
func groupKeys(book policy.Rulebook, all []found) []string {
	keys := map[string]bool{}
	for _, f := range all {
		for _, addr := range f.providers() {
			keys[book.GroupOf(f.module.Dir, addr)] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// proposing is what is known of pull requests before the plan.
type proposing struct {
	client     *github.Client
	repo       *github.Repository
	base, head string
	// survey is the state of the pull requests, with what people ignore.
	survey pr.Survey
}

// planPulls plans the proposals. If a list of repositories shows no branch of ours, it asks
// GitHub about pull requests only if there is something to propose. The ignores of people
// may then remove some of that.
func planPulls(ctx context.Context, j job, p planned) (planned, error) {
	var err error
	if !j.visit.unmarked(j.target.base, j.settings.PullRequest.BranchPrefix) {
		p.proposing, err = prepare(ctx, j, p.inventory)
		if err != nil {
			return p, err
		}
		return planAll(ctx, j, p), nil
	}
	p.proposing, err = proposingTo(j)
	if err != nil {
		return p, err
	}
	p.proposing.survey = pr.Nothing()
	if is := j.visit.board.search(); is != nil {
		p.proposing.survey = pr.NothingBut(ctx, p.proposing.repo, is)
		j.visit.board.see(p.proposing.survey.Issues)
	}
	first := planAll(ctx, j, p)
	if !first.report.Pending() {
		return first, nil
	}
	p.proposing, err = prepare(ctx, j, p.inventory)
	if err != nil {
		return p, err
	}
	if len(p.proposing.survey.Ignores) > 0 {
		return planAll(ctx, j, p), nil
	}
	first.proposing = p.proposing
	return first, nil
}

// prepare asks GitHub for what the plan needs: the base branch, the pull requests of the
// groups, and what people ignore by comments.
func prepare(ctx context.Context, j job, s inventory) (proposing, error) {
	p, err := proposingTo(j)
	if err != nil {
		return p, err
	}
	if p.base == "" {
		p.base, err = p.repo.DefaultBranch(ctx)
		if err != nil {
			return p, err
		}
	}
	groups := groupKeys(j.plan.Policy, s.found)
	pulls := j.settings.PullRequest
	is := j.visit.board.search()
	p.survey, err = pr.LookWith(ctx, p.repo, pr.Options{Base: p.base, Prefix: pulls.BranchPrefix}, is, groups...)
	if is != nil {
		j.visit.board.see(p.survey.Issues)
	}
	return p, err
}

// proposingTo is the target of the proposals, as far as it is known without a request.
func proposingTo(j job) (p proposing, err error) {
	p.client, err = j.clients.of(j.access, j.target.repository)
	if err != nil {
		return p, err
	}
	p.repo, err = repositoryOf(p.client, j.target.repository)
	if err != nil {
		return p, err
	}
	p.head, p.base = j.target.remote.Commit, j.target.base
	return p, nil
}

// proposer brings what was planned to GitHub.
type proposer struct {
	job
	planned
	carrier *carrier
	moved   move
	// readNotes reads release notes once for all pull requests, and only if one is written;
	// nil if nobody wants them.
	readNotes func() []notes.Notes
}

// proposeAll brings the planned lock files to GitHub, one pull request for each group of
// changes. Further facts for its text are asked for before the first write, while the run
// may ask questions. If the base has moved meanwhile, root modules for which that matters
// are left out; nothing was written before that is known.
func proposeAll(ctx, asking context.Context, j job, known planned, to Pulls) planned {
	defer j.clock.stage(stagePropose)()
	p := &proposer{job: j, planned: known, moved: move{at: known.proposing, found: known.found}}
	proposals, outcomes := p.propose(ctx, asking, to)
	if hasMoved(outcomes) {
		p.leaveOutMoved()
		proposals, outcomes = p.propose(ctx, asking, to)
	}
	for _, key := range slices.Sorted(maps.Keys(p.carrier.notices)) {
		p.report.Diagnostics = append(p.report.Diagnostics, p.carrier.notices[key]...)
	}
	for _, o := range outcomes {
		if o.Unbegun {
			j.bounds.skip(report.Unbegun{PullRequests: 1})
			p.report.Diagnostics = append(p.report.Diagnostics, report.Interruption) // nobody must take this text for complete
			continue
		}
		p.record(o, proposals, p.carrier.over[o.Branch])
	}
	p.unsaid = leftUnsaid(p, outcomes)
	return p.planned
}

// propose makes the proposals, and lets GitHub hold them.
func (p *proposer) propose(ctx, asking context.Context, to Pulls) ([]pr.Proposal, []pr.Outcome) {
	at, pulls := p.proposing, p.settings.PullRequest
	facts, stop := context.WithCancel(asking) // until the first write
	defer stop()
	if pulls.ReleaseNotes && !at.client.Anonymous() {
		p.readNotes = sync.OnceValue(func() []notes.Notes { return readNotes(facts, p.job, at.client, p.found) })
	}
	p.carrier = newCarrier(p)
	proposals := p.proposals(facts, p.carrier)
	var spare func(string, []pr.File) bool
	if !p.sawAll() || len(p.carrier.notices) > 0 {
		spare = p.carrier.mustStay
	}
	if p.settings.DryRun {
		for _, one := range proposals {
			if one.Alone == "" {
				one.Write() // nobody else wants the text
			}
		}
	}
	holds := p.moved.holds
	if p.moved.changed != nil { // what matters is left out, and more is for the next run
		holds = func(context.Context, string) (bool, error) { return true, nil }
	}
	again, past := p.visit.board.wishes(ctx, at.repo, pulls.BranchPrefix)
	return proposals, pr.Propose(ctx, at.repo, proposals, pr.Options{
		Base: at.base, Bases: pulls.Base, SHA: at.head, Holds: holds, Survey: at.survey, Prefix: pulls.BranchPrefix, Limit: pulls.Limit,
		Budget: p.visit.Budget, Only: to.Only, Head: to.Seen, Rebase: to.Rebase, Recreate: to.Recreate, RebaseWhen: pr.RebaseWhen(pulls.RebaseWhen), Ready: to.Ready,
		Again: again, Past: past, Spare: spare, DryRun: p.settings.DryRun, Log: p.env.Log, Begins: p.bounds.begins(), Written: stop, Done: func(o pr.Outcome) { did(p.job, o) },
	})
}

// leaveOutMoved leaves out the root modules for which the base has moved, as if the run had
// not looked at them. A pull request keeps what it proposes for them, and the next run
// plans them.
func (p *proposer) leaveOutMoved() {
	var kept []found
	var modules []report.Module
	for i, f := range p.found {
		if p.moved.concerns(f) {
			p.unseen.add(baseMoved, p.names(f.tree).Of, path.Join(f.module.Dir, lockfile.Name))
		} else {
			kept, modules = append(kept, f), append(modules, p.report.Modules[i])
		}
	}
	p.found, p.report.Modules = kept, modules
	p.report.Diagnostics = append(slices.Clip(p.report.Diagnostics), p.unseen.notice(baseMoved)...)
}

// did announces a change of a pull request at once.
func did(j job, o pr.Outcome) {
	if j.env.Did != nil && o.Operation != pr.None && !j.settings.DryRun {
		j.env.Did(fmt.Sprintf("%s pull request %d of %s", o.Operation, o.Number, j.target.repository))
	}
}

// share is the part of the changes that belongs to one group.
type share struct {
	files   []pr.File
	changed []pr.Changed
	// modules are indexes of root modules. parts are the group's parts of their plans.
	modules []int
	parts   []upgrade.Result
	// kept are from root modules that the run did not look at, as the pull request proposed
	// them before. unasked counts root modules of which the run looked at a part.
	kept    []found
	unasked int
	notices []problem.Problem // of the group's pull request
}

// add adds the group's part of a root module.
func (s *share) add(i int, f found, unasked bool) {
	s.put(f, lockFile(f))
	s.modules, s.parts = append(s.modules, i), append(s.parts, f.result)
	if unasked {
		s.unasked++
	}
}

// keep adds a lock file of the pull request that the run did not look at.
func (s *share) keep(k keptFile) {
	s.put(k.of, k.file)
	s.kept = append(s.kept, k.of)
}

func (s *share) put(f found, file pr.File) {
	s.files = append(s.files, file)
	s.changed = append(s.changed, pr.Changed{Dir: f.module.Dir, Tool: f.module.Tool, Changes: changesOf(f.result)})
}

// proposals are the changed lock files, by group in the order of their keys. If several
// groups change a lock file, each proposes it with its own changes only. If a group's pull
// request must be read and cannot be, the proposal leaves it as it is.
func (p *proposer) proposals(ctx context.Context, carrier *carrier) []pr.Proposal {
	shares := map[string]*share{}
	for _, key := range groupKeys(p.plan.Policy, p.found) {
		shares[key] = &share{}
	}
	for i, f := range p.found {
		parts := p.parts(f)
		for _, key := range slices.Sorted(maps.Keys(parts)) {
			part, unasked := carrier.carry(ctx, key, parts[key])
			f.result = part
			if part.File != nil {
				shares[key].add(i, f, unasked)
			}
		}
	}
	var proposals []pr.Proposal
	narrowed := p.narrowed() // before the report gets what a group proposes already
	for _, key := range slices.Sorted(maps.Keys(shares)) {
		if narrowed {
			for _, k := range carrier.unseenFiles(ctx, key) {
				shares[key].keep(k)
			}
		}
		one, ok := p.groupProposal(ctx, carrier, key, shares[key], narrowed)
		if ok {
			proposals = append(proposals, one)
		}
	}
	return proposals
}

// groupProposal is the proposal of a group: its share, or that its pull request is left
// alone. It returns false if the group has no share. A narrowed run has not looked at
// everything of the group.
func (p *proposer) groupProposal(ctx context.Context, carrier *carrier, key string, s *share, narrowed bool) (pr.Proposal, bool) {
	stands, read := carrier.known[key]
	if stands.err != nil && (!problem.Coded(stands.err, problem.CodeCancelled) || !p.bounds.isInterrupted()) { // one line says that already
		carrier.notices[key] = append(carrier.notices[key], problem.Of(stands.err))
	}
	if stands.alone != "" {
		one := pr.New(key, p.proposing.base, p.settings.PullRequest.BranchPrefix, nil)
		one.Alone = stands.alone
		return one, true
	}
	if len(s.files) == 0 {
		return pr.Proposal{}, false
	}
	s.notices = carrier.notices[key]
	one := p.proposal(ctx, key, s, stands.Standing)
	if narrowed { // so that a run over everything writes the text again
		one.Facts += "-narrowed"
	}
	carrier.over[one.Branch] = s.carriedOver(stands.Standing)
	if read && !p.proposing.client.Anonymous() {
		one.From, one.KeepText = &stands.Standing, one.KeepText || narrowed
	}
	return one, true
}

// parts splits the plan of a root module by group. It leaves out groups without a change,
// unless something failed or was left out.
func (p *proposer) parts(f found) map[string]upgrade.Result {
	book := p.plan.Policy
	keys := groupKeys(book, []found{f})
	parts := map[string]upgrade.Result{}
	for _, key := range keys {
		part := f.result
		if len(keys) > 1 {
			part = f.result.Only(func(addr provider.Addr) bool { return book.GroupOf(f.module.Dir, addr) == key })
		}
		if part.File != nil || part.Failed() || len(p.unseen.only) > 0 {
			parts[key] = part
		}
	}
	return parts
}

func (p *proposer) proposal(ctx context.Context, key string, s *share, stands pr.Standing) pr.Proposal {
	base := p.proposing.base
	about := p.about(key, s)
	slices.SortStableFunc(s.changed, func(a, b pr.Changed) int { return strings.Compare(a.Dir, b.Dir) })
	one := pr.New(key, base, p.settings.PullRequest.BranchPrefix, s.files)
	general := slices.Concat(p.report.About(nil).Diagnostics, s.notices)
	beside, own := p.failures(s)
	general = append(general, beside...)
	one.Facts, one.KeepText = facts(about, general), len(beside) > 0 && !own
	failed := failedOf(p.plan.Policy, key, p.found, about)
	attended := failed > 0 || !unattended(p.plan.Policy, about) || carries(about) && !stands.MergesItself
	one.Presentation = pr.Presentation{PullRequest: p.settings.PullOf(key), NoAutoMerge: attended}
	one.Describe(s.changed)
	one.Write = sync.OnceValue(func() safe.Markdown {
		p.enrich(ctx)
		full := p.report.About(about)
		full.CarriedOver, full.Diagnostics = s.carriedOver(stands), append(slices.Clip(full.Diagnostics), s.notices...)
		fillDates(ctx, p.job, slices.Concat(p.found, s.kept), full.Modules)
		slices.SortStableFunc(full.Modules, func(a, b report.Module) int { return strings.Compare(a.Dir, b.Dir) })
		full.DryRun = false // the text is that of a real run
		if one.AutoMerge != "" {
			full.KeepsFromMerging = failed
		}
		full.Proofs = proofs(ctx, p.job, p.shared(s))
		return p.ask.means.Body(full)
	})
	return one
}

// failures are problems of other groups in the lock files that the group changes. The text
// counts the hashes of these files, and they could not be proven. own reports whether
// anything of the group failed, too.
func (p *proposer) failures(s *share) (beside []problem.Problem, own bool) {
	for n, i := range s.modules {
		own = own || s.parts[n].Failed()
		if p.found[i].result.Failed() && !s.parts[n].Failed() {
			beside = append(beside, problem.Problem{Code: problem.CodeUnreachable, Place: problem.Place{Path: p.found[i].module.Dir}})
		}
	}
	return beside, own
}

// shared are the plans of the root modules that a group changes, with the group's changes
// only.
func (p *proposer) shared(s *share) []found {
	plans := make([]found, len(s.modules))
	for n, i := range s.modules {
		plans[n] = p.found[i]
		plans[n].result = s.parts[n]
	}
	return plans
}

// enrich adds facts for reviewers that no lock file needs: publication dates and release
// notes. It asks for them only when a text is written, so that a run with nothing to do
// does not ask.
func (p *proposer) enrich(ctx context.Context) {
	fillDates(ctx, p.job, p.found, p.report.Modules)
	if p.readNotes != nil {
		p.report.Notes = p.readNotes()
	}
}

// about is the group's part of each root module: its changes, and the problems of its
// unchanged providers. The found root modules come first, then the kept ones.
func (p *proposer) about(key string, s *share) []report.Module {
	var modules []report.Module
	for i, f := range p.found {
		if n := slices.Index(s.modules, i); n >= 0 {
			f.result = s.parts[n]
		} else {
			f.result = f.result.Only(func(addr provider.Addr) bool { return p.plan.Policy.GroupOf(f.module.Dir, addr) == key })
			f.result.File = nil
		}
		modules = append(modules, describe(p.job, f))
	}
	for _, f := range s.kept {
		modules = append(modules, describe(p.job, f))
	}
	return modules
}

// carriedOver counts the root modules for which the proposal keeps former changes.
func (s *share) carriedOver(stands pr.Standing) report.CarriedOver {
	return report.CarriedOver{Roots: len(s.kept) + s.unasked, Commit: stands.Head}
}

// carries reports whether some changes are from a former proposal. Only the run that first
// proposed them knew who signed them, and what else needs a person.
func carries(modules []report.Module) bool {
	return slices.ContainsFunc(modules, func(m report.Module) bool {
		return slices.ContainsFunc(m.Changes, func(c report.Change) bool { return c.FromPull })
	})
}

// facts is a digest of facts in the text of a pull request that no lock file has: changes
// that need a person, and changes that were held back. Dates are not part of it, since
// relock asks for them only for a text that is written.
func facts(modules []report.Module, general []problem.Problem) string {
	h := sha256.New()
	// Each field is written by itself. The digest is in open pull requests: if it changed
	// for the same facts, relock would write each of them again.
	signer := func(s provider.Signer) string {
		return fmt.Sprintf("{%s %s %s %t %t}", s.KeyID, s.Label, s.Fingerprint, s.Expired, s.Ahead)
	}
	write := func(addr provider.Addr, f report.Facts) {
		for _, held := range f.Held {
			fmt.Fprintf(h, "held %s %s %s %s %s\n", addr, held.Version, held.By.Reason, held.By.Rule, held.Term.Constraint)
		}
		fmt.Fprintf(h, "eye %s %v %v %v %s %s\n", addr, f.Missing, f.Warnings, f.Marks, signer(f.Signer), signer(f.SignerFrom))
		if f.FromPull {
			fmt.Fprintf(h, "carried %s\n", addr)
		}
	}
	for _, m := range modules {
		io.WriteString(h, "module "+m.Dir+"\n")
		for _, change := range m.Changes {
			write(change.Addr, change.Facts)
		}
		for _, kept := range m.Kept {
			write(kept.Addr, kept.Facts)
		}
		for _, u := range m.Unread {
			fmt.Fprintf(h, "unread %s %s\n", u.Module, u.Code)
		}
		for _, f := range m.Findings {
			fmt.Fprintf(h, "finding %s %s %s %s\n", f.Code, f.Subject.Addr, f.Subject.Version, f.Subject.Hash)
		}
		for _, d := range m.Diagnostics {
			fmt.Fprintf(h, "diagnostic %s %s %d\n", d.Code, d.Subject.Addr, d.Severity)
		}
	}
	for _, d := range general { // without messages, which may name a port or a time
		fmt.Fprintf(h, "general %s %s %d\n", d.Code, d.Place.File(), d.Severity)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// lockFile is a lock file in the form of a commit.
func lockFile(f found) pr.File {
	name := path.Join(f.module.Dir, lockfile.Name)
	file := pr.File{Path: name, Content: f.result.File}
	if f.module.Lock != nil {
		file.Old = f.module.Lock.Source
	}
	file.Mode = github.ModeOf(f.tree.FS(), name)
	return file
}

// sawAll reports whether the run looked at everything on the base that the settings select,
// and got every answer.
func (p *proposer) sawAll() bool {
	seen := p.report
	seen.Diagnostics = slices.DeleteFunc(slices.Clone(seen.Diagnostics), func(d problem.Problem) bool {
		return d.Code == problem.CodeUnlocked // a known state, whatever the run makes of it
	})
	return !p.narrowed() && !seen.Failed()
}

// record adds the outcome of a proposal to the report.
func (p *proposer) record(o pr.Outcome, proposals []pr.Proposal, over report.CarriedOver) {
	if o.Err != nil {
		p.report.Diagnostics = append(p.report.Diagnostics, problem.Of(o.Err))
	}
	for _, err := range o.Warnings {
		d := problem.Of(err)
		d.Severity = problem.SeverityWarning
		p.report.Diagnostics = append(p.report.Diagnostics, d)
	}
	pull := report.PullRequest{
		Operation: string(o.Operation), Repository: p.target.repository, Number: o.Number, URL: o.URL,
		Branch: o.Branch, Base: p.proposing.base, HeadSHA: o.HeadSHA, Reason: o.Reason, Waits: o.Waits, CarriedOver: over, Unsettled: o.Unsettled,
	}
	for _, one := range proposals {
		if one.Branch != o.Branch {
			continue
		}
		pull.Title = one.Title
		if p.settings.DryRun && (o.Operation == pr.Created || o.Operation == pr.Updated) {
			pull.Body = one.Write().String()
		}
		for _, f := range one.Files {
			pull.Directories = append(pull.Directories, path.Dir(f.Path))
		}
		if o.Until != "" && o.Number == 0 {
			pull.Waiting = &report.Waiting{For: string(o.Until), Group: one.Group, Digest: one.Digest, Number: o.ClosedNumber, URL: o.ClosedURL}
		}
	}
	p.report.PullRequests = append(p.report.PullRequests, pull)
}

// split cuts OWNER/NAME.
func split(repository string) (owner, name string, err error) {
	owner, name, ok := strings.Cut(repository, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return "", "", &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: "the repository is not known",
			Hint: "set GITHUB_REPOSITORY to OWNER/NAME, or name it with --repo",
		}}
	}
	return owner, name, nil
}
