// Package zipfile opens zip archives that may come from anyone.
//
// The standard library keeps the whole table of an archive in memory, some hundred bytes
// for each entry, before it returns. It also lets entries share their data, so that a few
// megabytes can expand to terabytes. Here the table is bounded, and each entry has its own
// data.
package zipfile

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxTable bounds the table. Real packages have a few thousand entries, and an
// entry has some hundred bytes.
const maxTable = 16 << 20

// ErrShared is the error of an archive in which entries share data.
var ErrShared = errors.New("it has entries that share their data")

// Open reads the table of an archive. Names of entries may be insecure paths;
// callers decide about these.
func Open(archive io.ReaderAt, size int64) (*zip.Reader, error) {
	table := &budget{ReaderAt: archive, left: maxTable}
	z, err := zip.NewReader(table, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, err
	}
	table.left = -1
	return z, nil
}

// Apart returns ErrShared if any two of the entries share data. Another error is
// that of an entry whose header cannot be read.
func Apart(entries []*zip.File) error {
	type span struct{ begin, end int64 }
	var spans []span
	for _, f := range entries {
		if f.CompressedSize64 == 0 {
			continue
		}
		begin, err := f.DataOffset()
		if err != nil {
			return err
		}
		end := begin + int64(f.CompressedSize64)
		if end < begin {
			return ErrShared // it leads out of any archive
		}
		spans = append(spans, span{begin, end})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	for i := 1; i < len(spans); i++ {
		if spans[i].begin < spans[i-1].end {
			return ErrShared
		}
	}
	return nil
}

// budget bounds how much may be read, while left is not negative.
type budget struct {
	io.ReaderAt
	left int64
}

// ReadAt implements io.ReaderAt.
func (b *budget) ReadAt(p []byte, off int64) (int, error) {
	if b.left < 0 {
		return b.ReaderAt.ReadAt(p, off)
	}
	if b.left < int64(len(p)) {
		return 0, fmt.Errorf("its table is larger than %d MiB", maxTable>>20)
	}
	b.left -= int64(len(p))
	return b.ReaderAt.ReadAt(p, off)
}
