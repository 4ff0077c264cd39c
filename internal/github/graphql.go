package github

import (
	"context"
	"net/http"
	"strings"
)

// noObject stands for "no such ref" in updateRefs.
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
	return r.mutate(ctx, doing, updateRefs, map[string]any{"input": map[string]any{
		"repositoryId": id,
		"refUpdates": []refUpdate{{
			Name: branchRefs + branch, BeforeOID: before, AfterOID: after, Force: true,
		}},
	}})
}

type graphqlError struct {
	Type       string `json:"type"`
	Message    string `json:"message"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

// mutate sends one GraphQL mutation that needs the right to write contents.
func (r *Repository) mutate(ctx context.Context, doing, query string, variables map[string]any) error {
	req, err := r.client.rest.NewRequest(http.MethodPost, r.client.graphql.String(),
		map[string]any{"query": query, "variables": variables})
	if err != nil {
		return r.explain(ctx, doing, writeContents, err)
	}
	var answer struct {
		Errors []graphqlError `json:"errors"`
	}
	resp, err := r.client.rest.Do(ctx, req, &answer)
	switch {
	case err == nil && len(answer.Errors) > 0:
		err = refusalOfGraphQL(answer.Errors[0])
	case err != nil && resp != nil && resp.StatusCode == http.StatusNotFound:
		err = &refusal{status: http.StatusNotFound, message: "there is no GraphQL API", kind: ErrUnsupported}
	case err == nil:
		return nil
	}
	return r.explain(ctx, doing, writeContents, err)
}

// refusalOfGraphQL sorts the errors that GitHub reports inside an answer. One
// without a known type is most likely the reason that we look for: the ref is
// not where it was. The caller reads again and sees.
func refusalOfGraphQL(e graphqlError) *refusal {
	said := &refusal{message: oneLine(e.Message), kind: ErrConflict}
	switch {
	case e.Extensions.Code == "undefinedField", e.Extensions.Code == "undefinedType",
		strings.Contains(e.Message, "doesn't exist on type"), strings.Contains(e.Message, "isn't a defined input type"):
		said.kind = ErrUnsupported
	case e.Type == "FORBIDDEN", e.Type == "INSUFFICIENT_SCOPES":
		said.status, said.kind = http.StatusForbidden, nil
	case e.Type == "NOT_FOUND":
		said.status, said.kind = http.StatusNotFound, ErrNotFound
	case e.Type == "RATE_LIMITED":
		said.kind = nil
	}
	return said
}
