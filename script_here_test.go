package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/command"
)

// The scripts start relock nine hundred times. A process costs about 20 ms of CPU
// until it does something, so what they say with exec is done in the process of the
// tests: all but main, which has nothing to do but what is here. So is what they let a
// shell say of its status. A process it stays in the background, where it is
// interrupted, from other programs, and where ofProcess says so.

var (
	startsRelock = regexp.MustCompile(`(?m)^(! )?exec relock((?: .*[^&\n])?)$`)
	asksStatus   = regexp.MustCompile(`(?m)^exec sh -c 'relock ([\w ./:=,@-]*); echo (status )?\$\?'$`)
	setsVariable = regexp.MustCompile(`(?m)^env .+$`)
)

// ofProcess reports whether what is set for relock means something in a process of
// its own alone: net/http reads its proxies once, and the file is read as the
// directory of the process says.
func ofProcess(ts *testscript.TestScript) bool {
	proxied := slices.ContainsFunc([]string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}, func(name string) bool { return ts.Getenv(name) != "" })
	file := ts.Getenv("TF_CLI_CONFIG_FILE")
	return proxied || file != "" && !filepath.IsAbs(file)
}

// scriptsHere copies the scripts to a directory, where exec relock is here, and
// returns it with the names of the variables that each script sets.
func scriptsHere(t *testing.T, from string) (dir string, names map[string][]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(from, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	dir, names = t.TempDir(), map[string][]string{}
	for _, file := range files {
		script, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		for _, line := range setsVariable.FindAllString(string(script.Comment), -1) {
			for _, set := range strings.Fields(line)[1:] {
				variable, _, _ := strings.Cut(set, "=")
				names[name] = append(names[name], variable)
			}
		}
		script.Comment = startsRelock.ReplaceAll(script.Comment, []byte("${1}here$2"))
		script.Comment = asksStatus.ReplaceAll(script.Comment, []byte("status-here '$2' $1"))
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), txtar.Format(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, names
}

// setenv sets a variable for what a script starts from here on.
func setenv(ts *testscript.TestScript, name, value string) {
	sceneOf(ts).variables[name] = true
	ts.Setenv(name, value)
}

// runRelock runs relock as main does, in this process where that is possible.
func runRelock(ts *testscript.TestScript, neg bool, args []string) {
	code := command.ExitOK
	if os.Getenv("RELOCK_BIN") != "" || runtime.GOOS == "windows" || ofProcess(ts) {
		err := ts.Exec("relock", args...)
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		} else {
			ts.Check(err)
		}
	} else {
		code = command.Main(sceneOf(ts).test.Context(), here(ts, args))
	}
	if code != command.ExitOK {
		ts.Logf("[exit status %d]", code)
	}
	sceneOf(ts).interrupted, sceneOf(ts).ended = nil, code
	switch {
	case neg && code == command.ExitOK:
		ts.Fatalf("unexpected command success")
	case !neg && code != command.ExitOK:
		ts.Fatalf("unexpected command failure")
	}
}

// statusHere runs relock, and prints its status behind a word, as a shell would.
func statusHere(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 0, "status-here WORD ARGUMENT…")
	word, args := args[0], args[1:]
	if ofProcess(ts) {
		ts.Check(ts.Exec("sh", "-c", "relock "+strings.Join(args, " ")+"; echo "+word+"$?"))
		return
	}
	env := here(ts, args)
	fmt.Fprintf(env.Stdout, "%s%d\n", word, command.Main(sceneOf(ts).test.Context(), env))
}

// here is what main finds in its process, for one that a script would start.
func here(ts *testscript.TestScript, args []string) command.Env {
	dir := ts.MkAbs(".")
	environ := []string{"PWD=" + dir}
	for _, name := range slices.Sorted(maps.Keys(sceneOf(ts).variables)) {
		environ = append(environ, name+"="+ts.Getenv(name))
	}
	cache := ts.Getenv("XDG_CACHE_HOME")
	if home := ts.Getenv("HOME"); cache == "" && home != "" {
		cache = filepath.Join(home, ".cache")
	}
	info, _ := debug.ReadBuildInfo()
	var said sync.Mutex
	return command.Env{
		Args:     args,
		Stdout:   locked{&said, ts.Stdout()},
		Stderr:   locked{&said, ts.Stderr()},
		Getenv:   ts.Getenv,
		Environ:  environ,
		WorkDir:  dir,
		Home:     ts.Getenv("HOME"),
		CacheDir: cache,
		GOOS:     runtime.GOOS,
		Build:    command.Stamp(version, commit, info),
		Now:      time.Now(),
	}
}

// locked is an output that several goroutines write to, as they may to a file.
type locked struct {
	*sync.Mutex
	to io.Writer
}

func (l locked) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.to.Write(p)
}
