package github

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"github.com/google/go-github/v60/github"

	"github.com/relock-dev/relock/internal/collect"
)

// Commit is a commit without its files. Its own and its parents' names are SHAs.
type Commit struct {
	SHA     string
	Tree    string
	Message string
	Parents []string // the first one is where the branch was
}

// Commit returns the commit with a SHA. If GitHub has none, the error is an ErrNotFound.
func (r *Repository) Commit(ctx context.Context, sha string) (Commit, error) {
	c, _, err := r.client.rest.Git.GetCommit(ctx, r.owner, r.name, sha)
	if err != nil {
		return Commit{}, r.explain(ctx, "reading commit "+sha, readContents, err)
	}
	return commit(c.GetSHA(), c, c.Parents), nil
}

func commit(sha string, c *github.Commit, parents []*github.Commit) Commit {
	out := Commit{SHA: sha, Tree: c.GetTree().GetSHA(), Message: c.GetMessage()}
	for _, p := range parents {
		out.Parents = append(out.Parents, p.GetSHA())
	}
	return out
}

// mostHistory is how many commits History returns.
const mostHistory = 30

// History returns one page of commits, newest first: of a branch, or of a commit with its
// ancestors.
func (r *Repository) History(ctx context.Context, from string) ([]Commit, error) {
	listed, _, err := r.client.rest.Repositories.ListCommits(ctx, r.owner, r.name, &github.CommitsListOptions{
		SHA: from, ListOptions: github.ListOptions{PerPage: mostHistory},
	})
	if err != nil {
		return nil, r.explain(ctx, "listing the commits of "+from, readContents, err)
	}
	return collect.Mapped(listed, repositoryCommit), nil
}

// Comparison has the commits and files of a head that its base lacks.
type Comparison struct {
	Base  Commit // the head of the base
	Fork  Commit // the newest commit of the base that the head contains
	Own   []Commit
	Total int // number of own commits; Own may have fewer
	// Files are blobs by path, where the head differs from Fork; empty: the head lacks the
	// file. There are 300 at most.
	Files map[string]string
}

// MostCompared is how many files GitHub lists of a comparison; there may be more
// [docs.github.com/rest/commits/commits#compare-two-commits].
const MostCompared = 300

// mostOwnPages bounds the own commits that Compare reads, a hundred a page.
const mostOwnPages = 10

// Compare returns the commits that head contains and base does not, oldest
// first: one request for every hundred of them. base is a branch and head a
// commit. It returns an ErrNotFound also if they have no commit in common.
func (r *Repository) Compare(ctx context.Context, base, head string) (Comparison, error) {
	var out Comparison
	opts := &github.ListOptions{Page: 1, PerPage: 100}
	for opts.Page != 0 && opts.Page <= mostOwnPages {
		c, resp, err := r.client.rest.Repositories.CompareCommits(ctx, r.owner, r.name, base, head, opts)
		if err != nil {
			return Comparison{}, r.explain(ctx, "comparing "+head+" with branch "+base, readContents, err)
		}
		out.Base = repositoryCommit(c.GetBaseCommit())
		out.Fork = repositoryCommit(c.GetMergeBaseCommit())
		out.Total = c.GetTotalCommits()
		out.Files = compared(out.Files, c.Files)
		for _, own := range c.Commits {
			out.Own = append(out.Own, repositoryCommit(own))
		}
		opts.Page = resp.NextPage
	}
	return out, nil
}

// Difference has the changes of a commit since it left another.
type Difference struct {
	// Files are the paths that differ, with both paths of a renamed file. Some are missing
	// unless Complete.
	Files    []string
	Complete bool
	// Straight says that the head is the base or descends from it.
	Straight bool
	// Base is the commit of the base, which may be a branch. MergeBase is the commit that
	// both have in common.
	Base, MergeBase string
}

// Difference compares two commits in one request. It returns an ErrNotFound if
// GitHub does not know one of them, or if they have no commit in common.
func (r *Repository) Difference(ctx context.Context, base, head string) (Difference, error) {
	// The first page of commits has all files. So one commit a page is enough.
	c, _, err := r.client.rest.Repositories.CompareCommits(ctx, r.owner, r.name, base, head, &github.ListOptions{Page: 1, PerPage: 1})
	if err != nil {
		return Difference{}, r.explain(ctx, "comparing "+head+" with "+base, readContents, err)
	}
	d := Difference{
		// An answer without a list of files does not mean that there are none.
		Complete:  c.Files != nil && len(c.Files) < MostCompared,
		Straight:  c.GetStatus() == "ahead" || c.GetStatus() == "identical",
		Base:      c.GetBaseCommit().GetSHA(),
		MergeBase: c.GetMergeBaseCommit().GetSHA(),
	}
	if d.Base == "" || d.MergeBase == "" {
		return Difference{}, r.explain(ctx, "comparing "+head+" with "+base, readContents, &finding{message: "the answer does not name the commits"})
	}
	for _, f := range c.Files {
		d.Files = append(d.Files, f.GetFilename())
		if old := f.GetPreviousFilename(); old != "" {
			d.Files = append(d.Files, old)
		}
	}
	return d, nil
}

// compared adds the files of a page of a comparison.
func compared(all map[string]string, files []*github.CommitFile) map[string]string {
	if all == nil && len(files) > 0 {
		all = map[string]string{}
	}
	for _, f := range files {
		all[f.GetFilename()] = f.GetSHA()
		switch f.GetStatus() {
		case "removed":
			all[f.GetFilename()] = ""
		case "renamed":
			all[f.GetPreviousFilename()] = ""
		}
	}
	return all
}

func repositoryCommit(c *github.RepositoryCommit) Commit {
	return commit(c.GetSHA(), c.GetCommit(), c.Parents)
}

// File is a change of one file, for a new tree.
type File struct {
	Path    string // slash-separated, relative to the top of the repository
	Mode    string // of git: 100644 or 100755
	Content []byte // must be UTF-8, as lock files are
	Gone    bool   // the file is taken away; it must be in the base tree
}

// ModeOf is git's mode of a file in a file tree: of one that is not there, or is no regular
// file, that of an ordinary file.
func ModeOf(files fs.FS, name string) string {
	if info, err := fs.Lstat(files, name); err == nil && info.Mode().IsRegular() {
		return gitMode(info.Mode())
	}
	return gitMode(0)
}

// gitMode is the mode that git's trees have for a mode of files.
func gitMode(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "40000"
	case mode.Type() == fs.ModeSymlink:
		return "120000"
	case mode&0o111 != 0:
		return "100755"
	}
	return "100644"
}

// CreateTree stores the base tree with the files put into it, and returns the
// new tree. The contents travel in the one request.
func (r *Repository) CreateTree(ctx context.Context, base string, files []File) (string, error) {
	entries := make([]*github.TreeEntry, len(files))
	for i, f := range files {
		entries[i] = &github.TreeEntry{Path: github.String(f.Path), Mode: github.String(f.Mode), Type: github.String("blob")}
		if !f.Gone {
			entries[i].Content = github.String(string(f.Content))
		}
	}
	tree, _, err := r.client.rest.Git.CreateTree(ctx, r.owner, r.name, base, entries)
	if err != nil {
		return "", r.explain(ctx, "storing the new lock files", writeContents, err)
	}
	return tree.GetSHA(), nil
}

// CreateCommit stores a commit and returns its SHA. The author is the token's owner. GitHub
// signs the commits of bots and Apps.
func (r *Repository) CreateCommit(ctx context.Context, c Commit) (string, error) {
	parents := collect.Mapped(c.Parents, func(sha string) *github.Commit { return &github.Commit{SHA: &sha} })
	made, _, err := r.client.rest.Git.CreateCommit(ctx, r.owner, r.name, &github.Commit{
		Message: github.String(c.Message), Tree: &github.Tree{SHA: github.String(c.Tree)}, Parents: parents,
	}, nil)
	if err != nil {
		return "", r.explain(ctx, "storing the commit", writeContents, err)
	}
	return made.GetSHA(), nil
}

// Merge merges a commit into a branch, and returns the merge commit with the message. The
// error is an ErrConflict if they conflict, and an ErrForbidden if GitHub refuses the
// merge. If the branch already contains the commit, Merge returns the zero Commit.
func (r *Repository) Merge(ctx context.Context, branch, sha, message string) (Commit, error) {
	c, _, err := r.client.rest.Repositories.Merge(ctx, r.owner, r.name, &github.RepositoryMergeRequest{
		Base: github.String(branch), Head: github.String(sha), CommitMessage: github.String(message),
	})
	if err == nil {
		return repositoryCommit(c), nil
	}
	err = r.explain(ctx, "merging "+sha+" into branch "+branch, writeContents, err)
	if said, ok := errors.AsType[*refusal](err); ok && said.status == http.StatusUnprocessableEntity {
		said.kind = ErrForbidden // two sides that conflict are a 409
	}
	return Commit{}, err
}
