package organisation

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
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/upgrade"
)

// recorder records the results of a repository's turn that its report lacks.
type recorder struct {
	listed   github.Listed
	requires map[neededProvider]bool
	until    time.Time // when a rule ends its hold on something; zero for never
	partial  bool      // something is unknown
}

// add records what a plan depends on. The releases were asked for.
func (r *recorder) add(ctx context.Context, b run.Basis) {
	// At first GitHub refuses auto-merge. A list does not show when it would
	// accept it.
	r.partial = r.partial || b.Branch != r.listed.Branch || b.AutoMerge && len(r.listed.Heads) > 0
	for _, result := range b.Results {
		for _, sel := range result.Selections {
			tool, addr := result.Module.Tool, sel.Requirement.Addr
			needed := neededProvider{Tool: tool, Addr: addr, Constraints: sel.Requirement.Constraints().String()}
			offer, err := b.Releases.Versions(ctx, tool, addr)
			r.partial = r.partial || err != nil || sel.Err != nil
			needed.Newest = needed.newestOf(offer.Releases)
			r.requires[needed] = true
			for _, h := range sel.Held {
				if !h.By.Eligible.IsZero() && (r.until.IsZero() || h.By.Eligible.Before(r.until)) {
					r.until = h.By.Eligible
				}
			}
		}
	}
}

// recollection is the knowledge of earlier runs about a repository.
type recollection struct {
	remembered
	unchanged bool // the list shows the repository unchanged
	waits     bool // it waits for room that the run may have, so it is read
	opens     bool // the waiting proposals open pull requests, and do not change one
}

// open reads the memory. An error costs requests, and is reported.
func (t *turns) open() []problem.Problem {
	trouble := t.openMemory()
	t.known = make([]recollection, len(t.list.picked.chosen))
	if t.memory == nil {
		return trouble
	}
	for i, l := range t.list.picked.chosen {
		k := &t.known[i]
		k.remembered, k.unchanged = t.memory.recall(l, t.org.Settings, t.session.Env().Now)
		t.profiles[i] = k.Profile
		k.unchanged = k.unchanged && !t.granted[l.Name] // else it is read
		k.waits = k.unchanged && !k.Waits.IsZero() && !k.Full
		k.opens = !slices.ContainsFunc(k.PullRequests, func(p report.PullRequest) bool { return p.Waits && p.Number > 0 })
	}
	return trouble
}

func (t *turns) openMemory() []problem.Problem {
	name := t.org.Memory
	if name == "" {
		return nil
	}
	t.memory = &memory{}
	from, err := file.Open(file.Absolute(t.session.Env().WorkDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer from.Close()
		t.memory, err = readMemory(from, t.session.Env().UserAgent)
	}
	return unremembered(name, err)
}

// next is the repository with which the run begins, if the memory has one.
func (t *turns) next() string {
	if t.memory == nil {
		return ""
	}
	return t.memory.Next
}

// save writes the memory, with the repository for the beginning of the next run.
func (t *turns) save() []problem.Problem {
	if t.memory == nil {
		return nil
	}
	t.memory.Next = t.rest()
	name := t.org.Memory
	var text bytes.Buffer
	err := t.memory.write(&text, t.session.Env().UserAgent)
	if err == nil {
		err = file.Replace(file.Absolute(t.session.Env().WorkDir, name), text.Bytes(), file.Options{Mode: 0o600, Parents: 0o755})
	}
	return unremembered(name, err)
}

// unremembered reports an error of the memory, if there is one.
func unremembered(name string, err error) []problem.Problem {
	if err == nil {
		return nil
	}
	return []problem.Problem{{
		Code: problem.CodeSettings, Severity: problem.SeverityWarning, Place: problem.Place{Path: name},
		Message: fmt.Sprintf("the memory of the repositories cannot be used: %v", file.Cause(err)),
		Hint:    "leave it: the run does the same without it, and reads every repository",
	}}
}

// recorder returns the recorder of a repository; nil without a memory. A dry run
// records nothing, since it writes nothing.
func (t *turns) recorder(l github.Listed) *recorder {
	if t.memory == nil || t.ask.Settings().DryRun {
		return nil
	}
	return &recorder{listed: l, requires: map[neededProvider]bool{}}
}

// recall is the report of a repository that need not be read. The list shows it
// unchanged, and no new release changes the selection.
func (t *turns) recall(ctx context.Context, i int) (report.Report, bool) {
	k := t.known[i]
	if !k.unchanged || k.matters() && !k.stillNewest(ctx, t.session.Releases(t.ask)) {
		return report.Report{}, false
	}
	r := k.report(t.list.picked.chosen[i].Name)
	r.Verb = t.ask.Verb()
	return r, true
}

// waitingSince is the beginning of a repository's wait for room; zero without
// one.
func (t *turns) waitingSince(i int) time.Time {
	if t.granted[t.list.picked.chosen[i].Name] {
		return time.Unix(1, 0) // a person waits for it
	}
	return t.known[i].Waits
}

// settled reports whether the decision to read a repository is independent of the
// turns before it; before is their number.
func (t *turns) settled(i, before int) bool {
	k := t.known[i]
	return !k.waits || t.budget.settled(k.opens, before, t.share)
}

// stillNewest reports whether the newest allowed releases are unchanged.
func (r remembered) stillNewest(ctx context.Context, source upgrade.Source) bool {
	for _, needed := range r.Requires {
		offer, err := source.Versions(ctx, needed.Tool, needed.Addr)
		if err != nil || needed.newestOf(offer.Releases) != needed.Newest {
			return false
		}
	}
	return true
}

// report is the remembered part of the report of the run that has read the
// repository.
func (r remembered) report(repository string) report.Report {
	all := report.Report{Excluded: r.Excluded}
	for _, p := range r.PullRequests {
		p.Operation, p.Repository = string(pr.None), repository // which may have another name now
		all.PullRequests = append(all.PullRequests, p)
	}
	for _, message := range r.Unseen {
		all.Diagnostics = append(all.Diagnostics, problem.Problem{
			Code: problem.CodeUnseen, Severity: problem.SeverityWarning, Place: problem.Place{Package: repository}, Message: message,
		})
	}
	for _, m := range r.Modules {
		module := report.Module{Dir: m.Dir, Tool: m.Tool, Assumed: m.Assumed, Remembered: true, Pending: m.Pending, Left: m.Left, InUse: m.InUse}
		all.Modules = append(all.Modules, module.Named(problem.Naming{Repository: repository}))
	}
	return all
}

// remember keeps the results of a turn if another run would get the same: nothing
// was written, and nothing failed. They include the open pull requests, and those
// that wait for room. It returns what the report lacks for the page.
func (t *turns) remember(l github.Listed, seen *recorder, found report.Report) report.Profile {
	profile := outline.ProfileOf(found)
	if seen == nil {
		return profile
	}
	r := remembered{Settings: t.org.Settings, Until: seen.until, Excluded: found.Excluded, PullRequests: found.PullRequests, Full: !t.budget.waits}
	wrote, unsettled, waits := false, false, false
	for _, p := range found.PullRequests {
		wrote = wrote || p.Operation != string(pr.None)
		unsettled = unsettled || p.Unsettled || p.Number == 0 && !p.Waits
		waits = waits || p.Waits
	}
	for _, d := range found.Dashboards {
		unsettled = unsettled || d.Unsettled
	}
	unsettled = unsettled || t.budget.waits && !waits // the reason is unknown
	if waits {
		r.Waits = t.session.Env().Now
		if before := t.memory.Repositories[idOf(l)].Waits; !before.IsZero() && !wrote {
			r.Waits = before
		}
	}
	t.memory.forget(l)
	if wrote || unsettled || seen.partial || found.Failed() || l.Heads == nil {
		if !r.Waits.IsZero() { // it must be read, and keeps its place among those that wait
			t.memory.remember(l, remembered{Waits: r.Waits})
		}
		return profile
	}
	r.Read = t.session.Env().Now
	profile.Day = provider.Day(r.Read).String()
	r.Profile = profile
	for _, d := range found.Diagnostics {
		if d.Code == problem.CodeUnseen {
			r.Unseen = append(r.Unseen, d.Message)
		}
	}
	r.Requires = slices.SortedFunc(maps.Keys(seen.requires), func(a, b neededProvider) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, m := range found.Modules {
		dir := strings.TrimPrefix(m.Dir, l.Name+"//")
		r.Modules = append(r.Modules, rememberedModule{Dir: dir, Tool: m.Tool, Assumed: m.Assumed, Pending: m.Pending, Left: m.Left, InUse: m.InUse})
	}
	t.memory.remember(l, r)
	return profile
}
