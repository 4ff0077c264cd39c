package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/sandbox"
)

var (
	wholeMatrix = flag.Bool("matrix", false, "TestReliability: also the faults that a run waits for, each in a process of its own")
	cellsShare  = flag.Int("share", 3, "TestReliability plays one of so many cells that a run does not wait for; 1: all of them")
	update      = flag.Bool("update", false, "write docs/reliability.md anew, as far as what was run says it")
)

const reliability = "docs/reliability.md"

// mostTime is how long a run may take whatever happens to one kind of request.
// It is no measurement: who takes longer will not end.
const mostTime = 20 * time.Minute

// mostRequests is how often a run of one provider may ask what goes wrong, with
// redirects and repetitions.
const mostRequests = 100

// matrixFaults are the rows of the matrix. Those that a run waits for, and those
// that are made to exhaust it, are for processes of their own.
var matrixFaults = []struct {
	name, fault string
	alone       bool
}{
	{"nobody listens", "refused", true},
	{"connection reset", "reset", true},
	{"connection reset once", "reset times=1", true},
	{"connection closed", "drop", true},
	{"body cut", "truncate=20", true},
	{"body cut once", "truncate=20 times=1", true},
	{"length too short", "short", false},
	{"length too long", "long", true},
	{"body stalls", "stall", true},
	{"body slow", "slow", false},
	{"body never ends", "trickle", true},
	{"no answer", "hang", true},
	{"304 unasked", "304", false},
	{"401", "401", false},
	{"403", "403", false},
	{"404", "404", false},
	{"429", "429", true},
	{"429, Retry-After: 1, once", "429 header=Retry-After:1 times=1", true},
	{"429, Retry-After: 1", "429 header=Retry-After:1", true},
	{"500 once", "500 times=1", true},
	{"500", "500", true},
	{"redirect loop", "loop", false},
	{"redirect to another server", "elsewhere", false},
	{"redirect to a metadata service", "forbidden", false},
	{"redirect to a lower scheme", "lower", false},
	{"no TLS where it must be", "notls", true},
	{"wrong content type", "header=Content-Type:text/html", false},
	{"login page", "html", false},
	{"empty body", "empty", false},
	{"garbage", "garbage", false},
	{"first byte wrong", "corrupt", false},
	{"JSON nested too deeply", "nested", false},
	{"JSON without end", "huge", true},
	{"compressed gigabyte", "bomb", true},
	{"16 MiB of headers", "headers", true},
}

// TestReliability spoils each kind of request in each way, in a world where all
// else is well, and judges what relock leaves by one rule: an entry that is
// written is that of a faultless world, or the old one, and if it is not that of
// the faultless world the run says so by its status. Then the fault is mended, and
// the second run, with what the first one remembers, must leave what a faultless
// world gives.
//
// docs/reliability.md has the table. Without a flag each kind of request meets a third
// of the faults that a run does not wait for, and each fault a third of the kinds. To
// run all of it, which takes some minutes, and to write the document anew:
//
//	go test -run Reliability -matrix -parallel 24 -timeout 60m . [-update]
func TestReliability(t *testing.T) {
	t.Parallel()
	told := readMatrix(t)
	var mu sync.Mutex // guards told and these
	var most int64
	var longest time.Duration
	t.Run("cells", func(t *testing.T) {
		cells := 0 // that a run does not wait for
		for _, k := range matrixKinds {
			k.prepare(t)
			for _, f := range matrixFaults {
				if !*wholeMatrix && (f.alone || k.patient && !slices.Contains(settled, f.name)) {
					continue
				}
				if cells++; !*wholeMatrix && cells%*cellsShare > 0 {
					continue
				}
				t.Run(k.name+"/"+f.name, func(t *testing.T) {
					t.Parallel()
					c := k.suffer(t, f.fault, *wholeMatrix)
					t.Logf("%s, %d MB, %.1f s", c, c.Memory>>20, c.took.Seconds())
					if c.wrong != "" {
						t.Errorf("%s\n%s", c.wrong, c.Output)
					}
					mu.Lock()
					defer mu.Unlock()
					most, longest = max(most, c.Memory), max(longest, c.took)
					if got := c.String(); *update {
						told[f.name+k.name] = got
					} else if want := told[f.name+k.name]; !sameState(got, want) {
						t.Errorf("it is %s, and %s has %q; -update writes it\n%s", got, reliability, want, c.Output)
					}
				})
			}
		}
	})
	if *wholeMatrix {
		t.Logf("%d cells; the most memory: %d MB; the longest run: %.0f s", len(matrixKinds)*len(matrixFaults), most>>20, longest.Seconds())
	}
	if *update {
		writeMatrix(t, told)
	}
}

// settled are the faults after which not even GitHub is asked again.
var settled = []string{"304 unasked", "401", "403", "404", "wrong content type"}

// sameState compares cells without how many requests there were: where a run
// waits, that depends on how fast the machine is, and elsewhere a better way to
// ask is no mistake. mostRequests bounds it.
func sameState(a, b string) bool {
	number := regexp.MustCompile(" [0-9]+")
	return number.ReplaceAllLiteralString(a, "") == number.ReplaceAllLiteralString(b, "")
}

// cell is what became of a run.
type cell struct {
	cost
	requests int // of the spoilt kind
	state    string
	took     time.Duration
	wrong    string // what must not be; empty if all is right
}

func (c cell) String() string {
	text := fmt.Sprintf("%s %d", c.state, c.requests)
	if (c.state == stateNew) != (c.Status == command.ExitOK) {
		text += fmt.Sprintf(" (status=%d)", c.Status)
	}
	return text
}

// What a run may leave behind.
const (
	stateNew = "new"
	stateOld = "old"
)

// suffer runs relock in a world of its own in which one kind of request is
// spoilt, and once more when it is mended.
func (k *kind) suffer(t *testing.T, fault string, alone bool) (c cell) {
	t.Helper()
	r := k.begin(t)
	for _, pattern := range k.requests {
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
	if alone {
		c.cost = r.alone(t)
	} else {
		c.cost = r.here(t)
	}
	c.took, c.requests = time.Since(began), k.count(r.sandbox.Requests())
	c.state = k.state(t, r)
	switch {
	case c.Status != command.ExitOK && c.Status != command.ExitFailed:
		c.wrong = fmt.Sprintf("the status is %d", c.Status)
	case c.state != stateNew && c.state != stateOld:
		c.wrong = "what was written is neither old nor new: " + c.state
	case c.state == stateOld && c.Status == command.ExitOK:
		c.wrong = "nothing says that something failed"
	case c.Memory > mostMemory:
		c.wrong = fmt.Sprintf("it took %d MB", c.Memory>>20)
	case c.requests > mostRequests:
		c.wrong = fmt.Sprintf("%d requests of that kind were made", c.requests)
	case c.took > mostTime:
		c.wrong = "it did not end"
	}
	r.sandbox.Mend()
	if again := r.here(t); k.state(t, r) != stateNew || again.Status != command.ExitOK {
		c.wrong += fmt.Sprintf("; the run after it left %s with status %d:\n%s", k.state(t, r), again.Status, again.Output)
	}
	r.sandbox.Close()
	return c
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
		Getenv: func(name string) string { return env[name] }, Environ: r.environ, Now: time.Now(),
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

// The table of the document stands between these lines.
const (
	matrixBegin = "<!-- The table is written by go test -run Reliability -matrix -update. -->\n"
	matrixEnd   = "<!-- End of the table. -->\n"
)

// readMatrix reads the cells of the document, by fault and kind.
func readMatrix(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(reliability)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), matrixBegin)
	table, _, ok := strings.Cut(table, matrixEnd)
	if !ok {
		t.Fatalf("%s has no place for the table", reliability)
	}
	told := map[string]string{}
	var head []string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if head == nil {
			head = cells
		}
		for i, text := range cells[1:] {
			if i+1 < len(head) {
				told[cells[0]+head[i+1]] = text
			}
		}
	}
	return told
}

func writeMatrix(t *testing.T, told map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("| |")
	for _, k := range matrixKinds {
		b.WriteString(" " + k.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(matrixKinds)) + "\n")
	for _, f := range matrixFaults {
		b.WriteString("| " + f.name + " |")
		for _, k := range matrixKinds {
			b.WriteString(" " + told[f.name+k.name] + " |")
		}
		b.WriteString("\n")
	}
	text, err := os.ReadFile(reliability)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), matrixBegin)
	_, after, _ := strings.Cut(rest, matrixEnd)
	mustWrite(t, reliability, []byte(before+matrixBegin+"\n"+b.String()+"\n"+matrixEnd+after))
}

// count counts the requests of the kind.
func (k *kind) count(asked []sandbox.Request) int {
	n := 0
	for _, r := range asked {
		if slices.ContainsFunc(k.requests, func(p pattern) bool { return p.covers(r) }) {
			n++
		}
	}
	return n
}
