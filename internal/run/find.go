package run

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// found is a root module, the tree that it is in, and its plan.
type found struct {
	tree   tree
	module scan.RootModule
	result upgrade.Result
	// plugins is the source of a root module that keeps providers of its own; nil
	// for the others.
	plugins *registry.Client
}

// scan finds the root modules of every tree.
func (c *corridor) scan(ctx context.Context) error {
	defer c.stage(stageScan)()
	var err error
	if c.trees, err = c.target.Files.trees(c.env.WorkDir, c.target.Dirs); err != nil {
		return err
	}
	if err := c.narrow(ctx); err != nil {
		return err
	}
	for _, t := range c.trees {
		opts := c.req.Scan
		opts.Dirs, opts.Jobs = t.dirs, c.req.Plan.Jobs
		opts.Orphans = c.req.Plan.Mode == upgrade.Complete
		if !c.env.OnGitHub && t.remote == nil {
			opts.Path = t.root
		}
		if t.remote == nil && !t.loose {
			opts.MergeBase = t.mergeBase
		}
		if t.loose && !c.env.OnGitHub && c.req.Verb != PR {
			opts.Around, opts.Within = t.around()
		}
		opts.Wanted = c.req.Touched
		opts.Workspace = c.env.Getenv("TF_WORKSPACE")
		if c.req.Head == NoHead { // another could put their values into the address of a module
			opts.Environment = variables(c.env.Environ)
		}
		modules, diagnostics, err := rootModules(ctx, t.FS(), c.modules, opts)
		if err != nil {
			return fmt.Errorf("scanning %s: %w", t.name(), err)
		}
		for _, m := range modules {
			f := found{tree: t, module: m}
			c.screen(&f)
			c.found = append(c.found, f)
		}
		c.tell(t, c.misses(t, c.changed.unlocked(diagnostics)))
	}
	c.tellUnlocked()
	return c.usable()
}

// rootModules finds the root modules of a file tree and reads what they require.
// Without a source nobody is asked for modules that are elsewhere.
func rootModules(ctx context.Context, fsys fs.FS, source scan.Source, opts scan.Options) ([]scan.RootModule, []provider.Diagnostic, error) {
	roots, diagnostics, err := scan.Find(ctx, fsys, opts)
	if err != nil {
		return nil, nil, err
	}
	modules, err := scan.Load(ctx, roots, source, opts)
	diagnostics = append(diagnostics, scan.Newer(modules)...)
	slices.SortFunc(diagnostics, provider.Diagnostic.Compare)
	return modules, diagnostics, err
}

// tell adds what the scan of a tree says to the report.
func (c *corridor) tell(t tree, diagnostics []provider.Diagnostic) {
	for _, d := range report.Shown(diagnostics, c.show(t)) {
		switch {
		case d.Code != provider.CodeUnlocked:
			c.report.Diagnostics = append(c.report.Diagnostics, d)
		case !slices.Contains(c.report.Unlocked, d.File):
			c.report.Unlocked = append(c.report.Unlocked, d.File)
		}
	}
}

// mostNamed is how many root modules without a lock file are named in one line.
const mostNamed = 20

// tellUnlocked says in one line which root modules have no lock file. A command
// about what a pull request touches is about none of them.
func (c *corridor) tellUnlocked() {
	if c.req.Touched != nil && c.req.Change == nil {
		c.report.Unlocked = nil
	}
	slices.Sort(c.report.Unlocked)
	dirs := c.report.Unlocked
	if len(dirs) == 0 {
		return
	}
	d := provider.Diagnostic{
		Code: provider.CodeUnlocked, Severity: provider.SeverityWarning,
		Message: fmt.Sprintf("%d root modules have no lock file: ", len(dirs)),
		Hint:    "name the directory or set create to have a lock file written, or set unlocked to ignore",
	}
	if len(dirs) == 1 {
		d.Message = "1 root module has no lock file: "
	}
	if c.req.UnlockedFails {
		d.Severity = provider.SeverityError
	}
	d.Message += strings.Join(dirs[:min(len(dirs), mostNamed)], ", ")
	if more := len(dirs) - mostNamed; more > 0 {
		d.Message += fmt.Sprintf(" and %d more", more)
	}
	c.report.Diagnostics = append(c.report.Diagnostics, d)
}

// variables are the values that TF_VAR_NAME gives to variables, by NAME.
func variables(environ []string) map[string]string {
	values := map[string]string{}
	for _, entry := range environ {
		if rest, ok := strings.CutPrefix(entry, "TF_VAR_"); ok {
			name, value, _ := strings.Cut(rest, "=")
			values[name] = value
		}
	}
	return values
}

// show returns how output names the files of a tree. In a pull request nobody
// knows the directory that relock ran in: there the repository is the base.
func (c *corridor) show(t tree) func(string) string {
	return func(name string) string {
		// A file of a fetched module is in no tree here.
		if c.req.Verb == PR || scan.Remote(name) {
			return name
		}
		return t.shown(c.env.WorkDir, name)
	}
}
