package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Distrust is a refusal of installation tokens that GitHub has given. Replicas of
// GitHub know a new token some seconds later [octokit/auth-app.js#65, #85 and
// #589; renovatebot/renovate#1000].
type Distrust struct {
	// Status is the status of the refusal. 401: the token is unknown. 403: it has
	// no permission. 404: there is no such repository. GraphQL has its own form
	// of the last two.
	Status int
	// For is the duration of the refusal after a token is given; 0 means for
	// ever.
	For time.Duration
	// Permission limits the refusal to requests that need it, as in
	// "contents=write"; empty means all requests.
	Permission string
}

// refuses reports whether a call of an App's token that needs one of the
// permissions is refused.
func (d Distrust) refuses(c *apiCall, needs string) bool {
	return c.who.app != nil && (d.For == 0 || c.hub.machine().Sub(c.who.given) < d.For) &&
		(d.Permission == "" || slices.Contains(strings.Split(needs, "; "), d.Permission))
}

// doubts are all present refusals.
type doubts []Distrust

// rest is the refusal of a call of REST, or of all of GraphQL; nil for none.
func (all doubts) rest(c *apiCall, needs string) error {
	for _, d := range all {
		switch {
		case !d.refuses(c, needs):
		case d.Status == http.StatusUnauthorized:
			return refusal(http.StatusUnauthorized, "Bad credentials")
		case c.URL.Path == graphqlPath:
		case d.Status == http.StatusForbidden:
			return errIntegration
		case c.repo != nil:
			return errNotFound
		}
	}
	return nil
}

// gqlNeeds are the permissions that the fields of a query or a mutation need.
var gqlNeeds = map[string]string{
	"repository": "contents=read; pull_requests=read", "repositoryOwner": "contents=read",
	"updateRefs": "contents=write", "enablePullRequestAutoMerge": "pull_requests=write", "disablePullRequestAutoMerge": "pull_requests=write",
}

// graphql puts the refusals of a token before the fields of a query or a
// mutation.
func (all doubts) graphql(c *apiCall, root gqlObject) gqlObject {
	for name, needs := range gqlNeeds {
		i := slices.IndexFunc(all, func(d Distrust) bool { return d.Status != http.StatusUnauthorized && d.refuses(c, needs) })
		if i < 0 || root[name] == nil {
			continue
		}
		root[name] = func(args map[string]any) (any, error) {
			if all[i].Status == http.StatusForbidden {
				return nil, c.gqlRefusal()
			}
			return nil, &gqlError{kind: "NOT_FOUND", message: fmt.Sprintf("Could not resolve to a Repository with the name '%v/%v'.", args["owner"], args["name"])}
		}
	}
	return root
}
