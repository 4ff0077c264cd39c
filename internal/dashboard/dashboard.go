// Package dashboard opens and edits the one issue that shows what waits in a
// repository, and the one about all repositories of an organisation. It also reads
// the checked boxes of an issue.
//
// The issue is the oldest open one with a marker of ours that a bot has opened, or
// the token's owner: an App on the schedule and a workflow's token on events keep
// the same issue. Every workflow speaks as github-actions[bot], and all who may
// write to the repository may edit the issue. So relock trusts neither the login
// nor the marker. A box only allows a proposal that a run would make anyway, and
// only if the person who checked it may write.
//
// The text is the caller's. [Keep] decides by a digest of it, so that the same
// text is never written twice. It writes nothing to an issue that a person has closed.
package dashboard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/box"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
)

// Kind is which of relock's issues a page is. A repository may have one of each.
type Kind int

// The kinds.
const (
	OfRepository Kind = iota
	OfOrganisation
)

// kinds have the title of an issue, which a person may change, and the word of its
// marker.
var kinds = [...]struct{ title, mark string }{
	OfRepository:   {"Lock files at a glance", "relock-dashboard"},
	OfOrganisation: {"Lock files of all repositories", "relock-organisation"},
}

// Is reports whether an issue has a marker of the kind.
func (k Kind) Is(i github.Issue) bool {
	_, ok := k.readMarker(i.Body)
	return ok
}

// Page is the text for the issue.
type Page struct {
	Kind Kind
	Body safe.Markdown
	// Empty means that there is nothing to report: then no issue is opened.
	Empty bool
	// Open is the number of open pull requests of ours, and OpenAt the address of
	// their list. Notice says why checked boxes did nothing. Written names the run, if
	// the page may. These are true of the moment, and no reason to write the text.
	Open           int
	OpenAt, Notice string
	Written        safe.Markdown
	// Since are counts that later pages are compared with. They are no reason to write
	// the text either.
	Since Counts
	// Silent are the servers that did not answer the run, sorted. The text lacks
	// everything that depends on them.
	Silent []string
}

// Counts are numbers by name, and the first day of the week that they are of.
type Counts struct {
	Week string         `json:"week"`
	Of   map[string]int `json:"of"`
}

// SinceIn returns the counts in the marker of the issue that is kept. They come from
// outside.
func (k Kind) SinceIn(found github.OwnIssues) Counts {
	if len(found.List) == 0 {
		return Counts{}
	}
	m, _ := k.readMarker(found.List[0].Body)
	return m.Since
}

// Digest identifies a text, without what is true of the moment.
func (t Page) Digest() string {
	sum := sha256.Sum256([]byte(t.Body.String()))
	return hex.EncodeToString(sum[:8])
}

// remembered is relock's data in the issue, hidden from readers.
type remembered struct {
	Digest string `json:"digest"`
	// Silent are digests of the servers that did not answer when the text was
	// made.
	Silent []string `json:"silent,omitempty"`
	Since  Counts   `json:"since,omitzero"`
}

// The hidden comment around a marker, alone on its line. The word of the kind is in
// between.
const (
	remembersFrom = "<!-- "
	remembersTo   = " -->"
	// mostMarked is the highest length of a marker's line, in bytes.
	mostMarked = 2048
)

// hidden returns data as a comment of HTML for people's texts, under a word. JSON
// escapes what would end the comment.
func hidden(word string, data any) safe.Markdown {
	text, err := json.Marshal(data)
	if err != nil {
		panic("encoding a marker: " + err.Error())
	}
	return safe.Ours(remembersFrom + word + ":" + string(text) + remembersTo)
}

// readMarker returns the last marker of a body.
func (k Kind) readMarker(body string) (m remembered, ok bool) {
	for _, line := range slices.Backward(strings.Split(body, "\n")) {
		text, ours := strings.CutPrefix(strings.TrimRight(line, " \t\r"), remembersFrom+kinds[k].mark+":")
		text, whole := strings.CutSuffix(text, remembersTo)
		var found remembered
		if ours && whole && len(text) <= mostMarked && json.Unmarshal([]byte(text), &found) == nil {
			return found, true
		}
	}
	return remembered{}, false
}

// mostSilent is the highest number of servers in a marker. With more, the text
// counts as that of a run that saw nothing.
const mostSilent = 50

// mark is the marker of a text.
func (t Page) mark() remembered {
	m := remembered{Digest: t.Digest(), Since: t.Since}
	for _, server := range t.Silent[:min(len(t.Silent), mostSilent)] {
		m.Silent = append(m.Silent, silentDigest(server))
	}
	return m
}

func silentDigest(server string) string {
	sum := sha256.Sum256([]byte(server))
	return hex.EncodeToString(sum[:6])
}

// sawLess reports whether the text lacks an answer that the marked one had.
func (m remembered) sawLess(t Page) bool {
	return len(t.Silent) > mostSilent || slices.ContainsFunc(t.mark().Silent, func(s string) bool { return !slices.Contains(m.Silent, s) })
}

// deed is what happens to the issue.
type deed int

const (
	leaveIssue deed = iota
	openIssue
	editIssue
)

// todo is the smallest work that gives the issue the text.
type todo struct {
	does deed
	// others are further open issues, from a race of two runs or of another account.
	others []github.Issue
	reason string // why nothing is done
}

// whatToDo compares the found issues with the wanted text.
func whatToDo(found github.OwnIssues, t Page) todo {
	switch {
	case found.Err != nil:
		return todo{reason: whyNot(found.Err)}
	case found.Off:
		return todo{reason: issuesOff}
	case len(found.List) == 0 && t.Empty:
		return todo{reason: "there is nothing to report"}
	case len(found.List) == 0:
		return todo{does: openIssue}
	}
	page := found.List[0]
	p := todo{others: collect.Those(found.List[1:], func(i github.Issue) bool { return i.Open })}
	m, _ := t.Kind.readMarker(page.Body)
	switch {
	case !page.Open:
		p.reason = fmt.Sprintf("somebody closed issue #%d", page.Number)
	case m.sawLess(t):
		p.reason = "this run did not get every answer about what the issue lists"
	case len(box.In(page.Body)) > 0: // done or not, they are cleared
		p.does = editIssue
	case m.Digest == t.Digest():
		p.reason = "already up to date"
	default:
		p.does = editIssue
	}
	return p
}

const issuesOff = "issues are switched off in this repository"

// whyNot is a clause that says why there is no issue.
func whyNot(err error) string {
	if errors.Is(err, github.ErrGone) {
		return issuesOff
	}
	said := problem.Of(err)
	text := cmp.Or(said.Message, "it cannot be read")
	if said.Hint != "" {
		text += "; " + said.Hint
	}
	return text
}

// Outcome is what happened to the issue.
type Outcome struct {
	Operation string // created, updated, closed or none
	Number    int
	URL       string
	Reason    string // why nothing was done; untrusted
	// Unsettled means that the next run must look at the issue again.
	Unsettled bool
	// Err is the error, except that the token may not write issues or that issues
	// are off: the owner of the repository has decided that.
	Err error
}

// Options describe how the issue is kept.
type Options struct {
	Labels []string
	DryRun bool // decide, and write nothing
}

// Left is the outcome for an issue that is left as it is.
func Left(found github.OwnIssues, reason string, err error) Outcome {
	out := Outcome{Operation: "none", Reason: reason, Err: err}
	if len(found.List) > 0 {
		out.Number, out.URL = found.List[0].Number, found.List[0].URL
	}
	return out
}

// Keep gives the issue its text with as few requests as possible: none, one to
// open it, or two to edit it. It closes the others with a line.
func Keep(ctx context.Context, repo *github.Repository, found github.OwnIssues, t Page, o Options) Outcome {
	what := whatToDo(found, t)
	out := Left(found, what.reason, nil)
	if o.DryRun {
		out.Operation = [...]string{leaveIssue: "none", openIssue: "created", editIssue: "updated"}[what.does]
		return out
	}
	switch what.does {
	case openIssue:
		made, err := open(ctx, repo, t.Kind, github.NewIssue{Title: kinds[t.Kind].title, Body: t.body(), Labels: o.Labels})
		if err != nil {
			return out.failed(err)
		}
		return Outcome{Operation: "created", Number: made.Number, URL: made.URL}
	case editIssue:
		out = rewrite(ctx, repo, found.List[0], t, out)
	}
	for _, other := range what.others {
		if out.Err != nil {
			break
		}
		out.Err = edit(ctx, repo, other.Number, supersededBy(found.List[0].Number), true)
	}
	return out
}

// Close closes the open issues with a line, since the settings want none. The
// operation is "none" if there is none, or if it is not known.
func Close(ctx context.Context, repo *github.Repository, found github.OwnIssues, dryRun bool) Outcome {
	out := Outcome{Operation: "none"}
	for _, issue := range collect.Those(found.List, func(i github.Issue) bool { return i.Open }) {
		out.Number, out.URL = issue.Number, issue.URL
		if !dryRun {
			err := edit(ctx, repo, issue.Number, safe.Const("relock has closed this issue, since `dashboard.issue` is `false`."), true)
			if err != nil {
				return out.failed(err)
			}
		}
		out = Outcome{Operation: "closed", Number: issue.Number, URL: issue.URL, Reason: "dashboard.issue is false"}
	}
	return out
}

// open opens an issue. After an unclear answer it looks for the marker first.
func open(ctx context.Context, repo *github.Repository, k Kind, n github.NewIssue) (github.Issue, error) {
	made, err := repo.CreateIssue(ctx, n)
	if !errors.Is(err, github.ErrUncertain) || ctx.Err() != nil {
		return made, err
	}
	_, own, err := repo.LatestAndIssues(ctx, nil, github.Sought{Is: k.Is})
	if err := cmp.Or(err, own.Err); err != nil {
		return made, err
	}
	if len(own.List) > 0 && own.List[0].Open {
		return own.List[0], nil
	}
	return repo.CreateIssue(ctx, n)
}

// edit replaces the text of an issue. After an unclear answer it looks, and edits
// again if nothing has changed: that has the same effect as editing once.
func edit(ctx context.Context, repo *github.Repository, number int, text safe.Markdown, closing bool) error {
	err := repo.EditIssue(ctx, number, text, closing)
	if !errors.Is(err, github.ErrUncertain) || ctx.Err() != nil {
		return err
	}
	if now, err := repo.ReadIssue(ctx, number); err == nil && now.Body == text.String() && now.Open != closing {
		return nil
	}
	return repo.EditIssue(ctx, number, text, closing)
}

// rewrite edits the issue, unless a person has edited it meanwhile: the next run
// reads their edit.
func rewrite(ctx context.Context, repo *github.Repository, page github.Issue, t Page, out Outcome) Outcome {
	now, err := repo.ReadIssue(ctx, page.Number)
	switch {
	case errors.Is(err, github.ErrGone), errors.Is(err, github.ErrNotFound):
		out.Unsettled, out.Reason = true, "somebody has deleted the issue meanwhile; the next run opens another one"
		return out
	case err != nil:
		return out.failed(err)
	case !now.Open || now.Body != page.Body:
		out.Unsettled, out.Reason = true, "somebody has changed the issue meanwhile; the next run looks at it"
		return out
	}
	if err := edit(ctx, repo, page.Number, t.body(), false); err != nil {
		return out.failed(err)
	}
	out.Operation, out.Reason = "updated", ""
	return out
}

func (o Outcome) failed(err error) Outcome {
	o.Reason = whyNot(err)
	if !errors.Is(err, github.ErrGone) && !errors.Is(err, github.ErrForbidden) {
		o.Err = err
	}
	return o
}

// Text is the text as people read it.
func (t Page) Text() safe.Markdown {
	now := t.Written
	if t.Open > 0 {
		verb := safe.Const("were")
		if t.Open == 1 {
			verb = safe.Const("was")
		}
		now = now.And("%s of relock's %s open when this was written.\n\n", safe.Link(safe.Count(t.Open, "pull request", "pull requests"), t.OpenAt), verb)
	}
	if t.Notice != "" {
		now = now.And("> %s\n\n", safe.Text(t.Notice).Sentence())
	}
	return now.And("%s", t.Body)
}

// body is the text with its marker.
func (t Page) body() safe.Markdown {
	return safe.Format("%s\n\n%s", t.Text().Trimmed(), hidden(kinds[t.Kind].mark, t.mark()))
}

// supersededBy is the text of another issue than the one that is kept. It has no
// marker.
func supersededBy(number int) safe.Markdown {
	return safe.Format("relock keeps #%s up to date, and has closed this one.", safe.Int(number))
}
