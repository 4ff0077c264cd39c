package modulesdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/module"
)

// Write makes the directory aside, and then puts it in the place of the one that is there. If
// it fails, nothing has changed.
func (d Dir) Write() error {
	if err := d.free(); err != nil {
		return err
	}
	list, err := d.manifest()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.path()), 0o755); err != nil {
		return fmt.Errorf("%s: %w", filepath.Dir(d.path()), file.Cause(err))
	}
	aside, err := file.NewDirBeside(d.path())
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Dir(d.path()), file.Cause(err))
	}
	defer file.RemoveDir(aside)
	if err := d.fill(aside, list); err != nil {
		return err
	}
	if err := d.free(); err != nil { // it took a while
		return err
	}
	if err := file.ReplaceDir(aside, d.path()); err != nil {
		return fmt.Errorf("%s: %w", d.path(), file.Cause(err))
	}
	return nil
}

// fill writes all packages and modules.json into an empty directory. Nothing is written outside
// of it, whatever the packages have.
func (d Dir) fill(dir string, list []byte) error {
	top, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer top.Close()
	for _, m := range d.Modules {
		switch {
		case m.Whole == nil:
		case m.Whole.Link != "":
			err = top.Symlink(m.Whole.Link, m.Key)
		default:
			err = fillPackage(top, m)
		}
		if err != nil {
			return fmt.Errorf("the package of module.%s: %w", m.Key, err)
		}
	}
	return top.WriteFile(manifest, list, 0o644)
}

// fillPackage writes the files of a package, and then its links, so that nothing is written
// through one.
func fillPackage(above *os.Root, m Module) error {
	if err := above.Mkdir(m.Key, 0o755); err != nil {
		return file.Cause(err)
	}
	top, err := above.OpenRoot(m.Key)
	if err != nil {
		return file.Cause(err)
	}
	defer top.Close()
	var links []module.Member
	buffer := make([]byte, 64<<10) // one for all files
	err = m.Whole.Files(func(f module.Member, content io.Reader) error {
		var err error
		switch {
		case omitted(f.Name):
		case !filepath.IsLocal(filepath.FromSlash(f.Name)):
			err = errors.New("this machine cannot have a file of this name")
		case f.Mode&fs.ModeSymlink != 0:
			links = append(links, f)
		case f.Mode.IsDir():
			err = top.MkdirAll(f.Name, 0o755)
		default:
			err = fillFile(top, f, content, buffer)
		}
		return named(f.Name, err)
	})
	if err != nil {
		return err
	}
	for _, l := range links {
		if err := fillLink(top, l); err != nil {
			return named(l.Name, err)
		}
	}
	for _, l := range links { // they may lead to each other
		if _, err := top.Stat(l.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return named(l.Name, fmt.Errorf("it is a link that cannot be followed in the package: %w", file.Cause(err)))
		}
	}
	return nil
}

func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%q: %w", name, file.Cause(err))
}

// fillFile writes a file. Its name must be new: a file system may take two names for one.
func fillFile(top *os.Root, f module.Member, content io.Reader, buffer []byte) error {
	if err := top.MkdirAll(path.Dir(f.Name), 0o755); err != nil {
		return err
	}
	to, err := top.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.Mode.Perm())
	if err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{to}, content, buffer)
	if err == nil && n != f.Size {
		err = io.ErrUnexpectedEOF
	}
	return errors.Join(err, to.Close())
}

// fillLink makes a link whose target is in the package by its name, even if nothing is there.
func fillLink(top *os.Root, l module.Member) error {
	target := path.Join(path.Dir(l.Name), l.Target)
	if path.IsAbs(l.Target) || !filepath.IsLocal(filepath.FromSlash(target)) {
		return fmt.Errorf("it is a link to %q, which is outside of the package", l.Target)
	}
	if err := top.MkdirAll(path.Dir(l.Name), 0o755); err != nil {
		return err
	}
	return top.Symlink(filepath.FromSlash(l.Target), l.Name)
}
