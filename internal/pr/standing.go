package pr

import (
	"context"
	"errors"
	"slices"

	"github.com/relock-dev/relock/internal/github"
)

// Standing is the current proposal of a group on GitHub. It is in its open pull request, or
// in one that a person has turned down, or in a branch that has no pull request yet. The
// zero value means that there is none.
type Standing struct {
	Head  string // the commit that holds the proposal
	Files []File // the proposed files, with the old ones; nil if they cannot be read as ours
	// MergesItself says that GitHub merges the pull request without a person, or that
	// relock must still ask for that. So nothing in it needed a person.
	MergesItself bool
}

// LeftAlone is why a run that did not see everything leaves a group's current proposal as
// it is; empty: the run does not.
type LeftAlone string

// The reasons, as an Outcome gives them.
const (
	NotRead     LeftAlone = "this run did not look at everything that it proposes, and its changes could not be read"
	NotReadable LeftAlone = "this run did not look at everything, and its changes are not those that relock has committed"
	Overtaken   LeftAlone = "the base has changed a lock file since, and this run did not look at all of it"
)

// standingAt is the commit of a group's current proposal; empty if there is none. head is
// the group's branch. pull is its newest pull request, nil if there is none.
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

// Standing reads the current proposal of a group that Look was asked about. It has files
// only if the proposal is ours as a whole: each commit is ours, and the digest in our
// newest commit is that of the changes. If there is no proposal, or no token to read it
// with, the method makes no request and returns no files. Else it reads a comparison, two
// trees and the files.
func (s Survey) Standing(ctx context.Context, repo *github.Repository, group, base, prefix string) (Standing, error) {
	branch := Branch(group, base, prefix)
	var pull *github.PullRequest
	if p, known := s.newest[branch]; known && !p.Fork {
		pull = &p
	}
	var m Marker
	if pull != nil {
		m, _ = ParseMarker(pull.Body)
	}
	head := s.heads[branch]
	if repo.Anonymous() && pull != nil && pull.Open { // branches are not read in this case
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

// proposed reads the changes from one commit to another, and reports whether they match the
// trailers.
func (t trailers) proposed(ctx context.Context, repo *github.Repository, from, to string) ([]File, bool, error) {
	changes, err := repo.Changes(ctx, from, to)
	if err != nil {
		return nil, false, err
	}
	var files []File
	for _, c := range changes {
		files = append(files, File{Path: c.Path, Mode: c.Mode, Content: c.New, Old: c.Old})
	}
	// An entry without a mode is no file, and relock proposes files only.
	odd := slices.ContainsFunc(files, func(f File) bool { return f.Mode == "" })
	return files, !odd && Digest(t.Group, t.Base, files) == t.Digest, nil
}
