package run

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/report"
)

func TestStagesCountQuestionsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // its clock moves by what is slept
		c := new(clock)
		end := c.stage(stageScan)
		time.Sleep(time.Second)
		end()
		end = c.stage(stagePlan)
		first := c.hashes.begin()
		time.Sleep(2 * time.Second)
		second := c.hashes.begin()
		time.Sleep(3 * time.Second)
		first()
		time.Sleep(4 * time.Second)
		second()
		time.Sleep(5 * time.Second)
		end()
		want := []report.Stage{
			{Name: "scan", Took: report.Elapsed(time.Second)}, {Name: "versions"},
			{Name: "hashes", Took: report.Elapsed(9 * time.Second)}, {Name: "plan", Took: report.Elapsed(5 * time.Second)},
		}
		if diff := cmp.Diff(want, c.times()); diff != "" {
			t.Errorf("times (-want +got):\n%s", diff)
		}
	})
}
