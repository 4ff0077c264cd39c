package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/sandbox"
)

// writeFault is a column of the table.
type writeFault struct {
	name, fault string
	graphql     bool // it is an answer of GraphQL alone
	done        bool // the write is carried out
}

// writeFaults are the columns of the table. A refusal and a bad gateway last for the run, and
// the rest happens once.
var writeFaults = []writeFault{
	{name: "401", fault: "401"},
	{name: "403", fault: "403"},
	{name: "422", fault: "422"},
	{name: "502", fault: "502"},
	{name: "502, done", fault: "done 502", done: true},
	{name: "lost", fault: "drop times=1"},
	{name: "lost, done", fault: "done drop times=1", done: true},
	{name: "errors", fault: "errors=NODE times=1", graphql: true},
	{name: "errors, done", fault: "done errors=NODE times=1", graphql: true, done: true},
	{name: "stale", fault: "stale times=1", done: true},
}

// refusals are the bodies of GitHub's refusals.
var refusals = map[string]string{
	"401": `{"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401"}`,
	"403": `{"message": "Resource not accessible by integration", "documentation_url": "https://docs.github.com/rest", "status": "403"}`,
	"422": `{"message": "Validation Failed", "errors": [{"resource": "Thing", "code": "custom", "message": "It cannot be so"}], "documentation_url": "https://docs.github.com/rest", "status": "422"}`,
}

// notOfREST is the cell of a fault that only GraphQL has, where REST writes.
const notOfREST = "REST has none"

// TestEveryWriteEveryFailure spoils each write to GitHub in each way. After the
// spoilt run comes an undisturbed one, and then GitHub must hold what it would hold after an
// undisturbed run alone; one more run changes nothing. In a workflow that answers a comment,
// the next run is the same event again, as "Re-run jobs" has it.
//
// Without a flag it plays one of eight cells, at least one of each write; -share 1 plays all,
// and -update, too. writesTable has the table, and testdata/writes.txt what the spoilt runs
// say:
//
//	go test -run EveryWriteEveryFailure . -update
func TestEveryWriteEveryFailure(t *testing.T) {
	if raceDetector {
		t.Skip("it takes minutes with the race detector: .ci/run plays it without")
	}
	t.Parallel()
	told := writesTable.read(t)
	said := map[string][]string{}
	cells, played := 0, 0
	var mu sync.Mutex // guards told, said and played
	t.Run("cells", func(t *testing.T) {
		for _, w := range writes {
			for _, f := range writeFaults {
				if f.graphql && !w.graphql() {
					if *update {
						told[w.String()+f.name] = notOfREST
					}
					continue
				}
				if cells++; !*update && cells%*cellsShare > 0 {
					continue
				}
				t.Run(w.String()+"/"+f.name, func(t *testing.T) {
					t.Parallel()
					c := w.suffer(t, f)
					if c.wrong != "" {
						t.Errorf("%s\n%s", c.wrong, c.first.Output)
					}
					mu.Lock()
					defer mu.Unlock()
					played++
					for _, text := range c.said {
						said[text] = append(said[text], fmt.Sprintf("%s: %s", w, f.name))
					}
					if *update {
						told[w.String()+f.name] = c.String()
					} else if want := told[w.String()+f.name]; c.String() != want {
						t.Errorf("it is %q, and %s has %q; -update writes it\n%s", c, writesTable, want, c.first.Output)
					}
				})
			}
		}
	})
	if *update {
		writesTable.write(t, writesNames(), told)
	}
	if played == cells {
		compareSaid(t, said)
	}
}

// writeCell is what became of a spoilt write.
type writeCell struct {
	first   cost
	usual   int      // the status of an undisturbed run
	whole   bool     // the first run left nothing to do
	refused bool     // and nothing more: it is said once, and not tried again
	said    []string // what is wrong, by the first run
	wrong   string   // what must not be; empty if all is right
}

// String says which run brings everything in order, and whether the first one says that
// something is wrong.
func (c writeCell) String() string {
	text := "next run"
	if c.refused {
		return "said once"
	}
	if c.whole {
		text = "same run"
	}
	if c.first.Status != c.usual {
		text += ", fails"
	} else if len(c.said) > 0 {
		text += ", warns"
	}
	return text
}

// suffer plays a write that meets a fault, in a world and in a time of its own.
func (w written) suffer(t *testing.T, f writeFault) (c writeCell) {
	t.Helper()
	usual := w.scene.undisturbed(t)
	synctest.Test(t, func(t *testing.T) { c = w.play(t, f, usual) })
	return c
}

func (w written) play(t *testing.T, f writeFault, usual undisturbed) (c writeCell) {
	t.Helper()
	want := usual.held
	s := w.scene.begin(t)
	defer s.sandbox.Close()
	spoilt, err := sandbox.ParseFault(w.requests.fault + " " + strings.ReplaceAll(f.fault, "NODE", w.requests.asking))
	s.must(err)
	spoilt.Asking, spoilt.Body = w.requests.asking, refusals[f.fault]
	s.sandbox.Inject(spoilt)
	s.sandbox.ResetRequests()
	c.first, c.usual = s.here(t), w.scene.status
	c.said = slices.DeleteFunc(sentences(c.first.Output), func(text string) bool { return slices.Contains(usual.said, text) })
	if !slices.ContainsFunc(s.sandbox.Requests(), w.requests.covers) {
		c.wrong = "the write is not made"
	}
	c.whole = slices.Contains(want, s.held())
	if f.name != "stale" || w.scene.args == nil || w.scene.later { // who runs a job again takes a while
		s.sandbox.Mend()
	}
	again := s.again()
	if w.scene.swept {
		s.runs(scheduled)
		s.args = w.scene.words()
	}
	if again.Status != w.scene.status {
		c.wrong += fmt.Sprintf("; the next run ends with status %d:\n%s", again.Status, again.Output)
	}
	held := s.held()
	c.refused = (w.once || f.name == "422" && w.lesser) && len(c.said) > 0 && !slices.Contains(want, held)
	if !slices.Contains(want, held) && !c.refused {
		c.wrong += fmt.Sprintf("; after the next run GitHub does not hold what it should:\n%s\n%s", cmp.Diff(want[0], held), again.Output)
	}
	s.sandbox.Mend()
	last := s.again()
	if settled := s.held(); last.Status != w.scene.status || settled != held && !slices.Contains(want, settled) {
		c.wrong += fmt.Sprintf("; the run after that changes something, with status %d:\n%s\n%s", last.Status, cmp.Diff(held, settled), last.Output)
	}
	if sent := slices.DeleteFunc(s.sandbox.Requests(), func(r sandbox.Request) bool { return !r.Writes() }); w.scene.args != nil && len(sent) > 0 && w.scene != byApp {
		c.wrong += fmt.Sprintf("; the run after that sends %v", sent)
	}
	return c
}

// undisturbed is what GitHub holds after an undisturbed run of a scene, and after another
// one, and what these say.
type undisturbed struct{ held, said []string }

func (scene *writeScene) undisturbed(t *testing.T) undisturbed {
	t.Helper()
	return undisturbedScenes.of(scene, func() (u undisturbed) {
		synctest.Test(t, func(t *testing.T) {
			s := scene.begin(t)
			defer s.sandbox.Close()
			s.sandbox.ResetRequests()
			for range 2 {
				c := s.here(t)
				if c.Status != scene.status {
					t.Fatalf("an undisturbed run ends with status %d:\n%s", c.Status, c.Output)
				}
				if scene.swept {
					s.runs(scheduled)
					s.args = scene.words()
				}
				u.held, u.said = append(u.held, s.held()), append(u.said, sentences(c.Output)...)
				s.environ = append(s.environ, "GITHUB_RUN_ATTEMPT=2")
			}
			for _, r := range s.sandbox.Requests() {
				if r.Writes() && !slices.ContainsFunc(writes, func(w written) bool { return w.requests.covers(r) }) {
					t.Errorf("%s has no row in the table of every write", r)
				}
			}
		})
		return u
	})
}

// scenesHeld remembers what scenes come to.
type scenesHeld struct {
	mu   sync.Mutex
	held map[*writeScene]func() undisturbed
}

var undisturbedScenes scenesHeld

func (h *scenesHeld) of(scene *writeScene, play func() undisturbed) undisturbed {
	h.mu.Lock()
	if h.held == nil {
		h.held = map[*writeScene]func() undisturbed{}
	}
	if h.held[scene] == nil {
		h.held[scene] = sync.OnceValue(play)
	}
	once := h.held[scene]
	h.mu.Unlock()
	return once()
}

var someCommit = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// unfinished are answers of runs that were not carried through.
var unfinished = regexp.MustCompile("^(On it|This did not work)")

// held is what people see of the repository: branches with their files and commits, and
// pull requests and issues with their comments. Times, and what follows from them, are not in it, nor
// what an answer says: a run that finds everything done says so, and ends with another face.
func (s *stage) held() string {
	s.t.Helper()
	var b strings.Builder
	refs := s.refs()
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		if !strings.HasPrefix(ref, "refs/heads/") {
			continue
		}
		commits, err := s.hub().Commits(matrixRepository, ref)
		s.must(err)
		upToDate := slices.ContainsFunc(commits, func(c sandbox.Commit) bool { return c.SHA == refs["refs/heads/main"] })
		fmt.Fprintf(&b, "%s, has the base: %t\n", ref, upToDate)
		for _, c := range commits {
			if strings.HasPrefix(ref, "refs/heads/relock/") {
				break // a fast-forward keeps the commits that a swap replaces
			}
			fmt.Fprintf(&b, "commit by %s: %s\n", c.Author, strings.ReplaceAll(strings.TrimSpace(c.Message), "\n", "\n  "))
		}
		files, err := s.hub().Files(matrixRepository, ref)
		s.must(err)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if strings.HasSuffix(name, ".hcl") {
				fmt.Fprintf(&b, "%s\n%s", name, files[name].Content)
			}
		}
	}
	pulls, err := s.hub().Pulls(matrixRepository)
	s.must(err)
	for _, p := range pulls {
		for i := range p.Comments {
			c := &p.Comments[i]
			c.Reactions = slices.DeleteFunc(c.Reactions, func(r string) bool { return !strings.HasPrefix(r, "eyes") })
			if strings.Contains(c.Body, "<!-- relock-answer:") && !unfinished.MatchString(c.Body) {
				c.Body = "an answer"
			}
		}
		describePull(&b, matrixRepository, p)
	}
	issues, err := s.hub().AllIssues(matrixRepository)
	s.must(err)
	for _, i := range issues {
		fmt.Fprintf(&b, "issue %d, open: %t, %s\n%s\n", i.Number, i.Open, i.Title, i.Body)
		for _, c := range i.Comments {
			fmt.Fprintf(&b, "%s: %s\n", c.Author, c.Body)
		}
	}
	return someCommit.ReplaceAllString(b.String(), "SHA")
}

// branchLeft is what a run says of a branch that it could not delete.
var branchLeft = regexp.MustCompile("its branch stays|does not delete its branch")

// sentences are the lines in which a run says what is wrong, and what to do next.
func sentences(output string) []string {
	var all []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "GitHub answered") || branchLeft.MatchString(line) || strings.HasPrefix(line, "next:") || strings.HasPrefix(line, "error:") || strings.HasPrefix(line, "warning:") {
			all = append(all, someCommit.ReplaceAllString(line, "SHA"))
		}
	}
	return all
}

// writesNames are the names of the rows and of the columns.
func writesNames() (names tableNames) {
	for _, w := range writes {
		names.rows = append(names.rows, w.String())
	}
	for _, f := range writeFaults {
		names.columns = append(names.columns, f.name)
	}
	return names
}

// saidFile is the file in which a person reads what the spoilt runs say.
const saidFile = "testdata/writes.txt"

// compareSaid compares what the spoilt runs say with the file, or writes that.
func compareSaid(t *testing.T, said map[string][]string) {
	t.Helper()
	var b strings.Builder
	for _, text := range slices.Sorted(maps.Keys(said)) {
		slices.Sort(said[text])
		fmt.Fprintf(&b, "%s\n", text)
		for _, cell := range slices.Compact(said[text]) {
			fmt.Fprintf(&b, "\t%s\n", cell)
		}
	}
	if *update {
		mustWrite(t, saidFile, []byte(b.String()))
		return
	}
	want, err := os.ReadFile(saidFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s differs; -update writes it:\n%s", saidFile, diff)
	}
}
