package command

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/sandbox"
)

const appWorld = `-- apps --
relock: {id: 12, permissions: {metadata: read, contents: write, pull_requests: write}, repositories: [acme/infra]}
-- registry/registry.terraform.io/hashicorp/null --
versions: [0.0.1, 3.2.4]
platforms: [linux_amd64]
-- github/acme/infra/main/README.md --
`

// gitHost is the web server of a GitHub: it serves a module by git to whoever
// has a token, and remembers what it was sent.
type gitHost struct {
	*httptest.Server
	mu   sync.Mutex
	sent map[string]bool
}

func newGitHost(t *testing.T) *gitHost {
	t.Helper()
	dir := t.TempDir()
	moduletest.Repository(t, filepath.Join(dir, "acme", "mod.git"), moduletest.Commit{
		Tag: "v1", Files: map[string]string{"main.tf": "resource \"null_resource\" \"x\" {}\n"},
	})
	git := moduletest.Handler(t, dir)
	h := &gitHost{sent: map[string]bool{}}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, ok := r.BasicAuth()
		h.mu.Lock()
		h.sent[password] = true
		h.mu.Unlock()
		if !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		git.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

// TestModulesAreFetchedWithTheApp holds that an App without a module-token
// stands for one on the GitHub server, and that it is asked only where a module
// needs it.
func TestModulesAreFetchedWithTheApp(t *testing.T) {
	t.Parallel()
	s := serveText(t, appWorld)
	app, err := s.GitHub().Credentials("relock")
	if err != nil {
		t.Fatal(err)
	}
	host := newGitHost(t)
	o := session{
		home: t.TempDir(),
		cli:  "host \"modules.example\" {\n  services = {\n    \"modules.v1\" = \"" + host.URL + "/\"\n  }\n}\n",
		env: map[string]string{
			"GITHUB_API_URL": strings.TrimSuffix(s.GitHubAPI(), "/"), "GITHUB_SERVER_URL": host.URL, "GITHUB_REPOSITORY": "acme/infra",
			"RELOCK_APP_ID": strconv.FormatInt(app.ID, 10), "RELOCK_APP_PRIVATE_KEY": string(app.Key),
			"GIT_SSL_CAINFO": os.Getenv("SSL_CERT_FILE"), "PATH": os.Getenv("PATH"),
		},
	}
	root := t.TempDir()
	tf := filepath.Join(root, "live", "main.tf")
	lock := filepath.Join(root, "live", ".terraform.lock.hcl")

	write(t, tf, []byte("resource \"null_resource\" \"x\" {}\n"))
	if status, said := o.run(t, s, root, "upgrade", "live"); status != ExitOK || asked(s, "access_tokens") != 0 {
		t.Fatalf("upgrade without modules = %d, with %d tokens asked for, want 0 and none\n%s", status, asked(s, "access_tokens"), said)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	write(t, tf, []byte("module \"a\" {\n  source = \"git::"+host.URL+"/acme/mod.git?ref=v1\"\n}\nmodule \"b\" {\n  source = \"git::"+host.URL+"/acme/mod.git?ref=main\"\n}\n"))
	if status, said := o.run(t, s, root, "upgrade", "live"); status != ExitOK || asked(s, "access_tokens") != 1 {
		t.Errorf("upgrade with two modules = %d, with %d tokens asked for, want 0 and one\n%s", status, asked(s, "access_tokens"), said)
	}
	for token := range host.sent {
		if token != "" && !strings.HasPrefix(token, "ghs_") {
			t.Errorf("the git server was sent %s", base64.StdEncoding.EncodeToString([]byte(token)))
		}
	}

	// The operator's own token for modules is what counts, if there is one.
	o.env["RELOCK_MODULE_TOKEN"] = "given"
	host.sent = map[string]bool{}
	if status, said := o.run(t, s, root, "check", "live"); status != ExitOK || !host.sent["given"] || asked(s, "access_tokens") != 1 {
		t.Errorf("check with a module token = %d, which sent %v\n%s", status, host.sent, said)
	}
}

// asked counts the requests to paths that end like that.
func asked(s *sandbox.Sandbox, suffix string) int {
	n := 0
	for _, r := range s.Requests() {
		if strings.HasSuffix(r.Path, suffix) {
			n++
		}
	}
	return n
}
