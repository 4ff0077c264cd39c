package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/google/go-cmp/cmp"
)

func text(files map[string]File) map[string]string {
	texts := map[string]string{}
	for name, f := range files {
		texts[name] = f.Mode + " " + string(f.Content)
	}
	return texts
}

func (h *hub) files(t *testing.T, ref string) map[string]string {
	t.Helper()
	files, err := h.Files(octoInfra, ref)
	if err != nil {
		t.Fatal(err)
	}
	return text(files)
}

func TestPeoplePush(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	main := h.head(t, "main")
	sha, err := h.Push(octoInfra, Push{
		Branch: "topic", Author: "hubot", Message: "Tidy up",
		Files:  map[string]File{"prod/new.tf": {Content: []byte("x")}, "prod/run": {Mode: "100755", Content: []byte("y")}, "staging": {Content: []byte("z")}},
		Remove: []string{"prod/deploy.sh"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"README.md": "100644 infra\n", "prod/main.tf": "100644 terraform {}\n",
		"prod/new.tf": "100644 x", "prod/run": "100755 y", "staging": "100644 z",
	}
	if diff := cmp.Diff(want, h.files(t, "topic")); diff != "" {
		t.Errorf("files after a push (-want +got):\n%s", diff)
	}
	commits, err := h.Commits(octoInfra, "topic")
	if err != nil {
		t.Fatal(err)
	}
	wantCommits := []Commit{
		{SHA: sha, Message: "Tidy up", Author: "hubot", Parents: []string{main}},
		{SHA: main, Message: "Initial commit", Author: "monalisa"},
	}
	if diff := cmp.Diff(wantCommits, commits); diff != "" {
		t.Errorf("commits, newest first (-want +got):\n%s", diff)
	}

	amended, err := h.Push(octoInfra, Push{Branch: "topic", Remove: []string{"prod"}, Amend: true})
	if err != nil {
		t.Fatal(err)
	}
	commits, err = h.Commits(octoInfra, "topic")
	if err != nil || len(commits) != 2 || commits[0].SHA != amended {
		t.Errorf("commits after an amended push = %v, %v", commits, err)
	}
	if diff := cmp.Diff(map[string]string{"README.md": "100644 infra\n", "staging": "100644 z"}, h.files(t, "topic")); diff != "" {
		t.Errorf("files after an amended push (-want +got):\n%s", diff)
	}

	for name, p := range map[string]Push{
		"absent_file": {Branch: "topic", Remove: []string{"nothing"}},
		"bad_path":    {Branch: "topic", Files: map[string]File{"a//b": {}}},
		"bad_mode":    {Branch: "topic", Files: map[string]File{"a": {Mode: "100600"}}},
		"bad_branch":  {Branch: "topic..", Files: map[string]File{"a": {}}},
	} {
		if _, err := h.Push(octoInfra, p); err == nil {
			t.Errorf("push with %s succeeded", name)
		}
	}
	if _, err := h.Push("octo/other", Push{Branch: "main"}); err == nil {
		t.Error("push to no repository succeeded")
	}
}

func TestPeopleMerge(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	h.push(t, "topic", "prod/main.tf", "changed")
	if _, err := h.Push(octoInfra, Push{Branch: "topic", Remove: []string{"README.md"}}); err != nil {
		t.Fatal(err)
	}
	h.open(t, "topic", "main")
	h.push(t, "main", "new", "x")
	head, base := h.head(t, "topic"), h.head(t, "main")

	sha, err := h.Merge(octoInfra, 1, "monalisa")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"new": "100644 x", "prod/main.tf": "100644 changed",
		"prod/deploy.sh": "100755 #!/bin/sh\n", "staging/main.tf": "120000 ../prod/main.tf",
	}
	if diff := cmp.Diff(want, h.files(t, "main")); diff != "" {
		t.Errorf("files after merging (-want +got):\n%s", diff)
	}
	commits, err := h.Commits(octoInfra, "main")
	if err != nil || commits[0].SHA != sha || !cmp.Equal(commits[0].Parents, []string{base, head}) || !commits[0].Verified {
		t.Errorf("merge commit = %v, %v", commits[0], err)
	}
	pulls, err := h.Pulls(octoInfra)
	if err != nil || !pulls[0].Merged || pulls[0].State != "closed" || pulls[0].ClosedBy != "monalisa" {
		t.Errorf("pull request = %v, %v", pulls, err)
	}
	if p := h.pullRequest(t, 1); !p.GetMerged() || p.GetMergeCommitSHA() != sha || p.MergedAt == nil || p.GetMergedBy().GetLogin() != "monalisa" {
		t.Errorf("merged pull request = %v", p)
	}
	if h.head(t, "topic") != head {
		t.Error("merging took the branch away")
	}
	if _, err := h.Merge(octoInfra, 1, "monalisa"); err == nil {
		t.Error("a second merge succeeded")
	}
}

func TestPeopleMergeConflict(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	h.push(t, "topic", "README.md", "mine")
	h.open(t, "topic", "main")
	h.push(t, "main", "README.md", "theirs")
	if _, err := h.Merge(octoInfra, 1, "monalisa"); err == nil || !strings.Contains(err.Error(), "conflict in README.md") {
		t.Errorf("merge = %v, want a conflict", err)
	}
	if p := h.pullRequest(t, 1); p.GetState() != "open" {
		t.Errorf("pull request after a conflict is %s", p.GetState())
	}
}

func TestPeopleTalk(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	sha := h.push(t, "topic", "f", "1")
	number, err := h.Open(octoInfra, "topic", "main", "Topic", "hubot")
	if err != nil {
		t.Fatal(err)
	}
	id, err := h.Comment(octoInfra, number, "monalisa", "/relock rebase")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Edit(octoInfra, number, "", "a body"); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(octoInfra, number, "monalisa"); err != nil {
		t.Fatal(err)
	}
	pulls, err := h.Pulls(octoInfra)
	if err != nil {
		t.Fatal(err)
	}
	want := []PullRequest{{
		Number: 1, Title: "Topic", Body: "a body", State: "closed", Author: "hubot", ClosedBy: "monalisa",
		Head: "topic", HeadOwner: "octo", HeadSHA: sha, Base: "main",
		Comments: []Comment{{ID: id, Author: "monalisa", Body: "/relock rebase"}}, ChangedFiles: []string{"f"},
	}}
	if diff := cmp.Diff(want, pulls); diff != "" {
		t.Errorf("pull requests (-want +got):\n%s", diff)
	}
	if err := h.Close(octoInfra, number, "monalisa"); err == nil {
		t.Error("a second close succeeded")
	}
	if _, err := h.Comment(octoInfra, 9, "monalisa", "x"); err == nil {
		t.Error("a comment on no pull request succeeded")
	}
}

func TestClone(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	h.push(t, "main", "prod/new.tf", "x\n")
	dir := filepath.Join(t.TempDir(), "deep", "clone")
	sha, err := h.Clone(octoInfra, "main", dir)
	if err != nil {
		t.Fatal(err)
	}
	if sha != h.head(t, "main") {
		t.Errorf("Clone = %s, want the branch's %s", sha, h.head(t, "main"))
	}

	clone, err := git.PlainOpen(dir)
	if err != nil {
		t.Fatal(err)
	}
	head, err := clone.Head()
	if err != nil || head.Hash().String() != sha || head.Name() != "refs/heads/main" {
		t.Errorf("HEAD = %v, %v; want main at %s", head, err, sha)
	}
	tree, err := clone.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	if status, err := tree.Status(); err != nil || !status.IsClean() {
		t.Errorf("status = %v, %v; want it clean", status, err)
	}
	origin, err := clone.Remote("origin")
	if err != nil || origin.Config().URLs[0] != "https://github.com/octo/infra.git" {
		t.Errorf("origin = %v, %v", origin, err)
	}
	log, err := clone.Log(&git.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := log.Next(); err != nil {
			t.Errorf("history ends early: %v", err)
		}
	}

	if content, err := os.ReadFile(filepath.Join(dir, "prod", "new.tf")); string(content) != "x\n" {
		t.Errorf("file = %q, %v", content, err)
	}
	if target, err := os.Readlink(filepath.Join(dir, "staging", "main.tf")); target != "../prod/main.tf" {
		t.Errorf("link = %q, %v", target, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "prod", "deploy.sh")); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("script = %v, %v; want it executable", info, err)
	}
	if _, err := h.Clone(octoInfra, "nothing", t.TempDir()); err == nil {
		t.Error("a clone of no branch succeeded")
	}
}
