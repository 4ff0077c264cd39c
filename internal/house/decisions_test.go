package house

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// Where decisions are, the index of them, and what is beside them.
const (
	decisionPages = "docs/decisions/*.md"
	decisionIndex = "docs/decisions/README.md"
	deviations    = "docs/decisions/deviations.md" // a table, and no decision
)

const (
	maxDecision  = 230 // words of a decision: a page that people read to its end
	maxDecisions = 24  // pages, with the index and the deviations
)

var (
	// decisionPage is the form of a page: a title, a day, and three sections with text.
	decisionPage = regexp.MustCompile(`(?s)\A# ([^\n]+)\n\nDecided on (\d{4}-\d\d-\d\d)\.\n\n## Context\n\n.+\n\n## Decision\n\n.+\n\n## Consequences\n\n.+\z`)
	// indexRow is a row of the index.
	indexRow = regexp.MustCompile(`(?m)^\| \[(.+)\]\(([\w-]+\.md)\) \| (\S+) \|$`)
)

// TestDocumentsOfDecisionsHaveAForm holds that there are few decisions, that each is a page of one form, which the index lists
// with its title and its day, and that the index lists nothing else.
func TestDocumentsOfDecisionsHaveAForm(t *testing.T) {
	t.Parallel()
	listed := map[string][2]string{}
	for _, m := range indexRow.FindAllStringSubmatch(string(read(t, decisionIndex)), -1) {
		listed[m[2]] = [2]string{m[1], m[3]}
	}
	pages := glob(t, decisionPages)
	if len(pages) > maxDecisions {
		t.Errorf("there are %d pages of decisions, want %d at most: what a package does belongs into its comment", len(pages), maxDecisions)
	}
	if len(pages) < 10 || len(listed) != len(pages)-2 {
		t.Errorf("%s lists %d decisions, and there are %d", decisionIndex, len(listed), len(pages)-2)
	}
	for _, name := range pages {
		if name == decisionIndex || name == deviations {
			continue
		}
		text := string(read(t, name))
		m := decisionPage.FindStringSubmatch(text)
		switch words := len(strings.Fields(text)); {
		case m == nil:
			t.Errorf("%s has no title, no day, or not the sections Context, Decision and Consequences", name)
		case listed[path.Base(name)] != [2]string{m[1], m[2]}:
			t.Errorf("%s lists %s as %q, want %q of %s", decisionIndex, name, listed[path.Base(name)], m[1], m[2])
		case words > maxDecision:
			t.Errorf("%s has %d words, want %d at most", name, words, maxDecision)
		}
	}
}
