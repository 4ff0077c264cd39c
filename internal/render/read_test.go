package render_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// TestFromJSONIsTheInverseOfJSON writes a report that was read. The JSON equals
// what was read.
func TestFromJSONIsTheInverseOfJSON(t *testing.T) {
	t.Parallel()
	for name, r := range fixtures(t) {
		if r.Verb == verbs.Scan || r.Verb == verbs.Diff || r.Verb == verbs.Verify || r.Verb == verbs.Comment {
			continue
		}
		r.Verb = verbs.PR
		r.Modules = append(slices.Clip(r.Modules), report.Module{Dir: "generated", Left: true})
		for i := range r.Modules {
			slices.SortFunc(r.Modules[i].Kept, func(a, b report.Kept) int { return a.Addr.Compare(b.Addr) })
		}
		r.Fleet = &report.Fleet{
			Owner: "acme", Listed: 4, LeftOut: map[string]int{"archived": 1},
			Repositories: []report.Outcome{{Name: "acme/a", State: report.Outdated, Modules: 3, Pending: 2, Left: 1, PullRequests: 1, Requests: 9}},
		}
		var written, again bytes.Buffer
		if err := report.JSON(&written, r); err != nil {
			t.Fatal(err)
		}
		read, err := report.FromJSON(bytes.NewReader(written.Bytes()))
		if err != nil {
			t.Errorf("%s: FromJSON = %v", name, err)
			continue
		}
		if err := report.JSON(&again, read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(written.String(), again.String()); diff != "" {
			t.Errorf("%s: read and written again (-first +then):\n%s", name, diff)
		}
	}
}

// TestReadsWhatEarlierReleasesWrote reads the reports of testdata/format1, and
// writes them again. Releases before format.go wrote them.
func TestReadsWhatEarlierReleasesWrote(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "report", "testdata", "format1", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports: %v", err)
	}
	for _, name := range files {
		written, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		verb, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".json"), "-")
		read, err := report.FromJSON(bytes.NewReader(written))
		switch verb {
		case "pr", "org", "shard", "shards":
			if err != nil {
				t.Errorf("%s: FromJSON = %v", name, err)
				continue
			}
			want, got := string(written), jsonText(t, read)
			if read.Fleet == nil { // no reports are joined, so no module says which versions are in use
				want, got = withoutConsistency(want), withoutConsistency(got)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: read and written again (-first +then):\n%s", name, diff)
			}
		case "comment": // read as one of the verb pr, since it led to a pull request
		default:
			if err == nil {
				t.Errorf("%s: FromJSON reads a report of another verb", name)
			}
		}
	}
}

// withoutConsistency is a document without the providers that have several
// versions in use.
func withoutConsistency(doc string) string {
	before, rest, _ := strings.Cut(doc, "\n  \"consistency\": [")
	_, behind, _ := strings.Cut(rest, "],\n  \"")
	return before + behind
}

func TestFromJSONRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "no report",
		"[]":                    "no report",
		`{"format_version": 1}`: "of the verb pr",
		`{"format_version": 2, "pull_requests": []}`: "another version",
		`{"format_version": 1, "pull_requests": [], "modules": [{"in_use": [{"provider": "x", "version": "1.0.0"}]}]}`:        "invalid provider source address",
		`{"format_version": 1, "pull_requests": [], "modules": [{"changes": [{"provider": "a/b/c", "from": "one"}]}]}`:        "one",
		`{"format_version": 1, "pull_requests": [], "modules": [{"changes": [{"provider": "a.b/b/c", "released": "soon"}]}]}`: "soon",
	} {
		if r, err := report.FromJSON(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("FromJSON(%s) = %+v, %v, want an error with %q", text, r, err, want)
		}
	}
}
