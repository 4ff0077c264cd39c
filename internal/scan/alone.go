package scan

import (
	"cmp"
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
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

// Alone returns a lock file as a root module without configuration, whatever is beside it.
// err is the error of reading its content, if there is one. The tool is that of the options
// or, without one, that of the content.
func Alone(name string, content []byte, err error, opts Options) RootModule {
	m := RootModule{Root: Root{Dir: path.Dir(name), Kind: Orphan, StandIn: StandInAll, Alone: true, Tool: provider.Newest(provider.Terraform)}}
	m.Lock, m.Problems = readLock(name, content, cmp.Or(err, tfconfig.Unheld(content)), nil)
	if m.Lock != nil && ofOpenTofu(m.Lock) {
		m.Tool = provider.Newest(provider.OpenTofu)
	}
	if opts.Tool != "" {
		m.Tool = provider.Newest(opts.Tool)
	}
	m.Tool.Version, m.Tree.Diagnostics = cmp.Or(opts.ToolVersion, m.Tool.Version), m.Problems
	return m
}

// ofOpenTofu reports whether a lock file says that it is of OpenTofu, by its header or by a
// provider of OpenTofu's registry.
func ofOpenTofu(lock *lockfile.File) bool {
	return lock.Tool == provider.OpenTofu ||
		slices.ContainsFunc(lock.Locks, func(l lockfile.Lock) bool { return l.Addr.Host == provider.OpenTofu.DefaultHost() })
}
