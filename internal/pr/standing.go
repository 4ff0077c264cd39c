package pr

import (
	"context"
	"errors"
	"slices"

	"github.com/relock-dev/relock/internal/github"
)

// Standing is what stands for a group: what its open pull request proposes, or one that
// a person has turned down, or what its branch holds for which there is no pull request
// yet. Its zero value is nothing.
type Standing struct {
	Head  string // the commit that holds it
	Files []File // what it proposes, in place of what; nil if that cannot be read as ours
	// MergesItself says that GitHub merges the pull request without a person, or is to
	// be asked to: nothing in it needed an eye.
	MergesItself bool
}

// LeftAlone is the reason why a run that did not see everything leaves what stands for a
// group as it is. It is empty where the run does not.
type LeftAlone string

// The reasons, as an Outcome gives them.
const (
	NotRead     LeftAlone = "this run did not look at everything that it proposes, and its changes could not be read"
	NotReadable LeftAlone = "this run did not look at everything, and its changes are not those that relock has committed"
	Overtaken   LeftAlone = "the base has changed a lock file since, and this run did not look at all of it"
)

// standingAt is the commit that stands for a group whose branch is at head, empty if
// there is none, and whose newest pull request is pull, nil if there is none.
func standingAt(head string, pull *github.PullRequest, m Marker, base string) string {
	switch {
	case pull != nil && pull.Open && pull.Base != base: // a person has changed it
		return ""
	case head != "" && (pull == nil || pull.Open || pull.Head != head):
		return head
	case pull != nil && turnedDown(*pull, m):
		return pull.Head
	}
	return ""
}

// Standing reads what stands for a group that Look was asked about. It has files only
// if it is ours as a whole: each commit of the pull request, and what that changes
// is what the digest in the newest commit of ours says. Where there is nothing that
// could stand, or no token to read it with, it asks nobody, and there are no files; else
// it is a comparison, two trees and the files.
func (s Survey) Standing(ctx context.Context, repo *github.Repository, group, base, prefix string) (Standing, error) {
	branch := s.Proposal(New(group, base, prefix, nil)).Branch
	var pull *github.PullRequest
	if p, known := s.newest[branch]; known && !p.Fork {
		pull = &p
	}
	var m Marker
	if pull != nil {
		m, _ = ParseMarker(pull.Body)
	}
	head := s.heads[branch]
	if repo.Anonymous() && pull != nil && pull.Open { // branches are not asked for then
		head = pull.Head
	}
	found := Standing{Head: standingAt(head, pull, m, base)}
	if repo.Anonymous() || found.Head == "" {
		return found, nil
	}
	found.MergesItself = pull != nil && pull.Open && (pull.AutoMerge || m.AutoMerge)
	r := newSurveyor(repo, Options{Base: base, Prefix: prefix})
	at := state{branch: branch, head: found.Head}
	err := r.readBranch(ctx, &at, base)
	if errors.Is(err, github.ErrNotFound) || err == nil && at.contained {
		return Standing{}, nil
	}
	if err != nil || at.owner < unsettled {
		return found, err
	}
	files, ok, err := at.mark.proposed(ctx, repo, at.fork, at.head)
	if err != nil {
		return Standing{}, err
	}
	if ok {
		found.Files = files
	}
	return found, nil
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
