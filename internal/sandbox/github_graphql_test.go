package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// gqlAnswer is what GraphQL answers.
type gqlAnswer struct {
	Data   map[string]any
	Errors []struct {
		Type, Message string
		Path          []string
		Locations     []struct{ Line, Column int }
	}
}

func (a gqlAnswer) messages() []string {
	var messages []string
	for _, e := range a.Errors {
		messages = append(messages, strings.TrimSpace(e.Type+" "+e.Message))
	}
	return messages
}

func (h *hub) query(t *testing.T, query string, variables map[string]any) gqlAnswer {
	t.Helper()
	a, err := h.post(query, variables)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// post asks GraphQL, also from goroutines of a test.
func (h *hub) post(query string, variables map[string]any) (gqlAnswer, error) {
	var a gqlAnswer
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return a, err
	}
	r, err := http.NewRequest(http.MethodPost, h.url+"/github/api/graphql", bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Authorization", "Bearer "+ActionsToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("X-RateLimit-Resource") != "graphql" {
		return a, fmt.Errorf("answer = %s, %v", resp.Status, resp.Header)
	}
	return a, json.NewDecoder(resp.Body).Decode(&a)
}

const zeroOID = "0000000000000000000000000000000000000000"

// refUpdateJSON is one of an updateRefs; an empty before is left out.
func refUpdateJSON(name, before, after string, force bool) map[string]any {
	u := map[string]any{"name": name, "afterOid": after, "force": force}
	if before != "" {
		u["beforeOid"] = before
	}
	return u
}

const updateRefsMutation = `mutation Move($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }`

func (h *hub) updateRefsInput(updates ...map[string]any) map[string]any {
	return map[string]any{"input": map[string]any{"repositoryId": h.repos[octoInfra].nodeID(), "refUpdates": updates}}
}

func (h *hub) updateRefsQuery(t *testing.T, updates ...map[string]any) gqlAnswer {
	t.Helper()
	return h.query(t, updateRefsMutation, h.updateRefsInput(updates...))
}

func TestGraphQLQueries(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	main := h.head(t, "main")
	tests := []struct {
		name, query string
		variables   map[string]any
		want        map[string]any
	}{
		{
			"repository_id", `query($owner: String!, $name: String = "infra") { repository(owner: $owner, name: $name) { id } }`,
			map[string]any{"owner": "octo"}, map[string]any{"repository": map[string]any{"id": "R_kgDO000001"}},
		},
		{
			"fields_and_aliases", `{ repository(owner: "octo", name: "infra") {
				nameWithOwner, defaultBranchRef { name target { oid } }
				release: ref(qualifiedName: "refs/heads/release/1.0") { name } none: ref(qualifiedName: "nothing") { name }
			} viewer { login } }`, nil,
			map[string]any{
				"repository": map[string]any{
					"nameWithOwner":    "octo/infra",
					"defaultBranchRef": map[string]any{"name": "main", "target": map[string]any{"oid": main}},
					"release":          map[string]any{"name": "release/1.0"}, "none": nil,
				},
				"viewer": map[string]any{"login": actionsBot},
			},
		},
		{
			"fragments", `query($n: Int! = 1) { repository(owner: "octo", name: """infra""") { ...of defaultBranchRef { target { oid ... on Blob { text } } } } }
				fragment of on Repository { name pullRequests(first: $n) { totalCount } }`, nil,
			map[string]any{"repository": map[string]any{"name": "infra", "pullRequests": map[string]any{"totalCount": float64(0)}, "defaultBranchRef": map[string]any{"target": map[string]any{"oid": main}}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := h.query(t, tt.query, tt.variables)
			if diff := cmp.Diff(tt.want, a.Data); diff != "" || len(a.Errors) > 0 {
				t.Errorf("errors %v, data (-want +got):\n%s", a.messages(), diff)
			}
		})
	}
}

func TestGraphQLErrors(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	tests := []struct {
		name, query string
		variables   map[string]any
		want        string
	}{
		{"unknown_query", `{ search(query: "x") { issueCount } }`, nil, "Field 'search' doesn't exist on type 'Query'"},
		{"unknown_mutation", `mutation { addStar(input: {}) { clientMutationId } }`, nil, "Field 'addStar' doesn't exist on type 'Mutation'"},
		{"unknown_field", `{ viewer { email } }`, nil, "Field 'email' doesn't exist on type 'User'"},
		{"unknown_argument", `{ viewer(login: "x") { login } }`, nil, `Unknown argument "login" on field "Query.viewer".`},
		{"unknown_type", `query($o: Name!) { repository(owner: $o, name: "infra") { id } }`, nil, `Unknown type "Name".`},
		{"unknown_enum", `{ repository(owner: "octo", name: "infra") { pullRequests(first: 1, states: [DRAFT]) { totalCount } } }`, nil, `Value "DRAFT" does not exist in "PullRequestState!" enum.`},
		{"unknown_fragment", `{ viewer { ...more } }`, nil, `Unknown fragment "more".`},
		{"missing_argument", `{ repository(owner: "octo") { id } }`, nil, `Field "repository" argument "name" of type "String!" is required`},
		{"missing_variable", `query($o: String!) { repository(owner: $o, name: "infra") { id } }`, nil, "input: variable.o must be defined"},
		{"undeclared_variable", `{ repository(owner: $o, name: "infra") { id } }`, nil, `Variable "$o" is not defined.`},
		{"unused_variable", `query($o: String!) { viewer { login } }`, map[string]any{"o": "octo"}, `Variable "$o" is never used.`},
		{"nullable_variable", `query($o: String) { repository(owner: $o, name: "infra") { id } }`, map[string]any{"o": "octo"}, `Variable "$o" of type "String" used in position expecting type "String!".`},
		{"variable_of_another_type", `query($n: Int!) { repository(owner: "octo", name: "infra") { pullRequest(number: $n) { id } } }`, map[string]any{"n": "one"}, "input: variable.n cannot use string as Int"},
		{"text_for_a_number", `{ repository(owner: "octo", name: "infra") { pullRequest(number: "1") { id } } }`, nil, `Int cannot represent non-integer value: "1"`},
		{"fields_in_conflict", `{ viewer { a: login a: id } }`, nil, `Fields "a" conflict because "login" and "id" are different fields.`},
		{"fragment_of_another_type", `{ viewer { ... on Repository { id } } }`, nil, `Fragment cannot be spread here as objects of type "User" can never be of type "Repository".`},
		{"no_selection", `{ viewer }`, nil, `Field "viewer" of type "User!" must have a selection of subfields.`},
		{"selection_on_scalar", `{ viewer { login { __typename } } }`, nil, `Field "login" must not have a selection since type "String" has no subfields.`},
		{"unclosed", `{ viewer { login }`, nil, "Expected Name, found <EOF>"},
		{"nothing_selected", `{ }`, nil, "expected at least one definition, found }"},
		{"two_operations", `query A { viewer { login } } query B { viewer { login } }`, nil, "the sandbox reads one operation, and not 2"},
		{"two_without_a_name", `{ viewer { login } } { viewer { login } }`, nil, "This anonymous operation must be the only defined operation."},
		{"subscription", `subscription { viewer { login } }`, nil, `Schema does not support operation type "subscription"`},
		{"ignored_argument", `{ repository(owner: "octo", name: "infra", followRenames: false) { id } }`, nil, "the sandbox does not obey the argument followRenames of repository"},
		{"ignored_argument_of_a_field", `{ repository(owner: "octo", name: "infra") { refs(first: 1, refPrefix: "refs/heads/", query: "x") { totalCount } } }`, nil, "the sandbox does not obey the argument query of refs"},
		{"ignored_in_fragments", `query { repository(owner: "octo", name: "infra") { ...some ... on Repository { id @skip(if: true) } } } fragment some on Repository { name @include(if: false) }`, nil, "the sandbox does not obey directives"},
		{"not_served", `{ viewer { __typename } }`, nil, "UNPROCESSABLE the sandbox has no __typename of User"},
		{"no_such_repository", `{ repository(owner: "octo", name: "other") { id } }`, nil, "NOT_FOUND Could not resolve to a Repository with the name 'octo/other'."},
		{"no_such_node", `mutation { updateRefs(input: {repositoryId: "x", refUpdates: []}) { clientMutationId } }`, nil, "NOT_FOUND Could not resolve to a node with the global id of 'x'"},
		{"unknown_input_field", `mutation { updateRefs(input: {repositoryId: "x", refUpdates: [], repository: "x"}) { clientMutationId } }`, nil, `Field "repository" is not defined by type "UpdateRefsInput".`},
		{"missing_input_field", `mutation { updateRefs(input: {repositoryId: "x"}) { clientMutationId } }`, nil, `Field "UpdateRefsInput.refUpdates" of required type "[RefUpdate!]!" was not provided.`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := h.query(t, tt.query, tt.variables).messages(); len(got) == 0 || !strings.HasPrefix(got[0], tt.want) {
				t.Errorf("errors = %q, want %s…", got, tt.want)
			}
		})
	}

	a := h.query(t, "{\n  found: repository(owner: \"octo\", name: \"other\") { id }\n}", nil)
	if e := a.Errors[0]; a.Data["found"] != nil || len(e.Path) != 1 || e.Path[0] != "found" || e.Locations[0].Line != 2 || e.Locations[0].Column != 3 {
		t.Errorf("error = %v, data = %v; want null beside the error, with its path and place", e, a.Data)
	}
}

// TestGraphQLExecutesOnlyValidDocuments sends a mutation with a mistake in the
// selection: it is not executed.
func TestGraphQLExecutesOnlyValidDocuments(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	update := refUpdateJSON("refs/heads/new", "", h.head(t, "main"), false)
	a := h.query(t, `mutation($input: UpdateRefsInput!) { updateRefs(input: $input) { refs } }`, h.updateRefsInput(update))
	if len(a.Errors) != 1 || h.head(t, "new") != "" {
		t.Errorf("errors = %v, the branch is at %q; want an error and no branch", a.messages(), h.head(t, "new"))
	}
}

func TestGraphQLNeedsAToken(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	if resp, _ := h.send(t, "POST", "/github/api/graphql", `{"query": "{ viewer { login } }"}`); resp.StatusCode != 401 {
		t.Errorf("anonymous query = %s, want 401", resp.Status)
	}
	if resp, _ := h.send(t, "POST", "/github/api/graphql", `{}`, authorized); resp.StatusCode != 400 {
		t.Errorf("no query = %s, want 400", resp.Status)
	}
	body := fmt.Sprintf(`{"query": "mutation { updateRefs(input: {repositoryId: \"%s\", refUpdates: []}) { clientMutationId } }"}`, h.repos[octoInfra].nodeID())
	_, text := h.send(t, "POST", "/github/api/graphql", body, "Authorization: bearer "+ReadOnlyToken)
	if !strings.Contains(text, `"FORBIDDEN"`) {
		t.Errorf("mutation with a reading token = %s", text)
	}
}

func TestGraphQLRateLimit(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	h.LimitRate(ActionsToken, 0)
	a := h.query(t, `{ viewer { login } }`, nil)
	if diff := cmp.Diff([]string{"RATE_LIMITED API rate limit exceeded for user github-actions[bot]."}, a.messages()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestUpdateRefs(t *testing.T) {
	t.Parallel()
	const topic = "refs/heads/topic"
	tests := []struct {
		name                 string
		before, after, force string // commits by letter: topic is at b, which is on a; c is beside b
		want                 string // where topic is then, or an error
	}{
		{"compares_and_swaps", "b", "c", "force", "c"},
		{"refuses_another_head", "a", "c", "force", "UNPROCESSABLE refs/heads/topic is at B but expected A"},
		{"without_before_nothing_is_compared", "", "c", "force", "c"},
		{"refuses_what_is_no_fast_forward", "b", "c", "", "UNPROCESSABLE Update is not a fast forward"},
		{"fast_forwards", "b", "d", "", "d"},
		{"deletes", "b", "0", "", ""},
		{"deletes_only_the_head_it_knows", "a", "0", "", "UNPROCESSABLE refs/heads/topic is at B but expected A"},
		{"zero_before_demands_that_it_is_new", "0", "c", "", "UNPROCESSABLE Reference already exists"},
		{"refuses_unknown_objects", "b", "f", "force", "UNPROCESSABLE Object does not exist"},
		{"refuses_short_names", "b", "x", "", `"x" is not a valid GitObjectID`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := startHub(t)
			oid := map[string]string{"": "", "0": zeroOID, "x": "x", "f": strings.Repeat("f", 40), "a": h.head(t, "main")}
			oid["b"] = h.push(t, "topic", "f", "b")
			oid["c"] = h.push(t, "beside", "f", "c")
			oid["d"] = h.pushOnto(t, "topic", "g", "d")

			a := h.updateRefsQuery(t, refUpdateJSON(topic, oid[tt.before], oid[tt.after], tt.force != ""))
			named := strings.NewReplacer(oid["a"], "A", oid["b"], "B")
			if len(a.Errors) > 0 {
				if got := named.Replace(a.messages()[0]); got != tt.want {
					t.Errorf("error = %s, want %s", got, tt.want)
				}
				if h.head(t, "topic") != oid["b"] {
					t.Error("a refused update moved the branch")
				}
				return
			}
			if h.head(t, "topic") != oid[tt.want] {
				t.Errorf("topic is at %s, want %s (%s)", h.head(t, "topic"), tt.want, oid[tt.want])
			}
		})
	}
}

// pushOnto makes a commit on top of a branch without moving it.
func (h *hub) pushOnto(t *testing.T, branch, name, content string) string {
	t.Helper()
	at := h.head(t, branch)
	sha := h.push(t, branch, name, content)
	a := h.updateRefsQuery(t, refUpdateJSON("refs/heads/"+branch, sha, at, true))
	if len(a.Errors) > 0 {
		t.Fatal(a.messages())
	}
	return sha
}

func TestUpdateRefsCreates(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	main := h.head(t, "main")
	if a := h.updateRefsQuery(t, refUpdateJSON("refs/heads/new", zeroOID, main, false)); len(a.Errors) > 0 || h.head(t, "new") != main {
		t.Errorf("errors = %v, new branch at %q", a.messages(), h.head(t, "new"))
	}
	if a := h.updateRefsQuery(t, refUpdateJSON("refs/heads/gone", main, main, false)); len(a.Errors) != 1 || h.head(t, "gone") != "" {
		t.Errorf("update of a branch that is gone: errors = %v", a.messages())
	}
}

func TestUpdateRefsIsAllOrNothing(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	main := h.head(t, "main")
	a := h.updateRefsQuery(t,
		refUpdateJSON("refs/heads/one", zeroOID, main, false),
		refUpdateJSON("refs/heads/release/1.0", main, zeroOID, false), // is elsewhere
	)
	if len(a.Errors) != 1 || h.head(t, "one") != "" {
		t.Errorf("errors = %v, the first branch is at %q; want one and no branch", a.messages(), h.head(t, "one"))
	}
}

func TestUpdateRefsInline(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	main := h.head(t, "main")
	a := h.query(t, `mutation($repo: ID!, $name: GitRefname!, $after: GitObjectID!) {
		updateRefs(input: {clientMutationId: "mine", repositoryId: $repo, refUpdates: [{name: $name, beforeOid: "`+zeroOID+`", afterOid: $after, force: false}]}) {
			clientMutationId
		}
	}`, map[string]any{"repo": h.repos[octoInfra].nodeID(), "name": "refs/heads/new", "after": main})
	want := map[string]any{"updateRefs": map[string]any{"clientMutationId": "mine"}}
	if diff := cmp.Diff(want, a.Data); diff != "" || h.head(t, "new") != main {
		t.Errorf("errors %v, data (-want +got):\n%s", a.messages(), diff)
	}
}

func TestUpdateRefsTakesAList(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	sha := h.push(t, "topic", "f", "1")
	a := h.query(t, `mutation($id: ID = "none", $moves: [RefUpdate!]!) {
		first: updateRefs(input: {repositoryId: $id, refUpdates: $moves}) { clientMutationId }
		second: updateRefs(input: {repositoryId: $id, refUpdates: [{name: "refs/heads/main", afterOid: "`+sha+`", beforeOid: null, force: true}]}) { clientMutationId }
	}`, map[string]any{"id": h.repos[octoInfra].nodeID(), "moves": []any{refUpdateJSON("refs/heads/new", zeroOID, sha, false)}})
	if len(a.Errors) > 0 || h.head(t, "new") != sha || h.head(t, "main") != sha {
		t.Errorf("errors = %v, new at %s, main at %s; want both at %s", a.messages(), h.head(t, "new"), h.head(t, "main"), sha)
	}
}

func TestWithoutUpdateRefs(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	h.WithoutUpdateRefs()
	a := h.updateRefsQuery(t, refUpdateJSON("refs/heads/new", zeroOID, h.head(t, "main"), false))
	if diff := cmp.Diff([]string{"Field 'updateRefs' doesn't exist on type 'Mutation'"}, a.messages()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestUpdateRefsClosesPullRequests(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	sha := h.push(t, "topic", "f", "1")
	h.open(t, "topic", "main")
	h.updateRefsQuery(t, refUpdateJSON("refs/heads/topic", sha, zeroOID, false))
	if p := h.pullRequest(t, 1); p.GetState() != "closed" {
		t.Errorf("pull request is %s after its branch was deleted", p.GetState())
	}
}

// TestUpdateRefsConcurrently updates one head many times at once: one update
// succeeds.
func TestUpdateRefsConcurrently(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	seen := h.push(t, "topic", "f", "0")
	answers := make([]gqlAnswer, 8)
	shas := make([]string, len(answers))
	for i := range shas {
		shas[i] = h.push(t, fmt.Sprintf("mine-%d", i), "f", fmt.Sprint(i))
	}
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			var err error
			if answers[i], err = h.post(updateRefsMutation, h.updateRefsInput(refUpdateJSON("refs/heads/topic", seen, shas[i], true))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	won := 0
	for i, a := range answers {
		if len(a.Errors) > 0 {
			continue
		}
		won++
		if h.head(t, "topic") != shas[i] {
			t.Errorf("the branch is not where its only mover put it")
		}
	}
	if won != 1 {
		t.Errorf("%d of %d updates succeeded, want 1", won, len(answers))
	}
}
