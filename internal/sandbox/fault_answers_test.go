package sandbox

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// answering is the world of the tests of what GitHub answers.
func answering(t *testing.T) (*Sandbox, *hub) {
	t.Helper()
	w, err := ParseWorld(txtar.Parse([]byte("-- github/octo/infra/main/README.md --\ninfra\n")))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	h := &hub{GitHub: s.GitHub(), url: s.URL()}
	h.Client = h.client(t, ActionsToken)
	return s, h
}

func (s *Sandbox) spoilBy(t *testing.T, line string) {
	t.Helper()
	f, err := ParseFault(line)
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(f)
}

func TestStaleFault(t *testing.T) {
	t.Parallel()
	s, h := answering(t)
	refs := func() (names []string) {
		t.Helper()
		var found []struct{ Ref string }
		body := get(t, s.URL()+"/github/api/v3/repos/octo/infra/git/matching-refs/heads/").body
		if err := json.Unmarshal(body, &found); err != nil {
			t.Fatal(err)
		}
		for _, r := range found {
			names = append(names, strings.TrimPrefix(r.Ref, "refs/heads/"))
		}
		return names
	}
	sha := h.head(t, "main")
	create := func(branch string) {
		t.Helper()
		resp, body := h.send(t, "POST", "/repos/octo/infra/git/refs", `{"ref": "refs/heads/`+branch+`", "sha": "`+sha+`"}`, authorized)
		if resp.StatusCode != http.StatusCreated {
			t.Fatalf("creating a branch: %s: %s", resp.Status, body)
		}
	}
	s.spoilBy(t, "POST /github/api/v3/repos/octo/infra/git/refs stale")
	for _, step := range []struct {
		branch string // that is created
		want   []string
	}{
		{"one", []string{"main"}},        // as before
		{"", []string{"main", "one"}},    // and so once
		{"two", []string{"main", "one"}}, // another write is behind, too
		{"", []string{"main", "one", "two"}},
	} {
		if step.branch != "" {
			create(step.branch)
		}
		if body := get(t, s.URL()+"/github/api/v3/repos/octo/infra/branches/main").body; !strings.Contains(string(body), sha) {
			t.Errorf("what was not written is answered by %s", body)
		}
		if got := refs(); !cmp.Equal(got, step.want) {
			t.Errorf("after the creation of %q the branches are %q, want %q", step.branch, got, step.want)
		}
	}
	s.Mend()
	create("three")
	if got := refs(); len(got) != 4 {
		t.Errorf("mended, the branches are %q", got)
	}
}

func TestErrorsFault(t *testing.T) {
	t.Parallel()
	const query = `query { a: repository(owner: "octo", name: "infra") { name } b: repository(owner: "octo", name: "infra") { name } }`
	s, h := answering(t)
	s.spoilBy(t, "POST "+graphqlPath+" errors=a:FORBIDDEN")
	a := h.query(t, query, nil)
	if want := map[string]any{"a": nil, "b": map[string]any{"name": "infra"}}; !cmp.Equal(a.Data, want) {
		t.Errorf("data = %v, want %v", a.Data, want)
	}
	if len(a.Errors) != 1 || a.Errors[0].Type != "FORBIDDEN" || !strings.Contains(a.Errors[0].Message, "IP allow list") || !cmp.Equal(a.Errors[0].Path, []string{"a"}) {
		t.Errorf("errors = %+v", a.Errors)
	}
	s.Mend()

	// A mutation is carried out with done alone, and the answer is the same.
	sha := h.head(t, "main")
	for _, done := range []bool{false, true} {
		line := "POST " + graphqlPath + " errors=updateRefs"
		if done {
			line = "POST " + graphqlPath + " done errors=updateRefs"
		}
		s.spoilBy(t, line)
		posted, err := json.Marshal(map[string]any{
			"query": updateRefsMutation, "variables": h.updateRefsInput(refUpdateJSON("refs/heads/new", zeroOID, sha, false)),
		})
		if err != nil {
			t.Fatal(err)
		}
		_, body := h.send(t, "POST", graphqlPath, string(posted), authorized)
		var a gqlAnswer
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			t.Fatal(err)
		}
		if len(a.Errors) != 1 || a.Errors[0].Type != "" || !strings.HasPrefix(a.Errors[0].Message, "Something went wrong") || a.Data["updateRefs"] != nil {
			t.Errorf("done %t: the answer is %+v", done, a)
		}
		refs, err := h.Refs("octo/infra")
		if _, made := refs["refs/heads/new"]; err != nil || made != done {
			t.Errorf("done %t: the branch is there: %t, %v", done, made, err)
		}
		s.Mend()
	}
}

func TestEmptyNode(t *testing.T) {
	t.Parallel()
	nodes := func() any { return doc{"nodes": []any{"x", doc{"id": 1, "name": "y"}}} }
	for _, test := range []struct {
		path string
		left any
		at   []any
	}{
		{"nodes", doc{"nodes": nil}, []any{"nodes"}},
		{"nodes.0", doc{"nodes": []any{nil, doc{"id": 1, "name": "y"}}}, []any{"nodes", 0}},
		{"nodes.1.id", doc{"nodes": []any{"x", doc{"id": nil, "name": "y"}}}, []any{"nodes", 1, "id"}},
		{"nodes.2", nodes(), []any{"nodes", "2"}}, // it is not there
	} {
		value := nodes()
		at := empty(value, strings.Split(test.path, "."))
		if !cmp.Equal(value, test.left) || !cmp.Equal(at, test.at) {
			t.Errorf("without %s: %v at %v, want %v at %v", test.path, value, at, test.left, test.at)
		}
	}
}

func TestErrorsFaultRefuses(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"POST /a errors=", "POST /a errors=a..b", "POST /a errors=:FORBIDDEN"} {
		if _, err := ParseFault(line); err == nil || !strings.Contains(err.Error(), "is no path of an answer") {
			t.Errorf("ParseFault(%q) = %v", line, err)
		}
	}
}
