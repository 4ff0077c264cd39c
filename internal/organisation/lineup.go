package organisation

import (
	"context"
	"sync"
	"time"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
)

// The limits of reading ahead.
const (
	// mostReaders is the number of repositories that are read at once.
	mostReaders = 8
	// mostAhead is the highest number of repositories that are read, or wait for
	// their turn, beside the one with the turn.
	mostAhead = 16
	// requestsAhead is the number of requests that must be left for each earlier
	// turn before a repository is read ahead. Nearly all turns need fewer, so
	// readers take none from a turn.
	requestsAhead = 100
	// longestAhead is the longest time between a plan and its turn. A longer wait
	// would miss people's answers and new releases.
	longestAhead = 10 * time.Minute
)

// beforehand is the knowledge about a repository before its turn: an earlier
// run's report, a plan, or both.
type beforehand struct {
	recalled *report.Report // nil if the repository must be read
	planned  *run.Plan      // nil if it is not read yet
	seen     *recorder
	lookup   *run.Lookup
	at       time.Time
	limited  bool // it failed at a temporary limit of GitHub
}

// lineup has the repositories of a run read ahead of their turns, in order. The
// results do not depend on which reader reads when: the run decides everything at
// the turns.
type lineup struct {
	turns *turns

	mu     sync.Mutex
	change *sync.Cond
	next   int  // the first position that is not begun
	turn   int  // the position whose turn it is
	open   bool // the repository with the turn may be read in any case
	under  int  // readings under way
	ended  bool // nothing new begins
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

// begin waits until another repository may be read, and returns its position;
// false if no more may be read.
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

// mayBegin reports whether the next repository may be read now. The repository
// with the turn may be read when its turn is open. Another one needs two
// conditions. There must be enough requests for all turns before it. The decision
// to read it must not depend on these turns.
func (l *lineup) mayBegin(ctx context.Context) bool {
	before := l.next - l.turn
	if before == 0 {
		return l.open
	}
	client := l.turns.list.client
	return ctx.Err() == nil && before <= mostAhead && l.under < max(1, l.turns.readers>>client.Secondary()) &&
		!client.Ready(requestsAhead*(before+1), 0).Needed() && l.turns.settled(l.turns.order[l.next], before)
}

// take opens the turn of a position, and returns the knowledge about its
// repository.
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

// ahead are the tallies of a position and of the begun ones after it.
func (l *lineup) ahead(position int) []*github.Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*github.Tally
	for ; position < l.next; position++ {
		all = append(all, l.turns.tallies[l.turns.order[position]])
	}
	return all
}

// end prevents all further beginnings.
func (l *lineup) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.change.Broadcast()
}
