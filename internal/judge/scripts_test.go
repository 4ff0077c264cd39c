package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// Only the order of concurrent output may differ between two plays of a scenario.
// Another word, status or request is a difference.
func TestScriptsAreCompared(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows runs no shell script, and one stands for the player of scenarios here")
	}
	dir := t.TempDir()
	player := filepath.Join(dir, "player")
	// A process that starts while the file is open for writing has it open, too. Until it
	// closes it, the program cannot be run: "text file busy" [https://go.dev/issue/22315].
	syscall.ForkLock.RLock()
	err := os.WriteFile(player, []byte("#!/bin/sh\nwhile read -r line; do echo \"$line\"; done <\"$RELOCK_BIN/transcript\"\n"), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	plays := func(name, transcript string) program {
		t.Helper()
		path := filepath.Join(dir, name, "relock")
		if err := write(filepath.Join(filepath.Dir(path), "transcript"), transcript); err != nil {
			t.Fatal(err)
		}
		return program{path: path}
	}
	const said = "> relock pr\n[stdout]\nall\n::add-mask::-----BEGIN RSA PRIVATE KEY-----%0Aa\n[stderr]\none\ntwo\n[exit status 1]\n> grep x\n\n"
	const asked = "asked: GET /a at 127.0.0.1:4711\nasked: GET /b\n"
	base := plays("base", said+asked)
	for name, tt := range map[string]struct{ transcript, want string }{
		"same":    {strings.Replace(said, "one\ntwo", "two\none", 1) + "asked: GET /b\nasked: GET /a at 127.0.0.1:4712\n", ""},
		"key":     {strings.Replace(said, "%0Aa", "%0Ab", 1) + asked, ""},
		"word":    {strings.Replace(said, "all", "none", 1) + "asked: GET /a at 127.0.0.1:1\nasked: GET /b\n", "none"},
		"order":   {strings.Replace(said, "all\n", "x\nall\n", 1) + "asked: GET /a at 127.0.0.1:1\nasked: GET /b\n", `"x\n"`},
		"status":  {strings.Replace(said, "status 1", "status 2", 1) + "asked: GET /a at 127.0.0.1:1\nasked: GET /b\n", "2"},
		"request": {said + "asked: GET /a at 127.0.0.1:1\nasked: GET /b\nasked: GET /b\n", "asked: GET /b"},
	} {
		w := world{name: name, script: "any", player: func() (string, error) { return player, nil }, top: dir}
		v, err := w.judge(t.Context(), base, plays(name, tt.transcript), dir)
		if err != nil {
			t.Fatal(err)
		}
		if tt.want == "" && v.difference != "" || !strings.Contains(v.difference, tt.want) {
			t.Errorf("%s: the difference is\n%s\nwant %q", name, v.difference, tt.want)
		}
		if v.calls != 1 || v.requests != 2 {
			t.Errorf("%s: %d calls and %d requests, want 1 and 2", name, v.calls, v.requests)
		}
	}
}
