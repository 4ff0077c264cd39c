package pr

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/report"
)

// String returns the ignore as it was said: PROVIDER [WHAT] [until DATE].
func (i Ignore) String() string {
	said := i.Provider
	if i.What != "" {
		said += " " + i.What
	}
	if i.Until != "" {
		said += " until " + i.Until
	}
	return said
}

// Over reports whether an ignore has ended.
func (i Ignore) Over(now time.Time) bool {
	until, err := time.Parse(time.DateOnly, i.Until)
	return i.Until != "" && (err != nil || !now.Before(until))
}

// conventionalForm is a subject by https://www.conventionalcommits.org/en/v1.0.0/.
var conventionalForm = regexp.MustCompile(`^(feat|fix|docs|style|refactor|perf|test|build|ci|chore|revert)(\([^()]+\))?!?: `)

// conventions are the prefixes of commits about dependencies in repositories
// that follow that, the most usual one first.
var conventions = []string{"chore(deps): ", "build(deps): ", "fix(deps): "}

// conventional is the prefix that the subjects of a repository's newest commits
// ask for: none unless most of them have one, then that of most of those about
// dependencies.
func conventional(subjects []string) string {
	following := 0
	counts := make([]int, len(conventions))
	for _, s := range subjects {
		if conventionalForm.MatchString(s) {
			following++
		}
		for i, prefix := range conventions {
			if strings.HasPrefix(s, prefix) {
				counts[i]++
			}
		}
	}
	if following*2 <= len(subjects) {
		return ""
	}
	return conventions[slices.Index(counts, slices.Max(counts))]
}

// conventionally begins the subject as the newest commits begin theirs.
func conventionally(subject string, recent []github.Commit) string {
	var subjects []string
	for _, c := range recent {
		if line, _, _ := strings.Cut(c.Message, "\n"); len(c.Parents) < 2 { // no merge
			subjects = append(subjects, line)
		}
	}
	prefix := conventional(subjects)
	if prefix == "" {
		return subject
	}
	return report.Shortened(prefix + strings.ToLower(subject[:1]) + subject[1:])
}
