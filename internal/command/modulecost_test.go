package command

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/modulelock"
)

// TestModuleLockCosts counts what 20 root modules with the same calls of three sources ask for.
// The second upgrade asks each source once for what it has, and fetches no commit. Root modules
// without the file ask for the same.
func TestModuleLockCosts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"net.git", "other.git", "registered.git"} {
		moduletest.Repository(t, filepath.Join(dir, name), moduletest.Commit{Tag: "v1.0.0", Files: contentOf(1)})
	}
	git := moduletest.Handler(t, dir)
	var mu sync.Mutex
	asked := map[string]int{}
	var url string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		what := r.URL.Path
		if _, command, found := strings.Cut(string(body), "command="); found {
			what = strings.TrimSuffix(r.URL.Path, "/git-upload-pack") + " " + command[:5]
		}
		mu.Lock()
		asked[what]++
		mu.Unlock()
		switch r.URL.Path {
		case "/acme/net/aws/versions":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"modules": [{"versions": [{"version": "1.0.0"}]}]}`)
		case "/acme/net/aws/1.0.0/download":
			w.Header().Set("X-Terraform-Get", "git::"+url+"/registered.git?ref=v1.0.0")
			w.WriteHeader(http.StatusNoContent)
		default:
			git.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	url = s.URL
	const roots = 20
	played := func(locked bool) (first, second map[string]int) {
		cli := filepath.Join(t.TempDir(), "cli.tfrc")
		writeOrFail(t, cli, "host \"mods.example\" {\n  services = {\n    \"modules.v1\" = \""+url+"/\"\n  }\n}\nhost \""+s.Listener.Addr().String()+"\" {}\n")
		c := &checkout{dir: t.TempDir(), cache: t.TempDir(), env: map[string]string{"TF_CLI_CONFIG_FILE": cli, "PATH": os.Getenv("PATH")}}
		for i := range roots {
			at := fmt.Sprintf("root%d/", i)
			c.write(t, at+"main.tf", called("a", "mods.example/acme/net/aws", "~> 1.0")+called("b", "git::"+url+"/net.git?ref=v1.0.0", "")+called("c", "git::"+url+"/other.git?ref=main", ""))
			c.write(t, at+".terraform.lock.hcl", "")
			if locked {
				c.write(t, at+modulelock.Name, "")
			}
		}
		for _, counts := range []*map[string]int{&first, &second} {
			asked = map[string]int{}
			c.want(t, ExitOK, "", "upgrade", ".")
			*counts = asked
		}
		return first, second
	}
	cold, bare := played(false)
	first, second := played(true)
	// An upgrade opens two conversations by git's protocol with each repository, in one of which
	// it lists the refs, and a third one to fetch.
	warm := map[string]int{"/acme/net/aws/versions": 1, "/acme/net/aws/1.0.0/download": 1}
	for _, name := range []string{"/net.git", "/other.git", "/registered.git"} {
		warm[name+"/info/refs"], warm[name+" ls-re"] = 2, 1
	}
	fresh := maps.Clone(warm)
	for _, name := range []string{"/net.git", "/other.git", "/registered.git"} {
		fresh[name+"/info/refs"], fresh[name+" fetch"] = 3, 1
	}
	for _, tt := range []struct {
		name      string
		got, want map[string]int
	}{
		{"the first upgrade without the file", cold, fresh}, {"the second one", bare, warm},
		{"the first upgrade with the file", first, fresh}, {"the second one", second, warm},
	} {
		if !maps.Equal(tt.got, tt.want) {
			t.Errorf("%s asks for %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}
