package run

import (
	"context"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/upgrade"
)

// carrier reads the current proposals of groups. upgrade.Carrier decides what is carried
// over from them.
type carrier struct {
	p      *proposer
	decide upgrade.Carrier
	known  map[string]standing
	// notices are what a person should know about a group: what could not be read, and
	// which entries were not carried over.
	notices map[string][]problem.Problem
	// over has, by branch, how much of a proposal is carried over.
	over map[string]report.CarriedOver
}

// standing is the current proposal of a group, or the reason why it could not be read.
type standing struct {
	pr.Standing
	err   error
	alone pr.LeftAlone // why the proposal cannot be used
}

func newCarrier(p *proposer) *carrier {
	return &carrier{
		p: p, decide: upgrade.NewCarrier(resultsOf(p.found), p.options, p.trees[0].FS(), p.missed),
		known: map[string]standing{}, over: map[string]report.CarriedOver{}, notices: map[string][]problem.Problem{},
	}
}

// standing reads the current proposal of a group, once.
func (k *carrier) standing(ctx context.Context, group string) standing {
	s, known := k.known[group]
	if !known {
		at := k.p.proposing
		s.Standing, s.err = at.survey.Standing(ctx, at.repo, group, at.base, k.p.settings.PullRequest.BranchPrefix)
		switch {
		case s.err != nil, s.Head != "" && at.client.Anonymous():
			s.alone = pr.NotRead
		case s.Head != "" && s.Files == nil:
			s.alone = pr.NotReadable
		}
		k.known[group] = s
	}
	return s
}

// note stores what happens to the current proposal of a group in a lock file.
func (k *carrier) note(group, name string, became upgrade.Carriage) {
	s := k.known[group]
	switch became.Misfit {
	case upgrade.OtherFile:
		s.alone = pr.NotReadable
	case upgrade.BaseUnread:
		s.alone = pr.NotRead
	case upgrade.BaseChanged:
		s.alone = pr.Overtaken
	}
	k.known[group] = s
	k.notices[group] = append(k.notices[group], became.Notices(name)...)
}

// asProposed is a file in the form that upgrade reads.
func asProposed(f pr.File) upgrade.Proposed {
	return upgrade.Proposed{Path: f.Path, Old: f.Old, New: f.Content}
}

// carry adds the group's current proposal to an incomplete part of a plan. It reports
// whether the result has anything that the run was not asked about.
func (k *carrier) carry(ctx context.Context, group string, part upgrade.Result) (with upgrade.Result, unasked bool) {
	if !part.Failed() && len(k.p.unseen.only) == 0 {
		return part, false
	}
	name := path.Join(part.Module.Dir, lockfile.Name)
	s := k.standing(ctx, group)
	i := slices.IndexFunc(s.Files, func(f pr.File) bool { return f.Path == name })
	if i < 0 {
		return part, false
	}
	with, became := k.decide.Carry(group, part, asProposed(s.Files[i]))
	k.note(group, name, became)
	return with, slices.ContainsFunc(with.Selections, func(s upgrade.Selection) bool { return s.Unasked })
}

// keptFile is a lock file that the run did not look at. It stays in the pull request.
type keptFile struct {
	file pr.File
	of   found
}

// unseenFiles are lock files of the current proposal that the run did not look at, and that
// the base lacks.
func (k *carrier) unseenFiles(ctx context.Context, group string) []keptFile {
	var all []keptFile
	for _, f := range k.standing(ctx, group).Files {
		result, became := k.decide.Unseen(group, asProposed(f))
		k.note(group, f.Path, became)
		if result.File != nil {
			f.Content = result.File
			all = append(all, keptFile{f, found{tree: k.p.trees[0], module: result.Module, result: result}})
		}
	}
	return all
}

// missed reports whether the run did not look at the lock file of a directory in which it
// found no root module, although the base may want it.
func (p *proposer) missed(dir string) bool {
	cause, missing := p.causeOf(dir)
	return missing && !cause.wantedByBase()
}

// causeOf returns why the run did not look at the lock file of a directory in which it
// found no root module.
func (p *proposer) causeOf(dir string) (unseenCause, bool) {
	if cause, missing := p.unseen.causeOf(dir); missing {
		return cause, true
	}
	return notReadable, p.failedOutsideRoots() // the directory of the failure is unknown
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

// mustStay reports whether a pull request without a proposal stays open. It stays if it
// proposes something that the run did not see, and that the base lacks.
func (k *carrier) mustStay(group string, files []pr.File) bool {
	for key := range k.known { // the proposal was compared with all that the run saw
		if pr.New(key, "", "", nil).Group == group {
			return false
		}
	}
	return !k.decide.Covers(collect.Mapped(files, asProposed))
}
