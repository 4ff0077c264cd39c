package module

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

// The limits on what another program fetches to the disk, where its bytes do not
// pass through here.
const (
	programTimeout = 15 * time.Minute
	maxDirectory   = 4 << 30 // bytes below a temporary directory
	checkInterval  = time.Second
)

// within calls do, and ends its context when it takes too long or has written
// more into a directory than any module package holds.
func within(ctx context.Context, dir string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	done, watched := make(chan struct{}), make(chan bool)
	go func() {
		watched <- watch(dir, done, cancel)
	}()
	err := do(ctx)
	close(done)
	if large := <-watched; large {
		return errDirectory
	}
	return err
}

var errDirectory = fmt.Errorf("it is larger than %d bytes", int64(maxDirectory))

// watch looks at the size of a directory until done, and cancels what fills it.
func watch(dir string, done <-chan struct{}, cancel func()) (large bool) {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return false
		case <-ticker.C:
			if sizeOf(dir) > maxDirectory {
				cancel()
				return true
			}
		}
	}
}

func sizeOf(dir string) int64 {
	var size int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is being written
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}
