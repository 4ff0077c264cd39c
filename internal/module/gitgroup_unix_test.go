//go:build unix

package module

import (
	"bufio"
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

// TestWhatGitStartedEndsWithIt ends a run while git waits for a program that it
// started. The program says that it is there, and would say so again.
func TestWhatGitStartedEndsWithIt(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{AllowLocal: true})
	r := &gitRepository{gitProgram{means: c.means, dir: t.TempDir(), remote: gitRemote{url: &url.URL{Scheme: "file", Path: "/none"}}}}
	if err := os.Mkdir(r.path("home"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.configure(r.remote); err != nil {
		t.Fatal(err)
	}
	if err := r.reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	says, goOn := filepath.Join(r.dir, "says"), filepath.Join(r.dir, "go-on")
	for _, name := range []string{says, goOn} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		// The shell in between is git's; the program below it is nobody's child
		// once that has gone.
		_, err := r.run(ctx, nil, "-c", "alias.wait=!sh -c 'exec 3>"+says+"; echo there >&3; read x <"+goOn+"; echo survived >&3' & wait", "wait")
		ended <- err
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
	wantCode(t, "an interrupted git", <-ended, provider.CodeCancelled)
	word, err := os.OpenFile(goOn, os.O_RDWR, 0) // which waits for nobody
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
