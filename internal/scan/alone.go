package scan

import (
	"context"
	"io/fs"

	"github.com/relock-dev/relock/internal/tfconfig"
)

// Identify returns the root modules of named directories, as Find does.
func Identify(fsys fs.FS, dirs []string, opts Options) []Root {
	f := &finder{tree: tfconfig.Searched(fsys, nil, ""), opts: opts}
	f.tools = toolFiles{tree: f.tree, opts: &f.opts}
	roots := make([]Root, len(dirs))
	for i, dir := range dirs {
		roots[i] = f.identify(tfconfig.Directory{Tree: f.tree, Path: dir})
	}
	return roots
}

// Alone returns the lock files of directories without their configuration. The recorded
// constraints are used as requirements.
func Alone(ctx context.Context, fsys fs.FS, dirs []string, opts Options) []RootModule {
	roots := Identify(fsys, dirs, opts)
	for i := range roots {
		roots[i].Kind, roots[i].StandIn = Orphan, StandInAll
	}
	return Load(ctx, roots, nil, Options{Jobs: opts.Jobs})
}
