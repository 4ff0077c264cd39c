package command

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/module/moduletest"
)

// A runner begins with what a workflow has kept. With the module packages of commits
// a run asks registries alone, which modules and versions there are; without them it
// fetches each package again. docs/performance.md has the numbers.
func TestRestoredModulesAreNotFetched(t *testing.T) {
	t.Parallel()
	modules := []string{"net", "dns", "logs", "roles", "queue"}
	var world, calls strings.Builder
	world.WriteString("-- registry/registry.terraform.io/hashicorp/alpha --\nversions: [1.0.0]\n")
	for _, m := range modules {
		fmt.Fprintf(&world, "-- modules/registry.terraform.io/acme/%s/aws/1.0.0/main.tf --\n", m)
		fmt.Fprintf(&calls, "module %q {\n  source  = \"acme/%[1]s/aws\"\n  version = \"1.0.0\"\n}\n", m)
	}
	s, dir, repositories := serveText(t, world.String()), t.TempDir(), t.TempDir()
	s.Mount("/git/", http.StripPrefix("/git", moduletest.Handler(t, repositories)))
	for _, m := range modules {
		commit := moduletest.Repository(t, filepath.Join(repositories, m+".git"), moduletest.Commit{
			Files: map[string]string{"main.tf": "terraform {\n  required_providers {\n    alpha = { source = \"hashicorp/alpha\" }\n  }\n}\n"},
		})[0]
		s.Mount("/registry.terraform.io/v1/modules/acme/"+m+"/aws/1.0.0/download", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Terraform-Get", fmt.Sprintf("git::%s/git/%s.git?ref=%s", s.URL(), m, commit))
			w.WriteHeader(http.StatusNoContent)
		}))
	}
	write(t, filepath.Join(dir, "main.tf"), []byte(calls.String()))
	upgrade := func(cache string) (packages, others int) {
		t.Helper()
		s.ResetRequests()
		o := session{home: t.TempDir(), cache: cache, env: map[string]string{"PATH": os.Getenv("PATH")}}
		if status, out := o.run(t, s, dir, "upgrade", "--create", "--platform", "linux_amd64", "."); status != 0 {
			t.Fatalf("upgrade ends with %d:\n%s", status, out)
		}
		for _, r := range s.Requests() {
			if strings.HasPrefix(r.Path, "/git/") {
				packages++
			} else {
				others++
			}
		}
		return packages, others
	}
	saved := t.TempDir()
	cold, asked := upgrade(saved)
	t.Logf("nothing kept: %d requests for module packages, %d others", cold, asked)
	for _, kept := range []string{"hashes", "hashes and modules"} {
		runner := t.TempDir()
		for part := range strings.SplitSeq(kept, " and ") {
			restore(t, filepath.Join(saved, "relock", part), filepath.Join(runner, "relock", part))
		}
		packages, others := upgrade(runner)
		t.Logf("%s kept: %d requests for module packages, %d others", kept, packages, others)
		want := map[string]int{"hashes": cold, "hashes and modules": 0}[kept]
		if packages != want || others != 2*len(modules)+4 {
			t.Errorf("with %s kept: %d requests for module packages and %d others, want %d and %d", kept, packages, others, want, 2*len(modules)+4)
		}
	}
}

// restore copies a file or a directory of files.
func restore(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err == nil && info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else if err == nil {
		var content []byte
		content, err = os.ReadFile(from)
		write(t, to, content)
	}
	if err != nil {
		t.Fatal(err)
	}
}
