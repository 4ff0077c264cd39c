package scan

import (
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// deployExtension is for files at the top of a stack. Embedded stacks have none [docs:
// developer.hashicorp.com/terraform/language/stacks/create/config].
const deployExtension = ".tfdeploy.hcl"

// stackKeeper is the command that keeps lock files of stacks.
const stackKeeper = "terraform stacks providers lock"

// keep sets how the lock file of a stack is written. Its command records no constraints, as
// lock files in public repositories show. A lock file with constraints was written
// otherwise. OpenTofu has no stacks.
func (r *Root) keep(at tfconfig.Directory) {
	r.StandIn = StandInNone
	if len(at.Components()) == 0 {
		r.StandIn = StandInAll
	}
	r.Guessed = false
	if r.Tool.Name != provider.Terraform {
		r.Tool, r.Assumed, r.Pin = provider.Newest(provider.Terraform), true, nil
	}
	r.Made.Keeper = stackKeeper
	if r.Lock != nil {
		r.Made.Keeper = r.Lock.Keeper
	}
	r.Made.Bare = r.Lock == nil || !slices.ContainsFunc(r.Lock.Locks, func(l lockfile.Lock) bool { return !l.Constraints.Empty() })
}

// standIn uses the lock file of a stack as its requirements, since some embedded stacks
// could not be read. It records no constraints. So only its hashes can be completed.
func (m *RootModule) standIn() {
	for _, u := range m.Tree.Unread {
		m.Tree.Diagnostics = append(m.Tree.Diagnostics, problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeStack, Place: u.Place,
			Message: "the embedded stack " + u.Module + " is not read: " + u.Reason,
		})
	}
	m.StandIn = StandInAll
	m.Tree.Requirements, m.Tree.Unread = Recorded(m.Lock), nil
}
