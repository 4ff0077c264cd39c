package outline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// Screen is an overview in the words that people read.
type Screen struct {
	Headline safe.Markdown
	// Missing says which shards are not of this week; empty if all are.
	Missing safe.Markdown
	Counts  ScreenTable // by state, with the changes of the week
	Needs   []ScreenNeed
	Waits   []ScreenWait
	Uses    ScreenTable   // by provider, how many root modules use which major version
	Rows    ScreenTable   // the repositories that are not quiet
	Rest    safe.Markdown // those without a row
}

// ScreenTable is a table: its headings, and its rows with as many cells.
type ScreenTable struct {
	Headings []safe.Markdown
	Rows     [][]safe.Markdown
}

// ScreenNeed is why some repositories need a person, with a line for each cause. The
// last line counts those that are left out.
type ScreenNeed struct {
	Heading safe.Markdown
	Lines   []safe.Markdown
}

// ScreenWait is a repository, by its full name, in which proposals wait for room.
type ScreenWait struct {
	Name  string
	Waits safe.Markdown
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
	s := Screen{Missing: w.missing(), Counts: w.counts(), Uses: w.uses(), Rest: w.rest()}
	who, need := safe.Int(o.Needing), safe.Const("needs")
	if o.Needing == 0 {
		who = safe.Const("None")
	} else if o.Needing > 1 {
		need = safe.Const("need")
	}
	s.Headline = safe.Format("%s of %s %s a person.", who, safe.Count(all, "repository", "repositories"), need)
	for _, n := range report.Needs {
		lines := collect.Mapped(o.Needs[n], w.line(n))
		if further := o.Further[n]; len(lines) > 0 && further > 0 {
			lines = append(lines, safe.Format("and %s", safe.Count(further, "more line", "more lines")))
		}
		if len(lines) > 0 {
			s.Needs = append(s.Needs, ScreenNeed{needHeadings[n], lines})
		}
	}
	s.Rows.Headings = []safe.Markdown{
		safe.Const("Repository"), safe.Const("State"), safe.Const("Pull requests"), safe.Const("Providers behind"), safe.Const("Held back"), safe.Const("As of"),
	}
	for _, r := range o.Rows {
		s.Rows.Rows = append(s.Rows.Rows, w.row(r))
		if r.Waits > 0 {
			waits := safe.Count(counted(r.Waits), "pull request that waits", "pull requests that wait")
			s.Waits = append(s.Waits, ScreenWait{r.Name, safe.Format("%s in %s", waits, w.repository(r.Name))})
		}
	}
	return s
}

// screenWords makes the sentences of a screen.
type screenWords struct{ report.Overview }

// repository is a name with a link. All have one owner, whom the page names.
func (w screenWords) repository(name string) safe.Markdown {
	short := safe.Text(strings.TrimPrefix(name, w.Owner+"/"))
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
func (w screenWords) counts() ScreenTable {
	t := ScreenTable{Headings: []safe.Markdown{safe.Const("State"), safe.Const("Repositories"), {}}}
	week := w.Since.Week
	if week != "" {
		t.Headings[2] = safe.Format("Since %s", safe.Text(week))
	}
	for _, s := range report.Standings {
		n, change := w.States[s], w.States[s]-w.Since.Counts[s]
		if n == 0 && (week == "" || change == 0) {
			continue
		}
		var said safe.Markdown
		switch {
		case week == "" || change == 0:
		case change > 0:
			said = safe.Format("+%s", safe.Int(change))
		default:
			said = safe.Int(change)
		}
		t.Rows = append(t.Rows, []safe.Markdown{safe.Text(string(s)).Capital(), safe.Int(n), said})
	}
	return t
}

// uses are the versions of providers, the newest major version first.
func (w screenWords) uses() ScreenTable {
	t := ScreenTable{Headings: []safe.Markdown{safe.Const("Provider"), safe.Const("Newest known"), safe.Const("Root modules")}}
	for _, u := range w.Uses {
		var majors []safe.Markdown
		for _, major := range slices.Backward(slices.Sorted(maps.Keys(u.Majors))) {
			majors = append(majors, safe.Format("%s on %s", safe.Int(u.Majors[major]), safe.Int(int(major))))
		}
		t.Rows = append(t.Rows, []safe.Markdown{safe.Code(u.Provider), safe.Text(u.Newest), safe.FirstOf(majors, mostMajors, "other", "others")})
	}
	return t
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
		where = where.AndMaybe(" and %s", safe.Some(l.Further, "more", "more"))
		switch {
		case n == report.NeedMerge:
			said := safe.Format("%s: %s%s", safe.Text(l.Day), w.repository(l.Repositories[0]), w.pull(l.Repositories[0], l.Number))
			return said.AndMaybe(" %s", safe.Text(l.Text))
		case l.Provider != "":
			where = safe.Format("%s %s: %s", safe.Code(l.Provider), safe.Text(l.Text), where)
		default:
			where = safe.Format("%s: %s", safe.Text(l.Text).Stopless(), where)
		}
		return where.AndMaybe(" (as of %s)", safe.Text(l.Day))
	}
}

// row puts a repository into words.
func (w screenWords) row(r report.OverviewRow) []safe.Markdown {
	pulls := collect.Mapped(r.Pulls, func(n int) safe.Markdown { return w.pull(r.Name, n) })
	pulls = append(pulls, safe.Some(counted(r.Waits), "waits", "wait"))
	behind := safe.JoinSome(", ",
		safe.Some(counted(r.Behind.Major), "major", "major"),
		safe.Some(counted(r.Behind.Minor), "minor", "minor"),
		safe.Some(counted(r.Behind.Patch), "patch", "patch"))
	return []safe.Markdown{
		w.repository(r.Name), safe.Text(string(r.Standing)), safe.JoinSome(", ", pulls...), behind,
		safe.Join(", ", collect.Mapped(r.Held, heldItem)...), safe.Text(r.Day),
	}
}

// heldItem is a remark about what is held back.
func heldItem(h report.Remark) safe.Markdown {
	if h.Provider == "" {
		return safe.Hint(h.Text)
	}
	return safe.Format("%s %s", safe.Code(h.Provider), safe.Hint(h.Text))
}
