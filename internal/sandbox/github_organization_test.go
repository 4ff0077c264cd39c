package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// startOrganization is a hub with four repositories of acme.
func startOrganization(t *testing.T) *hub {
	t.Helper()
	h := startHub(t)
	for name, settings := range map[string]Settings{
		"app": {Private: true, Internal: true, DiskUsage: 7, Topics: []string{"terraform", "aws"},
			Properties: map[string]any{"team": "platform", "stages": []string{"test", "live"}}},
		"hidden": {Private: true}, "old": {Archived: true}, "web": {},
	} {
		r := Repository{Owner: "acme", Name: name, DefaultBranch: "main", Branches: map[string]map[string]File{"main": {"a": {}}}, Settings: settings}
		if name == "app" {
			r.Branches["main"]["live/main.tf"], r.Branches["relock/x"] = File{}, map[string]File{"a": {}}
		}
		if err := h.create(r); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

const listQuery = `query($login: String!, $n: Int!, $after: String) { repositoryOwner(login: $login) {
 repositories(first: $n, after: $after, ownerAffiliations: [OWNER], orderBy: {field: NAME, direction: ASC}) {
 totalCount pageInfo { hasNextPage endCursor } nodes { databaseId nameWithOwner isArchived isFork visibility
 repositoryTopics(first: 20) { nodes { topic { name } } } diskUsage languages(first: 9) { nodes { name } }
 refs(refPrefix: "refs/heads/relock/", first: 10) { nodes { prefix name target { oid } } }
 defaultBranchRef { name target { oid ... on Commit { tree { oid } } } } } } } }`

// listed returns the names on a page, the cursor of the next, and the first
// repository.
func listed(t *testing.T, a gqlAnswer) (names []string, next string, first map[string]any) {
	t.Helper()
	owner, ok := a.Data["repositoryOwner"].(map[string]any)
	if !ok {
		t.Fatalf("answer = %v, want an owner", a)
	}
	page := owner["repositories"].(map[string]any)
	for _, n := range page["nodes"].([]any) {
		names = append(names, fmt.Sprint(n.(map[string]any)["nameWithOwner"]))
	}
	first, _ = page["nodes"].([]any)[0].(map[string]any)
	info := page["pageInfo"].(map[string]any)
	return names, fmt.Sprint(info["endCursor"], " ", info["hasNextPage"]), first
}

// TestListsRepositories lists the repositories of an owner that the token sees:
// by name, in pages, with the requested fields.
func TestListsRepositories(t *testing.T) {
	t.Parallel()
	h := startOrganization(t)
	names, next, first := listed(t, h.query(t, listQuery, map[string]any{"login": "ACME", "n": 2}))
	if want := []string{"acme/app", "acme/hidden"}; !slices.Equal(names, want) || next != "2 true" {
		t.Errorf("first page = %v, %s, want %v, 2 true", names, next, want)
	}
	names, next, _ = listed(t, h.query(t, listQuery, map[string]any{"login": "acme", "n": 2, "after": "2"}))
	if want := []string{"acme/old", "acme/web"}; !slices.Equal(names, want) || next != "4 false" {
		t.Errorf("second page = %v, %s, want %v, 4 false", names, next, want)
	}
	head := first["defaultBranchRef"].(map[string]any)["target"].(map[string]any)
	commit, err := h.repos["acme/app"].commit(h.repos["acme/app"].branch("main"))
	if err != nil || head["oid"] != commit.Hash.String() || head["tree"].(map[string]any)["oid"] != commit.TreeHash.String() {
		t.Errorf("head = %v, want commit %v with its tree", head, commit)
	}
	delete(first, "defaultBranchRef")
	delete(first, "databaseId")
	ref := first["refs"].(map[string]any)["nodes"].([]any)[0].(map[string]any)
	delete(ref, "target")
	want := map[string]any{
		"nameWithOwner": "acme/app", "isArchived": false, "isFork": false, "visibility": "INTERNAL", "diskUsage": 7.0,
		"languages": map[string]any{"nodes": []any{map[string]any{"name": "HCL"}}},
		"repositoryTopics": map[string]any{"nodes": []any{
			map[string]any{"topic": map[string]any{"name": "terraform"}}, map[string]any{"topic": map[string]any{"name": "aws"}},
		}},
		"refs": map[string]any{"nodes": []any{map[string]any{"prefix": "refs/heads/", "name": "relock/x"}}},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("the repository differs (-want +got):\n%s", diff)
	}
	if a := h.query(t, listQuery, map[string]any{"login": "nobody", "n": 2}); a.Data["repositoryOwner"] != nil {
		t.Errorf("an owner of nothing = %v, want null", a)
	}

	h.LimitListing(1)
	a := h.query(t, listQuery, map[string]any{"login": "acme", "n": 2})
	if got := a.messages(); len(got) != 1 || !strings.HasPrefix(got[0], "RESOURCE_LIMITS_EXCEEDED") {
		t.Errorf("a page beyond the limit = %v, want RESOURCE_LIMITS_EXCEEDED", got)
	}
}

// TestListsOnlyWhatATokenSees checks that an installation's list lacks private
// repositories of others, and that custom properties need a permission.
func TestListsOnlyWhatATokenSees(t *testing.T) {
	t.Parallel()
	h := startOrganization(t)
	permissions := map[string]string{"metadata": "read", "organization_custom_properties": "read"}
	h.tokens["one"] = Identity{Login: "app[bot]", Bot: true, Permissions: permissions, Repositories: []string{"acme/app", "acme/old"}, installation: 3}
	h.tokens["two"] = h.tokens["one"]
	h.tokens["blind"] = Identity{Login: "app[bot]", Bot: true, Permissions: map[string]string{"metadata": "read"}}
	values := func(token string, want int) string {
		resp, answer := h.send(t, http.MethodGet, "/orgs/acme/properties/values?per_page=2", "", "Authorization: Bearer "+token)
		if resp.StatusCode != want {
			t.Errorf("custom properties for %s = %s, want %d", token, resp.Status, want)
		}
		return answer
	}
	var seen []map[string]any
	if err := json.Unmarshal([]byte(values("one", http.StatusOK)), &seen); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || seen[0]["repository_full_name"] != "acme/app" || seen[1]["repository_full_name"] != "acme/old" {
		t.Errorf("properties = %v, want those of acme/app and acme/old on the first page", seen)
	}
	values("blind", http.StatusForbidden)
	// All tokens of an installation share one rate.
	h.LimitRate("one", 0)
	values("two", http.StatusForbidden)
}
