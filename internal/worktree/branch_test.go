package worktree

import (
	"errors"
	"io/fs"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

func TestBranchesOf(t *testing.T) {
	t.Parallel()
	const origin, upstream = "origin git@github.com:acme/infra.git", "upstream https://github.com/acme/infra"
	const remote = ".git/refs/remotes/origin/"
	commit := strings.Repeat("a", 40) + "\n"
	on := func(branch string) map[string]string {
		return map[string]string{".git/HEAD": "ref: refs/heads/" + branch + "\n"}
	}
	tests := map[string]struct {
		config string
		files  []map[string]string
		want   Branches
	}{
		"the remote's HEAD": {
			remotes(origin), []map[string]string{on("topic/x"), {remote + "HEAD": "ref: refs/remotes/origin/trunk\n", remote + "main": commit}},
			Branches{"origin", "topic/x", "trunk", "refs/remotes/origin/HEAD"},
		},
		"a default branch with a slash": {
			remotes(origin), []map[string]string{on("main"), {remote + "HEAD": "ref: refs/remotes/origin/release/1\n"}},
			Branches{"origin", "main", "release/1", "refs/remotes/origin/HEAD"},
		},
		"packed": {
			remotes(origin), []map[string]string{on("main"), {".git/packed-refs": strings.TrimSpace(commit) + " refs/remotes/origin/master\n"}},
			Branches{"origin", "main", "master", "refs/remotes/origin/master"},
		},
		"main and master are there": {
			remotes(origin), []map[string]string{on("main"), {remote + "main": commit, remote + "master": commit}},
			Branches{"origin", "main", "", ""},
		},
		"another branch alone was fetched": {
			remotes(origin), []map[string]string{on("topic"), {remote + "topic": commit}},
			Branches{"origin", "topic", "", ""},
		},
		"nothing was fetched": {
			remotes(origin), []map[string]string{on("main")},
			Branches{"origin", "main", "main", ""},
		},
		"a detached HEAD": {
			remotes(origin), []map[string]string{{".git/HEAD": commit, remote + "HEAD": "ref: refs/remotes/origin/main\n"}},
			Branches{"origin", "", "main", "refs/remotes/origin/HEAD"},
		},
		"a HEAD that leads to another remote": {
			remotes(origin), []map[string]string{on("main"), {remote + "HEAD": "ref: refs/remotes/evil/main\n", remote + "main": commit}},
			Branches{"origin", "main", "main", "refs/remotes/origin/main"},
		},
		"another remote": {
			remotes(upstream, "origin https://gitlab.com/acme/infra"), []map[string]string{on("main"), {".git/refs/remotes/upstream/HEAD": "ref: refs/remotes/upstream/next\n", remote + "HEAD": "ref: refs/remotes/origin/main\n"}},
			Branches{"upstream", "main", "next", "refs/remotes/upstream/HEAD"},
		},
		"the same repository twice": {
			remotes("a https://github.com/Acme/Infra", origin), []map[string]string{on("main")},
			Branches{"origin", "main", "main", ""},
		},
		"no remote is the repository": {
			remotes("origin https://github.com/me/infra"), []map[string]string{on("main")},
			Branches{"", "main", "", ""},
		},
	}
	for name, tt := range tests {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			root := t.TempDir()
			files := map[string]string{".git/config": tt.config, ".git/objects/info/x": "", ".git/refs/heads/x": commit}
			for _, more := range tt.files {
				maps.Copy(files, more)
			}
			worktreetest.Write(t, root, files)
			got, err := BranchesOf(root, publicServer, "acme/infra")
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("BranchesOf() = %v (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := BranchesOf(t.TempDir(), publicServer, "acme/infra"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("BranchesOf(no repository) = %v, want fs.ErrNotExist", err)
	}
}
