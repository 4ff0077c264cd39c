package render_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/sandbox/trusted"
	"github.com/relock-dev/relock/internal/verbs"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func TestMain(m *testing.M) {
	flag.Parse()
	if *update && os.Getenv("CI") != "" {
		os.Stderr.WriteString("golden files are not written in CI: they are reviewed like code\n")
		os.Exit(2)
	}
	os.Exit(trusted.Main(m))
}

// golden compares with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func text(t *testing.T, r report.Report, o render.TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.Text(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func jsonText(t *testing.T, r report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	reports := fixtures(t)
	for _, name := range slices.Sorted(maps.Keys(reports)) {
		r := reports[name]
		t.Run(name, func(t *testing.T) {
			golden(t, name+".txt", text(t, r, render.TextOptions{}))
			golden(t, name+".json", jsonText(t, r))
			if r.Verb != verbs.Scan {
				golden(t, name+".md", render.Markdown(r, 0).String())
			}
		})
	}
}

func TestPullRequestBodyAndSummary(t *testing.T) {
	for name, r := range map[string]report.Report{"monorepo": monorepo(), "pr": pullRequests(), "failures": failures(), "notes": noted()} {
		golden(t, name+".body.md", render.Body(r).String())
		golden(t, name+".summary.md", render.Summary(r).String())
	}
}

func TestTextOptions(t *testing.T) {
	aws, err := provider.ParsePattern("hashicorp/aws")
	if err != nil {
		t.Fatal(err)
	}
	reports := fixtures(t)
	for name, tt := range map[string]struct {
		report string
		o      render.TextOptions
	}{
		"kinds.color":        {"kinds", render.TextOptions{Color: true, Width: 100}},
		"kinds.narrow":       {"kinds", render.TextOptions{Width: 44}},
		"kinds.wide":         {"kinds", render.TextOptions{Width: 110}},
		"failures.narrow":    {"failures", render.TextOptions{Width: 44}},
		"scan.narrow":        {"scan", render.TextOptions{Width: 50}},
		"scan.why":           {"scan", render.TextOptions{Why: []provider.Pattern{aws}}},
		"scan.why.narrow":    {"scan", render.TextOptions{Why: []provider.Pattern{aws}, Width: 30}},
		"up-to-date.verbose": {"up-to-date", render.TextOptions{Verbose: true}},
		"monorepo.stats":     {"monorepo", render.TextOptions{Stats: true}},
		"monorepo.narrow":    {"monorepo", render.TextOptions{Width: 44}},
	} {
		golden(t, name+".txt", text(t, reports[tt.report], tt.o))
	}
}
