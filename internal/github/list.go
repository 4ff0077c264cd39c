package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/relock-dev/relock/internal/problem"
)

const (
	// largestPage is how many repositories one query lists. GitHub gives up on
	// queries after about ten seconds, with status 502 or RESOURCE_LIMITS_EXCEEDED
	// [cilium/team-manager#36, cli/cli#12715]: a page that fails is halved.
	largestPage = 50
	// mostTopics and mostHeads bound what is listed of a repository. GitHub allows
	// twenty topics.
	mostTopics = 20
	mostHeads  = 50
	// mostLanguages bounds those that are listed of a repository, the most used first.
	mostLanguages = 20
	// largestDisk is up to which size a repository is read by an archive at once.
	largestDisk = largestUnseen >> 10
	// actionsLogin is whom the token of a workflow speaks for.
	actionsLogin = "github-actions[bot]"
)

// Listed is a repository as a list has it, read with many others in one request.
type Listed struct {
	ID     int64
	Name   string // OWNER/NAME
	Branch string // the default one; empty if there is no commit
	Head   string // the commit at it
	Tree   string // the tree of that commit

	Visibility               string // public, private or internal
	Archived, Disabled, Fork bool
	Topics                   []string
	// Properties are the values of custom properties, if they were asked for.
	Properties map[string][]string
	// Heads are the commits of the branches with the prefix that was asked for; nil if
	// there are more than are listed.
	Heads map[string]string
	// Pulls are the open pull requests of those branches, by branch: their numbers with
	// when they changed last.
	Pulls map[string]string
	// Opened are the days on which those pull requests were opened, by their numbers.
	Opened map[int]time.Time
	// Files are those of the files that were asked for which the head has.
	Files []string
	// Compact says that an archive is the cheapest way to its configuration: GitHub has
	// found HCL in it, and it is not large. It is advice.
	Compact bool
	// Err is why GitHub did not return the repository as a whole; nil: it did. Missing
	// fields are empty, except the name. It is an ErrNotFound if the token cannot see a
	// repository in the list.
	Err *problem.Error
}

// ListOptions say what is asked of each repository.
type ListOptions struct {
	Prefix     string   // of branches
	Files      []string // paths
	Properties bool     // custom properties, for which a token needs a permission of its own
}

// propertiesHint says what reading custom properties takes.
func propertiesHint(said *refusal) string {
	if said.status == http.StatusForbidden || said.status == http.StatusNotFound {
		return `grant the App or the token "Custom properties: read" of the organisation`
	}
	return ""
}

// listAnswer is a page of repositories as GraphQL has it.
type listAnswer struct {
	Viewer          struct{ Login string }
	RepositoryOwner *struct {
		Repositories struct {
			PageInfo struct {
				HasNextPage bool
				EndCursor   string
			}
			Nodes []json.RawMessage
		}
	}
}

// ownerList lists the repositories of an owner.
type ownerList struct {
	*Client
	owner string
	ListOptions
}

// all reads the pages of the list, each as large as GitHub manages.
func (l ownerList) all(ctx context.Context) ([]Listed, error) {
	var found []Listed
	after := ""
	for size := largestPage; ; {
		page, failed, err := l.page(ctx, listQuery(l.owner, l.ListOptions, size, after))
		if tooLarge(err) && size > 1 && ctx.Err() == nil {
			size /= 2
			continue
		}
		switch {
		case err != nil:
			return nil, err
		case page.Viewer.Login == actionsLogin:
			return nil, &finding{
				message: "the token of a workflow reaches the workflow's own repository alone",
				hint:    "give a GitHub App (app-id and app-private-key) that is installed in the organisation, or somebody's token",
				kind:    ErrForbidden,
			}
		case page.RepositoryOwner == nil:
			return nil, &finding{message: "there is no organisation or user of that name", hint: "check its name, and that the token may see it", kind: ErrNotFound}
		}
		if page.Viewer.Login != "" { // a search for issues need not ask
			l.as.self.learn(asAuthor(l.Client, page.Viewer.Login, ""))
		}
		list := page.RepositoryOwner.Repositories
		for i, node := range list.Nodes {
			one, err := listedOf(node, l.ListOptions)
			if err != nil {
				return nil, err
			}
			one.Err = l.unlisted(ctx, one.Name, found, failed[i])
			found = append(found, one)
		}
		if !list.PageInfo.HasNextPage {
			return found, nil
		}
		if list.PageInfo.EndCursor == "" || list.PageInfo.EndCursor == after {
			return nil, &finding{message: "the list does not go on where it says that it does"}
		}
		after = list.PageInfo.EndCursor
	}
}

// page reads a page. failed are the repositories that GitHub could not give, by
// their places; an error that is about none of them is one of the list.
func (l ownerList) page(ctx context.Context, q *graphQuery) (page listAnswer, failed map[int]*refusal, err error) {
	for tries := 1; ; tries++ {
		page, failed = listAnswer{}, map[int]*refusal{}
		said, err := l.graph.post(ctx, q.String(), q.variables, &page)
		for _, e := range said {
			refused := refusalOfGraphQL(e)
			i, one := e.place("repositoryOwner", "repositories", "nodes")
			switch {
			case e.Type == "NOT_FOUND":
			case one && !refused.limits && e.Type != "RATE_LIMITED":
				failed[i] = refused
			case err == nil:
				err = refused
			}
		}
		if err != nil || len(failed) == 0 || tries == mostQuestions {
			return page, failed, err
		}
		if err := l.clock.Sleep(ctx, time.Second<<(tries-1)); err != nil {
			return page, failed, err
		}
	}
}

// listingOne begins the message about a repository that is not in the list as a whole.
const listingOne = "listing "

// unlisted is why a repository is not in the list as a whole; nil if it is. One without
// a name is named by those before it.
func (l ownerList) unlisted(ctx context.Context, name string, before []Listed, failed *refusal) *problem.Error {
	if failed == nil && name != "" {
		return nil
	}
	if name == "" {
		name = "the first repository of " + l.owner
		for _, one := range slices.Backward(before) {
			if one.Name != "" {
				name = fmt.Sprintf("the repository of %s that comes after %s by name", l.owner, one.Name)
				break
			}
		}
	}
	var why error = failed
	if failed == nil {
		why = &finding{message: "the token does not see it", hint: "look whether somebody has just deleted it, or hidden it from the token", kind: ErrNotFound}
	}
	said, _ := errors.AsType[*problem.Error](explanation(ctx, l.Client, listingOne+name, nil, why))
	return said
}

// tooLarge reports whether GitHub gave up on a query, which may be for its size.
func tooLarge(err error) bool {
	var said *refusal
	var answer *github.ErrorResponse
	switch {
	case errors.As(err, &said):
		return said.limits
	case errors.As(err, &answer):
		return answer.Response.StatusCode >= http.StatusInternalServerError
	}
	return false
}

func listQuery(owner string, o ListOptions, size int, after string) *graphQuery {
	var q graphQuery
	q.add(" viewer { login } repositoryOwner(login: %s) { repositories(first:%d", q.text(owner), size)
	if after != "" {
		q.add(", after: %s", q.text(after))
	}
	q.add(", ownerAffiliations: [OWNER], orderBy: {field: NAME, direction: ASC}) { pageInfo { hasNextPage endCursor }"+
		" nodes { databaseId nameWithOwner isArchived isDisabled isFork visibility diskUsage"+
		" languages(first: %d, orderBy: {field: SIZE, direction: DESC}) { nodes { name } } repositoryTopics(first: %d) { nodes { topic { name } } }"+
		" defaultBranchRef { name target { oid ... on Commit { tree { oid } } } }", mostLanguages, mostTopics)
	if o.Prefix != "" {
		q.add(" refs(refPrefix: %s, first: %d) { nodes { prefix name target { oid } associatedPullRequests(first: 1, states: [OPEN]) { nodes { number createdAt updatedAt } } } pageInfo { hasNextPage } }", q.text(branchRefs+o.Prefix), mostHeads)
	}
	for i, name := range o.Files {
		q.add(" f%d: object(expression: %s) { oid }", i, q.text("HEAD:"+name))
	}
	q.add(" } } }")
	return &q
}

type listedNode struct {
	DatabaseID       int64
	NameWithOwner    string
	IsArchived       bool
	IsDisabled       bool
	IsFork           bool
	Visibility       string
	DiskUsage        int // in kilobytes, with all that ever was
	Languages        struct{ Nodes []struct{ Name string } }
	RepositoryTopics struct {
		Nodes []struct{ Topic struct{ Name string } }
	}
	DefaultBranchRef *struct {
		Name   string
		Target struct {
			OID  string
			Tree struct{ OID string }
		}
	}
	Refs *struct {
		PageInfo struct{ HasNextPage bool }
		Nodes    []struct {
			Prefix, Name           string
			Target                 struct{ OID string }
			AssociatedPullRequests struct {
				Nodes []struct {
					Number    int
					CreatedAt time.Time
					UpdatedAt string
				}
			}
		}
	}
}

func listedOf(node json.RawMessage, o ListOptions) (Listed, error) {
	var n listedNode
	var files map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(node, &n), json.Unmarshal(node, &files)); err != nil {
		return Listed{}, err
	}
	l := Listed{
		ID: n.DatabaseID, Name: n.NameWithOwner, Visibility: strings.ToLower(n.Visibility),
		Archived: n.IsArchived, Disabled: n.IsDisabled, Fork: n.IsFork,
	}
	for _, one := range n.Languages.Nodes {
		l.Compact = l.Compact || one.Name == "HCL" && n.DiskUsage <= largestDisk
	}
	for _, t := range n.RepositoryTopics.Nodes {
		l.Topics = append(l.Topics, t.Topic.Name)
	}
	if head := n.DefaultBranchRef; head != nil {
		l.Branch, l.Head, l.Tree = head.Name, head.Target.OID, head.Target.Tree.OID
	}
	if n.Refs != nil && !n.Refs.PageInfo.HasNextPage {
		l.Heads, l.Pulls, l.Opened = map[string]string{}, map[string]string{}, map[int]time.Time{}
		for _, ref := range n.Refs.Nodes {
			// Whether the name begins with the prefix that was asked for is not documented.
			name := strings.TrimPrefix(ref.Prefix, branchRefs) + ref.Name
			if !strings.HasPrefix(name, o.Prefix) {
				name = o.Prefix + name
			}
			l.Heads[name] = ref.Target.OID
			for _, p := range ref.AssociatedPullRequests.Nodes {
				l.Pulls[name] = fmt.Sprintf("#%d %s", p.Number, p.UpdatedAt)
				l.Opened[p.Number] = p.CreatedAt
			}
		}
	}
	for i, name := range o.Files {
		if found := files[fmt.Sprint("f", i)]; len(found) > 0 && string(found) != "null" {
			l.Files = append(l.Files, name)
		}
	}
	return l, nil
}

// installed are the repositories that the installation has: their names by their ids.
// GraphQL lists public ones that it has not, too.
func installed(ctx context.Context, rest *github.Client) (map[int64]string, error) {
	names := map[int64]string{}
	for at := (github.ListOptions{PerPage: 100, Page: 1}); at.Page != 0; {
		page, resp, err := rest.Apps.ListRepos(ctx, &at)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Repositories {
			names[r.GetID()] = r.GetFullName()
		}
		at.Page = resp.NextPage
	}
	return names, nil
}

// ofInstallation are those of a list that an installation has. A repository that the
// list does not name gets its name by that: it is one that the list lacks.
func ofInstallation(listed []Listed, names map[int64]string) []Listed {
	lacking := maps.Clone(names)
	var found, nameless []Listed
	for _, l := range listed {
		delete(lacking, l.ID)
		if l.Name == "" {
			nameless = append(nameless, l)
		} else if names[l.ID] != "" {
			found = append(found, l)
		}
	}
	if len(nameless) == 0 {
		return found
	}
	for n, id := range slices.Sorted(maps.Keys(lacking)) {
		why := *nameless[min(n, len(nameless)-1)].Err
		why.Problem.Message = listingOne + lacking[id]
		found = append(found, Listed{ID: id, Name: lacking[id], Err: &why})
	}
	return found
}

// properties are the custom properties of an organisation's repositories, by the
// ids of those. go-github knows no values that are lists.
func properties(ctx context.Context, rest *github.Client, owner string) (map[int64]map[string][]string, error) {
	values := map[int64]map[string][]string{}
	for page := 1; page != 0; {
		req, err := rest.NewRequest(http.MethodGet, fmt.Sprintf("orgs/%s/properties/values?per_page=100&page=%d", url.PathEscape(owner), page), nil)
		if err != nil {
			return nil, err
		}
		var repositories []struct {
			ID         int64 `json:"repository_id"`
			Properties []struct {
				Name  string          `json:"property_name"`
				Value json.RawMessage `json:"value"`
			}
		}
		resp, err := rest.Do(ctx, req, &repositories)
		if err != nil {
			return nil, err
		}
		for _, r := range repositories {
			values[r.ID] = map[string][]string{}
			for _, p := range r.Properties {
				var one string
				var several []string
				if json.Unmarshal(p.Value, &one) == nil && one != "" {
					several = []string{one}
				} else {
					_ = json.Unmarshal(p.Value, &several) // null is no value
				}
				values[r.ID][p.Name] = several
			}
		}
		page = resp.NextPage
	}
	return values, nil
}
