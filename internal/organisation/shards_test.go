package organisation

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
)

// many are repositories with ids that follow each other, as those of an organisation may.
func many(n int) []github.Listed {
	all := make([]github.Listed, n)
	for i := range all {
		all[i] = github.Listed{ID: int64(1000 + i), Name: fmt.Sprintf("acme/r%04d", i), Branch: "main", Head: strings.Repeat("a", 40), Tree: strings.Repeat("b", 40)}
	}
	return all
}

// shardsOf says in which shard each repository is.
func shardsOf(shards []Shard) map[string]int {
	in := map[string]int{}
	for i, s := range shards {
		for _, r := range s.Repositories {
			in[r.Name] = i
		}
	}
	return in
}

func TestDivideIsEvenAndStable(t *testing.T) {
	t.Parallel()
	all := many(1000)
	shards := allot(all, Sharing{Shards: 8, MaxNew: 50, Requests: 4000})
	in := shardsOf(shards)
	if len(in) != len(all) {
		t.Fatalf("%d of %d repositories are in a shard", len(in), len(all))
	}
	opens, requests := 0, 0
	for i, s := range shards {
		if n := len(s.Repositories); n < 100 || n > 126 {
			t.Errorf("shard %d has %d of 1000 repositories, want about 125", i, n)
		}
		opens, requests = opens+s.MaxNew, requests+s.Requests
	}
	if opens != 50 || requests > 4000 || requests < 3990 {
		t.Errorf("the shards open %d pull requests with %d requests, want 50 with at most 4000", opens, requests)
	}
	contents := 0
	for i, s := range allot(all, Sharing{Shards: 8, MaxNew: 50, Contents: 450}) {
		contents += s.Contents
		if s.Contents < 45 || s.Contents > 70 {
			t.Errorf("shard %d opens %d and makes %d of 450 contents, want about 56", i, s.MaxNew, s.Contents)
		}
	}
	if contents > 450 || contents < 440 {
		t.Errorf("the shards make %d contents, want at most 450", contents)
	}
	all[0].Pulls = map[string]string{"relock/x": "#1", "relock/y": "#2"}
	for i, s := range allot(all, Sharing{Shards: 8, Contents: 90}) {
		if has := slices.ContainsFunc(s.Repositories, func(r Listed) bool { return r.ID == all[0].ID }); has != (s.Contents == 90) || s.Contents < 1 {
			t.Errorf("shard %d makes %d of 90 contents, want all where pull requests are open", i, s.Contents)
		}
	}
	all[0].Pulls = nil
	moved := 0
	for name, i := range shardsOf(allot(all[:990], Sharing{Shards: 8, MaxNew: 50})) {
		if in[name] != i {
			moved++
		}
	}
	if moved > 60 {
		t.Errorf("%d of 990 repositories are in another shard where ten others went", moved)
	}
	if diff := cmp.Diff(shards, allot(all, Sharing{Shards: 8, MaxNew: 50, Requests: 4000})); diff != "" {
		t.Errorf("the same again (-first +then):\n%s", diff)
	}
}

// TestDivideByCosts holds that no shard has all that is dear, and that one that is not
// known counts as a usual one.
func TestDivideByCosts(t *testing.T) {
	t.Parallel()
	all, costs := many(40), map[string]int64{}
	for i, l := range all[:20] {
		costs[l.Name] = 2
		if i < 4 {
			costs[l.Name] = 100
		}
	}
	for i, s := range allot(all, Sharing{Shards: 4, MaxNew: 2, Costs: costs}) {
		load := int64(0)
		for _, r := range s.Repositories {
			cost, ok := costs[r.Name]
			if !ok {
				cost = 2
			}
			load += cost
		}
		if load > 100+(472/4) {
			t.Errorf("shard %d costs %d of 472", i, load)
		}
	}
	for _, l := range all {
		costs[l.Name] = math.MaxInt64 / 2
	}
	for i, s := range allot(all, Sharing{Shards: 4, MaxNew: 40, Requests: 5000, Costs: costs}) {
		if n := len(s.Repositories); n < 5 || n > 15 || s.Requests < 500 || s.Requests > 2000 {
			t.Errorf("where costs exceed what numbers hold, shard %d has %d repositories and %d requests", i, n, s.Requests)
		}
	}
	if shards := allot(nil, Sharing{Shards: 2, MaxNew: 9}); len(shards) != 2 || shards[0].MaxNew != 0 {
		t.Errorf("no repositories in two shards = %+v", shards)
	}
}

func TestPlanIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	p := Division{FormatVersion: 1, Owner: "acme", Prefix: "relock/", Listed: 5, LeftOut: map[string]int{"archived": 2}}
	all := many(3)
	all[1].Heads = map[string]string{"relock/x": strings.Repeat("c", 40)}
	p.Shards = allot(all, Sharing{Shards: 2, MaxNew: 3})
	p.Shards = append(p.Shards, Shard{})
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	read, err := ReadDivision(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, read); diff != "" {
		t.Errorf("plan (-written +read):\n%s", diff)
	}
	want := fmt.Sprintf(`{"include":[{"shard":"1/3","repositories":%d},{"shard":"2/3","repositories":%d}]}`, len(p.Shards[0].Repositories), len(p.Shards[1].Repositories))
	if got := read.Matrix(); len(p.Shards[0].Repositories) > 0 && len(p.Shards[1].Repositories) > 0 && got != want {
		t.Errorf("Matrix = %s, want %s", got, want)
	}
	for _, text := range []string{"", "0/3", "4/3", "1/2", "1", "x/3", "1/3/3"} {
		if s, err := read.Shard(text); err == nil {
			t.Errorf("Shard(%q) = %+v, want an error", text, s)
		}
	}
	if s, err := read.Shard("2/3"); err != nil || len(s.Repositories) != len(p.Shards[1].Repositories) {
		t.Errorf("Shard(2/3) = %+v, %v", s, err)
	}
}

func TestReadPlanRefuses(t *testing.T) {
	t.Parallel()
	head := strings.Repeat("a", 40)
	one := `{"id":1,"name":"acme/a","branch":"main","head":"` + head + `"}`
	for name, text := range map[string]string{
		"nothing":                   "",
		"no_plan":                   "{}",
		"another_version":           `{"format_version":2,"owner":"acme","shards":[{}]}`,
		"no_shards":                 `{"format_version":1,"owner":"acme","shards":[]}`,
		"a_repository_of_another":   `{"format_version":1,"owner":"acme","shards":[{"repositories":[{"name":"evil/a","branch":"main","head":"` + head + `"}]}]}`,
		"a_name_that_is_a_path":     `{"format_version":1,"owner":"acme","shards":[{"repositories":[{"name":"acme/../x","branch":"main","head":"` + head + `"}]}]}`,
		"no_commit":                 `{"format_version":1,"owner":"acme","shards":[{"repositories":[{"name":"acme/a","branch":"main","head":"HEAD"}]}]}`,
		"the_same_repository_twice": `{"format_version":1,"owner":"acme","shards":[{"repositories":[` + one + `]},{"repositories":[` + one + `]}]}`,
		"the_same_in_other_letters": `{"format_version":1,"owner":"acme","shards":[{"repositories":[` + one + `]},{"repositories":[` + strings.Replace(one, "acme/a", "Acme/A", 1) + `]}]}`,
		"less_than_no_requests":     `{"format_version":1,"owner":"acme","shards":[{"requests":-1,"repositories":[` + one + `]}]}`,
		"less_than_no_contents":     `{"format_version":1,"owner":"acme","shards":[{"contents":-1,"repositories":[` + one + `]}]}`,
		"less_than_none_opened":     `{"format_version":1,"owner":"acme","shards":[{"max_new":-1,"repositories":[` + one + `]}]}`,
		"half":                      `{"format_version":1,"owner":"acme","shards":[{"repositories":[` + one,
	} {
		if p, err := ReadDivision(strings.NewReader(text)); err == nil {
			t.Errorf("%s: ReadDivision = %+v, want an error", name, p)
		}
	}
	if _, err := ReadDivision(strings.NewReader(`{"format_version":1,"owner":"ACME","shards":[{"repositories":[` + one + `]}]}`)); err != nil {
		t.Errorf("a plan = %v", err)
	}
}
