package outline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/upgrade"
)

// ProfileOf returns what only a run knows that reads a repository: its versions
// before the run, how far they are behind, and what a person must look at.
func ProfileOf(r report.Report) report.Profile {
	var p report.Profile
	var held, majors, moved, failing collect.Set[report.Remark]
	d, newest := VocabularyOf(r), newestKnown(r)
	uses, behind := map[string]*report.ProviderUse{}, map[provider.Addr]provider.Bump{}
	for _, m := range r.Modules {
		for _, u := range usedBefore(m) {
			name := u.Addr.Short()
			if uses[name] == nil {
				uses[name] = &report.ProviderUse{Provider: name, Newest: newest[u.Addr].String(), Majors: map[int64]int{}}
			}
			uses[name].Majors[u.Version.Major]++
			if bump := provider.BumpBetween(u.Version, newest[u.Addr]); bumpRank(bump) > bumpRank(behind[u.Addr]) {
				behind[u.Addr] = bump
			}
		}
		for _, k := range m.Held() {
			held.Add(report.Remark{Provider: k.Addr.Short(), Text: heldShortly(d.Of(m), k.Held[0])})
		}
		for _, c := range m.Changes {
			if isMajor(c) {
				majors.Add(report.Remark{Provider: c.Addr.Short(), Text: fmt.Sprintf("from %d to %d", c.From.Major, c.To.Major)})
			}
		}
	}
	for _, c := range reviewOf(r, d) {
		text := report.Remark{Text: cut(lasting(c).Text.WithoutDetails().Plain())}
		switch c.Concern {
		case ConcernModule:
			moved.Add(text)
		case ConcernFailed:
			failing.Add(text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		p.Uses = append(p.Uses, *uses[name])
	}
	for _, bump := range behind {
		switch bump {
		case provider.BumpMajor:
			p.Behind.Major++
		case provider.BumpMinor:
			p.Behind.Minor++
		case provider.BumpPatch, provider.BumpPrerelease:
			p.Behind.Patch++
		}
	}
	p.Held, p.Majors, p.Moved, p.Failing = held.List, majors.List, moved.List, failing.List
	return p
}

// heldShortly says what holds a release, in the form for safe.Hint.
func heldShortly(d Vocabulary, h upgrade.Held) string {
	if h.By.Reason == upgrade.HeldByConstraint {
		return "by `" + d.bound(h.Term).Plain() + "`"
	}
	return d.because(h).WithoutDetails().Plain()
}

// cut shortens a sentence to what a line has room for.
func cut(text string) string {
	if runes := []rune(text); len(runes) > mostRunes {
		return strings.TrimRight(string(runes[:mostRunes-1]), " ") + "…"
	}
	return text
}

// usedBefore are the entries of a lock file before the run.
func usedBefore(m report.Module) []report.Use {
	before := map[provider.Addr]report.Change{}
	for _, c := range m.Changes {
		before[c.Addr] = c
	}
	var uses []report.Use
	for _, u := range m.InUse {
		c, changes := before[u.Addr]
		switch {
		case !changes:
			uses = append(uses, u)
		case c.Kind != diff.Added:
			uses = append(uses, report.Use{Addr: u.Addr, Version: c.From})
		}
	}
	return uses
}

// bumpRank orders how far a version is behind.
func bumpRank(b provider.Bump) int {
	return slices.Index([]provider.Bump{provider.BumpNone, provider.BumpPrerelease, provider.BumpPatch, provider.BumpMinor, provider.BumpMajor}, b)
}
