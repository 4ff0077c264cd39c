package scan

import (
	"context"
	"io/fs"

	"github.com/relock-dev/relock/internal/tfconfig"
)

// Alone returns the lock files of directories for themselves: what is beside them is not
// read, and what they record is taken for what is required.
func Alone(ctx context.Context, fsys fs.FS, dirs []string, opts Options) []RootModule {
	f := &finder{tree: tfconfig.Searched(fsys, nil, ""), opts: opts}
	f.tools = toolFiles{tree: f.tree, opts: &f.opts}
	roots := make([]Root, len(dirs))
	for i, dir := range dirs {
		roots[i] = f.identify(tfconfig.Directory{Tree: f.tree, Path: dir})
		roots[i].Kind, roots[i].StandIn = Orphan, StandInAll
	}
	return Load(ctx, roots, nil, Options{Jobs: opts.Jobs})
}
