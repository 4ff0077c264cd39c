package module

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox/trusted"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/transport"
)

var (
	terraform = provider.Tool{Name: provider.Terraform, Version: provider.Version{Major: 1, Minor: 11, Patch: 4}}
	tofu      = provider.Tool{Name: provider.OpenTofu, Version: provider.Version{Major: 1, Minor: 12, Patch: 6}}
)

// newTransport does not wait for retries and admits the servers.
func newTransport(admit ...*httptest.Server) *transport.Client {
	t := transport.New(transport.Options{RetryWait: time.Nanosecond})
	for _, s := range admit {
		t.Admit(s.Listener.Addr().String())
	}
	return t
}

// newClient makes a client whose git reads no configuration.
func newClient(t *testing.T, opts Options, admit ...*httptest.Server) *Client {
	t.Helper()
	opts.Env = testEnv(t, opts.Env)
	return New(newTransport(admit...), nil, opts)
}

func testEnv(t *testing.T, env cliconfig.Env) cliconfig.Env {
	t.Helper()
	if env.Environ == nil {
		env.Environ = append(moduletest.Environ(t), "GIT_SSL_CAINFO="+os.Getenv("SSL_CERT_FILE"))
	}
	if env.Getenv == nil {
		env.Getenv = func(name string) string {
			for _, v := range env.Environ {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		}
	}
	return env
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

// fetch fetches a source by Terraform's rules.
func fetch(t *testing.T, c *Client, source string) scan.Package {
	t.Helper()
	p, err := c.Fetch(t.Context(), terraform, scan.Call{Source: source})
	if err != nil {
		t.Fatalf("Fetch(%q) = %v", source, err)
	}
	return p
}

// mainOf is the text of main.tf in the called module.
func mainOf(t *testing.T, p scan.Package) string {
	t.Helper()
	text, err := fs.ReadFile(p.FS, strings.TrimPrefix(p.Dir+"/main.tf", "./"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// names are the paths of everything in a package; links with their targets.
func names(t *testing.T, fsys fs.FS) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir():
			name += "/"
		case d.Type() == fs.ModeSymlink:
			target, err := fs.ReadLink(fsys, name)
			if err != nil {
				return err
			}
			name += " -> " + target
		}
		found = append(found, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// failing fetches a source, which must fail, and returns the error.
func failing(t *testing.T, c *Client, source string, code problem.Code) *problem.Error {
	t.Helper()
	_, err := c.Fetch(t.Context(), terraform, scan.Call{Source: source})
	return wantCode(t, source, err, code)
}

func wantCode(t *testing.T, source string, err error, code problem.Code) *problem.Error {
	t.Helper()
	var e *problem.Error
	if !errors.As(err, &e) || e.Problem.Code != code {
		t.Fatalf("Fetch(%q) = %v (%T), want code %q", source, err, err, code)
	}
	return e
}

// program is where a program is. Without it, the test is skipped.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not on PATH", name)
	}
	return path
}

func writeFile(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	// A process that starts while the file is open for writing has it open, too. Until it
	// closes it, the program cannot be run: "text file busy" [https://go.dev/issue/22315].
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func call(source string) scan.Call { return scan.Call{Source: source} }

// serveTLS serves with the certificate that TestMain makes the system trust.
func serveTLS(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	trusted.Needed(t)
	s := httptest.NewTLSServer(handler)
	t.Cleanup(s.Close)
	return s
}

// TestMain makes SSL_CERT_FILE name the certificate of httptest, as an operator
// does for a private authority, and GIT_SSL_CAINFO for git.
func TestMain(m *testing.M) { os.Exit(trusted.Main(m)) }
