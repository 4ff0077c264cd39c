package run

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// planApart adds the plans by groups of modules. If modules of such groups move in a root
// module, its plan has everything. So each group gets a plan in which its modules alone move,
// with the entries of providers that they force. The plan of the rest, with the key "", has
// these modules as they are locked.
func planApart(ctx context.Context, j job, all []found, opts upgrade.Options) []found {
	concerned := map[string][]int{} // root modules by the keys of their plans
	for i, f := range all {
		for key := range keysApart(opts.Policy, f) {
			concerned[key] = append(concerned[key], i)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(concerned)) {
		roots := collect.Mapped(concerned[key], func(i int) found { return all[i] })
		roots = readAgain(ctx, j, roots, opts.Policy, func(dir, address string) bool { return opts.Policy.GroupOfModule(dir, address) == key })
		group := planned{inventory: inventory{found: roots}}.with(onlyForced(opts, key != ""))
		for n, f := range planEach(ctx, j, group).found {
			whole := &all[concerned[key][n]]
			r := f.result
			r.Findings, r.Undecided, r.Refuted = whole.result.Findings, whole.result.Undecided, whole.result.Refuted
			switch {
			case key != "":
				r = r.Forced()
			case !slices.ContainsFunc(r.LockedModules, func(c upgrade.ModuleChange) bool { return opts.Policy.GroupOfModule(f.module.Dir, c.Address) == "" }):
				r.ModulesFile = nil // what the file lacks is in the plans of the groups
			}
			if whole.apart == nil {
				whole.apart = map[string]upgrade.Result{}
			}
			whole.apart[key] = r
		}
	}
	return all
}

// keysApart are the keys of the plans of a root module in which modules of groups move. There
// are none for the first lock file of modules, which moves no module.
func keysApart(book policy.Rulebook, f found) map[string]bool {
	keys := map[string]bool{}
	if f.module.ModuleLock == nil || f.result.ModulesFile == nil {
		return nil
	}
	for _, c := range f.result.LockedModules {
		if key := book.GroupOfModule(f.module.Dir, c.Address); key != "" {
			keys[key], keys[""] = true, true
		}
	}
	return keys
}

// obeyComments reads again the root modules with locked modules, if people have said in
// comments what does not move. Only the pull requests know that, and they are read later.
func obeyComments(ctx context.Context, j job, p planned) planned {
	said := slices.ContainsFunc(policy.OfComments(p.proposing.survey.Ignores), func(r policy.Rule) bool { return len(r.Modules) > 0 })
	var of []int
	for i, f := range p.found {
		if said && f.module.ModuleLock != nil {
			of = append(of, i)
		}
	}
	if len(of) == 0 {
		return p
	}
	p.found = slices.Clone(p.found)
	again := readAgain(ctx, j, collect.Mapped(of, func(i int) found { return p.found[i] }), planOptions(j, p).Policy, moves(j))
	for n, i := range of {
		p.found[i] = again[n]
	}
	return p
}

// onlyForced are the options for a plan in which providers move only if they must.
func onlyForced(opts upgrade.Options, forced bool) upgrade.Options {
	if forced {
		yes := true
		opts.Policy.Rules = append(slices.Clip(opts.Policy.Rules), policy.Rule{Ignore: &yes})
	}
	return opts
}

// readAgain reads root modules of one file tree again, by the rules of a book. One that is not
// there any more was not read.
func readAgain(ctx context.Context, j job, all []found, book policy.Rulebook, moves func(dir, address string) bool) []found {
	t, all := all[0].tree, slices.Clone(all)
	t.dirs = collect.Mapped(all, func(f found) string { return f.module.Dir })
	opts := scanOptions(j, extent{}, t)
	opts.Moves, opts.ModuleRules = moves, moduleRules{book, j.settings.AcceptMoved}
	modules, _, err := modulesIn(ctx, j, t, opts)
	for i, f := range all {
		n := slices.IndexFunc(modules, func(m scan.RootModule) bool { return m.Dir == f.module.Dir })
		if n < 0 {
			why := problem.Of(cmp.Or(err, error(problem.Ended(ctx))))
			all[i].module.Tree.Unread = []scan.Unread{{Code: why.Code, Reason: why.Message, Place: problem.Place{Path: f.module.Dir}}}
			continue
		}
		modules[n].Shared = f.module.Shared
		all[i].module = markUncontacted(j, modules[n])
	}
	return all
}
