package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/modulesdir"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// Getting says how Get treats root modules.
type Getting struct {
	// Require makes a root module whose remote modules are not locked a finding.
	Require bool
	// Set is the set of values that counts, of several; empty: they must not differ.
	Set string
}

// Got is the result of Get.
type Got struct {
	// Lines say what was done, by root module.
	Lines []string
	// Packages are those of all root modules whose modules are as they are locked now.
	Packages []modulelock.Entry
	// Problems are errors and warnings. Failed says that a root module could not be served,
	// and Unlocked that something is not as it is locked.
	Problems         []problem.Problem
	Failed, Unlocked bool
}

// add adds what was done for another root module.
func (g *Got) add(other Got) {
	g.Lines, g.Packages = append(g.Lines, other.Lines...), append(g.Packages, other.Packages...)
	g.Problems = append(g.Problems, other.Problems...)
	g.Failed, g.Unlocked = g.Failed || other.Failed, g.Unlocked || other.Unlocked
}

// Get puts the locked modules of root modules where init looks for them, or compares what is
// there if the ask is silent. An error means that nothing was written, and is for the person who
// asked.
func Get(ctx context.Context, s *Session, a Ask, g Getting) (Got, error) {
	ctx, stop := s.bounds.heed(ctx)
	defer stop()
	ctx, done := s.bounds.asking(ctx)
	defer done()
	c := a.means.Settings
	s.packages = moduleCache(s.env, a, c.Cache)
	if s.packages == "" {
		dir, err := file.NewTemporaryDir("modules")
		if err != nil {
			return Got{}, fmt.Errorf("making a temporary directory: %w", err)
		}
		defer file.RemoveDir(dir)
		s.packages = dir
	}
	j := newJob(s, a, c, a.targets[0], Visit{Lookup: &Lookup{}})
	sets, err := chosen(j.scan.Sets, g.Set)
	if err != nil {
		return Got{}, err
	}
	get := getting{job: j, given: g, sets: sets}
	get.got.Problems = slices.Clip(s.warnings)
	roots, err := get.find(ctx)
	if err != nil {
		return Got{}, err
	}
	if err := get.usable(roots); err != nil {
		return Got{}, err
	}
	served := make([]getting, len(roots))
	var serving errgroup.Group
	serving.SetLimit(ask.Jobs(c.Jobs))
	for i, r := range roots {
		served[i] = getting{job: j, given: g, sets: sets}
		serving.Go(func() error {
			served[i].serve(ctx, r)
			return nil
		})
	}
	_ = serving.Wait()
	for _, one := range served {
		get.got.add(one.got)
	}
	slices.SortFunc(get.got.Packages, func(a, b modulelock.Entry) int { return cmp.Or(a.Key.Compare(b.Key), strings.Compare(a.Hash, b.Hash)) })
	get.got.Packages = slices.Compact(get.got.Packages)
	return get.got, nil
}

// chosen is the named one of some sets of values; all of them if none is named.
func chosen(sets []scan.VariableSet, name string) ([]scan.VariableSet, error) {
	i := slices.IndexFunc(sets, func(v scan.VariableSet) bool { return v.Name == name })
	switch {
	case name == "":
		return sets, nil
	case i < 0:
		return nil, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: "there is no set of values called " + name,
			Hint: "name one of module-vars",
		}}
	}
	return sets[i : i+1], nil
}

// pinnedOnly is a Source of locked packages, and of directories on the disk. It asks nobody which
// package a call needs.
type pinnedOnly struct{ scan.Source }

// Fetch implements scan.Source.
func (p pinnedOnly) Fetch(ctx context.Context, tool provider.Tool, call scan.Call) (scan.Package, error) {
	if call.Pin == (scan.Pin{}) && !scan.OnMachine(call, tool) {
		return scan.Package{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeUnlocked, Message: modulelock.Name + " has no entry for it"}}
	}
	return p.Source.Fetch(ctx, tool, call)
}

// getting is a run of Get.
type getting struct {
	job
	given Getting
	sets  []scan.VariableSet
	got   Got
}

// installing is a root module with remote modules.
type installing struct {
	tree  tree
	names problem.Naming
	scan.RootModule
	unread []scan.Unread
	// unlocked are the calls for which there is no entry.
	unlocked []scan.Unread
	wrong    []problem.Problem
}

// shown is the name of the root module for people.
func (r installing) shown() string { return r.names.Of(r.Dir) }

// find finds the root modules with remote modules.
func (g *getting) find(ctx context.Context) ([]installing, error) {
	trees, err := g.target.trees(g.env.WorkDir)
	if err != nil {
		return nil, err
	}
	var all []installing
	for _, t := range trees {
		opts := scanOptions(g.job, extent{}, t)
		opts.Installed, opts.Create, opts.Unlocked, opts.Sets = true, true, false, g.sets
		modules, diagnostics, err := rootModules(ctx, t.FS(), unitOptions(g.job, pinnedOnly{g.modules}, opts))
		if err != nil {
			return nil, fmt.Errorf("scanning %s: %w", t.name(), err)
		}
		names := g.names(t)
		for _, d := range diagnostics {
			if d.Severity == problem.SeverityError {
				d.Place = names.Place(d.Place)
				return nil, &problem.Error{Problem: d}
			}
		}
		for _, m := range modules {
			if r := newInstalling(t, names, m); r.calls() {
				all = append(all, r)
			}
		}
	}
	return all, nil
}

func newInstalling(t tree, names problem.Naming, m scan.RootModule) installing {
	r := installing{tree: t, names: names, RootModule: m}
	read := m.All()
	for _, u := range read.Unread {
		u.Place = names.Place(u.Place)
		if u.Code == problem.CodeUnlocked && !u.OfEntry() {
			r.unlocked = append(r.unlocked, u)
		} else if !u.OfEntry() {
			r.unread = append(r.unread, u)
		}
	}
	for _, d := range read.Diagnostics {
		if d.Severity == problem.SeverityError {
			d.Place = names.Place(d.Place)
			r.wrong = append(r.wrong, d)
		}
	}
	return r
}

// calls reports whether the root module calls a module that is elsewhere.
func (r installing) calls() bool {
	return len(r.unlocked)+len(r.All().Fetched) > 0 || r.ModuleLock != nil && len(r.unread)+len(r.wrong) > 0
}

// left reports whether its modules are left to init: they are not locked.
func (r installing) left() bool {
	remote := len(r.unlocked) > 0 || slices.ContainsFunc(r.All().Fetched, func(f scan.Fetched) bool { return !scan.OnMachine(f.Call, r.Tool) })
	_, err := os.Lstat(r.tree.path(path.Join(r.Dir, modulelock.Name)))
	return remote && errors.Is(err, fs.ErrNotExist)
}

// elsewhere reports whether another program runs init in another directory.
func (r installing) elsewhere() bool { return r.Kind != scan.Ordinary }

// usable returns an error if it is not known what some root modules need.
func (g *getting) usable(roots []installing) error {
	var guessed, divided, served []string
	for _, r := range roots {
		if r.left() || r.elsewhere() {
			continue
		}
		served = append(served, r.shown())
		if r.Guessed {
			guessed = append(guessed, r.shown())
		}
		if !r.Divided.IsZero() {
			divided = append(divided, r.shown()+" with the "+r.Divided.String())
		}
	}
	var message, hint string
	switch {
	case len(guessed) > 0:
		message = "nothing says whether Terraform or OpenTofu reads " + collect.First(guessed, mostNamed) + ", and they note other addresses of modules"
		hint = "name the tool: --tool terraform or --tool opentofu, or a version file"
	case len(divided) > 0:
		message = "other modules are called in " + collect.First(divided, mostNamed)
		hint = "name the set of this run: --set NAME"
	case len(served) > 1 && filepath.IsAbs(g.dataDir()):
		message = "TF_DATA_DIR is absolute, and " + collect.Count(len(served), "root module", "root modules") + " would share it"
		hint = "name one root module in a run"
	default:
		return nil
	}
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeSettings, Message: message, Hint: hint}}
}

// dataDir is what the tools take instead of .terraform.
func (g *getting) dataDir() string { return g.env.Getenv("TF_DATA_DIR") }

// serve puts the modules of a root module where init looks, or compares them.
func (g *getting) serve(ctx context.Context, r installing) {
	switch {
	case r.elsewhere():
		g.say(r, "not installed, since "+elsewhere[r.Kind]+" runs init in another directory")
	case r.left():
		g.say(r, "its modules are left to init, since there is no "+modulelock.Name)
		g.got.Unlocked = g.got.Unlocked || g.given.Require
	case len(r.wrong) > 0:
		g.failed(r.wrong...)
	case len(r.unlocked) > 0:
		g.differs(r, problem.CodeUnlocked, modulelock.Name+" does not serve "+collect.First(calledBy(r.unlocked), mostNamed), "run relock lock "+safe.ShellWord(r.shown()))
	case len(r.unread) > 0:
		g.unread(r)
	default:
		g.install(ctx, r)
	}
}

// elsewhere are the programs that run init in a directory of their own.
var elsewhere = map[scan.Kind]string{scan.TerragruntUnit: "Terragrunt", scan.Stack: "Terraform", scan.CDK: "CDK", scan.Orphan: "nobody"}

func (g *getting) say(r installing, said string) {
	g.got.Lines = append(g.got.Lines, r.shown()+": "+said)
}

// inPlace says that the modules of a root module are as they are locked now.
func (g *getting) inPlace(r installing, said string) {
	g.say(r, said)
	if r.ModuleLock == nil {
		return
	}
	for _, f := range r.All().Fetched {
		if e, ok := r.ModuleLock.Entry(f.Locked); ok {
			g.got.Packages = append(g.got.Packages, e)
		}
	}
}

func (g *getting) failed(problems ...problem.Problem) {
	g.got.Problems, g.got.Failed = append(g.got.Problems, problems...), true
}

// differs reports that a root module is not as it is locked.
func (g *getting) differs(r installing, code problem.Code, message, hint string) {
	g.got.Unlocked = true
	g.got.Problems = append(g.got.Problems, problem.Problem{Code: code, Place: problem.Place{Path: r.shown()}, Message: message, Hint: hint})
}

// calledBy names calls.
func calledBy(calls []scan.Unread) []string {
	return collect.Mapped(calls, func(u scan.Unread) string { return "module." + u.Module + " (" + u.Place.String() + ")" })
}

// unread reports modules whose packages could not be had. If nobody may be asked, they count as
// not locked.
func (g *getting) unread(r installing) {
	for _, u := range r.unread {
		p := problem.Problem{Code: u.Code, Place: u.Place, Message: "module." + u.Module + ": " + u.Reason, Hint: u.Hint}
		if g.ask.silent {
			g.differs(r, u.Code, p.Message, p.Hint)
		} else {
			g.failed(p)
		}
	}
}

// install compares the packages of all calls with what is there, and else writes them.
func (g *getting) install(ctx context.Context, r installing) {
	dir := modulesdir.Dir{Root: r.tree.path(r.Dir), Data: g.dataDir()}
	packages, left := map[string]bool{}, map[string]bool{}
	for _, record := range r.Installed {
		if inAny(left, record.Key) {
			continue
		}
		m := modulesdir.Module{Installed: record}
		if record.Call != nil {
			var err error
			m.Whole, err = g.modules.Whole(ctx, r.Tool.Rules(), *record.Call)
			if err == nil {
				err = g.pointers(r, m)
			}
			if problem.Coded(err, problem.CodeModuleOnDisk) {
				left[record.Key] = true
				g.got.Problems = append(g.got.Problems, problem.Problem{
					Severity: problem.SeverityWarning, Code: problem.CodeModuleOnDisk, Place: problem.Place{Path: r.shown()},
					Message: "module." + record.Key + " is left to init: " + problem.Of(err).Message,
				})
				continue
			}
			if err != nil {
				r.unread = append(r.unread, unreadOf(record.Key, err))
				continue
			}
			packages[record.Call.Pin.Hash+m.Whole.Link] = true
		}
		dir.Modules = append(dir.Modules, m)
	}
	switch {
	case len(r.unread) > 0:
		g.unread(r)
	case g.ask.silent:
		if differ := dir.Differences(); len(differ) > 0 {
			g.differs(r, problem.CodeModuleMoved, "the modules are not the locked ones: "+collect.First(differ, mostNamed), strayed)
			return
		}
		g.inPlace(r, "its modules are the locked ones")
	case dir.Current():
		g.inPlace(r, "nothing to change")
	default:
		if err := dir.Write(); err != nil {
			g.failed(Unwritten("directory of modules", r.shown(), err))
			return
		}
		g.inPlace(r, collect.Count(len(dir.Modules), "module", "modules")+" of "+collect.Count(len(packages), "package", "packages")+" written")
	}
}

// inAny reports whether a key is one of these, or below one.
func inAny(keys map[string]bool, key string) bool {
	for at := key; at != ""; at = at[:max(strings.LastIndexByte(at, '.'), 0)] {
		if keys[at] {
			return true
		}
	}
	return false
}

// strayed is what usually makes init leave the locked modules.
const strayed = "run relock get, and init without -upgrade: look for it in TF_CLI_ARGS_init, and for terraform get -update; Atlantis adds it where there is no .terraform.lock.hcl"

func unreadOf(key string, err error) scan.Unread {
	why := problem.Of(err)
	return scan.Unread{Module: key, Code: why.Code, Reason: why.Message, Hint: why.Hint}
}

// pointers warns of files that Git LFS keeps. It is an error if one is a configuration.
func (g *getting) pointers(r installing, m modulesdir.Module) error {
	for _, name := range m.Whole.Pointers {
		if slices.ContainsFunc(tfconfig.Extensions(), func(ext string) bool { return strings.HasSuffix(name, ext) }) {
			return fmt.Errorf("%s is a pointer of Git LFS, and no configuration", path.Join(m.Key, name))
		}
	}
	if len(m.Whole.Pointers) > 0 {
		g.got.Problems = append(g.got.Problems, problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeUnreadModule, Place: problem.Place{Path: r.shown()},
			Message: "module." + m.Key + " has pointers of Git LFS in place of files, as they are committed: " + collect.First(m.Whole.Pointers, mostNamed),
		})
	}
	return nil
}
