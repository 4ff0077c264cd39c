// Package described compares a GitHub API, and what is asked of it, with what
// GitHub publishes of its own: the OpenAPI description of REST and the schema
// of GraphQL. Tests put it in front of the sandbox, so that neither the sandbox
// answers nor relock asks what GitHub would not.
//
// It knows the parts in testdata; README.md says where they are from. A request
// for any other part is a violation like all others. No program imports this
// package.
package described

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// API is a server of GitHub's API that lets a handler stand in front of it.
type API interface {
	Wrap(around func(http.Handler) http.Handler)
}

// Check fails the test for every request to the API that GitHub's description
// does not allow and for every answer that it does not foresee, from now on.
func Check(t testing.TB, api API) {
	t.Helper()
	check(t, api, func(v verdict) []error { return append(v.asked, v.answered...) })
}

// CheckAnswers is Check for tests of the API itself, which ask wrongly on
// purpose: it looks at the answers alone, and only at those that it knows.
func CheckAnswers(t testing.TB, api API) {
	t.Helper()
	check(t, api, func(v verdict) []error { return v.answered })
}

// verdict is what is wrong with a request and with its answer.
type verdict struct{ asked, answered []error }

func check(t testing.TB, api API, counts func(verdict) []error) {
	t.Helper()
	d, err := description()
	if err != nil {
		t.Fatal(err)
	}
	api.Wrap(func(next http.Handler) http.Handler {
		return d.between(next, func(r *http.Request, v verdict) {
			for _, violation := range counts(v) {
				t.Errorf("%s %s: %v", r.Method, r.URL.Path, violation)
			}
		})
	})
}

//go:embed testdata/openapi.json
var openAPI []byte

//go:embed testdata/schema.graphql
var schema string

// published is all that is known of GitHub's API.
type published struct {
	rest    *rest
	graphql *ast.Schema
}

// description reads the extracts, once for all tests of a program.
var description = sync.OnceValues(func() (*published, error) {
	rest, err := readREST(openAPI)
	if err != nil {
		return nil, fmt.Errorf("reading the description of REST: %w", err)
	}
	graphql, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphql", Input: schema})
	if err != nil {
		return nil, fmt.Errorf("reading the schema of GraphQL: %w", err)
	}
	return &published{rest, graphql}, nil
})

// Where the API lies on GitHub Enterprise Server and in the sandbox.
const (
	restPath    = "/api/v3"
	graphqlPath = "/api/graphql"
)

// between compares all that passes on its way to the next handler and back.
// What is no part of the API, as archives are, passes unseen.
func (d *published) between(next http.Handler, report func(*http.Request, verdict)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, path, isREST := strings.Cut(r.URL.EscapedPath(), restPath)
		isGraphQL := strings.HasSuffix(r.URL.Path, graphqlPath)
		if !isREST && !isGraphQL {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := &recorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r)

		e := exchange{request: r, path: path, body: body, status: answer.status, header: w.Header(), answer: answer.body.Bytes()}
		if isGraphQL {
			report(r, d.checkGraphQL(e))
			return
		}
		report(r, d.rest.check(e))
	})
}

// exchange is a request with its answer.
type exchange struct {
	request *http.Request
	path    string // below that of the API, escaped
	body    []byte
	status  int
	header  http.Header
	answer  []byte
}

// recorder keeps an answer while it goes its way.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}
