package pr

import (
	"context"
	"errors"
	"slices"

	"github.com/relock-dev/relock/internal/github"
)

// Standing is what the newest pull request of a group proposes: an open one, or
// one that a person has turned down. Its zero value is none.
type Standing struct {
	Head  string // the commit that holds it
	Files []File // what it proposes, in place of what
}

// Standing reads what stands for a group that Look was asked about. It counts only
// if it is ours as a whole: each commit of the pull request, and what that changes
// is what the digest in the newest commit of ours says. Where there is nothing that
// could stand, or no token to read it with, it asks nobody; else it is a comparison,
// two trees and the files.
func (s Survey) Standing(ctx context.Context, repo *github.Repository, group, base, prefix string) (Standing, error) {
	p := s.Proposal(New(group, base, prefix, nil))
	branch := p.Branch
	pull, known := s.newest[branch]
	marker, _ := ParseMarker(pull.Body)
	if repo.Anonymous() || !known || pull.Fork || pull.Base != base || !pull.Open && !turnedDown(pull, marker) {
		return Standing{}, nil
	}
	r := newSurveyor(repo, Options{Base: base, Prefix: prefix})
	at := state{branch: branch, head: pull.Head}
	err := r.readBranch(ctx, &at, base)
	if errors.Is(err, github.ErrNotFound) || err == nil && (at.owner < unsettled || at.contained) {
		return Standing{}, nil
	}
	if err != nil {
		return Standing{}, err
	}
	files, ok, err := at.mark.proposed(ctx, repo, at.fork, at.head)
	if err != nil || !ok {
		return Standing{}, err
	}
	return Standing{Head: at.head, Files: files}, nil
}

// proposed reads what changes from one commit to another, and reports whether that is
// what the trailers say that it is.
func (t trailers) proposed(ctx context.Context, repo *github.Repository, from, to string) ([]File, bool, error) {
	changes, err := repo.Changes(ctx, from, to)
	if err != nil {
		return nil, false, err
	}
	var files []File
	for _, c := range changes {
		files = append(files, File{Path: c.Path, Mode: c.Mode, Content: c.New, Old: c.Old})
	}
	// What is no file has no mode, and relock proposes none.
	odd := slices.ContainsFunc(files, func(f File) bool { return f.Mode == "" })
	return files, !odd && Digest(t.Group, t.Base, files) == t.Digest, nil
}
