package run

import (
	"context"
	"path"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/upgrade"
)

// carrier knows what stands for the groups of a run, and carries it over where the
// plan failed: an outage takes nothing back that is proposed, and pushes nothing.
type carrier struct {
	c       *corridor
	refuted func(lockfile.Lock) bool
	known   map[string]standing
}

// standing is what the pull request of a group proposes, or why that could not be
// read.
type standing struct {
	pr.Standing
	err error
}

func (c *corridor) carrier() *carrier {
	results := make([]upgrade.Result, len(c.found))
	for i, f := range c.found {
		results[i] = f.result
	}
	return &carrier{c: c, refuted: upgrade.Refuted(results), known: map[string]standing{}}
}

// standing reads what stands for a group, once.
func (k *carrier) standing(ctx context.Context, group string) standing {
	s, known := k.known[group]
	if !known {
		at := k.c.proposing
		s.Standing, s.err = at.survey.Standing(ctx, k.c.repo, group, at.base, k.c.req.Pull.BranchPrefix)
		k.known[group] = s
	}
	return s
}

// carry gives a part of a failed plan what stands for its group. It reports whether
// anything of that is in it. An error is GitHub's: then nobody knows what stands.
func (k *carrier) carry(ctx context.Context, group string, part upgrade.Result) (upgrade.Result, bool, error) {
	if !part.Failed() {
		return part, false, nil
	}
	s := k.standing(ctx, group)
	if s.err != nil {
		return part, false, s.err
	}
	name := path.Join(part.Module.Dir, lockfile.Name)
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
			Take: func(addr provider.Addr) bool { return k.c.req.Pull.Grouping.of(part.Module.Dir, addr) == group },
		}, k.c.req.Plan)
		return with, carried, nil
	}
	return part, false, nil
}
