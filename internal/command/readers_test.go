package command

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/sandbox"
)

// fleetWorld is an organisation whose repositories are chosen at random: up to date, with
// something to do, with eight things to do, with two bases, without a lock file, with a
// configuration file that is wrong.
func fleetWorld(random *rand.Rand, repositories int) string {
	var w strings.Builder
	w.WriteString(fleetRegistry + "-- modules/registry.terraform.io/acme/vpc/aws/1.0.0/main.tf --\nresource \"null_resource\" \"x\" {}\n")
	w.WriteString(moreRegistry())
	for i := range repositories {
		put := func(branch, name, text string) {
			fmt.Fprintf(&w, "-- github/acme/r%03d/%s/%s --\n%s", i, branch, name, text)
		}
		switch random.IntN(8) {
		case 0:
			put("main", "README.md", "nothing to lock\n")
		case 1:
			put("main", "main.tf", "terraform {}\n")
			put("main", ".terraform.lock.hcl", "# nothing is required\n")
		case 2:
			w.WriteString(grouped(i))
		case 3:
			put("main", ".github/relock.yml", "version: 1\nnonsense: true\n")
		case 4:
			for _, branch := range []string{"main", "next"} {
				put(branch, "main.tf", "resource \"null_resource\" \"x\" {}\n")
				put(branch, ".terraform.lock.hcl", outdatedLock)
				put(branch, ".github/relock.yml", "version: 1\npull-request: {base: [next, main]}\n")
			}
		case 5:
			put("main", "main.tf", "module \"shared\" {\n  source = \"acme/vpc/aws\"\n}\n")
			put("main", ".terraform.lock.hcl", outdatedLock)
		default:
			put("main", "live/main.tf", "resource \"null_resource\" \"x\" {}\n")
			put("main", "live/.terraform.lock.hcl", outdatedLock)
		}
	}
	return w.String()
}

// moreProviders are offered in the same releases.
var moreProviders = []string{"archive", "external", "http", "local", "random", "time", "tls"}

func moreRegistry() (all string) {
	for _, name := range moreProviders {
		all += strings.Replace(fleetRegistry, "null", name, 1)
	}
	return all
}

// groupedWorld is an organisation of repositories of which each gets eight pull requests, which takes more
// requests than a turn is expected to.
func groupedWorld(repositories int) string {
	all := fleetRegistry + moreRegistry()
	for i := range repositories {
		all += grouped(i)
	}
	return all
}

// grouped is such a repository.
func grouped(i int) string {
	config, lock := "resource \"null_resource\" \"x\" {}\n", outdatedLock
	for _, name := range moreProviders {
		config += fmt.Sprintf("resource \"%s_x\" \"x\" {}\n", name)
		lock += strings.Replace(outdatedLock, "null", name, 1)
	}
	return fmt.Sprintf("-- github/acme/r%03d/main/main.tf --\n%s-- github/acme/r%03[1]d/main/.terraform.lock.hcl --\n%[3]s"+
		"-- github/acme/r%03[1]d/main/.github/relock.yml --\nversion: 1\ngroup-by: provider\n", i, config, lock)
}

// fleetRun is what one run over an organisation has left and said.
type fleetRun struct {
	Status int
	Report map[string]any
	Writes []string // in their order
	Asked  []string // of GitHub, sorted, where the run does not stop
	Pulls  map[string][]string
	Memory string
}

// fleetPlay is one organisation in virtual time, and what is run in it.
type fleetPlay struct {
	world    string
	readers  int
	delays   *rand.Rand // of answers
	longest  time.Duration
	faults   []string
	requests int        // that are left of the hour; 0: all
	hour     int        // requests that GitHub says an hour has; 0: 5,000
	runs     [][]string // the arguments of each
	figures  *fleetFigures
}

var hexadecimal = regexp.MustCompile(`[0-9a-f]{40}`)

// play runs all, in a bubble. GitHub refuses what is more than it lets through.
func (p fleetPlay) play(t *testing.T) (runs []fleetRun, said string) {
	t.Helper()
	s, network := startInBubble(t, p.world)
	defer s.Close()
	s.GitHub().SetMachine(time.Now)
	var mu sync.Mutex
	under := 0
	s.Before(func(*http.Request) {
		mu.Lock()
		delay := p.longest
		if p.delays != nil {
			delay = time.Duration(p.delays.Int64N(int64(p.longest)))
		}
		under++
		if p.figures != nil {
			p.figures.atOnce = append(p.figures.atOnce, atOnce{time.Now(), under})
		}
		mu.Unlock()
		time.Sleep(delay)
		mu.Lock()
		under--
		mu.Unlock()
	})
	for _, line := range p.faults {
		f, err := sandbox.ParseFault(line)
		if err != nil {
			t.Fatal(err)
		}
		s.Inject(f)
	}
	dir, in := t.TempDir(), session{home: t.TempDir(), dial: network.Dial, readers: p.readers}
	in.env = map[string]string{"GITHUB_TOKEN": sandbox.UserToken, "GITHUB_API_URL": strings.TrimSuffix(s.GitHubAPI(), "/"), "GITHUB_GRAPHQL_URL": s.GraphQL()}
	if p.requests > 0 {
		s.GitHub().LimitRate(sandbox.UserToken, p.requests)
	}
	if p.hour > 0 {
		s.GitHub().AnnounceRate(sandbox.UserToken, p.hour)
	}
	var talk bytes.Buffer
	began := time.Now()
	for n, args := range p.runs {
		// So that time is the same to all runs, however long the one before took.
		time.Sleep(time.Until(began.Add(time.Duration(n) * 24 * time.Hour)))
		s.ResetRequests()
		s.GitHub().LimitPoints(900)
		s.GitHub().LimitContents(sandbox.ContentLimit{Minute: 80, Hour: 500})
		start := time.Now()
		runs = append(runs, p.one(t, s, in, dir, &talk, args))
		points, refused := s.GitHub().Points()
		_, contents, more := s.GitHub().Contents()
		if points > github.PointsAMinute || refused+more > 0 {
			t.Errorf("a minute has %d points, and GitHub refuses %d requests and %d contents, want none", points, refused, more)
		}
		if p.figures != nil {
			*p.figures = fleetFigures{time.Since(start), countedBy(s), points, contents, s.Requests(), p.figures.atOnce}
		}
	}
	return runs, talk.String()
}

// countedBy is how many requests GitHub has counted.
func countedBy(s *sandbox.Sandbox) (n int) {
	for _, r := range s.Requests() {
		if strings.HasPrefix(r.Path, "/github/") && !strings.HasPrefix(r.Path, "/github/_codeload/") {
			n++
		}
	}
	return n
}

func (p fleetPlay) one(t *testing.T, s *sandbox.Sandbox, in session, dir string, talk *bytes.Buffer, args []string) fleetRun {
	t.Helper()
	var out bytes.Buffer
	r := fleetRun{Status: in.runTo(t, s, dir, &out, talk, args...), Pulls: map[string][]string{}}
	if err := json.Unmarshal(out.Bytes(), &r.Report); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), talk.String())
	}
	delete(r.Report, "stats")
	for _, q := range s.Requests() {
		if q.Writes() {
			r.Writes = append(r.Writes, hexadecimal.ReplaceAllString(q.String(), "ID"))
		}
		if p.requests == 0 && strings.HasPrefix(q.Path, "/github/") {
			r.Asked = append(r.Asked, hexadecimal.ReplaceAllString(q.String(), "ID"))
		}
	}
	slices.Sort(r.Asked)
	for name := range worldRepositories(p.world) {
		pulls, err := s.GitHub().Pulls(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, pull := range pulls {
			r.Pulls[name] = append(r.Pulls[name], fmt.Sprint(pull.Number, pull.State, pull.Head, pull.Title, pull.Body))
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "fleet.json"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	r.Memory = string(text)
	return r
}

var repositoryInWorld = regexp.MustCompile(`(?m)^-- github/(acme/r\d+)/`)

func worldRepositories(world string) map[string]bool {
	all := map[string]bool{}
	for _, m := range repositoryInWorld.FindAllStringSubmatch(world, -1) {
		all[m[1]] = true
	}
	return all
}

var readerSeeds = flag.Uint64("readers-seeds", 2, "how many organisations TestReadersChangeNothing plays")

// TestReadersChangeNothing holds that a run over an organisation reports, writes and remembers
// the same however many repositories are read at once and whatever answers are late; with
// repositories that cannot be read, where there is no room for all, and where the requests of
// the hour end in the middle.
func TestReadersChangeNothing(t *testing.T) {
	t.Parallel()
	run := []string{"pr", "--org", "acme", "--fleet", "fleet.json", "--format", "json"}
	for seed := range *readerSeeds {
		random := rand.New(rand.NewPCG(seed, 3))
		p := fleetPlay{world: fleetWorld(random, 24), longest: 2 * time.Second}
		for range random.IntN(4) {
			path := fmt.Sprintf("* /github/api/v3/repos/acme/r%03d/... ", random.IntN(24))
			p.faults = append(p.faults, path+[]string{"403", "404", "502", "garbage"}[random.IntN(4)])
		}
		limited := append(run[:len(run):len(run)], "--max-new", fmt.Sprint(1+random.IntN(8)))
		p.runs = [][]string{limited, limited, run}
		if random.IntN(2) == 0 {
			p.requests = 45 + random.IntN(150)
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var want []fleetRun
			for _, readers := range []int{1, 2, 8} {
				synctest.Test(t, func(t *testing.T) {
					p := p
					p.readers, p.delays = readers, rand.New(rand.NewPCG(seed, uint64(readers)))
					got, said := p.play(t)
					if want == nil {
						want = got
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("with %d readers it is not as with one (-want +got):\n%s\n%s", readers, diff, said)
					}
				})
			}
		})
	}
}

// The bounds of reading ahead.
const mostReaders, mostAhead = 8, 16

// TestStopIsTheSame holds that the requests that readers have sent ahead of a turn do not decide
// whether it begins: whatever share of the hour the run has, it stops at the same repository.
func TestStopIsTheSame(t *testing.T) {
	t.Parallel()
	for share := 60; share < 160; share += 10 {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			t.Parallel()
			var want []fleetRun
			for _, readers := range []int{1, mostReaders} {
				synctest.Test(t, func(t *testing.T) {
					p := fleetPlay{world: groupedWorld(4), readers: readers, longest: 250 * time.Millisecond, hour: (10*share + 8) / 9}
					if readers == 1 { // which is still about to read when it is the turn
						p.faults = []string{"GET /github/api/v3/repos/acme/*/tarball/... delay=100s"}
					}
					p.runs = [][]string{{"pr", "--org", "acme", "--shard", "1/1", "--format", "json"}}
					got, said := p.play(t)
					if want == nil {
						want = got
					}
					if said := fmt.Sprintf("the run's share of %d requests an hour is used up", share); !strings.Contains(fmt.Sprint(got[0].Report), said) {
						t.Errorf("the report does not say %q: %v", said, got[0].Report["errors"])
					}
					if diff := cmp.Diff(want[0].Report, got[0].Report); diff != "" || !slices.Equal(want[0].Writes, got[0].Writes) {
						t.Errorf("with %d readers it is not as with one (-want +got):\n%s\n%s", readers, diff, said)
					}
				})
			}
		})
	}
}

// TestReadersStayNearTheTurn holds that, while one repository is written, sixteen others are
// read and no more.
func TestReadersStayNearTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := fleetPlay{world: settledWorld(30, outdatedLock), readers: mostReaders, longest: 250 * time.Millisecond, figures: &fleetFigures{}}
		p.runs = [][]string{{"pr", "--org", "acme", "--format", "json"}}
		p.faults = []string{"POST /github/api/v3/repos/... delay=60s times=1"}
		if runs, said := p.play(t); runs[0].Status != ExitOK {
			t.Fatalf("the run = %d\n%s", runs[0].Status, said)
		}
		read, writes := 0, 0
		for _, r := range p.figures.asked {
			if r.Writes() {
				writes++
			}
			if writes < 2 && strings.HasPrefix(r.Path, "/github/_codeload/") {
				read++
			}
		}
		if read != 1+mostAhead {
			t.Errorf("%d repositories are read before the second request that writes, want %d", read, 1+mostAhead)
		}
	})
}

// TestPlansWaitForTheirTurn holds that a plan that has waited for more than ten minutes is made
// again, and no other.
func TestPlansWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	const repositories = 30
	for wait, old := range map[time.Duration]bool{5 * time.Minute: false, 14 * time.Minute: true} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := fleetPlay{world: settledWorld(repositories, outdatedLock), readers: mostReaders, longest: 250 * time.Millisecond, figures: &fleetFigures{}}
				p.runs = [][]string{{"pr", "--org", "acme", "--format", "json"}}
				p.faults = []string{fmt.Sprintf("POST /github/api/v3/repos/... header=Retry-After:%d secondary times=1", int(wait.Seconds()))}
				runs, said := p.play(t)
				if runs[0].Status != ExitOK || len(runs[0].Pulls) != repositories {
					t.Fatalf("the run = %d with %d pull requests\n%s", runs[0].Status, len(runs[0].Pulls), said)
				}
				read, before, twice := map[string]bool{}, 0, 0
				for i, r := range p.figures.asked {
					if i == slices.IndexFunc(p.figures.asked, sandbox.Request.Writes) {
						before = len(read)
					}
					name, archive := strings.CutPrefix(r.Path, "/github/_codeload/acme/")
					switch {
					case archive && read[name]:
						twice++
					case archive:
						read[name] = true
					}
				}
				if before <= mostReaders || !old && twice > 0 || old && twice < before-1 {
					t.Errorf("%d repositories of %d are read twice, after a wait of %v\n%s", twice, before, wait, said)
				}
			})
		})
	}
}

// TestSecondaryLimitHalvesTheReaders holds that eight repositories are read at once, and four
// after GitHub has refused something for a while, which the run waits for once.
func TestSecondaryLimitHalvesTheReaders(t *testing.T) {
	t.Parallel()
	lock := settledLock(t)
	synctest.Test(t, func(t *testing.T) {
		p := fleetPlay{world: settledWorld(60, lock), readers: mostReaders, longest: 250 * time.Millisecond, figures: &fleetFigures{}}
		p.runs = [][]string{{"pr", "--org", "acme", "--format", "json", "--platform", "linux_amd64"}}
		p.faults = []string{"GET /github/api/v3/repos/acme/r0020/... secondary times=1", "GET /github/api/v3/repos/acme/r0021/... secondary times=1"}
		for i := range p.faults {
			p.faults[i] = strings.Replace(p.faults[i], "secondary", "header=Retry-After:120 secondary", 1)
		}
		runs, said := p.play(t)
		if runs[0].Status != ExitOK || strings.Count(said, "waiting for a rate limit") != 1 {
			t.Errorf("the run = %d, want one wait\n%s", runs[0].Status, said)
		}
		before, after := 0, 0
		var over time.Time // the wait, and what was begun before
		for i, a := range p.figures.atOnce {
			if i > 0 && a.at.Sub(p.figures.atOnce[i-1].at) > time.Minute {
				over = a.at.Add(time.Second)
			}
			switch {
			case over.IsZero():
				before = max(before, a.under)
			case a.at.After(over):
				after = max(after, a.under)
			}
		}
		if before != mostReaders || after != mostReaders/2 {
			t.Errorf("%d requests are under way at once, and then %d, want 8 and 4", before, after)
		}
	})
}

var fleetRepositories = flag.Int("fleet-repositories", 60, "how many repositories TestFleetAtGitHubsSpeed has")

// settledWorld is an organisation of repositories with two root modules each, and with lock
// files that say this.
func settledWorld(repositories int, lock string) string {
	var w strings.Builder
	w.WriteString(fleetRegistry)
	for i := range repositories {
		for _, dir := range []string{"live", "test"} {
			fmt.Fprintf(&w, "-- github/acme/r%04d/main/%s/main.tf --\n# %[1]d\nresource \"null_resource\" \"x\" {}\n-- github/acme/r%04[1]d/main/%s/.terraform.lock.hcl --\n%s", i, dir, lock)
		}
	}
	return w.String()
}

const outdatedLock = "provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3.2.2\"\n}\n"

const fleetRegistry = "-- registry/registry.terraform.io/hashicorp/null --\nversions: [3.2.2, 3.2.4]\nplatforms: [linux_amd64]\n"

// settledLock is the lock file of such a root module in which nothing is to be done.
func settledLock(t *testing.T) string {
	t.Helper()
	world, err := sandbox.ParseWorld(txtar.Parse([]byte(fleetRegistry)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.Start(world)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), []byte("resource \"null_resource\" \"x\" {}\n"))
	write(t, filepath.Join(dir, ".terraform.lock.hcl"), nil)
	in := session{home: t.TempDir()}
	if status, said := in.run(t, s, dir, "upgrade", "--platform", "linux_amd64", "."); status != ExitOK {
		t.Fatalf("upgrade = %d\n%s", status, said)
	}
	text, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFleetAtGitHubsSpeed plays runs over an organisation in which every answer takes 250 ms of
// virtual time. It holds that eight readers hide that time, that no minute has more points than
// the pace, that GitHub refuses nothing, and that 2,000 repositories with nothing to do would
// take less than five minutes. The figures of docs/scale.md are
//
//	go test ./internal/command -v -run FleetAtGitHubsSpeed -fleet-repositories 2000 -timeout 1h
func TestFleetAtGitHubsSpeed(t *testing.T) {
	t.Parallel()
	run := []string{"pr", "--org", "acme", "--format", "json", "--platform", "linux_amd64"}
	with := func(more ...string) []string { return append(run[:len(run):len(run)], more...) }
	lock, took, n := settledLock(t), map[string]time.Duration{}, *fleetRepositories
	for _, tt := range []struct {
		name, lock   string
		repositories int
		readers      int
		runs         [][]string
	}{
		{"unread", lock, n, 8, [][]string{run}},
		{"unread_by_one", lock, n, 1, [][]string{run}},
		{"remembered", lock, n, 8, [][]string{with("--fleet", "fleet.json"), with("--fleet", "fleet.json")}},
		{"all_to_be_written", outdatedLock, n / 2, 8, [][]string{with("--max-new", "10000", "--timeout", "90h")}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := fleetPlay{world: settledWorld(tt.repositories, tt.lock), readers: tt.readers, longest: 250 * time.Millisecond, runs: tt.runs}
			var figures fleetFigures
			p.figures = &figures
			runs, said := p.play(t)
			last := runs[len(runs)-1]
			if last.Status != ExitOK {
				t.Fatalf("%s = %d\n%s", tt.name, last.Status, said)
			}
			took[tt.name] = figures.took
			t.Logf("%-17s %5d repositories  %8v  %6d requests  %4d points in a minute  %4d contents in an hour", tt.name, tt.repositories, figures.took.Round(time.Second), figures.requests, figures.points, figures.contents)
		})
	}
	if took["unread"]*4 > took["unread_by_one"] {
		t.Errorf("eight readers take %v, one %v, want less than a quarter", took["unread"], took["unread_by_one"])
	}
	if whole := took["unread"] * 2000 / time.Duration(n); whole > 5*time.Minute {
		t.Errorf("%d repositories take %v, so that 2,000 take %v, want five minutes at most", n, took["unread"], whole)
	}
	if took["remembered"] > took["unread"]/4 {
		t.Errorf("what is remembered takes %v, what is not %v", took["remembered"], took["unread"])
	}
}

// atOnce is how many requests were under way at a time.
type atOnce struct {
	at    time.Time
	under int
}

// fleetFigures are those of the last run of a play.
type fleetFigures struct {
	took                       time.Duration
	requests, points, contents int // to GitHub; in the worst minute, and hour
	asked                      []sandbox.Request
	atOnce                     []atOnce
}
