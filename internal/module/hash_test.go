package module

import (
	"path/filepath"
	"testing"

	"github.com/relock-dev/relock/internal/module/moduletest"
)

// TestGitHash names the commit, also for a package of the cache that is older than hashes.
func TestGitHash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"), moduletest.Commit{Tag: "v1.0.0", Files: map[string]string{"a/main.tf": "# one"}})
	cache := t.TempDir()
	source := "git::file://" + dir + "/r.git//a?ref="
	for _, ref := range []string{"v1.0.0", ids[0], "main"} {
		c := newClient(t, Options{AllowLocal: true, Cache: cache})
		if p := fetch(t, c, source+ref); p.Hash != "git:"+ids[0] || p.Repository != "" {
			t.Errorf("Fetch of %s has the hash %q and repository %q, want git:%s and none", ref, p.Hash, p.Repository, ids[0])
		}
	}
}
