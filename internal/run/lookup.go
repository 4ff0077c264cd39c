package run

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/terragrunt"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/worktree"
)

// checkNamed looks for the ask's names in the found root modules. If the run has no other
// target and a name matches nothing, it fails, before anything is asked or written: a person
// who misspells a name must not read "up to date". The error is a problem.Several.
func checkNamed(j job, in inventory) (notices []problem.Problem, err error) {
	s := j.visit.Lookup
	if s == nil || !s.several {
		s = &Lookup{}
	}
	s.unread = s.unread || in.unread()
	add := func(n lookupTerm) {
		if !n.found {
			n.lacking = []string{where(j)}
		}
		s.add(n)
	}
	for _, p := range j.ask.named {
		here := slices.ContainsFunc(in.all(), func(f found) bool {
			return slices.ContainsFunc(f.providers(), p.Match) || j.ask.verb == verbs.Why && f.callsModule(p)
		})
		add(lookupTerm{name: p.Given(), single: p.Literal(), found: here || in.nothing()})
	}
	for _, m := range j.ask.modules {
		here := slices.ContainsFunc(in.all(), func(f found) bool {
			return f.module.ModuleLock != nil && slices.ContainsFunc(f.module.ModuleLock.Entries, func(e modulelock.Entry) bool { return policy.MatchesModule(m, e.Address) })
		})
		add(lookupTerm{name: m, single: !strings.Contains(m, "*"), found: here || in.nothing(), lost: problem.Problem{
			Code: problem.CodeNotFound, Message: "no root module locks " + m, Hint: "run `relock scan`, which lists the locked modules of each root module",
		}})
	}
	for _, t := range in.trees {
		for _, dir := range t.named {
			d, lost := in.lost[j.names(t).Of(dir)]
			add(lookupTerm{name: "the directory " + j.names(t).Of(dir), single: true, found: !lost, lost: d})
		}
	}
	if s.several {
		return nil, nil
	}
	missing, notices := s.verdict()
	if !s.unread && len(j.plan.Only) == 0 && in.whole() {
		notices = append(notices, idle(j.settings.Clauses(), in.found)...)
	}
	if slices.ContainsFunc(missing, func(d problem.Problem) bool { return d.Code == problem.CodeNotFound }) {
		return notices, problem.Several(missing)
	}
	return append(notices, missing...), nil
}

// nothing reports whether there is no root module, for another reason than a provider's
// name. For example, the pull request touches none, or a directory does not exist.
func (s inventory) nothing() bool {
	return len(s.found) == 0 && (s.extent.touched != nil || len(s.lost) > 0)
}

// whole reports whether the run looked at the whole repository.
func (s inventory) whole() bool {
	return s.extent.touched == nil && len(s.found) > 0 && len(s.trees) == 1 && slices.Equal(s.trees[0].dirs, []string{everything})
}

// unread reports whether the run may have missed some providers.
func (s inventory) unread() bool {
	return unreadable(s.diagnostics) || slices.ContainsFunc(s.all(), func(f found) bool {
		read := f.module.All()
		return len(read.Unread) > 0 || problem.AnyError(read.Diagnostics)
	})
}

// unreadable reports whether a scan did not read everything.
func unreadable(diagnostics []problem.Problem) bool {
	return slices.ContainsFunc(diagnostics, func(d problem.Problem) bool {
		return d.Severity == problem.SeverityError && d.Code != problem.CodeUnlocked
	})
}

// providers are those that a root module requires or locks.
func (f found) providers() []provider.Addr {
	var all []provider.Addr
	for _, r := range f.module.All().Requirements {
		all = append(all, r.Addr)
	}
	if f.module.Lock != nil {
		for _, l := range f.module.Lock.Locks {
			all = append(all, l.Addr)
		}
	}
	return all
}

// callsModule reports whether a pattern names a module that is locked or called.
func (f found) callsModule(p provider.Pattern) bool {
	named := func(address string) bool { return moduleaddr.Matches(p.Given(), address) }
	return slices.ContainsFunc(scan.RemoteModules(f.module), named) || f.module.ModuleLock != nil &&
		slices.ContainsFunc(f.module.ModuleLock.Entries, func(e modulelock.Entry) bool { return named(e.Address) })
}

// where names a job for people, if the run has several.
func where(j job) string {
	if len(j.settings.PullRequest.Base) > 1 {
		return strings.TrimSpace(j.target.repository + " at " + j.target.base)
	}
	return j.target.repository
}

// misses takes away diagnostics about named directories that do not exist or have no root
// module, and stores them as lost. The other targets of the run decide about those.
func misses(j job, s *inventory, t tree, diagnostics []problem.Problem) (kept []problem.Problem) {
	for _, d := range diagnostics {
		dir := d.Place.Path
		unlocked := func(d problem.Problem) bool { // the root modules of dir are reported
			return d.Code == problem.CodeUnlocked && strings.HasPrefix(d.Place.Path+"/", dir+"/")
		}
		// If a setting limits what is touched, no directory is named.
		named := d.Code == problem.CodeNotRootModule && s.extent.touched == nil && slices.Contains(t.named, dir)
		if !named || slices.ContainsFunc(diagnostics, unlocked) {
			kept = append(kept, d)
			continue
		}
		shown := j.names(t).Of(dir)
		switch {
		case d.Severity == problem.SeverityWarning: // it exists, and has no root module
			d.Message = "no root module was found in " + shown
		case strings.ContainsAny(dir, wildcards):
			d = noMatch(shown)
		}
		s.lost[shown] = problem.Problem{Code: problem.CodeNotFound, Message: d.Message, Hint: cmp.Or(d.Hint, listsRoots)}
	}
	return kept
}

// lookupTerm is a name in an ask, of a provider or a directory, and what was found of it.
type lookupTerm struct {
	name    string
	single  bool            // it means one thing, which must exist
	found   bool            // a target has it
	lacking []string        // the targets without it
	lost    problem.Problem // why a directory or a module is not there; empty for a provider
}

// Lookup has the names in an ask and what was found of them, in one target or several.
type Lookup struct {
	several bool // several targets: another one may have what this one lacks
	unread  bool // something unread may contain it
	all     []lookupTerm
}

// add adds what was found of a name.
func (s *Lookup) add(n lookupTerm) {
	i := slices.IndexFunc(s.all, func(o lookupTerm) bool { return o.name == n.name })
	if i < 0 {
		s.all = append(s.all, n)
		return
	}
	o := &s.all[i]
	o.found, o.lacking = o.found || n.found, append(o.lacking, n.lacking...)
	if n.lost.Message != "" {
		o.lost = n.lost
	}
}

// Add adds the names and findings of another Lookup.
func (s *Lookup) Add(other *Lookup) {
	for _, n := range other.all {
		s.add(n)
	}
	s.unread = s.unread || other.unread
}

// fewNames is how many repositories a line names.
const fewNames = 3

// verdict judges all names that some target lacks. missing are single things that no target
// has; notices are about the others.
func (s *Lookup) verdict() (missing, notices []problem.Problem) {
	for _, n := range s.all {
		d := s.missing(n)
		switch {
		case n.found && (!n.single || len(n.lacking) == 0):
			continue
		case n.found:
			d = problem.Problem{Code: problem.CodeNotFound, Message: n.name + " was not found in " + collect.First(n.lacking, fewNames)}
		case n.single:
			missing = append(missing, d)
			continue
		}
		d.Severity = problem.SeverityWarning
		notices = append(notices, d)
	}
	return missing, notices
}

// The commands that list what a name may mean.
const (
	listsProviders = "run `relock scan`, which lists the providers of each root module"
	listsRoots     = "run `relock scan`, which lists root modules"
)

// missing is the problem that no target has a name.
func (s *Lookup) missing(n lookupTerm) problem.Problem {
	if n.lost.Message != "" {
		return n.lost
	}
	d := problem.Problem{Code: problem.CodeNotFound, Message: "no root module requires or locks " + n.name, Hint: listsProviders}
	if s.unread {
		d.Message = n.name + " was not found in what could be read"
		d.Hint = "make readable what the report names, and try again; if the name is wrong: " + d.Hint
	}
	if s.unread && n.single {
		d.Code = problem.CodeUnreadModule // the name may be right
	}
	return d
}

// Problems are about the names that some or all targets of a run lack.
func (s *Lookup) Problems() []problem.Problem {
	missing, notices := s.verdict()
	return append(missing, notices...)
}

// speaksOf reports whether a clause applies to anything in a root module.
func speaksOf(cl settings.Clause, f found) bool {
	return cl.Where.In(f.module.Dir) && (len(cl.Where.Providers) == 0 || slices.ContainsFunc(f.providers(), cl.Where.Names))
}

// idle warns of clauses that apply to nothing in the repository.
func idle(clauses []settings.Clause, all []found) []problem.Problem {
	var warnings []problem.Problem
	for _, cl := range clauses {
		if slices.ContainsFunc(all, func(f found) bool { return speaksOf(cl, f) }) {
			continue
		}
		d := problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeNotFound, Place: cl.Place,
			Message: cl.Key + " matches nothing in this repository",
		}
		if len(cl.Where.Providers) > 0 {
			d.Hint = listsProviders
		}
		warnings = append(warnings, d)
	}
	slices.SortFunc(warnings, problem.Problem.Compare)
	return warnings
}

// Idle warns of clauses of the configuration file that apply to nothing in the repository
// on disk. It reads files and lock files, and asks no server. It returns nothing without a
// repository, and nothing if the answer needs a server.
func Idle(ctx context.Context, workDir string, c settings.Settings) ([]problem.Problem, error) {
	root, ok := worktree.FindRoot(workDir)
	if len(c.Clauses()) == 0 || !ok {
		return nil, nil
	}
	t := tree{root: root}
	opts := withIgnored(Ask{}.searching(c), t, t.names(workDir))
	opts.Orphans = true
	modules, diagnostics, err := rootModules(ctx, t.FS(), terragrunt.Options{Scan: opts, Environments: environments(c)})
	if err != nil || unreadable(diagnostics) || len(modules) == 0 {
		return nil, err
	}
	var all []found
	for _, m := range modules {
		if read := m.All(); problem.AnyError(read.Diagnostics) || len(read.Unread) > 0 && m.Lock == nil {
			return nil, nil
		}
		all = append(all, found{tree: t, module: m})
	}
	return idle(c.Clauses(), all), nil
}
