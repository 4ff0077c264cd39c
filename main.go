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
	"syscall"
	"time"

	"github.com/relock-dev/relock/internal/command"
)

// version is set by the build of a release.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx)
	stop()
	os.Exit(code)
}

func run(ctx context.Context) int {
	workDir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "relock: finding the working directory:", err)
		return command.ExitUsage
	}
	// Without these directories there is no configuration and no cache in them.
	home, _ := os.UserHomeDir()
	cache, _ := os.UserCacheDir()
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
		Version:  version,
		Now:      time.Now(),
	})
}
