package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/terragrunt"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/worktree"
)

// found is a root module, its file tree, and its plan.
type found struct {
	tree   tree
	module scan.RootModule
	result upgrade.Result
	// apart are the plans by groups of modules, and that of the rest; nil: nothing of such
	// groups moves.
	apart map[string]upgrade.Result
	// plugins is the source of a root module that keeps its own providers; nil for the
	// others.
	plugins *registry.Client
	// added says that the lock file may have entries that the base lacks; true without a
	// base. forgiven says that some of its findings were there before the change.
	added, forgiven bool
}

// inventory is what the file trees of a target hold.
type inventory struct {
	trees  []tree
	extent extent
	// inForce reads the settings that judge lock files.
	inForce func() (settings.Settings, error)
	found   []found
	// moduleLocks are the lock files of modules that are judged entry by entry.
	moduleLocks []judgedFile
	lost        map[string]problem.Problem // named directories that do not exist, by shown name
	unlocked    []string                   // directories of root modules without a lock file
	passedOver  []string                   // directories with configuration that are no root modules
	hidden      string                     // what hides lock files from git, and what to do; empty: nothing
	// ignored are lock files that git ignores in directories that it does not ignore, and
	// ignoredBy the lines that say so.
	ignored, ignoredBy []string
	unseen             unseenLocks
	alone              []found  // lock files that are judged without their configuration
	excluded           []string // lock files that include or exclude leaves out
	diagnostics        []problem.Problem
}

// all are the root modules, and the lock files that are judged without their configuration.
func (s inventory) all() []found { return slices.Concat(s.found, s.alone) }

// findAll finds the root modules of every tree.
func findAll(ctx context.Context, j job) (s inventory, err error) {
	defer j.clock.stage(stageScan)()
	s.trees, err = j.target.trees(j.env.WorkDir)
	if err != nil {
		return s, err
	}
	s.extent, s.diagnostics, err = narrow(ctx, j, s.trees)
	if err != nil {
		return s, err
	}
	s.lost, s.unseen.only = map[string]problem.Problem{}, j.plan.Only
	s.inForce = sync.OnceValues(func() (settings.Settings, error) { return rulesInForce(ctx, j, s.extent.base) })
	left := leftOut(j, s.inForce)
	for _, t := range s.trees {
		c, err := readCommitted(ctx, j, t)
		if err != nil {
			return s, err
		}
		opts := scanOptions(j, s.extent, t)
		opts.Absent, opts.StackAddsTo = c.absent, func(dir string) {
			if !j.ask.judges() {
				s.unseen.add(addedTo, j.names(t).Of, path.Join(dir, lockfile.Name))
			}
		}
		modules, diagnostics, err := modulesIn(ctx, j, t, opts)
		if err != nil {
			return s, fmt.Errorf("scanning %s: %w", t.name(), err)
		}
		locks := listLocks(t, c)
		shared := locks.shared()
		for i, m := range modules {
			modules[i].Shared = shared[path.Join(m.Dir, lockfile.Name)] || shared[path.Join(m.Dir, modulelock.Name)]
		}
		s.addIgnored(j, t, opts, modules)
		s.unseen.setDirs(t, modules)
		if j.ask.verb == verbs.PR {
			s.unseen.selection = scan.Options{Include: j.settings.Include, Exclude: j.settings.Exclude}
			s.unseen.own = scan.Options{Include: j.settings.OwnInclude, Exclude: j.settings.OwnExclude}
			s.unseen.addLeftOut(t, j.names(t).Of)
		}
		first := len(s.found)
		for _, m := range modules {
			s.found = append(s.found, found{tree: t, module: markUncontacted(j, m)})
		}
		diagnostics = leaveOutMissing(j, &s, t, c, misses(j, &s, t, s.extent.differs.withoutUntouched(diagnostics)))
		s = withLocks(j, s, locks, first, left)
		leaveOutShared(j, &s, t, shared)
		if len(s.alone) > 0 { // there must be a root module
			diagnostics = slices.DeleteFunc(diagnostics, func(d problem.Problem) bool {
				return d.Code == problem.CodeNotRootModule && d.Severity == problem.SeverityWarning
			})
		}
		s.addNotices(diagnostics, j.names(t))
	}
	if j.env.Found != nil {
		j.env.Found(len(s.all()))
	}
	if j.ask.pull != nil {
		s.unlocked = nil // a command about the files of a pull request is about none of them
	}
	slices.Sort(s.excluded)
	s.diagnostics = slices.Concat(s.diagnostics, unlocked(s, j.settings.Unlocked == "fail"), passedOver(s.passedOver), ignored(s.ignored, s.ignoredBy), s.unseen.notices(j.ask.verb))
	return s, usable(j, s.all())
}

// modulesIn finds the root modules of a tree. If a plan follows, it has half of the time.
func modulesIn(ctx context.Context, j job, t tree, opts scan.Options) ([]scan.RootModule, []problem.Problem, error) {
	if j.ask.verb != verbs.Scan {
		half, done := upgrade.Half(ctx)
		defer done()
		ctx = half
	}
	opts.Met = foresee(ctx, j, t)
	return rootModules(ctx, t.FS(), unitOptions(j, fetching(j), opts))
}

// unitOptions say how the Terragrunt units of a tree are read.
func unitOptions(j job, source scan.Source, opts scan.Options) terragrunt.Options {
	return terragrunt.Options{Source: source, Scan: opts, Environments: environments(j.settings), List: j.ask.verb == verbs.Scan}
}

// fetching is the source for modules elsewhere; nil if relock may ask none.
func fetching(j job) scan.Source {
	if j.settings.Offline {
		return nil
	}
	return j.modules
}

func scanOptions(j job, narrowed extent, t tree) scan.Options {
	opts := j.scan
	opts.Dirs = t.dirs
	opts.Orphans = j.plan.Mode == upgrade.Complete || j.ask.verb == verbs.Verify
	if !j.env.OnGitHub && t.remote == nil {
		opts.Path = t.root
	}
	if t.remote == nil && !t.loose {
		opts.MergeBase = t.mergeBase
	}
	if t.loose && !j.env.OnGitHub && j.ask.verb != verbs.PR {
		opts.Around, opts.Within = t.around()
	}
	opts.PassedOver = j.ask.verb == verbs.Scan
	opts = withIgnored(opts, t, j.names(t))
	opts.Wanted = narrowed.touched
	if j.ask.plans() {
		opts.LockModules = j.settings.ModuleLock == settings.WriteModuleLock
		book := j.settings.Policy
		book.Now = j.env.Now
		opts.ModuleRules = policy.ModuleRules{Rulebook: book, Accepted: j.settings.AcceptMoved}
		opts.Moves = moves(j)
	}
	opts.Workspace = j.env.Getenv("TF_WORKSPACE")
	if j.ask.head == NoHead { // a person could put these values into a module's address
		opts.Environment = variables(j.env.Environ)
	}
	return opts
}

// moves reports which locked modules move; nil: none does. A run about some providers leaves
// everything else as it is locked.
func moves(j job) func(dir, address string) bool {
	if j.plan.Mode != upgrade.Upgrade || len(j.plan.Only) > 0 {
		return nil
	}
	return func(_, address string) bool {
		return len(j.ask.modules) == 0 || policy.MatchesAny(j.ask.modules, address)
	}
}

// foresee asks registries for versions while modules are fetched. It is nil if nothing is
// planned, or if some registries must not be asked.
func foresee(ctx context.Context, j job, t tree) func([]scan.RootModule) {
	if j.ask.verb == verbs.Scan || j.ask.verb == verbs.Why || j.ask.verb == verbs.Verify || j.ask.head != NoHead {
		return nil
	}
	return func(modules []scan.RootModule) {
		modules = slices.DeleteFunc(modules, func(m scan.RootModule) bool { return hasPlugins(t, m) })
		upgrade.Foresee(ctx, j.source, modules, j.plan)
	}
}

// rootModules finds the root modules of a file tree, and reads their requirements. Without
// a source it fetches no modules.
func rootModules(ctx context.Context, fsys fs.FS, units terragrunt.Options) ([]scan.RootModule, []problem.Problem, error) {
	roots, diagnostics, err := terragrunt.Find(ctx, fsys, units)
	if err != nil {
		return nil, nil, err
	}
	modules := scan.Load(ctx, roots, units.Source, units.Scan)
	diagnostics = append(diagnostics, scan.Newer(modules)...)
	slices.SortFunc(diagnostics, problem.Problem.Compare)
	return modules, diagnostics, nil
}

// addNotices adds the diagnostics of scanning a tree, with the names of its files.
func (s *inventory) addNotices(diagnostics []problem.Problem, names problem.Naming) {
	for _, d := range diagnostics {
		d.Place, d.Dirs = names.Place(d.Place), d.Dirs.Named(names)
		switch {
		case d.Code == problem.CodePassedOver:
			s.passedOver = append(s.passedOver, d.Place.Path)
		case d.Code != problem.CodeUnlocked:
			s.diagnostics = append(s.diagnostics, d)
		case !slices.Contains(s.unlocked, d.Place.Path):
			s.unlocked, s.hidden = append(s.unlocked, d.Place.Path), cmp.Or(s.hidden, d.Hint)
		}
	}
}

// mostNamed is how many root modules without a lock file one line names.
const mostNamed = 20

// unlocked lists root modules without a lock file, in one line.
func unlocked(s inventory, fails bool) []problem.Problem {
	slices.Sort(s.unlocked)
	if len(s.unlocked) == 0 {
		return nil
	}
	d := problem.Problem{
		Code: problem.CodeUnlocked, Severity: problem.SeverityWarning,
		Message: collect.Count(len(s.unlocked), "root module has no lock file: ", "root modules have no lock file: ") + collect.First(s.unlocked, mostNamed),
		Hint:    cmp.Or(s.hidden, "run `relock upgrade --create`, which writes them; `create: true` in the configuration file takes them in every run, and `unlocked: ignore` leaves this line out"),
	}
	if len(s.unlocked) == 1 {
		d.Hint = cmp.Or(s.hidden, "run `relock upgrade "+safe.ShellWord(s.unlocked[0])+"`, which writes it; `create: true` in the configuration file takes it in every run, and `unlocked: ignore` leaves this line out")
	}
	if fails {
		d.Severity = problem.SeverityError
	}
	return []problem.Problem{d}
}

// mostPassedOver is how many directories one line names.
const mostPassedOver = 3

// passedOver lists directories with configuration that are no root modules, in one line.
func passedOver(dirs []string) []problem.Problem {
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	if len(dirs) == 0 {
		return nil
	}
	what := collect.Count(len(dirs), "directory with configuration was passed over, since nothing makes it a root module: ",
		"directories with configuration were passed over, since nothing makes them root modules: ")
	return []problem.Problem{{
		Code: problem.CodePassedOver, Severity: problem.SeverityWarning, Message: what + collect.First(dirs, mostPassedOver),
		Hint: "if one is a root module, run `relock upgrade " + safe.ShellWord(dirs[0]) + "`, which writes its lock file, or add it to include",
	}}
}

// variables are the values of variables from TF_VAR_NAME, by NAME.
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

// leaveOutShared removes root modules whose lock files are shared by links from an inventory
// before a verb that writes, and notes that the run did not look at them. If one cannot be
// read, that is still an error. shared are such lock files of a tree.
func leaveOutShared(j job, s *inventory, t tree, shared map[string]bool) {
	if j.ask.to == nil {
		return
	}
	s.found = slices.DeleteFunc(s.found, func(f found) bool {
		name := path.Join(f.module.Dir, lockfile.Name)
		if f.module.Lock == nil || !shared[name] {
			name = path.Join(f.module.Dir, modulelock.Name)
		}
		spared := f.tree.root == t.root && shared[name] && (f.module.Lock != nil || f.module.ModuleLock != nil)
		if spared {
			s.unseen.add(behindLink, j.names(t).Of, name)
		}
		return spared
	})
}

// errLinkedLock is why relock does not replace a lock file.
var errLinkedLock = errors.New("it is a link, in whose place a file would be put")

// withIgnored adds what git ignores in a checkout to the options for a search.
func withIgnored(opts scan.Options, t tree, names problem.Naming) scan.Options {
	if t.remote == nil && !t.loose {
		ignored := worktree.ReadIgnoreFiles(t.root)
		opts.IgnoredDir = func(dir string) string { return names.Place(ignored.ByDir(dir)).String() }
		opts.HiddenBy = func(name string) string { return names.Place(ignored.By(name)).String() }
	}
	return opts
}

// addIgnored adds the ignored lock files of the root modules of a tree that have one, or get
// one.
func (s *inventory) addIgnored(j job, t tree, opts scan.Options, modules []scan.RootModule) {
	for _, m := range modules {
		name := path.Join(m.Dir, lockfile.Name)
		if opts.HiddenBy == nil || m.Lock == nil && j.ask.to == nil {
			continue
		}
		if by := opts.HiddenBy(name); by != "" && opts.IgnoredDir(m.Dir) == "" {
			s.ignored = append(s.ignored, j.names(t).Of(name))
			if !slices.Contains(s.ignoredBy, by) {
				s.ignoredBy = append(s.ignoredBy, by)
			}
		}
	}
}

// ignored lists lock files that git ignores by some lines, in one line.
func ignored(names, lines []string) []problem.Problem {
	if len(names) == 0 {
		return nil
	}
	d := problem.Problem{
		Code: problem.CodeIgnoredLock, Severity: problem.SeverityWarning,
		Message: "git ignores " + collect.Count(len(names), "lock file, so that nobody else gets it: ", "lock files, so that nobody else gets them: ") +
			collect.First(names, mostNamed),
		Hint: "remove the line " + lines[0] + ", and commit the lock files",
	}
	if len(names) == 1 {
		d.Hint = strings.TrimSuffix(d.Hint, "s")
	}
	if len(lines) > 1 {
		d.Hint = "remove the lines " + collect.First(lines, mostNamed) + ", and commit the lock files"
	}
	return []problem.Problem{d}
}
