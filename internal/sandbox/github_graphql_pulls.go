package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// autoMerge is GitHub's promise to merge a pull request.
type autoMerge struct {
	method  string // MERGE, SQUASH or REBASE
	by      string
	enabled time.Time
}

// nodeID is a pull request's name in GraphQL.
func (p *pullRequest) nodeID() string { return fmt.Sprintf("PR_%d", p.id) }

// gqlPullRequests is a connection to the pull requests of a repository.
func (c *apiCall) gqlPullRequests(r *gitRepository, args map[string]any) (any, error) {
	first, err := connectionSize(args)
	if err != nil {
		return nil, err
	}
	states := gqlStrings(args["states"])
	pulls := slices.DeleteFunc(r.pulls(), func(p *pullRequest) bool {
		return len(states) > 0 && !slices.Contains(states, p.gqlState()) ||
			args["headRefName"] != nil && p.head != args["headRefName"] ||
			args["baseRefName"] != nil && p.base != args["baseRefName"] ||
			args["labels"] != nil && !slices.ContainsFunc(gqlStrings(args["labels"]), func(l string) bool { return slices.Contains(p.labels, l) })
	})
	if err := orderPulls(pulls, args["orderBy"]); err != nil {
		return nil, err
	}
	total := len(pulls)
	after, _ := args["after"].(string)
	from := min(number(after, 0), total)
	pulls = pulls[from:]
	if args["last"] != nil {
		pulls = pulls[len(pulls)-min(first, len(pulls)):]
	}
	shown := pulls[:min(first, len(pulls))]
	nodes := make([]gqlObject, len(shown))
	for i, p := range shown {
		nodes[i] = c.gqlPull(r, p)
	}
	end := strconv.Itoa(from + len(shown))
	return gqlObject{
		"totalCount": scalar(total), "nodes": scalar(nodes),
		"pageInfo": scalar(gqlObject{"hasNextPage": scalar(from+len(shown) < total), "endCursor": scalar(end)}),
	}, nil
}

// connectionSize is the number of nodes that the client asks for. GitHub demands
// it, and gives a hundred at most.
func connectionSize(args map[string]any) (int, error) {
	size := cmp.Or(args["first"], args["last"])
	if size == nil {
		return 0, &gqlError{kind: "MISSING_PAGINATION_BOUNDARIES", message: "You must provide a `first` or `last` value to properly paginate the `pullRequests` connection."}
	}
	n, err := strconv.Atoi(fmt.Sprint(size))
	if err != nil || n < 0 || n > 100 {
		return 0, &gqlError{kind: "EXCESSIVE_PAGINATION", message: fmt.Sprintf("Requesting %v records on the `pullRequests` connection exceeds the `first` limit of 100 records.", size)}
	}
	return n, nil
}

// gqlStrings is a list of strings or enums. GraphQL allows a single value instead
// of a list.
func gqlStrings(value any) []string {
	var out []string
	switch v := value.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, one := range v {
			out = append(out, fmt.Sprint(one))
		}
	}
	return out
}

// orderPulls sorts as orderBy says; without it, oldest first.
func orderPulls(pulls []*pullRequest, orderBy any) error {
	if orderBy == nil {
		return nil
	}
	var order struct{ Field, Direction string }
	if err := strictly(orderBy, &order); err != nil {
		return &gqlError{message: "Argument 'orderBy' has an invalid value: " + err.Error()}
	}
	by := map[string]string{"CREATED_AT": "created", "UPDATED_AT": "updated", "COMMENTS": "popularity"}[order.Field]
	direction := map[string]string{"ASC": "asc", "DESC": "desc"}[order.Direction]
	if by == "" || direction == "" {
		return &gqlError{message: fmt.Sprintf("Argument 'orderBy' has an invalid value: %s %s", order.Field, order.Direction)}
	}
	sortPulls(pulls, by, direction)
	return nil
}

// gqlState has one word more than REST's state.
func (p *pullRequest) gqlState() string {
	if p.merged() {
		return "MERGED"
	}
	return strings.ToUpper(p.state())
}

func (c *apiCall) gqlPull(r *gitRepository, p *pullRequest) gqlObject {
	return gqlObject{
		"id": scalar(p.nodeID()), "number": scalar(p.number), "title": scalar(p.title), "body": scalar(p.body),
		"url":   scalar(c.web(r, "/pull/%d", p.number)),
		"state": scalar(p.gqlState()), "closed": scalar(!p.open), "merged": scalar(p.merged()),
		"isDraft": scalar(p.draft), "locked": scalar(p.locked),
		"createdAt": scalar(timestamp(p.created)), "updatedAt": scalar(timestamp(p.updated)), "closedAt": scalar(maybeTime(p.closed)),
		"baseRefName": scalar(p.base), "baseRefOid": scalar(p.baseSHA.String()),
		"headRefName": scalar(p.head), "headRefOid": scalar(p.headSHA.String()),
		"isCrossRepository": scalar(p.headRepo != r), "maintainerCanModify": scalar(p.modifiable),
		"headRepository": scalar(gqlObject{"id": scalar(p.headRepo.nodeID()), "name": scalar(p.headRepo.name), "nameWithOwner": scalar(p.headRepo.fullName())}),
		"author":         scalar(gqlActor(p.author)),
		"labels": func(args map[string]any) (any, error) {
			nodes := make([]gqlObject, len(p.labels))
			for i, name := range p.labels {
				nodes[i] = gqlObject{"name": scalar(name)}
			}
			return gqlObject{"totalCount": scalar(len(nodes)), "nodes": scalar(nodes)}, nil
		},
		"reviewDecision": scalar(r.reviewDecision(p)),
		"latestOpinionatedReviews": func(args map[string]any) (any, error) {
			first, err := connectionSize(args)
			if err != nil {
				return nil, err
			}
			writers, _ := args["writersOnly"].(bool)
			said := r.opinions(p, writers)
			nodes := make([]gqlObject, min(first, len(said)))
			for i := range nodes {
				nodes[i] = gqlObject{"state": scalar(said[i].state()), "author": scalar(gqlObject{"login": scalar(said[i].login)})}
			}
			return gqlObject{"totalCount": scalar(len(said)), "nodes": scalar(nodes)}, nil
		},
		"isInMergeQueue":   scalar(p.queued != ""),
		"mergeStateStatus": func(map[string]any) (any, error) { return r.computedState(p), nil },
		"autoMergeRequest": func(map[string]any) (any, error) { return gqlAutoMerge(p), nil },
	}
}

func gqlAutoMerge(p *pullRequest) gqlObject {
	if p.autoMerge == nil {
		return nil
	}
	return gqlObject{
		"mergeMethod": scalar(p.autoMerge.method), "enabledAt": scalar(timestamp(p.autoMerge.enabled)),
		"enabledBy": scalar(gqlObject{"login": scalar(strings.TrimSuffix(p.autoMerge.by, "[bot]"))}),
	}
}

// autoMergeDoc is the promise in REST's words, or null.
func (c *apiCall) autoMergeDoc(p *pullRequest) any {
	if p.autoMerge == nil {
		return nil
	}
	return doc{
		"enabled_by": c.userDoc(p.autoMerge.by), "merge_method": strings.ToLower(p.autoMerge.method),
		"commit_title": fmt.Sprintf("%s (#%d)", p.title, p.number), "commit_message": "",
	}
}

// autoMergeInput is GitHub's EnablePullRequestAutoMergeInput.
type autoMergeInput struct {
	ClientMutationID any     `json:"clientMutationId"`
	PullRequestID    string  `json:"pullRequestId"`
	MergeMethod      string  `json:"mergeMethod"`
	CommitHeadline   *string `json:"commitHeadline"`
	CommitBody       *string `json:"commitBody"`
	AuthorEmail      *string `json:"authorEmail"`
	ExpectedHeadOID  *string `json:"expectedHeadOid"`
}

// gqlEnableAutoMerge promises to merge. GitHub refuses if the repository does not
// allow it, or if the pull request has nothing to wait for.
func (c *apiCall) gqlEnableAutoMerge(input any) (any, error) {
	var in autoMergeInput
	if err := strictly(input, &in); err != nil {
		return nil, &gqlError{message: "Argument 'input' has an invalid value: " + err.Error()}
	}
	method := cmp.Or(in.MergeMethod, "MERGE")
	if !slices.Contains([]string{"MERGE", "SQUASH", "REBASE"}, method) {
		return nil, &gqlError{message: fmt.Sprintf("Argument 'mergeMethod' has an invalid value: %s", method)}
	}
	r, p := c.pullByNodeID(in.PullRequestID)
	switch {
	case p == nil:
		return nil, unresolved(in.PullRequestID)
	case !c.may(r, right{reviewChanges.permissions, RoleWrite}):
		return nil, c.gqlRefusal()
	case r.settings.Archived:
		return nil, asGraphQL(errArchived)
	case !r.settings.AutoMerge:
		return nil, gqlUnprocessable("Auto merge is not allowed for this repository")
	case !p.open || p.draft:
		return nil, gqlUnprocessable("Can't enable auto-merge for this pull request.")
	case p.refusals < r.settings.TooSoon:
		p.refusals++
		return nil, gqlUnprocessable("Pull request Pull request is in unstable status")
	case r.settings.Unprotected, r.protection(p.base) != nil && r.mergeState(p) == "CLEAN":
		return nil, gqlUnprocessable("Pull request Pull request is in clean status")
	case in.ExpectedHeadOID != nil && *in.ExpectedHeadOID != p.headSHA.String():
		return nil, gqlUnprocessable("Head branch was modified. Review and try the merge again.")
	}
	p.autoMerge = &autoMerge{method: method, by: c.who.Login, enabled: c.hub.now()}
	return c.gqlAutoMergePayload(in.ClientMutationID, r, p), nil
}

func (c *apiCall) gqlAutoMergePayload(clientMutationID any, r *gitRepository, p *pullRequest) gqlObject {
	return gqlObject{
		"clientMutationId": scalar(clientMutationID), "pullRequest": scalar(c.gqlPull(r, p)),
		"actor": scalar(gqlObject{"login": scalar(strings.TrimSuffix(c.who.Login, "[bot]"))}),
	}
}

// noAutoMergeInput is GitHub's DisablePullRequestAutoMergeInput.
type noAutoMergeInput struct {
	ClientMutationID any    `json:"clientMutationId"`
	PullRequestID    string `json:"pullRequestId"`
}

// gqlDisableAutoMerge takes the promise back.
func (c *apiCall) gqlDisableAutoMerge(input any) (any, error) {
	var in noAutoMergeInput
	if err := strictly(input, &in); err != nil {
		return nil, &gqlError{message: "Argument 'input' has an invalid value: " + err.Error()}
	}
	r, p := c.pullByNodeID(in.PullRequestID)
	switch {
	case p == nil:
		return nil, unresolved(in.PullRequestID)
	case !c.may(r, right{reviewChanges.permissions, RoleWrite}):
		return nil, c.gqlRefusal()
	case !p.open || p.autoMerge == nil:
		return nil, gqlUnprocessable("Can't disable auto-merge for this pull request.")
	}
	p.autoMerge = nil
	return c.gqlAutoMergePayload(in.ClientMutationID, r, p), nil
}

// pullByNodeID finds a pull request that the caller sees.
func (c *apiCall) pullByNodeID(id string) (*gitRepository, *pullRequest) {
	for _, r := range c.hub.sorted() {
		for _, p := range r.pulls() {
			if p.nodeID() == id && c.sees(r) {
				return r, p
			}
		}
	}
	return nil, nil
}

// gqlUnprocessable refuses in GitHub's words.
func gqlUnprocessable(message string) *gqlError {
	return &gqlError{kind: "UNPROCESSABLE", message: message}
}

func unresolved(id string) *gqlError {
	return &gqlError{kind: "NOT_FOUND", message: fmt.Sprintf("Could not resolve to a node with the global id of '%s'", id)}
}

// gqlRefusal refuses as GraphQL does, if the caller sees the object.
func (c *apiCall) gqlRefusal() *gqlError {
	message := "Resource not accessible by integration"
	if !c.who.Bot {
		message = fmt.Sprintf("%s does not have the correct permissions to execute this mutation", c.who.Login)
	}
	return &gqlError{kind: "FORBIDDEN", message: message}
}

// gqlMilestones are those of a repository.
func gqlMilestones(r *gitRepository, args map[string]any) (any, error) {
	wanted, _ := args["query"].(string)
	var nodes []gqlObject
	for i, title := range r.settings.Milestones {
		if strings.Contains(strings.ToLower(title), strings.ToLower(wanted)) {
			nodes = append(nodes, gqlObject{
				"id": scalar(fmt.Sprintf("MI_%d", r.id<<16+int64(i+1))), "number": scalar(i + 1), "title": scalar(title), "state": scalar("OPEN"),
			})
		}
	}
	return gqlObject{"totalCount": scalar(len(nodes)), "nodes": scalar(nodes)}, nil
}
