package render

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
)

// Listing writes the entries of a lock file, of providers or of modules, as text. It has one
// fact per line, for tools that compare lines. A set of hashes is one line: the number of hashes of each scheme, and a
// digest of all. The error is the writer's.
func Listing(w io.Writer, locks []lockfile.Lock, modules []modulelock.Entry) error {
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
	for _, e := range modules {
		fmt.Fprintln(&b, safe.Plain(e.String()))
		if e.Package != "" {
			fmt.Fprintf(&b, "  package %s\n", safe.Plain(e.Package))
		}
		fmt.Fprintf(&b, "  hash %s\n", safe.Plain(e.Hash))
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
