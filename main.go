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

// patience is how long an interrupted run may take to end by itself. Whoever
// stops a job waits a few seconds before they kill it, and no library that
// chews on a large input can be asked to stop.
const patience = 1500 * time.Millisecond

func main() { work(patience) }

// work does what the command line says. An interrupted run ends by itself, or after
// so long in the middle of whatever it does.
func work(patience time.Duration) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(patience, abandon) })
	code := run(ctx, boundMemory(os.Getenv, debug.SetMemoryLimit))
	stop()
	os.Exit(code)
}

// abandon ends the program in the middle of whatever it does. Files and branches
// are as they were: files are replaced whole, and a branch is moved by the last
// of the requests that change it.
func abandon() {
	fmt.Fprintln(os.Stderr, "relock: interrupted while it was busy")
	os.Exit(command.ExitFailed)
}

func run(ctx context.Context, found func(roots int)) int {
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
		Color:    color,
		Width:    width,
	})
}
