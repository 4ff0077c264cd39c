package run

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

// writers is how many lock files are written at once. Each waits for the disk,
// which takes many at a time.
const writers = 16

// write puts every new lock file on disk. One that cannot be written is a
// problem of its root module alone.
func write(j job, p planned) report.Report {
	defer j.clock.stage(stageWrite)()
	var g errgroup.Group
	g.SetLimit(writers)
	for i, f := range p.found {
		if f.result.File != nil {
			g.Go(func() error {
				writeOne(f, &p.report.Modules[i], j.show(f.tree))
				return nil
			})
		}
	}
	_ = g.Wait() // failures are in the report
	return p.report
}

func writeOne(f found, m *report.Module, show func(string) string) {
	name := f.module.Dir + "/" + lockfile.Name
	if err := WriteLock(f.tree.path(name), f.result.File); err != nil {
		m.Diagnostics = append(m.Diagnostics, provider.Diagnostic{
			Code: provider.CodeUnwritable, Message: fmt.Sprintf("the lock file could not be written: %v", file.Cause(err)),
			File: show(name), Hint: "nothing was changed; check the permissions of the directory",
		})
		return
	}
	m.Written = true
}

// WriteLock replaces a lock file in one step: a reader sees the old bytes or the
// new ones, also after a crash. The mode of an existing file is kept.
func WriteLock(name string, content []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	return file.Replace(name, content, file.Options{Mode: mode, Durable: true})
}
