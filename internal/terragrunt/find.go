package terragrunt

import (
	"context"
	"io/fs"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
)

// Find finds the root modules of a file tree as scan.Find does, also in directories that
// stacks generate. Each unit among them gets a file tree of its own, so that scan.Load can
// read it. The unknown parts of a unit are Unread, and its lock file's records replace them.
// Two kinds of units are left out:
//
//   - units that leave the lock file to its owner;
//   - units without a lock file, unless lock files must be created.
//
// The diagnostics also name assumptions, unknown parts and units that are left alone, each
// cause once. Modules that are not fetched when ctx ends are not known. The error is not nil
// if ctx is done before all units are read, or if a glob is malformed.
func Find(ctx context.Context, fsys fs.FS, opts Options) ([]scan.Root, []problem.Problem, error) {
	opts.Scan.Made = []scan.Kind{scan.TerragruntUnit}
	var dirs []string
	search := opts.Scan
	search.TerragruntStack = func(dir string) { dirs = append(dirs, dir) }
	found, diagnostics, err := scan.Find(ctx, fsys, search)
	if err != nil {
		return nil, nil, err
	}
	if !search.Everywhere() && mayHaveStacks(fsys, found, diagnostics, dirs) {
		// Stacks elsewhere may generate the named directories, and their units.
		dirs, err = scan.TerragruntStacks(ctx, fsys, opts.Scan)
		if err != nil {
			return nil, nil, err
		}
	}
	if len(dirs) > 0 {
		opts.stacks = readStacks(ctx, fsys, dirs, opts)
	}
	if opts.stacks != nil { // generated files count like existing files
		fsys, opts.Scan = opts.stacks.tree, opts.stacks.options(opts.Scan)
		found, diagnostics, err = scan.Find(ctx, fsys, opts.Scan)
		if err != nil {
			return nil, nil, err
		}
	}
	roots, more, err := unitRoots(ctx, fsys, found, opts)
	return roots, append(diagnostics, more...), err
}
