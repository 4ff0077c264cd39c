// Package waves lets tests count how many round trips a program needs in sequence,
// without a clock. It is part of no program.
package waves

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Waves answer requests in groups: they answer none of a group before all of it
// have arrived. A client waits for ever if it sends one only after the answer to
// another. So the number of groups is the number of round trips in sequence.
type Waves struct {
	mu    sync.Mutex
	left  [][]string      // ends of paths
	begun []chan struct{} // closed when all of the group have arrived
	other []string        // requests out of turn
}

// New makes groups of ends of paths.
func New(groups ...[]string) *Waves {
	w := &Waves{}
	for _, g := range groups {
		w.left, w.begun = append(w.left, slices.Clone(g)), append(w.begun, make(chan struct{}))
	}
	return w
}

// Hold waits until the group of the request is complete.
func (w *Waves) Hold(r *http.Request) {
	w.mu.Lock()
	for i, group := range w.left {
		at := slices.IndexFunc(group, func(end string) bool { return strings.HasSuffix(r.URL.Path, end) })
		if at < 0 {
			continue
		}
		if i > 0 && len(w.left[i-1]) > 0 {
			break // before the answers to the previous group
		}
		w.left[i] = slices.Delete(group, at, at+1)
		if len(w.left[i]) == 0 {
			close(w.begun[i])
		}
		w.mu.Unlock()
		select {
		case <-w.begun[i]:
		case <-r.Context().Done():
		}
		return
	}
	w.other = append(w.other, r.URL.Path)
	w.mu.Unlock()
}

// Missed are the requests that did not arrive, or arrived out of turn.
func (w *Waves) Missed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Concat(slices.Concat(w.left...), w.other)
}
