// Package render prints reports: Text for a terminal, Body, Summary, Comment and
// Markdown for GitHub, HTML for a browser, SARIF for code scanning, and Listing
// for git's textconv. Each prints an outline in its own form, and cuts text that
// does not fit. The same report gives the same bytes.
package render

import (
	"io"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/versionfile"
)

// TextOptions say how to write a report for a terminal. The zero value is for a
// file: no colour, no wrapping.
type TextOptions struct {
	Color bool
	// Width is the number of columns of the terminal; 0 means unlimited.
	Width int
	// Summary prints only changes and counts, no single root module. nil decides
	// by the number of root modules.
	Summary *bool
	// Verbose also lists what is up to date.
	Verbose bool
	// Stats adds the cost of the run.
	Stats bool
	// Why selects providers. A scan lists every term of these and leaves out all
	// others. If Why is empty, each provider has one line.
	Why []provider.Pattern
}

// Text writes the report for people at a terminal. The error is the writer's.
func Text(w io.Writer, r report.Report, o TextOptions) error {
	if r.Verb == verbs.Comment {
		return answerText(w, r, o)
	}
	t := &text{printer: printer{color: o.Color, width: o.Width}, r: r, o: o, outline: outline.Of(r)}
	t.own, t.common = t.sorted()
	alone := t.r.Verb == verbs.Scan || t.r.Verb == verbs.Why || t.r.Verb == verbs.Diff
	if !t.brief() {
		t.modules()
	}
	if t.brief() || t.outline.Changed > 1 && !alone {
		t.section(func() { t.together(t.outline.Changes) })
		t.section(t.modulesTogether)
	}
	t.section(t.versions)
	t.section(func() { t.causes(0, t.common) })
	t.section(t.pullRequests)
	if o.Stats {
		t.painted(dim, safe.Text(r.Stats.String()))
	}
	if t.r.Fleet != nil {
		t.painted(dim, fleetSentence(*t.r.Fleet))
	}
	n := t.outline.Told
	if n > 0 && !t.outline.Assumed.Empty() {
		t.painted(dim, t.outline.Assumed)
	}
	if len(t.o.Why) == 0 && !t.outline.Unpinned.Empty() {
		t.painted(dim, t.outline.Unpinned)
	}
	if n > 0 && t.brief() {
		t.painted(dim, safe.Format("--summary=false shows each of %s by itself", safe.Count(n, "root module", "root modules")))
	}
	closing := bold
	if t.r.Failed() {
		closing = red
	}
	if !t.outline.Closing.Empty() {
		t.painted(closing, t.outline.Closing)
	}
	if next := t.outline.Next; next != "" {
		t.WriteString("  " + t.paint(dim, "next:") + " " + next + "\n") // in one line, so that people can copy it
	}
	_, err := io.WriteString(w, strings.ReplaceAll(t.String(), safe.Unbroken, " "))
	return err
}

func answerText(w io.Writer, r report.Report, o TextOptions) error {
	text := answerOf(r).String()
	if o.Stats {
		text += "\n" + r.Stats.String() + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// text is a report while it is written.
type text struct {
	printer
	outline outline.Outline
	r       report.Report
	o       TextOptions
	// own are the causes of one root module, by its title; common are all other
	// causes.
	own    map[string][]*outline.Topic
	common []*outline.Topic
}

// labels are the concerns that a terminal shows, the most urgent last, since
// readers look there first. The table has the changes.
var labels = []struct {
	concern outline.Concern
	label   cell
}{
	{outline.ConcernHeld, cell{safe.Const("held:"), yellow}},
	{outline.ConcernRegistry, cell{safe.Const("registry:"), yellow}},
	{outline.ConcernPlatform, cell{safe.Const("missing:"), yellow}},
	{outline.ConcernUnread, cell{safe.Const("not read:"), yellow}},
	{outline.ConcernHash, cell{safe.Const("finding:"), red}},
	{outline.ConcernReReleased, cell{safe.Const("finding:"), red}},
	{outline.ConcernModule, cell{safe.Const("finding:"), red}},
	{outline.ConcernRule, cell{safe.Const("rule:"), red}},
	{outline.ConcernWarning, cell{safe.Const("warning:"), yellow}},
	{outline.ConcernFailed, cell{safe.Const("error:"), red}},
}

// sorted splits the causes: those of a single root module, and all others.
func (t *text) sorted() (own map[string][]*outline.Topic, common []*outline.Topic) {
	own = map[string][]*outline.Topic{}
	brief := t.brief()
	for _, c := range slices.Concat(t.outline.Held, t.outline.Review) {
		ofFile := c.Concern == outline.ConcernHash || c.Concern == outline.ConcernReReleased || c.Concern == outline.ConcernRule || c.Concern == outline.ConcernModule
		switch {
		case ofFile && !(c.Finding && brief): // the table has changes of hashes; findings are with their lock file
		case len(c.Dirs.List) == 1 && !brief:
			own[c.Dirs.List[0]] = append(own[c.Dirs.List[0]], c)
		default:
			common = append(common, c)
		}
	}
	return own, common
}

// section adds an empty line to the output of write, if there is any.
func (t *text) section(write func()) {
	before := t.Len()
	write()
	if t.Len() > before {
		t.WriteString("\n")
	}
}

// fewModules is the highest number of root modules that are shown one by one: more of them
// do not fit on a screen. fewScanned is that of a scan, whose answer they are. Of more root
// modules, only shared facts are shown, unless the user asks for all.
const (
	fewModules = 4
	fewScanned = 20
)

// brief reports whether root modules are left out.
func (t *text) brief() bool {
	if t.o.Summary != nil {
		return *t.o.Summary
	}
	if t.o.Verbose || len(t.o.Why) > 0 && t.r.Verb != verbs.Why || t.r.Verb == verbs.Diff {
		return false
	}
	if t.r.Verb == verbs.Scan {
		return t.outline.Told > fewScanned
	}
	return t.outline.Told > fewModules
}

// modules writes each root module.
func (t *text) modules() {
	findings := outline.Briefs(t.r)
	for i, m := range t.r.Modules {
		t.module(m, outline.WithoutSilent(findings[i], t.r.Diagnostics))
	}
}

// module writes one root module with its findings, and an empty line.
func (t *text) module(m report.Module, findings []problem.Problem) {
	body := &text{printer: printer{color: t.color, width: t.width}, outline: t.outline, r: t.r, o: t.o, own: t.own}
	body.outline.Words = t.outline.Words.Of(m)
	body.about(m, findings)
	if body.Len() == 0 && (!t.o.Verbose || len(t.o.Why) > 0) {
		return
	}
	t.WriteString(t.header(m))
	if body.Len() == 0 {
		t.paragraph(tableIndent, cell{}, safe.Text(nothingToSay(t.r)))
	}
	t.WriteString(body.String() + "\n")
}

// about writes one root module without its title.
func (t *text) about(m report.Module, findings []problem.Problem) {
	switch {
	case m.Scan != nil && len(t.o.Why) > 0:
		t.why(m)
	case m.Scan != nil:
		t.scan(m)
	default:
		t.changesOf(m)
	}
	if m.Verified != nil {
		t.verified(m, findings)
	} else {
		t.findings(m, findings)
	}
	t.causes(tableIndent, t.own[t.r.Title(m)])
}

// mostCauses is the highest number of causes of one concern that are shown.
const mostCauses = 20

// causes writes causes. A cause of several root modules has their number. Causes
// with the same next step share one line for it, below them.
func (t *text) causes(indent int, all []*outline.Topic) {
	for _, l := range labels {
		some := collect.Those(all, func(c *outline.Topic) bool { return c.Concern == l.concern })
		slices.SortStableFunc(some, func(a, b *outline.Topic) int { return strings.Compare(a.Next.Plain(), b.Next.Plain()) })
		shown := some
		if t.o.Summary == nil || *t.o.Summary {
			shown = some[:min(len(some), mostCauses)]
		}
		for i, c := range shown {
			text := c.Said()
			if len(c.Dirs.List) > 0 && indent == 0 {
				text = c.SaidIn(t.outline.Words)
			}
			t.paragraph(indent, l.label, text)
			if !c.Next.Empty() && (i+1 == len(shown) || shown[i+1].Next != c.Next) {
				label := cell{safe.Const("next:"), dim}
				if c.Concern == outline.ConcernHeld { // advice is a sentence
					label = cell{}
				}
				t.paragraph(indent+2, label, c.Next)
			}
		}
		if more := len(some) - len(shown); more > 0 {
			t.paragraph(indent, l.label, safe.Format("%s of other causes; --format json lists them", safe.Count(more, "more", "more")))
		}
	}
}

func (t *text) header(m report.Module) string {
	title := t.paint(bold, safe.Plain(t.r.Title(m)))
	return title + t.paint(dim, outline.ToolText(m).Terminal()) + "\n"
}

// changesOf writes the changes of a lock file.
func (t *text) changesOf(m report.Module) {
	var rows []row
	for _, c := range m.Changes {
		if outline.UsualSigner(c) {
			c.Signer = provider.Signer{} // the details leave it out, as bodies do
		}
		rows = append(rows, row{t.cells(c), t.outline.Words.Details(c)})
	}
	t.table(rows)
	t.table(moduleCells(outline.ModuleRows(t.r, m)))
	if m.Pending && len(m.Changes)+len(m.LockedModules) == 0 {
		t.paragraph(tableIndent, cell{}, t.outline.Words.Unlisted(m))
	}
}

func (t *text) cells(c report.Change) []cell {
	s := toneStyles[outline.ToneOf(c)]
	return []cell{{t.outline.Words.Name(c.Addr), plain}, {t.outline.Words.Move(c), plain}, {safe.Text(t.outline.Words.Label(c)), s}}
}

// moduleCells are the rows of changes of locked modules.
func moduleCells(changes []outline.ModuleRow) []row {
	return collect.Mapped(changes, func(c outline.ModuleRow) row {
		return row{
			[]cell{{c.Name, plain}, {c.Move, plain}, {c.Kind, toneStyles[c.Tone]}},
			safe.JoinSome("; ", c.About(), safe.Text(c.Compare)),
		}
	})
}

var toneStyles = map[outline.Tone]style{outline.ToneBad: red, outline.ToneMajor: yellow, outline.ToneGood: green, outline.ToneNone: dim}

// together writes changes that several root modules share.
func (t *text) together(changes []outline.ChangeRow) {
	rows := collect.Mapped(changes, func(c outline.ChangeRow) row {
		return row{[]cell{{c.Name, plain}, {c.Move, plain}, {c.Kind, toneStyles[c.Tone]}}, safe.Format("in %s", c.Where)}
	})
	t.titled("All changes", rows, safe.Const("Provider"), safe.Const("Versions"), safe.Const("Change"), safe.Const("Root modules"))
}

// titled writes a table under a title; nothing without rows.
func (t *text) titled(title string, rows []row, headings ...safe.Markdown) {
	if len(rows) > 0 {
		t.WriteString(t.paint(bold, title) + "\n")
		t.table(rows, headings...)
	}
}

// modulesTogether writes changes of locked modules that root modules share.
func (t *text) modulesTogether() {
	rows := moduleCells(t.outline.Locked)
	for i, c := range t.outline.Locked {
		rows[i].rest = safe.Format("in %s", t.outline.Words.Dirs(c.Dirs, outline.FewDirs))
	}
	t.titled("Locked modules", rows, safe.Const("Module"), safe.Const("Versions"), safe.Const("Change"), safe.Const("Root modules"))
}

// scan writes the requirements of a root module and the content of its lock file,
// one line for each provider.
func (t *text) scan(m report.Module) {
	for _, line := range t.outline.Words.Made(*m.Scan) {
		t.paragraph(tableIndent, cell{}, line)
	}
	t.pins(*m.Scan)
	t.table(t.requirements(m), safe.Const("Provider"), safe.Const("Locked"), safe.Const("Allowed"), safe.Const("Decided"))
	t.lockedModules(m)
	if m.Scan.Lock == nil && !m.LockUnread() {
		t.paragraph(tableIndent, cell{}, safe.Const("there is no lock file"))
	}
}

// lockedModules writes the content of a lock file of modules, one line for each module.
func (t *text) lockedModules(m report.Module) {
	t.table(collect.Mapped(report.LockedUses(*m.Scan), func(u report.LockedUse) row {
		name, locked, calls := t.outline.Words.Locked(u, m)
		return row{[]cell{{name, plain}, {locked, lockedStyle(u)}}, calls}
	}), safe.Const("Module"), safe.Const("Locked"), safe.Const("Calls"))
}

func lockedStyle(u report.LockedUse) style {
	if u.Hash == "" || len(u.Calls) == 0 {
		return yellow
	}
	return plain
}

// pinned explains a value in a version file. A value that names a release is
// shown with the tool.
var pinned = map[versionfile.Kind]safe.Markdown{
	versionfile.Some:    safe.Const(", the newest such release that is known"),
	versionfile.Allowed: safe.Const(", the newest release that is known and that required_version allows"),
	versionfile.Oldest:  safe.Const(", the oldest release that required_version allows"),
}

// pins writes the content of version files.
func (t *text) pins(m scan.RootModule) {
	said := func(p versionfile.Pin) safe.Markdown {
		return safe.Format("%s at %s", safe.Code(p.Text), safe.Text(t.outline.Words.Files.Place(p.Place).String()))
	}
	switch p := m.Pin; {
	case p == nil || p.Kind == versionfile.Exact:
	case p.Kind == versionfile.Unresolved:
		t.paragraph(tableIndent, cell{safe.Const("not pinned:"), yellow}, said(*p))
	default:
		t.paragraph(tableIndent, cell{safe.Const("pinned:"), dim}, safe.Join("", said(*p), pinned[p.Kind]))
	}
	if m.Made.Terragrunt != nil {
		t.paragraph(tableIndent, cell{safe.Const("Terragrunt:"), dim}, said(*m.Made.Terragrunt))
	}
}

func (t *text) requirements(m report.Module) []row {
	var rows []row
	for _, q := range m.Scan.Tree.Requirements {
		rows = append(rows, row{
			[]cell{{t.outline.Words.Name(q.Addr), plain}, t.locked(*m.Scan, q), {t.constraints(q), plain}},
			t.origin(q),
		})
	}
	for _, l := range unexplained(m) {
		rows = append(rows, t.unexplained(m, l, plain))
	}
	return rows
}

// unexplained are the lock entries without a known requirement.
func unexplained(m report.Module) []lockfile.Lock {
	if m.Scan.Lock == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.Scan.Lock.Locks), func(l lockfile.Lock) bool {
		return slices.ContainsFunc(m.Scan.Tree.Requirements, func(q scan.Requirement) bool { return q.Addr == l.Addr })
	})
}

func (t *text) unexplained(m report.Module, l lockfile.Lock, name style) row {
	return row{[]cell{{t.outline.Words.Name(l.Addr), name}, {t.outline.Words.Version(l.Version), plain}, {unrequired(m, l.Addr), yellow}}, safe.Markdown{}}
}

// unrequired describes a lock entry without a known requirement. relock calls it
// "not required" only if the whole module tree was read.
func unrequired(m report.Module, addr provider.Addr) safe.Markdown {
	errors := slices.DeleteFunc(slices.Clone(m.Diagnostics), func(d problem.Problem) bool {
		return m.Names.Place(d.Place).File() == m.LockPath // the configuration was read all the same
	})
	ofUnit := func(u scan.Unread) bool { return u.Code == problem.CodeTerragruntUnit }
	unread := slices.DeleteFunc(slices.Clone(m.Unread), func(u scan.Unread) bool { return u.Entry != nil && !u.Entry.May(addr) })
	switch {
	case slices.ContainsFunc(m.Unread, ofUnit):
		return safe.Const("unknown: the unit is known in part")
	case slices.ContainsFunc(unread, func(u scan.Unread) bool { return u.OfEntry() }):
		return safe.Const("unknown: required_providers has no value for it")
	case len(unread) > 0:
		return safe.Format("unknown: %s not read", safe.Count(len(unread), "module", "modules"))
	case problem.AnyError(errors):
		return safe.Const("unknown: the configuration has errors")
	}
	return safe.Const("not required")
}

// locked is the locked version, and whether the requirements still allow it.
func (t *text) locked(m scan.RootModule, q scan.Requirement) cell {
	if m.Lock == nil {
		return cell{safe.Const("-"), dim}
	}
	l, ok := m.Lock.Lock(q.Addr)
	switch {
	case !ok:
		return cell{safe.Const("not locked"), yellow}
	case !q.Constraints().Allows(l.Version):
		return cell{t.outline.Words.Version(l.Version).And(" (not allowed)"), red}
	}
	return cell{t.outline.Words.Version(l.Version), plain}
}

func (t *text) constraints(q scan.Requirement) safe.Markdown {
	if c := q.Constraints(); !c.Empty() {
		return safe.Code(c.String())
	}
	return safe.Const("any version")
}

// origin is the place of the deciding term, or the first place that needs the
// provider.
func (t *text) origin(q scan.Requirement) safe.Markdown {
	if len(q.Terms) == 0 {
		return safe.Markdown{}
	}
	term, ok := outline.Deciding(q.Terms)
	if !ok {
		return safe.Format("needed at %s", t.outline.Words.Place(q.Terms[0]))
	}
	if q.Constraints().Equal(provider.NewConstraints(term.Constraint)) {
		return safe.Format("at %s", t.outline.Words.Place(term))
	}
	return safe.Format("%s at %s", safe.Code(term.Constraint.String()), t.outline.Words.Place(term))
}

// why writes every term of the selected providers with its place. It adds
// providers that only the lock file has, and the calls of selected modules.
func (t *text) why(m report.Module) {
	asked := func(addr provider.Addr) bool {
		return slices.ContainsFunc(t.o.Why, func(p provider.Pattern) bool { return p.Match(addr) })
	}
	for _, q := range m.Scan.Tree.Requirements {
		if !asked(q.Addr) {
			continue
		}
		t.table([]row{{[]cell{{t.outline.Words.Name(q.Addr), bold}, t.locked(*m.Scan, q), {t.constraints(q), plain}}, safe.Markdown{}}})
		var rows []row
		for _, term := range q.Terms {
			constraint := cell{safe.Const("any version"), dim}
			if term.Constraint.Op != 0 {
				constraint = cell{safe.Code(term.Constraint.String()), plain}
			}
			rows = append(rows, row{[]cell{{safe.Markdown{}, plain}, constraint}, t.outline.Words.Place(term)})
		}
		t.table(rows)
	}
	for _, l := range unexplained(m) {
		if asked(l.Addr) {
			t.table([]row{t.unexplained(m, l, bold)})
		}
	}
	for _, u := range report.ModuleUses(*m.Scan) {
		if !slices.ContainsFunc(t.o.Why, func(p provider.Pattern) bool { return moduleaddr.Matches(p.Given(), u.Address) }) {
			continue
		}
		name, locked, calls := t.outline.Words.Locked(u, m)
		t.table([]row{{[]cell{{name, bold}, {locked, lockedStyle(u)}}, calls}})
		for _, c := range u.Calls {
			t.paragraph(2*tableIndent, cell{}, t.outline.Words.Call(c))
		}
	}
}

// pullRequests says what happened to each pull request.
func (t *text) pullRequests() {
	for _, l := range pullLines(t.r, fewAlike) {
		t.paragraph(0, cell{}, l.said)
		if l.url != "" {
			t.paragraph(tableIndent, cell{}, safe.Text(l.url))
		}
	}
	if slices.ContainsFunc(t.r.PullRequests, func(p report.PullRequest) bool { return p.Body != "" }) {
		t.paragraph(0, cell{}, safe.Const("--format markdown shows their texts"))
	}
}

// versions writes the providers that have several versions in use.
func (t *text) versions() {
	var rows []row
	for _, s := range t.outline.Spreads {
		name := cell{t.outline.Words.Name(s.Addr), plain}
		for i, u := range s.Versions {
			state := cell{safe.Const("behind"), yellow}
			if i == 0 {
				state = cell{safe.Const("newest in use"), dim}
			}
			rows = append(rows, row{[]cell{name, {t.outline.Words.Version(u.Version), plain}, state}, t.outline.Words.UsedIn(u, i == 0)})
			name = cell{}
		}
	}
	t.titled("Versions in use", rows, safe.Const("Provider"), safe.Const("Version"), safe.Markdown{}, safe.Const("Root modules"))
}

// findings writes the findings of a lock file. Verbose also writes what could not
// be judged.
func (t *text) findings(m report.Module, findings []problem.Problem) {
	for _, f := range findings {
		head := cell{safe.Const("finding:"), red}
		if f.Severity == problem.SeverityWarning {
			head = cell{safe.Const("warning:"), yellow}
		}
		t.finding(head, f)
	}
	if !t.o.Verbose {
		return
	}
	for _, f := range outline.Brief(m.Undecided) {
		t.paragraph(tableIndent, cell{safe.Const("not proven:"), dim}, t.outline.Words.Diagnostic(f))
	}
}

// finding writes a finding and the next step.
func (t *text) finding(head cell, f problem.Problem) {
	t.paragraph(tableIndent, head, t.outline.Words.Diagnostic(f))
	if f.Hint != "" {
		t.paragraph(tableIndent+2, cell{safe.Const("next:"), dim}, safe.Hint(f.Hint))
	}
}

// verified writes the findings of a lock file. Verbose also writes notes and
// counts.
func (t *text) verified(m report.Module, findings []problem.Problem) {
	styles := map[problem.Severity]style{problem.SeverityError: red, problem.SeverityWarning: yellow, problem.SeverityNote: dim}
	for _, f := range findings {
		if f.Severity == problem.SeverityNote && !t.o.Verbose {
			continue
		}
		t.finding(cell{safe.Format("%s %s:", safe.Text(f.Severity.String()), safe.Text(string(f.Code))), styles[f.Severity]}, f)
	}
	for _, u := range m.Verified.Unchecked {
		t.paragraph(tableIndent, cell{safe.Const("not checked:"), yellow}, safe.Text(u))
	}
	if t.o.Verbose {
		t.paragraph(tableIndent, cell{}, safe.Text(m.Verified.Counts.String()))
	}
}
