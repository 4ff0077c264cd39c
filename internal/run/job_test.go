package run

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/report"
)

func TestStages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // its clock moves by what is slept
		c := new(clock)
		lasts := func(name string, d time.Duration) {
			defer c.stage(name)()
			time.Sleep(d)
		}
		lasts(stageScan, time.Second)
		end := c.stage(stagePlan)
		lasts("versions", 2*time.Second)
		lasts("hashes", 3*time.Second)
		time.Sleep(4 * time.Second)
		lasts("versions", 5*time.Second)
		end()
		lasts(stageDiff, 6*time.Second)
		want := []report.Stage{
			{Name: "scan", Took: report.Elapsed(time.Second)}, {Name: "versions", Took: report.Elapsed(7 * time.Second)},
			{Name: "hashes", Took: report.Elapsed(3 * time.Second)}, {Name: "plan", Took: report.Elapsed(4 * time.Second)},
			{Name: "diff", Took: report.Elapsed(6 * time.Second)},
		}
		if diff := cmp.Diff(want, c.ended); diff != "" {
			t.Errorf("stages (-want +got):\n%s", diff)
		}
	})
}
