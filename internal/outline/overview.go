package outline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/upgrade"
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
	index := map[cause]int{}
	var joined []report.NeedLine
	for _, line := range lines {
		if len(line.Repositories) == 0 { // it is no line of ours
			continue
		}
		key := cause{Remark: line.Remark}
		if n == report.NeedMerge {
			key = cause{pull: fmt.Sprint(line.Repositories, line.Number)}
		}
		i, known := index[key]
		if !known {
			index[key] = len(joined)
			i = len(joined)
			joined = append(joined, report.NeedLine{Remark: line.Remark, Number: line.Number})
		}
		to := &joined[i]
		names := append(to.Repositories, line.Repositories...)
		slices.Sort(names)
		more := max(0, len(names)-namedByNeed)
		to.Repositories, to.Further = names[:len(names)-more], to.Further+counted(line.Further)+more
		if to.Day == "" || line.Day != "" && line.Day < to.Day {
			to.Day = line.Day
		}
	}
	slices.SortStableFunc(joined, func(a, b report.NeedLine) int {
		if n == report.NeedMerge {
			return cmp.Or(cmp.Compare(a.Day, b.Day), slices.Compare(a.Repositories, b.Repositories), a.Number-b.Number)
		}
		return cmp.Or(len(b.Repositories)+b.Further-len(a.Repositories)-a.Further, cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Text, b.Text))
	})
	return joined
}

// Screen is an overview in the words that people read.
type Screen struct {
	Headline safe.Markdown
	// Missing says which shards are not of this week; empty if all are.
	Missing safe.Markdown
	Since   safe.Markdown // the heading of the changes; empty without earlier counts
	Counts  []ScreenCount
	Needs   []ScreenNeed
	Uses    []ScreenUse
	Rows    []ScreenRow
	Rest    safe.Markdown // the repositories without a row
}

// ScreenCount is the number of repositories in a state, and how it has changed.
type ScreenCount struct{ Name, Number, Change safe.Markdown }

// ScreenNeed is why some repositories need a person, with a line for each cause.
type ScreenNeed struct {
	Heading safe.Markdown
	Lines   []safe.Markdown
	Further int // lines that are left out
}

// ScreenUse is a provider, and how many root modules use which major version.
type ScreenUse struct{ Name, Newest, Majors safe.Markdown }

// ScreenRow is a repository that is not quiet. Name is the full one.
type ScreenRow struct {
	Name                                     string
	Link, Standing, Pulls, Behind, Held, Day safe.Markdown
	Waits                                    int
}

// needHeadings are the headings of the needs.
var needHeadings = map[report.Need]safe.Markdown{
	report.NeedRepair: safe.Const("Failing"),
	report.NeedMerge:  safe.Const("Pull requests that are open for more than 14 days"),
	report.NeedMajor:  safe.Const("Major upgrades that wait"),
	report.NeedModule: safe.Const("Moved modules"),
}

// ScreenOf puts an overview into words. Nothing in it depends on the time.
func ScreenOf(o report.Overview) Screen {
	all := 0
	for _, n := range o.States {
		all += n
	}
	w := screenWords{o}
	s := Screen{Missing: w.missing(), Counts: w.counts(), Rest: w.rest()}
	who, need := safe.Int(o.Needing), safe.Const("needs")
	if o.Needing == 0 {
		who = safe.Const("None")
	} else if o.Needing > 1 {
		need = safe.Const("need")
	}
	s.Headline = safe.Format("%s of %s %s a person.", who, safe.Count(all, "repository", "repositories"), need)
	if o.Since.Week != "" {
		s.Since = safe.Format("Since %s", safe.Text(o.Since.Week))
	}
	for _, n := range report.Needs {
		if lines := o.Needs[n]; len(lines) > 0 {
			s.Needs = append(s.Needs, ScreenNeed{needHeadings[n], collect.Mapped(lines, w.line(n)), o.Further[n]})
		}
	}
	for _, u := range o.Uses {
		var majors []safe.Markdown
		for _, major := range slices.SortedFunc(maps.Keys(u.Majors), func(a, b int64) int { return cmp.Compare(b, a) }) {
			majors = append(majors, safe.Format("%s on %s", safe.Int(u.Majors[major]), safe.Int(int(major))))
		}
		s.Uses = append(s.Uses, ScreenUse{safe.Code(u.Provider), safe.Text(u.Newest), safe.FirstOf(majors, mostMajors, "other", "others")})
	}
	s.Rows = collect.Mapped(o.Rows, w.row)
	return s
}

// screenWords makes the sentences of a screen.
type screenWords struct{ report.Overview }

// repository is a name with a link. All have one owner, whom the page names.
func (w screenWords) repository(name string) safe.Markdown {
	short := safe.Text(nameWithout(w.Owner, name))
	if url := w.Server + "/" + name; safe.Linkable(url) {
		return safe.Link(short, url)
	}
	return short
}

// pull is a number with a link. The link leads through GitHub's redirects, so that
// the pull request does not mention the page.
func (w screenWords) pull(name string, number int) safe.Markdown {
	text := safe.Format("#%s", safe.Int(number))
	if url := fmt.Sprintf("%s/%s/pull/%d", w.Server, name, number); safe.Linkable(url) {
		return safe.Link(text, cmp.Or(safe.Redirected(url), url))
	}
	return text
}

// missing names the shards that have not run in the week of the page.
func (w screenWords) missing() safe.Markdown {
	var said []safe.Markdown
	for _, p := range w.Parts {
		switch {
		case p.Day == "":
			said = append(said, safe.Format("shard %s is not here yet", safe.Text(p.Shard)))
		case p.Day < w.Since.Week:
			said = append(said, safe.Format("shard %s is of %s", safe.Text(p.Shard), safe.Text(p.Day)))
		}
	}
	return safe.Join("; ", said...)
}

// counts are the repositories by state. States without any, now and before, are left
// out.
func (w screenWords) counts() []ScreenCount {
	var all []ScreenCount
	for _, s := range report.Standings {
		n, change := w.States[s], w.States[s]-w.Since.Counts[s]
		if n == 0 && (w.Since.Week == "" || change == 0) {
			continue
		}
		c := ScreenCount{Name: safe.Text(string(s)), Number: safe.Int(n)}
		switch {
		case w.Since.Week == "" || change == 0:
		case change > 0:
			c.Change = safe.Format("+%s", safe.Int(change))
		default:
			c.Change = safe.Int(change)
		}
		all = append(all, c)
	}
	return all
}

// rest counts the repositories without a row, by state.
func (w screenWords) rest() safe.Markdown {
	left := maps.Clone(w.States)
	for _, r := range w.Rows {
		left[r.Standing]--
	}
	var said []safe.Markdown
	for _, s := range report.Standings {
		if left[s] > 0 && !s.Quiet() {
			said = append(said, safe.Format("%s %s", safe.Int(left[s]), safe.Text(string(s))))
		}
	}
	return safe.Join(", ", said...)
}

// line returns a function that puts a line of a need into words.
func (w screenWords) line(n report.Need) func(report.NeedLine) safe.Markdown {
	return func(l report.NeedLine) safe.Markdown {
		where := safe.FirstOf(collect.Mapped(l.Repositories, w.repository), len(l.Repositories), "", "")
		if l.Further > 0 {
			where = where.And(" and %s", safe.Int(l.Further).And(" more"))
		}
		switch {
		case n == report.NeedMerge:
			said := safe.Format("%s: %s%s", safe.Text(l.Day), w.repository(l.Repositories[0]), w.pull(l.Repositories[0], l.Number))
			if l.Text != "" {
				said = said.And(" %s", safe.Text(l.Text))
			}
			return said
		case l.Provider != "":
			where = safe.Format("%s %s: %s", safe.Code(l.Provider), safe.Text(l.Text), where)
		default:
			where = safe.Format("%s: %s", safe.Text(l.Text).Stopless(), where)
		}
		if l.Day != "" {
			where = where.And(" (as of %s)", safe.Text(l.Day))
		}
		return where
	}
}

// row puts a repository into words.
func (w screenWords) row(r report.OverviewRow) ScreenRow {
	row := ScreenRow{
		Name: r.Name, Link: w.repository(r.Name), Standing: safe.Text(string(r.Standing)), Day: safe.Text(r.Day), Waits: counted(r.Waits),
		Pulls: safe.Join(", ", collect.Mapped(r.Pulls, func(n int) safe.Markdown { return w.pull(r.Name, n) })...),
		Held:  safe.Join(", ", collect.Mapped(r.Held, heldItem)...),
	}
	if r.Waits > 0 {
		row.Pulls = safe.Join(", ", slices.DeleteFunc([]safe.Markdown{row.Pulls, safe.Count(row.Waits, "waits", "wait")}, safe.Markdown.Empty)...)
	}
	var behind []safe.Markdown
	for _, by := range []struct {
		n  int
		is safe.Markdown
	}{{r.Behind.Major, safe.Const("major")}, {r.Behind.Minor, safe.Const("minor")}, {r.Behind.Patch, safe.Const("patch")}} {
		if by.n > 0 {
			behind = append(behind, safe.Format("%s %s", safe.Int(by.n), by.is))
		}
	}
	row.Behind = safe.Join(", ", behind...)
	return row
}

// heldItem is a remark about what is held back.
func heldItem(h report.Remark) safe.Markdown {
	if h.Provider == "" {
		return safe.Hint(h.Text)
	}
	return safe.Format("%s %s", safe.Code(h.Provider), safe.Hint(h.Text))
}

// nameWithout is the name of a repository without its owner.
func nameWithout(owner, name string) string {
	if short, ok := strings.CutPrefix(name, owner+"/"); ok && owner != "" {
		return short
	}
	return name
}
