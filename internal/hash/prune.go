package hash

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/provider"
)

const (
	// tolerated is the number of useless records that a file may always have.
	// Concurrent runs with the same results leave a record each.
	tolerated = 256
	// roomy is the size to which a file that is too long is cut, so that it is
	// not cut again soon.
	roomy = maxCache / 4 * 3
)

// prune rewrites the cache at path with one record for each entry that Lookup
// would find; the newest if there are too many. Disputed entries are dropped, so
// that a run can learn them again.
//
// The file is replaced as a whole, and only if it still matches info, so that
// additions of other runs stay. Additions between that check and the renaming are
// lost, which costs a download. Its permissions and a link to it stay.
func prune(path string, info fs.FileInfo) error {
	c := newCache()
	var order []provider.Hash // as they were added
	err := readEntries(path, func(e Entry) {
		if c.keep(e) {
			order = append(order, e.Hashed.Sum.ZH)
		}
	})
	if err != nil {
		return err
	}
	var records []string // the newest first
	room := roomy
	for _, zh := range slices.Backward(order) {
		e, ok := c.entries[zh]
		delete(c.entries, zh) // it may have been added twice
		if !ok {
			continue
		}
		record, err := e.record()
		if err != nil {
			return err
		}
		room -= len(record)
		if room < 0 {
			break
		}
		records = append(records, record)
	}
	text := []byte(cacheHeader)
	for _, record := range slices.Backward(records) {
		text = append(text, record...)
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	return file.Replace(path, text, file.Options{Mode: info.Mode().Perm(), Durable: true, Unless: func() bool {
		now, err := os.Stat(path)
		return err != nil || !os.SameFile(now, info) || now.Size() != info.Size()
	}})
}
