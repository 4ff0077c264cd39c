package organisation

import (
	"context"
	"sync"
	"time"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
)

// The bounds of reading ahead.
const (
	// mostReaders is how many repositories are read at once.
	mostReaders = 8
	// mostAhead is how many repositories are read, or wait to be written, in addition to the one
	// whose turn it is.
	mostAhead = 16
	// requestsAhead is how many requests must be left for each turn before a repository is
	// read ahead of it, more than nearly all turns take: so no turn lacks what readers took.
	requestsAhead = 100
	// longestAhead is how long a plan waits for its turn. People answer in that time, and
	// registries have something new.
	longestAhead = 10 * time.Minute
)

// beforehand is what is known of a repository before its turn: what an earlier run has
// reported, a plan, or both.
type beforehand struct {
	recalled *report.Report   // nil: the repository must be read
	planned  *run.Undelivered // nil: it is not read yet
	seen     *recorder
	lookup   *run.Lookup
	at       time.Time
	limited  bool // it failed, and GitHub refused something for a while
}

// lineup has the repositories of a run read ahead of their turns, in the order of turns. What
// readers find out is the same for every reader and at every time: all that a run decides, it decides
// at the turns.
type lineup struct {
	turns *turns

	mu     sync.Mutex
	change *sync.Cond
	next   int  // the first position that nobody has begun to read
	turn   int  // the position whose turn it is
	open   bool // that may be read, whatever else is
	under  int  // readings under way
	ended  bool // nothing more is begun
	read   map[int]beforehand
}

func newLineup(t *turns) *lineup {
	l := &lineup{turns: t, read: map[int]beforehand{}}
	l.change = sync.NewCond(&l.mu)
	return l
}

// readAll reads one repository after the other until all are read, or the line ends.
func (l *lineup) readAll(ctx context.Context) {
	for {
		position, more := l.begin(ctx)
		if !more {
			return
		}
		r := l.turns.ahead(ctx, l.turns.order[position])
		l.mu.Lock()
		l.read[position] = r
		l.under--
		l.change.Broadcast()
		l.mu.Unlock()
	}
}

// begin waits until a further repository may be read, and returns its position; false if
// none may be any more.
func (l *lineup) begin(ctx context.Context) (position int, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.ended && l.next < len(l.turns.order) && !l.mayBegin(ctx) {
		l.change.Wait()
	}
	if l.ended || l.next >= len(l.turns.order) {
		return 0, false
	}
	l.next++
	l.under++
	return l.next - 1, true
}

// mayBegin reports whether the next repository may be read now. That whose turn it is may be
// when the turn is open. Others may be while there are certainly requests for all before
// them, too, and while it does not depend on the turns before whether they are read at all.
func (l *lineup) mayBegin(ctx context.Context) bool {
	before := l.next - l.turn
	if before == 0 {
		return l.open
	}
	client := l.turns.list.client
	return ctx.Err() == nil && before <= mostAhead && l.under < max(1, l.turns.readers>>client.Secondary()) &&
		!client.Ready(requestsAhead*(before+1), 0).Needed() && l.turns.settled(l.turns.order[l.next], before)
}

// take opens the turn of a position, and returns what is known of its repository.
func (l *lineup) take(position int) beforehand {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn, l.open = position, true
	l.change.Broadcast()
	for {
		if r, read := l.read[position]; read {
			delete(l.read, position)
			return r
		}
		l.change.Wait()
	}
}

// ahead are the requests of a position and of those after it that are begun.
func (l *lineup) ahead(position int) []*github.Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*github.Tally
	for ; position < l.next; position++ {
		all = append(all, l.turns.tallies[l.turns.order[position]])
	}
	return all
}

// end lets nobody begin anything.
func (l *lineup) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.change.Broadcast()
}
