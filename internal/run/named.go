package run

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/worktree"
)

// checkNamed looks for the ask's names in the found root modules. If the run has no other
// target and a name matches nothing, it fails, before anything is asked or written.
func checkNamed(j job, in inventory) (notices []problem.Problem, err error) {
	s, several := j.visit.Lookup, j.visit.Lookup != nil && j.visit.Lookup.several
	if !several {
		s = &Lookup{}
	}
	s.sees(in)
	for _, p := range j.ask.named {
		here := slices.ContainsFunc(in.all(), func(f found) bool { return slices.ContainsFunc(f.providers(), p.Match) })
		if here || in.nothing() {
			s.addFound(lookupTerm{pattern: p})
		} else {
			s.addLacking(lookupTerm{pattern: p}, where(j))
		}
	}
	for _, t := range in.trees {
		for _, name := range t.named {
			n := lookupTerm{dir: j.names(t).Of(name)}
			if d, lost := in.lost[n]; lost {
				s.addLacking(n, where(j))
				s.lost[n] = d
			} else {
				s.addFound(n)
			}
		}
	}
	if several {
		return nil, nil
	}
	missing, notices := s.verdict()
	if !s.unread && len(j.plan.Only) == 0 && in.whole() {
		notices = append(notices, idle(j.settings.Clauses(), in.found)...)
	}
	if slices.ContainsFunc(missing, func(d problem.Problem) bool { return d.Code == problem.CodeNotFound }) {
		return notices, NotFound(missing)
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

// sees adds the providers of an inventory, and whether it may have missed some.
func (s *Lookup) sees(in inventory) {
	if s.there == nil {
		s.there = map[provider.Addr]bool{}
	}
	for _, f := range in.all() {
		for _, a := range f.providers() {
			s.there[a] = true
		}
		read := f.module.All()
		s.unread = s.unread || len(read.Unread) > 0 || problem.AnyError(read.Diagnostics)
	}
	s.unread = s.unread || unreadable(in.diagnostics)
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

// where names a job for people, if the run has several.
func where(j job) string {
	if len(j.settings.PullRequest.Base) > 1 {
		return strings.TrimSpace(j.target.repository + " at " + j.target.base)
	}
	return j.target.repository
}

// misses removes diagnostics about named directories that do not exist or have no root
// module. The other targets of the run decide about those.
func misses(j job, s inventory, t tree, diagnostics []problem.Problem) []problem.Problem {
	if s.extent.touched != nil { // no directory is named: a setting limits what is touched
		return diagnostics
	}
	unlocked := func(dir string) bool { // its root modules are reported
		return slices.ContainsFunc(diagnostics, func(d problem.Problem) bool {
			return d.Code == problem.CodeUnlocked && strings.HasPrefix(d.Place.Path+"/", dir+"/")
		})
	}
	kept := slices.Clone(diagnostics)
	return slices.DeleteFunc(kept, func(d problem.Problem) bool {
		if d.Code != problem.CodeNotRootModule || !slices.Contains(t.named, d.Place.Path) || unlocked(d.Place.Path) {
			return false
		}
		shown, message, hint := j.names(t).Of(d.Place.Path), d.Message, d.Hint
		if d.Severity == problem.SeverityWarning { // it exists, and has no root module
			message = "no root module was found in " + shown
		}
		if near, ok := nearDir(d.Place.Path, t.locked(j.scan.Enters)); ok {
			hint = "did you mean " + j.names(t).Of(near) + "?"
		}
		s.lost[lookupTerm{dir: shown}] = problem.Problem{Code: problem.CodeNotFound, Message: message, Hint: hint}
		return true
	})
}

// nearDir returns the directory that was probably meant: one of the same name elsewhere, or
// one whose path differs in a few letters. ok is false if there is none.
func nearDir(name string, dirs []string) (near string, ok bool) {
	least := provider.Slips(path.Base(name)) + 1
	for _, dir := range dirs {
		d := levenshtein.Distance(name, dir, nil)
		if path.Base(name) == path.Base(dir) {
			d = min(d, 1)
		}
		if d < least && d < len(path.Base(name)) {
			near, least, ok = dir, d, true
		}
	}
	return near, ok
}

// noDirectory is the error of an unusable directory on disk. It names the directory that
// was probably meant.
func noDirectory(workDir, dir, abs string, err error) error {
	d := problem.Problem{Code: problem.CodeNotFound, Message: fmt.Sprintf("%s: %v", dir, file.Cause(err))}
	if !errors.Is(err, fs.ErrNotExist) {
		return &problem.Error{Problem: d}
	}
	d.Hint = "name a directory that is there; without a name it is the working directory"
	root, ok := worktree.FindRoot(filepath.Dir(abs))
	if !ok {
		return &problem.Error{Problem: d}
	}
	t := tree{root: root}
	rel, relErr := filepath.Rel(t.root, abs)
	if near, ok := nearDir(filepath.ToSlash(rel), t.locked(scan.Options{}.Enters)); ok && relErr == nil {
		d.Hint = fmt.Sprintf("did you mean %s?", t.names(workDir).Of(near))
	}
	return &problem.Error{Problem: d}
}
