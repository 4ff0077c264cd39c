package sandbox

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// restPath is where the REST API begins, as on GitHub Enterprise Server.
const restPath = "/github/api/v3"

// graphqlPath is where GraphQL is posted to.
const graphqlPath = "/github/api/graphql"

// maxRequest is the highest size of a request's body in bytes. A commit of lock
// files is much smaller.
const maxRequest = 16 << 20

// doc is a JSON object of the API.
type doc = map[string]any

// apiCall is one request, authenticated and routed, under the lock of GitHub.
type apiCall struct {
	*http.Request
	hub    *GitHub
	who    Identity       // zero if anonymous
	app    *registeredApp // the App, if it calls with its own JSON web token
	repo   *gitRepository
	body   []byte
	header http.Header // of the answer
}

// endpoint answers a call with a value for JSON, or with a rawAnswer.
type endpoint func(*apiCall) (any, error)

// rawAnswer is an answer that is not JSON.
type rawAnswer struct {
	status      int
	contentType string
	body        []byte
}

// apiError is a refusal in GitHub's form. Any other error of an endpoint is our
// bug, and becomes a 500.
type apiError struct {
	status  int
	message string
	details []doc
	page    string // of the documentation; empty for the general one
}

func (e *apiError) Error() string { return e.message }

func refusal(status int, message string) *apiError {
	return &apiError{status: status, message: message}
}

// unprocessable is a 422 with only a message.
func unprocessable(format string, args ...any) *apiError {
	return refusal(http.StatusUnprocessableEntity, fmt.Sprintf(format, args...))
}

// invalid is a 422 with an errors array, as the endpoints of issues and pull
// requests give it.
func invalid(resource, field, code, message string) *apiError {
	d := doc{"resource": resource, "code": code}
	if field != "" {
		d["field"] = field
	}
	if message != "" {
		d["message"] = message
	}
	return &apiError{status: http.StatusUnprocessableEntity, message: "Validation Failed", details: []doc{d}}
}

var errNotFound = refusal(http.StatusNotFound, "Not Found")

// route is one line of the API's table. An endpoint that needs more than the
// right of its route checks that itself.
type route struct {
	method, path string
	status       int // of success
	call         endpoint
	need         right
}

// routes returns the whole API. Comments of issues have a separate mux: to
// http.ServeMux, paths such as issues/comments/1 and issues/1/labels conflict.
func (g *GitHub) routes() http.Handler {
	all := g.muxOf(slices.Concat(repositoryRoutes, dataRoutes, pullRoutes, branchRoutes, protectionRoutes, reviewerRoutes, issueRoutes, conversationRoutes, appRoutes, organizationRoutes))
	all.HandleFunc("POST "+graphqlPath, g.serve(route{graphQL, "", http.StatusOK, (*apiCall).graphql, right{}}))
	all.HandleFunc("GET "+codeloadPath+"/{owner}/{repo}/{format}/{ref...}", g.serve(route{"GET", "", http.StatusOK, (*apiCall).codeload, readContents}))
	comments := g.muxOf(commentRoutes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.byID(r)
		if strings.Contains(r.URL.Path, "/issues/comments/") {
			comments.ServeHTTP(w, r)
			return
		}
		all.ServeHTTP(w, r)
	})
}

// muxOf serves some routes, and GitHub's 404 for all other paths.
func (g *GitHub) muxOf(routes []route) *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range routes {
		mux.HandleFunc(rt.method+" "+restPath+rt.path, g.serve(rt))
	}
	mux.HandleFunc("/", g.serve(route{call: func(*apiCall) (any, error) { return nil, errNotFound }}))
	return mux
}

func (g *GitHub) serve(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &apiCall{Request: r, hub: g, header: http.Header{}}
		var a rawAnswer
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			a = encode(failure(refusal(http.StatusBadRequest, "reading the request: "+err.Error())))
		} else {
			c.body = body
			a = c.answer(rt)
		}
		maps.Copy(w.Header(), c.header)
		w.Header().Set("Content-Type", a.contentType)
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body) // a client that has gone needs no answer
	}
}

// answer does the whole of a call under the lock.
func (c *apiCall) answer(rt route) rawAnswer {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.header.Set("X-GitHub-Media-Type", "github.v3; format=json")
	c.hub.asked++
	c.hub.catchUp()
	c.header.Set("X-GitHub-Request-Id", fmt.Sprintf("SAND:%04X", c.hub.asked))

	token := bearer(c.Header.Get("Authorization"))
	rate := c.hub.rate(token, rt.method)
	free := rt.path == "/rate_limit" || strings.HasPrefix(c.URL.Path, codeloadPath) // not counted in the rate
	err := c.admit(rt, token, free || rate.left > 0)
	if err == nil {
		err = c.spendPoints(rt)
	}
	if err == nil {
		err = c.makeContent(rt)
	}
	var v any
	if err == nil {
		v, err = rt.call(c)
	}
	if away := (*movedError)(nil); errors.As(err, &away) {
		v, err = away.answer, nil
	}
	if err != nil {
		v, rt.status = failure(err)
	}
	a := encode(v, rt.status)
	if rt.method == http.MethodGet && a.status == http.StatusOK && c.unchanged(a.body) {
		a = rawAnswer{http.StatusNotModified, a.contentType, nil}
	}
	if strings.HasPrefix(c.URL.Path, codeloadPath) {
		return a // another host, without headers of the rate
	}
	rate.charge(c.header, free || a.status == http.StatusNotModified)
	return a
}

// admit identifies the caller and the repository, and refuses as GitHub does.
func (c *apiCall) admit(rt route, token string, withinRate bool) error {
	if err := c.authenticate(token); err != nil {
		return err
	}
	switch {
	case !withinRate && rt.method == graphQL:
		return &gqlError{kind: "RATE_LIMITED", message: "API rate limit exceeded for " + spender(c.who)}
	case !withinRate:
		return refusal(http.StatusForbidden, "API rate limit exceeded for "+spender(c.who))
	}
	if c.PathValue("owner") != "" {
		key := repoKey(c.PathValue("owner"), c.PathValue("repo"))
		if old := c.hub.moved[key]; old != nil && c.hub.repos[key] == nil && c.sees(old) {
			return &movedError{c.moved(old)}
		}
		c.repo = c.hub.repos[key]
		if c.repo == nil || c.app == nil && !c.sees(c.repo) {
			return errNotFound
		}
	}
	if c.repo != nil && c.repo.settings.Archived && rt.method != http.MethodGet && c.may(c.repo, rt.need) {
		return errArchived
	}
	if err := c.authorize(rt); err != nil {
		return err
	}
	return c.hub.doubts.rest(c, rt.need.permissions)
}

// movedError is the answer for the old name of a repository.
type movedError struct{ answer rawAnswer }

func (e *movedError) Error() string { return "moved" }

// authenticate identifies the owner of the token.
func (c *apiCall) authenticate(token string) (err error) {
	if isJWT(token) {
		c.app, err = c.hub.appOf(token)
		return err
	}
	who, known := c.hub.tokens[token]
	if token != "" && (!known || !who.Expires.IsZero() && !c.hub.machine().Before(who.Expires)) {
		return refusal(http.StatusUnauthorized, "Bad credentials")
	}
	c.who = who
	if who.app != nil && who.app.suspended {
		return errSuspended
	}
	return nil
}

// authorize compares the route's right with the caller's.
func (c *apiCall) authorize(rt route) error {
	if rt.need.permissions != "" {
		c.header.Set("X-Accepted-GitHub-Permissions", rt.need.permissions)
	}
	switch {
	case rt.method == graphQL && c.who.Login == "":
		return refusal(http.StatusUnauthorized, "This endpoint requires you to be authenticated.")
	case rt.need == right{}:
		return nil // the endpoint decides; so do GraphQL's mutations
	case rt.method != http.MethodGet && c.who.Login == "", !c.may(c.repo, rt.need):
		return c.refuse()
	}
	return nil
}

// graphQL is used as the method in the route of GraphQL.
const graphQL = "GRAPHQL"

// spender is the owner of the rate, in GitHub's words.
func spender(who Identity) string {
	if who.Login == "" {
		return "127.0.0.1. (But here's the good news: Authenticated requests get a higher rate limit. " +
			"Check out the documentation for more details.)"
	}
	return "user " + who.Login + "."
}

// bearer returns the token of an Authorization header.
func bearer(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token") {
		return ""
	}
	return strings.TrimSpace(token)
}

// failure turns an error into GitHub's body and status. Errors of GraphQL are no
// failures of HTTP.
func failure(err error) (doc, int) {
	var g *gqlError
	if errors.As(err, &g) {
		return doc{"errors": []doc{g.doc()}}, http.StatusOK
	}
	var e *apiError
	if !errors.As(err, &e) {
		e = refusal(http.StatusInternalServerError, err.Error())
	}
	d := doc{
		"message":           e.message,
		"documentation_url": cmp.Or(e.page, "https://docs.github.com/rest"),
		"status":            strconv.Itoa(e.status),
	}
	if len(e.details) > 0 {
		d["errors"] = e.details
	}
	return d, e.status
}

func encode(v any, status int) rawAnswer {
	if raw, ok := v.(rawAnswer); ok {
		return raw
	}
	a := rawAnswer{status: status, contentType: "application/json; charset=utf-8"}
	if v == nil {
		return a // 204
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("encoding an answer: " + err.Error())
	}
	a.body = buf.Bytes()
	return a
}

// unchanged sets the answer's ETag and reports whether the client has it.
func (c *apiCall) unchanged(body []byte) bool {
	tag := c.header.Get("ETag")
	if tag == "" {
		tag = fmt.Sprintf(`W/"%x"`, sha256.Sum256(body))
		c.header.Set("ETag", tag)
	}
	for want := range strings.SplitSeq(c.Header.Get("If-None-Match"), ",") {
		want = strings.TrimSpace(want)
		if want == "*" || strings.TrimPrefix(want, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// rate is the rest of a token's rate for one kind of requests.
type rate struct {
	resource    string
	limit, left int
	reset       time.Time
}

// rate returns the caller's rate, which begins full.
func (g *GitHub) rate(token, method string) *rate {
	resource := "core"
	if method == graphQL {
		resource = "graphql"
	}
	key, limit := resource+" "+token, 5000
	if token == "" {
		limit = 60
	}
	if who := g.tokens[token]; who.installation != 0 { // all tokens of an installation share one
		key, limit = fmt.Sprint(resource, " of installation ", who.installation), g.installationLimit(who.installation)
	}
	if r := g.rates[key]; r == nil || !g.machine().Before(r.reset) {
		g.rates[key] = &rate{resource, limit, limit, g.machine().Add(time.Hour)}
	}
	return g.rates[key]
}

// charge takes one request off and sends the rest. An unchanged answer is free.
func (r *rate) charge(header http.Header, free bool) {
	if r.left > 0 && !free {
		r.left--
	}
	header.Set("X-RateLimit-Limit", strconv.Itoa(r.limit))
	header.Set("X-RateLimit-Remaining", strconv.Itoa(r.left))
	header.Set("X-RateLimit-Used", strconv.Itoa(r.limit-r.left))
	header.Set("X-RateLimit-Reset", strconv.FormatInt(r.reset.Unix(), 10))
	header.Set("X-RateLimit-Resource", r.resource)
}

// LimitRate sets the rest of the token's rate for the coming hour: requests of
// REST, and as many of GraphQL.
func (g *GitHub) LimitRate(token string, requests int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rate(token, http.MethodGet).left = requests
	g.rate(token, graphQL).left = requests
}

// AnnounceRate changes how many requests an hour has, as answers to the token say, and
// not how many are answered.
func (g *GitHub) AnnounceRate(token string, requests int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rate(token, http.MethodGet).limit = requests
	g.rate(token, graphQL).limit = requests
}

// decode reads the JSON object of a request.
func (c *apiCall) decode(v any) error {
	err := json.Unmarshal(c.body, v)
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped) && mistyped.Field != "":
		return unprocessable("Invalid request.\n\nFor '%s', %s is not of the expected type.", mistyped.Field, mistyped.Value)
	case errors.As(err, &mistyped):
		return refusal(http.StatusBadRequest, "Body should be a JSON object")
	case err != nil:
		return refusal(http.StatusBadRequest, "Problems parsing JSON")
	}
	return nil
}

// page returns the page that the client asks for, and links to the others. GitHub
// gives 30 to a page by default, and 100 at most.
func page[T any](c *apiCall, all []T) []T {
	query := c.URL.Query()
	size := min(number(query.Get("per_page"), 30), 100)
	this := number(query.Get("page"), 1)
	last := max(1, (len(all)+size-1)/size)
	var links []string
	link := func(rel string, n int) {
		query.Set("page", strconv.Itoa(n))
		links = append(links, fmt.Sprintf(`<%s%s?%s>; rel="%s"`, c.origin(), c.URL.EscapedPath(), query.Encode(), rel))
	}
	if this > 1 {
		link("prev", this-1)
	}
	if this < last {
		link("next", this+1)
		link("last", last)
	}
	if this > 1 {
		link("first", 1)
	}
	if len(links) > 0 {
		c.header.Set("Link", strings.Join(links, ", "))
	}
	from := min((this-1)*size, len(all))
	return all[from:min(from+size, len(all))]
}

// number reads a positive number; otherwise it returns the default.
func number(s string, otherwise int) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1_000_000 {
		return otherwise
	}
	return n
}

// each renders all elements. An empty array is never null.
func each[T any](all []T, render func(T) doc) []doc {
	docs := make([]doc, 0, len(all))
	for _, v := range all {
		docs = append(docs, render(v))
	}
	return docs
}

// origin is the server as the client addresses it.
func (c *apiCall) origin() string {
	scheme := "http"
	if c.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + c.Host
}

// api returns the address of a resource below the repository.
func (c *apiCall) api(r *gitRepository, format string, args ...any) string {
	return c.origin() + restPath + "/repos/" + r.fullName() + fmt.Sprintf(format, args...)
}

// web returns the address of a page below the repository.
func (c *apiCall) web(r *gitRepository, format string, args ...any) string {
	return c.origin() + "/github/" + r.fullName() + fmt.Sprintf(format, args...)
}

// accepts reports whether the client asks for a media type that is not JSON.
func (c *apiCall) accepts(kind string) bool {
	for part := range strings.SplitSeq(c.Header.Get("Accept"), ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name == "application/vnd.github."+kind || name == "application/vnd.github.v3."+kind {
			return true
		}
	}
	return false
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// maybeTime is a timestamp, or null for none.
func maybeTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return timestamp(t)
}

func (c *apiCall) userDoc(login string) doc {
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	api := c.origin() + restPath + "/users/" + url.PathEscape(login)
	return doc{
		"login": login, "id": userID(login), "node_id": fmt.Sprintf("U_%d", userID(login)), "type": kind,
		"site_admin": false, "user_view_type": "public", "gravatar_id": "",
		"avatar_url": c.origin() + "/github/avatars/" + url.PathEscape(login),
		"url":        api, "html_url": c.origin() + "/github/" + url.PathEscape(login),
		"followers_url": api + "/followers", "following_url": api + "/following{/other_user}",
		"gists_url": api + "/gists{/gist_id}", "starred_url": api + "/starred{/owner}{/repo}",
		"subscriptions_url": api + "/subscriptions", "organizations_url": api + "/orgs", "repos_url": api + "/repos",
		"events_url": api + "/events{/privacy}", "received_events_url": api + "/received_events",
	}
}
