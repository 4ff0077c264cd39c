package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/sandbox"
)

var interrupts = flag.Int("interrupts", 2, "how often TestInterrupted interrupts a run")

// The multitude that is interrupted: enough for every part of a run to take a while on
// one processor.
const (
	multitudeRoots     = 192
	multitudeProviders = 12
	multitudeEach      = 6 // providers of a root module
)

// mostAfter is how much of a processor a run may take after an interrupt.
const mostAfter = 2 * time.Second

func init() {
	programs["unhurried"] = func() { work(patience{time.Hour, time.Hour}) } // it ends by itself
}

// TestInterrupted interrupts runs over many root modules on one processor at random
// times: at a request, before or after its answer, when so much of its work is done, or
// while lock files are written. Each ends by itself, with status 130 and a report of few lines; each
// lock file is the old one or the new one, and the next run makes all of them new.
//
//	go test -run Interrupted -interrupts 20 -v .
func TestInterrupted(t *testing.T) {
	t.Parallel()
	m := newMultitude(t)
	became := map[string]int{}
	for i := range *interrupts {
		m.interrupt(t, rand.New(rand.NewPCG(*killSeed+uint64(i), 15)), became)
	}
	t.Logf("runs: %v", became)
}

// multitude is many root modules, and what becomes of their lock files.
type multitude struct {
	*running
	old, new []string
	requests int64         // of a run
	work     time.Duration // of a processor
}

func newMultitude(t *testing.T) *multitude {
	t.Helper()
	world := ""
	for n := range multitudeProviders {
		world += fmt.Sprintf("-- registry/registry.terraform.io/acme/p%d --\nversions: [1.0.0, 1.1.0]\nplatforms: [linux_amd64, darwin_arm64]\n", n)
	}
	m := &multitude{running: (&kind{name: "multitude", staged: staged{hosts: true}}).start(t, world)}
	args := []string{"upgrade", "--platform", "linux_amd64", "--platform", "darwin_arm64"}
	m.args = args
	for i := range multitudeRoots {
		m.args = append(m.args, m.root(i))
	}
	m.configure(t, "1.0.0")
	m.old = m.whole(t)
	m.args = args
	m.configure(t, "~> 1.0")
	m.cold(t)
	var asked atomic.Int64
	m.sandbox.Before(func(*http.Request) { asked.Add(1) })
	m.new = m.whole(t)
	m.requests = asked.Load()
	for i := range m.old {
		if m.new[i] == m.old[i] {
			t.Fatalf("nothing is to do in root module %d", i)
		}
	}
	return m
}

func (m *multitude) root(i int) string { return filepath.Join(m.dir, fmt.Sprintf("root%03d", i)) }

// configure lets every root module require some of the providers.
func (m *multitude) configure(t *testing.T, version string) {
	t.Helper()
	for i := range multitudeRoots {
		var b strings.Builder
		b.WriteString("terraform {\n  required_providers {\n")
		for n := range multitudeEach {
			p := (i + n) % multitudeProviders
			fmt.Fprintf(&b, "    p%d = {\n      source  = \"acme/p%d\"\n      version = %q\n    }\n", p, p, version)
		}
		mustWrite(t, filepath.Join(m.root(i), "main.tf"), []byte(b.String()+"  }\n}\n"))
	}
}

// cold forgets what earlier runs have learned.
func (m *multitude) cold(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(m.home, "cache")); err != nil {
		t.Fatal(err)
	}
}

// command is a run on one processor.
func (m *multitude) command() *exec.Cmd {
	cmd := exec.Command("unhurried", m.args...)
	cmd.Dir, cmd.Env = m.dir, append([]string{"GOMAXPROCS=1"}, m.environ...)
	return cmd
}

// whole is a run that nobody interrupts. It returns the lock files.
func (m *multitude) whole(t *testing.T) []string {
	t.Helper()
	cmd := m.command()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("a run that nobody disturbs: %v\n%s", err, out)
	}
	m.work = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return m.locks(t)
}

func (m *multitude) locks(t *testing.T) []string {
	t.Helper()
	var all []string
	for i := range multitudeRoots {
		all = append(all, m.lock(t, i))
	}
	return all
}

func (m *multitude) lock(t *testing.T, i int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.root(i), ".terraform.lock.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// interrupt plays one run, and the next one.
func (m *multitude) interrupt(t *testing.T, random *rand.Rand, became map[string]int) {
	t.Helper()
	for i, text := range m.old {
		mustWrite(t, filepath.Join(m.root(i), ".terraform.lock.hcl"), []byte(text))
	}
	m.cold(t)
	cmd := m.command()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	signal := []os.Signal{os.Interrupt, syscall.SIGTERM}[random.IntN(2)]
	var done atomic.Bool
	var before time.Duration // of work, until the interrupt
	strike := func() {
		if !done.Swap(true) {
			before = busy(t, cmd.Process.Pid)
			_ = cmd.Process.Signal(signal) // it may have ended
		}
	}
	point, at := "", -1
	started := make(chan struct{})
	switch n := 1 + random.Int64N(m.requests); random.IntN(4) {
	case 0:
		point = fmt.Sprintf("at request %d", n)
		hooked(m.sandbox.Before, n, started, strike)
	case 1:
		point = fmt.Sprintf("after answer %d", n)
		hooked(m.sandbox.After, n, started, strike)
	case 2:
		at = random.IntN(multitudeRoots)
		point = fmt.Sprintf("when root module %d was written", at)
	default:
		point = fmt.Sprintf("after %.1f of its work", random.Float64())
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	close(started)
	for at >= 0 && m.lock(t, at) == m.old[at] && !ended(cmd.Process.Pid) {
		runtime.Gosched()
	}
	if at >= 0 {
		strike()
	}
	if share := 0.0; strings.HasSuffix(point, "work") {
		fmt.Sscanf(point, "after %f", &share)
		for busy(t, cmd.Process.Pid) < time.Duration(share*float64(m.work)) && !ended(cmd.Process.Pid) {
			runtime.Gosched()
		}
		strike()
	}
	_ = cmd.Wait() // the status is looked at
	done.Store(true)
	status := cmd.ProcessState.ExitCode()
	after := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() - before
	written, partly := m.judge(t, point)
	switch {
	case status == -1 && written == 0 && stderr.Len() == 0:
		became["killed before it began"]++
	case status == command.ExitOK && written == multitudeRoots:
		became["ended before"]++
	case status != command.ExitInterrupted:
		t.Errorf("interrupted %s: the status is %d\n%s%s", point, status, &stdout, &stderr)
	case written+partly == 0:
		became["nothing written"]++
	case written == multitudeRoots:
		became["all written"]++
	default:
		became["some entries written"]++
	}
	said, errors := stdout.String(), strings.Count(stdout.String(), "error: ")
	if status == command.ExitInterrupted && (len(said) > 4<<10 || errors > 4 || !strings.Contains(said, "error: the run was interrupted")) {
		t.Errorf("interrupted %s: it says, in %d bytes,\n%s%s", point, len(said), said, &stderr)
	}
	if before > 0 && after > mostAfter && !raceDetector {
		t.Errorf("interrupted %s: it takes another %s of a processor", point, after)
	}
	for i, text := range m.whole(t) {
		if text != m.new[i] {
			t.Errorf("interrupted %s: the next run leaves root module %d as\n%s", point, i, text)
		}
	}
}

// hooked calls strike at the nth request from now on.
func hooked(hook func(func(*http.Request)), n int64, started <-chan struct{}, strike func()) {
	var asked atomic.Int64
	hook(func(*http.Request) {
		if asked.Add(1) == n {
			<-started
			strike()
		}
	})
}

// ended reports whether a process that nobody has waited for has ended.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " Z")
}

// judge holds that every lock file is the old one or the new one, or one in which some
// entries are new. It returns how many are wholly new, and how many in part.
func (m *multitude) judge(t *testing.T, point string) (written, partly int) {
	t.Helper()
	for i, text := range m.locks(t) {
		switch {
		case text == m.new[i]:
			written++
		case text == m.old[i]:
		case m.mixed(text, i):
			partly++
		default:
			t.Errorf("interrupted %s: root module %d has\n%s", point, i, text)
		}
	}
	return written, partly
}

// mixed reports whether each entry of a lock file is that of the old one or of the new
// one.
func (m *multitude) mixed(text string, i int) bool {
	entries := func(text string) []string { return strings.SplitAfter(text, "\n}\n") }
	now, old, anew := entries(text), entries(m.old[i]), entries(m.new[i])
	if len(now) != len(anew) {
		return false
	}
	for n, entry := range now {
		if entry != old[n] && entry != anew[n] {
			return false
		}
	}
	return true
}

// mostWaiting is far more than a run may take that is interrupted while it waits. Who
// takes longer will not end, or ends when something else does.
const mostWaiting = 30 * time.Second

// TestInterruptedWhileWaiting interrupts a run when a server that it asks says nothing,
// or stops in the middle: for each kind of request. It ends by itself, with a report and
// status 130, and leaves what is old or new. The next run, which is answered, leaves
// what is new. -share 1 plays all of them.
func TestInterruptedWhileWaiting(t *testing.T) {
	t.Parallel()
	for i, k := range matrixKinds {
		for n, fault := range []string{"hang", "stall"} {
			if (i+n)%*cellsShare > 0 {
				continue
			}
			k := &kind{name: k.name, requests: k.requests, staged: k.staged, all: true} // another test prepares the other one
			k.prepare(t)
			t.Run(k.name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				k.interrupt(t, fault)
			})
		}
	}
}

// interrupt plays a run whose requests of the kind meet a fault, and the next one.
func (k *kind) interrupt(t *testing.T, fault string) {
	r := k.begin(t)
	for _, pattern := range k.requests {
		f, err := sandbox.ParseFault(pattern.fault + " " + fault)
		if err != nil {
			t.Fatal(err)
		}
		f.Asking = pattern.asking
		r.sandbox.Inject(f)
	}
	asked := make(chan struct{})
	waits := sync.OnceFunc(func() { close(asked) })
	r.sandbox.Before(func(q *http.Request) {
		body, err := io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
		of := sandbox.Request{Method: q.Method, Path: q.URL.Path, Query: strings.Contains(string(body), asksQuery)}
		if err == nil && slices.ContainsFunc(k.requests, func(p pattern) bool { return p.covers(of) }) {
			waits()
		}
	})
	cmd := exec.Command("unhurried", r.args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.environ, &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // the status is looked at
	}()
	select {
	case <-asked:
	case <-done:
	}
	began := time.Now()
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-done:
	case <-time.After(mostWaiting):
		_ = cmd.Process.Kill()
		<-done
		t.Errorf("it does not end")
	}
	took := time.Since(began)
	t.Logf("%.1f s\n%s%s", took.Seconds(), &stdout, &stderr)
	state, _ := k.state(t, r)
	switch status := cmd.ProcessState.ExitCode(); {
	case status == command.ExitOK && state == stateNew: // nothing hung that mattered
	case status != command.ExitInterrupted || !strings.Contains(stdout.String(), "error: the run was interrupted"):
		t.Errorf("the status is %d", status)
	case state != stateOld && state != stateNew:
		t.Errorf("it leaves what is neither old nor new: %s", state)
	}
	r.sandbox.Mend()
	again := r.here(t)
	if entry, neighbours := k.state(t, r); entry != stateNew || neighbours == stateOld || again.Status != command.ExitOK {
		t.Errorf("the next run leaves %s and %s with status %d:\n%s", entry, neighbours, again.Status, again.Output)
	}
}
