package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

const releasesWorld = `
-- registry/registry.terraform.io/acme/tool --
source: https://github.com/acme/terraform-provider-tool
versions:
  1.0.0: {published: 2026-01-02}
  1.1.0: {tag: release-1.1.0}
-- releases/acme/terraform-provider-tool/v1.0.0.md --
published: 2026-01-02
First.
-- releases/acme/terraform-provider-tool/release-1.1.0.md --
Second.
-- github/acme/other/main/CHANGELOG.md --
# 1.0.0
`

func startReleases(t *testing.T, text string) *Sandbox {
	t.Helper()
	world, err := ParseWorld(txtar.Parse([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(world)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestReleasesAndFilesInGraphQL(t *testing.T) {
	t.Parallel()
	s := startReleases(t, releasesWorld)
	query := `{
		tool: repository(owner: "acme", name: "terraform-provider-tool") {
			a: release(tagName: "v1.0.0") { tagName description publishedAt }
			b: release(tagName: "release-1.1.0") { description url }
			c: release(tagName: "v9") { description }
			none: object(expression: "HEAD:CHANGELOG.md") { ... on Blob { text } }
		}
		other: repository(owner: "acme", name: "other") {
			file: object(expression: "HEAD:CHANGELOG.md") { ... on Blob { byteSize isTruncated text } ... on Commit { tree { oid } } }
		}
	}`
	body, err := json.Marshal(map[string]any{"query": query})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, s.GraphQL(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+ReadOnlyToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got gqlAnswer
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"tool": map[string]any{
			"a":    map[string]any{"tagName": "v1.0.0", "description": "First.\n", "publishedAt": "2026-01-02T00:00:00Z"},
			"b":    map[string]any{"description": "Second.\n", "url": "https://github.com/acme/terraform-provider-tool/releases/tag/release-1.1.0"},
			"c":    nil,
			"none": nil,
		},
		"other": map[string]any{"file": map[string]any{
			"byteSize": 8.0, "isTruncated": false, "text": "# 1.0.0\n",
		}},
	}
	if diff := cmp.Diff(want, got.Data); diff != "" || len(got.Errors) > 0 {
		t.Errorf("errors %v, data (-want +got):\n%s", got.messages(), diff)
	}
}

func TestVersionDetailTellsTheSource(t *testing.T) {
	t.Parallel()
	s := startReleases(t, releasesWorld)
	for version, want := range map[string]string{
		"1.0.0": `"source":"https://github.com/acme/terraform-provider-tool","tag":"v1.0.0","published_at":"2026-01-02T00:00:00Z"`,
		"1.1.0": `"source":"https://github.com/acme/terraform-provider-tool","tag":"release-1.1.0"`,
	} {
		resp, err := http.Get(s.URL() + "/registry.terraform.io/v1/providers/acme/tool/" + version)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s, %v, want %s in it", version, body, err, want)
		}
	}
}
