package run

import (
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/worktree"
)

// withIgnored adds what git ignores in a checkout to the options for a search.
func withIgnored(opts scan.Options, t tree, names problem.Naming) scan.Options {
	if t.remote == nil && !t.loose {
		ignored := worktree.ReadIgnoreFiles(t.root)
		opts.IgnoredDir = func(dir string) string { return names.Place(ignored.ByDir(dir)).String() }
		opts.HiddenBy = func(name string) string { return names.Place(ignored.By(name)).String() }
	}
	return opts
}
