package organisation

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
)

// many are repositories with ids that follow each other, as those of an organisation may.
func many(n int) []github.Listed {
	all := make([]github.Listed, n)
	for i := range all {
		all[i] = github.Listed{ID: int64(1000 + i), Name: fmt.Sprintf("acme/r%04d", i), Branch: "main", Head: "c", Tree: "t"}
	}
	return all
}

// shardOf is the number of the only shard that has an id.
func shardOf(t *testing.T, id int64, of int) (number int) {
	t.Helper()
	for n := 1; n <= of; n++ {
		if inShard(settings.Shard{Number: n, Of: of}, id) {
			if number > 0 {
				t.Errorf("the shards %d/%d and %d/%[2]d have %[4]d", number, of, n, id)
			}
			number = n
		}
	}
	if number == 0 {
		t.Errorf("no shard of %d has %d", of, id)
	}
	return number
}

func TestShardsAreEvenAndStable(t *testing.T) {
	t.Parallel()
	sizes, moved := map[int]int{}, 0
	for _, r := range many(1000) {
		n := shardOf(t, r.ID, 8)
		sizes[n]++
		if shardOf(t, r.ID, 9) != n {
			moved++
		}
	}
	for n, size := range sizes {
		if size < 95 || size > 155 {
			t.Errorf("shard %d has %d of 1000 repositories, want about 125", n, size)
		}
	}
	if moved < 60 || moved > 160 {
		t.Errorf("%d of 1000 repositories move for a ninth shard, want about 111", moved)
	}
	// Caches and memories are of one shard: a later relock must not deal anew.
	got := ""
	for _, id := range []int64{1, 2, 3, 4, 5, 1296269, 813412873} {
		got += fmt.Sprint(shardOf(t, id, 8))
	}
	if want := "4585681"; got != want {
		t.Errorf("the shards of known ids are %s, want %s", got, want)
	}
}

func TestPickAmongShards(t *testing.T) {
	t.Parallel()
	all := append(many(30), github.Listed{Name: "acme/old", Archived: true},
		github.Listed{ID: 7, Name: "acme/part", Err: &problem.Error{}}, github.Listed{Name: "acme/away", Err: &problem.Error{}})
	got := map[string]int{}
	for n := 1; n <= 3; n++ {
		p := pickAmong(all, nil, settings.Shard{Number: n, Of: 3})
		for _, r := range p.chosen {
			got[r.Name]++
		}
		for _, u := range p.unlisted {
			got[u.name]++
		}
		if len(p.chosen)+len(p.unlisted)+p.left[notHere]+1 != len(all) || p.left["archived"] != 1 {
			t.Errorf("shard %d has %d, %d that GitHub did not give, and leaves out %v", n, len(p.chosen), len(p.unlisted), p.left)
		}
	}
	want := map[string]int{"acme/part": 1, "acme/away": 3} // whose shard nobody knows
	for _, r := range many(30) {
		want[r.Name] = 1
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("how many of three shards have a repository (-want +got):\n%s", diff)
	}
}

// TestPortions divides limits. The portions add up to the whole, and the first
// shards have the remainder.
func TestPortions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		all  int
		of   int
		want string
	}{{50, 8, "[7 7 6 6 6 6 6 6]"}, {6, 3, "[2 2 2]"}, {2, 3, "[1 1 0]"}, {50, 1, "[50]"}, {0, 2, "[0 0]"}} {
		var got []int
		for n := range tt.of {
			got = append(got, portion(settings.Shard{Number: n + 1, Of: tt.of}, tt.all))
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%d in %d shards = %v, want %s", tt.all, tt.of, got, tt.want)
		}
	}
	if got := portion(settings.Shard{}, 50); got != 50 {
		t.Errorf("without shards a run opens %d of 50", got)
	}
}

func TestRationOfAShard(t *testing.T) {
	t.Parallel()
	bounded, stop := context.WithTimeout(t.Context(), time.Hour)
	defer stop()
	for _, tt := range []struct {
		asking context.Context
		shard  settings.Shard
		hour   int
		want   github.Ration
	}{
		{t.Context(), settings.Shard{}, 5000, github.Ration{}},
		{bounded, settings.Shard{}, 5000, github.Ration{Patience: time.Hour + time.Minute}},
		{t.Context(), settings.Shard{Number: 1, Of: 8}, 5000, github.Ration{Requests: 563, Contents: 57, Points: 100}},
		{t.Context(), settings.Shard{Number: 8, Of: 8}, 12500, github.Ration{Requests: 1406, Contents: 56, Points: 100}},
		{t.Context(), settings.Shard{Number: 999, Of: 999}, 60, github.Ration{Requests: 1, Contents: 1, Points: 1}},
		{t.Context(), settings.Shard{Number: 1, Of: 2}, 0, github.Ration{Contents: 225, Points: 400}},
	} {
		if got := ration(tt.asking, tt.shard, tt.hour); got != tt.want {
			t.Errorf("shard %v of an hour of %d has %+v, want %+v", tt.shard, tt.hour, got, tt.want)
		}
	}
}
