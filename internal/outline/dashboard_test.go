package outline

import (
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/upgrade"
)

// A run that asks for no dates must not rewrite the issue.
func TestAGlanceHasNoDates(t *testing.T) {
	t.Parallel()
	facts := upgrade.Facts{Held: []upgrade.Held{{Version: provider.Version{Major: 2}, Published: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)}}}
	r := report.Report{Modules: []report.Module{{
		Dir:     "live",
		Kept:    []report.Kept{{Addr: provider.Addr{Type: "kept"}, Facts: facts}},
		Changes: []report.Change{{Change: diff.Change{Addr: provider.Addr{Type: "changed"}, Kind: diff.Upgraded}, Facts: facts}},
	}}}
	for _, c := range Of(r).Held {
		if !strings.Contains(c.Text.Plain(), "released 2026-03-04") {
			t.Errorf("a report says %q, without the date", c.Text.Plain())
		}
	}
	held := GlanceOf(r).Held
	if len(held) != 2 {
		t.Fatalf("%d providers are held, want 2", len(held))
	}
	for _, c := range held {
		if text := c.Text.Plain(); strings.Contains(text, "released") || !strings.Contains(text, "2.0.0") {
			t.Errorf("the issue says %q", text)
		}
	}
}
