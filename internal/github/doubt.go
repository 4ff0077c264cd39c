package github

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// tokenDoubt is an answer that may be about the token, not about the request.
type tokenDoubt struct {
	lack
	answer  string // for the log
	isNew   bool   // the token is new, or was when the request was first sent
	unknown bool   // GitHub does not know the token
	message string // GitHub's message, if it does not know the token
}

// judge returns the doubt about a token that an answer raises, if any. The missing
// permission is in GitHub's own header, or follows from the kind of the request. For a
// token that is not new, only one answer counts: that GitHub does not know it.
func (r *renewing) judge(req *http.Request, resp *http.Response, token *issued, isNew bool) (tokenDoubt, bool) {
	whole := lack{token.installation, "a token for all repositories"}
	if token.app.Owner == "" {
		whole.permission = "a token for one repository"
	}
	if resp.StatusCode == http.StatusUnauthorized {
		return tokenDoubt{lack: whole, answer: "401", isNew: isNew, unknown: true, message: messageOf(peek(resp))}, true
	}
	if resp.StatusCode < http.StatusInternalServerError {
		token.accepted.Store(true)
	}
	if !isNew {
		return tokenDoubt{}, false
	}
	path := strings.TrimPrefix(req.URL.Path, r.api)
	said := tokenDoubt{lack: lack{token.installation, permissionFor(req, resp, path)}, isNew: true}
	switch {
	case resp.StatusCode == http.StatusForbidden && byIntegration(messageOf(peek(resp))):
		said.answer = "403"
	case resp.StatusCode == http.StatusNotFound && r.hides(req, token, path):
		said.answer = "404"
	case resp.StatusCode == http.StatusOK && limitOf(req) == "graphql":
		said.answer = wholeRefusal(peek(resp), token)
	}
	if said.answer == "" && resp.StatusCode < http.StatusBadRequest {
		token.seen.Store(true)
		r.refusals.granted(whole, said.lack)
	}
	return said, said.answer != ""
}

// byIntegration reports whether a refusal is about the permissions of the App or its token.
// Refusals about a rule, a label, a setting, an IP allow list or single sign-on have other
// words.
func byIntegration(message string) bool {
	return strings.HasPrefix(message, "Resource not accessible by integration")
}

// ofARepository matches paths of a repository. alwaysThere matches its parts that always
// exist. A 404 for those means that the token does not see the repository.
var (
	ofARepository = regexp.MustCompile(`^/repos/([^/]+/[^/]+)(/.*)?$`)
	alwaysThere   = regexp.MustCompile(`^(/pulls|/milestones|/git/(refs|trees|commits|matching-refs/.*))?$`)
)

// hides reports whether a 404 means that the token does not see its repository. Most paths
// name other things that may be missing: a branch, a file, a user, a comment. If the token
// has already seen the repository, a 404 is about those. If not, and the token is for this
// repository only, hides asks GitHub.
func (r *renewing) hides(req *http.Request, token *issued, path string) bool {
	m := ofARepository.FindStringSubmatch(path)
	switch {
	case m == nil || !token.reaches(m[1]):
		return false
	case alwaysThere.MatchString(m[2]):
		return true
	case token.app.Owner != "" || token.seen.Load():
		return false
	}
	itself := *req.URL
	itself.Path, itself.RawPath, itself.RawQuery = r.api+"/repos/"+m[1], "", ""
	// The request has the refused one's token, which may be only for writes.
	ctx := behaving(req.Context(), requestBehaviour{write: behaviourOf(req).write})
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, itself.String(), nil)
	if err != nil {
		return false
	}
	ask.Header.Set("User-Agent", req.UserAgent())
	resp, _, err := r.send(ask)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusBadRequest {
		token.seen.Store(true)
	}
	return resp.StatusCode >= http.StatusBadRequest && resp.StatusCode < http.StatusInternalServerError
}

// permissionFor is the permission that a request needs: from the header of its answer, or
// from the kind of the request.
func permissionFor(req *http.Request, resp *http.Response, path string) string {
	if said := resp.Header.Get("X-Accepted-GitHub-Permissions"); said != "" {
		return said
	}
	b, does := behaviourOf(req), "read "
	if b.write {
		does = "write "
	}
	if limitOf(req) == "graphql" {
		return does + "graphql " + string(b.needs)
	}
	steps := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(steps) > 3 && steps[0] == "repos" {
		return does + steps[3]
	}
	return does + steps[0]
}

// hiddenRepository matches GraphQL's message about a repository that a token does not see.
var hiddenRepository = regexp.MustCompile(`^Could not resolve to a Repository with the name '([^']+)'`)

// ofMany reports whether a step on the way to what is null is one of a list, or one of the
// repositories of others that graphQuery.repository asks for.
func ofMany(step any) bool {
	name, ok := step.(string)
	return !ok || aliasOfMany.MatchString(name)
}

var aliasOfMany = regexp.MustCompile(`^r[0-9]+$`)

// wholeRefusal returns how GraphQL refuses everything in a request; empty if it does not.
// Either the token is unknown, or it does not see the repository. A partial answer is not
// about the token: callers handle the missing parts. Every token may ask for its own owner.
func wholeRefusal(body string, token *issued) string {
	var answer struct {
		Data   map[string]json.RawMessage
		Errors []graphqlError
	}
	// An answer longer than the part that is read is no refusal.
	if json.Unmarshal([]byte(body), &answer) != nil || len(answer.Errors) == 0 {
		return ""
	}
	about := map[string]bool{"viewer": true}
	said := ""
	for _, e := range answer.Errors {
		hidden := hiddenRepository.FindStringSubmatch(e.Message)
		switch {
		case e.Type == "FORBIDDEN" && byIntegration(e.Message):
			said = e.Type
		case e.Type == "NOT_FOUND" && hidden != nil && token.reaches(hidden[1]):
			said = e.Type
		default:
			return ""
		}
		if slices.ContainsFunc(e.Path, ofMany) {
			return ""
		}
		if len(e.Path) > 0 {
			about[e.Path[0].(string)] = true
		}
	}
	for field, value := range answer.Data {
		if string(value) != "null" && !about[field] {
			return ""
		}
	}
	return said
}

// messageOf is what GitHub says in a refusal of REST.
func messageOf(body string) string {
	var answer struct{ Message string }
	if json.Unmarshal([]byte(body), &answer) != nil {
		return ""
	}
	return oneLine(answer.Message)
}
