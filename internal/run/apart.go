package run

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// planApart adds the plans by groups to root modules in which modules move, and whose changes
// belong to several groups. Each group of a module gets a plan in which its modules and its
// providers alone move, with the entries of other providers that these modules force. The
// plan of the rest, with the key "", has all modules as they are locked.
//
// A plan of a group also adds the entries that the file lacks for other calls. Each of these
// is left to the group of its module.
func planApart(ctx context.Context, j job, all []found, opts upgrade.Options) []found {
	book, concerned := opts.Policy, map[string][]int{} // root modules by the keys of their plans
	for i, f := range all {
		for _, key := range keysApart(book, f) {
			concerned[key] = append(concerned[key], i)
		}
	}
	lacked := make([][]upgrade.ModuleChange, len(all))        // what changes though no module moves
	for _, key := range slices.Sorted(maps.Keys(concerned)) { // that of the rest comes first
		roots := readAgain(ctx, j, all, concerned[key], book, func(dir, address string) bool { return book.GroupOfModule(dir, address) == key })
		group := planned{inventory: inventory{found: roots}}.with(opts)
		if key != "" {
			group.options = onlyForced(opts, otherKeys(book, roots, key)...)
		}
		for n, f := range planEach(ctx, j, group).found {
			i, dir, r := concerned[key][n], f.module.Dir, f.result
			r.Findings, r.Undecided, r.Refuted = all[i].result.Findings, all[i].result.Undecided, all[i].result.Refuted
			if key == "" {
				all[i].apart, lacked[i] = map[string]upgrade.Result{}, r.LockedModules
				r.LockedModules, r.ModulesFile = nil, nil
			} else {
				r = r.OnlyModules(func(c upgrade.ModuleChange) bool {
					lacks := slices.ContainsFunc(lacked[i], func(l upgrade.ModuleChange) bool { return l.Change == c.Change })
					return !lacks || book.GroupOfModule(dir, c.Address) == key
				}).Forced(func(addr provider.Addr) bool { return book.GroupOf(dir, addr) == key })
			}
			all[i].apart[key] = r
		}
	}
	return all
}

// otherKeys are the keys of the groups of providers in root modules, without one.
func otherKeys(book policy.Rulebook, roots []found, key string) []string {
	var keys collect.Set[string]
	for _, f := range roots {
		keys.Add(providerKeys(book, f)...)
	}
	return slices.DeleteFunc(keys.List, func(other string) bool { return other == key })
}

// keysApart are the keys of the plans of a root module in which modules move. There are none
// if all changes are of one group, or for the first lock file of modules, which moves no
// module.
func keysApart(book policy.Rulebook, f found) []string {
	if f.module.ModuleLock == nil || f.result.ModulesFile == nil {
		return nil
	}
	keys := map[string]bool{"": true}
	for _, c := range f.result.LockedModules {
		keys[book.GroupOfModule(f.module.Dir, c.Address)] = true
	}
	if len(keys) == 2 && !slices.ContainsFunc(changesOf(f.result), func(c diff.Change) bool { return !keys[book.GroupOf(f.module.Dir, c.Addr)] }) {
		return nil
	}
	return slices.Collect(maps.Keys(keys))
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
	p.found = slices.Clone(p.found)
	for n, f := range readAgain(ctx, j, p.found, of, planOptions(j, p).Policy, moves(j)) {
		p.found[of[n]] = f
	}
	return p
}

// onlyForced are the options for a plan in which the providers of groups move only if they
// must. An empty key means all groups.
func onlyForced(opts upgrade.Options, groups ...string) upgrade.Options {
	yes := true
	rules := collect.Mapped(groups, func(key string) policy.Rule { return policy.Rule{Group: key, Ignore: &yes} })
	opts.Policy.Rules = slices.Concat(opts.Policy.Rules, rules)
	return opts
}

// readAgain reads some root modules of one file tree again, by the rules of a book. One that is
// not there any more was not read.
func readAgain(ctx context.Context, j job, all []found, some []int, book policy.Rulebook, moves func(dir, address string) bool) []found {
	if len(some) == 0 {
		return nil
	}
	t, again := all[0].tree, collect.Mapped(some, func(i int) found { return all[i] })
	t.dirs = collect.Mapped(again, func(f found) string { return f.module.Dir })
	opts := scanOptions(j, extent{}, t)
	opts.Moves, opts.ModuleRules = moves, policy.ModuleRules{Rulebook: book, Accepted: j.settings.AcceptMoved}
	modules, _, err := modulesIn(ctx, j, t, opts)
	for i, f := range again {
		n := slices.IndexFunc(modules, func(m scan.RootModule) bool { return m.Dir == f.module.Dir })
		if n < 0 {
			why := problem.Of(cmp.Or(err, error(problem.Ended(ctx))))
			again[i].module.Tree.Unread = []scan.Unread{{Code: why.Code, Reason: why.Message, Place: problem.Place{Path: f.module.Dir}}}
			continue
		}
		modules[n].Shared = f.module.Shared
		again[i].module = markUncontacted(j, modules[n])
	}
	return again
}
