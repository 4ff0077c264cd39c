package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/module/moduletest"
)

// TestLoopbackHintWorks does what the refusal of a server on this machine says.
func TestLoopbackHintWorks(t *testing.T) {
	t.Parallel()
	s := serveText(t, "-- registry/registry.terraform.io/hashicorp/null --\nversions: [3.2.4]\n")
	dir := t.TempDir()
	moduletest.Repository(t, filepath.Join(dir, "mod.git"), moduletest.Commit{
		Files: map[string]string{"main.tf": "resource \"null_resource\" \"x\" {}\n"},
	})
	git := moduletest.Serve(t, dir)
	_, port, _ := strings.Cut(git.Listener.Addr().String(), ":")
	root := t.TempDir()
	for name, source := range map[string]string{
		"by_address": git.URL + "/mod.git",
		"by_name":    "http://localhost:" + port + "/mod.git",
	} {
		t.Run(name, func(t *testing.T) {
			write(t, filepath.Join(root, name, "main.tf"), []byte("module \"a\" {\n  source = \"git::"+source+"\"\n}\n"))
			o := session{home: t.TempDir(), env: map[string]string{"PATH": os.Getenv("PATH")}}
			status, said := o.run(t, s, root, "scan", name)
			block := regexp.MustCompile(`(?s)next: .*(host "\S+" \{\})`).FindStringSubmatch(said)
			if status != ExitFailed || block == nil || !strings.Contains(said, "refused: an address of this machine") {
				t.Fatalf("scan = %d, want a refusal with a block for the CLI configuration:\n%s", status, said)
			}
			o.cli = block[1] + "\n"
			if status, said := o.run(t, s, root, "scan", name); status != ExitOK || !strings.Contains(said, "hashicorp/null") {
				t.Errorf("scan with %s = %d, want what the module requires:\n%s", o.cli, status, said)
			}
		})
	}
}
