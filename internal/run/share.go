package run

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
)

// share is what the pull request of one group proposes: the group's part of the plan, and
// what is carried over from the current proposal. upgrade.Carrier decides that.
type share struct {
	standing *pr.Standing // the current proposal; nil: it was not read
	// alone is why the current proposal stays as it is; empty: it need not.
	alone   pr.LeftAlone
	notices []problem.Problem // of what could not be read, and what was not carried over
	files   []pr.File
	changed []pr.Changed
	parts   map[int]upgrade.Result // of the plans of root modules, by index
	// kept are from root modules that the run did not look at, as the pull request proposed
	// them before. unasked counts root modules of which the run looked at a part.
	kept    []found
	unasked int
}

// put adds the changed lock files of a root module.
func (s *share) put(f found, files ...pr.File) {
	s.files = append(s.files, files...)
	s.changed = append(s.changed, changedOf(f))
}

// changedOf is what changes in a root module, for titles and messages.
func changedOf(f found) pr.Changed {
	return pr.Changed{
		Dir: f.module.Dir, Tool: f.module.Tool, Changes: changesOf(f.result),
		Modules: moduleChangesOf(f), LocksModules: f.result.ModulesFile != nil && f.module.ModuleLock == nil,
	}
}

// moduleChangesOf are the changes of the lock file of modules.
func moduleChangesOf(f found) []modulelock.Change {
	now, _ := modulelock.Parse(f.result.ModulesFile, modulelock.Name)
	if f.result.ModulesFile == nil || now == nil {
		return nil
	}
	return modulelock.Compare(cmp.Or(f.module.ModuleLock, &modulelock.File{}), now)
}

// stands is the current proposal; empty if it was not read.
func (s *share) stands() pr.Standing {
	return *cmp.Or(s.standing, &pr.Standing{})
}

// proposals are the changed lock files, by group in the order of their keys. If several
// groups change a lock file, each proposes it with its own changes only. If a group's pull
// request must be read and cannot be, the proposal leaves it as it is. follow says that a
// person asks for what branches of git have now.
func (p *proposer) proposals(ctx context.Context, follow bool) []pr.Proposal {
	p.shares = map[string]*share{}
	for _, key := range groupKeys(p.plan.Policy, p.found) {
		p.shares[key] = &share{parts: map[int]upgrade.Result{}}
	}
	for i, f := range p.found {
		p.shareOut(ctx, i, f)
	}
	var proposals []pr.Proposal
	narrowed := p.narrowed() // before the report gets what a group proposes already
	for _, key := range slices.Sorted(maps.Keys(p.shares)) {
		if narrowed {
			for _, files := range byDirectory(p.readStanding(ctx, key).Files) {
				p.keep(key, files, p.decide.Unseen)
			}
		}
		if !follow {
			p.holdBranches(ctx, key)
		}
		one := p.proposal(ctx, key, narrowed)
		if one.Alone != "" || len(one.Files) > 0 {
			proposals = append(proposals, one)
		}
	}
	return proposals
}

// shareOut adds the parts of the plan for a root module to the shares of their groups. What a
// current proposal has for its modules stays if the run does not know what they would be, or
// if the two lock files would not agree.
func (p *proposer) shareOut(ctx context.Context, i int, f found) {
	parts, unseen := p.parts(f), p.modulesUnseen(f)
	for _, key := range slices.Sorted(maps.Keys(p.shares)) {
		part, has := parts[key]
		ofModules := p.plan.Policy.OfModules(key)
		if unseen || ofModules && has && part.Failed() {
			if p.keepModules(ctx, key, f) || ofModules {
				continue
			}
		}
		if has {
			f.result = p.carry(ctx, key, part)
		}
		if !has || !f.result.Writes() {
			continue
		}
		s := p.shares[key]
		s.put(f, lockFiles(f)...)
		s.parts[i] = f.result
		if slices.ContainsFunc(f.result.Selections, func(s upgrade.Selection) bool { return s.Unasked }) {
			s.unasked++
		}
	}
}

// readStanding reads the current proposal of a group, once.
func (p *proposer) readStanding(ctx context.Context, key string) pr.Standing {
	s, at := p.shares[key], p.proposing
	if s.standing != nil {
		return *s.standing
	}
	stands, err := at.survey.Standing(ctx, at.repo, key, at.base, p.settings.PullRequest.BranchPrefix)
	s.standing = &stands
	switch {
	case err != nil, stands.Head != "" && at.client.Anonymous():
		s.alone = pr.NotRead
	case stands.Head != "" && stands.Files == nil:
		s.alone = pr.NotReadable
	}
	if err != nil && (!problem.Coded(err, problem.CodeCancelled) || !p.bounds.isInterrupted()) { // one line says that already
		s.notices = append(s.notices, problem.Of(err))
	}
	return stands
}

// note stores what happens to the current proposal in a lock file.
func (s *share) note(name string, became upgrade.Carriage) {
	why := map[upgrade.Misfit]pr.LeftAlone{upgrade.OtherFile: pr.NotReadable, upgrade.BaseUnread: pr.NotRead, upgrade.BaseChanged: pr.Overtaken}
	s.alone = cmp.Or(why[became.Misfit], s.alone)
	s.notices = append(s.notices, became.Notices(name)...)
}

// asProposed is a file in the form that upgrade reads.
func asProposed(f pr.File) upgrade.Proposed {
	return upgrade.Proposed{Path: f.Path, Old: f.Old, New: f.Content}
}

// carry adds the group's current proposal to an incomplete part of a plan.
func (p *proposer) carry(ctx context.Context, key string, part upgrade.Result) upgrade.Result {
	if !part.Failed() && len(p.unseen.only) == 0 {
		return part
	}
	name, stands := path.Join(part.Module.Dir, lockfile.Name), p.readStanding(ctx, key)
	i := slices.IndexFunc(stands.Files, func(f pr.File) bool { return f.Path == name })
	if i < 0 {
		return part
	}
	with, became := p.decide.Carry(key, part, asProposed(stands.Files[i]))
	p.shares[key].note(name, became)
	return with
}

// holdBranches keeps the current proposal of a group as it is if nothing but branches of git
// has moved since: a push to it would dismiss its approvals. It reads the proposal only if the
// branches have moved, by the digest that the pull request has.
func (p *proposer) holdBranches(ctx context.Context, key string) {
	s, at, prefix := p.shares[key], p.proposing, p.settings.PullRequest.BranchPrefix
	branches := p.branchesOf(s)
	proposed, _ := pr.ParseMarker(at.survey.Pulls[key].Body)
	if len(branches) == 0 || proposed.Digest == pr.New(key, at.base, prefix, s.files).Digest {
		return
	}
	stands := s.stands()
	if s.standing == nil {
		stands, _ = at.survey.Standing(ctx, at.repo, key, at.base, prefix) // unread, it is no reason
	}
	held := map[string][]byte{}
	for _, was := range stands.Files {
		held[was.Path] = was.Content
	}
	if len(held) != len(s.files) || slices.ContainsFunc(s.files, func(f pr.File) bool { return !branches.onlyMoved(f, held[f.Path]) }) {
		return
	}
	for i, f := range s.files {
		s.files[i].Content = held[f.Path]
	}
	for i, part := range s.parts {
		if lock, _ := modulelock.Parse(held[path.Join(part.Module.Dir, modulelock.Name)], modulelock.Name); lock != nil {
			part.LockedModules = collect.Mapped(part.LockedModules, func(c upgrade.ModuleChange) upgrade.ModuleChange {
				e, _ := lock.Entry(modulelock.Key{Address: c.Address, Version: c.To})
				c.Hash = cmp.Or(e.Hash, c.Hash)
				return c
			})
			s.parts[i] = part
		}
	}
}

// branches are entries of lock files of modules.
type branches map[branch]bool

type branch struct {
	path string // of the lock file
	key  modulelock.Key
}

// branchesOf are the entries of proposed lock files of modules that are branches of git, or
// tags that a rule treats as such.
func (p *proposer) branchesOf(s *share) branches {
	found := branches{}
	for _, part := range s.parts {
		for _, c := range part.Module.Locked() {
			if part.ModulesFile != nil && (c.Moves || p.plan.Policy.AboutModule(part.Module.Dir, c.Locked.Address).Moving()) {
				found[branch{path.Join(part.Module.Dir, modulelock.Name), c.Locked}] = true
			}
		}
	}
	return found
}

// onlyMoved reports whether a file is as it was, but for the commits of branches.
func (b branches) onlyMoved(now pr.File, was []byte) bool {
	if !modulelock.Is(now.Path) {
		return bytes.Equal(was, now.Content)
	}
	before, _ := modulelock.Parse(was, modulelock.Name)
	after, _ := modulelock.Parse(now.Content, modulelock.Name)
	return before != nil && after != nil && slices.EqualFunc(before.Entries, after.Entries, func(e, to modulelock.Entry) bool {
		return e.Key == to.Key && e.Package == to.Package && (e.Hash == to.Hash || b[branch{now.Path, e.Key}])
	})
}

// byDirectory divides files by their directories.
func byDirectory(files []pr.File) [][]pr.File {
	dirs := map[string][]pr.File{}
	for _, f := range files {
		dirs[path.Dir(f.Path)] = append(dirs[path.Dir(f.Path)], f)
	}
	return collect.Mapped(slices.Sorted(maps.Keys(dirs)), func(dir string) []pr.File { return dirs[dir] })
}

// keep adds to a share what remains of the files that the current proposal has in a directory.
// It reports whether anything does, or the proposal is left alone.
func (p *proposer) keep(key string, files []pr.File, remains func(string, ...upgrade.Proposed) (upgrade.Result, upgrade.Carriage)) bool {
	s := p.shares[key]
	result, became := remains(key, collect.Mapped(files, asProposed)...)
	s.note(files[0].Path, became)
	if !result.Writes() {
		return became.Misfit != 0
	}
	kept := found{tree: p.trees[0], module: result.Module, result: result}
	var remaining []pr.File
	for _, f := range files {
		f.Content = result.File
		if modulelock.Is(f.Path) {
			f.Content = result.ModulesFile
		}
		if f.Content != nil {
			remaining = append(remaining, f)
		}
	}
	s.put(kept, remaining...)
	s.kept = append(s.kept, kept)
	return true
}

// modulesUnseen reports whether the run does not know what the locked modules of a root
// module would be.
func (p *proposer) modulesUnseen(f found) bool {
	writes := p.settings.ModuleLock == settings.WriteModuleLock
	return (f.module.ModuleLock != nil || writes) && p.decide.ModulesUnseen(f.result)
}

// keepModules keeps what the current proposal of a group has for a root module, if it has its
// lock file of modules. It reports whether something is kept.
func (p *proposer) keepModules(ctx context.Context, key string, f found) bool {
	files := collect.Those(p.readStanding(ctx, key).Files, func(is pr.File) bool { return path.Dir(is.Path) == f.module.Dir })
	locks := slices.ContainsFunc(files, func(is pr.File) bool { return modulelock.Is(is.Path) })
	return locks && p.keep(key, files, p.decide.AsProposed)
}

// mustStay reports whether a pull request without a proposal stays open. It stays if it
// proposes something that the run did not see, and that the base lacks.
func (p *proposer) mustStay(group string, files []pr.File) bool {
	for key, s := range p.shares { // the proposal was compared with all that the run saw
		if s.standing != nil && pr.New(key, "", "", nil).Group == group {
			return false
		}
	}
	return !p.decide.Covers(collect.Mapped(files, asProposed))
}

// missed reports whether the run did not look at the lock file of a directory in which it
// found no root module, although the base may want it.
func (p *proposer) missed(dir string) bool {
	cause, missing := p.unseen.causeOf(dir)
	if !missing { // the directory of a failure is unknown
		return p.failedOutsideRoots()
	}
	return !cause.wantedByBase()
}

// failedOutsideRoots reports whether something failed outside of all root modules.
func (p *proposer) failedOutsideRoots() bool {
	return slices.ContainsFunc(p.report.Diagnostics, func(d problem.Problem) bool {
		return d.Severity == problem.SeverityError && d.Code != problem.CodeUnlocked
	})
}

// narrowed reports whether the run may have missed root modules, or asked about some
// providers only.
func (p *proposer) narrowed() bool { return p.unseen.narrowed() || p.failedOutsideRoots() }

// parts splits the plan of a root module by group. It leaves out groups without a change,
// unless something failed or was left out.
//
// What is planned from modules that move is never split, so planApart has planned it by
// groups. The first lock file of modules is a group of its own. It moves no module, so the
// providers do not depend on it.
func (p *proposer) parts(f found) map[string]upgrade.Result {
	book, parts, rest := p.plan.Policy, map[string]upgrade.Result{}, f.result
	switch {
	case f.apart != nil:
		parts, rest = maps.Clone(f.apart), f.apart[""]
		maps.DeleteFunc(parts, func(key string, part upgrade.Result) bool { return key == "" || !part.Writes() && !part.Failed() })
	case rest.ModulesFile != nil && f.module.ModuleLock != nil:
		address := ""
		if len(rest.LockedModules) > 0 {
			address = rest.LockedModules[0].Address
		}
		parts[book.GroupOfModule(f.module.Dir, address)] = rest
		return parts
	case rest.ModulesFile != nil:
		parts[lockedModules] = rest.ModulesOnly()
		rest.ModulesFile = nil
	}
	keys := providerKeys(book, f)
	for _, key := range keys {
		part := rest
		if len(keys) > 1 {
			part = rest.Only(func(addr provider.Addr) bool { return book.GroupOf(f.module.Dir, addr) == key })
		}
		if _, has := parts[key]; !has && (part.File != nil || part.Failed() || len(p.unseen.only) > 0) {
			parts[key] = part
		}
	}
	return parts
}

// proposal is the proposal of a group: its share, or that its pull request is left alone. A
// narrowed run has not looked at everything of the group.
func (p *proposer) proposal(ctx context.Context, key string, narrowed bool) pr.Proposal {
	s := p.shares[key]
	if s.alone != "" {
		s.files = nil
	}
	one := pr.New(key, p.proposing.base, p.settings.PullRequest.BranchPrefix, s.files)
	one.Alone = s.alone
	if len(s.files) == 0 {
		return one
	}
	about := p.about(key, s)
	slices.SortStableFunc(s.changed, func(a, b pr.Changed) int { return strings.Compare(a.Dir, b.Dir) })
	general := slices.Concat(p.report.About(nil).Diagnostics, s.notices)
	beside, own := p.failures(s)
	general = append(general, beside...)
	one.Facts, one.KeepText = facts(about, general), len(beside) > 0 && !own
	if narrowed { // so that a run over everything writes the text again
		one.Facts += "-narrowed"
	}
	if s.standing != nil && !p.proposing.client.Anonymous() {
		one.From, one.KeepText = s.standing, one.KeepText || narrowed
	}
	failed := failedOf(p.plan.Policy, key, p.found, about)
	attended := failed > 0 || !unattended(p.plan.Policy, about) || carries(about) && !s.stands().MergesItself
	one.Presentation = pr.Presentation{PullRequest: p.settings.PullOf(key), NoAutoMerge: attended}
	one.Describe(s.changed)
	one.Write = sync.OnceValue(func() safe.Markdown {
		// Facts for reviewers that no lock file needs are asked for only here, so that a run with
		// nothing to do does not ask.
		fillDates(ctx, p.job, p.found, p.report.Modules)
		if p.readNotes != nil {
			p.report.Notes = p.readNotes()
		}
		full := p.report.About(about)
		full.CarriedOver, full.Diagnostics = s.carriedOver(), append(slices.Clip(full.Diagnostics), s.notices...)
		fillDates(ctx, p.job, slices.Concat(p.found, s.kept), full.Modules)
		fillSigners(ctx, p.job, slices.Concat(p.found, s.kept), full.Modules)
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
	for _, i := range slices.Sorted(maps.Keys(s.parts)) {
		own = own || s.parts[i].Failed()
		if p.found[i].result.Failed() && !s.parts[i].Failed() {
			beside = append(beside, problem.Problem{Code: problem.CodeUnreachable, Place: problem.Place{Path: p.found[i].module.Dir}})
		}
	}
	return beside, own
}

// shared are the plans of the root modules that a group changes, with the group's changes
// only.
func (p *proposer) shared(s *share) (plans []found) {
	for _, i := range slices.Sorted(maps.Keys(s.parts)) {
		f := p.found[i]
		f.result = s.parts[i]
		plans = append(plans, f)
	}
	return plans
}

// about is the group's part of each root module: its changes, and the problems of its
// unchanged providers. The found root modules come first, then the kept ones.
func (p *proposer) about(key string, s *share) []report.Module {
	var modules []report.Module
	for i, f := range p.found {
		if part, has := s.parts[i]; has {
			f.result = part
		} else {
			f.result = f.result.Only(func(addr provider.Addr) bool { return p.plan.Policy.GroupOf(f.module.Dir, addr) == key })
			f.result.File = nil
		}
		modules = append(modules, describe(p.job, f))
	}
	for _, f := range s.kept {
		m := describe(p.job, f)
		m.Unseen = true
		modules = append(modules, m)
	}
	return modules
}

// carriedOver counts the root modules for which the proposal keeps former changes. A
// proposal that is left alone counts none.
func (s *share) carriedOver() report.CarriedOver {
	if len(s.files) == 0 {
		return report.CarriedOver{}
	}
	return report.CarriedOver{Roots: len(s.kept) + s.unasked, Commit: s.stands().Head}
}

// lockFiles are the changed lock files of a root module in the form of a commit.
func lockFiles(f found) (files []pr.File) {
	add := func(base string, content, old []byte) {
		if name := path.Join(f.module.Dir, base); content != nil {
			files = append(files, pr.File{Path: name, Mode: github.ModeOf(f.tree.FS(), name), Content: content, Old: old})
		}
	}
	providers, modules := sourcesOf(f)
	add(modulelock.Name, f.result.ModulesFile, modules)
	add(lockfile.Name, f.result.File, providers)
	return files
}

// sourcesOf are the present contents of the lock files of providers and of modules; nil for
// one that is not there.
func sourcesOf(f found) (providers, modules []byte) {
	if f.module.Lock != nil {
		providers = f.module.Lock.Source
	}
	if f.module.ModuleLock != nil {
		modules = f.module.ModuleLock.Source
	}
	return providers, modules
}

// sawAll reports whether the run looked at everything on the base that the settings select,
// got every answer, and carried everything over.
func (p *proposer) sawAll() bool {
	seen := p.report
	seen.Diagnostics = collect.Those(seen.Diagnostics, func(d problem.Problem) bool { return d.Code != problem.CodeUnlocked }) // a known state
	for _, s := range p.shares {
		if len(s.notices) > 0 {
			return false
		}
	}
	return !p.narrowed() && !seen.Failed()
}
