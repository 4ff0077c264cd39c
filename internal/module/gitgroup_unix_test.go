//go:build unix

package module

import (
	"bufio"
	"context"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/problem"
)

// emptyRepository is an empty repository for a remote on disk, in a directory of its own.
func emptyRepository(t *testing.T, dir string) *gitRepository {
	t.Helper()
	c := newClient(t, Options{AllowLocal: true})
	r := &gitRepository{gitProgram{means: c.means, dir: dir, remote: gitRemote{url: &url.URL{Scheme: "file", Path: "/none"}}}}
	if err := os.Mkdir(r.path("home"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.configure(r.remote); err != nil {
		t.Fatal(err)
	}
	if err := r.reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// fifos are the pipes to and from a program that git starts.
func fifos(t *testing.T, dir string) (says, goOn string) {
	t.Helper()
	program(t, "sh") // without it, git runs no such program, and nothing guards git
	says, goOn = filepath.Join(dir, "says"), filepath.Join(dir, "go-on")
	for _, name := range []string{says, goOn} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return says, goOn
}

// wait runs git while it waits for a program. The program reports that it runs, and reports
// it again when it reads something. git's shell is between them; when that shell has ended,
// the program is an orphan.
func wait(ctx context.Context, r *gitRepository, says, goOn string) error {
	_, err := r.run(ctx, nil, "-c", "alias.wait=!sh -c 'exec 3>"+says+"; echo there >&3; read x <"+goOn+"; echo survived >&3' & wait", "wait")
	return err
}

// TestWhatGitStartedEndsWithIt ends a run while git waits for a program that it started.
// The program must have ended, too.
func TestWhatGitStartedEndsWithIt(t *testing.T) {
	t.Parallel()
	r := emptyRepository(t, t.TempDir())
	says, goOn := fifos(t, r.dir)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- wait(ctx, r, says, goOn)
	}()
	fifo, err := os.Open(says) // waits for the program
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	said := bufio.NewReader(fifo)
	if line, err := said.ReadString('\n'); err != nil || line != "there\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	cancel()
	wantCode(t, "an interrupted git", <-ended, problem.CodeCancelled)
	word, err := os.OpenFile(goOn, os.O_RDWR, 0) // does not block
	if err != nil {
		t.Fatal(err)
	}
	defer word.Close()
	if _, err := word.WriteString("go on\n"); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(said); err != nil || len(rest) > 0 {
		t.Errorf("after the run has ended, the program says %q, %v", rest, err)
	}
}

// killed is the variable with the directory of the process that is killed. The test in that
// process kills nothing.
const killed = "RELOCK_TEST_KILLED"

// TestNoGitIsLeftAfterAKill kills relock itself while git waits for a program that it
// started. The program would continue only if it still ran half a minute later.
func TestNoGitIsLeftAfterAKill(t *testing.T) {
	if dir := os.Getenv(killed); dir != "" {
		t.Fatal(wait(t.Context(), emptyRepository(t, filepath.Join(dir, "git")), filepath.Join(dir, "says"), filepath.Join(dir, "go-on")))
	}
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "git"), 0o700); err != nil {
		t.Fatal(err)
	}
	says, goOn := fifos(t, dir)
	relock := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	relock.Env = append(os.Environ(), killed+"="+dir, "TMPDIR="+dir)
	if err := relock.Start(); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.Open(says) // waits for the program
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	said := bufio.NewReader(fifo)
	if line, err := said.ReadString('\n'); err != nil || line != "there\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	if err := relock.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = relock.Wait() // the error says that it was killed
	word, err := os.OpenFile(goOn, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer word.Close()
	defer time.AfterFunc(30*time.Second, func() { _, _ = word.WriteString("go on\n") }).Stop()
	if rest, err := io.ReadAll(said); err != nil || len(rest) > 0 {
		t.Errorf("after relock was killed, the program says %q, %v", rest, err)
	}
}
