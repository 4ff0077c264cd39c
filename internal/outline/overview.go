package outline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

// The bounds of an overview.
const (
	mostRows     = 100 // repositories
	mostNeeds    = 20  // lines of a need
	namedByNeed  = 5   // repositories of a line
	mostUses     = 60  // providers
	mostMajors   = 8   // major versions of a provider
	mostHeld     = 5   // remarks about a repository
	mostRunes    = 160 // of a cause
	longOpenDays = 14
)

// Member is a repository of an overview.
type Member struct {
	report.Outcome
	Pulls   []report.PullRequest // of the run, or of the run that is remembered
	Opened  map[int]time.Time    // open pull requests that GitHub lists, by number
	Profile report.Profile
}

// OverviewOf sums up the repositories of a run.
func OverviewOf(members []Member, now time.Time) report.Overview {
	o := Merge(collect.Mapped(members, func(m Member) report.Overview { return m.overview(now) }))
	o.Day = provider.Day(now).String()
	return o
}

// overview is the overview of one repository.
func (m Member) overview(now time.Time) report.Overview {
	open, waits := m.open()
	standing := m.standing(open, waits)
	o := report.Overview{States: map[report.Standing]int{standing: 1}, Uses: m.Profile.Uses, Needs: map[report.Need][]report.NeedLine{}}
	need := func(why report.Need, what report.Remark, number int, day string) {
		o.Needing = 1
		o.Needs[why] = append(o.Needs[why], report.NeedLine{Remark: what, Repositories: []string{m.Name}, Number: number, Day: day})
	}
	if standing == report.StandingFailing {
		for _, cause := range m.Profile.Failing {
			need(report.NeedRepair, cause, 0, "")
		}
		if len(m.Profile.Failing) == 0 {
			need(report.NeedRepair, report.Remark{Text: "the report of the run says why"}, 0, "")
		}
	}
	for _, number := range slices.Sorted(maps.Keys(m.Opened)) {
		if at := m.Opened[number]; slices.Contains(open, number) && now.Sub(at) > longOpenDays*24*time.Hour {
			need(report.NeedMerge, report.Remark{Text: m.titleOf(number)}, number, provider.Day(at).String())
		}
	}
	for _, what := range m.Profile.Majors {
		need(report.NeedMajor, what, 0, m.Profile.Day)
	}
	for _, what := range m.Profile.Moved {
		need(report.NeedModule, what, 0, m.Profile.Day)
	}
	if !standing.Quiet() {
		held := slices.Clip(m.Profile.Held[:min(len(m.Profile.Held), mostHeld)])
		if more := len(m.Profile.Held) - len(held); more > 0 {
			held = append(held, report.Remark{Text: fmt.Sprintf("and %d more", more)})
		}
		o.Rows = []report.OverviewRow{{Name: m.Name, Standing: standing, Pulls: open, Waits: waits, Behind: m.Profile.Behind, Held: held, Day: m.Profile.Day}}
	}
	return o
}

// open returns the numbers of the open pull requests, sorted, and how many
// proposals wait for room.
func (m Member) open() (numbers []int, waits int) {
	open := map[int]bool{}
	for number := range m.Opened {
		open[number] = true
	}
	for _, p := range m.Pulls {
		switch {
		case p.Waits || p.Waiting != nil && p.Waiting.For != "person":
			waits++
		case p.Operation == "closed":
			delete(open, p.Number)
		case p.Number > 0:
			open[p.Number] = true
		}
	}
	return slices.Sorted(maps.Keys(open)), waits
}

// titleOf is the title of a pull request; empty if the run does not know it.
func (m Member) titleOf(number int) string {
	for _, p := range m.Pulls {
		if p.Number == number {
			return p.Title
		}
	}
	return ""
}

// standing is the state of the repository.
func (m Member) standing(open []int, waits int) report.Standing {
	turnedDown := slices.ContainsFunc(m.Pulls, func(p report.PullRequest) bool { return p.Waiting != nil && p.Waiting.For == "person" })
	switch {
	case m.State == report.NotReached:
		return report.StandingUnseen
	case m.State == report.FleetFailed:
		return report.StandingFailing
	case waits > 0:
		return report.StandingWaiting
	case len(open) > 0:
		return report.StandingProposed
	case turnedDown:
		return report.StandingTurnedDown
	case m.State == report.Outdated:
		return report.StandingProposed
	case len(m.Profile.Held) > 0:
		return report.StandingHeld
	case m.State == report.NotExamined:
		return report.StandingUnseen
	case m.State == report.NoLockFile:
		return report.StandingNoLockFile
	}
	return report.StandingUpToDate
}

// Merge adds up overviews of different repositories. It keeps what a page has room
// for. The overviews may come from outside.
func Merge(parts []report.Overview) report.Overview {
	all := report.Overview{States: map[report.Standing]int{}, Needs: map[report.Need][]report.NeedLine{}, Further: map[report.Need]int{}}
	uses, needs := map[string]report.ProviderUse{}, map[report.Need][]report.NeedLine{}
	for _, p := range parts {
		all.Owner, all.Server, all.Day = cmp.Or(all.Owner, p.Owner), cmp.Or(all.Server, p.Server), max(all.Day, p.Day)
		all.Needing += counted(p.Needing)
		for _, s := range report.Standings {
			addTo(all.States, s, p.States[s])
		}
		for _, n := range report.Needs {
			needs[n] = append(needs[n], p.Needs[n]...)
			addTo(all.Further, n, p.Further[n])
		}
		for _, u := range p.Uses {
			uses[u.Provider] = joinedUse(uses[u.Provider], u)
		}
		all.Rows = append(all.Rows, collect.Those(p.Rows, func(r report.OverviewRow) bool { return slices.Contains(worstFirst, r.Standing) })...)
	}
	for _, n := range report.Needs {
		lines := joinedLines(n, needs[n])
		addTo(all.Further, n, len(lines)-mostNeeds)
		if len(lines) > 0 {
			all.Needs[n] = lines[:min(len(lines), mostNeeds)]
		}
	}
	all.Uses = slices.SortedFunc(maps.Values(uses), func(a, b report.ProviderUse) int {
		return cmp.Or(rootsOf(b)-rootsOf(a), cmp.Compare(a.Provider, b.Provider))
	})
	all.Uses = all.Uses[:min(len(all.Uses), mostUses)]
	slices.SortStableFunc(all.Rows, func(a, b report.OverviewRow) int {
		return cmp.Or(slices.Index(worstFirst, a.Standing)-slices.Index(worstFirst, b.Standing), cmp.Compare(a.Name, b.Name))
	})
	all.Rows = all.Rows[:min(len(all.Rows), mostRows)]
	return all
}

// worstFirst is the order of the rows.
var worstFirst = []report.Standing{
	report.StandingFailing, report.StandingWaiting, report.StandingTurnedDown, report.StandingProposed, report.StandingHeld, report.StandingUnseen,
}

// counted is a count as far as an overview may have one.
func counted(n int) int { return max(0, min(n, 1_000_000)) }

// addTo adds a count to those that are above 0.
func addTo[K comparable](counts map[K]int, of K, n int) {
	if n > 0 {
		counts[of] += counted(n)
	}
}

// joinedUse adds up the uses of a provider.
func joinedUse(a, b report.ProviderUse) report.ProviderUse {
	sum := report.ProviderUse{Provider: b.Provider, Newest: newerOf(a.Newest, b.Newest), Majors: map[int64]int{}}
	for _, one := range []report.ProviderUse{a, b} {
		for major, n := range one.Majors {
			sum.Majors[major] += counted(n)
		}
	}
	return sum
}

// newerOf is the newer of two versions. A text that is no version loses.
func newerOf(a, b string) string {
	x, errA := provider.ParseVersion(a)
	y, errB := provider.ParseVersion(b)
	if errB != nil || errA == nil && x.Compare(y) >= 0 {
		return a
	}
	return b
}

func rootsOf(u report.ProviderUse) int {
	n := 0
	for _, of := range u.Majors {
		n += of
	}
	return n
}

// joinedLines joins the lines of one cause, and sorts them. Pull requests stay
// apart, the oldest first. Of other lines, those about the most repositories come
// first.
func joinedLines(n report.Need, lines []report.NeedLine) []report.NeedLine {
	type cause struct {
		report.Remark
		pull string
	}
	var causes collect.Groups[cause, report.NeedLine]
	for _, line := range lines {
		if len(line.Repositories) == 0 { // it is no line of ours
			continue
		}
		key := cause{Remark: line.Remark}
		if n == report.NeedMerge {
			key = cause{pull: fmt.Sprint(line.Repositories, line.Number)}
		}
		causes.Add(key, line)
	}
	joined := collect.Mapped(causes.Keys, func(key cause) report.NeedLine { return joinedLine(causes.Of[key]) })
	slices.SortStableFunc(joined, func(a, b report.NeedLine) int {
		if n == report.NeedMerge {
			return cmp.Or(cmp.Compare(a.Day, b.Day), slices.Compare(a.Repositories, b.Repositories), a.Number-b.Number)
		}
		return cmp.Or(len(b.Repositories)+b.Further-len(a.Repositories)-a.Further, cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Text, b.Text))
	})
	return joined
}

// joinedLine is one line for all lines of a cause. It has the oldest day.
func joinedLine(lines []report.NeedLine) report.NeedLine {
	one := report.NeedLine{Remark: lines[0].Remark, Number: lines[0].Number, Day: lines[0].Day}
	for _, line := range lines {
		one.Repositories = append(one.Repositories, line.Repositories...)
		one.Further += counted(line.Further)
		one.Day = cmp.Or(min(one.Day, line.Day), one.Day, line.Day)
	}
	slices.Sort(one.Repositories)
	more := max(0, len(one.Repositories)-namedByNeed)
	one.Repositories, one.Further = one.Repositories[:len(one.Repositories)-more], one.Further+more
	return one
}
