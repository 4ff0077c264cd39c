package verify

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// ModuleSource answers questions about the packages of modules. Errors are *problem.Error.
type ModuleSource interface {
	scan.Source
	// Names returns what the ref of a git source names now.
	Names(ctx context.Context, tool provider.Tool, call scan.Call) (scan.Reference, error)
	// Reachable returns an error with CodeModuleForeign for a commit that no branch and no
	// tag of a git repository has.
	Reachable(ctx context.Context, repository moduleaddr.Package, commit string) error
	// Precedes reports whether a commit is another one or its ancestor.
	Precedes(ctx context.Context, repository moduleaddr.Package, commit, of string) (bool, error)
}

// LockedModule is an entry of a lock file of modules to judge.
type LockedModule struct {
	modulelock.Entry
	Path string // of the lock file
	Tool provider.Tool
	// Moving says that a rule lets the tag of the entry move, as a branch does.
	Moving bool
	// Used says that a call uses the entry, so that the run has fetched its package.
	Used bool
}

// mostUnused bounds the entries of a file that no call uses and that are asked for: each takes
// a process of git. relock lock writes none. Those that calls use cost as much as the calls.
const mostUnused = 300

// JudgeModules says which entries do not have what their packages are now, and for which
// that could not be asked. A finding is about one entry. Their severity is not set. A nil
// source answers nothing. jobs bounds the questions that are open at once; 0 means a default.
// counts count the entries by verdict.
func JudgeModules(ctx context.Context, src ModuleSource, entries []LockedModule, jobs int) (found []problem.Problem, counts Counts) {
	unused, rest := 0, []LockedModule(nil)
	entries = slices.DeleteFunc(slices.Clone(entries), func(e LockedModule) bool {
		if e.Used {
			return false
		}
		unused++
		if unused > mostUnused {
			rest = append(rest, e)
		}
		return unused > mostUnused
	})
	errs := make([]error, len(entries))
	var asking errgroup.Group
	asking.SetLimit(ask.Jobs(jobs))
	for i, e := range entries {
		asking.Go(func() error {
			errs[i] = e.judge(ctx, src)
			return nil
		})
	}
	_ = asking.Wait()
	counts = Counts{}
	for i, err := range errs {
		if err == nil {
			counts[BySource]++
			continue
		}
		f := entries[i].finding(err)
		if f.Code == problem.CodeHashUnproven {
			counts[Unproven]++
		} else {
			counts[Disproven]++
		}
		found = append(found, f)
	}
	if len(rest) > 0 {
		found = append(found, rest[0].finding(&problem.Error{Problem: problem.Problem{
			Code:    problem.CodeHashUnproven,
			Message: fmt.Sprintf("no call uses it and %d more, and nobody is asked about more than %d such entries of a file", len(rest)-1, mostUnused),
			Hint:    "run `relock lock`, which removes the entries that no call uses",
		}}))
		counts[Unproven] += len(rest)
	}
	return found, counts
}

// finding is the finding about an entry. Other errors than those that refute it leave it
// unproven.
func (e LockedModule) finding(err error) problem.Problem {
	f := problem.Problem{
		Code: problem.CodeHashUnproven, About: e.Key.String(), Place: problem.Place{Path: e.Path, Line: e.Line()},
		Subject: problem.Subject{Hash: provider.Hash(e.Hash)},
	}
	d := problem.Of(err)
	f.Host, f.Outage = d.Host, d.Outage
	switch d.Code {
	case problem.CodeModuleMoved, problem.CodeModuleForeign:
		f.Code, f.Message = d.Code, e.Key.String()+": "+d.Message
	case problem.CodeNoVersion:
		f.Code, f.Message = problem.CodeModuleMoved, e.Key.String()+" is locked, and the registry has no such version: "+d.Message
	default:
		f.Message = fmt.Sprintf("%s could not be compared with %s: %s", e.Key, e.Hash, d.Message)
		f.Hint = d.Hint
	}
	if f.Code == problem.CodeModuleMoved {
		f.Hint = e.MovedHint()
	}
	return withHelp(f)
}

// moved is the error of an entry that has not what its package is now.
func (e LockedModule) moved(now string) error {
	return &problem.Error{Problem: problem.Problem{
		Code: problem.CodeModuleMoved, Message: fmt.Sprintf("%s is locked, and it is %s now", e.Hash, cmp.Or(now, "nothing that has a hash")),
	}}
}

// unsaid is the error of an entry about which nobody could be asked.
func unsaid(message string) error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeHashUnproven, Message: message}}
}

func (e LockedModule) judge(ctx context.Context, src ModuleSource) error {
	if src == nil {
		return &problem.Error{Problem: problem.Problem{Code: problem.CodeHashUnproven, Message: "nobody is asked with --offline", Hint: ForOffline.help()}}
	}
	a, err := moduleaddr.Parse(e.Address, e.Tool.Name)
	switch {
	case err != nil:
		return unsaid(err.Error())
	case a.Kind == moduleaddr.Remote && a.Package.Getter == "git":
		return e.judgeGit(ctx, src, a.Package)
	}
	call := scan.Call{Source: e.Address, Hash: true}
	if a.Kind == moduleaddr.Registry {
		call.Version, call.Versioned = "= "+e.Version, true
	}
	now, err := src.Fetch(ctx, e.Tool, call)
	switch {
	case err != nil:
		return err
	case now.Hash == e.Hash: // another address with the same content is nothing
		return nil
	case now.Repository != e.Package:
		return &problem.Error{Problem: problem.Problem{
			Code: problem.CodeModuleMoved, Message: fmt.Sprintf("%s at %s is locked, and the registry names %s at %s now",
				e.Hash, cmp.Or(moduleaddr.Shown(e.Package), "an archive"), now.Hash, cmp.Or(moduleaddr.Shown(now.Repository), "an archive")),
		}}
	}
	return e.moved(now.Hash)
}

// judgeGit judges the entry of a git source. What a tag or a commit names is the only right
// commit. A branch may have moved on since.
func (e LockedModule) judgeGit(ctx context.Context, src ModuleSource, repository moduleaddr.Package) error {
	call := scan.Call{Source: e.Address}
	if e.Version != "" {
		separator := "?"
		if strings.Contains(e.Address, "?") {
			separator = "&"
		}
		call.Source += separator + "ref=" + url.QueryEscape(e.Version)
	}
	now, err := src.Names(ctx, e.Tool, call)
	commit, isCommit := strings.CutPrefix(e.Hash, "git:")
	abbreviated := now.Kind == scan.RefOther && strings.HasPrefix(now.Commit, e.Version)
	switch {
	case err != nil:
		return err
	case now.Ambiguous:
		return unsaid("its ref is a branch and a tag")
	case now.Commit == commit:
		return src.Reachable(ctx, repository, commit)
	case !isCommit || abbreviated || !now.Moves() && !(now.Kind == scan.RefTag && e.Moving):
		return e.moved("git:" + now.Commit)
	}
	before, err := src.Precedes(ctx, repository, commit, now.Commit)
	if err != nil || before {
		return err
	}
	err = src.Reachable(ctx, repository, commit)
	return cmp.Or(err, error(&problem.Error{Problem: problem.Problem{
		Code: problem.CodeModuleMoved, Message: fmt.Sprintf("%s is locked, and git:%s, which it names now, does not descend from it", e.Hash, now.Commit),
	}}))
}
