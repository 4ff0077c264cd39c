package command

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/report"
)

func (c *cli) diff() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Show the difference of two lock files for people",
		Long: `diff compares two lock files and says what it means: which providers moved, which
hashes were completed, which constraints changed. An empty file is a lock file
without entries, so /dev/null stands for one that was not there.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, _, err := c.settings(given(cmd.Flags()))
			if err != nil {
				return err
			}
			r, err := c.compare(args[0], args[1])
			if err != nil {
				return err
			}
			if err := c.print(r, cfg); err != nil {
				return err
			}
			return status(r)
		},
	}
	addFlags(cmd, report.VerbDiff)
	return cmd
}

// compare reports the difference of two files.
func (c *cli) compare(oldName, newName string) (report.Report, error) {
	r := report.Report{Verb: report.VerbDiff}
	m := report.Module{Dir: filepath.ToSlash(filepath.Dir(newName)), LockPath: filepath.ToSlash(newName)}
	var files [2]*lockfile.File
	for i, name := range []string{oldName, newName} {
		file, problems, err := c.readLock(name)
		if err != nil {
			return r, err
		}
		files[i] = file
		m.Diagnostics = append(m.Diagnostics, problems...)
	}
	if len(m.Diagnostics) == 0 {
		for _, change := range diff.Locks(files[0].Locks, files[1].Locks, nil) {
			m.Changes = append(m.Changes, report.Change{Change: change})
		}
	}
	r.Modules = []report.Module{m}
	return r, nil
}

func (c *cli) readLock(name string) (*lockfile.File, problems, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.env.WorkDir, path)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", name, cause(err))
	}
	file, diagnostics := lockfile.Parse(src, filepath.ToSlash(name))
	return file, diagnostics, nil
}
