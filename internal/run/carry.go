package run

import (
	"context"
	"io/fs"
	"path"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// carrier knows what stands for the groups of a run, and carries it over where the
// plan failed: an outage takes nothing back that is proposed, and pushes nothing.
type carrier struct {
	p       *proposer
	refuted func(lockfile.Lock) bool
	known   map[string]standing
}

// standing is what the pull request of a group proposes, or why that could not be
// read.
type standing struct {
	pr.Standing
	err error
}

func newCarrier(p *proposer) *carrier {
	return &carrier{p: p, refuted: upgrade.Refuted(resultsOf(p.found)), known: map[string]standing{}}
}

// standing reads what stands for a group, once.
func (k *carrier) standing(ctx context.Context, group string) standing {
	s, known := k.known[group]
	if !known {
		at := k.p.proposing
		s.Standing, s.err = at.survey.Standing(ctx, at.repo, group, at.base, k.p.req.Pull.BranchPrefix)
		k.known[group] = s
	}
	return s
}

// carry gives a part of a failed plan what stands for its group. It reports whether
// anything of that is in it. An error is GitHub's: then nobody knows what stands.
func (k *carrier) carry(ctx context.Context, group string, part upgrade.Result) (upgrade.Result, bool, error) {
	name := path.Join(part.Module.Dir, lockfile.Name)
	if !part.Failed() || k.unreadable(part.Module, name) {
		return part, false, nil
	}
	s := k.standing(ctx, group)
	if s.err != nil {
		return part, false, s.err
	}
	for _, f := range s.Files {
		if f.Path != name {
			continue
		}
		before, problems := lockfile.Parse(f.Old, name)
		after, more := lockfile.Parse(f.Content, name)
		if len(problems)+len(more) > 0 {
			return part, false, nil
		}
		with, carried := part.Carry(upgrade.Standing{
			Before: before.Locks, After: after.Locks, Refuted: k.refuted,
			Take: func(addr provider.Addr) bool { return k.p.req.Pull.Grouping.of(part.Module.Dir, addr) == group },
		}, k.p.options)
		return with, carried, nil
	}
	return part, false, nil
}

// unreadable reports whether the base has a lock file that cannot be read, or that
// a merge conflict is in: what it holds, a person decides.
func (k *carrier) unreadable(m scan.RootModule, name string) bool {
	if m.Lock != nil {
		return m.Lock.Conflict > 0
	}
	_, err := fs.Lstat(k.p.trees[0].FS(), name)
	return err == nil
}
