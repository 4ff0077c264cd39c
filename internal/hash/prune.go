package hash

import (
	"errors"
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

// care prunes the file where more than half of its records are of no use, or
// where it has become too long to be read whole. To prune is no duty, and never
// worth a failure: the directory may be such that nothing can be created in it,
// and where another run has the file open, Windows does not let it be replaced.
// The next run tries again.
func (c *Cache) care() error {
	info, err := os.Stat(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody threw it away
	}
	if err != nil {
		return err
	}
	if c.records > 2*len(c.entries)+tolerated || info.Size() > maxCache {
		_ = prune(c.path, info)
	}
	return nil
}

// prune rewrites the cache at path with one record for each entry that Lookup
// would find, the newest if there are too many. What is disputed is forgotten,
// so that it can be learnt again.
//
// The file is replaced only if it still is as info says, so that what other runs
// add meanwhile stays. What one adds between that look and the renaming is lost,
// which costs a download.
func prune(path string, info fs.FileInfo) error {
	c := newCache()
	var order []provider.Hash // as they were added
	err := readEntries(path, func(e Entry) {
		if c.keep(e) {
			order = append(order, e.ZH)
		}
	})
	if err != nil {
		return err
	}
	records, err := c.newest(order)
	if err != nil {
		return err
	}
	text := []byte(cacheHeader)
	for _, record := range slices.Backward(records) {
		text = append(text, record...)
	}
	return replace(path, info, text)
}

// newest returns the records of entries, those added last first, as far as there
// is room.
func (c *Cache) newest(order []provider.Hash) ([]string, error) {
	var records []string
	left := roomy
	for _, zh := range slices.Backward(order) {
		e, ok := c.entries[zh]
		delete(c.entries, zh) // it may have been added twice
		if !ok {
			continue
		}
		record, err := e.record()
		if err != nil {
			return nil, err
		}
		if left -= len(record); left < 0 {
			break
		}
		records = append(records, record)
	}
	return records, nil
}

// replace replaces a file in whole or not at all, and only if it still is as
// info says. Its permissions stay, and so does a link that leads to it.
func replace(path string, info fs.FileInfo, text []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	return file.Replace(path, text, file.Options{Mode: info.Mode().Perm(), Durable: true, Unless: func() bool {
		now, err := os.Stat(path)
		return err != nil || !os.SameFile(now, info) || now.Size() != info.Size()
	}})
}
