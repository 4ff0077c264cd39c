package scan

import (
	"sync"
	"sync/atomic"

	"github.com/relock-dev/relock/internal/problem"
)

// Quota bounds the cost of root modules that are made from one input, such as a stack of
// Terragrunt. The cost is in bytes that are kept in memory or read. It is safe for
// concurrent use.
type Quota struct {
	Most int64
	// Problem is that of root modules that are not read, since too much is spent.
	Problem problem.Problem

	turn  sync.Mutex
	spent atomic.Int64
}

// Spend calls do and adds the cost that it returns. One call of do runs at a time, so that
// one cost at most exceeds the quota. After that do is not called. A nil Quota has no
// bound.
func (a *Quota) Spend(do func() int) {
	if a == nil {
		do()
		return
	}
	a.turn.Lock()
	defer a.turn.Unlock()
	if !a.Exceeded() {
		a.spent.Add(int64(do()))
	}
}

// Exceeded reports whether more than the quota is spent.
func (a *Quota) Exceeded() bool { return a != nil && a.spent.Load() > a.Most }

// PerFact is about what a requirement, a module call or the name of a file costs, in bytes.
const PerFact = 2 << 10
