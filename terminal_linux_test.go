package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/relock-dev/relock/internal/sandbox"
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

// A person who waits at a terminal reads how much there is to download before it comes.
// Nothing stops because a server names wrong sizes or a download breaks off.
func TestDownloadsAreForeseenOnATerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, verb, fault, want string
	}{
		{"upgrade", "upgrade", "", `0 of at most 4 packages .* of about \d`},
		{"lock", "lock", "", `0 of at most 4 packages .* of about \d`},
		{"a server that does not say", "upgrade", "HEAD /registry.terraform.io/files/acme/tool/... 403", `0 of at most 4 packages .* of more than \d`},
		{"one that exaggerates", "upgrade", "HEAD /registry.terraform.io/files/acme/tool/... 200 header=Content-Length:300000000", `0 of at most 4 packages .* of about 572\.\d MiB`},
		{"one that goes on", "upgrade", "GET /registry.terraform.io/files/acme/tool/... truncate=100 times=2", `0 of at most 4 packages .* of about \d`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := startWorld(t, "-- registry/registry.terraform.io/acme/tool --\nversions: [1.0.0]\n-- registry/registry.terraform.io/acme/other --\nversions: [1.0.0]\n")
			if tt.fault != "" {
				fault, err := sandbox.ParseFault(tt.fault)
				check(t, err)
				s.Inject(fault)
			}
			read := make(chan struct{}) // closed when the line is on the terminal
			s.Before(func(r *http.Request) {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".zip") {
					select {
					case <-read:
					case <-r.Context().Done():
					}
				}
			})
			dir := t.TempDir()
			write(t, filepath.Join(dir, "main.tf"), "terraform {\n  required_providers {\n    tool = { source = \"acme/tool\" }\n    other = { source = \"acme/other\" }\n  }\n}\n", 0o600)
			outer, inner := pseudoTerminal(t, 120)
			cmd := exec.Command("relock", tt.verb, "--platform", "linux_amd64", "--platform", "darwin_arm64", "--timeout", "1m", ".")
			cmd.Dir, cmd.Stderr = dir, inner
			cmd.Env = append(registriesOf(t, s), "PATH="+os.Getenv("PATH"), "TERM=xterm-256color")
			check(t, cmd.Start())
			inner.Close() // the program has its own
			foreseen := regexp.MustCompile(tt.want)
			var shown []byte
			seen := false
			for buf := make([]byte, 4<<10); ; {
				n, err := outer.Read(buf)
				shown = append(shown, buf[:n]...)
				if !seen && foreseen.Match(shown) {
					close(read)
					seen = true
				}
				if err != nil {
					break // Linux ends a terminal that nobody holds with an error
				}
			}
			if err := cmd.Wait(); err != nil || !seen {
				t.Fatalf("relock %s ends with %v; want a line like %q in\n%q", tt.verb, err, tt.want, shown)
			}
			if lock := content(t, filepath.Join(dir, ".terraform.lock.hcl")); strings.Count(lock, "h1:") != 4 {
				t.Errorf("the lock file is not whole:\n%s", lock)
			}
		})
	}
}
