package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/worktree"
)

// NotFound is what a request names and what is nowhere, so that nothing was done.
// Whoever misspells a name must not read that it is up to date.
type NotFound []problem.Problem

// Error returns the messages.
func (n NotFound) Error() string { return errors.Join(n.Unwrap()...).Error() }

// Unwrap returns the diagnostics.
func (n NotFound) Unwrap() []error {
	all := make([]error, len(n))
	for i, d := range n {
		all[i] = &problem.Error{Problem: d}
	}
	return all
}

// wish is something that is named in a request: a provider or a directory.
type wish struct {
	pattern provider.Pattern
	dir     string // empty: a provider
}

// Lookup is what was named in a run and what was found of it, over one target or several.
type Lookup struct {
	several bool // targets; what one of them lacks may be in another
	wishes  []wish
	found   map[wish]bool
	lacking map[wish][]string        // the targets that have nothing of it
	lost    map[wish]problem.Problem // why, for directories
	there   map[provider.Addr]bool
	unread  bool // something that it could be in
}

// add says that a wish is looked for.
func (s *Lookup) add(w wish) {
	if s.found == nil {
		s.found, s.lacking, s.lost = map[wish]bool{}, map[wish][]string{}, map[wish]problem.Problem{}
	}
	if !slices.Contains(s.wishes, w) {
		s.wishes = append(s.wishes, w)
	}
}

// addFound says that a target has what a wish names.
func (s *Lookup) addFound(w wish) {
	s.add(w)
	s.found[w] = true
}

// addLacking says that a target has nothing that a wish names.
func (s *Lookup) addLacking(w wish, target string) {
	s.add(w)
	s.lacking[w] = append(s.lacking[w], target)
}

// verdict says of each wish that no target has what it comes to: missing are those
// that name one thing, and tell is what people should know of the others.
func (s *Lookup) verdict() (missing, tell []problem.Problem) {
	for _, w := range s.wishes {
		switch {
		case s.found[w] && w.single() && len(s.lacking[w]) > 0:
			tell = append(tell, problem.Problem{
				Severity: problem.SeverityWarning, Code: problem.CodeNotFound,
				Message: fmt.Sprintf("%s was not found in %s", w, few(s.lacking[w])),
			})
		case s.found[w]:
		case w.single():
			missing = append(missing, s.missing(w))
		default:
			d := s.missing(w)
			d.Severity = problem.SeverityWarning
			tell = append(tell, d)
		}
	}
	return missing, tell
}

// single reports whether a wish names one thing, which must be there.
func (w wish) single() bool { return w.dir != "" || w.pattern.Literal() }

func (w wish) String() string {
	if w.dir != "" {
		return "the directory " + w.dir
	}
	return w.pattern.Given()
}

// fewNames is how many repositories are named in a line.
const fewNames = 3

func few(names []string) string {
	if rest := len(names) - fewNames; rest > 1 {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:fewNames], ", "), rest)
	}
	return strings.Join(names, ", ")
}

// missing says that no target has what a wish names, and what was probably meant.
func (s *Lookup) missing(w wish) problem.Problem {
	if d, ok := s.lost[w]; ok {
		return d
	}
	d := problem.Problem{
		Code: problem.CodeNotFound, Message: "no root module requires or locks " + w.String(),
		Hint: "relock scan lists the providers of each root module",
	}
	if near, ok := w.pattern.Near(slices.SortedFunc(maps.Keys(s.there), provider.Addr.Compare)); ok {
		d.Hint = fmt.Sprintf("did you mean %s?", near.Short())
	}
	if s.unread {
		d.Message = w.String() + " was not found in what could be read"
		d.Hint = "make readable what the report names, and try again; if the name is wrong: " + d.Hint
	}
	if s.unread && w.single() {
		d.Code = problem.CodeUnreadModule // it is not known that the name is wrong
	}
	return d
}

// Problems is what the targets of one run do not have of what it names: some or all.
func (s *Lookup) Problems() []problem.Problem {
	missing, tell := s.verdict()
	return append(missing, tell...)
}

// honour looks for what the request names in the root modules that were found.
// Where it is the whole run, it fails if one of them is nowhere: nothing has been
// asked or written then.
func honour(j job, in inventory) (told []problem.Problem, err error) {
	s, several := j.visit.Lookup, j.visit.Lookup != nil && j.visit.Lookup.several
	if !several {
		s = &Lookup{}
	}
	s.sees(in)
	for _, p := range j.ask.named {
		here := slices.ContainsFunc(in.found, func(f found) bool { return slices.ContainsFunc(f.providers(), p.Match) })
		if here || in.nothing() {
			s.addFound(wish{pattern: p})
		} else {
			s.addLacking(wish{pattern: p}, where(j))
		}
	}
	for _, t := range in.trees {
		for _, name := range t.named {
			w := wish{dir: j.names(t).Of(name)}
			if d, lost := in.lost[w]; lost {
				s.addLacking(w, where(j))
				s.lost[w] = d
			} else {
				s.addFound(w)
			}
		}
	}
	if several {
		return nil, nil
	}
	missing, told := s.verdict()
	if !s.unread && len(j.plan.Only) == 0 && in.whole() {
		told = append(told, idle(j.settings.Clauses(), in.found)...)
	}
	if slices.ContainsFunc(missing, func(d problem.Problem) bool { return d.Code == problem.CodeNotFound }) {
		return told, NotFound(missing)
	}
	return append(told, missing...), nil
}

// nothing reports whether there is no root module for another reason than a
// provider's name: what a pull request touches is none, or a directory is none.
func (s inventory) nothing() bool {
	return len(s.found) == 0 && (s.extent.touched != nil || len(s.lost) > 0)
}

// whole reports whether all of a repository was looked at.
func (s inventory) whole() bool {
	return s.extent.touched == nil && len(s.found) > 0 && len(s.trees) == 1 && slices.Equal(s.trees[0].dirs, []string{everything})
}

// sees adds the providers that there are, and whether there may be others.
func (s *Lookup) sees(in inventory) {
	if s.there == nil {
		s.there = map[provider.Addr]bool{}
	}
	for _, f := range in.found {
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

// where is what a job is about, for people, where others are about others.
func where(j job) string {
	if len(j.settings.PullRequest.Base) > 1 {
		return strings.TrimSpace(j.target.repository + " at " + j.target.base)
	}
	return j.target.repository
}

// misses takes the directories out of a scan's diagnostics that were named and
// are none, or in which there is no root module: what becomes of that depends on
// the other targets of the run.
func misses(j job, s inventory, t tree, diagnostics []problem.Problem) []problem.Problem {
	if s.extent.touched != nil { // no directory is named, but a setting narrows what is touched
		return diagnostics
	}
	unlocked := func(dir string) bool { // then it has root modules, which are told of
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
		if d.Severity == problem.SeverityWarning { // it is there, and holds none
			message = "no root module was found in " + shown
		}
		if near, ok := nearDir(d.Place.Path, t.locked(j.scan.Enters)); ok {
			hint = "did you mean " + j.names(t).Of(near) + "?"
		}
		s.lost[wish{dir: shown}] = problem.Problem{Code: problem.CodeNotFound, Message: message, Hint: hint}
		return true
	})
}

// nearDir returns the directory that was probably meant: one of the same name
// elsewhere, or one whose path differs in a few letters; ok is false if there is
// none.
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

// noDirectory is the error of a directory on disk that cannot be used, with the
// one that was probably meant.
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

// notFound turns what was named and is nowhere into a refusal.
func notFound(err error) error {
	var missing NotFound
	if !errors.As(err, &missing) {
		return err
	}
	var all []safe.Markdown
	for _, d := range missing {
		text := safe.Text(d.Message)
		if d.Hint != "" {
			text = text.And(" (%s)", safe.Text(d.Hint))
		}
		all = append(all, text)
	}
	return comment.Refuse(safe.Format("nothing was done: %s", safe.Join("; ", all...)))
}

// speaksOf reports whether a root module has something that a clause is about.
func speaksOf(cl settings.Clause, f found) bool {
	return cl.Where.In(f.module.Dir) && (len(cl.Where.Providers) == 0 || slices.ContainsFunc(f.providers(), cl.Where.Names))
}

// idle are warnings about the clauses that nothing in the repository is about.
func idle(clauses []settings.Clause, all []found) []problem.Problem {
	there := map[provider.Addr]bool{}
	for _, f := range all {
		for _, a := range f.providers() {
			there[a] = true
		}
	}
	var warnings []problem.Problem
	for _, cl := range clauses {
		if slices.ContainsFunc(all, func(f found) bool { return speaksOf(cl, f) }) {
			continue
		}
		d := problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeNotFound, Place: cl.Place,
			Message: cl.Key + " matches nothing in this repository",
		}
		for _, p := range cl.Where.Providers {
			if near, ok := p.Near(slices.SortedFunc(maps.Keys(there), provider.Addr.Compare)); ok && !p.Match(near) {
				d.Hint = fmt.Sprintf("did you mean %s?", near.Short())
			}
		}
		warnings = append(warnings, d)
	}
	slices.SortFunc(warnings, problem.Problem.Compare)
	return warnings
}

// Idle warns of clauses of the configuration file that nothing in the repository
// on disk is about, by its files and lock files alone: nobody is asked. Without a
// repository, or if something is not known without asking, it says nothing.
func Idle(ctx context.Context, workDir string, c settings.Settings) ([]problem.Problem, error) {
	root, ok := worktree.FindRoot(workDir)
	if len(c.Clauses()) == 0 || !ok {
		return nil, nil
	}
	t := tree{root: root}
	opts := Ask{}.searching(c)
	opts.Orphans = true
	modules, diagnostics, err := rootModules(ctx, t.FS(), nil, opts)
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
