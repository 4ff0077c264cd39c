package command

import (
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/sandbox"
)

// serve starts a world that ends with the test. The error is that of making it.
func serve(t testing.TB, world *sandbox.World, err error) *sandbox.Sandbox {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.Start(world)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// serveText starts the world of a txtar archive.
func serveText(t testing.TB, text string) *sandbox.Sandbox {
	t.Helper()
	world, err := sandbox.ParseWorld(txtar.Parse([]byte(text)))
	return serve(t, world, err)
}
