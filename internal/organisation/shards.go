package organisation

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/run"
)

// Division assigns the repositories of an organisation to the shards of a run. It
// serves one run: its facts about repositories are as old as the plan.
type Division struct {
	FormatVersion int    `json:"format_version"`
	Owner         string `json:"owner"`
	Prefix        string `json:"branch_prefix"` // of the branches in Heads
	// Settings identifies the decisions of the operator's file for each
	// repository; empty without any.
	Settings string         `json:"settings,omitempty"`
	Listed   int            `json:"listed"`
	LeftOut  map[string]int `json:"left_out"`
	// Unlisted are repositories without a shard, since GitHub did not give them.
	Unlisted []Unlisted `json:"unlisted,omitempty"`
	Shards   []Shard    `json:"shards"`
}

// Shard is the work of one job.
type Shard struct {
	MaxNew int `json:"max_new"` // pull requests that it opens
	// Requests and Contents are the highest numbers of requests and of contents
	// in an hour; 0 means any number. Points are the highest points of its
	// requests in a minute; 0 means GitHub's own limit.
	Requests     int      `json:"requests"`
	Contents     int      `json:"contents"`
	Points       int      `json:"points,omitzero"`
	Repositories []Listed `json:"repositories"`
}

// Listed is a repository in a plan: the part of GitHub's list that a run needs.
type Listed struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Branch string `json:"branch"`
	Head   string `json:"head"`
	Tree   string `json:"tree"`
	// Heads are the branches of ours; null if unknown.
	Heads map[string]string `json:"heads"`
	Pulls map[string]string `json:"pulls"` // open pull requests of these
	// Compact means that an archive is the cheapest way to its files.
	Compact bool `json:"compact"`
}

// known is the repository as in GitHub's list.
func (r Listed) known() github.Listed {
	return github.Listed{ID: r.ID, Name: r.Name, Branch: r.Branch, Head: r.Head, Tree: r.Tree, Heads: r.Heads, Pulls: r.Pulls, Compact: r.Compact}
}

// Sharing says how to divide a run.
type Sharing struct {
	Shards   int
	MaxNew   int              // over all shards
	Requests int              // over all shards in an hour; 0 for any number
	Contents int              // over all shards in an hour; 0 for any number
	Costs    map[string]int64 // requests of the last run, by repository; a new one costs as much as most
}

// spare is the fraction, 1/spare, of the hourly requests that shards leave to
// others with the same App or token.
const spare = 10

// PlanShards plans a run over the repositories of an owner in shards. It divides
// the remaining requests and contents of the hour between them.
func PlanShards(ctx context.Context, s *run.Session, a run.Ask, org Organisation, by Sharing) (Division, error) {
	asking, stop := s.Asking(ctx)
	defer stop()
	l, err := askList(asking, s, a, org)
	if err != nil {
		return Division{}, err
	}
	by.MaxNew, by.Requests, by.Contents = org.MaxNew, l.client.Left()*(spare-1)/spare, github.ContentsAnHour*(spare-1)/spare
	return Division{
		Owner: org.Owner, Prefix: l.prefix, Listed: l.listed, LeftOut: l.picked.left,
		Unlisted: l.picked.unlisted, Shards: allot(l.picked.chosen, by),
	}, nil
}

// allot assigns repositories to shards. The shard depends on the repository's id
// and the number of shards (rendezvous hashing), so most repositories stay when
// others come and go. If a shard would exceed its share of the costs, the
// repository goes to the next one in its order.
func allot(chosen []github.Listed, s Sharing) []Shard {
	shards := make([]Shard, s.Shards)
	weights := weigh(chosen, s.Costs)
	total, heaviest := int64(0), int64(0)
	for _, w := range weights {
		total, heaviest = total+w, max(heaviest, w)
	}
	most := total/int64(s.Shards) + heaviest // the highest cost of a shard
	loads := make([]int64, s.Shards)
	order := make([]int, len(chosen))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(chosen[a].ID, chosen[b].ID))
	})
	placed := make([]int, len(chosen))
	for _, i := range order {
		placed[i] = preferred(chosen[i].ID, s.Shards, func(shard int) bool { return loads[shard]+weights[i] <= most })
		loads[placed[i]] += weights[i]
	}
	for i, l := range chosen {
		shard := &shards[placed[i]]
		shard.Repositories = append(shard.Repositories, Listed{l.ID, l.Name, l.Branch, l.Head, l.Tree, l.Heads, l.Pulls, l.Compact})
	}
	handOut(shards, loads, s)
	return shards
}

// mostCost is the highest cost of a repository that a report may state, in
// requests. No run makes so many, and sums of it are safe.
const mostCost = 1_000_000

// weigh returns the expected cost of each repository, at least one.
func weigh(chosen []github.Listed, costs map[string]int64) []int64 {
	var known []int64
	for _, l := range chosen {
		if c, ok := costs[l.Name]; ok {
			known = append(known, min(max(1, c), mostCost))
		}
	}
	slices.Sort(known)
	usual := int64(1)
	if len(known) > 0 {
		usual = known[len(known)/2]
	}
	weights := make([]int64, len(chosen))
	for i, l := range chosen {
		weights[i] = usual
		if c, ok := costs[l.Name]; ok {
			weights[i] = min(max(1, c), mostCost)
		}
	}
	return weights
}

// preferred returns the first shard with room in the order of a repository; one
// has room.
func preferred(id int64, shards int, room func(int) bool) int {
	best, highest := -1, uint64(0)
	for shard := range shards {
		h := fnv.New64a()
		var key [16]byte
		binary.BigEndian.PutUint64(key[:8], uint64(id))
		binary.BigEndian.PutUint64(key[8:], uint64(shard))
		h.Write(key[:])
		if score := mixed(h.Sum64()); room(shard) && (best < 0 || score > highest) {
			best, highest = shard, score
		}
	}
	return best
}

// mixed spreads the bits of a hash: FNV's last bytes change few of them. It is
// the finalizer of MurmurHash3, which is in the public domain.
func mixed(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// Contents that a new pull request, and the update of an open one, may need.
const (
	contentsToOpen   = 6
	contentsToUpdate = 3
)

// handOut divides the limits of all shards. New pull requests follow the number
// of repositories, requests their costs, and contents the possible new and
// changed pull requests. Nothing is handed out twice, except for one that every
// shard gets.
func handOut(shards []Shard, loads []int64, s Sharing) {
	repositories, total := 0, int64(0)
	for i, shard := range shards {
		repositories, total = repositories+len(shard.Repositories), total+loads[i]
	}
	seen, given := 0, 0
	working := collect.CountIf(shards, func(s Shard) bool { return len(s.Repositories) > 0 })
	for i := range shards {
		shards[i].Points = max(1, github.PointsAMinute/max(1, working))
		seen += len(shards[i].Repositories)
		if repositories > 0 {
			shards[i].MaxNew = s.MaxNew*seen/repositories - given
			given += shards[i].MaxNew
		}
		if s.Requests > 0 && total > 0 {
			shards[i].Requests = max(1, int(int64(s.Requests)*loads[i]/total))
		}
	}
	if s.Contents == 0 {
		return
	}
	needs, all := make([]int, len(shards)), 0
	for i, shard := range shards {
		needs[i] = contentsToOpen * shard.MaxNew
		for _, r := range shard.Repositories {
			needs[i] += contentsToUpdate * len(r.Pulls)
		}
		all += needs[i]
	}
	for i := range shards {
		shards[i].Contents = max(1, s.Contents*needs[i]/max(1, all))
	}
}

// divisionFormat is the version of plans.
const divisionFormat = 1

// Write writes the plan.
func (p Division) Write(w io.Writer) error {
	p.FormatVersion = divisionFormat
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(p)
}

// The forms of names in a plan.
var (
	fullName = regexp.MustCompile(`^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$`)
	objectID = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
)

// ReadDivision reads a plan from Write.
func ReadDivision(r io.Reader) (Division, error) {
	var p Division
	if err := json.NewDecoder(r).Decode(&p); err != nil {
		return p, fmt.Errorf("it is no plan: %w", err)
	}
	if p.FormatVersion != divisionFormat || p.Owner == "" || len(p.Shards) == 0 {
		return p, errors.New("it is no plan that this version of relock can read")
	}
	for i, s := range p.Shards {
		if min(s.MaxNew, s.Requests, s.Contents, s.Points) < 0 {
			return p, fmt.Errorf("it is no plan: a limit of shard %d is negative", i+1)
		}
	}
	seen := map[string]bool{} // GitHub ignores case in names
	for _, r := range p.All() {
		owner, _, _ := strings.Cut(r.Name, "/")
		switch {
		case !fullName.MatchString(r.Name) || !strings.EqualFold(owner, p.Owner) || r.Branch == "" || !objectID.MatchString(r.Head):
			return p, fmt.Errorf("it is no plan: %q is no repository of %s with a branch and a commit", r.Name, p.Owner)
		case seen[strings.ToLower(r.Name)]:
			return p, fmt.Errorf("it is no plan: %s is in it twice", r.Name)
		}
		seen[strings.ToLower(r.Name)] = true
	}
	return p, nil
}

// All are the repositories of all shards, by name.
func (p Division) All() []Listed {
	var all []Listed
	for _, s := range p.Shards {
		all = append(all, s.Repositories...)
	}
	slices.SortFunc(all, func(a, b Listed) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Matrix is the matrix of a workflow's jobs, as JSON: one for each shard with
// work, in the form that the verb pr takes.
func (p Division) Matrix() string {
	type job struct {
		Shard        string `json:"shard"`
		Repositories int    `json:"repositories"`
	}
	matrix := struct {
		Include []job `json:"include"`
	}{[]job{}}
	for i, s := range p.Shards {
		if len(s.Repositories) > 0 {
			matrix.Include = append(matrix.Include, job{fmt.Sprintf("%d/%d", i+1, len(p.Shards)), len(s.Repositories)})
		}
	}
	text, err := json.Marshal(matrix)
	if err != nil {
		panic("organisation: a matrix is no JSON: " + err.Error())
	}
	return string(text)
}

// Shard returns the shard named I/N.
func (p Division) Shard(text string) (Shard, error) {
	number, of, _ := strings.Cut(text, "/")
	i, err := strconv.Atoi(number)
	n, err2 := strconv.Atoi(of)
	if err != nil || err2 != nil || n != len(p.Shards) || i < 1 || i > n {
		return Shard{}, fmt.Errorf("%q is no shard of the plan; it must be from 1/%d to %[2]d/%[2]d", text, len(p.Shards))
	}
	return p.Shards[i-1], nil
}
