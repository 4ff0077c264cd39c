package main

import (
	"bytes"
	"fmt"
	"net/http/httptrace"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// A trace leads from the start of the program to the plan, and its depth is counted to the
// question.
const (
	tracesFile = "docs/traces.md"
	ownCode    = "github.com/relock-dev/relock/"
	traceStart = ownCode + "internal/command.Main"
	tracePlan  = ownCode + "internal/upgrade.Plan"
	traceAsk   = ownCode + "internal/registry.(*Client).Versions"
)

// ways are the runs of tracesFile, each with its script. The bounds on the depth fall with
// the page, and never rise.
var ways = []struct {
	title, script string
	most          int
}{
	{"A scheduled run of the Action, in one repository", "action", 43},
	{"A check of a checkout", "check", 42},
	{"A comment under a contributor's pull request", "comment", 46},
}

// TestTraces compares docs/traces.md with real stacks, or writes it with -update.
func TestTraces(t *testing.T) {
	if ownProcess() {
		t.Skip("RELOCK_BIN is set, so relock is another process, whose stacks are not seen")
	}
	page := fmt.Sprintf(`# Three runs, function by function

<!-- Written by go test -run TestTraces -update. -->

The deepest stacks of scripts, from %s to a request for versions. Closures and libraries count.
`, "`command.Main`")
	for _, way := range ways {
		stack := stackOf(t, way.script)
		depth := len(stack) - 1
		if depth > way.most {
			t.Errorf("%s: the depth is %d, want %d at most", way.title, depth, way.most)
		}
		page += fmt.Sprintf("\n## %s\n\n| | function | file |\n|---|---|---|\n", way.title)
		plan := slices.IndexFunc(stack, func(f frame) bool { return f.function == tracePlan })
		for i, f := range stack[:plan+1] {
			if name, file, ok := f.inTheHouse(); ok {
				page += fmt.Sprintf("| %d | `%s` | `%s` |\n", i, name, file)
			}
		}
		page += fmt.Sprintf("| %d | the request | [%s.txtar](../testdata/script/%[2]s.txtar) |\n", depth, way.script)
	}
	if *update {
		if err := os.WriteFile(tracesFile, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(tracesFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(have), "\n"), strings.Split(page, "\n")); diff != "" {
		t.Errorf("%s differs from what runs do, and -update writes it (-page +runs):\n%s", tracesFile, diff)
	}
}

// stackOf plays a script, and returns the deepest stack that stackToQuestion sees.
func stackOf(t *testing.T, script string) []frame {
	t.Helper()
	var mu sync.Mutex
	var deepest []frame
	see := &httptrace.ClientTrace{GetConn: func(string) { // on the goroutine that asks
		mu.Lock()
		defer mu.Unlock()
		if stack := stackToQuestion(t); len(stack) > len(deepest) {
			deepest = stack
		}
	}}
	t.Run(script, func(t *testing.T) { // it ends when the script has ended
		params := scripts(t)
		params.Files = []string{filepath.Join("testdata", "script", script+".txtar")}
		params.Cmds["relock"] = func(ts *testscript.TestScript, neg bool, args []string) {
			runRelockIn(httptrace.WithClientTrace(sceneOf(ts).test.Context(), see), ts, neg, args)
		}
		testscript.Run(t, params)
	})
	if deepest == nil {
		t.Fatalf("in %s no question for versions comes from %s", script, tracePlan)
	}
	return deepest
}

var (
	closure   = regexp.MustCompile(`\.func\d+`)
	pointer   = regexp.MustCompile(`\(\*(\w+)(\[\.\.\.\])?\)|\[\.\.\.\]`)
	goroutine = regexp.MustCompile(`^goroutine (\d+) .*\n`)
	creator   = regexp.MustCompile(`\ncreated by (.+) in goroutine (\d+)\n`)
	call      = regexp.MustCompile(`(?m)^(\S.*)\(.*\)\n\t(\S+\.go):\d+`)
)

// stackToQuestion is the stack of this goroutine and of those that started it, from
// command.Main to relock's last call of the HTTP library. It is nil where upgrade.Plan
// does not ask for versions. A goroutine that started another waits for it in the same
// function.
func stackToQuestion(t *testing.T) []frame {
	if !bytes.Contains(debug.Stack(), []byte(traceAsk+"(")) {
		return nil
	}
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 2); err != nil {
		t.Error(err)
	}
	dumps := strings.SplitAfter(text.String(), "\n\n")
	at := map[string]string{} // by the number of the goroutine
	for _, dump := range dumps {
		if id := goroutine.FindStringSubmatch(dump); id != nil {
			at[id[1]] = dump
		}
	}
	var stack []frame // innermost first
	planned := false
	for dump := dumps[0]; dump != ""; {
		calls := call.FindAllStringSubmatch(dump, -1)
		own := slices.IndexFunc(calls, func(c []string) bool { return strings.HasPrefix(c[1], ownCode) })
		for _, c := range calls[max(own, 0):] {
			stack = append(stack, frame{c[1], c[2]})
			planned = planned || c[1] == tracePlan
			if c[1] == traceStart && planned {
				slices.Reverse(stack)
				return stack
			}
		}
		by := creator.FindStringSubmatch(dump)
		if by == nil {
			break
		}
		stack, dump = append(stack, frame{function: by[1]}), at[by[2]]
	}
	return nil
}

// frame is a call on a stack: a function by its whole name, and the path of its source.
type frame struct{ function, source string }

// inTheHouse is a function of relock as documents name it, and its file. A closure is none.
func (f frame) inTheHouse() (name, file string, ok bool) {
	name, ok = strings.CutPrefix(f.function, ownCode)
	dir, name := path.Split(name)
	room, name, _ := strings.Cut(name, ".")
	return pointer.ReplaceAllString(name, "$1"), path.Join(dir, room, path.Base(f.source)), ok && !closure.MatchString(name)
}
