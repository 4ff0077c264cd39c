package run

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/module"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
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
	// Targets are what it is about.
	Targets []Target
	// Configure makes the request for the files of a commit, by their own
	// configuration file: for targets without Files, and where a base has moved; nil:
	// what has moved is an error.
	Configure Configure
	// Touched restricts the run to root modules for which it holds; nil: all.
	Touched func(scan.RootModule) bool
	// Change narrows the verb check to what was changed; nil: nothing is known of
	// changes, and all is looked at.
	Change *Change
	// Named are the providers that somebody names, as Plan.Only or to be told
	// about: they must be there, as must the directories of the targets.
	Named []provider.Pattern
	// Clauses are what the repository's own configuration file says of providers
	// and directories; none of a file that serves other repositories, too.
	Clauses []Clause
	// Scan and Plan say how; Scan.Dirs is the corridor's own.
	Scan scan.Options
	Plan upgrade.Options
	// UnlockedFails makes a failure of root modules without a lock file, if
	// Scan.Unlocked looks for them.
	UnlockedFails bool
	// Cache is the path of the hash cache, relative to the working directory or
	// absolute; empty: Env.HashCache, which does without where it cannot be used.
	Cache string
	// HashSource is as in registry.Options.
	HashSource string
	// Head says whether the tree is the head of a pull request.
	Head Head
	// Hosts returns the registries that a head from a fork may name, since its base
	// does. It is asked if there is one to be judged; nil: none.
	Hosts func() []svchost.Hostname
	// Timeout is the time in which a session may ask; 0: as long as it takes, or on a
	// runner of GitHub half an hour, and longer while packages keep arriving.
	Timeout time.Duration
	// ModuleTokens are tokens for git hosts that modules come from, by host.
	ModuleTokens map[string]string
	// Hub is the GitHub server.
	Hub Hub
	// Pull says how pull requests are made.
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
	// Server is the host name of the GitHub server, which serves modules, too.
	Server string
	// HashCache is the path of the user's own hash cache, and NotesCache that of
	// what was said about releases; none if empty.
	HashCache, NotesCache string
	// ModuleCache is the directory in which fetched modules are kept from one
	// run to the next; none if empty.
	ModuleCache string
	// OnGitHub says that the run is on a runner of GitHub, where others decide
	// what is in the repository.
	OnGitHub bool
	Log      *slog.Logger
	// Mask is told of every secret that is made in the run, before it is used; nil:
	// nobody prints a log for others.
	Mask func(secret string) error
	// Now is when the run is, for rules about dates.
	Now time.Time
	// Watch is told of the downloads of packages, as registry.Options.Watch is.
	Watch func(name string, size int64) registry.Download
}

// walk goes through the rooms in order. When the time for asking is over, or an
// interrupt comes, what is known is carried through to the end.
func (c *corridor) walk(ctx context.Context) error {
	defer func() { c.report.Stats = c.stats() }()
	asking, stop := c.bounds.asking(ctx)
	defer stop()
	err := c.learn(asking)
	c.tellEnd(asking)
	if err != nil && asking.Err() != nil {
		return nil // it is told, and nothing is known that could be written
	}
	if err != nil {
		return err
	}
	acting, stop := finishing(ctx, asking)
	defer stop()
	switch d := c.target.Destination.(type) {
	case Disk:
		c.write()
	case *Push:
		return c.push(acting, d)
	case Pulls:
		c.propose(acting, asking, d)
	}
	return nil
}

// learn finds the root modules and plans them.
func (c *corridor) learn(ctx context.Context) error {
	if err := c.scan(ctx); err != nil {
		return err
	}
	if err := c.honour(); err != nil {
		return err
	}
	if c.req.Verb == Scan {
		c.tellOutages()
		for _, f := range c.found {
			c.report.Modules = append(c.report.Modules, report.FromScan(f.module).Shown(c.show(f.tree)))
		}
		return nil
	}
	if _, pulls := c.target.Destination.(Pulls); pulls {
		if err := c.prepare(ctx); err != nil {
			return err
		}
	}
	if err := c.plan(ctx); err != nil {
		return err
	}
	c.forgive(ctx)
	return nil
}

// corridor is one run on its way.
type corridor struct {
	*Session
	req     Request
	target  Target
	trees   []tree
	found   []found
	source  *registry.Client
	modules *module.Client
	report  report.Report
	stages  []report.Stage // those that have ended
	asked   asked
	lost    map[wish]provider.Diagnostic // directories that were named and are not there

	// For the verb PR.
	hub       hub
	repo      *github.Repository
	proposing proposing
	changed   *changed
	before    func(ctx context.Context) (*Remote, error) // what the change is based on; nil: that is not known
	plans     int                                        // how often the request was planned, this time included
}

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

// plan asks the registries and adds each root module to the report.
func (c *corridor) plan(ctx context.Context) error {
	c.req.Plan.Rules = append(slices.Clip(c.req.Plan.Rules), c.ignores()...)
	c.req.Plan.Now = c.env.Now
	c.req.Plan.Dates = c.dateSource()
	results := c.results(ctx)
	c.formerSigners(ctx, results)
	c.account(ctx, results)
	c.tellOutages()
	defer c.stage(stageDiff)()
	for i, r := range results {
		c.found[i].result = r
		c.report.Modules = append(c.report.Modules, c.describe(c.found[i]))
	}
	return nil
}

// tellOutages says once of each host that does not answer why that is so. What was
// not asked for it says no more than that.
func (c *corridor) tellOutages() {
	for _, o := range c.client.Outages() {
		c.report.Diagnostics = append(c.report.Diagnostics, provider.Diagnostic{
			Code: provider.CodeUnreachable, Severity: provider.SeverityWarning,
			Message: fmt.Sprintf("%s does not answer: %v", o.Host, o.Reason),
			Hint:    "what needs it is left as it is; run again when it answers",
		})
	}
}

// describe makes the report of a root module's plan.
func (c *corridor) describe(f found) report.Module {
	return report.FromPlan(f.result, changesOf(f.result)).Shown(c.show(f.tree))
}

// changesOf are the changes of a plan.
func changesOf(r upgrade.Result) []diff.Change {
	changes := diff.Locks(r.Old, r.New, platformsOf(r))
	if r.File != nil && len(changes) == 0 {
		changes = diff.Rewritten(r.New)
	}
	return changes
}

// pluginDir is where both tools look for providers first: below the directory
// that they run in.
const pluginDir = "terraform.d/plugins"

// results plans all root modules at once, so that nothing is asked twice, but
// for those that keep providers of their own: what these would get nobody else
// does. In a pull request and on GitHub such providers are not used.
func (c *corridor) results(ctx context.Context) []upgrade.Result {
	defer c.stage(stagePlan)()
	results := make([]upgrade.Result, len(c.found))
	usable := c.target.remote() == nil && c.req.Verb != PR && !c.env.OnGitHub
	var indexes []int
	var modules []scan.RootModule
	for i, f := range c.found {
		dir := path.Join(f.module.Dir, pluginDir)
		plugins, err := fs.Sub(f.tree.FS(), dir)
		if info, statErr := fs.Stat(f.tree.FS(), dir); err != nil || statErr != nil || !info.IsDir() {
			indexes, modules = append(indexes, i), append(modules, f.module)
			continue
		}
		c.found[i].plugins = c.source.In(plugins, c.show(f.tree)(dir), usable)
		results[i] = upgrade.Plan(ctx, timed{c.found[i].plugins, &c.asked}, []scan.RootModule{f.module}, c.req.Plan)[0]
	}
	for i, r := range upgrade.Plan(ctx, timed{c.source, &c.asked}, modules, c.req.Plan) {
		results[indexes[i]] = r
	}
	return results
}

// formerSigners learns who signed what the lock files hold now.
func (c *corridor) formerSigners(ctx context.Context, results []upgrade.Result) {
	defer c.stage(stageSigners)()
	upgrade.FormerSigners(ctx, c.source, results, c.req.Plan.Jobs)
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

// writers is how many lock files are written at once. Each waits for the disk,
// which takes many at a time.
const writers = 16

// write puts every new lock file on disk. One that cannot be written is a
// problem of its root module alone.
func (c *corridor) write() {
	defer c.stage(stageWrite)()
	var g errgroup.Group
	g.SetLimit(writers)
	for i, f := range c.found {
		if f.result.File != nil {
			g.Go(func() error {
				c.writeOne(f, &c.report.Modules[i])
				return nil
			})
		}
	}
	_ = g.Wait() // failures are in the report
}

func (c *corridor) writeOne(f found, m *report.Module) {
	name := f.module.Dir + "/" + lockfile.Name
	if err := WriteLock(f.tree.path(name), f.result.File); err != nil {
		m.Diagnostics = append(m.Diagnostics, provider.Diagnostic{
			Code: provider.CodeUnwritable, Message: fmt.Sprintf("the lock file could not be written: %v", cause(err)),
			File: c.show(f.tree)(name), Hint: "nothing was changed; check the permissions of the directory",
		})
		return
	}
	m.Written = true
}

// stats says what the run cost.
func (c *corridor) stats() report.Stats {
	s := c.client.Stats()
	peak := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(peak)
	packages, cached := 0, 0
	for _, source := range c.sources {
		packages, cached = packages+source.Packages(), cached+source.Cached()
	}
	return report.Stats{
		Requests: s.Requests, Bytes: s.Bytes,
		Packages: int64(packages), Cached: int64(cached),
		PeakBytes: int64(peak[0].Value.Uint64()), Stages: c.times(),
	}
}
