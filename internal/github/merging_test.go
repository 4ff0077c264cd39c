package github_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/sandbox"
)

// queuedPull is a pull request in a merge queue, on a server from which something
// was taken.
func queuedPull(t *testing.T, take func(*sandbox.GitHub)) (*hub, github.PullRequest) {
	t.Helper()
	h := newHub(t, pullWorld)
	must0(t, h.Protect("octo/infra", "main", &sandbox.Protection{Queue: true}))
	number := must[int](t)(h.Open("octo/infra", "topic", "main", "T", "monalisa"))
	must0(t, h.Enqueue("octo/infra", number, "monalisa"))
	if take != nil {
		take(h.GitHub)
	}
	return h, must[github.PullRequest](t)(h.repository(t).PullRequest(t.Context(), number))
}

func TestMergingTellsOfTheQueue(t *testing.T) {
	tests := []struct {
		name   string
		take   func(*sandbox.GitHub)
		queued bool
	}{
		{"all", nil, true},
		{"no_GraphQL", (*sandbox.GitHub).WithoutGraphQL, true}, // by its ref
		{"no_queues", (*sandbox.GitHub).WithoutMergeQueues, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, p := queuedPull(t, tt.take)
			now := must[github.PullRequest](t)(h.repository(t).Merging(t.Context(), p))
			if now.Queued != tt.queued || !now.Open || now.Head != p.Head {
				t.Errorf("Merging() = %+v, want it open and queued: %v", now, tt.queued)
			}
			latest, err := h.repository(t).Latest(t.Context(), []string{"topic"})
			if tt.name != "no_GraphQL" && (err != nil || latest["topic"][0].Queued != tt.queued) {
				t.Errorf("Latest() = %+v, %v; want queued: %v", latest, err, tt.queued)
			}
		})
	}
}

// An approval is what GitHub decides where reviews are demanded, and what people who may write
// have said where none are.
func TestMergingTellsOfApprovals(t *testing.T) {
	type say = func(*sandbox.GitHub, string, int, string) error
	approve, refuse := (*sandbox.GitHub).Approve, (*sandbox.GitHub).RequestChanges
	for name, tt := range map[string]struct {
		rules *sandbox.Protection
		says  map[string]say
		want  bool
	}{
		"nobody_demanded":          {&sandbox.Protection{Reviews: 1}, nil, false},
		"nobody":                   {nil, nil, false},
		"demanded":                 {&sandbox.Protection{Reviews: 1}, map[string]say{"monalisa": approve}, true},
		"too_few":                  {&sandbox.Protection{Reviews: 2}, map[string]say{"monalisa": approve}, false},
		"refused":                  {&sandbox.Protection{Reviews: 1}, map[string]say{"monalisa": approve, "octo": refuse}, false},
		"not_demanded":             {nil, map[string]say{"monalisa": approve}, true},
		"not_demanded_but_refused": {nil, map[string]say{"monalisa": approve, "octo": refuse}, false},
		"by_a_stranger":            {nil, map[string]say{"mallory": approve}, false},
		"refused_by_a_stranger":    {nil, map[string]say{"monalisa": approve, "mallory": refuse}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, pullWorld)
			number := must[int](t)(h.Open("octo/infra", "topic", "main", "T", "hubot"))
			must0(t, h.Protect("octo/infra", "main", tt.rules))
			for login, says := range tt.says {
				must0(t, says(h.GitHub, "octo/infra", number, login))
			}
			repo := h.repository(t)
			latest := must[map[string][]github.PullRequest](t)(repo.Latest(t.Context(), []string{"topic"}))
			now := must[github.PullRequest](t)(repo.Merging(t.Context(), latest["topic"][0]))
			if latest["topic"][0].Approved != tt.want || now.Approved != tt.want {
				t.Errorf("approved = %t in the list and %t alone, want %t", latest["topic"][0].Approved, now.Approved, tt.want)
			}
		})
	}
}

func TestUpdateBranch(t *testing.T) {
	h := newHub(t, pullWorld)
	number := must[int](t)(h.Open("octo/infra", "topic", "main", "T", "monalisa"))
	repo, before := h.repository(t), h.head(t, "topic")
	if err := repo.UpdateBranch(t.Context(), number, before); !errors.Is(err, github.ErrConflict) {
		t.Errorf("UpdateBranch of one that has all of its base: %v, want an ErrConflict", err)
	}
	must[string](t)(h.Push("octo/infra", sandbox.Push{Branch: "main", Files: map[string]sandbox.File{"more": {Mode: sandbox.ModeFile}}}))
	must0(t, repo.UpdateBranch(t.Context(), number, before))
	if h.head(t, "topic") == before {
		t.Error("the branch has not moved")
	}
}

func TestDemandsUpToDate(t *testing.T) {
	h := newHub(t, pullWorld)
	must0(t, h.Protect("octo/infra", "main", &sandbox.Protection{Queue: true, Reviews: 1, Strict: true, Ruleset: true}))
	must0(t, h.Protect("octo/infra", "topic", &sandbox.Protection{Strict: true}))
	for branch, want := range map[string]bool{"main": true, "topic": false, "release/1": false} {
		if got, err := h.repository(t).DemandsUpToDate(t.Context(), branch); got != want || err != nil {
			t.Errorf("DemandsUpToDate(%s) = %v, %v; want %v", branch, got, err, want)
		}
	}
}

func TestOverlays(t *testing.T) {
	h := newHub(t, pullWorld)
	push := func(branch string, files map[string]sandbox.File) string {
		return must[string](t)(h.Push("octo/infra", sandbox.Push{Branch: branch, Files: files}))
	}
	file := func(content string) sandbox.File {
		return sandbox.File{Mode: sandbox.ModeFile, Content: []byte(content)}
	}
	from := h.head(t, "main")
	to := push("ours", map[string]sandbox.File{"lock": file("2")})
	base := push("main", map[string]sandbox.File{"README.md": file("more")})
	tests := []struct {
		name  string
		files map[string]sandbox.File // over ours
		want  bool
	}{
		{"nothing_else", map[string]sandbox.File{"README.md": file("more")}, true},
		{"less_of_the_base", nil, false},
		{"another_file", map[string]sandbox.File{"README.md": file("more"), "evil": file("1")}, false},
		{"another_lock", map[string]sandbox.File{"README.md": file("more"), "lock": file("3")}, false},
		{"another_mode", map[string]sandbox.File{"README.md": file("more"), "lock": {Mode: sandbox.ModeExecutable, Content: []byte("2")}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]sandbox.File{"lock": file("2")}
			maps.Copy(files, tt.files)
			merged := push("m-"+tt.name, files) // on the base
			if tt.files == nil {
				merged = must[string](t)(h.Push("octo/infra", sandbox.Push{Branch: "m-" + tt.name, Remove: []string{"README.md"}}))
			}
			if got, err := h.repository(t).Overlays(t.Context(), merged, base, from, to); got != tt.want || err != nil {
				t.Errorf("Overlays() = %v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

// What GraphQL says about workflows names none; the hint does.
func TestReplacingABranchWithAWorkflow(t *testing.T) {
	h := newHub(t, pullWorld)
	before := h.head(t, "topic")
	after := must[string](t)(h.Push("octo/infra", sandbox.Push{Branch: "other", Files: map[string]sandbox.File{
		".github/workflows/ci.yml": {Mode: sandbox.ModeFile, Content: []byte("on: push\n")},
	}}))
	err := h.repository(t).ReplaceBranch(t.Context(), "topic", before, after)
	e, ok := errors.AsType[*problem.Error](err)
	if !ok || !strings.Contains(e.Problem.Hint, "workflows: write") {
		t.Errorf("ReplaceBranch: %v, want what to do about it", err)
	}
}

func TestWorkflow(t *testing.T) {
	h := newHub(t, pullWorld)
	h.Admit("ghs_ofAnApp", sandbox.Identity{Login: "relock[bot]", Bot: true})
	for token, want := range map[string]bool{sandbox.ActionsToken: true, "ghs_ofAnApp": false, sandbox.UserToken: false} {
		if got := h.client(t, github.Options{Access: github.Access{Token: token}}).Repository("octo", "infra").Workflow(t.Context()); got != want {
			t.Errorf("Workflow() with %s = %v, want %v", token, got, want)
		}
	}
	h.WithoutGraphQL()
	for token, want := range map[string]bool{"ghs_ofAnApp": true, sandbox.UserToken: false} {
		if got := h.client(t, github.Options{Access: github.Access{Token: token}}).Repository("octo", "infra").Workflow(t.Context()); got != want {
			t.Errorf("Workflow() with %s and without GraphQL = %v, want %v", token, got, want)
		}
	}
}
