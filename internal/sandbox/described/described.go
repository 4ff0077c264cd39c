// Package described compares a GitHub API, and what is asked of it, with what
// GitHub publishes of its own: the OpenAPI description of REST and the schema
// of GraphQL. Tests put it in front of the sandbox, so that neither the sandbox
// answers nor relock asks what GitHub would not.
//
// It knows the parts in testdata and in package schema; README.md says where they are
// from. A request for any other part is a violation like all others. No program imports
// this package.
package described

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/relock-dev/relock/internal/sandbox/schema"
)

// API is a server of GitHub's API that lets a handler are in front of it.
type API interface {
	Wrap(around func(http.Handler) http.Handler)
}

// Check fails the test for every request to the API that GitHub's description
// does not allow and for every answer that it does not foresee, from now on.
func Check(t testing.TB, api API) {
	t.Helper()
	check(t, api, func(v verdict) []error { return slices.Concat(v.asked, v.answered) })
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

// published is all that is known of GitHub's API.
type published struct {
	rest    *rest
	graphql *ast.Schema
	known   sync.Map // verdicts by the sums of their exchanges
}

// description reads the extracts, once for all tests of a program.
var description = sync.OnceValues(func() (*published, error) {
	rest, err := readREST(openAPI)
	if err != nil {
		return nil, fmt.Errorf("reading the description of REST: %w", err)
	}
	return &published{rest: rest, graphql: schema.GitHub()}, nil
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
		report(r, d.verdictOn(e, isGraphQL))
	})
}

// verdictOn compares an exchange, once for all that are the same to the byte except for
// the address of the sandbox: relock reads most things again, and so do other tests.
func (d *published) verdictOn(e exchange, isGraphQL bool) verdict {
	sum := e.sum()
	if known, ok := d.known.Load(sum); ok {
		return known.(verdict)
	}
	check := d.rest.check
	if isGraphQL {
		check = d.checkGraphQL
	}
	v := check(e)
	d.known.Store(sum, v)
	return v
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

// What the description says of headers, and what stands here. Those that count differ
// at every request, and what they must be does not.
var (
	headers  = []string{"Content-Type", "Link", "Location"}
	counting = []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}
	digits   = regexp.MustCompile(`[0-9]+`)
)

// sum tells exchanges apart by all that a verdict depends on.
func (e exchange) sum() [sha256.Size]byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%q %q %d %d %d\n", e.request.Method, e.request.URL.RequestURI(), e.status, len(e.body), len(e.answer))
	for _, name := range headers {
		fmt.Fprintf(&b, "%q %q\n", e.request.Header[name], e.header[name])
	}
	for _, name := range counting {
		fmt.Fprintf(&b, "%s\n", digits.ReplaceAllString(fmt.Sprintf("%q", e.header[name]), "0"))
	}
	b.Write(e.body)
	b.Write(e.answer)
	return sha256.Sum256(bytes.ReplaceAll(b.Bytes(), []byte(e.request.Host), nil))
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
