package run

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/metrics"
	"slices"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/transport"
	"github.com/relock-dev/relock/internal/upgrade"
)

// Verb says what a run does with what it finds.
type Verb string

// The verbs that take root modules.
const (
	Scan    Verb = report.VerbScan    // says what is there and what it requires
	Upgrade Verb = report.VerbUpgrade // writes the newest allowed versions
	Lock    Verb = report.VerbLock    // writes complete hashes, versions kept
	Check   Verb = report.VerbCheck   // writes nothing, says what would change
	PR      Verb = report.VerbPR      // proposes an upgrade as a pull request
)

// Request is what a person or an event asks for.
type Request struct {
	Verb Verb
	// Dirs are directories as given on the command line: relative to the
	// working directory or absolute, DIR/... for a search.
	Dirs []string
	// Scan and Plan say how; Scan.Dirs is the corridor's own.
	Scan scan.Options
	Plan upgrade.Options
	// Pull is for the verb PR.
	Pull Pull
}

// Env is the world around a run. Nothing in this package reads the process's
// environment by itself.
type Env struct {
	WorkDir   string // absolute
	Getenv    func(string) string
	Environ   []string // NAME=VALUE, for variables whose names are patterns
	Home      string
	GOOS      string
	UserAgent string
	Log       *slog.Logger
}

// Do carries out a request. Whatever goes wrong with one root module, provider
// or pull request is in the report. An error means that the request itself
// cannot be carried out: it is for the person who made it.
func Do(ctx context.Context, env Env, req Request) (report.Report, error) {
	c := &corridor{env: env, req: req, report: report.Report{Verb: string(req.Verb), DryRun: req.Pull.DryRun}}
	if err := c.scan(ctx); err != nil {
		return c.report, err
	}
	if req.Verb == Scan {
		for _, f := range c.found {
			c.report.Modules = append(c.report.Modules, report.FromScan(f.module).Shown(c.show(f.tree)))
		}
		return c.report, nil
	}
	if err := c.plan(ctx); err != nil {
		return c.report, err
	}
	switch req.Verb {
	case Upgrade, Lock:
		c.write()
	case PR:
		if err := c.propose(ctx); err != nil {
			return c.report, err
		}
	}
	c.report.Stats = c.stats()
	return c.report, nil
}

// corridor is one run on its way.
type corridor struct {
	env    Env
	req    Request
	trees  []tree
	found  []found
	client *transport.Client
	source *registry.Client
	report report.Report
}

// found is a root module, the tree that it is in, and its plan.
type found struct {
	tree   tree
	module scan.Module
	result upgrade.Result
}

// scan finds the root modules of every tree.
func (c *corridor) scan(ctx context.Context) error {
	var err error
	if c.trees, err = trees(c.env.WorkDir, c.req.Dirs); err != nil {
		return err
	}
	for _, t := range c.trees {
		opts := c.req.Scan
		opts.Dirs = t.dirs
		modules, diagnostics, err := scan.Modules(ctx, t.FS(), opts)
		if err != nil {
			return fmt.Errorf("scanning %s: %w", t.root, err)
		}
		for _, m := range modules {
			c.found = append(c.found, found{tree: t, module: m})
		}
		c.report.Diagnostics = append(c.report.Diagnostics, report.Shown(diagnostics, c.show(t))...)
	}
	return nil
}

// show returns how output names the files of a tree. In a pull request nobody
// knows the directory that relock ran in: there the repository is the base.
func (c *corridor) show(t tree) func(string) string {
	if c.req.Verb == PR {
		return func(name string) string { return name }
	}
	return func(name string) string { return t.shown(c.env.WorkDir, name) }
}

// plan asks the registries and adds each root module to the report.
func (c *corridor) plan(ctx context.Context) error {
	if err := c.connect(); err != nil {
		return err
	}
	modules := make([]scan.Module, len(c.found))
	for i, f := range c.found {
		modules[i] = f.module
	}
	results := upgrade.Plan(ctx, c.source, modules, c.req.Plan)
	for i, r := range results {
		c.found[i].result = r
		changes := diff.Locks(r.Old, r.New, platformsOf(r))
		if r.File != nil && len(changes) == 0 {
			changes = diff.Rewritten(r.New)
		}
		c.report.Modules = append(c.report.Modules, report.FromPlan(r, changes).Shown(c.show(c.found[i].tree)))
	}
	return nil
}

// platformsOf joins what the selections know of the platform of each hash.
func platformsOf(r upgrade.Result) map[provider.Hash]provider.Platform {
	known := map[provider.Hash]provider.Platform{}
	for _, s := range r.Selections {
		for h, p := range s.Hashes {
			known[h] = p
		}
	}
	return known
}

// connect makes the one HTTP client of the run and the registry client on it,
// by the CLI configuration of each tool that a root module uses.
func (c *corridor) connect() error {
	c.client = transport.New(transport.Options{UserAgent: c.env.UserAgent, Log: c.env.Log})
	configs := map[provider.ToolName]*cliconfig.Config{}
	for _, f := range c.found {
		name := f.module.Tool.Name
		if configs[name] != nil {
			continue
		}
		cfg, diagnostics := cliconfig.Load(cliconfig.Env{
			Getenv: c.env.Getenv, Environ: c.env.Environ, Home: c.env.Home, GOOS: c.env.GOOS,
		}, name)
		if i := slices.IndexFunc(diagnostics, isError); i >= 0 {
			return diagnostics[i]
		}
		c.report.Diagnostics = append(c.report.Diagnostics, diagnostics...)
		for _, endpoint := range cfg.Endpoints() {
			c.client.Admit(endpoint)
		}
		configs[name] = cfg
	}
	c.source = registry.New(c.client, configs, registry.Options{
		Log:               c.env.Log,
		EnforceValidation: c.env.Getenv("OPENTOFU_ENFORCE_GPG_VALIDATION") == "true",
		EnforceExpiration: c.env.Getenv("OPENTOFU_ENFORCE_GPG_EXPIRATION") == "true",
	})
	return nil
}

func isError(d provider.Diagnostic) bool { return d.Severity == provider.SeverityError }

// write puts every new lock file on disk. One that cannot be written is a
// problem of its root module alone.
func (c *corridor) write() {
	for i, f := range c.found {
		if f.result.File == nil {
			continue
		}
		m := &c.report.Modules[i]
		name := f.tree.path(f.module.Dir + "/" + lockfile.Name)
		if err := write(name, f.result.File); err != nil {
			m.Diagnostics = append(m.Diagnostics, provider.Diagnostic{
				Code: provider.CodeUnwritable, Message: fmt.Sprintf("the lock file could not be written: %v", cause(err)),
				File: c.show(f.tree)(f.module.Dir + "/" + lockfile.Name), Hint: "nothing was changed; check the permissions of the directory",
			})
			continue
		}
		m.Written = true
	}
}

// stats says what the run cost.
func (c *corridor) stats() report.Stats {
	s := c.client.Stats()
	peak := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(peak)
	return report.Stats{
		Requests: s.Requests, Bytes: s.Bytes, Packages: int64(c.source.Packages()),
		PeakBytes: int64(peak[0].Value.Uint64()),
	}
}
