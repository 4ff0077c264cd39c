// Relock keeps dependency lock files of Terraform and OpenTofu fresh and
// complete, in pull requests that a person can review in a minute.
//
// See README.md for what it does and ARCHITECTURE.md for how it is built.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/relock-dev/relock/internal/command"
)

// version and commit are set by the build of a release; else Go records them.
var version, commit string

// interrupted is said at once: what is under way takes some seconds to end.
const interrupted = "relock: interrupted; what is under way is finished, and a second interrupt ends it at once"

// patience is how long an interrupted run may take to end by itself: it takes 2 s at most,
// and 6 s where it may write to GitHub. A runner of GitHub waits 7.5 s before its second
// signal, and no library that chews on a large input can be asked to stop.
type patience struct{ local, github time.Duration }

func main() { work(patience{local: 2500 * time.Millisecond, github: 6500 * time.Millisecond}) }

// work does what the command line says. The first signal interrupts the run, which then
// ends by itself. A second one ends it at once, and so does the end of the patience.
func work(p patience) {
	ctx, interrupt := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	trail := &command.Trail{}
	go func() {
		<-signals
		interrupt()
		fmt.Fprintln(os.Stderr, interrupted)
		hurry(signals, trail.OnGitHub, p)
		abandon(trail)
	}()
	os.Exit(run(ctx, boundMemory(os.Getenv, debug.SetMemoryLimit), trail))
}

// hurry returns when an interrupted run is to end in the middle of what it does.
func hurry(signals <-chan os.Signal, onGitHub func() bool, p patience) {
	select {
	case <-signals:
		return
	case <-time.After(p.local):
	}
	if !onGitHub() {
		return
	}
	select {
	case <-signals:
	case <-time.After(p.github - p.local):
	}
}

// abandoned is said of a run that was ended in the middle.
const abandoned = "relock: ended while it was busy; every file is as it was or as it is to be"

// abandon ends the program in the middle of whatever it does, and says what cannot be
// undone. Files and branches are as they were: files are replaced whole, and a branch
// is moved by the last of the requests that change it.
func abandon(trail *command.Trail) {
	fmt.Fprintln(os.Stderr, abandoned)
	for _, done := range trail.Done() {
		fmt.Fprintln(os.Stderr, "  done:", done)
	}
	os.Exit(command.ExitInterrupted)
}

func run(ctx context.Context, found func(roots int), trail *command.Trail) int {
	workDir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "relock: finding the working directory:", err)
		return command.ExitUsage
	}
	// Without these directories there is no configuration and no cache in them.
	home, _ := os.UserHomeDir()
	cache, _ := os.UserCacheDir()
	info, _ := debug.ReadBuildInfo()
	color, width := command.Terminal(os.Stdout, os.Getenv)
	return command.Main(ctx, command.Env{
		Args:     os.Args[1:],
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Getenv:   os.Getenv,
		Environ:  os.Environ(),
		WorkDir:  workDir,
		Home:     home,
		CacheDir: cache,
		GOOS:     runtime.GOOS,
		Build:    command.Stamp(version, commit, info),
		Now:      time.Now(),
		Found:    found,
		Trail:    trail,
		Color:    color,
		Width:    width,
	})
}
