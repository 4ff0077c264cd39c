// Demo shows the main job of relock on a small monorepo, all on this machine: it makes
// the monorepo, provider registries and GitHub's API on loopback, runs the Action, and
// prints the pull request as a reviewer would see it.
//
// It calls the code of relock in its own process, with the environment of a runner. With
// -relock it starts a built program instead, which has that environment and no other.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/relock-dev/relock/internal/command"
)

const usage = `Usage: demo [FLAGS]

demo makes a monorepo, provider registries and GitHub's API on loopback, runs the
Action on it, and prints the pull request as a reviewer would see it. It reaches
no other machine.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	info, _ := debug.ReadBuildInfo()
	color, width := command.Terminal(os.Stdout, os.Getenv)
	status := demo(ctx, command.Env{
		Args:   os.Args[1:],
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		GOOS:   runtime.GOOS,
		Build:  command.Stamp("", "", info),
		Now:    time.Now(),
		Color:  color,
		Width:  width,
	})
	stop()
	os.Exit(status)
}

// demo is the program from its arguments to its exit status, which means what it means
// in relock.
func demo(ctx context.Context, env command.Env) int {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(env.Stderr)
	flags.Usage = func() {
		fmt.Fprint(env.Stderr, usage)
		flags.PrintDefaults()
	}
	keep := flags.String("keep", "", "leave the repository, the report and the pull request's text in `DIR`")
	relock := flags.String("relock", "", "play the program that is built as `FILE`, with the variables of a runner and no others")
	err := flags.Parse(env.Args)
	if errors.Is(err, flag.ErrHelp) {
		return command.ExitOK
	}
	if err == nil && flags.NArg() > 0 {
		flags.Usage()
	}
	if err != nil || flags.NArg() > 0 {
		return command.ExitUsage
	}
	built, err := programIn(*relock)
	if err != nil {
		fmt.Fprintln(env.Stderr, "demo:", err)
		return command.ExitUsage
	}
	dir, err := keptDir(*keep)
	if err != nil {
		fmt.Fprintln(env.Stderr, "demo:", err)
		return command.ExitUsage
	}
	if *keep == "" {
		defer os.RemoveAll(dir) // a temporary directory; the system's clean-up is the fallback
	}
	err = demonstrate(ctx, env, built, dir)
	if ctx.Err() != nil {
		fmt.Fprintln(env.Stderr, "demo: interrupted")
		return command.ExitInterrupted
	}
	if err != nil {
		fmt.Fprintln(env.Stderr, "demo:", err)
		return command.ExitFailed
	}
	if *keep != "" {
		fmt.Fprintf(env.Stdout, "\nLeft in %s: the repository, both logs, the outputs, the step summary and the pull request's text.\n", *keep)
	}
	return command.ExitOK
}

// programIn is the absolute path of a program, since it runs in another directory; empty
// without a name.
func programIn(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return exec.LookPath(path) // it can be run; on Windows, its extension may be left out
}

// keptDir makes the directory of the demonstration: a temporary one without a name. One
// that somebody names must be new or empty, since the demonstration writes into it.
func keptDir(name string) (string, error) {
	if name == "" {
		return os.MkdirTemp("", "relock-demo-")
	}
	dir, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty; name a new directory", name)
	}
	return dir, err
}
