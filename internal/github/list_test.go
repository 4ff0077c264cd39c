package github_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/sandbox"
)

// TestListsARepository holds what is known of each repository without a request of its
// own, for an App only of those that it is installed in.
func TestListsARepository(t *testing.T) {
	h := newHub(t, listWorld)
	app := h.register(t, organizing, "acme/app", "acme/old", "octo/infra")
	app.Repositories, app.Owner, app.Properties = nil, "acme", true
	c := h.client(t, github.Options{Access: github.Access{App: &app}})
	if err := c.Narrowed("acme/app", false, false).Repository("acme", "app").CreateBranch(t.Context(), "relock/all-1", h.headOf(t, "acme/app")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Push("acme/app", sandbox.Push{Branch: "relock/all-1", Files: map[string]sandbox.File{"b": {}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Open("acme/app", "relock/all-1", "main", "More", "acme"); err != nil {
		t.Fatal(err)
	}
	h.asked = nil
	got, err := c.List(t.Context(), "acme", github.ListOptions{Prefix: "relock/", Files: []string{".norelock", ".github/relock.yml"}, Properties: true})
	if err != nil {
		t.Fatal(err)
	}
	refs, err := h.Refs("acme/app")
	if err != nil || len(got) != 2 {
		t.Fatalf("List = %+v, %v, want acme/app and acme/old", got, err)
	}
	if len(got[0].Tree) != 40 || got[0].ID == 0 {
		t.Errorf("List = %+v, want the id and the tree of the head", got[0])
	}
	if p := got[0].Pulls["relock/all-1"]; !strings.HasPrefix(p, "#1 20") {
		t.Errorf("the pull request is %q, want #1 with its time", p)
	}
	if at := got[0].Opened[1]; len(got[0].Opened) != 1 || at.Year() < 2020 {
		t.Errorf("pull requests were opened at %v, want #1 with its time", got[0].Opened)
	}
	want := github.Listed{
		ID: got[0].ID, Name: "acme/app", Branch: "main", Head: refs["refs/heads/main"], Tree: got[0].Tree, Visibility: "private",
		Topics: []string{"terraform"}, Files: []string{".github/relock.yml"},
		Compact:    true,
		Properties: map[string][]string{"team": {"platform"}, "stages": {"test", "live"}, "none": nil},
		Heads:      map[string]string{"relock/all-1": refs["refs/heads/relock/all-1"]},
		Pulls:      map[string]string{"relock/all-1": got[0].Pulls["relock/all-1"]},
		Opened:     got[0].Opened,
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
	if got[1].Compact || !got[1].Archived || got[1].Heads == nil || len(got[1].Heads) != 0 {
		t.Errorf("List = %+v, want an archived repository without HCL and branches of ours", got[1])
	}
	h.wantAsked(t, "POST api/graphql", "GET /installation/repositories", "GET /orgs/acme/properties/values")
}

// TestListsInPages holds that a page on which GitHub gives up is asked for again with
// half as many, and that nobody is left out or listed twice.
func TestListsInPages(t *testing.T) {
	for name, limit := range map[string]int{"all_at_once": 0, "halved": 30, "one_by_one": 1} {
		t.Run(name, func(t *testing.T) {
			var world strings.Builder
			var want []string
			for i := range 53 {
				want = append(want, fmt.Sprintf("acme/r%02d", i))
				fmt.Fprintf(&world, "-- github/%s/main/a --\n", want[i])
			}
			h := newHub(t, world.String())
			h.LimitListing(limit)
			c := h.client(t, github.Options{Access: github.Access{Token: sandbox.UserToken}})
			got, err := c.List(t.Context(), "acme", github.ListOptions{})
			var names []string
			for _, l := range got {
				names = append(names, l.Name)
			}
			if err != nil || !slices.Equal(names, want) {
				t.Errorf("List = %v, %v, want %v", names, err, want)
			}
		})
	}
}

// TestListSaysWhyItCannot holds what people are told who cannot have a list.
func TestListSaysWhyItCannot(t *testing.T) {
	for name, tt := range map[string]struct {
		owner, token, want string
		properties         bool
	}{
		"token_of_a_workflow": {"acme", sandbox.ActionsToken, "give a GitHub App", false},
		"unknown":             {"nobody", sandbox.UserToken, "check its name", false},
		"properties":          {"acme", "narrow", `"Custom properties: read"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, listWorld)
			h.Admit("narrow", sandbox.Identity{Login: "app[bot]", Bot: true, Permissions: map[string]string{"metadata": "read"}})
			_, err := h.client(t, github.Options{Access: github.Access{Token: tt.token}}).List(t.Context(), tt.owner, github.ListOptions{Properties: tt.properties})
			if err == nil || !strings.Contains(problem.Of(err).Hint, tt.want) {
				t.Errorf("List = %v, hint %q, want %q", err, problem.Of(err).Hint, tt.want)
			}
		})
	}
}

// TestListMeetsBadAnswers holds that a list ends with an error where GitHub fails for
// good, and never as a shorter list.
func TestListMeetsBadAnswers(t *testing.T) {
	page := func(more bool, cursor string) reply {
		return ok(fmt.Sprintf(`{"data": {"viewer": {"login": "x"}, "repositoryOwner": {"repositories": {"nodes": [null, {"databaseId": 1, "nameWithOwner": "a/b"}],`+
			`"pageInfo": {"hasNextPage": %t, "endCursor": %q}}}}}`, more, cursor))
	}
	for name, tt := range map[string]struct {
		replies []reply
		want    int // repositories; 0: an error
	}{
		"hidden_ones":        {[]reply{page(false, "")}, 1},
		"for_ever_the_same":  {[]reply{page(true, "x"), page(true, "x")}, 0},
		"server_error":       {[]reply{{502, nil, ""}}, 0},
		"server_error_once":  {[]reply{{502, nil, ""}, {502, nil, ""}, {502, nil, ""}, page(false, "")}, 1},
		"half_an_answer":     {[]reply{{200, map[string]string{"Content-Length": "999"}, `{"data": {`}}, 0},
		"beside_an_error":    {[]reply{ok(`{"data": {"viewer": {"login": "x"}, "repositoryOwner": {"repositories": {"nodes": [], "pageInfo": {"hasNextPage": false}}}}, "errors": [{"type": "INTERNAL", "message": "no"}]}`)}, 0},
		"error_of_the_list":  {[]reply{ok(`{"data": {"viewer": {"login": "x"}, "repositoryOwner": null}, "errors": [{"type": "FORBIDDEN", "message": "no", "path": ["repositoryOwner"]}]}`)}, 0},
		"limit_in_the_pages": {[]reply{page(true, "1"), ok(`{"data": null, "errors": [{"type": "RESOURCE_LIMITS_EXCEEDED", "message": "no"}]}`), page(false, "")}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := start(t, tt.replies...)
			c, err := github.New(github.Options{Access: github.Access{API: f.URL + "/api/v3", Token: token}, HTTP: f.Client(), Clock: f.clock()})
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.List(t.Context(), "a", github.ListOptions{})
			got = slices.DeleteFunc(got, func(l github.Listed) bool { return l.Name == "" && errors.Is(l.Err, github.ErrNotFound) })
			if len(got) != tt.want || (err != nil) != (tt.want == 0) {
				t.Errorf("List = %+v, %v, want %d repositories", got, err, tt.want)
			}
		})
	}
}

// TestListNamesWhatGitHubCannotGive holds that one repository that GitHub cannot give is
// asked for again, and then has failed alone.
func TestListNamesWhatGitHubCannotGive(t *testing.T) {
	const world = "-- github/acme/a/main/x --\n-- github/acme/b/main/x --\n-- github/acme/c/main/x --\n"
	for name, tt := range map[string]struct {
		sandbox.Unlisted
		app       bool
		asked     int
		b, failed string
	}{
		"forbidden":             {sandbox.Unlisted{Type: "FORBIDDEN", Message: "no"}, false, 3, "", "listing the repository of acme that comes after acme/a by name: GitHub answered 403: no"},
		"forbidden_to_an_app":   {sandbox.Unlisted{Type: "FORBIDDEN", Message: "no"}, true, 3, "acme/b", "listing acme/b: GitHub answered 403: no"},
		"without_a_type":        {sandbox.Unlisted{Message: "wrong"}, false, 3, "", "listing the repository of acme that comes after acme/a by name: GitHub answered: wrong"},
		"of_a_field":            {sandbox.Unlisted{Message: "wrong", Field: "languages"}, false, 3, "acme/b", "listing acme/b: GitHub answered: wrong"},
		"late":                  {sandbox.Unlisted{Message: "wrong", Times: 2}, false, 3, "acme/b", ""},
		"null_without_an_error": {sandbox.Unlisted{Silent: true}, false, 1, "", "listing the repository of acme that comes after acme/a by name: the token does not see it"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, world)
			o := github.Options{Access: github.Access{Token: sandbox.UserToken}, Clock: github.Clock{Sleep: func(context.Context, time.Duration) error { return nil }}}
			if tt.app {
				app := h.register(t, organizing, "acme/a", "acme/b", "acme/c")
				app.Repositories, app.Owner = nil, "acme"
				o.Access.App, o.Access.Token = &app, ""
			}
			must0(t, h.Configure("acme/b", func(s *sandbox.Settings) { s.Unlisted = tt.Unlisted }))
			c := h.client(t, o)
			h.asked = nil
			got, err := c.List(t.Context(), "acme", github.ListOptions{})
			if err != nil || len(got) != 3 {
				t.Fatalf("List = %+v, %v, want three", got, err)
			}
			good := slices.DeleteFunc(slices.Clone(got), func(l github.Listed) bool { return l.Err != nil })
			if failed := len(good) < 3; failed != (tt.failed != "") {
				t.Fatalf("List = %+v, want one that failed: %t", got, tt.failed != "")
			}
			i := slices.IndexFunc(got, func(l github.Listed) bool { return l.Name == tt.b })
			if i < 0 || tt.failed != "" && problem.Of(got[i].Err).Message != tt.failed {
				t.Errorf("List = %+v, want %q with the error %q", got, tt.b, tt.failed)
			}
			if n := len(slices.DeleteFunc(h.asked, func(r string) bool { return r != "POST api/graphql" })); n != tt.asked {
				t.Errorf("%d lists were asked for, want %d", n, tt.asked)
			}
		})
	}
}
