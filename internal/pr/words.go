package pr

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/github"
)

// Words are what a template of a title or subject may name: "changes" is
// Title's sentence, "provider" the provider if it is one, else their number,
// "from" and "to" its versions where they are the same everywhere, and
// "directories" the directory or their number.
func Words(changed []Changed) map[string]string {
	var names, from, to, dirs []string
	called := namesOf(changed)
	for _, m := range changed {
		dirs = append(dirs, m.Dir)
		for _, c := range m.Changes {
			names = append(names, called[c.Addr])
			from, to = append(from, c.From.String()), append(to, c.To.String())
		}
	}
	return map[string]string{
		"changes":     Title(changed),
		"provider":    oneOrMany(names, "providers"),
		"from":        only(from),
		"to":          only(to),
		"directories": oneOrMany(dirs, "directories"),
	}
}

// only is the text that all are; empty if they differ, and for no version.
func only(texts []string) string {
	if texts = distinct(texts); len(texts) == 1 && texts[0] != (diff.Change{}).To.String() {
		return texts[0]
	}
	return ""
}

func oneOrMany(names []string, many string) string {
	if names = distinct(names); len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%d %s", len(names), many)
}

// Shortened cuts a subject to MaxSubject characters, at a word where it can.
func Shortened(subject string) string {
	if utf8.RuneCountInString(subject) <= MaxSubject {
		return subject
	}
	cut := string([]rune(subject)[:MaxSubject-1])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,") + "…"
}

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
	return Shortened(prefix + strings.ToLower(subject[:1]) + subject[1:])
}
