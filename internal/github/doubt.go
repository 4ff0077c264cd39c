package github

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// tokenDoubt is an answer that may be for the token, and not for what was asked.
type tokenDoubt struct {
	lack
	answer  string // for the log
	isNew   bool   // so is the token, or was when the request was sent first
	unknown bool   // GitHub does not know the token
	message string // of GitHub, where it does not
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

// byIntegration reports whether a refusal is for what the App or its token has. Those that
// name a rule, a label, a setting, an IP allow list or single sign-on have other words.
func byIntegration(message string) bool {
	return strings.HasPrefix(message, "Resource not accessible by integration")
}

// ofARepository are the paths below a repository, and of the repository itself and what it
// always has: a 404 of those says that the token does not see the repository.
var (
	ofARepository = regexp.MustCompile(`^/repos/([^/]+/[^/]+)(/.*)?$`)
	alwaysThere   = regexp.MustCompile(`^(/pulls|/milestones|/git/(refs|trees|commits|matching-refs/.*))?$`)
)

// hides reports whether a 404 is of the repository that the token was made for. Most paths
// name something else, too, that may be missing, which is no trouble: a branch, a file, a
// user, a comment. Such an answer says nothing of a token that has shown that it sees the
// repository. Of one that has not, and which was made for the repository alone, that is asked.
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
	// It is sent with the token of what was refused, which may be one for writes alone.
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

// permissionFor names what a request needs: the header of its answer, or else what it does
// and with what.
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

// hiddenRepository is what GraphQL says of a repository that a token does not see.
var hiddenRepository = regexp.MustCompile(`^Could not resolve to a Repository with the name '([^']+)'`)

// ofMany reports whether a step on the way to what is null is one of a list, or one of the
// repositories of others that graphQuery.repository asks for.
func ofMany(step any) bool {
	name, ok := step.(string)
	return !ok || aliasOfMany.MatchString(name)
}

var aliasOfMany = regexp.MustCompile(`^r[0-9]+$`)

// wholeRefusal says how an answer of GraphQL refuses all that was asked, by a token that is
// not known or by a repository that the token does not see; empty if it does not. An answer
// with some of what was asked is no matter of the token: others know what to do without the
// rest. Who asks is known to every token.
func wholeRefusal(body string, token *issued) string {
	var answer struct {
		Data   map[string]json.RawMessage
		Errors []graphqlError
	}
	// An answer that is longer than what is looked at is no refusal.
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
