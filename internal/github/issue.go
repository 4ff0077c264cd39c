package github

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-github/v60/github"

	"github.com/relock-dev/relock/internal/collect"
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
	byBot  bool // a bot has opened it
}

// Actor is an account that has edited something.
type Actor struct {
	Login string // of a bot without "[bot]"
	Bot   bool
}

// OwnIssues are issues that we or a bot have opened, with a mark of ours: only installed
// Apps and workflows write as a bot. They come with the answer about pull requests.
type OwnIssues struct {
	// Off says that the repository has issues switched off.
	Off bool
	// Visibility is who sees the repository: public, internal or private. Self is the login of
	// the token's owner, as the comments of an issue name it.
	Visibility, Self string
	// List has those that were found: open ones first, then those of bots, which every user
	// of relock shares, then the oldest.
	List []Issue
	// Err is why they are not known; nil: they are.
	Err error
}

// Sought are the issues that are looked for.
type Sought struct {
	Is func(Issue) bool
	// Opener is the login of a bot that may have opened one, from an event; empty: none.
	Opener string
}

// issueSearch looks for issues in an answer about pull requests. GitHub lists the issues of
// one account at a time. So it asks for ours, and for those of bots that may have run relock
// before: the workflow's own token, the opener in the event, and who opened our pull
// requests.
type issueSearch struct {
	*Sought
	self  string // who we are, as far as it is known; empty: GitHub is asked
	lists []*issueList
	found OwnIssues
}

// issueList are the issues of one account.
type issueList struct {
	login string
	asked bool
	after string // where it goes on; empty: nowhere
}

// The bounds of a search. The bodies of issues are part of the answer. Of other accounts
// than our own one page is read.
const (
	issuesOfPage   = 20
	mostIssuePages = 20
	mostOpeners    = 5
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

// wroteAsBot reports whether an App or a workflow is the author: GitHub lets nobody else
// write as a bot.
func (a *actorNode) wroteAsBot() bool { return a != nil && a.Typename == "Bot" }

// is reports whether the author is the person with a login.
func (a *actorNode) is(login string) bool {
	return a != nil && a.Typename == "User" && strings.EqualFold(a.Login, login)
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

// by adds the issues of an account to the search.
func (s *issueSearch) by(login string) {
	known := slices.ContainsFunc(s.lists, func(l *issueList) bool { return strings.EqualFold(l.login, login) })
	if login != "" && !known && len(s.lists) < mostOpeners {
		s.lists = append(s.lists, &issueList{login: login})
	}
}

// due are the lists that must be asked for: new ones, and the next page of our own while
// nothing is found.
func (s *issueSearch) due() []*issueList {
	return collect.Those(s.lists, func(l *issueList) bool {
		return !l.asked || l.after != "" && l.login == s.self && len(s.found.List) == 0
	})
}

// ask adds lists to a query about a repository.
func (s *issueSearch) ask(q *graphQuery, lists []*issueList) {
	q.add(" hasIssuesEnabled visibility")
	for i, l := range lists {
		from := ""
		if l.after != "" {
			from = ", after: " + q.text(l.after)
		}
		q.add(" i%d: issues(first: %d%s, filterBy: {createdBy: %s}, orderBy: {field: CREATED_AT, direction: ASC}) { nodes { %s } pageInfo { hasNextPage endCursor } }",
			i, issuesOfPage, from, q.text(l.login), issueFields)
	}
}

// read reads the answer to ask. Those of people count only if we are that person.
func (s *issueSearch) read(answer map[string]json.RawMessage, lists []*issueList) error {
	for i, l := range lists {
		var page issuePage
		if err := json.Unmarshal(answer[fmt.Sprint("i", i)], &page); err != nil {
			return err
		}
		for _, n := range page.Nodes {
			issue := Issue{Number: n.Number, URL: n.URL, Body: n.Body, Open: n.State == "OPEN", Editor: n.Editor.actor(), byBot: n.Author.wroteAsBot()}
			if (issue.byBot || n.Author.is(s.self)) && s.Is(issue) {
				s.found.List = append(s.found.List, issue)
			}
		}
		before := l.after
		l.asked, l.after = true, page.PageInfo.EndCursor
		switch {
		case !page.PageInfo.HasNextPage:
			l.after = ""
		case l.after == "" || l.after == before:
			return &finding{message: "the list does not go on where it says that it does"}
		}
	}
	return nil
}

// whole reads the answer to the first query, and asks for what it lacks. openers are bots
// that have opened pull requests of ours.
func (s *issueSearch) whole(ctx context.Context, r *Repository, viewer string, answer map[string]json.RawMessage, openers []string) error {
	var enabled bool
	if err := json.Unmarshal(answer["hasIssuesEnabled"], &enabled); err != nil {
		return &finding{message: "the answer does not say whether there are issues"}
	}
	s.found.Off = !enabled
	var visibility string
	if err := json.Unmarshal(answer["visibility"], &visibility); err != nil {
		return &finding{message: "the answer does not say who sees the repository"}
	}
	s.found.Visibility = strings.ToLower(visibility)
	if viewer == "" {
		return &finding{message: "the answer does not say whose token it is"}
	}
	s.self = asAuthor(r.client, viewer, s.self)
	r.client.as.self.learn(s.self)
	s.found.Self = s.self
	if s.found.Off {
		return nil
	}
	if err := s.read(answer, s.lists); err != nil {
		return err
	}
	s.by(s.self)
	for _, login := range openers {
		s.by(login)
	}
	if err := s.rest(ctx, r); err != nil {
		return err
	}
	slices.SortFunc(s.found.List, func(a, b Issue) int {
		return cmp.Or(collect.TrueFirst(a.Open, b.Open), collect.TrueFirst(a.byBot, b.byBot), cmp.Compare(a.Number, b.Number))
	})
	return nil
}

// rest asks for all lists that are due.
func (s *issueSearch) rest(ctx context.Context, r *Repository) error {
	for range mostIssuePages {
		lists := s.due()
		if len(lists) == 0 {
			return nil
		}
		var q graphQuery
		q.add(" repository(owner: %s, name: %s) {", q.text(r.owner), q.text(r.name))
		s.ask(&q, lists)
		q.add(" }")
		var data struct{ Repository map[string]json.RawMessage }
		if err := r.client.graph.query(ctx, &q, &data); err != nil {
			return err
		}
		if data.Repository == nil {
			return &refusal{status: http.StatusNotFound, message: "Not Found", kind: ErrNotFound}
		}
		if err := s.read(data.Repository, lists); err != nil {
			return err
		}
	}
	return &finding{message: "there are too many issues by " + s.self}
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
