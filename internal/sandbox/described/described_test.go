package described

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// server gives the same answer each time.
type server struct{ handler http.Handler }

func (s *server) Wrap(around func(http.Handler) http.Handler) { s.handler = around(s.handler) }

func answering(status int, contentType, body string) *server {
	return &server{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})}
}

// complaints is a test that records errors instead of failing.
type complaints struct {
	testing.TB
	verdicts []string
}

func (c *complaints) Errorf(_ string, args ...any) {
	c.verdicts = append(c.verdicts, args[2].(error).Error()) // after method and path
}

func (c *complaints) Helper() {}

const (
	jsonType = "application/json; charset=utf-8"
	blob     = "POST /repos/o/r/git/blobs"
	refusal  = `{"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"}`
	aRef     = `{"ref": "refs/heads/a/b", "node_id": "x", "url": "https://x.test", "object": {"type": "commit", "sha": "0123456789012345678901234567890123456789", "url": "https://x.test"}}`
	viewer   = `{"query": "{ viewer { login } }"}`
)

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, request, body string
		status              int
		contentType, answer string
		want                string // how the one complaint begins; empty for none
	}{
		{"right", blob, `{"content": "x"}`, 201, jsonType, `{"url": "https://x.test", "sha": "x"}`, ""},
		{"unknown_operation", "POST /repos/o/r/hooks", `{}`, 201, jsonType, `{}`, "the description has no such operation"},
		{"unknown_method", "PUT /repos/o/r/git/blobs", `{}`, 201, jsonType, `{}`, "the description has no such operation"},
		{"missing_field", blob, `{}`, 201, jsonType, `{"url": "https://x.test", "sha": "x"}`, "request: request body has an error: doesn't match schema: /content: property"},
		{"unknown_field", blob, `{"content": "x", "contents": "y"}`, 201, jsonType, `{"url": "https://x.test", "sha": "x"}`, "request: unknown field /contents"},
		{"unknown_field_deep_inside", "POST /repos/o/r/git/trees", `{"tree": [{"path": "f", "blob": "x"}]}`, 201, jsonType, `{"sha": "x", "url": "https://x.test", "truncated": false, "tree": []}`, "request: unknown field /tree/0/blob"},
		{"unknown_parameter", "GET /repos/o/r/pulls?states=all", "", 200, jsonType, `[]`, `request: unknown parameter "states"`},
		{"wrong_parameter", "GET /repos/o/r/pulls?state=merged", "", 200, jsonType, `[]`, `request: parameter "state" in query has an error`},
		{"wrong_path", "GET /repos/o/r/pulls/first", "", 404, jsonType, refusal, `request: parameter "pull_number" in path has an error`},
		{"slashes_in_a_ref", "GET /repos/o/r/git/ref/heads/a/b", "", 200, jsonType, aRef, ""},
		{"escaped_slashes", "GET /repos/o/r/collaborators/a%2Fb/permission", "", 404, jsonType, refusal, ""},
		{"labels_as_a_bare_array", "POST /repos/o/r/issues/1/labels", `["x"]`, 200, jsonType, `[]`, ""},
		{"labels_in_an_object", "POST /repos/o/r/issues/1/labels", `{"labels": ["x"]}`, 200, jsonType, `[]`, ""},
		{"labels_in_another_object", "POST /repos/o/r/issues/1/labels", `{"names": ["x"]}`, 200, jsonType, `[]`, "request: unknown field /names"},
		{"answer_without_a_field", blob, `{"content": "x"}`, 201, jsonType, `{"url": "https://x.test"}`, "answer 201: response body doesn't match schema #/components/schemas/short-blob: /sha: property"},
		{"answer_of_another_type", blob, `{"content": "x"}`, 201, jsonType, `{"url": "https://x.test", "sha": 7}`, "answer 201: response body doesn't match schema #/components/schemas/short-blob: /sha: value must be a string"},
		{"answer_of_another_status", blob, `{"content": "x"}`, 200, jsonType, `{}`, "answer 200: status is not supported"},
		{"refusal_that_is_not_listed", "GET /repos/o/r/git/ref/heads/x", "", 404, jsonType, refusal, ""},
		{"refusal_in_no_shape", "GET /repos/o/r/git/ref/heads/x", "", 404, jsonType, `"nothing"`, "answer 404: "},
		{"raw_file", "GET /repos/o/r/git/blobs/0123456789012345678901234567890123456789", "", 200, "application/vnd.github.raw", "bytes", ""},
		{"graphql", "POST graphql", viewer, 200, jsonType, `{"data": {"viewer": {"login": "x"}}}`, ""},
		{"graphql_refusal", "POST graphql", viewer, 200, jsonType, `{"errors": [{"message": "no"}]}`, ""},
		{"graphql_unknown_field", "POST graphql", `{"query": "{ viewer { shoe } }"}`, 200, jsonType, `{}`, `request: input:1:12: Cannot query field "shoe"`},
		{"graphql_missing_variable", "POST graphql", `{"query": "query($n: String!) { repository(owner: \"o\", name: $n) { id } }"}`, 200, jsonType, `{}`, "request: input: variable.n must be defined"},
		{"graphql_wrong_input", "POST graphql", `{"query": "mutation($i: UpdateRefsInput!) { updateRefs(input: $i) { clientMutationId } }", "variables": {"i": {"repositoryId": "x", "refUpdates": [{"name": "n"}]}}}`, 200, jsonType, `{}`, "request: input: variable.i.refUpdates[0].afterOid must be defined"},
		{"graphql_null", "POST graphql", viewer, 200, jsonType, `{"data": {"viewer": null}}`, "answer: data.viewer is null"},
		{"graphql_missing_answer", "POST graphql", viewer, 200, jsonType, `{"data": {"viewer": {}}}`, "answer: data.viewer.login is missing"},
		{"graphql_answer_not_asked_for", "POST graphql", viewer, 200, jsonType, `{"data": {"viewer": {"login": "x", "name": "y"}}}`, "answer: data.viewer.name was not selected"},
		{"graphql_number_for_a_text", "POST graphql", viewer, 200, jsonType, `{"data": {"viewer": {"login": 7}}}`, "answer: data.viewer.login is 7, no String"},
		{"graphql_unknown_enum", "POST graphql", `{"query": "{ repository(owner: \"o\", name: \"r\") { viewerPermission } }"}`, 200, jsonType, `{"data": {"repository": {"viewerPermission": "OWNER"}}}`, "answer: data.repository.viewerPermission is OWNER, no RepositoryPermission"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			heard := &complaints{TB: t}
			s := answering(tt.status, tt.contentType, tt.answer)
			Check(heard, s)
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, request(tt.request, tt.body))
			if w.Code != tt.status || w.Body.String() != tt.answer {
				t.Errorf("the client got %d %s, want the answer as it is", w.Code, w.Body)
			}
			switch {
			case tt.want == "" && len(heard.verdicts) > 0:
				t.Errorf("complaints = %q, want none", heard.verdicts)
			case tt.want != "" && (len(heard.verdicts) == 0 || !strings.HasPrefix(heard.verdicts[0], tt.want)):
				t.Errorf("complaints = %q, want %s…", heard.verdicts, tt.want)
			}
		})
	}
}

// request reads a method and what follows the address of the API.
func request(line, body string) *http.Request {
	method, path, _ := strings.Cut(line, " ")
	path, ok := strings.CutPrefix(path, "/")
	if ok {
		path = "/github" + restPath + "/" + path
	} else {
		path = "/github/api/" + path
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	return r
}

func TestRequestsNameTheVersionOfTheAPI(t *testing.T) {
	t.Parallel()
	heard := &complaints{TB: t}
	s := answering(200, jsonType, aRef)
	Check(heard, s)
	r := request("GET /repos/o/r/git/ref/heads/a/b", "")
	r.Header.Del("X-GitHub-Api-Version")
	s.handler.ServeHTTP(httptest.NewRecorder(), r)
	if len(heard.verdicts) != 1 || heard.verdicts[0] != "the request names no version of the API" {
		t.Errorf("complaints = %q, want one about the version", heard.verdicts)
	}
}

func TestCheckAnswersLooksAtAnswersAlone(t *testing.T) {
	t.Parallel()
	heard := &complaints{TB: t}
	s := answering(201, jsonType, `{}`)
	CheckAnswers(heard, s)
	s.handler.ServeHTTP(httptest.NewRecorder(), request("POST /nothing", `{}`))
	s.handler.ServeHTTP(httptest.NewRecorder(), request(blob, `{}`))
	if len(heard.verdicts) != 1 || !strings.HasPrefix(heard.verdicts[0], "answer 201: ") {
		t.Errorf("complaints = %q, want one about the answer", heard.verdicts)
	}
}

// TestVerdictIsOfOneExchange sends the same exchange again: every test gets its
// errors. One difference is enough for a new comparison.
func TestVerdictIsOfOneExchange(t *testing.T) {
	t.Parallel()
	const right, wrong = `{"url": "https://x.test", "sha": "x"}`, `{"url": "https://x.test", "sha": 707}`
	for i, tt := range []struct {
		answer, contentType string
		status, want        int
	}{
		{wrong, jsonType, 201, 1},
		{wrong, jsonType, 201, 1},
		{right, jsonType, 201, 0},
		{right, jsonType, 201, 0},
		{right, jsonType, 200, 1},
		{wrong, "application/vnd.github.raw", 201, 0},
	} {
		heard := &complaints{TB: t}
		s := answering(tt.status, tt.contentType, tt.answer)
		Check(heard, s)
		s.handler.ServeHTTP(httptest.NewRecorder(), request(blob, `{"content": "x"}`))
		if len(heard.verdicts) != tt.want {
			t.Errorf("%d: complaints = %q, want %d", i, heard.verdicts, tt.want)
		}
	}
}

func TestArchivesPassUnseen(t *testing.T) {
	t.Parallel()
	heard := &complaints{TB: t}
	s := answering(200, "application/x-gzip", "bytes")
	Check(heard, s)
	s.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/github/_codeload/o/r/legacy.tar.gz/main", nil))
	if len(heard.verdicts) > 0 {
		t.Errorf("complaints = %q, want none", heard.verdicts)
	}
}
