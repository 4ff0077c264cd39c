package scan

import (
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// deployExtension is that of files which only the top of a stack has, not a stack
// that another one embeds [docs: developer.hashicorp.com/terraform/language/stacks/create/config].
const deployExtension = ".tfdeploy.hcl"

// stackKeeper is the command that keeps lock files of stacks.
const stackKeeper = "terraform stacks providers lock"

// keep notes how the lock file of a stack is kept: its command records no
// constraints, as lock files in public repositories show. One that states some is
// kept otherwise. OpenTofu has no stacks.
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

// standIn takes what the lock file of a stack has for what is required, since not all
// stacks that it embeds could be read. No constraints are recorded, so that hashes can
// be completed and nothing else.
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
