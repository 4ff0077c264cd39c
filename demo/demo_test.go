package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/pictures"
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

// TestPicturesAreOfThePull holds that the pictures of the README show what the
// demonstration proposes today.
func TestPicturesAreOfThePull(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kept")
	var said bytes.Buffer
	env := command.Env{Args: []string{"-keep", dir}, Stdout: &said, Stderr: &said, GOOS: runtime.GOOS, Build: command.Stamp("", "", nil), Now: time.Now()}
	if status := demo(t.Context(), env); status != command.ExitOK {
		t.Fatalf("the demonstration ends with status %d:\n%s", status, &said)
	}
	body, err := os.ReadFile(filepath.Join(dir, "pull-request.md"))
	if err != nil {
		t.Fatal(err)
	}
	pull, err := pictures.ReadPull(string(body))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../docs/pictures.sum")
	if err != nil {
		t.Fatal(err)
	}
	if kept, _, _ := strings.Cut(string(sums), " "); kept != pull.Sum() {
		t.Error("the pictures in docs show another pull request than go run ./demo: run go run ./.ci/pictures, and look at them")
	}
}
