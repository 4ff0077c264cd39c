package zipfile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// The table of an archive is kept in memory, and so has a limit.
func TestOpenBoundsTheTable(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{1000: true, 300_000: false} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i := range n {
			if _, err := w.CreateRaw(&zip.FileHeader{Name: fmt.Sprintf("%020d", i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		z, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if ok && (err != nil || len(z.File) != n || Apart(z.File) != nil) {
			t.Errorf("Open of %d entries: %v", n, err)
		}
		if !ok && (err == nil || !strings.Contains(err.Error(), "its table is larger than 16 MiB")) {
			t.Errorf("Open of %d entries = %v, want an error about its table", n, err)
		}
	}
}
