package pr

import (
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/safe"
)

// mostCommon is how many changes that paragraph names.
const mostCommon = 5

// following is the first paragraph of a new pull request if a person has closed the one
// before. It links that one, and names the changes that both have.
func following(s state, p Proposal) safe.Markdown {
	if s.rejected == "" {
		return safe.Markdown{}
	}
	text := safe.Format("Somebody closed #%s.", safe.Int(s.pull.Number))
	former := changesIn(s.former)
	var common []safe.Markdown
	for _, c := range changesIn(p.Summary) {
		if slices.Contains(former, c) {
			common = append(common, safe.Format("%s %s", safe.Code(c.provider), safe.Text(c.to)))
		}
	}
	if more := len(common) - mostCommon; more > 0 {
		common = append(common[:mostCommon], safe.Format("%s more", safe.Int(more)))
	}
	if len(common) > 0 {
		text = text.And(" This pull request has in common with it: %s.", safe.Join(", ", common...))
	} else if len(former) > 0 {
		text = text.And(" This pull request has no change in common with it.")
	}
	return text.And(" " + formerEnd)
}

// change is a row of detailsOf: a provider, and its version afterwards or what else changes.
type change struct{ provider, to string }

// row is the form of such a row.
var row = regexp.MustCompile(`^(\S+) {2,}(?:.* -> )?(.+?) {2,}\d+ root modules?$`)

// changesIn reads the rows of detailsOf.
func changesIn(summary string) []change {
	var all []change
	for line := range strings.SplitSeq(summary, "\n") {
		if found := row.FindStringSubmatch(line); found != nil {
			all = append(all, change{found[1], found[2]})
		}
	}
	slices.SortFunc(all, func(a, b change) int { return strings.Compare(a.provider+" "+a.to, b.provider+" "+b.to) })
	return slices.Compact(all)
}
