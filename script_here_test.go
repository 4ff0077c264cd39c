package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/relock-dev/relock/internal/command"
)

// The scripts start relock twelve hundred times. A process costs about 20 ms of CPU
// until it does something, so the command relock is done in the process of the tests:
// all but main, which has nothing to do but what is here. A process it stays in the
// background, where it is interrupted, from other programs, and where ofProcess says so.

// ofProcess reports whether what is set for relock means something in a process of
// its own alone: net/http reads its proxies once, and the file is read as the
// directory of the process says.
func ofProcess(ts *testscript.TestScript) bool {
	proxied := slices.ContainsFunc([]string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}, func(name string) bool { return ts.Getenv(name) != "" })
	file := ts.Getenv("TF_CLI_CONFIG_FILE")
	return proxied || file != "" && !filepath.IsAbs(file)
}

// ownProcess reports whether relock is always a process of its own.
func ownProcess() bool { return os.Getenv("RELOCK_BIN") != "" || runtime.GOOS == "windows" }

// runRelock runs relock as main does, in this process where that is possible.
func runRelock(ts *testscript.TestScript, neg bool, args []string) {
	runRelockIn(sceneOf(ts).test.Context(), ts, neg, args)
}

func runRelockIn(ctx context.Context, ts *testscript.TestScript, neg bool, args []string) {
	code := command.ExitOK
	if ownProcess() || ofProcess(ts) {
		err := ts.Exec("relock", args...)
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		} else {
			ts.Check(err)
		}
	} else {
		code = command.Main(ctx, here(ts, args))
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

// here is what main finds in its process, for one that a script would start.
func here(ts *testscript.TestScript, args []string) command.Env {
	dir := ts.MkAbs(".")
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
		Environ:  append(environ(ts), "PWD="+dir),
		WorkDir:  dir,
		Home:     ts.Getenv("HOME"),
		CacheDir: cache,
		GOOS:     runtime.GOOS,
		Build:    command.Stamp(cmp.Or(ts.Getenv("BUILD_VERSION"), version), cmp.Or(ts.Getenv("BUILD_COMMIT"), commit), info),
		Now:      sceneOf(ts).now(),
		Clock:    sceneOf(ts).clock(),
	}
}

// environ are the variables of a script, sorted. testscript says one whose name is known,
// and all only to processes: they are read from the field that those get.
func environ(ts *testscript.TestScript) []string {
	variables := reflect.ValueOf(ts).Elem().FieldByName("env")
	set := map[string]bool{} // by several lines at times, of which the last counts
	for i := range variables.Len() {
		name, _, _ := strings.Cut(variables.Index(i).String(), "=")
		set[name+"="+ts.Getenv(name)] = true
	}
	return slices.Sorted(maps.Keys(set))
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
