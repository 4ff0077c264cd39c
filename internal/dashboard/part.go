package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/safe"
)

// partMark is the word of a part's marker.
const partMark = "relock-part"

// Part is what one of several runs contributes to a page. It is in a comment below the
// issue, which only that run edits.
type Part struct {
	Name string          `json:"part"` // of the run
	Data json.RawMessage `json:"data"`
	id   int64           // of its comment
}

// PartsIn returns the parts in the comments of the account self. Of several comments
// of one run the oldest counts. The data come from outside, since people may edit
// comments.
func PartsIn(comments []github.Comment, self string) []Part {
	var parts []Part
	for _, c := range comments {
		p, ok := partIn(c.Body)
		named := slices.ContainsFunc(parts, func(other Part) bool { return other.Name == p.Name })
		if ok && !named && self != "" && strings.EqualFold(c.Author, self) {
			p.id = c.ID
			parts = append(parts, p)
		}
	}
	return parts
}

// partIn reads a part from the last line of a comment.
func partIn(body string) (p Part, ok bool) {
	lines := strings.Split(strings.TrimRight(body, " \t\r\n"), "\n")
	text, ours := strings.CutPrefix(lines[len(lines)-1], remembersFrom+partMark+":")
	text, whole := strings.CutSuffix(text, remembersTo)
	return p, ours && whole && json.Unmarshal([]byte(text), &p) == nil && p.Name != ""
}

// KeepPart writes a part below an issue, with words for people, unless it is there
// already. known are the parts that are there.
func KeepPart(ctx context.Context, repo *github.Repository, issue int, known []Part, p Part, words safe.Markdown) (operation string, err error) {
	text := safe.Format("%s\n\n%s", words.Trimmed(), hidden(partMark, p))
	i := slices.IndexFunc(known, func(other Part) bool { return other.Name == p.Name })
	switch {
	case i < 0:
		_, err = repo.PostComment(ctx, github.OnIssue(issue), text)
		return "created", err
	case string(known[i].Data) == string(p.Data):
		return "none", nil
	}
	err = repo.EditComment(ctx, github.OnIssue(issue), known[i].id, text)
	if errors.Is(err, github.ErrUncertain) && ctx.Err() == nil { // the same edit twice does no harm
		err = repo.EditComment(ctx, github.OnIssue(issue), known[i].id, text)
	}
	return cmp.Or(map[bool]string{true: "updated"}[err == nil], "none"), err
}
