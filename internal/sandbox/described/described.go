// Package described compares a GitHub API and its requests with GitHub's own
// publications: the OpenAPI description of REST and the schema of GraphQL. Tests
// put it before the sandbox. So the sandbox gives no answer, and relock sends no
// request, that GitHub would not.
//
// It knows the parts in testdata and in package schema; README.md names their
// source. A request for any other part is a violation, too. No program imports
// this package.
package described

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"errors"
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

// API is a server of GitHub's API that takes a handler before its own.
type API interface {
	Wrap(around func(http.Handler) http.Handler)
}

// Check fails the test for every later request that GitHub's description does not
// allow or that names no version of the API, and for every later answer that it does
// not describe.
func Check(t testing.TB, api API) {
	t.Helper()
	check(t, api, func(r *http.Request, v verdict) []error {
		all := slices.Concat(v.asked, v.answered)
		if r.Header.Get("X-GitHub-Api-Version") == "" {
			all = append(all, errors.New("the request names no version of the API"))
		}
		return all
	})
}

// CheckAnswers is Check for tests of the API itself, which send wrong requests on
// purpose. It checks only answers, and only those that it knows.
func CheckAnswers(t testing.TB, api API) {
	t.Helper()
	check(t, api, func(_ *http.Request, v verdict) []error { return v.answered })
}

// verdict is the errors of a request and of its answer.
type verdict struct{ asked, answered []error }

func check(t testing.TB, api API, counts func(*http.Request, verdict) []error) {
	t.Helper()
	d, err := description()
	if err != nil {
		t.Fatal(err)
	}
	api.Wrap(func(next http.Handler) http.Handler {
		return d.between(next, func(r *http.Request, v verdict) {
			for _, violation := range counts(r, v) {
				t.Errorf("%s %s: %v", r.Method, r.URL.Path, violation)
			}
		})
	})
}

//go:embed testdata/openapi.json
var openAPI []byte

// published is the known part of GitHub's API.
type published struct {
	rest    *rest
	graphql *ast.Schema
	known   sync.Map // verdicts by the sums of exchanges
}

// description reads the extracts, once for all tests of a program.
var description = sync.OnceValues(func() (*published, error) {
	rest, err := readREST(openAPI)
	if err != nil {
		return nil, fmt.Errorf("reading the description of REST: %w", err)
	}
	return &published{rest: rest, graphql: schema.GitHub()}, nil
})

// The paths of the API on GitHub Enterprise Server and in the sandbox.
const (
	restPath    = "/api/v3"
	graphqlPath = "/api/graphql"
)

// between compares each exchange with the next handler. It ignores paths outside
// the API, such as archives.
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

// verdictOn compares an exchange. Exchanges that differ only in the address of
// the sandbox are compared once: relock reads most things again, and so do other
// tests.
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

// The values of headers for the comparison. Counting headers differ at every
// request, but the description of them does not.
var (
	headers  = []string{"Content-Type", "Link", "Location"}
	counting = []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}
	digits   = regexp.MustCompile(`[0-9]+`)
)

// sum identifies an exchange by everything that its verdict depends on.
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

// recorder keeps a copy of an answer.
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
