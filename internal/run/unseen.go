package run

import (
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
)

// unseenCause is why a run did not look at a lock file, or at an entry of one.
type unseenCause int

// The causes, in the order of the report. If a lock file has several, the first counts.
const (
	notAsked      unseenCause = iota // the run is about other directories or providers
	outOfScope                       // include or exclude leaves it out, but not in the base's own configuration file
	notWanted                        // include or exclude in the base's own configuration file leaves it out
	notInCheckout                    // the commit has it, and the checkout does not
	onlyHashes                       // so it is, but its hashes were judged
	behindLink                       // it is a link, or the target of one
	inHiddenDir                      // it is in a directory that no search enters
	addedTo                          // a Terragrunt stack would add to its configuration
	notReadable                      // it, or its directory, could not be read
	unanswered                       // a question about it has no answer
	baseMoved                        // the base branch changed what matters to it while the run planned
	lastCause     = baseMoved
)

// unseenTexts has two texts for each cause: where such lock files are, for a sentence of
// the form "N lock files … were not looked at", and what to do about them.
var unseenTexts = [lastCause + 1]struct{ where, hint string }{
	notAsked:      {"outside of the named directories", ""},
	outOfScope:    {"that include or exclude leaves out of this run", ""},
	notWanted:     {"that the configuration file leaves out", ""},
	notInCheckout: {"missing in the sparse checkout", "check out all of them with `git sparse-checkout disable`, or some with `git sparse-checkout add DIR`"},
	onlyHashes:    {"missing in the sparse checkout, except for their hashes,", "check out all of them with `git sparse-checkout disable`, or some with `git sparse-checkout add DIR`"},
	behindLink:    {"shared by links", "put a file in place of the link"},
	inHiddenDir:   {"below hidden directories", "spell the name of the directory in include"},
	addedTo:       {"beside configuration to which a Terragrunt stack adds files", "let the stack generate elsewhere, or commit all that it generates there"},
	notReadable:   {"in places that cannot be read", ""},
	unanswered:    {"without an answer to every question", "run again later"},
	baseMoved:     {"for which the base changed meanwhile", "the next run looks at what is there then"},
}

// wantedByBase reports whether the base itself leaves the lock file out. Then the file is
// counted, and its proposal is dropped.
func (c unseenCause) wantedByBase() bool { return c == notWanted }

// unseenLocks are lock files that a run did not look at, with the causes. A pull request
// keeps its proposals for them, and the report has a line for each cause.
//
// A step that finds such a lock file adds it once while the root modules are found:
//
//	s.unseen.add(notInCheckout, j.names(t).Of, "live/.terraform.lock.hcl")
//
// A name with a slash at its end means all lock files at or below a directory. Their number
// is unknown.
type unseenLocks struct {
	missed []missed
	// only are the providers of the run; empty: all.
	only []provider.Pattern
	// dirs are the directories of the run, with "/..." for a search.
	dirs []string
	// selection limits the search of this run, and own that of the repository's configuration
	// file.
	selection, own scan.Options
}

// missed is one lock file, or all below a directory.
type missed struct {
	cause unseenCause
	name  string // in the tree; ends in a slash for a directory
	shown string // its name in the report
}

// add adds a lock file that the run does not look at, by its name in a tree. show returns
// its name in the report.
func (u *unseenLocks) add(c unseenCause, show func(string) string, name string) {
	shown := show(strings.TrimSuffix(name, "/"))
	if strings.HasSuffix(name, "/") {
		shown += "/"
	}
	u.missed = append(u.missed, missed{c, name, shown})
}

// setDirs adds the directories of a tree that the run is about. It counts a named directory
// that is no root module as searched.
func (u *unseenLocks) setDirs(t tree, roots []scan.RootModule) {
	for _, dir := range t.dirs {
		root := slices.ContainsFunc(roots, func(m scan.RootModule) bool { return m.Dir == dir })
		if !root && !strings.HasSuffix(dir, "/...") {
			dir += "/..."
		}
		u.dirs = append(u.dirs, dir)
	}
}

// causeOf returns why the run did not look at a lock file of a directory.
func (u *unseenLocks) causeOf(dir string) (cause unseenCause, missing bool) {
	if !covers(u.dirs, dir) {
		return notAsked, true
	}
	for _, m := range u.missed {
		below := strings.HasSuffix(m.name, "/") && (m.name == "./" || strings.HasPrefix(dir+"/", m.name))
		if (path.Dir(m.name) == dir && !strings.HasSuffix(m.name, "/") || below) && (!missing || m.cause < cause) {
			cause, missing = m.cause, true
		}
	}
	if !missing && !slices.Contains(u.dirs, dir) && !u.selection.Selects(dir) {
		cause, missing = outOfScope, true
		if !u.own.Selects(dir) {
			cause = notWanted
		}
	}
	return cause, missing
}

// addLeftOut adds the lock files of a tree that only this run leaves out.
func (u *unseenLocks) addLeftOut(t tree, show func(string) string) {
	if !u.narrowsSearch() && slices.Contains(u.dirs, everything) {
		return
	}
	enters := func(dir string) bool { return u.selection.Enters(dir) || u.own.Enters(dir) }
	for _, name := range t.locked(enters) {
		if cause, missing := u.causeOf(path.Dir(name)); missing && !cause.wantedByBase() {
			u.add(cause, show, name)
		}
	}
}

// narrowsSearch reports whether the search leaves out anything that the base wants, by
// comparing globs.
func (u *unseenLocks) narrowsSearch() bool {
	if slices.Equal(u.selection.Exclude, u.own.Exclude) && slices.Equal(u.selection.Include, u.own.Include) {
		return false
	}
	return len(u.selection.Exclude) > 0 || len(u.selection.Include) > 0 && !slices.Equal(u.selection.Include, []string{"**"})
}

// isAbout reports whether the run is about a provider.
func (u *unseenLocks) isAbout(addr provider.Addr) bool {
	return len(u.only) == 0 || slices.ContainsFunc(u.only, func(p provider.Pattern) bool { return p.Match(addr) })
}

// narrowed reports whether the run may have missed anything, for another reason than the
// base's own configuration.
func (u *unseenLocks) narrowed() bool {
	return u.misses(notWanted)
}

// asksForPart reports whether the run is about a part of the repository, or the checkout
// has only a part. Files that no run looks at do not count.
func (u *unseenLocks) asksForPart() bool {
	return u.misses(notWanted, behindLink, inHiddenDir, addedTo, notReadable)
}

// misses reports whether the run may have missed anything, for another reason than some.
func (u *unseenLocks) misses(but ...unseenCause) bool {
	return len(u.only) > 0 || u.narrowsSearch() || !slices.Contains(u.dirs, everything) ||
		slices.ContainsFunc(u.missed, func(m missed) bool { return !slices.Contains(but, m.cause) })
}

// notices has a line for each cause with missed files. A run that judges fails if a file is
// unreadable, since nothing is proven for it.
func (u *unseenLocks) notices(verb verbs.Verb) []problem.Problem {
	var lines []problem.Problem
	for c := range lastCause + 1 {
		line := u.notice(c)
		if len(line) > 0 && c == notReadable && (verb == verbs.Verify || verb == verbs.Check) {
			line[0].Severity = problem.SeverityError
		}
		lines = append(lines, line...)
	}
	return lines
}

// notice is the line of a cause, if it has missed files.
func (u *unseenLocks) notice(c unseenCause) []problem.Problem {
	var names []string
	unknown := false
	for _, m := range u.missed {
		if m.cause == c {
			names, unknown = append(names, m.shown), unknown || strings.HasSuffix(m.name, "/")
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil
	}
	where, hint := unseenTexts[c].where, unseenTexts[c].hint
	what := collect.Count(len(names), "lock file "+where+" was", "lock files "+where+" were")
	if unknown {
		what = "an unknown number of lock files " + where + " was"
	}
	return []problem.Problem{{
		Code: problem.CodeUnseen, Severity: problem.SeverityWarning,
		Message: what + " not looked at: " + collect.First(names, mostNamed),
		Hint:    hint,
	}}
}

// covers reports whether a directory is one of a run's directories, or below one that it
// searches. A root module that was named by itself does not cover the directories below it.
func covers(dirs []string, dir string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		name, search := strings.CutSuffix(d, "/...")
		return dir == name || search && (name == "." || strings.HasPrefix(dir, name+"/"))
	})
}
