package terragrunt

import (
	"context"
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/units"
)

// Options say how units are read.
type Options struct {
	// Source fetches modules that the file tree does not have. Without it, a unit with such
	// a module is not statically known.
	Source scan.Source
	// Scan are the options with which root modules are found. With Path, archives and
	// git repositories in the file tree are read there. Path is empty if the tree is not on
	// disk, or if other people choose the content of units.
	Scan scan.Options
	// List includes the units that stacks generate, even if git keeps no lock file for
	// them. Nothing is written for such a unit.
	List bool
	// Environments are the sets of values that units are read with.
	Environments []EnvironmentSet

	stacks *allStacks // of the file tree; nil: there are none
}

// EnvironmentSet is a set of values that units are run with.
type EnvironmentSet = units.EnvironmentSet

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

// Lacks returns the files that units and stacks read, that exist in a file tree, and whose
// content is not in it, sorted. The units are read with each of the sets of values.
func Lacks(ctx context.Context, t *filetree.Tree, sets []EnvironmentSet) []string {
	r := units.NewFiles(t)
	var stacks []string
	for _, name := range t.Names() {
		switch path.Base(name) {
		case units.ConfigName, units.JSONName:
			units.Read(r, path.Dir(name), units.Reaching(sets, path.Dir(name)))
		case units.StackName:
			stacks = append(stacks, path.Dir(name))
		}
	}
	trees := []*units.Files{r}
	if s := readStacks(ctx, t, stacks, Options{Environments: sets}); s != nil {
		for _, ways := range s.units {
			for _, u := range ways {
				u.read(sets)
			}
		}
		trees = append(trees, s.base)
	}
	var names []string
	for _, tree := range trees {
		names = append(names, tree.Lacking()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
