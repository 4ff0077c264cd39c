package pr

import (
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
)

// conventionalForm matches a subject by https://www.conventionalcommits.org/en/v1.0.0/.
var conventionalForm = regexp.MustCompile(`^(feat|fix|docs|style|refactor|perf|test|build|ci|chore|revert)(\([^()]+\))?!?: `)

// conventions are the usual prefixes of commits about dependencies under that convention,
// the most frequent first.
var conventions = []string{"chore(deps): ", "build(deps): ", "fix(deps): "}

// conventional returns the prefix for our commits, from the subjects of a repository's
// newest commits. Without a conventional prefix on most of them it is none. Else it is the
// most frequent prefix of those about dependencies.
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

// prefixOf is the prefix for our commits, from the newest commits of a base.
func prefixOf(recent []github.Commit) string {
	var subjects []string
	for _, c := range recent {
		if line, _, _ := strings.Cut(c.Message, "\n"); len(c.Parents) < 2 { // not a merge
			subjects = append(subjects, line)
		}
	}
	return conventional(subjects)
}
