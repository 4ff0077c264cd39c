package terragrunt

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/staticeval"
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/units"
)

// unitRoots changes the units among root modules into root modules that scan.Load can
// read. The error is not nil only if ctx is done before all units are read.
func unitRoots(ctx context.Context, fsys fs.FS, roots []scan.Root, opts Options) ([]scan.Root, []problem.Problem, error) {
	var told toldCauses
	of := stackRoots{roots: roots}
	tree := units.NewFiles(fsys)
	if opts.stacks != nil {
		tree = opts.stacks.tree
		of = opts.stacks.sort(roots, opts)
		roots = of.roots
		told.problems = of.problems
	}
	read := make([][]units.Unit, len(roots))
	a := units.NewAssembler(tree, opts.Source, opts.Scan)
	if err := eachUnit(ctx, roots, opts.Scan.Jobs, func(i int) { read[i] = of.read(tree, i, opts.Environments) }); err != nil {
		return nil, nil, err
	}
	of.bound(read)
	roots, made := oneByOne(roots, read)
	included := includedFiles(made)
	_ = eachUnit(context.WithoutCancel(ctx), roots, opts.Scan.Jobs, func(i int) { // modules that were fetched before ctx ended count
		u, r := made[i].Unit, roots[i]
		if hasLock(r) || of.stacks.generates(r.Dir) || !included[u.File] && !u.Template && (opts.Scan.Create || r.Named) {
			if opts.Scan.Wanted == nil || !u.Source.Fetched() || opts.Scan.Wanted(unassembled(r, u)) {
				made[i] = a.Assemble(ctx, u, r.ModuleLock, toolOf(&r, u, opts.Scan.Tool))
				roots[i].Tool, roots[i].Assumed, roots[i].Guessed, roots[i].Pin = r.Tool, r.Assumed, r.Guessed, r.Pin
			}
		}
	})
	var kept []scan.Root
	for i, next, group := 0, 0, 0; i < len(roots); i, group = next, group+1 {
		r := roots[i]
		next = i + max(len(read[group]), 1)
		if r.Kind != scan.TerragruntUnit {
			kept = append(kept, r)
			continue
		}
		if of.takes(group, roots[i:next], made[i:next]) {
			continue
		}
		ingredient := func(m units.Assembly) bool { // other units include or copy it
			return included[m.Unit.File] || m.Unit.Template || m.Unit.Empty() && !tfconfig.ConfiguredIn(tree, r.Dir)
		}
		if !hasLock(r) && len(r.Problems) == 0 && slices.ContainsFunc(made[i:next], ingredient) {
			continue
		}
		if r, ok := rootWith(roots[i:next], made[i:next], &told, opts); ok {
			kept = append(kept, r)
		}
	}
	kept = append(kept, of.finish(&told, opts)...)
	slices.SortFunc(kept, func(a, b scan.Root) int { return strings.Compare(a.Dir, b.Dir) })
	return kept, told.diagnostics(), nil
}

const defaultJobs = 8

// eachUnit calls do with the index of every unit, several at once, until ctx is done. Then
// it returns ctx's error.
func eachUnit(ctx context.Context, roots []scan.Root, jobs int, do func(i int)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(cmp.Or(jobs, defaultJobs), runtime.GOMAXPROCS(0)))
	for i, r := range roots {
		if r.Kind != scan.TerragruntUnit {
			continue
		}
		group.Go(func() error {
			if ctx.Err() == nil {
				do(i)
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// hasLock reports whether a root module has a lock file, of providers or of modules.
func hasLock(r scan.Root) bool { return r.Lock != nil || r.ModuleLock != nil }

// includedFiles are the files that units include.
func includedFiles(made []units.Assembly) map[string]bool {
	included := map[string]bool{}
	for _, m := range made {
		for _, name := range m.Unit.Includes {
			included[name] = true
		}
	}
	return included
}

// unassembled is the root module of a unit whose module is not fetched. Which files below
// the unit the module calls is not known.
func unassembled(r scan.Root, u units.Unit) scan.RootModule {
	r.Files = slices.Concat(r.Files, u.Files, []string{u.Dir + "/"})
	r.AnyChange = r.AnyChange || u.AnyChange || u.Tree.LinkedBelow(u.Dir)
	return scan.RootModule{Root: r}
}

// toolOf is the tool of a unit: OpenTofu if the lock file shows it, else the one of
// terraform_binary, else the one that scan has found. A unit's lock file with Terraform's
// registry shows Terraform: OpenTofu would have rewritten it [case tofu-lock-hosts].
func toolOf(r *scan.Root, u units.Unit, set provider.ToolName) provider.Tool {
	if set == "" && u.Tool != "" && u.Tool != r.Tool.Name && !lockedBy(r.Lock, provider.OpenTofu) {
		r.Tool, r.Assumed, r.Pin = provider.Newest(u.Tool), true, nil
	}
	r.Guessed = r.Guessed && u.Tool == "" && !lockedBy(r.Lock, provider.Terraform)
	return r.Tool
}

// lockedBy reports whether a lock file has entries of the registry of a tool.
func lockedBy(lock *lockfile.File, tool provider.ToolName) bool {
	return lock != nil && slices.ContainsFunc(lock.Locks, func(l lockfile.Lock) bool { return l.Addr.Host == tool.DefaultHost() })
}

// oneByOne repeats the root module of a unit for each way to read the unit. The copies are
// adjacent. Only root modules with several ways have Sets.
func oneByOne(roots []scan.Root, read [][]units.Unit) (each []scan.Root, made []units.Assembly) {
	for i, r := range roots {
		if r.Kind != scan.TerragruntUnit {
			each, made = append(each, r), append(made, units.Assembly{})
			continue
		}
		for _, u := range read[i] {
			each, made = append(each, r), append(made, units.Assembly{Unit: u})
			if len(read[i]) > 1 {
				each[len(each)-1].Sets = u.Sets
			}
		}
	}
	return each, made
}

// rootWith is the root module of a unit for all ways to read it; false if it is left out. A
// way counts only if init runs in it and the lock file is not left alone, unless there is
// no other way [case env-two-exclude]. If the unit is refused in a way, or another tool
// runs, that way is not known [case env-three-missing-key].
func rootWith(roots []scan.Root, made []units.Assembly, told *toldCauses, opts Options) (scan.Root, bool) {
	idle := func(m units.Assembly) bool { return m.Unit.Excluded || m.Unit.LeavesLock }
	refused := func(m units.Assembly) bool { return len(m.Unit.Refused()) > 0 }
	someRun, someStand := slices.ContainsFunc(made, func(m units.Assembly) bool { return !idle(m) }), slices.ContainsFunc(made, func(m units.Assembly) bool { return !refused(m) })
	var readings []scan.Root
	var assemblies []units.Assembly
	for i, m := range made {
		if someRun && idle(m) {
			continue
		}
		if someStand && refused(m) {
			m = unknownThere(m)
		}
		if len(readings) > 0 && roots[i].Tool.Name != readings[0].Tool.Name {
			m.Tree = nil
			m.Hinder(m.Unit.Source.Place, staticeval.Unknown{Reason: "it is run with " + roots[i].Tool.Name.Title() + " there"})
		}
		readings, assemblies = append(readings, roots[i]), append(assemblies, m)
	}
	if len(readings) == 1 {
		readings[0].Sets = ""
		return rootOf(readings[0], assemblies[0], told, opts)
	}
	var kept []scan.Root
	for i, r := range readings {
		if r, ok := rootOf(r, assemblies[i], told, opts); ok {
			kept = append(kept, r)
		}
	}
	if len(kept) == 0 {
		return scan.Root{}, false
	}
	whole := kept[0]
	whole.Sets, whole.Readings = "", kept
	return whole, true
}

// unknownThere is a unit that is refused in one of several ways, changed to one that is not
// known [case env-three-missing-key].
func unknownThere(m units.Assembly) units.Assembly {
	m.Unit.Problems = slices.Clone(m.Unit.Problems)
	for i, p := range m.Unit.Problems {
		if p.Refused {
			m.Unit.Problems[i].Refused = false
			m.Unit.Problems[i].Reason = "Terragrunt refuses the unit: " + p.Reason
		}
	}
	return m
}

// rootOf is the root module of a unit; false if it is left out.
func rootOf(r scan.Root, made units.Assembly, told *toldCauses, opts Options) (scan.Root, bool) {
	r.Made.Quota = made.Unit.Quota
	switch {
	case r.Made.Quota.Exceeded(): // it is not read
		return r, true
	case made.Unit.LeavesLock:
		told.note(cause{kind: leftAlone}, r.Dir)
		return r, false
	case !hasLock(r) && len(r.Problems) == 0 && made.Unit.Excluded:
		if opts.Scan.Create || r.Named {
			told.note(cause{kind: excluded}, r.Dir)
		}
		return r, false
	case !hasLock(r) && len(r.Problems) == 0 && !opts.Scan.Create && !r.Named:
		if opts.Scan.Unlocked {
			told.unlocked = append(told.unlocked, r.Dir)
		}
		return r, false
	}
	r.Made.Fetched = made.Locked
	r.Made.Origin, r.Files, r.AnyChange = made.Unit.Source.Text, slices.Concat(r.Files, made.Unit.Files), r.AnyChange || made.Unit.AnyChange
	for _, f := range made.Unit.Generated {
		if f.Holes > 0 {
			r.Made.Holes = append(r.Made.Holes, scan.Hole{Generated: f.Path, Parts: f.Holes, Place: f.Place})
		}
	}
	r.Made.Assumptions = made.Unit.Assumed
	if r.Guessed {
		r.Made.Assumptions = append(slices.Clip(r.Made.Assumptions), "the tool is "+r.Tool.Name.Title())
	}
	if !r.Assumed && !made.Unit.Tools.Empty() && !made.Unit.Tools.Allows(r.Tool.Version) {
		r.Problems = append(r.Problems, problem.Problem{
			Code: problem.CodeInvalidConfig, Message: "Terragrunt refuses the unit: terraform_version_constraint does not allow " + r.Tool.String(), Place: made.Unit.Place.Whole(),
		})
		return r, true
	}
	for _, p := range made.Unit.Refused() {
		r.Problems = append(r.Problems, problem.Problem{
			Code: problem.CodeInvalidConfig, Message: "Terragrunt refuses the unit: " + p.Reason, Hint: p.Hint, Place: p.Place,
		})
	}
	if len(made.Unit.Refused()) > 0 {
		return r, true
	}
	if decisive(made.Failed) {
		d := problem.Of(made.Failed)
		d.Place = made.Unit.Source.Place
		r.Problems = append(r.Problems, d)
		return r, true
	}
	for _, text := range r.Made.Assumptions {
		told.note(cause{kind: assumed, text: text}, r.Dir)
	}
	r.Made.Unread = append(r.Made.Unread, unreadOf(r, made, told)...)
	r.StandIn = scan.StandInUnit
	if made.Tree != nil {
		r.StandIn, r.Made.Tree, r.Made.Dir, r.Made.Sources = scan.StandInParts, made.Tree, made.TreeDir, made.Dirs
	}
	if r.Lock == nil && made.Start != nil {
		r.Made.Start, _ = lockfile.Read(made.Start, path.Join(r.Dir, lockfile.Name), nil)
	}
	return r, true
}

// decisive reports whether it is an error that the module was not fetched, whatever the lock
// file records: for a temporary reason, or because of a commit that must not be read.
func decisive(err error) bool {
	codes := []problem.Code{problem.CodeUnreachable, problem.CodeBadAnswer, problem.CodeCancelled, problem.CodeModuleForeign}
	return slices.ContainsFunc(codes, func(code problem.Code) bool { return problem.Coded(err, code) })
}

// unreadOf returns the reasons why a unit is known in part, and notes them as causes.
func unreadOf(r scan.Root, made units.Assembly, told *toldCauses) []scan.Unread {
	with, kind := "", standIn
	if r.Lock == nil {
		kind = unknown
	}
	if !r.Sets.IsZero() {
		with = "with the " + r.Sets.String() + ", "
	}
	var unread []scan.Unread
	add := func(with string, h units.Hindrance) {
		unread = append(unread, scan.Unread{Source: made.Unit.Source.Text, Code: problem.CodeTerragruntUnit, Reason: h.Reason, Hint: h.Hint, Place: h.Place})
		told.note(cause{kind: kind, text: with + h.Reason, hint: h.Hint, place: h.Place}, r.Dir)
	}
	for _, h := range made.Unit.Hooks {
		why := fmt.Sprintf("the hook %q runs before init and may change what it requires", units.PlainLabel(h.Name))
		add("", units.Hindrance{Unknown: staticeval.Unknown{Reason: why}, Place: h.Place})
	}
	for _, h := range slices.Concat(made.Unit.Unproven, made.Unit.Problems) {
		add(with, h)
	}
	return unread
}
