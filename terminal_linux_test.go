package main_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudoTerminal returns both ends of a terminal of some columns: what is written
// to the inner one is read from the outer.
func pseudoTerminal(t *testing.T, columns uint16) (outer, inner *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("/dev/ptmx is missing, by which this system would give a pseudo-terminal: %v", err)
	}
	outer = os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { outer.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	// Its name below /dev/pts is not needed so, which may not be mounted here.
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		t.Skipf("TIOCGPTPEER is missing, by which a kernel opens the other end of a pseudo-terminal: %v", errno)
	}
	inner = os.NewFile(peer, "pts")
	t.Cleanup(func() { inner.Close() })
	if err := unix.IoctlSetWinsize(int(peer), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return outer, inner
}

// onTerminal runs the program with its output on a terminal, or in a pipe if that
// has no columns, and returns what it writes there.
func onTerminal(t *testing.T, dir string, columns uint16, environ ...string) string {
	t.Helper()
	cmd := exec.Command("relock", "scan")
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color"}, environ...)
	if columns == 0 {
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	outer, inner := pseudoTerminal(t, columns)
	cmd.Stdout = inner
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inner.Close()               // the program has its own
	out, _ := io.ReadAll(outer) // Linux ends a terminal that nobody holds with an error
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

func TestReportsFitTheirTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		".git/HEAD":           "ref: refs/heads/main\n",
		"main.tf":             "terraform {\n  required_providers {\n    null = {\n      version = \">= 3.0, < 4.0, != 3.1.0\"\n    }\n  }\n}\n",
		".terraform.lock.hcl": "provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3.2.4\"\n}\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name           string
		columns        uint16
		environ        []string
		color, wrapped bool
	}{
		{name: "wide", columns: 200, color: true},
		{name: "narrow", columns: 60, color: true, wrapped: true},
		{name: "NO_COLOR", columns: 60, environ: []string{"NO_COLOR=1", "CLICOLOR_FORCE=1"}, wrapped: true},
		{name: "dumb", columns: 60, environ: []string{"TERM=dumb"}, wrapped: true},
		{name: "CLICOLOR", columns: 200, environ: []string{"CLICOLOR=0"}},
		{name: "pipe"},
		{name: "pipe, forced", environ: []string{"CLICOLOR_FORCE=1"}, color: true},
		{name: "pipe, not forced", environ: []string{"CLICOLOR_FORCE=0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := onTerminal(t, dir, tt.columns, tt.environ...)
			if color := strings.Contains(out, "\x1b[1m"); color != tt.color {
				t.Errorf("that there is colour is %t, want %t:\n%q", color, tt.color, out)
			}
			if wrapped := !strings.Contains(out, ">= 3.0.0, != 3.1.0, < 4.0.0  "); wrapped != tt.wrapped {
				t.Errorf("that lines are wrapped is %t, want %t:\n%s", wrapped, tt.wrapped, out)
			}
			if !strings.Contains(out, "1 root module, 1 with a lock file") {
				t.Errorf("the report is not whole:\n%s", out)
			}
		})
	}
}
