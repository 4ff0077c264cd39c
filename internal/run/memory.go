package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/fleet"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

// recorder takes down what is found out about a repository in its turn, besides its report.
type recorder struct {
	listed   github.Listed
	requires map[fleet.Required]bool
	until    time.Time // when a rule lets something through that it held; zero: none does
	plans    int
	partial  bool // something is not known
}

// Planned implements Recorder.
func (r *recorder) Planned(ctx context.Context, b Basis) {
	r.plans++
	// That GitHub may merge a pull request by itself now, which it refuses at first, is not
	// seen in a list.
	r.partial = r.partial || b.Branch != r.listed.Branch || b.AutoMerge && len(r.listed.Heads) > 0
	for _, result := range b.Results {
		for _, sel := range result.Selections {
			tool, addr := result.Module.Tool, sel.Requirement.Addr
			required := fleet.Required{
				Tool: tool.Name, ToolVersion: tool.Version.String(), Provider: addr.String(), Constraints: sel.Requirement.Constraints().String(),
			}
			releases, err := b.Releases.Versions(ctx, tool, addr)
			r.partial = r.partial || err != nil || sel.Err != nil
			required.Newest = required.NewestOf(releases)
			r.requires[required] = true
			for _, h := range sel.Held {
				if !h.By.Eligible.IsZero() && (r.until.IsZero() || h.By.Eligible.Before(r.until)) {
					r.until = h.By.Eligible
				}
			}
		}
	}
}

// open reads what earlier runs know. Trouble with that costs requests, and is told.
func (f *fleetRun) open() []problem.Problem {
	name := f.req.Organisation.Memory
	if name == "" {
		return nil
	}
	f.memory = &fleet.Memory{}
	from, err := file.Open(file.Absolute(f.env.WorkDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer from.Close()
		f.memory, err = fleet.ReadMemory(from, f.env.UserAgent)
	}
	return unremembered(name, err)
}

// next is the repository with which the run begins, if an earlier one has said so.
func (f *fleetRun) next() string {
	if f.memory == nil {
		return ""
	}
	return f.memory.Next
}

// save writes what is known now, and with which repository the next run begins.
func (f *fleetRun) save(next string) []problem.Problem {
	if f.memory == nil {
		return nil
	}
	f.memory.Next = next
	name := f.req.Organisation.Memory
	var text bytes.Buffer
	err := f.memory.Write(&text, f.env.UserAgent)
	if err == nil {
		err = file.Replace(file.Absolute(f.env.WorkDir, name), text.Bytes(), file.Options{Mode: 0o600, Parents: 0o755})
	}
	return unremembered(name, err)
}

// unremembered tells of trouble with the memory; nothing, where there is none.
func unremembered(name string, err error) []problem.Problem {
	if err == nil {
		return nil
	}
	return []problem.Problem{{
		Code: problem.CodeSettings, Severity: problem.SeverityWarning, Place: problem.Place{Path: name},
		Message: fmt.Sprintf("what is known of the repositories cannot be used: %v", file.Cause(err)),
		Hint:    "nothing is wrong with what the run does; every repository is read",
	}}
}

// recorder returns what takes down what is to be remembered; nil if nothing is. A dry run
// remembers nothing, since what it would do is not done.
func (f *fleetRun) recorder(l github.Listed) *recorder {
	if f.memory == nil || f.req.Pull.DryRun {
		return nil
	}
	return &recorder{listed: l, requires: map[fleet.Required]bool{}}
}

// recall is the report of a repository that need not be read: the list shows it as it
// was, and no release has come that changes what is selected.
func (f *fleetRun) recall(ctx context.Context, l github.Listed) (report.Report, bool) {
	told := report.Report{Verb: f.req.Verb}
	if f.memory == nil {
		return told, false
	}
	known, ok := f.memory.Recall(l, f.req.Organisation.Settings, f.env.Now)
	if !ok {
		return told, false
	}
	source := f.registries(f.req, clientFor(f.Session, f.req))
	for _, r := range known.Requires {
		version, err := provider.ParseVersion(r.ToolVersion)
		addr, err2 := provider.ParseFullAddr(r.Provider)
		if err != nil || err2 != nil {
			return told, false
		}
		releases, err := source.Versions(ctx, provider.Tool{Name: r.Tool, Version: version}, addr)
		if err != nil || r.NewestOf(releases) != r.Newest {
			return told, false
		}
	}
	told.Excluded = known.Excluded
	for _, message := range known.Unseen {
		told.Diagnostics = append(told.Diagnostics, problem.Problem{
			Code: problem.CodeUnseen, Severity: problem.SeverityWarning, Place: problem.Place{Package: l.Name}, Message: message,
		})
	}
	for _, m := range known.Modules {
		module := report.Module{Dir: m.Dir, Pending: m.Pending, Left: m.Left}
		for _, name := range slices.Sorted(maps.Keys(m.Versions)) {
			addr, err := provider.ParseFullAddr(name)
			version, err2 := provider.ParseVersion(m.Versions[name])
			if err == nil && err2 == nil {
				module.InUse = append(module.InUse, report.Use{Addr: addr, Version: version})
			}
		}
		told.Modules = append(told.Modules, module.Named(problem.Naming{Repository: l.Name}))
	}
	return told, true
}

// remember keeps what a turn has found out, if the same would be found again: nothing
// was written, nothing failed, and nothing waits for room.
func (f *fleetRun) remember(l github.Listed, seen *recorder, told report.Report) {
	if seen == nil {
		return
	}
	f.memory.Forget(l)
	wrote := slices.ContainsFunc(told.PullRequests, func(p report.PullRequest) bool { return p.Operation != string(pr.None) || p.Number == 0 })
	if wrote || seen.partial || seen.plans > 1 || told.Failed() || f.budget.waits || l.Heads == nil {
		return
	}
	r := fleet.Remembered{Settings: f.req.Organisation.Settings, Read: f.env.Now, Until: seen.until, Excluded: told.Excluded}
	for _, d := range told.Diagnostics {
		if d.Code == problem.CodeUnseen {
			r.Unseen = append(r.Unseen, d.Message)
		}
	}
	for required := range seen.requires {
		r.Requires = append(r.Requires, required)
	}
	slices.SortFunc(r.Requires, func(a, b fleet.Required) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, m := range told.Modules {
		module := fleet.RememberedModule{Dir: strings.TrimPrefix(m.Dir, l.Name+"//"), Pending: m.Pending, Left: m.Left, Versions: map[string]string{}}
		for _, u := range m.InUse {
			module.Versions[u.Addr.String()] = u.Version.String()
		}
		r.Modules = append(r.Modules, module)
	}
	f.memory.Remember(l, r)
}
