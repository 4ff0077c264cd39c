package module

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/moduleaddr"
)

// fromDisk reads a directory or an archive on this machine.
func fromDisk(ctx context.Context, a moduleaddr.Package) (contents, error) {
	a, kind := archiveFormat(a)
	name := cmp.Or(a.URL.RawPath, a.URL.Path)
	if filepath.Separator == '\\' {
		name = strings.TrimPrefix(name, "/") // for a path such as /C:/modules
	}
	name = filepath.FromSlash(path.Clean(name))
	stat, err := os.Stat(name)
	switch {
	case err != nil:
		return contents{}, unread("reading %s: %v", name, file.Cause(err))
	case kind == "" && stat.IsDir():
		return contents{fs: os.DirFS(name), disk: name, id: "file://" + filepath.ToSlash(name)}, nil
	case kind == "":
		return contents{}, unread("%s is no directory", name)
	case !stat.Mode().IsRegular(): // a named pipe would block the run
		return contents{}, unread("%s is no archive", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return contents{}, unread("opening the archive %s: %v", name, file.Cause(err))
	}
	defer f.Close()
	got, err := unpack(ctx, io.NewSectionReader(f, 0, stat.Size()), archiveForm{kind: kind})
	if err != nil {
		return contents{}, err
	}
	digest := sha256.New()
	if _, err := io.Copy(digest, io.NewSectionReader(f, 0, 1<<62)); err != nil {
		return contents{}, unread("reading the archive %s: %v", name, file.Cause(err))
	}
	return contents{fs: got.tree, id: archiveID(kind, hex.EncodeToString(digest.Sum(nil)))}, nil
}
