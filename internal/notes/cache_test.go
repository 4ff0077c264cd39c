package notes_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/provider"
)

// said asks a cached hub for tags of acme/tool and returns what it has.
func said(t *testing.T, h notes.Hub, tags ...string) []string {
	t.Helper()
	found, err := h.Releases(t.Context(), []provider.Tagged{{Owner: "acme", Name: "empty"}, {Owner: "acme", Name: "tool", Tags: tags}})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range found[1] {
		texts = append(texts, f.Tag+" "+f.Text)
	}
	slices.Sort(texts)
	return texts
}

// reopened saves a cache and reads it again.
func reopened(t *testing.T, c *notes.Cache, path string) *notes.Cache {
	t.Helper()
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	c, err := notes.OpenCache(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCacheAsksForEachReleaseOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "notes")
	c, err := notes.OpenCache(path)
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{texts: map[string]string{"v1.0.0": "one", "v1.1.0": "two", "v1.2.0": ""}}
	steps := []struct {
		server, tags, want string
		asked              []string
	}{
		{"github.com", "v1.0.0 v1.2.0", "v1.0.0 one, v1.2.0 ", []string{"acme/tool v1.0.0 v1.2.0"}},
		{"github.com", "v1.0.0", "v1.0.0 one", nil},
		{"github.com", "v1.0.0 v1.1.0", "v1.0.0 one, v1.1.0 two", []string{"acme/tool v1.1.0"}},
		// There may be a text tomorrow.
		{"github.com", "v1.2.0 v9.0.0", "v1.2.0 ", []string{"acme/tool v1.2.0 v9.0.0"}},
		{"github.example.com", "v1.0.0", "v1.0.0 one", []string{"acme/tool v1.0.0"}},
	}
	for _, s := range steps {
		h.asked = nil
		if got := strings.Join(said(t, notes.Cached(h, s.server, c), strings.Fields(s.tags)...), ", "); got != s.want {
			t.Errorf("%s on %s: %q, want %q", s.tags, s.server, got, s.want)
		}
		if !slices.Equal(h.asked, s.asked) {
			t.Errorf("%s on %s: asked %q, want %q", s.tags, s.server, h.asked, s.asked)
		}
		c = reopened(t, c, path)
	}
}

func TestCacheServesWhereTheHubFails(t *testing.T) {
	t.Parallel()
	c, err := notes.OpenCache(filepath.Join(t.TempDir(), "notes"))
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{texts: map[string]string{"v1.0.0": "one"}}
	said(t, notes.Cached(h, "github.com", c), "v1.0.0")
	h.texts, h.err = nil, errors.New("limit")
	found, err := notes.Cached(h, "github.com", c).Releases(t.Context(), []provider.Tagged{{Owner: "acme", Name: "tool", Tags: []string{"v2.0.0", "v1.0.0"}}})
	if !errors.Is(err, h.err) || len(found) != 1 || len(found[0]) != 1 || found[0][0].Text != "one" {
		t.Errorf("found %+v, error %v", found, err)
	}
}

func TestNoCacheRemembersNothing(t *testing.T) {
	t.Parallel()
	var c *notes.Cache
	h := &hub{texts: map[string]string{"v1.0.0": "one"}}
	for range 2 {
		if got := said(t, notes.Cached(h, "github.com", c), "v1.0.0"); !slices.Equal(got, []string{"v1.0.0 one"}) {
			t.Errorf("said %q", got)
		}
	}
	if len(h.asked) != 2 {
		t.Errorf("asked %q", h.asked)
	}
	if err := c.Save(); err != nil {
		t.Error(err)
	}
}

func TestCacheKeepsWhatWasUsedLast(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes")
	c, err := notes.OpenCache(path)
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{texts: map[string]string{"long": strings.Repeat("x", 300<<10)}}
	var tags []string
	for i := range 50 {
		tags = append(tags, fmt.Sprint("v", i))
		h.texts[tags[i]] = strings.Repeat("<&>", 40<<10)
	}
	said(t, notes.Cached(h, "github.com", c), append(tags, "long")...)
	said(t, notes.Cached(h, "github.com", c), tags[0])
	c = reopened(t, c, path)
	if info, err := os.Stat(path); err != nil || info.Size() > 4<<20 || info.Size() < 3<<20 || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	h.asked = nil
	said(t, notes.Cached(h, "github.com", c), tags[0], tags[49], tags[1], "long")
	if want := []string{"acme/tool v1 long"}; !slices.Equal(h.asked, want) {
		t.Errorf("asked %q, want %q", h.asked, want)
	}
}

func TestCacheLeavesOtherFilesAlone(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON": "precious\n", "other JSON": `{"precious": true}`, "another version": `{"relock_notes": 2, "releases": []}`, "too long": strings.Repeat(" ", 5<<20),
	} {
		path := filepath.Join(t.TempDir(), "notes")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := notes.OpenCache(path); !errors.Is(err, notes.ErrNoCache) || c != nil {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
