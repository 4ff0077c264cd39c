package verify

import "sync"

// MostAccounted is how many bytes a run downloads at most to account for hashes. It is
// enough for any release except the largest, and little compared with an upgrade. The cache
// remembers what was downloaded, so the next run gets further.
const MostAccounted = 1_000_000_000

// Allowance is the number of bytes that a run may still download to account for hashes. It
// is safe for concurrent use.
type Allowance struct {
	mu   sync.Mutex
	left int64
}

// NewAllowance allows this number of bytes.
func NewAllowance(bytes int64) *Allowance { return &Allowance{left: bytes} }

// take takes the bytes if that many are left, and reports whether they were.
func (a *Allowance) take(bytes int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if bytes > a.left {
		return false
	}
	a.left -= bytes
	return true
}

func (a *Allowance) takeAll() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.left
	a.left = 0
	return all
}

func (a *Allowance) giveBack(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left += bytes
}
