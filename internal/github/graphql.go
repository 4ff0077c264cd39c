package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/google/go-github/v60/github"
)

// noObject means "no such ref" in updateRefs.
const noObject = "0000000000000000000000000000000000000000"

// updateRefs is the one operation of GitHub that compares before it swaps: REST
// moves a ref whatever it points to by then.
const updateRefs = `mutation($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }`

type refUpdate struct {
	Name      string `json:"name"`
	BeforeOID string `json:"beforeOid"`
	AfterOID  string `json:"afterOid"`
	Force     bool   `json:"force"`
}

// updateRef moves a branch if it is still where it was. It costs a further
// request if the repository's node id is not known yet.
func (r *Repository) updateRef(ctx context.Context, doing, branch, before, after string) error {
	id, err := r.nodeID(ctx)
	if err != nil {
		return err
	}
	return r.mutate(ctx, doing, writeContents, updateRefs, map[string]any{
		"repositoryId": id,
		"refUpdates": []refUpdate{{
			Name: branchRefs + branch, BeforeOID: before, AfterOID: after, Force: true,
		}},
	})
}

type graphqlError struct {
	Type       string `json:"type"`
	Message    string `json:"message"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
	// Path leads to what is null for the error: names, and numbers in lists.
	Path []any `json:"path"`
}

// place is the number in the list at the end of a path that the error is about, if it is
// about one.
func (e graphqlError) place(list ...string) (i int, ok bool) {
	if len(e.Path) <= len(list) {
		return 0, false
	}
	for i, name := range list {
		if e.Path[i] != name {
			return 0, false
		}
	}
	at, ok := e.Path[len(list)].(float64)
	return int(at), ok
}

func (r *Repository) mutate(ctx context.Context, doing string, needs permission, mutation string, input map[string]any) error {
	ctx = behaving(ctx, requestBehaviour{write: true, needs: needs})
	errs, err := r.client.graph.post(ctx, mutation, map[string]any{"input": input}, nil)
	if err == nil && len(errs) > 0 {
		err = refusalOfGraphQL(errs[0])
	}
	return r.explain(ctx, doing, needs, err)
}

// graph is the GraphQL API.
type graph struct {
	rest *github.Client // whose connection it shares
	url  *url.URL
	// noMerging says that the server does not know all of mergingFields.
	noMerging atomic.Bool
}

// query sends a query. An object that was not found is null in the answer, together with an
// error. Such errors are no failure if there is an answer.
func (g *graph) query(ctx context.Context, q *graphQuery, data any) error {
	errs, err := g.post(ctx, q.String(), q.variables, data)
	for _, e := range errs {
		if err == nil && e.Type != "NOT_FOUND" {
			err = refusalOfGraphQL(e)
		}
	}
	return err
}

// full sends a query with the fields about merging, and without them where
// the server does not know them.
func (g *graph) full(ctx context.Context, data any, with func(fields string) *graphQuery) error {
	if !g.noMerging.Load() {
		err := g.query(ctx, with(mergingFields), data)
		if said, ok := errors.AsType[*refusal](err); !ok || said.kind != ErrUnsupported || said.status != 0 {
			return err
		}
		g.noMerging.Store(true)
	}
	return g.query(ctx, with(""), data)
}

// post sends one document to the GraphQL API. It returns the errors that are
// part of an answer, and an error if there is none.
func (g *graph) post(ctx context.Context, document string, variables map[string]any, data any) ([]graphqlError, error) {
	req, err := g.rest.NewRequest(http.MethodPost, g.url.String(), map[string]any{"query": document, "variables": variables})
	if err != nil {
		return nil, err
	}
	answer := struct {
		Data   any            `json:"data"`
		Errors []graphqlError `json:"errors"`
	}{Data: data}
	resp, err := g.rest.Do(ctx, req, &answer)
	if err != nil && resp != nil && resp.StatusCode == http.StatusNotFound {
		err = &refusal{status: http.StatusNotFound, message: "there is no GraphQL API", kind: ErrUnsupported}
	}
	return answer.Errors, err
}

// graphQuery builds a GraphQL query. Texts from outside are variables, so that they
// cannot end a string of the query.
type graphQuery struct {
	fields    strings.Builder
	declared  []string
	variables map[string]any
}

func (q *graphQuery) add(format string, args ...any) { fmt.Fprintf(&q.fields, format, args...) }

// text returns the name of a variable with the value.
func (q *graphQuery) text(value string) string {
	name := fmt.Sprint("v", len(q.declared))
	q.declared = append(q.declared, "$"+name+": String!")
	if q.variables == nil {
		q.variables = map[string]any{}
	}
	q.variables[name] = value
	return "$" + name
}

// String returns the document.
func (q *graphQuery) String() string {
	if len(q.declared) == 0 {
		return "query {" + q.fields.String() + " }"
	}
	return "query(" + strings.Join(q.declared, ", ") + ") {" + q.fields.String() + " }"
}

// refusalOfGraphQL sorts the errors that GitHub reports inside an answer. An error
// without a known type most likely means that the ref has moved. The caller reads again
// and finds out.
func refusalOfGraphQL(e graphqlError) *refusal {
	said := &refusal{message: oneLine(e.Message), kind: ErrConflict}
	switch {
	case e.Extensions.Code == "undefinedField", e.Extensions.Code == "undefinedType",
		strings.Contains(e.Message, "doesn't exist on type"), strings.Contains(e.Message, "isn't a defined input type"):
		said.kind = ErrUnsupported
	// As long as GitHub has not found out what a merge has to wait for, it says that
	// of a new pull request [peter-evans/enable-pull-request-automerge#343 and #355].
	case strings.Contains(e.Message, "in unstable status"), strings.Contains(e.Message, "in clean status"):
		said.kind = ErrNotYet
	case e.Type == "FORBIDDEN", e.Type == "INSUFFICIENT_SCOPES":
		said.status, said.kind = http.StatusForbidden, nil
	case e.Type == "NOT_FOUND":
		said.status, said.kind = http.StatusNotFound, ErrNotFound
	// GitHub has given up, and does not say at which point [refined-github#1956].
	case strings.HasPrefix(e.Message, "Something went wrong"):
		said.kind = ErrUncertain
	case e.Type == "RESOURCE_LIMITS_EXCEEDED":
		said.kind, said.limits = ErrUncertain, true
	case e.Type == "RATE_LIMITED":
		said.kind = nil
	}
	return said
}
