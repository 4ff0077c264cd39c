package notes

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

// shapes are texts whose cost grew faster than they do, or might.
var shapes = map[string]func(n int) string{
	"newlines":       func(n int) string { return "x" + strings.Repeat("\n", n) + "x" },
	"short lines":    func(n int) string { return strings.Repeat("a\n", n/2) },
	"headings":       func(n int) string { return strings.Repeat("## a\nb\n", n/7) },
	"headings alone": func(n int) string { return strings.Repeat("# a\n", n/4) },
	"capitals":       func(n int) string { return strings.Repeat("AAAA:\nb\n", n/8) },
	"a long heading": func(n int) string { return "# " + strings.Repeat("#", n) + "x\nb\n" },
	"a long line":    func(n int) string { return strings.Repeat("a", n) },
	"fences":         func(n int) string { return strings.Repeat("```\na\n```\n", n/10) },
	"breaking":       func(n int) string { return "# BREAKING CHANGES\n" + strings.Repeat("* it is gone\n", n/13) },
}

// Twice the text costs about twice the memory. It runs beside no other test.
func TestSectionsCostWhatTheyHold(t *testing.T) {
	v, err := provider.ParseVersion("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for name, shape := range shapes {
		half := allocated("# 1.2.3\n"+shape(maxText/2), v)
		whole := allocated("# 1.2.3\n"+shape(maxText), v)
		if whole > half*5/2+64<<10 {
			t.Errorf("%s: %d bytes, and %d for twice the text", name, half, whole)
		}
	}
}

// allocated is how many bytes the reading of a text allocates: the least of
// five readings. A collection of garbage between two readings empties the pools
// of package regexp, which the next reading fills again.
func allocated(text string, v provider.Version) uint64 {
	least := uint64(math.MaxUint64)
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sections(chapter(text, v))
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

// A run keeps a bounded part of what publishers say, and the most important of it.
func TestReadKeepsWhatMattersMost(t *testing.T) {
	const line = "* something has changed\n"
	other, breaks := strings.Repeat(line, 60<<10/len(line)), strings.Repeat("* it is gone\n", 40<<10/13)
	var all []Notes
	for range 10 {
		all = append(all, Notes{Releases: []Release{{Sections: sections(other + "# BREAKING CHANGES\n" + breaks)}, {Sections: sections(breaks)}}})
	}
	all = append(all, Notes{Releases: []Release{{Sections: sections("# BREAKING CHANGES\n" + strings.Repeat("* it is gone\n", 200<<10/13))}}})
	keepMost(all)
	total := 0
	for i, n := range all {
		for j, rel := range n.Releases {
			size := 0
			for _, s := range rel.Sections {
				size += len(s.Text) + len(s.Title)
				if s.Kind == Breaking && i < 10 && len(s.Text) != len(strings.TrimSuffix(breaks, "\n")) {
					t.Errorf("of a breaking section %d bytes are kept, of %d", len(s.Text), len(breaks))
				}
				if text := s.Text + "\n"; !strings.HasSuffix(text, "changed\n") && !strings.HasSuffix(text, "gone\n") {
					t.Errorf("a section ends with %q", text[len(text)-20:])
				}
			}
			if size > keptOfRelease {
				t.Errorf("upgrade %d, release %d: %d bytes, cut: %t", i, j, size, rel.Cut)
			}
			total += size
		}
	}
	if total > keptOfRun {
		t.Errorf("%d bytes of a run are kept, want at most %d", total, keptOfRun)
	}
	if last := all[10].Releases[0]; len(last.Sections) != 1 || !last.Cut {
		t.Errorf("of one section of 200 kB %d are kept, cut: %t", len(last.Sections), last.Cut)
	}
	small := []Notes{{Releases: []Release{{Sections: sections("Fine.\n")}}}}
	if keepMost(small); small[0].Releases[0].Cut || fmt.Sprint(small[0].Releases[0].Sections) != "[{3  Fine.}]" {
		t.Errorf("small notes became %+v", small)
	}
}

// ending is a hub whose answers come when the run is over.
type ending struct{ stop context.CancelFunc }

func (e ending) Releases(_ context.Context, asked []provider.Tagged) ([][]provider.Announcement, error) {
	e.stop()
	return make([][]provider.Announcement, len(asked)), nil
}

func (e ending) Files(_ context.Context, asked []provider.Tagged, _ string) ([]string, error) {
	return make([]string, len(asked)), nil
}

func TestNothingIsLookedAtAfterTheEnd(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	all := []Notes{{Releases: []Release{{}}}}
	all[0].Repository = provider.Repository{Host: "github.com", Owner: "acme", Name: "tool"}
	reader{hub: ending{stop}}.releases(ctx, all)
	if all[0].Problem != overBefore {
		t.Errorf("problem = %q, want %q", all[0].Problem, overBefore)
	}
}
