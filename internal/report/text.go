package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// TextOptions say how a report is written for a terminal. The zero value is
// for a file: no colour, no wrapping.
type TextOptions struct {
	Color bool
	// Width is the terminal's in columns; 0 means unlimited.
	Width int
	// Verbose also lists what is up to date.
	Verbose bool
	// Stats adds what the run cost.
	Stats bool
	// Why selects the providers of which a scan lists every term; others are
	// left out. Empty: one line for each provider.
	Why []provider.Pattern
}

// Text writes the report for people at a terminal. The error is the writer's.
func Text(w io.Writer, r Report, o TextOptions) error {
	if r.Verb == VerbComment {
		return answerText(w, r, o)
	}
	t := &text{printer: printer{color: o.Color, width: o.Width}, r: r, o: o, d: terminal(r)}
	for _, m := range r.Modules {
		t.module(m)
	}
	if r.Verb != VerbScan && r.Verb != VerbDiff {
		t.together()
	}
	t.section(t.consistency)
	t.section(func() { t.problems(0, r.Diagnostics) })
	t.section(t.pullRequests)
	if o.Stats {
		t.painted(dim, r.Stats.String())
	}
	t.closing()
	_, err := io.WriteString(w, strings.ReplaceAll(t.String(), unbroken, " "))
	return err
}

// text is a report in the writing.
type text struct {
	printer
	r Report
	o TextOptions
	d dialect
}

// section writes an empty line behind what write does, if that is anything.
func (t *text) section(write func()) {
	before := t.Len()
	write()
	if t.Len() > before {
		t.WriteString("\n")
	}
}

// module writes what there is to say of one root module, and an empty line.
func (t *text) module(m Module) {
	body := &text{printer: printer{color: t.color, width: t.width}, r: t.r, o: t.o, d: t.d}
	body.about(m)
	if body.Len() == 0 && (!t.o.Verbose || len(t.o.Why) > 0) {
		return
	}
	t.WriteString(t.header(m))
	if body.Len() == 0 {
		t.paragraph(tableIndent, cell{}, t.r.nothing())
	}
	t.WriteString(body.String() + "\n")
}

// about writes what there is to say of one root module, without its title.
func (t *text) about(m Module) {
	switch {
	case m.Scan != nil && len(t.o.Why) > 0:
		t.why(*m.Scan)
	case m.Scan != nil:
		t.scan(m)
	default:
		t.changes(m)
	}
	for _, u := range m.missingUnread() {
		t.paragraph(tableIndent, cell{"not read:", yellow}, t.d.unread(u))
		if u.Hint != "" {
			t.paragraph(tableIndent+2, cell{"next:", dim}, Plain(u.Hint))
		}
	}
	t.findings(m)
	t.problems(tableIndent, m.Diagnostics)
}

func (t *text) header(m Module) string {
	title := t.paint(bold, Plain(t.r.title(m)))
	return title + t.paint(dim, toolText(m)) + "\n"
}

// changes writes the difference of a lock file.
func (t *text) changes(m Module) {
	var rows []row
	for _, c := range m.Changes {
		rows = append(rows, row{t.cells(c), strings.Join(t.d.details(c), "; ")})
	}
	t.table(rows)
	if m.Pending && len(m.Changes) == 0 {
		t.paragraph(tableIndent, cell{}, "the lock file is not in the form that the tool writes")
	}
	for _, k := range m.held() {
		t.paragraph(tableIndent, cell{"held:", yellow}, t.d.held(k.Addr, k.Version, k.Held))
	}
	for _, k := range m.facts() {
		for _, w := range k.Warnings {
			t.paragraph(tableIndent, cell{"registry:", yellow}, t.d.name(k.Addr)+": "+Plain(w))
		}
		if len(k.Missing) > 0 {
			t.paragraph(tableIndent, cell{"missing:", yellow}, t.d.missing(k))
		}
	}
}

func (t *text) cells(c Change) []cell {
	s := styleOf(c)
	return []cell{{t.d.name(c.Addr), plain}, {t.d.move(c), plain}, {c.label(), s}}
}

func styleOf(c Change) style {
	switch {
	case c.Kind == diff.Downgraded, c.Kind == diff.ReReleased, c.Kind == diff.Signer, c.Kind == diff.Removed:
		return red
	case c.Bump == provider.BumpMajor, c.Kind == diff.Moved:
		return yellow
	case c.Kind == diff.Constrained, c.Kind == diff.Normalised:
		return dim
	}
	return green
}

// problems writes diagnostics, each with what to do next.
func (t *text) problems(indent int, diagnostics []provider.Diagnostic) {
	for _, p := range diagnostics {
		head := cell{"error:", red}
		if p.Severity == provider.SeverityWarning {
			head = cell{"warning:", yellow}
		}
		t.paragraph(indent, head, t.d.diagnostic(p))
		if p.Hint != "" {
			t.paragraph(indent+2, cell{"next:", dim}, Plain(p.Hint))
		}
	}
}

// together lists the changes of all root modules, equal ones once. It says
// nothing that the only changed root module has not said.
func (t *text) together() {
	changed := 0
	for _, m := range t.r.Modules {
		if len(m.Changes) > 0 {
			changed++
		}
	}
	if changed < 2 {
		return
	}
	var rows []row
	for _, g := range commonChanges(t.r) {
		where := "in " + count(len(g.dirs), "directory", "directories")
		if len(g.dirs) == 1 {
			where = "in " + Plain(g.dirs[0])
		}
		rows = append(rows, row{t.cells(g.change), where})
	}
	t.WriteString(t.paint(bold, "All changes") + "\n")
	t.table(rows)
	t.WriteString("\n")
}

// scan writes what a root module requires and what its lock file says, one
// line for each provider.
func (t *text) scan(m Module) {
	t.table(t.requirements(m))
	if m.Scan.Lock == nil {
		t.paragraph(tableIndent, cell{}, "there is no lock file")
	}
}

func (t *text) requirements(m Module) []row {
	var rows []row
	required := map[provider.Addr]bool{}
	for _, q := range m.Scan.Tree.Requirements {
		required[q.Addr] = true
		rows = append(rows, row{
			[]cell{{t.d.name(q.Addr), plain}, t.locked(*m.Scan, q), {t.constraints(q), plain}},
			t.origin(q),
		})
	}
	if m.Scan.Lock == nil {
		return rows
	}
	for _, l := range m.Scan.Lock.Locks {
		if !required[l.Addr] {
			rows = append(rows, row{[]cell{{t.d.name(l.Addr), plain}, {t.d.version(l.Version), plain}, {m.unrequired(), yellow}}, ""})
		}
	}
	return rows
}

// unrequired is what is known of a lock entry that nothing was found to
// require. It is not required only if the whole module tree was read.
func (m Module) unrequired() string {
	errors := slices.DeleteFunc(slices.Clone(m.Diagnostics), func(d provider.Diagnostic) bool {
		return d.File == m.LockPath // the configuration can be read all the same
	})
	switch {
	case len(m.Unread) > 0:
		return "unknown: " + count(len(m.Unread), "module", "modules") + " not read"
	case failed(errors):
		return "unknown: the configuration has errors"
	}
	return "not required"
}

// locked is the version that the lock file selects, and whether it still may.
func (t *text) locked(m scan.RootModule, q scan.Requirement) cell {
	if m.Lock == nil {
		return cell{"-", dim}
	}
	l, ok := m.Lock.Lock(q.Addr)
	switch {
	case !ok:
		return cell{"not locked", yellow}
	case !q.Constraints().Allows(l.Version):
		return cell{t.d.version(l.Version) + " (not allowed)", red}
	}
	return cell{t.d.version(l.Version), plain}
}

func (t *text) constraints(q scan.Requirement) string {
	if c := q.Constraints(); !c.Empty() {
		return t.d.code(c.String())
	}
	return "any version"
}

// origin is where the deciding term stands, or the first place that needs the
// provider.
func (t *text) origin(q scan.Requirement) string {
	if len(q.Terms) == 0 {
		return ""
	}
	term, ok := deciding(q.Terms)
	if !ok {
		return "needed at " + t.d.place(q.Terms[0])
	}
	if q.Constraints().Equal(provider.NewConstraints(term.Constraint)) {
		return "at " + t.d.place(term)
	}
	return fmt.Sprintf("%s at %s", t.d.code(term.Constraint.String()), t.d.place(term))
}

// why writes every term of the selected providers with its place.
func (t *text) why(m scan.RootModule) {
	for _, q := range m.Tree.Requirements {
		if !slices.ContainsFunc(t.o.Why, func(p provider.Pattern) bool { return p.Match(q.Addr) }) {
			continue
		}
		t.table([]row{{[]cell{{t.d.name(q.Addr), bold}, t.locked(m, q), {t.constraints(q), plain}}, ""}})
		var rows []row
		for _, term := range q.Terms {
			constraint := cell{"any version", dim}
			if term.Constraint.Op != 0 {
				constraint = cell{t.d.code(term.Constraint.String()), plain}
			}
			rows = append(rows, row{[]cell{{"", plain}, constraint}, t.d.place(term)})
		}
		t.table(rows)
	}
}

// pullRequests says what became of each pull request.
func (t *text) pullRequests() {
	for _, p := range t.r.PullRequests {
		t.paragraph(0, cell{}, t.r.pullRequest(t.d, p))
		if p.URL != "" {
			t.paragraph(tableIndent, cell{}, Plain(p.URL))
		}
	}
	if slices.ContainsFunc(t.r.PullRequests, func(p PullRequest) bool { return p.Body != "" }) {
		t.paragraph(0, cell{}, "--format markdown shows their texts")
	}
}

// known reports whether anything was counted.
func (s Stats) known() bool {
	return s.Requests != 0 || s.Packages != 0 || s.Cached != 0 || s.PeakBytes != 0
}

// String returns what the run cost in one line.
func (s Stats) String() string {
	parts := []string{count(int(s.Requests), "request", "requests"), Size(s.Bytes) + " received"}
	if s.Packages > 0 {
		parts = append(parts, count(int(s.Packages), "package", "packages")+" downloaded")
	}
	if s.Cached > 0 {
		parts = append(parts, count(int(s.Cached), "package", "packages")+" known before")
	}
	if s.PeakBytes > 0 {
		parts = append(parts, Size(s.PeakBytes)+" of memory")
	}
	for _, g := range s.Stages {
		parts = append(parts, fmt.Sprintf("%s %.2f s", g.Name, g.Took.Seconds()))
	}
	return strings.Join(parts, ", ")
}

// Size writes a number of bytes for people.
func Size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// closing is the last line: what the run came to.
func (t *text) closing() {
	failed := 0
	for _, m := range t.r.Modules {
		if m.Failed() {
			failed++
		}
	}
	var parts []string
	switch {
	case t.r.Verb == VerbDiff:
		parts = append(parts, t.r.differences())
	case len(t.r.Modules) == 0 && t.r.Touched:
		parts = append(parts, "the change touches no root module that has a lock file")
	case len(t.r.Modules) == 0:
		parts = append(parts, "no root module was found")
	case t.r.Verb == VerbScan:
		parts = t.r.found()
	default:
		parts = t.r.written()
	}
	switch {
	case failed > 0 && len(parts) == 0:
		parts = []string{count(failed, "root module", "root modules") + " with errors"}
	case failed > 0 && t.r.Verb != VerbDiff:
		parts = append(parts, fmt.Sprintf("%d with errors", failed))
	}
	if n := t.r.findings(); n > 0 {
		parts = append(parts, count(n, "finding", "findings"))
	}
	line := strings.Join(parts, ", ")
	if t.r.Failed() {
		t.painted(red, line)
		return
	}
	t.painted(bold, line)
}
