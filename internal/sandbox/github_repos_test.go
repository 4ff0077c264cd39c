package sandbox

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"
)

func TestGitHubRepositoryCommit(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	sha := h.push(t, "main", "prod/main.tf", "terraform {}\n# more\n")

	c := must[*github.RepositoryCommit](t)(h.Repositories.GetCommit(ctx, "octo", "infra", "main", nil))
	if c.GetSHA() != sha || c.GetAuthor().GetLogin() != "monalisa" || c.GetCommit().GetMessage() != "Change files" {
		t.Errorf("commit = %v", c)
	}
	if len(c.Files) != 1 || c.Files[0].GetFilename() != "prod/main.tf" || c.Files[0].GetStatus() != "modified" || c.Stats.GetAdditions() != 1 || c.Stats.GetDeletions() != 0 {
		t.Errorf("files = %v, stats = %v", c.Files, c.Stats)
	}
	if want := "@@ -1 +1,2 @@\n terraform {}\n+# more"; c.Files[0].GetPatch() != want {
		t.Errorf("patch = %q, want %q", c.Files[0].GetPatch(), want)
	}
	if first := must[*github.RepositoryCommit](t)(h.Repositories.GetCommit(ctx, "octo", "infra", c.Parents[0].GetSHA(), nil)); len(first.Files) != 4 {
		t.Errorf("first commit adds %d files, want 4", len(first.Files))
	}
	_, _, err := h.Repositories.GetCommit(ctx, "octo", "infra", "nothing", nil)
	wantRefusal(t, err, 422, "No commit found for SHA: nothing")
}

func TestGitHubCommitSHA1(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	main := h.head(t, "main")
	if sha := must[string](t)(h.Repositories.GetCommitSHA1(ctx, "octo", "infra", "main", "")); sha != main {
		t.Errorf("SHA = %s, want %s", sha, main)
	}
	if _, resp, err := h.Repositories.GetCommitSHA1(ctx, "octo", "infra", "main", main); resp.StatusCode != 304 {
		t.Errorf("answer to the last SHA = %v, %v; want 304", resp.Status, err)
	}
}

func TestGitHubListsCommits(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	shas := []string{h.head(t, "main"), h.push(t, "main", "a", "1"), h.push(t, "main", "b", "1"), h.push(t, "main", "a", "2")}
	list := func(path string, page int) []string {
		o := &github.CommitsListOptions{SHA: "main", Path: path, ListOptions: github.ListOptions{Page: page, PerPage: 3}}
		var got []string
		for _, c := range must[[]*github.RepositoryCommit](t)(h.Repositories.ListCommits(ctx, "octo", "infra", o)) {
			got = append(got, c.GetSHA())
		}
		return got
	}
	if diff := cmp.Diff([]string{shas[3], shas[2], shas[1]}, list("", 1)); diff != "" {
		t.Errorf("first page (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{shas[0]}, list("", 2)); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{shas[3], shas[1]}, list("a", 1)); diff != "" {
		t.Errorf("commits of one file (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{shas[0]}, list("prod", 1)); diff != "" {
		t.Errorf("commits of a directory (-want +got):\n%s", diff)
	}
}

func TestGitHubCompares(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	fork := h.head(t, "main")
	one, two := h.push(t, "topic/x", "a", "1\n2\n"), h.push(t, "topic/x", "prod/main.tf", "")
	h.push(t, "main", "b", "1\n")

	tests := []struct {
		base, head, status string
		ahead, behind      int
	}{
		{"main", "main", "identical", 0, 0},
		{fork, "topic/x", "ahead", 2, 0},
		{"topic/x", fork, "behind", 0, 2},
		{"main", "topic/x", "diverged", 2, 1},
		{"octo:main", "octo:topic/x", "diverged", 2, 1},
	}
	for _, tt := range tests {
		c := must[*github.CommitsComparison](t)(h.Repositories.CompareCommits(ctx, "octo", "infra", tt.base, tt.head, nil))
		if c.GetStatus() != tt.status || c.GetAheadBy() != tt.ahead || c.GetBehindBy() != tt.behind {
			t.Errorf("compare %s...%s = %s, %d ahead, %d behind; want %s, %d, %d", tt.base, tt.head,
				c.GetStatus(), c.GetAheadBy(), c.GetBehindBy(), tt.status, tt.ahead, tt.behind)
		}
	}

	c := must[*github.CommitsComparison](t)(h.Repositories.CompareCommits(ctx, "octo", "infra", "main", "topic/x", nil))
	if c.MergeBaseCommit.GetSHA() != fork || len(c.Commits) != 2 || c.Commits[0].GetSHA() != one || c.Commits[1].GetSHA() != two {
		t.Errorf("comparison = %v, want the commits %s and %s on %s", c, one, two, fork)
	}
	var files []string
	for _, f := range c.Files {
		files = append(files, fmt.Sprintf("%s %s +%d -%d", f.GetStatus(), f.GetFilename(), f.GetAdditions(), f.GetDeletions()))
	}
	if diff := cmp.Diff([]string{"added a +2 -0", "modified prod/main.tf +0 -1"}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	_, _, err := h.Repositories.CompareCommits(ctx, "octo", "infra", "main", "nothing", nil)
	wantRefusal(t, err, 404, "Not Found")
}

func TestGitHubCompareLimits(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	files := map[string]File{}
	for i := range maxCompareFiles + 1 {
		files[fmt.Sprintf("many/%03d", i)] = File{Content: []byte("x")}
	}
	if _, err := h.Push(octoInfra, Push{Branch: "topic", Files: files}); err != nil {
		t.Fatal(err)
	}
	c := must[*github.CommitsComparison](t)(h.Repositories.CompareCommits(ctx, "octo", "infra", "main", "topic", nil))
	if len(c.Files) != 300 {
		t.Errorf("comparison lists %d files, want GitHub's limit of 300", len(c.Files))
	}
	if _, err := h.Push(octoInfra, Push{Branch: "topic", Files: map[string]File{"more": {}}}); err != nil {
		t.Fatal(err)
	}
	for number, want := range map[int]struct{ commits, files, next int }{1: {1, 300, 2}, 2: {1, 0, 0}} {
		c, resp, err := h.Repositories.CompareCommits(ctx, "octo", "infra", "main", "topic", &github.ListOptions{Page: number, PerPage: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Commits) != want.commits || len(c.Files) != want.files || resp.NextPage != want.next || c.GetTotalCommits() != 2 {
			t.Errorf("page %d has %d commits and %d files of %d, next is page %d; want %+v", number, len(c.Commits), len(c.Files), c.GetTotalCommits(), resp.NextPage, want)
		}
	}
	wantRefusal(t, func() error {
		_, _, err := h.Repositories.CompareCommits(ctx, "octo", "infra", strings.Repeat("1", 40), "topic", nil)
		return err
	}(), 404, "Not Found")
}

func TestGitHubContents(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	get := func(path, ref string) (*github.RepositoryContent, []*github.RepositoryContent, error) {
		file, dir, _, err := h.Repositories.GetContents(ctx, "octo", "infra", path, &github.RepositoryContentGetOptions{Ref: ref})
		return file, dir, err
	}

	file, _, err := get("README.md", "release/1.0")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := file.GetContent(); text != "released\n" || err != nil {
		t.Errorf("content = %q, %v", text, err)
	}
	_, dir, err := get("prod", "")
	if err != nil || len(dir) != 2 || dir[0].GetPath() != "prod/deploy.sh" || dir[0].GetType() != "file" {
		t.Errorf("directory = %v, %v", dir, err)
	}
	if _, top, err := get("", ""); err != nil || len(top) != 3 || top[1].GetType() != "dir" {
		t.Errorf("top directory = %v, %v", top, err)
	}
	if link, _, err := get("staging/main.tf", ""); err != nil || link.GetType() != "symlink" || link.GetTarget() != "../prod/main.tf" {
		t.Errorf("link = %v, %v", link, err)
	}
	_, _, err = get("missing", "")
	wantRefusal(t, err, 404, "Not Found")
	_, _, err = get("README.md", "nowhere")
	wantRefusal(t, err, 404, "No commit found for the ref nowhere")

	if _, raw := h.send(t, "GET", "/repos/octo/infra/contents/README.md", "", "Accept: application/vnd.github.raw"); raw != "infra\n" {
		t.Errorf("raw content = %q", raw)
	}
}

// exportAttributes exclude a directory, and so also the file in it that they
// include: archives do not descend into it.
const exportAttributes = "# archives\nhidden/ export-ignore\nhidden/a/b -export-ignore\nversion export-subst\n"

// exported pushes files that archives treat in a special way.
func (h *hub) exported(t *testing.T) string {
	t.Helper()
	sha, err := h.Push(octoInfra, Push{Branch: "main", Files: map[string]File{
		".gitattributes":      {Content: []byte(exportAttributes)},
		"prod/.gitattributes": {Content: []byte("*.tf export-ignore\n")},
		"hidden/a/b":          {Content: []byte("x")},
		"version":             {Content: []byte("$Format:%H$")},
		"vendored":            {Mode: "160000", Content: []byte(strings.Repeat("c", 40))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return sha
}

func TestGitHubTarball(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	sha := h.exported(t)

	link, _, err := h.Repositories.GetArchiveLink(ctx, "octo", "infra", github.Tarball, &github.RepositoryContentGetOptions{Ref: "main"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	resp, body := h.send(t, "GET", link.Path, "")
	if resp.StatusCode != 200 {
		t.Fatalf("archive = %s", resp.Status)
	}
	gz, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(gz); ; {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if e.Typeflag == tar.TypeXGlobalHeader {
			got = append(got, "comment "+e.PAXRecords["comment"])
			continue
		}
		got = append(got, fmt.Sprintf("%o %s %s%s", e.Mode, e.Name, e.Linkname, content))
	}
	top := "octo-infra-" + sha[:7] + "/"
	want := []string{
		"comment " + sha,
		"775 " + top + " ",
		"664 " + top + ".gitattributes " + exportAttributes,
		"664 " + top + "README.md infra\n",
		"775 " + top + "prod/ ",
		"664 " + top + "prod/.gitattributes *.tf export-ignore\n",
		"775 " + top + "prod/deploy.sh #!/bin/sh\n",
		"775 " + top + "staging/ ",
		"777 " + top + "staging/main.tf ../prod/main.tf",
		"775 " + top + "vendored/ ",
		"664 " + top + "version " + sha,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}

	if resp, _ := h.send(t, "GET", "/repos/octo/infra/tarball", ""); resp.StatusCode != 302 || !strings.HasSuffix(resp.Header.Get("Location"), sha) {
		t.Errorf("archive of the default branch = %s to %s", resp.Status, resp.Header.Get("Location"))
	}
	if resp, _ := h.send(t, "GET", "/repos/octo/infra/tarball/nothing", ""); resp.StatusCode != 404 {
		t.Errorf("archive of an unknown ref = %s, want 404", resp.Status)
	}
}

func TestGitHubZipball(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	sha := h.exported(t)
	resp, _ := h.send(t, "GET", "/repos/octo/infra/zipball/main", "")
	_, path, _ := strings.Cut(resp.Header.Get("Location"), h.url)
	_, body := h.send(t, "GET", path, "")
	r, err := zip.NewReader(bytes.NewReader([]byte(body)), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]string{}
	for _, f := range r.File {
		modes[strings.TrimPrefix(f.Name, "octo-infra-"+sha[:7])] = f.Mode().String()
	}
	want := map[string]string{
		"/": "drwxrwxr-x", "/.gitattributes": "-rw-rw-r--", "/README.md": "-rw-rw-r--", "/prod/": "drwxrwxr-x",
		"/prod/.gitattributes": "-rw-rw-r--", "/prod/deploy.sh": "-rwxrwxr-x", "/staging/": "drwxrwxr-x",
		"/staging/main.tf": "Lrwxrwxrwx", "/vendored/": "drwxrwxr-x", "/version": "-rw-rw-r--",
	}
	if diff := cmp.Diff(want, modes); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
}
