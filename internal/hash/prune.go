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
	// tolerated is how many records of no use a file may have whatever it knows.
	// Runs at the same time that learn the same leave a record each.
	tolerated = 256
	// roomy is what a file that is too long to be read whole is cut to, so that it
	// is not cut again for a while.
	roomy = maxCache / 4 * 3
)

// prune rewrites the cache at path with one record for each entry that Lookup
// would find, the newest if there are too many. What is disputed is forgotten,
// so that it can be learnt again.
//
// The file is replaced in whole or not at all, and only if it still is as info
// says, so that what other runs add meanwhile stays. What one adds between that
// look and the renaming is lost, which costs a download. Its permissions stay, and
// so does a link that leads to it.
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
