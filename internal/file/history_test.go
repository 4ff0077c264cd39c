package file

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var histories = flag.Int("histories", 100, "TestRandomHistories: how many there are")

// TestRandomHistories lets a person, terraform init and runs of relock, two at a time,
// act on one file in random order. Runs stop between any two steps, die there, or find
// the disk full. After each step the file has the last content of the others, or what
// a run makes of it. No edit is lost, none comes back, and nobody reads a half. Each
// run that did not write says so.
//
//	go test ./internal/file -run RandomHistories -histories 20000
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	became := map[string]int{}
	for seed := range *histories {
		h := &history{T: t, name: filepath.Join(t.TempDir(), "name"), became: became}
		h.Rand = rand.New(rand.NewPCG(uint64(seed), 32))
		h.play()
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(h.told, "\n"))
		}
	}
	for _, needed := range []string{"written", "changed", "full", "crashed"} {
		if became[needed] < *histories/20 {
			t.Errorf("too few runs are %s: %v", needed, became)
		}
	}
	t.Logf("runs: %v", became)
}

// history is one of them.
type history struct {
	*testing.T
	*rand.Rand
	name   string
	told   []string
	became map[string]int

	edits   int
	latest  string // what the last edit has made of the file; "-": it is not there
	crashed int
}

// made is what a run makes of a file. Runs of another day make something else of it.
func made(of string, day int) string {
	of, _, _ = strings.Cut(of, ", relocked")
	return fmt.Sprintf("%s, relocked on day %d", of, day)
}

const days = 2

var (
	errFull  = errors.New("no space left on device")
	errCrash = errors.New("killed")
)

func (h *history) play() {
	h.latest = "-"
	var runs []*stepped
	for range 30 {
		switch n := h.IntN(10); {
		case n == 0:
			h.edits++
			h.edit(fmt.Sprintf("edit %d", h.edits), false)
		case n == 1:
			h.edits++
			h.edit(fmt.Sprintf("init %d", h.edits), true)
		case n == 2:
			h.remove()
		case n < 5 && len(runs) < 2:
			runs = append(runs, h.begin())
		case len(runs) > 0:
			i := h.IntN(len(runs))
			if runs[i].next() {
				runs = slices.Delete(runs, i, i+1)
			}
		}
		h.check()
	}
	for _, r := range runs {
		for !r.next() {
			h.check()
		}
	}
	h.check()
	beside := slices.DeleteFunc(names(h.T, filepath.Dir(h.name)), func(name string) bool { return name == "name" })
	if len(beside) > h.crashed {
		h.Errorf("%d runs crashed, and the directory holds %q", h.crashed, beside)
	}
}

// edit is what a person does with an editor, which writes the file where it is, or
// terraform init, which renames another into its place.
func (h *history) edit(content string, rename bool) {
	name := h.name
	if rename {
		name += ".init"
	}
	err := os.WriteFile(name, []byte(content), 0o600)
	if err == nil && rename {
		err = os.Rename(name, h.name)
	}
	if err != nil {
		h.Fatal(err)
	}
	h.latest = content
	h.told = append(h.told, content)
}

func (h *history) remove() {
	if err := os.Remove(h.name); err == nil {
		h.told = append(h.told, "remove")
	}
	h.latest = "-"
}

// now is what the file holds.
func (h *history) now() string {
	text, err := Read(h.name)
	if err != nil {
		return "-"
	}
	return string(text)
}

// check holds that the file is of the latest edit.
func (h *history) check() {
	h.Helper()
	allowed := []string{h.latest}
	for day := range days {
		allowed = append(allowed, made(h.latest, day))
	}
	if now := h.now(); !slices.Contains(allowed, now) {
		h.Errorf("the file is %q, want one of %q", now, allowed)
	}
}

// stepped is a run of relock that is let on by one step at a time.
type stepped struct {
	on, stopped chan struct{}
	ended       bool
}

// begin reads the file, and stops before the first step of writing it.
func (h *history) begin() *stepped {
	r := &stepped{make(chan struct{}), make(chan struct{}), false}
	was, day := h.now(), h.IntN(days)
	fails, crashes := h.IntN(40), h.IntN(40) // at which step, if there are so many
	content := made(was, day)
	go func() {
		<-r.on
		defer close(r.stopped)
		r.ended = true // if there is no step at all
		steps, dead := 0, false
		err := Replace(h.name, []byte(content), Options{Durable: true, Was: &Was{Content: []byte(was), Missing: was == "-"}, watch: func(step string) error {
			if dead {
				return errCrash
			}
			if step != "rename" { // what comes between the comparison and that is lost
				r.ended = false
				r.stopped <- struct{}{}
				<-r.on
				r.ended = true
			}
			switch steps++; {
			case steps == crashes:
				dead = true
				return errCrash
			case steps == fails && step != "remove":
				return errFull
			}
			return nil
		}})
		h.end(content, dead, err)
	}()
	h.told = append(h.told, fmt.Sprintf("a run reads %q", was))
	return r
}

// next lets the run make a step, and reports whether it has ended.
func (r *stepped) next() bool {
	r.on <- struct{}{}
	<-r.stopped
	return r.ended
}

// end records what happened to a run, and whether the run reports it.
func (h *history) end(content string, dead bool, err error) {
	state := "written"
	switch {
	case dead:
		state = "crashed"
		h.crashed++
	case errors.Is(err, ErrChanged):
		state = "changed"
	case errors.Is(err, errFull):
		state = "full"
	case err != nil:
		h.Errorf("a run ends with %v", err)
	}
	h.became[state]++
	h.told = append(h.told, fmt.Sprintf("a run that would write %q is %s", content, state))
}
