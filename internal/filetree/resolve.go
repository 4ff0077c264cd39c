package filetree

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// Why a path cannot be followed, in addition to fs.ErrNotExist and what the file system
// says.
var (
	ErrLeadsOut = errors.New("it leads out of the file tree")
	ErrLoop     = errors.New("its links go round in circles")
)

// maxLinks is how many links one path may go through, as in filepath.EvalSymlinks.
const maxLinks = 255

// Resolve returns a path of the file tree without links, which fsys must tell as
// an fs.ReadLinkFS. It reads the path as an operating system does: beyond a link,
// ".." leads to the parent of the link's target, and nothing is below a file. But
// what is beside the tree is none of its files, whatever fsys would make of it: a
// path that leads there, if only to return, is ErrLeadsOut, as are links to
// absolute paths. Other errors are ErrLoop and those of fsys.
func Resolve(fsys fs.FS, name string) (string, error) {
	at, err := Way{}.Resolve(fsys, name)
	return at.Path, err
}

// Way is where a path of a file tree leads: a path without links, and how many links
// it has gone through. The zero value is the top of the tree.
type Way struct {
	Path  string
	links int
}

// Linked reports whether the way to the place goes through a link. It says so of a way
// that ended with an error, too.
func (w Way) Linked() bool { return w.links > 0 }

// Resolve is the function Resolve for a path that begins at a directory.
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

// resolve follows a path from a directory, asking what is at paths without links, but perhaps
// at their ends: of which type it is, and where a link leads to. A link at the end of
// name is followed if last is set.
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
			return Way{links: links}, fs.ErrNotExist // git can hold such a link, and no system makes one
		case path.IsAbs(target) || filepath.IsAbs(link):
			return Way{links: links}, ErrLeadsOut
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return Way{done, links}, nil
}

// Relative is the path that leads from one directory of a tree to another, both of
// them clean and below its top.
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
