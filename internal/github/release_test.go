package github_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

func (f *fake) client(t *testing.T) *github.Client {
	t.Helper()
	c, err := github.New(github.Options{Access: github.Access{API: f.URL + "/api/v3", Token: token}, HTTP: f.Client(), Clock: f.clock()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReleasesAreOneQuestion(t *testing.T) {
	f, _ := start(t, ok(`{"data": {
		"r0": {"t0": {"tagName": "v2.0.0", "url": "https://github.com/a/b/releases/tag/v2.0.0", "description": "text", "publishedAt": "2026-01-02T03:04:05Z"}, "t1": null},
		"r1": null
	}, "errors": [{"type": "NOT_FOUND", "path": ["r1"], "message": "Could not resolve to a Repository with the name 'c/d'."}]}`))
	got, err := f.client(t).Releases(t.Context(), []provider.Tagged{
		{Owner: "a", Name: "b", Tags: []string{"v2.0.0", `v1") { id } x: release(tagName: "`}}, {Owner: "c", Name: "d", Tags: []string{"v1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]provider.Announcement{{{
		Tag: "v2.0.0", URL: "https://github.com/a/b/releases/tag/v2.0.0", Text: "text",
		Published: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}}, nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Releases (-want +got):\n%s", diff)
	}
	if len(f.asked) != 1 {
		t.Fatalf("%d requests, want 1: %q", len(f.asked), f.asked)
	}
	if query, _, _ := strings.Cut(f.asked[0], `"variables"`); strings.Contains(query, "v2.0.0") || strings.Contains(query, "id }") {
		t.Errorf("a text from outside is part of the query: %s", query)
	}
}

func TestReleasesOfManyTagsAreAskedInParts(t *testing.T) {
	f, _ := start(t, ok(`{"data": {}}`))
	var asked []provider.Tagged
	for i := range 30 {
		asked = append(asked, provider.Tagged{Owner: "o", Name: fmt.Sprint("r", i), Tags: strings.Split("1 2 3 4 5 6 7 8", " ")})
	}
	if _, err := f.client(t).Releases(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	if len(f.asked) != 3 {
		t.Errorf("240 tags took %d requests, want 3", len(f.asked))
	}
}

func TestReleasesFail(t *testing.T) {
	for name, answer := range map[string]reply{
		"refused":      {status: 403, body: `{"message": "Resource not accessible by integration"}`},
		"inside":       ok(`{"data": null, "errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}`),
		"server error": {status: 502},
	} {
		f, _ := start(t, answer)
		_, err := f.client(t).Releases(t.Context(), []provider.Tagged{{Owner: "a", Name: "b", Tags: []string{"v1"}}})
		if !problem.Coded(err, problem.CodeGitHub) || !strings.HasPrefix(err.Error(), "reading release notes: GitHub answered") {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

func TestFiles(t *testing.T) {
	f, _ := start(t, ok(`{"data": {"r0": {"file": {"byteSize": 4, "isTruncated": false, "text": "text"}}, "r1": {"file": null},
		"r2": {"file": {"byteSize": 2000000, "isTruncated": false, "text": "large"}}, "r3": {"file": {}}}}`))
	got, err := f.client(t).Files(t.Context(), []provider.Tagged{{Owner: "a", Name: "a"}, {Owner: "a", Name: "b"}, {Owner: "a", Name: "c"}, {Owner: "a", Name: "d"}}, "CHANGELOG.md")
	if diff := cmp.Diff([]string{"text", "", "", ""}, got); diff != "" || err != nil {
		t.Errorf("Files: %v (-want +got):\n%s", err, diff)
	}
	if none, err := f.client(t).Files(t.Context(), nil, "CHANGELOG.md"); len(none) != 0 || err != nil || len(f.asked) != 1 {
		t.Errorf("asking for nothing: %q, %v after %d requests", none, err, len(f.asked))
	}
}
