package filetree

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// Errors of following a path, in addition to fs.ErrNotExist and those of the file system.
var (
	ErrLeadsOut = errors.New("it leads out of the file tree")
	ErrLoop     = errors.New("its links go round in circles")
)

// maxLinks is the limit on the links of one path, as in filepath.EvalSymlinks.
const maxLinks = 255

// Resolve returns a path of the file tree without links. Links are followed only if fsys is
// an fs.ReadLinkFS. It reads the path as an operating system does: after a link, ".." is
// the parent of the link's target, and nothing is below a file. A path that leaves the tree
// is ErrLeadsOut, even if it returns, and even if fsys would follow it. So is a link to an
// absolute path. Other errors are ErrLoop and those of fsys.
func Resolve(fsys fs.FS, name string) (string, error) {
	at, err := Way{}.Resolve(fsys, name)
	return at.Path, err
}

// Way is the result of following a path of a file tree: the path without links, and the
// number of links. The zero value is the top of the tree.
type Way struct {
	Path  string
	links int
}

// Linked reports whether the way leads through a link. That holds for a way with an error,
// too.
func (w Way) Linked() bool { return w.links > 0 }

// Resolve is the function Resolve for a path that starts at a directory.
func (w Way) Resolve(fsys fs.FS, name string) (Way, error) {
	return resolve(w, name, true, func(name string) (mode fs.FileMode, target string, err error) {
		info, err := fs.Lstat(fsys, name)
		if err != nil {
			return 0, "", err
		}
		if info.Mode().Type() == fs.ModeSymlink {
			target, err = fs.ReadLink(fsys, name)
		}
		return info.Mode().Type(), target, err
	})
}

// resolve follows a path from a directory. at returns the type of a path whose directories
// are no links, and the target if it is a link. With last, a link at the end of name is
// followed, too.
func resolve(from Way, name string, last bool, at func(name string) (typ fs.FileMode, target string, err error)) (Way, error) {
	done, isDir, links := cmp.Or(from.Path, "."), true, from.links
	if path.IsAbs(name) {
		return Way{links: links}, ErrLeadsOut
	}
	for rest := strings.Split(name, "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch step := part == "" || part == "." || part == ".."; {
		case step && !isDir:
			return Way{links: links}, fs.ErrNotExist
		case part == ".." && done == ".":
			return Way{links: links}, ErrLeadsOut
		case part == "..":
			done = path.Dir(done)
			continue
		case step:
			continue
		}
		next := path.Join(done, part)
		typ, link, err := at(next)
		if err != nil {
			return Way{links: links}, err
		}
		if typ != fs.ModeSymlink || len(rest) == 0 && !last {
			done, isDir = next, typ == fs.ModeDir
			continue
		}
		links++
		if links > maxLinks {
			return Way{links: links}, ErrLoop
		}
		target := filepath.ToSlash(link)
		switch {
		case target == "":
			return Way{links: links}, fs.ErrNotExist // git can have such a link, but no operating system makes one
		case path.IsAbs(target) || filepath.IsAbs(link):
			return Way{links: links}, ErrLeadsOut
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return Way{done, links}, nil
}

// Relative is the path from one directory of a tree to another. Both must be clean and
// inside the tree.
func Relative(from, to string) string {
	up := ""
	for ; from != "." && to != from && !strings.HasPrefix(to, from+"/"); from = path.Dir(from) {
		up += "../"
	}
	if from != "." {
		to = strings.TrimPrefix(strings.TrimPrefix(to, from), "/")
	}
	return path.Clean(up + to)
}
