package github

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-github/v60/github"

	"github.com/relock-dev/relock/internal/safe"
)

// Issue is an issue that is no pull request.
type Issue struct {
	Number int
	URL    string // of it, for people
	Body   string
	Open   bool
	// Editor is who edited the body last. It is zero if the body was not edited, or if
	// that account was deleted.
	Editor Actor
}

// Actor is an account that has edited something.
type Actor struct {
	Login string // of a bot without "[bot]"
	Bot   bool
}

// OwnIssues are issues that the owner of the token has opened. They come with the answer
// about pull requests.
type OwnIssues struct {
	// Off says that the repository has issues switched off.
	Off bool
	// List has those that were looked for, oldest first: all of them, or the first ones
	// where the repository has more.
	List []Issue
	// Err is why they are not known; nil: they are.
	Err error
}

// issueSearch looks for issues of our own in an answer about pull requests.
type issueSearch struct {
	is    func(Issue) bool
	login string // who we are, as far as it is known before; empty: GitHub is asked
	found OwnIssues
}

// The bounds of a search. The bodies of issues are part of the answer.
const (
	issuesOfPage   = 20
	mostIssuePages = 20
)

// issueFields are what GraphQL is asked for of an issue.
const issueFields = `number url body state author { __typename login } editor { __typename login }`

type issueNode struct {
	Number           int
	URL, Body, State string
	Author, Editor   *actorNode
}

type actorNode struct {
	Typename string `json:"__typename"`
	Login    string
}

func (a *actorNode) actor() Actor {
	if a == nil {
		return Actor{}
	}
	login, suffixed := strings.CutSuffix(a.Login, botSuffix)
	return Actor{Login: login, Bot: suffixed || a.Typename != "User"}
}

const botSuffix = "[bot]"

type issuePage struct {
	Nodes    []issueNode
	PageInfo struct {
		HasNextPage bool
		EndCursor   string
	}
}

// selfKnown is the login of the token's owner, as far as GitHub has said it in this run.
type selfKnown struct {
	mu    sync.Mutex
	login string
}

// likelyLogin returns the most likely login of the token's owner, as issues name it. It is
// empty if GitHub must be asked. Most tokens whose form names no owner are a workflow's own.
func likelyLogin(ctx context.Context, c *Client) string {
	known := c.as.self.known()
	if known != "" || c.tokens.isApp() {
		return known
	}
	token, err := c.Token(ctx)
	if err != nil || isPersonal(token) {
		return ""
	}
	return WorkflowLogin
}

func isPersonal(token string) bool {
	return slices.ContainsFunc(personal, func(prefix string) bool { return strings.HasPrefix(token, prefix) })
}

// known returns the login of the token's owner; empty if GitHub has not said it yet.
func (k *selfKnown) known() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.login
}

func (k *selfKnown) learn(login string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.login = login
}

// ask adds the search to a query about a repository.
func (s *issueSearch) ask(q *graphQuery, after string) {
	q.add(" hasIssuesEnabled")
	if s.login == "" {
		return
	}
	from := ""
	if after != "" {
		from = ", after: " + q.text(after)
	}
	q.add(" issues(first: %d%s, filterBy: {createdBy: %s}, orderBy: {field: CREATED_AT, direction: ASC}) { nodes { %s } pageInfo { hasNextPage endCursor } }",
		issuesOfPage, from, q.text(s.login), issueFields)
}

// whole reads the answer to the first query, and asks for what it lacks.
func (s *issueSearch) whole(ctx context.Context, r *Repository, viewer string, answer map[string]json.RawMessage) error {
	var enabled bool
	if err := json.Unmarshal(answer["hasIssuesEnabled"], &enabled); err != nil {
		return &finding{message: "the answer does not say whether there are issues"}
	}
	s.found.Off = !enabled
	if viewer == "" {
		return &finding{message: "the answer does not say whose token it is"}
	}
	asked := s.login
	s.login = asAuthor(r.client, viewer, asked)
	r.client.as.self.learn(s.login)
	if s.found.Off {
		return nil
	}
	var page issuePage
	if asked != s.login {
		return s.pages(ctx, r, "")
	}
	if err := json.Unmarshal(answer["issues"], &page); err != nil {
		return err
	}
	if next := s.take(page); next != "" {
		return s.pages(ctx, r, next)
	}
	return nil
}

// asAuthor is the login of the token's owner as it is in lists of issues: of a bot with
// "[bot]", which GraphQL leaves out in places.
func asAuthor(c *Client, viewer, likely string) string {
	bare := strings.TrimSuffix(viewer, botSuffix)
	if bare != viewer || c.tokens.isApp() || likely == bare+botSuffix {
		return bare + botSuffix
	}
	return viewer
}

// take keeps the issues of a page that are looked for, and returns where the search goes
// on; empty if it is over.
func (s *issueSearch) take(page issuePage) (next string) {
	bare, bot := strings.CutSuffix(s.login, botSuffix)
	us := Actor{Login: bare, Bot: bot}
	for _, n := range page.Nodes {
		issue := Issue{Number: n.Number, URL: n.URL, Body: n.Body, Open: n.State == "OPEN", Editor: n.Editor.actor()}
		if author := n.Author.actor(); author.Bot == us.Bot && strings.EqualFold(author.Login, us.Login) && s.is(issue) {
			s.found.List = append(s.found.List, issue)
		}
	}
	if len(s.found.List) > 0 || !page.PageInfo.HasNextPage {
		return ""
	}
	return page.PageInfo.EndCursor
}

// pages asks for one page of issues after the other, until there is one that is looked for.
func (s *issueSearch) pages(ctx context.Context, r *Repository, after string) error {
	for range mostIssuePages {
		var q graphQuery
		q.add(" repository(owner: %s, name: %s) {", q.text(r.owner), q.text(r.name))
		s.ask(&q, after)
		q.add(" }")
		var data struct{ Repository *struct{ Issues issuePage } }
		if err := r.client.graph.query(ctx, &q, &data); err != nil {
			return err
		}
		if data.Repository == nil {
			return &refusal{status: http.StatusNotFound, message: "Not Found", kind: ErrNotFound}
		}
		next := s.take(data.Repository.Issues)
		if next == "" {
			return nil
		}
		if next == after {
			return &finding{message: "the list does not go on where it says that it does"}
		}
		after = next
	}
	return &finding{message: "there are too many issues by " + s.login}
}

// spare reports whether an error may be about the issues alone. Then the pull requests are
// asked for without them: GitHub gives all parts of a repository or none.
func (s *issueSearch) spare(err error) bool {
	said, refused := errors.AsType[*refusal](err)
	return s != nil && refused && said.kind != ErrNotFound
}

// NewIssue is an issue to be opened.
type NewIssue struct {
	Title  string
	Body   safe.Markdown
	Labels []string
}

func issueOf(i *github.Issue) Issue {
	return Issue{Number: i.GetNumber(), URL: i.GetHTMLURL(), Body: i.GetBody(), Open: i.GetState() == "open"}
}
