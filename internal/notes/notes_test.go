package notes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/provider"
)

// registry is a Source whose providers have the versions and the repository.
type registry struct {
	versions   []string
	repository provider.Repository
	err        error
}

func (r registry) Versions(context.Context, provider.Tool, provider.Addr) (provider.Offer, error) {
	var all []provider.Release
	for _, v := range r.versions {
		all = append(all, provider.Release{Version: version(v)})
	}
	return provider.Offer{Releases: all}, nil
}

func (r registry) Repository(context.Context, provider.Tool, provider.Want) (provider.Repository, error) {
	return r.repository, r.err
}

// hub is a Hub with the texts of tags and one CHANGELOG.md for all.
type hub struct {
	texts     map[string]string
	changelog string
	err       error
	asked     []string
}

func (h *hub) Releases(_ context.Context, asked []provider.Tagged) ([][]provider.Announcement, error) {
	found := make([][]provider.Announcement, len(asked))
	for i, a := range asked {
		h.asked = append(h.asked, fmt.Sprintf("%s/%s %s", a.Owner, a.Name, strings.Join(a.Tags, " ")))
		for _, tag := range a.Tags {
			if text, ok := h.texts[tag]; ok {
				found[i] = append(found[i], provider.Announcement{Tag: tag, URL: "https://github.com/x/" + tag, Text: text})
			}
		}
	}
	return found, h.err
}

func (h *hub) Files(_ context.Context, asked []provider.Tagged, path string) ([]string, error) {
	h.asked = append(h.asked, path)
	return slices.Repeat([]string{h.changelog}, len(asked)), h.err
}

func version(s string) provider.Version {
	v, err := provider.ParseVersion(s)
	if err != nil {
		panic(err)
	}
	return v
}

func addr(typ string) provider.Addr {
	return provider.Addr{Host: provider.Terraform.DefaultHost(), Namespace: "acme", Type: typ}
}

func upgrade(typ, from, to string) notes.Upgrade {
	return notes.Upgrade{Addr: addr(typ), From: version(from), To: version(to)}
}

func repository(tag string) provider.Repository {
	return provider.Repository{Host: "github.com", Owner: "acme", Name: "tool", Tag: tag}
}

func TestReadTakesTheReleasesThatMatter(t *testing.T) {
	src := registry{
		versions:   []string{"5.0.0", "5.1.0", "6.0.0-beta1", "6.0.0", "6.1.0", "6.2.0", "6.3.0", "7.0.0", "7.1.0", "7.2.0", "8.0.0"},
		repository: repository("v7.2.0"),
	}
	h := &hub{texts: map[string]string{"v7.2.0": "seven two"}}
	got := notes.Read(t.Context(), src, h, "github.com", []notes.Upgrade{upgrade("tool", "5.0.0", "7.2.0"), upgrade("tool", "7.1.0", "7.2.0")})
	var versions []string
	for _, r := range got[0].Releases {
		versions = append(versions, r.Version.String())
	}
	if diff := cmp.Diff([]string{"7.2.0", "7.1.0", "7.0.0", "6.3.0", "6.0.0"}, versions); diff != "" || got[0].More != 3 {
		t.Errorf("%d more, releases (-want +got):\n%s", got[0].More, diff)
	}
	if want := []string{"acme/tool v7.2.0 v7.1.0 v7.0.0 v6.3.0 v6.0.0", "CHANGELOG.md"}; !slices.Equal(h.asked, want) {
		t.Errorf("asked %q, want %q", h.asked, want)
	}
	if s := got[1].Releases[0].Sections; len(s) != 1 || s[0].Text != "seven two" || got[1].Problem != "" {
		t.Errorf("notes of the second upgrade: %+v", got[1])
	}
}

func TestReadFindsTagsByTheNewest(t *testing.T) {
	for tag, want := range map[string]string{
		"":              "acme/tool v1.1.0 1.1.0",
		"v1.1.0":        "acme/tool v1.1.0",
		"release/1.1.0": "acme/tool release/1.1.0",
		"odd":           "acme/tool odd",
	} {
		h := &hub{}
		notes.Read(t.Context(), registry{repository: repository(tag)}, h, "github.com", []notes.Upgrade{upgrade("tool", "1.0.0", "1.1.0")})
		if len(h.asked) == 0 || h.asked[0] != want {
			t.Errorf("with tag %q asked %q, want %q", tag, h.asked, want)
		}
	}
}

func TestReadSaysInALineWhatIsMissing(t *testing.T) {
	for _, tt := range []struct {
		name string
		src  registry
		hub  *hub
		want string
	}{
		{"registry fails", registry{err: errors.New("no answer")}, &hub{}, "no answer"},
		{"no repository", registry{}, &hub{}, "the registry does not say where the source is"},
		{"elsewhere", registry{repository: provider.Repository{Host: "gitlab.com", Owner: "a", Name: "b"}}, &hub{}, "the source is on gitlab.com, and this run reads github.com"},
		{"hub fails", registry{repository: repository("")}, &hub{err: errors.New("reading release notes: limit")}, "reading release notes: limit"},
		{"nothing there", registry{repository: repository("")}, &hub{}, "nothing is said about these releases"},
	} {
		got := notes.Read(t.Context(), tt.src, tt.hub, "github.com", []notes.Upgrade{upgrade("tool", "1.0.0", "1.1.0")})
		if got[0].Problem != tt.want {
			t.Errorf("%s: problem = %q, want %q", tt.name, got[0].Problem, tt.want)
		}
	}
	if got := notes.Read(t.Context(), registry{}, &hub{}, "github.com", nil); len(got) != 0 {
		t.Errorf("notes of nothing: %+v", got)
	}
}

const hashicorp = `NOTES:

* provider: Go 1.24

BREAKING CHANGES:

* resource/aws_x: removed ([#1](https://github.com/x/y/issues/1))
* resource/aws_y: gone

FEATURES:

* **New Resource:** ` + "`aws_z`" + `
`

func TestSectionsPutFirstWhatMatters(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"HashiCorp's capitals", hashicorp, "BREAKING CHANGES, NOTES, FEATURES"},
		{"release-please", "## [2.0.0](https://x) (2026-01-01)\n\n### Features\n\n* a\n\n### ⚠ BREAKING CHANGES\n\n* b\n\n#### How to migrate\n\ntext\n\n### Bug Fixes\n\n* c\n", "⚠ BREAKING CHANGES, Features, Bug Fixes"},
		{"no headings", "just text\n", ""},
		{"deprecations", "## Changes\n\n- a\n\n## Deprecations\n\n- b\n\n## Upgrade notes\n\n- c\n", "Upgrade notes, Deprecations, Changes"},
		{"code is no heading", "```\nBREAKING CHANGES:\n# x\n```\n", ""},
		{"fence of another kind", "~~~\n```\n# x\n~~~\n# y\ntext\n", ", y"},
		{"an empty section is none", "# Breaking\n\n# Other\ntext\n", "Other"},
	} {
		h := &hub{texts: map[string]string{"1.1.0": tt.text}}
		got := notes.Read(t.Context(), registry{repository: repository("1.1.0")}, h, "github.com", []notes.Upgrade{upgrade("tool", "1.0.0", "1.1.0")})
		var titles []string
		for _, s := range got[0].Releases[0].Sections {
			titles = append(titles, s.Title)
		}
		if joined := strings.Join(titles, ", "); joined != tt.want || len(titles) == 0 {
			t.Errorf("%s: sections %q, want %q", tt.name, joined, tt.want)
		}
	}
}

func TestChangelogServesWhereReleasesSayNothing(t *testing.T) {
	const changelog = "# Changelog\n\n## 1.1.0-beta1\n\nbeta\n\n## 1.11.0\n\neleven\n\n## [v1.1.0] - 2026-01-01\n\n### Fixed\n\n- a bug\n\n## 1.0.0\n\nfirst\n"
	for name, text := range map[string]string{
		"empty": "", "pointer": "See the [CHANGELOG](https://github.com/acme/tool/blob/main/CHANGELOG.md).",
	} {
		h := &hub{texts: map[string]string{"v1.1.0": text}, changelog: changelog}
		got := notes.Read(t.Context(), registry{repository: repository("v1.1.0")}, h, "github.com", []notes.Upgrade{upgrade("tool", "1.0.0", "1.1.0")})
		want := []notes.Section{{Kind: notes.Other, Title: "Fixed", Text: "- a bug"}}
		if diff := cmp.Diff(want, got[0].Releases[0].Sections); diff != "" {
			t.Errorf("%s: sections (-want +got):\n%s", name, diff)
		}
	}
	h := &hub{texts: map[string]string{"v1.1.0": "a text"}, changelog: changelog}
	notes.Read(t.Context(), registry{repository: repository("v1.1.0")}, h, "github.com", []notes.Upgrade{upgrade("tool", "1.0.0", "1.1.0")})
	if slices.Contains(h.asked, "CHANGELOG.md") {
		t.Error("CHANGELOG.md is read though the release says something")
	}
}
