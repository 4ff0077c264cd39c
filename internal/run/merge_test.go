package run

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A merge driver has no tree but the lock file and what may say which tool that is for.
func TestAloneHasVersionFiles(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for name, text := range map[string]string{
		".config/mise.toml": "[tools]\nopentofu = '1.10'\n", "live/.tool-versions": "terraform 1.9.8\n", "live/main.tf": "", "other/mise.toml": "",
	} {
		name = filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := alone(top, "live/a/.terraform.lock.hcl", nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if want := []string{".config/mise.toml", "live/.tool-versions", "live/a/.terraform.lock.hcl"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("alone() has %q, %v, want %q", names, err, want)
	}
}
