package organisation

import (
	"slices"
	"sync"

	"github.com/relock-dev/relock/internal/github"
)

// budget is the remaining right of a run's repositories to open and write. It is
// a pr.Budget of the repository with the turn. Readers ahead of their turn only
// ask for room.
type budget struct {
	client     *github.Client
	mu         sync.Mutex // for left
	left, turn int        // new pull requests that may be opened: in all, and in the turn
	repository string
	granted    []string
	waits      bool        // something in the turn waits
	late       bool        // it waits for GitHub's hourly limit of contents
	scarce     github.Wait // the reason, in the last turn in which something waited
}

// begin begins the turn of a repository, with the number of pull requests that it
// may open.
func (b *budget) begin(repository string, opens int) {
	b.repository, b.turn, b.waits, b.late = repository, opens, false, false
}

// TryOpen implements pr.Budget. A second attempt for one branch is no second pull
// request.
func (b *budget) TryOpen(branch string) bool {
	name := b.repository + " " + branch
	if slices.Contains(b.granted, name) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 || b.turn == 0 {
		b.waits = true
		return false
	}
	b.left, b.turn = b.left-1, b.turn-1
	b.granted = append(b.granted, name)
	return true
}

// room reports whether something that waits may go on. opens says that it opens a
// pull request, not only changes one.
func (b *budget) room(opens bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return (b.left > 0 || !opens) && !b.client.Ready(0, contentsOfPull).Needed()
}

// settled reports whether room is the same after a number of turns, in each of
// which share pull requests may be opened.
func (b *budget) settled(opens bool, turns, share int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if opens && b.left == 0 {
		return true
	}
	return (b.left > turns*share || !opens) && !b.client.Ready(0, (turns+1)*contentsOfPull).Needed()
}

// wait records that something in the turn waits. opens is as in room.
func (b *budget) wait(opens bool) {
	b.waits = true
	if b.left > 0 || !opens {
		b.MayWrite() // it records for how long
	}
}

// MayWrite implements pr.Budget. A forbidden write waits.
func (b *budget) MayWrite() bool {
	w := b.client.Ready(0, contentsOfPull)
	if w.Needed() {
		b.scarce, b.late, b.waits = w, true, true
	}
	return !w.Needed()
}
