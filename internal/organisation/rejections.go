package organisation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
)

const (
	// mostRejected is the number of repositories in a row that GitHub rejects for
	// a common reason before a run ends.
	mostRejected = 3
	// mostInLine is the highest number of repositories that one line names.
	mostInLine = 5
)

// rejections are the repositories that GitHub did not let relock read. They show
// whether GitHub rejects all.
type rejections struct {
	by map[int]rejected // by the index of the repository
	// row are the last repositories that were rejected in the same words, if
	// these are about the token or the installation.
	row         []string
	words, hint string
}

// rejected is the rejection of one repository: GitHub's words, and the line of
// the report about it.
type rejected struct {
	name, words string
	line        problem.Problem
}

// judge records GitHub's answer about a repository. A good answer shows that
// others may be read, too.
func (d *rejections) judge(i int, name string, u *run.Plan, good bool) {
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

// String says why the run has ended.
func (d *rejections) String() string {
	return fmt.Sprintf("%s, about %s one after the other", d.words, strings.Join(d.row, ", "))
}

// alike are the repositories that were rejected in the same words, in the order
// of the list.
func (d *rejections) alike(words string) (all []int) {
	for _, i := range slices.Sorted(maps.Keys(d.by)) {
		if d.by[i].words == words {
			all = append(all, i)
		}
	}
	return all
}

// without is the report of a repository without the line that it shares with
// others.
func (d *rejections) without(i int, r report.Report) report.Report {
	said, ok := d.by[i]
	if !ok || len(d.alike(said.words)) < 2 {
		return r
	}
	r.Diagnostics = slices.DeleteFunc(slices.Clone(r.Diagnostics), func(p problem.Problem) bool { return p == said.line })
	return r
}

// lines has one line for all repositories that were rejected in the same words.
// Another line says whether that stopped the run.
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
		one.line.Message = fmt.Sprintf("%s, about %s: %s", one.words, collect.Count(len(all), "repository", "repositories"), collect.First(names, mostInLine))
		lines = append(lines, one.line)
	}
	return lines
}
