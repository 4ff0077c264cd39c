package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestIgnoringLineIsTheLastThatMatches(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, content := range map[string]string{
		".git/info/exclude":   "# for one clone\n/own\n",
		".gitignore":          "*.log\r\n.terraform.lock.hcl\n!/kept/*.hcl\nout/\n",
		"a/.gitignore":        "!.terraform.lock.hcl\n",
		"a/b/.gitignore":      "\n\n.terraform*\n",
		"out/deep/.gitignore": "!.terraform.lock.hcl\n",
	} {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g := ReadIgnoreFiles(root)
	for name, want := range map[string]string{
		".terraform.lock.hcl":          ".gitignore:2",
		"x/.terraform.lock.hcl":        ".gitignore:2",
		"kept/.terraform.lock.hcl":     "",
		"a/.terraform.lock.hcl":        "",
		"a/b/.terraform.lock.hcl":      "a/b/.gitignore:3",
		"a/b/c/.terraform.lock.hcl":    "a/b/.gitignore:3",
		"out/deep/.terraform.lock.hcl": ".gitignore:4", // nothing below an ignored directory is taken back
		"own/main.tf":                  ".git/info/exclude:2",
		"main.tf":                      "",
	} {
		by := ""
		if file, line := g.By(name); file != "" {
			by = fmt.Sprintf("%s:%d", file, line)
		}
		if by != want {
			t.Errorf("By(%s) = %q, want %q", name, by, want)
		}
	}
}
