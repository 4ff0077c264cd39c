package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/relock-dev/relock/internal/command"
)

var disturbances = flag.Int("disturbances", 6, "how often TestDisturbed disturbs two runs")

func init() { programs["cramped"] = cramped }

// cramped is relock where the disk takes nothing that is longer than a few bytes.
func cramped() {
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 16, Max: 16}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(command.ExitUsage)
	}
	main()
}

// TestDisturbed lets two runs write the same lock files, while a person edits and removes
// some, and terraform init renames others into their place. One of the runs may be
// killed, or find the disk full. When all is over, what the others did is there, byte for
// byte; all else is old or new, and new where a run ended well. Each run says what it
// did not write, and the next one makes new what is to be.
//
//	go test -run Disturbed -disturbances 200 -v .
func TestDisturbed(t *testing.T) {
	t.Parallel()
	k := &kind{name: "disturbed", staged: registryScene.alone(), all: true}
	k.prepare(t)
	for i := range *disturbances {
		seed := *killSeed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d := &disturbed{victim: newVictim(t, k, rand.New(rand.NewPCG(seed, 16))), acted: map[string]string{}}
			d.play(t)
		})
	}
}

// TestSixRunsAtOnce has six runs begin before any of them has an answer: each ends well,
// whichever writes first.
func TestSixRunsAtOnce(t *testing.T) {
	t.Parallel()
	k := &kind{name: "six", staged: registryScene.alone(), all: true}
	k.prepare(t)
	v := newVictim(t, k, rand.New(rand.NewPCG(1, 17)))
	var runs []*besideRun
	for range 6 {
		runs = append(runs, beside(v, "relock"))
	}
	v.together(t, len(runs), func() {})
	for _, r := range runs {
		r.start(t)
	}
	for _, r := range runs {
		if status := r.wait(); status != command.ExitOK {
			t.Errorf("a run among others ends with status %d:\n%s", status, &r.out)
		}
	}
	if states := slices.Compact(v.states()); len(states) != 1 || states[0] != stateNew {
		t.Errorf("the lock files are %q", states)
	}
}

// disturbed are two runs, and others who act on the files.
type disturbed struct {
	*victim
	acted map[string]string // what others have made of the lock files of directories; "-": nothing is there
}

// gone is what others make of a file that they remove.
const gone = "-"

// play lets all of them act.
func (d *disturbed) play(t *testing.T) {
	t.Helper()
	runs := []*besideRun{beside(d.victim, "relock"), beside(d.victim, []string{"relock", "relock", "cramped"}[d.rand.IntN(3)])}
	killed := d.rand.IntN(3) == 0
	after := d.rand.IntN(lockedRoots) // renamed lock files
	acted := d.together(t, len(runs), func() { d.act(t) })
	for _, r := range runs {
		r.start(t)
	}
	if killed {
		for d.renamed() < after && !ended(runs[0].cmd.Process.Pid) {
		}
		_ = runs[0].cmd.Process.Kill() // it may have ended
	}
	whole := false
	for i, r := range runs {
		status := r.wait()
		select { // what others did is known from here on
		case <-acted:
		default:
		}
		whole = whole || r.program == "relock" && (i > 0 || !killed)
		if r.program == "relock" && (i > 0 || !killed) && status != map[bool]int{true: command.ExitOK, false: command.ExitFailed}[len(d.acted) == 0] {
			t.Errorf("others acted on %d files, and run %d ends with status %d:\n%s", len(d.acted), i, status, &r.out)
		}
	}
	d.judge(t, whole)
	if out := d.again(t); t.Failed() {
		t.Logf("the next run:\n%s", out)
	}
}

// act is what a person and terraform init do, at random, to some of the files.
func (d *disturbed) act(t *testing.T) {
	for i, dir := range d.roots() {
		name := filepath.Join(dir, ".terraform.lock.hcl")
		content := fmt.Sprintf("# edit %d\n%s", i, d.was.root)
		var err error
		switch d.rand.IntN(8) {
		case 0:
			err = os.WriteFile(name, []byte(content), 0o644)
		case 1:
			if err = os.WriteFile(name+".init", []byte(content), 0o644); err == nil {
				err = os.Rename(name+".init", name)
			}
		case 2:
			content, err = gone, os.Remove(name)
		default:
			continue
		}
		if err != nil {
			t.Error(err)
		}
		d.acted[dir] = content
	}
}

// judge holds that what others did is there, and that all else is old or new.
func (d *disturbed) judge(t *testing.T, whole bool) {
	t.Helper()
	for i, state := range d.states() {
		dir := d.roots()[i]
		text, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
		if err != nil {
			text = []byte(gone)
		}
		switch acted, did := d.acted[dir]; {
		case did && string(text) != acted:
			t.Errorf("somebody made %q of a file, and it is %q", acted, text)
		case !did && (state == stateOld && whole || state != stateOld && state != stateNew):
			t.Errorf("a file that nobody touched is %s", state)
		}
	}
}

// again is the next run, which nobody disturbs.
func (d *disturbed) again(t *testing.T) string {
	t.Helper()
	next := beside(d.victim, "relock")
	d.sandbox.Before(func(*http.Request) {})
	next.start(t)
	if status := next.wait(); status != command.ExitOK {
		t.Errorf("the next run ends with status %d", status)
	}
	for i, state := range d.states() {
		removed := d.acted[d.roots()[i]] == gone
		if state != stateNew && !removed {
			t.Errorf("the next run leaves a file %s", state)
		}
	}
	left := slices.DeleteFunc(d.temporary(t), func(name string) bool {
		return d.acted[filepath.Dir(d.home+name)] == gone // of which the next run knows nothing
	})
	if len(left) > 0 {
		t.Errorf("the next run leaves %q", left)
	}
	return next.out.String()
}

// together holds the first requests back until so many runs have asked one and have
// read their lock files, and something has happened then, which closes what is returned.
func (v *victim) together(t *testing.T, runs int, then func()) <-chan struct{} {
	t.Helper()
	var mu sync.Mutex
	asked, all := 0, make(chan struct{})
	v.sandbox.Before(func(r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/versions") {
			return
		}
		mu.Lock()
		if asked++; asked == runs {
			then()
			close(all)
		}
		mu.Unlock()
		select {
		case <-all:
		case <-r.Context().Done():
		}
	})
	return all
}

// besideRun is a run among others.
type besideRun struct {
	cmd     *exec.Cmd
	program string
	out     bytes.Buffer
}

func beside(v *victim, program string) *besideRun {
	r := &besideRun{cmd: exec.Command(program, v.args...), program: program}
	r.cmd.Dir, r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = v.dir, v.environ, &r.out, &r.out
	return r
}

func (r *besideRun) start(t *testing.T) {
	t.Helper()
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// wait returns the exit status.
func (r *besideRun) wait() int {
	_ = r.cmd.Wait() // the status is looked at
	return r.cmd.ProcessState.ExitCode()
}
