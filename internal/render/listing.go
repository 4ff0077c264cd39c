package render

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
)

// Listing writes lock entries as text, one fact per line, for tools that compare
// lines. A set of hashes is one line: the number of hashes of each scheme, and a
// digest of all. The error is the writer's.
func Listing(w io.Writer, locks []lockfile.Lock) error {
	var b strings.Builder
	for _, l := range locks {
		fmt.Fprintf(&b, "%s\n  version %s\n", safe.Plain(l.Addr.String()), l.Version)
		if !l.Constraints.Empty() {
			fmt.Fprintf(&b, "  constraints %s\n", safe.Plain(l.Constraints.String()))
		}
		if len(l.Hashes) > 0 {
			fmt.Fprintf(&b, "  hashes %s\n", listedHashes(l.Hashes))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func listedHashes(hashes []provider.Hash) string {
	var counts []string
	digest := sha256.New()
	for i := 0; i < len(hashes); {
		scheme, n := hashes[i].Scheme(), 0
		for ; i < len(hashes) && hashes[i].Scheme() == scheme; i++ {
			fmt.Fprintln(digest, hashes[i])
			n++
		}
		counts = append(counts, fmt.Sprintf("%d %s", n, safe.Plain(scheme)))
	}
	return fmt.Sprintf("%s (%x)", strings.Join(counts, ", "), digest.Sum(nil)[:4])
}
