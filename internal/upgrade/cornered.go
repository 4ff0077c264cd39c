package upgrade

import (
	"context"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Cornered returns, for each root module, the providers of which a plan would select a release
// though a rule holds it: the rules leave none of the releases that the constraints allow. It
// asks what choosing versions asks, and no more.
func Cornered(ctx context.Context, src Source, modules []scan.RootModule, opts Options) [][]provider.Addr {
	opts.Mode = Upgrade
	b := opts.behaviour()
	roots := make([]root, len(modules))
	for i, m := range modules {
		roots[i] = want(m, b)
	}
	cornered := make([][]provider.Addr, len(modules))
	for i, choices := range chooseVersions(roots, b, asker{ctx, src, opts}) {
		for _, c := range choices {
			for _, notice := range c.notices {
				if problem.Coded(notice, problem.CodePolicy) {
					cornered[i] = append(cornered[i], c.wanted.addr())
				}
			}
		}
	}
	return cornered
}
