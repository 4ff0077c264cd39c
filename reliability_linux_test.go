package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/bubble"
)

var (
	wholeMatrix = flag.Bool("matrix", false, "TestReliability: also the faults that need a process of their own")
	cellsShare  = flag.Int("share", 8, "TestReliability and TestEveryWriteEveryFailure play one of so many cells that no process is needed for; 1: all of them")
	update      = flag.Bool("update", false, "write the tables of testdata/reliability and docs/traces.md again, as far as what was run says it")
)

// mostTime is how long a run may take whatever happens to one kind of request.
// It is no measurement: who takes longer will not end.
const mostTime = 20 * time.Minute

// mostRequests is how often a run of one provider may ask what goes wrong, with
// redirects and repetitions.
const mostRequests = 100

// matrixFaults are the rows of the matrix. Time is virtual in most columns: waits are
// what a run of another program waits for, and exhausts what is made to exhaust a run, in
// all of them. These are for processes of their own.
var matrixFaults = []struct {
	name, fault     string
	waits, exhausts bool
}{
	{"nobody listens", "refused", true, false},
	{"connection reset", "reset", true, false},
	{"connection reset once", "reset times=1", true, false},
	{"connection closed", "drop", true, false},
	{"body cut", "truncate=20", true, false},
	{"body cut once", "truncate=20 times=1", true, false},
	{"length too short", "short", false, false},
	{"length too long", "long", true, false},
	{"body stalls", "stall", true, false},
	{"body slow", "slow", false, false},
	{"body never ends", "trickle", true, false},
	{"no answer", "hang", true, false},
	{"304 unasked", "304", false, false},
	{"401", "401", false, false},
	{"403", "403", false, false},
	{"404", "404", false, false},
	{"429", "429", true, false},
	{"429, Retry-After: 1, once", "429 header=Retry-After:1 times=1", true, false},
	{"429, Retry-After: 1", "429 header=Retry-After:1", true, false},
	{"503, Retry-After: 604800", "503 header=Retry-After:604800", false, false},
	{"500 once", "500 times=1", true, false},
	{"500", "500", true, false},
	{"redirect loop", "loop", false, false},
	{"redirect to another server", "elsewhere", false, false},
	{"redirect to a metadata service", "forbidden", false, false},
	{"redirect to a lower scheme", "lower", false, false},
	{"no TLS where it must be", "notls", true, false},
	{"wrong content type", "header=Content-Type:text/html", false, false},
	{"login page", "html", false, false},
	{"empty body", "empty", false, false},
	{"garbage", "garbage", false, false},
	{"first byte wrong", "corrupt", false, false},
	{"JSON nested too deeply", "nested", false, false},
	{"JSON without end", "huge", false, true},
	{"compressed gigabyte", "bomb", false, true},
	{"16 MiB of headers", "headers", false, true},
}

// TestReliability spoils one URL of each kind of request in each way, in a world where
// all else is well, and judges what relock leaves by one rule: an entry that is
// written is that of a faultless world, or the old one, and if it is not that of
// the faultless world the run says so by its status. What does not need the URL is that
// of a faultless world, and the run ends in time. Then the fault is mended, and the
// second run, with what the first one remembers, must leave what a faultless world
// gives.
//
// matrixTable has the table. Time is virtual, except where another program or the memory of a
// process counts. Without a flag the test plays one of eight cells in virtual time. To play
// all of them, and to write the table again:
//
//	go test -run Reliability -matrix -parallel 24 -timeout 60m . [-update]
func TestReliability(t *testing.T) {
	t.Parallel()
	told := matrixTable.read(t)
	var mu sync.Mutex // guards told and these
	var most int64
	var longest time.Duration
	t.Run("cells", func(t *testing.T) {
		cells := 0 // of those that are played in this process
		for _, k := range matrixKinds {
			k.prepare(t)
			for _, f := range matrixFaults {
				alone := f.exhausts || k.process && f.waits
				if !*wholeMatrix && alone {
					continue
				}
				if cells++; !*wholeMatrix && cells%*cellsShare > 0 {
					continue
				}
				t.Run(k.name+"/"+f.name, func(t *testing.T) {
					t.Parallel()
					c := k.suffer(t, f.fault, alone)
					t.Logf("%s, %d MB", c, c.Memory>>20)
					if c.wrong != "" {
						t.Errorf("%s\n%s", c.wrong, c.Output)
					}
					mu.Lock()
					defer mu.Unlock()
					most, longest = max(most, c.Memory), max(longest, c.took)
					if got := c.String(); *update {
						told[f.name+k.name] = got
					} else if want := told[f.name+k.name]; !sameState(got, want) {
						t.Errorf("it is %s, and %s has %q; -update writes it\n%s", got, matrixTable, want, c.Output)
					}
				})
			}
		}
	})
	if *wholeMatrix {
		t.Logf("%d cells; the most memory: %d MB; the longest run: %.0f s", len(matrixKinds)*len(matrixFaults), most>>20, longest.Seconds())
	}
	if *update {
		matrixTable.write(t, matrixNames(), told)
	}
}

// sameState compares cells without how many requests there were: a better way to ask is
// no mistake. mostRequests bounds it. A second more or less is none either, since half a
// second is rounded up or down.
func sameState(a, b string) bool {
	number, took := regexp.MustCompile("^(old|new) [0-9]+"), regexp.MustCompile(", ([0-9]+) s$")
	seconds := func(cell string) int {
		n := 0
		if m := took.FindStringSubmatch(cell); m != nil {
			n, _ = strconv.Atoi(m[1]) // the expression allows digits alone
		}
		return n
	}
	state := func(cell string) string { return took.ReplaceAllString(number.ReplaceAllString(cell, "$1"), "") }
	apart := seconds(a) - seconds(b)
	return state(a) == state(b) && -1 <= apart && apart <= 1
}

// cell is what became of a run.
type cell struct {
	cost
	requests   int // of the spoilt kind
	state      string
	neighbours string
	virtual    bool
	took       time.Duration // until the end
	after      time.Duration // the last answer that was not spoilt
	wrong      string        // what must not be; empty if all is right
}

// String says what became of the entry, by how many requests, of its neighbours, and,
// in virtual time, when the run ended.
func (c cell) String() string {
	text := fmt.Sprintf("%s %d, %s", c.state, c.requests, c.neighbours)
	if c.virtual {
		text += fmt.Sprintf(", %.0f s", c.took.Seconds())
	}
	if (c.state == stateNew) != (c.Status == command.ExitOK) {
		text += fmt.Sprintf(" (status=%d)", c.Status)
	}
	return text
}

// What a run may leave behind.
const (
	stateNew  = "new"
	stateOld  = "old"
	stateNone = "–" // there is none
)

// mostTail is how long a run may take after the last answer that it used.
const mostTail = 70 * time.Second

// suffer runs relock in a world of its own in which one URL is spoilt, and once more
// when it is mended.
func (k *kind) suffer(t *testing.T, fault string, alone bool) (c cell) {
	t.Helper()
	if alone || k.process {
		return k.play(t, fault, alone, nil)
	}
	synctest.Test(t, func(t *testing.T) {
		c = k.play(t, fault, false, new(bubble.Net))
		c.virtual = true
	})
	return c
}

func (k *kind) play(t *testing.T, fault string, alone bool, network *bubble.Net) (c cell) {
	t.Helper()
	r := k.beginIn(t, network)
	for _, pattern := range k.patterns() {
		f, err := sandbox.ParseFault(pattern.fault + " " + fault)
		if err != nil {
			t.Error(err)
			return c
		}
		f.Asking = pattern.asking
		r.sandbox.Inject(f)
	}
	r.sandbox.ResetRequests()
	began := time.Now()
	last := k.lastUsed(r, began)
	if alone {
		c.cost = r.alone(t)
	} else {
		c.cost = r.here(t)
	}
	c.took, c.after, c.requests = time.Since(began), time.Since(last()), k.count(r.sandbox.Requests())
	c.state, c.neighbours = k.state(t, r)
	switch {
	case c.Status != command.ExitOK && c.Status != command.ExitFailed:
		c.wrong = fmt.Sprintf("the status is %d", c.Status)
	case c.state != stateNew && c.state != stateOld:
		c.wrong = "what was written is neither old nor new: " + c.state
	case c.neighbours != stateNew && c.neighbours != stateNone:
		c.wrong = "the neighbours do not need what is spoilt: " + c.neighbours
	case c.state == stateOld && c.Status == command.ExitOK:
		c.wrong = "nothing says that something failed"
	case c.Memory > mostMemory:
		c.wrong = fmt.Sprintf("it took %d MB", c.Memory>>20)
	case c.requests > mostRequests:
		c.wrong = fmt.Sprintf("%d requests of that kind were made", c.requests)
	case network != nil && !k.github && c.after > mostTail:
		c.wrong = fmt.Sprintf("it ended %s after the last answer that it used", c.after)
	case c.took > mostTime:
		c.wrong = "it did not end"
	}
	r.sandbox.Mend()
	again := r.here(t)
	if entry, neighbours := k.state(t, r); entry != stateNew || neighbours == stateOld || again.Status != command.ExitOK {
		c.wrong += fmt.Sprintf("; the run after it left %s and %s with status %d:\n%s", entry, neighbours, again.Status, again.Output)
	}
	r.sandbox.Close()
	return c
}

// lastUsed says when the last answer ended that was not spoilt; began before any.
func (k *kind) lastUsed(r *running, began time.Time) func() time.Time {
	var mu sync.Mutex
	last := began
	r.sandbox.After(func(req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked := sandbox.Request{Method: req.Method, Path: req.URL.Path}
		if !slices.ContainsFunc(k.patterns(), func(p pattern) bool { return p.covers(asked) }) {
			last = time.Now()
		}
	})
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
}

// here runs relock in this process.
func (r *running) here(t *testing.T) cost {
	var out bytes.Buffer
	env := map[string]string{}
	for _, e := range r.environ {
		name, value, _ := strings.Cut(e, "=")
		env[name] = value
	}
	ctx, cancel := context.WithTimeout(t.Context(), mostTime)
	defer cancel()
	status := command.Main(ctx, command.Env{
		Args: r.args, Stdout: &out, Stderr: &out, WorkDir: r.dir, Home: r.home, CacheDir: filepath.Join(r.home, "cache"), GOOS: "linux",
		Getenv: func(name string) string { return env[name] }, Environ: r.environ, Now: time.Now(), Dial: r.dial,
	})
	return cost{Status: status, Output: out.String()}
}

// alone runs relock in a process that is measured.
func (r *running) alone(t *testing.T) cost {
	ctx, cancel := context.WithTimeout(t.Context(), mostTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "measure", r.args...)
	cmd.Dir, cmd.Env = r.dir, r.environ
	out, err := cmd.Output()
	var c cost
	if err := json.Unmarshal(out, &c); err != nil {
		return cost{Status: -1, Output: fmt.Sprintf("%v %s", ctx.Err(), out)}
	}
	if err != nil {
		c.Status = -1
	}
	return c
}

// count counts the requests of the kind.
func (k *kind) count(asked []sandbox.Request) int {
	n := 0
	for _, r := range asked {
		if slices.ContainsFunc(k.patterns(), func(p pattern) bool { return p.covers(r) }) {
			n++
		}
	}
	return n
}

// matrixNames are the names of the rows and of the columns.
func matrixNames() (names tableNames) {
	for _, f := range matrixFaults {
		names.rows = append(names.rows, f.name)
	}
	for _, k := range matrixKinds {
		names.columns = append(names.columns, k.name)
	}
	return names
}
