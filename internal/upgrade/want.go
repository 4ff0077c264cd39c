package upgrade

import (
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// seen is the root module as the command sees it that the mode stands for:
// providers lock does not read test files, except in releases that do. A merge
// conflict in the lock file is what Complete is for.
func (o Options) seen(m scan.Module) scan.Module {
	b := o.behaviour()
	if b.readsTests || m.Tool.Has(provider.TestFilesInLock) {
		m.Tree = m.All()
	}
	m.Tests = scan.ModuleTree{}
	if b.settlesConflicts {
		m = settled(m)
	}
	return m
}

// left returns the warning about a lock file that is not upgraded: what the
// configuration requires, only the program knows that makes it.
func (o Options) left(m scan.Module) (provider.Diagnostic, bool) {
	if !o.behaviour().leavesGenerated {
		return provider.Diagnostic{}, false
	}
	return m.Left()
}

// preserves reports whether the recorded constraints stand in for what could
// not be read of the module tree. Without a lock file there are none, and Exact
// does not know what the tools would write.
func (o Options) preserves(m scan.Module) bool {
	return o.Preserve && len(m.Tree.Unread) > 0 && m.Lock != nil && o.behaviour().takesRecorded
}

// preserved joins what is known of the requirements with what the lock file
// records: the union when it was last written. So nothing is required less than
// it was, and nothing is dropped. A recorded term that the configuration states
// as well is the configuration's.
func preserved(m scan.Module) []scan.Requirement {
	merged := slices.Clone(m.Tree.Requirements)
	for _, recorded := range scan.Recorded(m.Lock) {
		i := slices.IndexFunc(merged, func(r scan.Requirement) bool { return r.Addr == recorded.Addr })
		if i < 0 {
			merged = append(merged, recorded)
			continue
		}
		merged[i].Terms = slices.Clone(merged[i].Terms)
		for _, t := range recorded.Terms {
			if t.Constraint.Op != 0 && !states(merged[i], t.Constraint) {
				merged[i].Terms = append(merged[i].Terms, t)
			}
		}
	}
	slices.SortFunc(merged, func(a, b scan.Requirement) int { return a.Addr.Compare(b.Addr) })
	return merged
}

func states(r scan.Requirement, c provider.Term) bool {
	return slices.ContainsFunc(r.Terms, func(t scan.Term) bool { return t.Constraint == c })
}

// unread tells of the module calls that could not be followed: as errors, since
// nothing is known of what these modules require, or as warnings where recorded
// constraints stand in for them.
func (d *draft) unread() []provider.Diagnostic {
	var diagnostics []provider.Diagnostic
	for _, u := range d.module.Tree.Unread {
		diagnostic := provider.Diagnostic{
			Code: provider.CodeUnreadModule, File: u.File, Line: u.Line,
			Message: fmt.Sprintf("module.%s could not be read: %s", u.Module, u.Reason),
			Hint:    u.Hint,
		}
		switch {
		case d.partial:
			diagnostic.Severity = provider.SeverityWarning
			diagnostic.Message += "; the recorded constraints stand in for it"
		case u.Hint == "":
			diagnostic.Hint = "the lock file stays as it is, because what this module requires is not known"
		}
		diagnostics = append(diagnostics, diagnostic)
	}
	return diagnostics
}

// twoCommands reports whether the bytes must be those of two commands of which
// only the first, init, reads test files.
func (d *draft) twoCommands(opts Options) bool {
	return opts.behaviour().twoCommands && !d.module.Tool.Has(provider.TestFilesInLock)
}

// initAlone reports whether only init knows of a provider, so that providers
// lock neither completes its hashes nor writes its constraints.
func (d *draft) initAlone(c *choice, opts Options) bool {
	_, required := d.withoutTests(c.Requirement.Addr)
	return d.twoCommands(opts) && !required
}

// constraints are those that the new entry records: under Exact what the last
// command that knows of the provider writes.
func (d *draft) constraints(c *choice, opts Options) provider.Constraints {
	if d.twoCommands(opts) {
		if r, required := d.withoutTests(c.Requirement.Addr); required {
			return r.Constraints()
		}
	}
	return c.Requirement.Constraints()
}

// withoutTests is what is required of a provider where no test files are read.
func (d *draft) withoutTests(addr provider.Addr) (scan.Requirement, bool) {
	i := slices.IndexFunc(d.untested, func(r scan.Requirement) bool { return r.Addr == addr })
	if i < 0 {
		return scan.Requirement{}, false
	}
	return d.untested[i], true
}
