package run

import (
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/terragrunt"
	"github.com/relock-dev/relock/internal/worktree"
)

// speaksOf reports whether a clause applies to anything in a root module.
func speaksOf(cl settings.Clause, f found) bool {
	return cl.Where.In(f.module.Dir) && (len(cl.Where.Providers) == 0 || slices.ContainsFunc(f.providers(), cl.Where.Names))
}

// idle warns of clauses that apply to nothing in the repository.
func idle(clauses []settings.Clause, all []found) []problem.Problem {
	var warnings []problem.Problem
	for _, cl := range clauses {
		if slices.ContainsFunc(all, func(f found) bool { return speaksOf(cl, f) }) {
			continue
		}
		d := problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeNotFound, Place: cl.Place,
			Message: cl.Key + " matches nothing in this repository",
		}
		if len(cl.Where.Providers) > 0 {
			d.Hint = listsProviders
		}
		warnings = append(warnings, d)
	}
	slices.SortFunc(warnings, problem.Problem.Compare)
	return warnings
}

// Idle warns of clauses of the configuration file that apply to nothing in the repository
// on disk. It reads files and lock files, and asks no server. It returns nothing without a
// repository, and nothing if the answer needs a server.
func Idle(ctx context.Context, workDir string, c settings.Settings) ([]problem.Problem, error) {
	root, ok := worktree.FindRoot(workDir)
	if len(c.Clauses()) == 0 || !ok {
		return nil, nil
	}
	t := tree{root: root}
	opts := withIgnored(Ask{}.searching(c), t, t.names(workDir))
	opts.Orphans = true
	modules, diagnostics, err := rootModules(ctx, t.FS(), terragrunt.Options{Scan: opts, Environments: environments(c)})
	if err != nil || unreadable(diagnostics) || len(modules) == 0 {
		return nil, err
	}
	var all []found
	for _, m := range modules {
		if read := m.All(); problem.AnyError(read.Diagnostics) || len(read.Unread) > 0 && m.Lock == nil {
			return nil, nil
		}
		all = append(all, found{tree: t, module: m})
	}
	return idle(c.Clauses(), all), nil
}
