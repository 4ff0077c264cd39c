package github

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/relock-dev/relock/internal/safe"
)

// Discussion is a pull request or an issue, with comments. GitHub numbers both together,
// and requires different permissions.
type Discussion struct {
	number        int
	name          string     // for the message of an error
	reads, writes permission // for its comments and reactions
}

// OnPull is the discussion under a pull request, which needs permissions for pull requests.
func OnPull(number int) Discussion {
	return Discussion{number, "the pull request", readPulls, writePulls}
}

// OnIssue is the discussion under an issue, which needs permissions for issues.
func OnIssue(number int) Discussion { return Discussion{number, "the issue", readIssues, writeIssues} }

// Comment is a comment below a pull request or an issue.
type Comment struct {
	ID     int64
	Author string // a login
	Body   string
}

func commentOf(c *github.IssueComment) Comment {
	return Comment{ID: c.GetID(), Author: c.GetUser().GetLogin(), Body: c.GetBody()}
}

// mostCommentPages bounds the comments that are read, a hundred a page.
const mostCommentPages = 30

// Comments returns the comments of a discussion, oldest first: one request for every
// hundred of them.
func (r *Repository) Comments(ctx context.Context, under Discussion) ([]Comment, error) {
	doing := "listing the comments of " + under.name
	var out []Comment
	opts := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{Page: 1, PerPage: 100}}
	for opts.Page <= mostCommentPages {
		comments, resp, err := r.client.rest.Issues.ListComments(ctx, r.owner, r.name, under.number, opts)
		if err != nil {
			return nil, r.explain(ctx, doing, under.reads, err)
		}
		for _, c := range comments {
			out = append(out, commentOf(c))
		}
		if resp.NextPage == 0 {
			return out, nil
		}
		opts.Page = resp.NextPage
	}
	return nil, r.explain(ctx, doing, under.reads, &finding{message: "there are more than 3,000"})
}

// PostComment adds a comment, and returns it with its ID and author. After an ErrUncertain
// it may have been added.
func (r *Repository) PostComment(ctx context.Context, under Discussion, body safe.Markdown) (Comment, error) {
	made, _, err := r.client.rest.Issues.CreateComment(ctx, r.owner, r.name, under.number, &github.IssueComment{Body: github.String(body.String())})
	if err != nil {
		return Comment{}, r.explain(ctx, "commenting on "+under.name, under.writes, err)
	}
	return commentOf(made), nil
}

// EditComment replaces the whole text of the comment with the ID.
func (r *Repository) EditComment(ctx context.Context, under Discussion, id int64, body safe.Markdown) error {
	_, _, err := r.client.rest.Issues.EditComment(ctx, r.owner, r.name, id, &github.IssueComment{Body: github.String(body.String())})
	return r.explain(ctx, "editing a comment", under.writes, err)
}

// Reaction is an emoji below a comment.
type Reaction string

// The reactions with which relock answers.
const (
	Eyes     Reaction = "eyes"
	Rocket   Reaction = "rocket"
	Confused Reaction = "confused"
)

// React adds a reaction of the token's owner to a comment. It returns the owner's login,
// and whether the reaction was already there, which is no error.
func (r *Repository) React(ctx context.Context, under Discussion, id int64, reaction Reaction) (login string, before bool, err error) {
	made, resp, err := r.client.rest.Reactions.CreateIssueCommentReaction(ctx, r.owner, r.name, id, string(reaction))
	if err != nil {
		return "", false, r.explain(ctx, "reacting to a comment", under.writes, err)
	}
	return made.GetUser().GetLogin(), resp.StatusCode == http.StatusOK, nil
}

// WorkflowLogin is the login of the account behind a workflow's own token, the
// GITHUB_TOKEN. The prefix of a token does not identify it, since Apps have such tokens,
// too.
const WorkflowLogin = "github-actions[bot]"

// personal are the prefixes of tokens of persons [docs.github.com, "About authentication to
// GitHub", "GitHub's token formats"].
var personal = []string{"ghp_", "github_pat_", "gho_", "ghu_"}

// Workflow reports whether the credential is a workflow's own token. The form of the token
// decides, or else one request. If GitHub does not answer, Workflow assumes so, since such
// a token may do least.
func (r *Repository) Workflow(ctx context.Context) bool {
	if r.client.tokens.isApp() {
		return false
	}
	token, err := r.client.Token(ctx)
	if err == nil && isPersonal(token) {
		return false
	}
	login, err := r.viewer(ctx)
	return err != nil || login == "" || strings.TrimSuffix(login, botSuffix) == strings.TrimSuffix(WorkflowLogin, botSuffix)
}

// viewer is the login of the token's owner in GraphQL.
func (r *Repository) viewer(ctx context.Context) (string, error) {
	var q graphQuery
	q.add(" viewer { login }")
	var data struct{ Viewer struct{ Login string } }
	err := r.client.graph.query(ctx, &q, &data)
	return data.Viewer.Login, err
}

// MayBeOurs reports whether the opener of an issue, from an event, is a bot or the token's
// owner. relock counts no other issue as its own. MayBeOurs makes one request if the opener
// is a person and the token may be a person's.
func (r *Repository) MayBeOurs(ctx context.Context, opener Actor) (bool, error) {
	self := likelyLogin(ctx, r.client)
	if opener.Bot || self != "" || opener.Login == "" || r.client.tokens.isApp() {
		return opener.Bot || opener.Login != "" && strings.EqualFold(opener.Login, self), nil
	}
	viewer, err := r.viewer(ctx)
	if err == nil && viewer == "" {
		err = &finding{message: "the answer does not say whose token it is"}
	}
	if err != nil {
		return false, r.explain(ctx, "asking whose token it is", readIssues, err)
	}
	r.client.as.self.learn(asAuthor(r.client, viewer, self))
	return strings.EqualFold(opener.Login, viewer), nil
}

// CreateIssue opens an issue. It returns an ErrGone if the repository has none.
func (r *Repository) CreateIssue(ctx context.Context, n NewIssue) (Issue, error) {
	request := &github.IssueRequest{Title: github.String(n.Title), Body: github.String(n.Body.String())}
	if len(n.Labels) > 0 {
		request.Labels = &n.Labels
	}
	made, _, err := r.client.rest.Issues.Create(ctx, r.owner, r.name, request)
	if err != nil {
		return Issue{}, r.explain(ctx, "opening an issue", writeIssues, err)
	}
	return issueOf(made), nil
}

// EditIssue replaces the body of an issue, and closes it if that is wanted.
func (r *Repository) EditIssue(ctx context.Context, number int, body safe.Markdown, closing bool) error {
	request := &github.IssueRequest{Body: github.String(body.String())}
	if closing {
		request.State, request.StateReason = github.String("closed"), github.String("not_planned")
	}
	_, _, err := r.client.rest.Issues.Edit(ctx, r.owner, r.name, number, request)
	return r.explain(ctx, "editing an issue", writeIssues, err)
}

// ReadIssue returns an issue as it is now, without who has edited it.
func (r *Repository) ReadIssue(ctx context.Context, number int) (Issue, error) {
	now, _, err := r.client.rest.Issues.Get(ctx, r.owner, r.name, number)
	if err != nil {
		return Issue{}, r.explain(ctx, "reading an issue", readIssues, err)
	}
	return issueOf(now), nil
}
