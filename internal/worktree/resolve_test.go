package worktree

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

// TestResolve names commits of a small history as people do, and asks git the same where
// it is on PATH: d merges c, which is beside b, and all come after a.
func TestResolve(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := worktreetest.Init(t, root)
	work, err := repo.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	who := worktreetest.Author
	commit := func(message string, parents ...plumbing.Hash) plumbing.Hash {
		hash, err := work.Commit(message, &git.CommitOptions{Author: who, AllowEmptyCommits: true, Parents: parents})
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	a := commit("a")
	b := commit("b")
	c := commit("c", a)
	d := commit("d", b, c)
	for name, hash := range map[string]plumbing.Hash{
		"refs/heads/topic/one": b, "refs/heads/beef": c, "refs/heads/a": b, "refs/tags/light": a,
		"refs/remotes/origin/main": c, "refs/remotes/other/main": b,
	} {
		if err := repo.Storer.SetReference(plumbing.NewHashReference(plumbing.ReferenceName(name), hash)); err != nil {
			t.Fatal(err)
		}
	}
	if err := repo.Storer.SetReference(plumbing.NewSymbolicReference("refs/remotes/origin/HEAD", "refs/remotes/origin/main")); err != nil {
		t.Fatal(err)
	}
	tagged, err := repo.CreateTag("v1", b, &git.CreateTagOptions{Tagger: who, Message: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.CreateTag("v1-again", tagged.Hash(), &git.CreateTagOptions{Tagger: who, Message: "of a tag"}); err != nil {
		t.Fatal(err)
	}
	stored, err := OpenClone(root)
	if err != nil {
		t.Fatal(err)
	}
	program, lacking := exec.LookPath("git")
	for revision, want := range map[string]plumbing.Hash{
		"HEAD": d, "@": d, "master": d, "heads/master": d, "refs/heads/master": d,
		"topic/one": b, "beef": c, "a": b, "light": a, "tags/light": a, "v1": b, "v1-again": b,
		"origin/main": c, "origin": c, "other/main": b,
		d.String(): d, d.String()[:7]: d, d.String()[:8]: d, tagged.Hash().String(): b,
		"HEAD^": b, "HEAD^1": b, "HEAD^2": c, "HEAD^0": d, "HEAD~": b, "HEAD~0": d, "HEAD~1": b, "HEAD~2": a, "@~2": a,
		"HEAD^2~1": a, "HEAD^^": a, "HEAD^2^": a, "v1^{}": b, "v1^{commit}": b, "v1^{commit}~1": a, d.String()[:9] + "^2": c,
		// What is not there.
		"": {}, "nothing": {}, "HEAD~3": {}, "HEAD^3": {}, "HEAD~99999999999999999999": {}, strings.Repeat("f", 40): {}, "ffff": {}, "other": {},
		"../heads/master": {}, "HEAD/../HEAD": {}, "HEAD^x": {}, "^": {}, "HEAD^{blob}": {},
	} {
		got, err := stored.resolve(revision)
		if want.IsZero() != (err != nil) || err == nil && got.Hash != want {
			t.Errorf("resolve(%q) = %v, %v, want %s", revision, got, err, want)
		}
		if lacking != nil {
			continue
		}
		cmd := exec.Command(program, "rev-parse", "--quiet", "--verify", "--end-of-options", revision+"^{commit}")
		cmd.Dir = root
		said, err := cmd.Output()
		if theirs := strings.TrimSpace(string(said)); want.IsZero() != (err != nil) || err == nil && theirs != want.String() {
			t.Errorf("git rev-parse %q = %s, %v, want %s", revision, theirs, err, want)
		}
	}
	// What git reads and relock does not must be no other commit.
	for _, revision := range []string{"HEAD@{0}", "HEAD@{1}", "@{-1}", ":/a", "HEAD^{/a}", "HEAD^!", "HEAD^{tree}", "HEAD:main.tf", "a..b", "@{upstream}"} {
		if got, err := stored.resolve(revision); err == nil || !strings.Contains(err.Error(), "no form of a revision") {
			t.Errorf("resolve(%q) = %v, %v, want an error about its form", revision, got, err)
		}
	}
}

// Two commits whose hashes begin alike are named by none of what they share.
func TestResolveRefusesWhatSeveralCommitsBeginWith(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := worktreetest.Init(t, root)
	stored, err := OpenClone(root)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]plumbing.Hash{}
	for n := range 5000 {
		blank := repo.Storer.NewEncodedObject()
		if err := (&object.Commit{Message: fmt.Sprint(n)}).Encode(blank); err != nil {
			t.Fatal(err)
		}
		hash, err := repo.Storer.SetEncodedObject(blank)
		if err != nil {
			t.Fatal(err)
		}
		begin := hash.String()[:shortestHash]
		other, twice := seen[begin]
		if !twice {
			seen[begin] = hash
			continue
		}
		if got, err := stored.resolve(begin); err == nil || !strings.Contains(err.Error(), "several commits") {
			t.Errorf("resolve(%q) = %v, %v; %s and %s begin so", begin, got, err, hash, other)
		}
		if got, err := stored.resolve(hash.String()[:12]); err != nil || got.Hash != hash {
			t.Errorf("resolve(%s…) = %v, %v, want %s", hash.String()[:12], got, err, hash)
		}
		return
	}
	t.Error("no two commits begin alike")
}
