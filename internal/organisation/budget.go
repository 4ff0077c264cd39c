package organisation

import (
	"slices"
	"sync"

	"github.com/relock-dev/relock/internal/github"
)

// budget is what the repositories of a run may still open and write. It is a pr.Budget of
// the one whose turn it is. Who reads ahead asks for room alone.
type budget struct {
	client     *github.Client
	mu         sync.Mutex // for left
	left, turn int        // new pull requests: in all, and in the turn
	repository string
	granted    []string
	waits      bool        // something in the turn does
	late       bool        // for what GitHub lets be made in an hour
	scarce     github.Wait // why, in the last turn in which something did
}

// begin begins the turn of a repository, which may open so many pull requests.
func (b *budget) begin(repository string, opens int) {
	b.repository, b.turn, b.waits, b.late = repository, opens, false, false
}

// TryOpen implements pr.Budget. A second attempt to open one is no second pull request.
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

// room reports whether there is room for something that waits: it opens a pull request, or
// only changes one.
func (b *budget) room(opens bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return (b.left > 0 || !opens) && !b.client.Ready(0, contentsOfPull).Needed()
}

// settled reports whether that is the same after so many turns, each of which may open its
// share.
func (b *budget) settled(opens bool, turns, share int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if opens && b.left == 0 {
		return true
	}
	return (b.left > turns*share || !opens) && !b.client.Ready(0, (turns+1)*contentsOfPull).Needed()
}

// wait notes that something in the turn waits, which opens a pull request or changes one.
func (b *budget) wait(opens bool) {
	b.waits = true
	if b.left > 0 || !opens {
		b.MayWrite() // which notes how long
	}
}

// MayWrite implements pr.Budget. What may not be written waits.
func (b *budget) MayWrite() bool {
	w := b.client.Ready(0, contentsOfPull)
	if w.Needed() {
		b.scarce, b.late, b.waits = w, true, true
	}
	return !w.Needed()
}
