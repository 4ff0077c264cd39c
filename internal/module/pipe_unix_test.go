//go:build unix

package module

import (
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/relock-dev/relock/internal/cliconfig"
)

func TestPipesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := cache{dir: dir, log: slog.New(slog.DiscardHandler)}
	rc := filepath.Join(dir, ".netrc")
	for _, name := range []string{c.file(treeFile, treeKey("id", keptExtensions)), rc} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := c.load("id"); ok {
		t.Errorf("load of a pipe = %v, want nothing", got)
	}
	env := cliconfig.Env{Home: dir, GOOS: "linux", Getenv: func(string) string { return "" }}
	if got, err := readNetrc(env)(); err == nil {
		t.Errorf("readNetrc of a pipe = %v, want an error", got)
	}
}
