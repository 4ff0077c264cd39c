// Package worktreetest makes git repositories on disk for tests.
package worktreetest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Author has made all commits, at one time.
var Author = &object.Signature{Name: "a", Email: "a@example.com", When: time.Unix(1, 0)}

// Init makes a repository without a commit.
func Init(t *testing.T, root string) *git.Repository {
	t.Helper()
	repo, err := git.PlainInit(root, false)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// Commit commits all files of a repository, which is made if there is none. It returns
// the commit's id.
func Commit(t *testing.T, root string) string {
	t.Helper()
	repo, err := git.PlainOpen(root)
	if err != nil {
		repo = Init(t, root)
	}
	work, err := repo.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	if err := work.AddWithOptions(&git.AddOptions{All: true}); err != nil {
		t.Fatal(err)
	}
	commit, err := work.Commit("change", &git.CommitOptions{Author: Author, AllowEmptyCommits: true})
	if err != nil {
		t.Fatal(err)
	}
	return commit.String()
}

// Submodule commits a file of a repository together with a submodule at a commit.
func Submodule(t *testing.T, root, file, name, commit string) {
	t.Helper()
	repo := Init(t, root)
	work, err := repo.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := work.Add(file); err != nil {
		t.Fatal(err)
	}
	staged, err := repo.Storer.Index()
	if err != nil {
		t.Fatal(err)
	}
	staged.Entries = append(staged.Entries, &index.Entry{Name: name, Mode: filemode.Submodule, Hash: plumbing.NewHash(commit)})
	if err := repo.Storer.SetIndex(staged); err != nil {
		t.Fatal(err)
	}
	if _, err := work.Commit("change", &git.CommitOptions{Author: Author}); err != nil {
		t.Fatal(err)
	}
}

// Write appends texts to files below a directory, by their slash-separated paths. Files
// and directories that are missing are made.
func Write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Replace gives files another content; an empty one removes the file.
func Replace(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.Remove(filepath.Join(root, filepath.FromSlash(name))); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if text != "" {
			Write(t, root, map[string]string{name: text})
		}
	}
}
