package sandbox

import (
	"archive/zip"
	"bytes"
	"fmt"
	"hash/crc32"
	"io/fs"
)

// entry is one entry of a zip archive. Names may repeat and may need cleaning, as
// in some real packages.
type entry struct {
	Name    string
	Content string
	Mode    string // "" for an executable file, "dir", or "symlink" with the target as content
}

var entryModes = map[string]fs.FileMode{
	"":        0o755,
	"dir":     fs.ModeDir | 0o755,
	"symlink": fs.ModeSymlink | 0o777,
}

// pack builds a zip archive. Its bytes depend on the entries only: it records no
// times, and compresses nothing, since each release of Go may compress
// differently. Sizes come before the contents: without them, a client cannot read
// uncompressed content while it arrives.
func pack(entries []entry) ([]byte, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, e := range entries {
		mode, ok := entryModes[e.Mode]
		if !ok {
			return nil, fmt.Errorf("unknown mode %q of %s: it must be dir or symlink", e.Mode, e.Name)
		}
		text := []byte(e.Content)
		if mode.IsDir() {
			text = nil
		}
		header := &zip.FileHeader{
			Name: e.Name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(text),
			CompressedSize64: uint64(len(text)), UncompressedSize64: uint64(len(text)),
		}
		header.SetMode(mode)
		content, err := w.CreateRaw(header)
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", e.Name, err)
		}
		if _, err := content.Write(text); err != nil {
			return nil, fmt.Errorf("packing %s: %w", e.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	return archive.Bytes(), nil
}
