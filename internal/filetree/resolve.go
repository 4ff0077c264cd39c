package filetree

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// Why a path cannot be followed, besides fs.ErrNotExist and what the file system
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
	return resolve(name, true, func(name string) (mode fs.FileMode, target string, err error) {
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

// resolve follows a path, asking what stands at paths without links, but perhaps
// at their ends: of which type it is, and where a link leads to. A link at the end of
// name is followed if last is set.
func resolve(name string, last bool, at func(name string) (typ fs.FileMode, target string, err error)) (string, error) {
	if path.IsAbs(name) {
		return "", ErrLeadsOut
	}
	done, isDir := ".", true
	for rest, links := strings.Split(name, "/"), 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch step := part == "" || part == "." || part == ".."; {
		case step && !isDir:
			return "", fs.ErrNotExist
		case part == ".." && done == ".":
			return "", ErrLeadsOut
		case part == "..":
			done = path.Dir(done)
			continue
		case step:
			continue
		}
		next := path.Join(done, part)
		typ, link, err := at(next)
		if err != nil {
			return "", err
		}
		if typ != fs.ModeSymlink || len(rest) == 0 && !last {
			done, isDir = next, typ == fs.ModeDir
			continue
		}
		if links++; links > maxLinks {
			return "", ErrLoop
		}
		target := filepath.ToSlash(link)
		switch {
		case target == "":
			return "", fs.ErrNotExist // git can hold such a link, and no system makes one
		case path.IsAbs(target) || filepath.IsAbs(link):
			return "", ErrLeadsOut
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return done, nil
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
