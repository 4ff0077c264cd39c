package render_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

func TestJSONKeepsTheErrorOfTheWriter(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	pr, pw := io.Pipe()
	pr.CloseWithError(full)
	if err := report.JSON(pw, monorepo()); !errors.Is(err, full) {
		t.Errorf("JSON = %v, want %v", err, full)
	}
}

// TestJSONOfModulesIsOneDocument encodes root modules one by one, and all
// together. Both documents are equal.
func TestJSONOfModulesIsOneDocument(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"[],", "[\n    {\n      \"dir\": \"0\",", "    },\n    {\n      \"dir\": \"1\","} {
		r := report.Report{Verb: verbs.Upgrade}
		for i := range n {
			r.Modules = append(r.Modules, module(fmt.Sprint(i)))
		}
		if got := jsonText(t, r); !strings.Contains(got, want) || !strings.HasSuffix(got, "\n}\n") {
			t.Errorf("%d root modules are\n%s\nwant %q in it", n, got, want)
		}
	}
}

func TestPullRequestsThatKeepNothingSayNothingOfIt(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{0: false, 2: true} {
		r := report.Report{Verb: verbs.PR, PullRequests: []report.PullRequest{{CarriedOver: report.CarriedOver{Roots: n, Commit: "0a1b2c3d"}}}}
		if got := strings.Contains(jsonText(t, r), "carried_over"); got != want {
			t.Errorf("of a pull request that keeps %d root modules JSON says so: %t, want %t", n, got, want)
		}
	}
}

// heap counts the bytes written to it, and records the largest heap.
type heap struct{ written, most uint64 }

func (h *heap) Write(text []byte) (int, error) {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	h.written, h.most = h.written+uint64(len(text)), max(h.most, now.HeapAlloc)
	return len(text), nil
}

// BenchmarkJSON writes 5,000 root modules with seven changes each. heap-MiB is
// the largest growth of the heap.
func BenchmarkJSON(b *testing.B) {
	r := report.Report{Verb: verbs.PR}
	for i := range 5000 {
		m := module(fmt.Sprintf("live/stack-%04d", i))
		for n := range 7 {
			estateChange(&m, i, n)
		}
		r.Modules = append(r.Modules, m)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // so that little garbage is counted
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var to heap
	b.ReportAllocs()
	for b.Loop() {
		to.written = 0
		if err := report.JSON(&to, r); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(to.written)/(1<<20), "MiB")
	b.ReportMetric(float64(to.most-before.HeapAlloc)/(1<<20), "heap-MiB")
}
