package dashboard

import (
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

// KeepPart writes a part below an issue as the account self, with words for people. known
// are the parts that are there. After an unclear answer it looks whether the part is there.
func KeepPart(ctx context.Context, repo *github.Repository, issue int, self string, known []Part, p Part, words safe.Markdown) Outcome {
	under, text := github.OnIssue(issue), safe.Format("%s\n\n%s", words.Trimmed(), hidden(partMark, p))
	same := func(other Part) bool { return other.Name == p.Name }
	write := func() error {
		i := slices.IndexFunc(known, same)
		if i >= 0 {
			return repo.EditComment(ctx, under, known[i].id, text)
		}
		_, err := repo.PostComment(ctx, under, text)
		return err
	}
	done := func(other Part) bool { return same(other) && string(other.Data) == string(p.Data) }
	if slices.ContainsFunc(known, done) {
		return Outcome{Operation: "none"}
	}
	err := write()
	if errors.Is(err, github.ErrUncertain) && ctx.Err() == nil {
		var comments []github.Comment
		comments, err = repo.Comments(ctx, under)
		known = PartsIn(comments, self)
		if err == nil && !slices.ContainsFunc(known, done) {
			err = write()
		}
	}
	if err != nil {
		return Outcome{Operation: "none"}.failed(err)
	}
	return Outcome{Operation: "updated"}
}
