package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
)

// writers bounds how many lock files are written at once. Each write waits for the disk,
// which handles many at a time.
const writers = 16

// write puts every new lock file on disk. A failed write is a problem of its root module
// only.
func write(j job, p planned) report.Report {
	defer j.clock.stage(stageWrite)()
	var g errgroup.Group
	g.SetLimit(writers)
	for i, f := range p.found {
		g.Go(func() error {
			m := &p.report.Modules[i]
			switch {
			case !j.bounds.saves() && f.result.File != nil:
				m.Diagnostics = append(m.Diagnostics, problem.Problem{Code: problem.CodeCancelled, Message: errInterrupted.Error()})
			case f.result.File != nil:
				writeOne(f, m)
			case j.bounds.saves():
				file.Sweep(f.tree.path(f.module.Dir)) // a killed run may have left temporary files
			}
			return nil
		})
	}
	_ = g.Wait() // failures are in the report
	return p.report
}

func writeOne(f found, m *report.Module) {
	name := path.Join(f.module.Dir, lockfile.Name)
	was := &file.Was{Missing: f.module.Lock == nil}
	if !was.Missing {
		was.Content = f.module.Lock.Source
	}
	if err := WriteLock(f.tree.path(name), f.result.File, was); err != nil {
		m.Diagnostics = append(m.Diagnostics, Unwritten("lock file", name, err))
		return
	}
	m.Written = true
}

// Unwritten is the problem of a file that relock did not write.
func Unwritten(what, name string, err error) problem.Problem {
	if errors.Is(err, file.ErrChanged) {
		return problem.Problem{
			Code: problem.CodeFileChanged, Message: "the " + what + " changed while relock ran, and stays as it is now",
			Place: problem.Place{Path: name}, Hint: "run again",
		}
	}
	return problem.Problem{
		Code: problem.CodeUnwritable, Message: fmt.Sprintf("the %s could not be written: %v", what, file.Cause(err)),
		Place: problem.Place{Path: name}, Hint: "nothing was changed; check the permissions of the directory",
	}
}

// WriteLock replaces a lock file in one step: a reader sees the old bytes or the new bytes,
// also after a crash. It keeps the mode of an existing file, and does not replace a link.
// If the file is neither as it was nor as it should be, the error is file.ErrChanged. A nil
// was replaces any content.
func WriteLock(name string, content []byte, was *file.Was) error {
	mode := fs.FileMode(0o644)
	info, err := os.Lstat(name)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		return &fs.PathError{Op: "replace", Path: name, Err: errLinkedLock}
	}
	if err == nil {
		mode = info.Mode().Perm()
	}
	return file.Replace(name, content, file.Options{Mode: mode, Durable: true, Was: was})
}
