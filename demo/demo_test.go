package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/relock-dev/relock/internal/command"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"demo": main, "relock": relock, "variables": variables})
}

// relock is the main of the program, without what it does about interrupts and memory.
func relock() {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	home, _ := os.UserHomeDir()
	cache, _ := os.UserCacheDir()
	os.Exit(command.Main(context.Background(), command.Env{
		Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Environ: os.Environ(), WorkDir: dir, Home: home, CacheDir: cache,
		GOOS: runtime.GOOS, Build: command.Stamp("", "", nil), Now: time.Now(),
	}))
}

// variables is a program that prints its environment.
func variables() {
	fmt.Println(strings.Join(os.Environ(), "\n"))
	os.Exit(command.ExitChanges)
}

// TestScript runs the scenarios of testdata: what somebody sees who starts the program.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true, RequireUniqueNames: true})
}
