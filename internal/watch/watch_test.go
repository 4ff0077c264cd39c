package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
)

// world is GitHub with the releases that the tools had in August 2026, and a repository.
// Its answers have what GitHub's have of the fields that are read.
type world struct {
	*httptest.Server
	issues []issue           // of the repository, the oldest first
	opened []string          // their titles
	broken map[string]string // answers in place of others, by path; a number is a status
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{broken: map[string]string{}}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %s is asked without the token", r.Method, r.URL)
		}
		if text, ok := w.broken[r.Method+" "+r.URL.Path]; ok {
			status := http.StatusOK
			if _, err := fmt.Sscanf(text, "%d", &status); err == nil {
				text = "{}"
			}
			rw.WriteHeader(status)
			fmt.Fprint(rw, text)
			return
		}
		repository, tools := "/repos/acme/relock/issues", map[string]string{
			"/repos/hashicorp/terraform/releases": "terraform", "/repos/opentofu/opentofu/releases": "opentofu", "/repos/gruntwork-io/terragrunt/releases": "terragrunt",
		}
		switch name := tools[r.URL.Path]; {
		case name != "" && r.Method == http.MethodGet:
			text, err := os.ReadFile("testdata/" + name + ".json")
			if err != nil {
				t.Error(err)
			}
			rw.Write(text)
		case r.URL.Path == repository && r.Method == http.MethodGet:
			w.page(t, rw, r)
		case r.URL.Path == repository && r.Method == http.MethodPost:
			var i issue
			if err := json.NewDecoder(r.Body).Decode(&i); err != nil {
				t.Error(err)
			}
			i.User.Login, i.Association = "github-actions[bot]", "NONE"
			w.issues, w.opened = append(w.issues, i), append(w.opened, i.Title)
			rw.WriteHeader(http.StatusCreated)
		default:
			t.Errorf("%s %s is asked", r.Method, r.URL)
		}
	}))
	t.Cleanup(w.Close)
	return w
}

// page answers with a page of issues.
func (w *world) page(t *testing.T, rw http.ResponseWriter, r *http.Request) {
	t.Helper()
	q := r.URL.Query()
	if q.Get("state") != "all" || q.Get("direction") != "asc" || q.Get("per_page") != "100" {
		t.Errorf("issues are asked for by %s", r.URL.RawQuery)
	}
	var page int
	fmt.Sscan(q.Get("page"), &page)
	from := min((page-1)*100, len(w.issues))
	json.NewEncoder(rw).Encode(append([]issue{}, w.issues[from:min(from+100, len(w.issues))]...))
}

// watch runs the program, and returns what it says and the titles of the issues that it opened.
func (w *world) watch(t *testing.T, tools []tool) (said string, opened []string, err error) {
	t.Helper()
	w.opened = nil
	var out bytes.Buffer
	err = watch(t.Context(), gitHub{url: w.URL, token: "secret", client: w.Client()}, "acme/relock", tools, &out)
	return out.String(), w.opened, err
}

func known(terraform, opentofu, terragrunt string) []tool {
	version := func(s string) provider.Version {
		v, err := provider.ParseVersion(s)
		if err != nil {
			panic(err)
		}
		return v
	}
	return []tool{
		{"Terraform", "hashicorp/terraform", version(terraform)}, {"OpenTofu", "opentofu/opentofu", version(opentofu)},
		{"Terragrunt", "gruntwork-io/terragrunt", version(terragrunt)},
	}
}

func TestWatchOpensOneIssueForAMinor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	older := known("1.14.0", "1.10.2", "0.99.4")
	_, opened, err := w.watch(t, older)
	want := []string{"Terraform 1.15 is not known", "OpenTofu 1.11 is not known", "OpenTofu 1.12 is not known", "Terragrunt 1.0 is not known", "Terragrunt 1.1 is not known"}
	if diff := cmp.Diff(want, opened); diff != "" || err != nil {
		t.Fatalf("%v; opened (-want +got):\n%s", err, diff)
	}
	body := "[Terraform 1.15.0](https://github.com/hashicorp/terraform/releases/tag/v1.15.0) is released. relock knows the rules of Terraform up to 1.14.0.\n\n" +
		"[CONTRIBUTING](https://github.com/acme/relock/blob/main/CONTRIBUTING.md#a-new-release-of-a-tool) says how it is taken in.\n\n<!-- relock-release: terraform 1.15 -->\n"
	if diff := cmp.Diff(body, w.issues[0].Body); diff != "" {
		t.Errorf("the body (-want +got):\n%s", diff)
	}
	w.issues[0].Title = "Terraform has a new release"
	if said, opened, err := w.watch(t, older); err != nil || len(opened) > 0 || strings.Count(said, "there is an issue") != 5 {
		t.Errorf("a second run opened %q, said\n%s%v", opened, said, err)
	}
}

// A patch release, a prerelease and a draft are no news, and nobody's issues are read then.
func TestWatchIsSilentAboutWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.broken["GET /repos/acme/relock/issues"] = "500"
	w.broken["GET /repos/opentofu/opentofu/releases"] = `[{"tag_name": "v1.12.6"}, {"tag_name": "v1.13.0", "draft": true}, {"tag_name": "v1.13.0-rc1"}, {"tag_name": "v1.14.0", "prerelease": true},
		{"tag_name": "1.13.0"}, {"tag_name": "v1.13"}, {"tag_name": "nightly"}]`
	if said, opened, err := w.watch(t, known("1.15.0", "1.12.0", "1.1.0")); err != nil || len(opened) > 0 || said != "no release is unknown\n" {
		t.Errorf("opened %q, said %q, %v", opened, said, err)
	}
}

// An issue far behind counts; what strangers open, and pull requests, do not.
func TestWatchKnowsItsIssues(t *testing.T) {
	t.Parallel()
	marked := func(login, association string, pull bool) issue {
		i := issue{Title: "x", Body: "<!-- relock-release: terraform 1.15 -->", Association: association}
		i.User.Login = login
		if pull {
			i.PullRequest = &struct{}{}
		}
		return i
	}
	for name, tt := range map[string]struct {
		issue issue
		want  int
	}{
		"ours":           {marked("github-actions[bot]", "NONE", false), 0},
		"a maintainer's": {marked("alice", "MEMBER", false), 0},
		"a stranger's":   {marked("mallory", "NONE", false), 1},
		"a pull request": {marked("github-actions[bot]", "NONE", true), 1},
	} {
		w := newWorld(t)
		w.issues = append(slices.Repeat([]issue{{Title: "another"}}, 250), tt.issue)
		if _, opened, err := w.watch(t, known("1.14.0", "1.12.0", "1.1.0")); err != nil || len(opened) != tt.want {
			t.Errorf("%s: opened %q, %v, want %d", name, opened, err, tt.want)
		}
	}
}

// What is not answered, or answered in part, is an error, and never an issue; the other
// tools have theirs.
func TestWatchFailsLoudly(t *testing.T) {
	t.Parallel()
	for request, answers := range map[string][]string{
		"GET /repos/hashicorp/terraform/releases": {"500", "404", "[]", `[{"tag_name": "v1.15.0"`, `{"message": "no"}`, `[{"tag_name": "latest"}]`},
		"GET /repos/acme/relock/issues":           {"502", "[{", `{}`},
		"POST /repos/acme/relock/issues":          {"403", "410"},
	} {
		for _, answer := range answers {
			w := newWorld(t)
			w.broken[request] = answer
			_, opened, err := w.watch(t, known("1.14.0", "1.11.0", "1.1.0"))
			want := 0
			if strings.Contains(request, "terraform") {
				want = 1 // OpenTofu's
			}
			if err == nil || len(opened) != want {
				t.Errorf("%s is answered with %s: opened %q, %v", request, answer, opened, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error has the token: %v", err)
			}
		}
	}
}
