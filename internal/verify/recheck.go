package verify

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// recheck holds some of what the hash cache knows of the releases against their
// packages, as far as may be downloaded. Which ones is decided by a hash of the seed
// and the package, so that runs vary and one run can be repeated.
func (v *verifier) recheck() []provider.Diagnostic {
	type known struct {
		key   packageKey
		order string
		size  int64
	}
	var all []known
	for _, c := range v.order {
		for _, f := range c.files {
			if f.Contents != nil && !f.Fresh && f.Platform != (provider.Platform{}) {
				sum := sha256.Sum256([]byte(v.Seed + " " + string(f.ZH)))
				all = append(all, known{c.key(f.Platform), string(sum[:]), f.Size})
			}
		}
	}
	slices.SortFunc(all, func(a, b known) int {
		return cmp.Or(strings.Compare(a.order, b.order), a.key.want.Addr.Compare(b.key.want.Addr))
	})
	all = slices.CompactFunc(all, func(a, b known) bool { return a.order == b.order })
	var wrong []provider.Diagnostic
	for _, k := range all[:min(len(all), v.Recheck)] {
		if !v.allowance.take(k.size) {
			break
		}
		if err := v.ask.recheck(k.key, k.size); err != nil {
			wrong = append(wrong, provider.Diagnose(err))
		}
	}
	return wrong
}
