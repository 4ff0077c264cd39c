package verify

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// recheck compares some packages with the hash cache, as far as the allowance permits. A
// hash of the seed and the package selects them. So runs differ, and a run can be repeated.
func recheck(a *accountant, most int, seed string) []problem.Problem {
	type known struct {
		key   ask.Question
		order string
		size  int64
	}
	var all []known
	for _, c := range a.order {
		for _, f := range c.files {
			if f.Sum.Computed() && !f.Fresh && f.Platform != (provider.Platform{}) {
				sum := sha256.Sum256([]byte(seed + " " + string(f.Sum.ZH)))
				all = append(all, known{c.key(f.Platform), string(sum[:]), f.Sum.Size})
			}
		}
	}
	slices.SortFunc(all, func(k, l known) int {
		return cmp.Or(strings.Compare(k.order, l.order), k.key.Want.Addr.Compare(l.key.Want.Addr))
	})
	all = slices.CompactFunc(all, func(k, l known) bool { return k.order == l.order })
	var wrong []problem.Problem
	for _, k := range all[:min(len(all), most)] {
		if !a.options.Allowance.take(k.size) {
			break
		}
		if err := a.ask.recheck(k.key, k.size); err != nil {
			wrong = append(wrong, problem.Of(err))
		}
	}
	return wrong
}
