package organisation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
)

const (
	// mostRejected is how many repositories in a row GitHub rejects, for what holds for all of
	// them, before a run ends.
	mostRejected = 3
	// mostInLine is how many repositories are named in one line.
	mostInLine = 5
)

// rejections are the repositories that GitHub did not let be read, and whether that shows that
// it lets none be read.
type rejections struct {
	by map[int]rejected // by the index of the repository
	// row are the repositories that were rejected in the same words, one after the other, where
	// these speak for the token or the installation.
	row         []string
	words, hint string
}

// rejected is why one repository could not be read: GitHub's words, and the line of the report
// that says so.
type rejected struct {
	name, words string
	line        problem.Problem
}

// judge notes how GitHub let a repository be read that was asked about. A good answer shows
// that others may be read, too.
func (d *rejections) judge(i int, name string, u run.Undelivered, good bool) {
	said, line, ok := u.Rejection()
	if ok {
		if d.by == nil {
			d.by = map[int]rejected{}
		}
		d.by[i] = rejected{name, said.Words, line}
	}
	if !ok || !said.Whole || good || d.words != said.Words {
		d.row = nil
	}
	if ok && said.Whole && !good {
		d.row, d.words, d.hint = append(d.row, name), said.Words, line.Hint
	}
}

// ends reports whether the run asks about no more repositories.
func (d *rejections) ends() bool { return len(d.row) >= mostRejected }

// String says what has ended the run.
func (d *rejections) String() string {
	return fmt.Sprintf("%s, about %s one after the other", d.words, strings.Join(d.row, ", "))
}

// alike are the repositories that were rejected in the same words, by their order in the list.
func (d *rejections) alike(words string) (all []int) {
	for _, i := range slices.Sorted(maps.Keys(d.by)) {
		if d.by[i].words == words {
			all = append(all, i)
		}
	}
	return all
}

// without is the report of a repository without the line that others have, too.
func (d *rejections) without(i int, r report.Report) report.Report {
	said, ok := d.by[i]
	if !ok || len(d.alike(said.words)) < 2 {
		return r
	}
	r.Diagnostics = slices.DeleteFunc(slices.Clone(r.Diagnostics), func(p problem.Problem) bool { return p == said.line })
	return r
}

// lines has one line for all repositories that were rejected in the same words. Where that
// stopped the run, another line says so.
func (d *rejections) lines(stopped bool) (lines []problem.Problem) {
	for _, i := range slices.Sorted(maps.Keys(d.by)) {
		one := d.by[i]
		all := d.alike(one.words)
		if len(all) < 2 || all[0] != i || stopped && d.ends() && one.words == d.words {
			continue
		}
		names := make([]string, len(all))
		for n, at := range all {
			names[n] = d.by[at].name
		}
		one.line.Message = fmt.Sprintf("%s, about %d repositories: %s", one.words, len(all), firstNames(names))
		lines = append(lines, one.line)
	}
	return lines
}

// firstNames are some names, and how many others there are.
func firstNames(names []string) string {
	if rest := len(names) - mostInLine; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostInLine], ", "), rest)
	}
	return strings.Join(names, ", ")
}
