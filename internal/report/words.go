package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// dialect is how the sentences that Text and Markdown share are written: what
// comes from outside passes text or code, the rest is ours.
type dialect struct {
	text, code func(string) string
	link       func(text, url string) string
	arrow      string
	// names are those of the providers of this report, and files those of the files of
	// one root module.
	names map[provider.Addr]string
	files problem.Naming
}

// of is the dialect for what is said of a root module.
func (d dialect) of(m Module) dialect {
	d.files = m.Names
	return d
}

func terminal(r Report) dialect {
	return dialect{
		text:  safe.Plain,
		code:  func(s string) string { return safe.Code(s).Terminal() },
		link:  func(text, _ string) string { return text },
		arrow: "->", names: namesOf(r),
	}
}

func markdown(r Report) dialect {
	return dialect{
		text:  func(s string) string { return safe.Text(s).String() },
		code:  func(s string) string { return safe.Code(s).String() },
		link:  func(text, url string) string { return safe.Link(safe.Ours(text), url).String() },
		arrow: "→", names: namesOf(r)}
}

// namesOf returns what a report calls each provider that it tells of.
func namesOf(r Report) map[provider.Addr]string {
	var all provider.CallNames
	for _, m := range r.Modules {
		for _, c := range m.Changes {
			all.Add(m.Tool, c.Addr)
		}
		for _, k := range m.Kept {
			all.Add(m.Tool, k.Addr)
		}
		for _, u := range m.InUse {
			all.Add(m.Tool, u.Addr)
		}
		if m.Scan == nil {
			continue
		}
		for _, q := range m.Scan.Tree.Requirements {
			all.Add(m.Tool, q.Addr)
		}
	}
	return all.Names()
}

// name is the provider's short name where that is clear, else its address.
func (d dialect) name(a provider.Addr) string { return d.code(d.called(a)) }

func (d dialect) called(a provider.Addr) string { return cmp.Or(d.names[a], a.Short()) }

// version writes a version that there is, 0.0.0 among them.
func (d dialect) version(v provider.Version) string { return d.text(v.String()) }

// label says what kind of change it is, in a word or two.
func (c Change) label() string {
	switch {
	case c.Kind == diff.Upgraded && c.Bump != provider.BumpNone:
		return string(c.Bump)
	case c.Kind == diff.Signer && c.Signer.Label == unsigned:
		return unsigned
	case c.Kind == diff.Signer:
		return "new signer"
	case c.Kind == diff.Normalised && len(c.HashesRemoved) > 0:
		return "hashes dropped"
	case c.Kind == diff.Normalised:
		return "formatting only"
	case c.Kind == diff.Constrained:
		return "constraints"
	}
	return string(c.Kind)
}

// olds holds the version that a change leaves, news the one it brings. They are
// empty where there is none: a version alone does not say so, since 0.0.0 can be
// locked.
func (c Change) olds() []provider.Version {
	if c.Kind == diff.Added {
		return nil
	}
	return []provider.Version{c.From}
}

func (c Change) news() []provider.Version {
	if c.Kind == diff.Removed {
		return nil
	}
	return []provider.Version{c.To}
}

// move says which versions a change is about.
func (d dialect) move(c Change) string {
	from, to := d.versions(c.olds()), d.versions(c.news())
	if from == "" || to == "" || from == to {
		return cmp.Or(to, from)
	}
	return from + " " + d.arrow + " " + to
}

// details says what else a change does.
func (d dialect) details(c Change) []string {
	var parts []string
	if c.Kind == diff.Moved {
		parts = append(parts, "was "+d.code(c.AddrFrom.String()))
	}
	if c.Kind == diff.ReReleased {
		parts = append(parts, "the packages of this version were replaced")
	}
	if text := hashes(c.Change); text != "" && c.Kind != diff.Added && c.Kind != diff.Removed {
		parts = append(parts, text)
	}
	if c.Kind == diff.Completed && len(c.Platforms) > 0 {
		parts = append(parts, "completes "+d.platforms(c.Platforms))
	}
	switch {
	case len(c.Coverage) == 0:
	case c.Kind == diff.Completed && len(c.Platforms) > 0:
		parts = append(parts, "covers "+count(len(c.Coverage), "platform", "platforms")+" now")
	default:
		parts = append(parts, "covers "+d.platforms(c.Coverage))
	}
	if !c.ConstraintsFrom.Equal(c.ConstraintsTo) && c.Kind != diff.Added && c.Kind != diff.Removed {
		parts = append(parts, fmt.Sprintf("constraints %s %s %s", d.constraints(c.ConstraintsFrom), d.arrow, d.constraints(c.ConstraintsTo)))
	}
	if text := d.signer(c.Signer); text != "" && c.label() != unsigned {
		if c.resigned() {
			text += " (" + formerly(d.signer(c.SignerFrom)) + ")"
		}
		parts = append(parts, text)
	}
	for _, m := range c.Marks {
		if text := markTexts[m]; text != "" {
			parts = append(parts, text)
		}
	}
	if text := day(c.Published); text != "" {
		parts = append(parts, "released "+text)
	}
	return parts
}

// markTexts say what hashes rest on, where that is less than a signed list. A
// list that nobody signed is said with the signer.
var markTexts = map[provider.Mark]string{
	provider.MarkMirror:   "from a mirror",
	provider.MarkReported: "hashes of other platforms as the registry reports them",
}

// resigned reports whether another key signed than before, or none. Nothing is
// said where either is unknown, or where a signature is new.
func (f Facts) resigned() bool {
	return f.SignerFrom.KeyID != "" && f.SignerFrom.KeyID != f.Signer.KeyID && f.Signer != (provider.Signer{})
}

// formerly turns "signed by …" into what was before.
func formerly(signer string) string { return "before: " + signer }

// day is a time as reports tell it; empty if it is not known. It is the day in
// UTC, so that the same run says the same everywhere.
func day(at time.Time) string {
	return provider.Day(at).String()
}

func (d dialect) constraints(c provider.Constraints) string {
	if c.Empty() {
		return "none"
	}
	return d.code(c.String())
}

// hashes is the change of a set of hashes in short. A hash that goes while
// another comes counts as replaced.
func hashes(c diff.Change) string {
	added, removed := len(c.HashesAdded), len(c.HashesRemoved)
	replaced := min(added, removed)
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{added - replaced, "added"}, {replaced, "replaced"}, {removed - replaced, "removed"}} {
		switch {
		case p.n > 0 && len(parts) == 0:
			parts = append(parts, count(p.n, "hash", "hashes")+" "+p.what)
		case p.n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// manyPlatforms is the number from which platforms are counted, not listed.
const manyPlatforms = 7

func (d dialect) platforms(platforms []provider.Platform) string {
	if len(platforms) >= manyPlatforms {
		return fmt.Sprintf("%d platforms", len(platforms))
	}
	names := make([]string, len(platforms))
	for i, p := range platforms {
		names[i] = d.code(p.String())
	}
	return strings.Join(names, ", ")
}

// The labels of signers that are not names.
const (
	labelPartner    = "partner"
	labelSelfSigned = "self-signed"
	labelSigned     = "signed" // by a key of which no more is known
	unsigned        = "unsigned"
)

// signer says who signed a checksum list, in the words of the tools; empty if
// that is not known.
func (d dialect) signer(s provider.Signer) string {
	text := "signed by " + d.text(s.Label)
	switch s.Label {
	case unsigned:
		return "not signed"
	case labelPartner:
		text = "signed by a HashiCorp partner"
	case labelSelfSigned, labelSigned:
		text = s.Label
	case "":
		text = "signed"
	}
	switch {
	case s.KeyID != "":
		return text + ", key " + d.code(s.KeyID)
	case s.Label == "":
		return ""
	}
	return text
}

// signerCell is the same for a table's column of signers.
func (d dialect) signerCell(s provider.Signer) string {
	label := d.text(s.Label)
	switch s.Label {
	case unsigned:
		return "not signed"
	case labelSigned:
		label = ""
	}
	return strings.TrimSpace(label + " " + d.code(s.KeyID))
}

// signers is that cell for a change.
func (d dialect) signers(f Facts) string {
	if f.resigned() {
		return d.signerCell(f.Signer) + ", was " + d.signerCell(f.SignerFrom)
	}
	return d.signerCell(f.Signer)
}

// place is where a term stands: the line, and the module path if it is not in
// the root module, with the version of a module that was fetched.
func (d dialect) place(t scan.Term, from Origins) string {
	var about []string
	if t.Module != "" {
		about = append(about, d.code(modulePath(t.Module)))
	}
	if origin := from.of(t.Module); t.Module != "" && origin != "" && t.Place.Package != "" {
		about = append(about, d.text(origin))
	}
	if t.Source != "" {
		about = append(about, "source = "+d.code(t.Source))
	}
	if t.Expression != "" {
		about = append(about, "version = "+d.code(t.Expression))
	}
	if len(about) == 0 {
		return d.at(t.Place)
	}
	return d.at(t.Place) + " (" + strings.Join(about, ", ") + ")"
}

func (d dialect) at(p problem.Place) string { return d.code(d.files.Place(p).String()) }

// modulePath writes the names of module calls as the tools write the address
// of a module.
func modulePath(calls string) string {
	return "module." + strings.ReplaceAll(calls, ".", ".module.")
}

// held says why a provider goes no further; empty if that needs no saying. The
// newest release of all comes first, then the newest that each further reason
// holds.
func (d dialect) held(k Kept) string {
	if len(k.Held) == 0 {
		return ""
	}
	return d.name(k.Addr) + " at " + d.version(k.Version) + " " + d.heldBy(k.Held, func(h upgrade.Held) string { return d.terms(h, k.Origins) })
}

// heldWhy is what is the same of it wherever the constraints stand.
func (d dialect) heldWhy(k Kept) string {
	if len(k.Held) == 0 {
		return ""
	}
	return d.name(k.Addr) + " " + d.heldBy(k.Held, func(h upgrade.Held) string { return d.bound(h.Term) })
}

func (d dialect) heldBy(held []upgrade.Held, terms func(upgrade.Held) string) string {
	text := fmt.Sprintf("%s; newest is %s", d.because(held[0], terms), d.dated(held[0]))
	for _, h := range held[1:] {
		text += fmt.Sprintf("; then %s, held %s", d.dated(h), d.because(h, terms))
	}
	return text
}

// dated is a held version and its day.
func (d dialect) dated(h upgrade.Held) string {
	if text := day(h.Published); text != "" {
		return d.version(h.Version) + ", released " + text
	}
	return d.version(h.Version)
}

// because says what holds a release, and until when if that is known.
func (d dialect) because(h upgrade.Held, terms func(upgrade.Held) string) string {
	rule := "by a rule"
	if h.By.Rule != "" {
		rule += " (" + d.text(h.By.Rule) + ")"
	}
	switch {
	case h.By.Reason == upgrade.HeldByConstraint:
		return "by " + terms(h)
	case h.By.Reason == upgrade.HeldByPlatform:
		return "by a platform that it is not published for"
	case h.By.Reason == upgrade.HeldByLock:
		return "by the lock file, since this check takes no newer version"
	case h.By.Reason == upgrade.HeldByProtocol:
		return "by its plugin protocol"
	case h.By.Reason == policy.HeldByHold:
		return rule + " until " + day(h.By.Eligible)
	case h.By.Reason == policy.HeldByAge && h.By.Eligible.IsZero():
		return rule + ", because its age is not known"
	case h.By.Reason == policy.HeldByAge:
		return rule + " until " + day(h.By.Eligible) + ", when it is old enough"
	}
	return rule
}

// fewTerms is how many terms that exclude a release are named in a line, beside
// the one that decides.
const fewTerms = 2

// terms are those that exclude a release, the deciding one first.
func (d dialect) terms(h upgrade.Held, from Origins) string {
	text := d.term(h.Term, from)
	for _, t := range h.Others[:min(len(h.Others), fewTerms)] {
		text += " and " + d.term(t, from)
	}
	if rest := len(h.Others) - fewTerms; rest > 0 {
		text += " and " + count(rest, "other term", "other terms")
	}
	return text
}

func (d dialect) term(t scan.Term, from Origins) string {
	return d.bound(t) + " at " + d.place(t, from)
}

// bound is a term as it holds a release. A version alone, which means that version
// exactly, would be read as the release that is held.
func (d dialect) bound(t scan.Term) string {
	text := t.Constraint.String()
	if t.Constraint.Op == provider.Exactly {
		text = "= " + strings.TrimPrefix(text, "= ")
	}
	return d.code(text)
}

// missing says which wanted platforms a release does not serve.
func (d dialect) missing(k Kept) string {
	text := fmt.Sprintf("%s %s is not released for %s", d.name(k.Addr), d.version(k.Version), d.platforms(k.Missing))
	if !k.Serving.IsZero() {
		text += "; " + d.version(k.Serving) + " is released for all of the wanted platforms"
	}
	return text
}

// unreadCall says which module call could not be followed, or which entry leaves open what
// it requires, and why.
func (d dialect) unreadCall(u scan.Unread) string {
	text := d.code(modulePath(u.Module))
	if u.OfEntry() {
		text = "provider " + d.code(u.Provider)
	}
	if u.OfEntry() && u.Module != "" {
		text += " of " + d.code(modulePath(u.Module))
	}
	if u.Place.Path != "" {
		text += " at " + d.at(u.Place)
	}
	if u.Source != "" {
		text += ", source " + d.code(u.Source)
	}
	if u.OfEntry() {
		text += ", " + d.code(u.Expression)
	}
	return text + ": " + d.text(cmp.Or(u.Cause, u.Reason))
}

// preserving is what else can be done about a module that cannot be read.
const preserving = "; or --unreadable-modules preserve lets the recorded constraints stand in for it"

// unread is a call that could not be followed, as one of those to its module
// package. Recorded constraints may stand in for what it requires.
func (d dialect) unread(u scan.Unread, replaced bool) symptom {
	s := symptom{concern: concernUnread, whole: d.unreadCall(u), next: d.text(u.Hint)}
	if u.OfEntry() {
		s.what = "what is required of the provider " + d.code(u.Provider) + " is not known: " + d.text(u.Reason)
		s.of = s.what
	}
	if u.Source != "" {
		s.of = string(u.Code) + " " + moduleaddr.ShownPackage(u.Source)
		s.what = "modules of " + d.code(moduleaddr.ShownPackage(u.Source)) + " could not be read"
		if replaced {
			s.what += ", and the recorded constraints stand in for them"
		}
		s.what += ": " + d.text(cmp.Or(u.Cause, u.Reason))
	}
	if u.Place.Path != "" {
		s.places = []string{d.at(u.Place)}
	}
	return s
}

// diagnostic returns a problem's place and message.
func (d dialect) diagnostic(p problem.Diagnostic) string {
	if file := d.files.Place(p.Place).File(); file == "" || file == "." { // where relock was started
		return d.text(p.Message)
	}
	return d.at(p.Place) + ": " + d.text(p.Message)
}

// deciding is the term that bounds the version most: an exact one, else the one
// with the least upper bound, else the one with the greatest lower bound. Of
// equals the first wins. ok is false if no term says anything.
func deciding(terms []scan.Term) (best scan.Term, ok bool) {
	for _, t := range terms {
		if t.Constraint.Op != 0 && (!ok || tighter(t.Constraint, best.Constraint)) {
			best, ok = t, true
		}
	}
	return best, ok
}

func tighter(a, b provider.Term) bool {
	aBound, aUpper := upper(a)
	bBound, bUpper := upper(b)
	switch {
	case aUpper != bUpper:
		return aUpper
	case aUpper:
		return aBound.Compare(bBound) < 0
	case a.Op == provider.Not || b.Op == provider.Not:
		return b.Op == provider.Not && a.Op != provider.Not
	}
	return a.Bound.Compare(b.Bound) > 0
}

// upper returns the least version above what a term allows, or the version
// itself for a term that allows it; ok is false if it sets no upper bound.
func upper(t provider.Term) (v provider.Version, ok bool) {
	b := t.Bound
	switch t.Op {
	case provider.Exactly, provider.AtMost, provider.Less:
		return b, true
	case provider.WithinMinor:
		return provider.Version{Major: b.Major, Minor: b.Minor + 1}, true
	case provider.WithinMajor:
		return provider.Version{Major: b.Major + 1}, true
	}
	return provider.Version{}, false
}

// count is a number and its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// dirs names root modules, few by name and many by number.
func (d dialect) dirs(dirs []string, most int) string {
	if len(dirs) > most {
		return count(len(dirs), "root module", "root modules")
	}
	return d.list(dirs)
}

// list names root modules: all of them.
func (d dialect) list(dirs []string) string {
	names := make([]string, len(dirs))
	for i, dir := range dirs {
		names[i] = d.code(dir)
	}
	return strings.Join(names, ", ")
}

// namedLagging is the number of root modules with an old version up to which
// they are named: whoever wants to bring them up must find them.
const namedLagging = 10

// usedIn says in which root modules a version is: the newest in use needs no
// names, an older one does.
func (d dialect) usedIn(u usage, newest bool) string {
	if newest {
		return "in " + d.dirs(u.Dirs, 1)
	}
	return "in " + d.dirs(u.Dirs, namedLagging)
}

// documentation links to what Terraform's public registry has on a release, the
// publisher's guides among it; empty for other registries.
func (d dialect) documentation(c Change) string {
	if c.Addr.Host != provider.Terraform.DefaultHost() {
		return ""
	}
	page := fmt.Sprintf("https://%s/providers/%s/%s/%s/docs", c.Addr.Host, c.Addr.Namespace, c.Addr.Type, c.To)
	return " (" + d.link("documentation", page) + ")"
}

// versions names those of several changes: the only one, or the span.
func (d dialect) versions(all []provider.Version) string {
	distinct := slices.SortedFunc(slices.Values(all), provider.Version.Compare)
	distinct = slices.Compact(distinct)
	switch last := len(distinct) - 1; {
	case last < 0:
		return ""
	case last == 0:
		return d.version(distinct[0])
	default:
		return d.version(distinct[0]) + " … " + d.version(distinct[last])
	}
}

// itemsOf are the changes of a root module as sentences.
func (d dialect) itemsOf(m Module) []string {
	if len(m.Changes) == 0 {
		return []string{"Formatting only: the lock file is not in the form that the tool writes."}
	}
	return list(m.Changes, func(c Change) string {
		text := fmt.Sprintf("%s %s (%s)", d.name(c.Addr), d.move(c), c.label())
		if details := d.details(c); len(details) > 0 {
			text += ": " + strings.Join(details, "; ")
		}
		return text
	})
}

// upgrade names a provider and its versions.
func (d dialect) upgrade(n notes.Notes) string {
	return fmt.Sprintf("%s %s %s %s", d.name(n.Addr), d.version(n.From), d.arrow, d.version(n.To))
}

// broken is what publishers say that an upgrade breaks; empty if nothing.
func (d dialect) broken(n notes.Notes) string {
	var text strings.Builder
	for _, s := range breaking(n) {
		text.WriteString(s.Text + "\n\n")
	}
	first, more := safe.Leads(text.String(), fewLeads)
	lines := list(first, safe.Markdown.String)
	if len(lines) == 0 {
		return ""
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("%d more in the release notes", more))
	}
	return d.upgrade(n) + ": " + strings.Join(lines, "; ")
}

// fewPlaces is how many places of a cause are named.
const fewPlaces = 3

// said is the sentence about a cause, without what to do next.
func (d dialect) said(c *cause) string {
	if len(c.whole.list) == 1 {
		return c.whole.list[0]
	}
	text := c.what.list[0]
	if n := len(c.what.list) - 1; n > 0 {
		text = strings.TrimSuffix(text, ".") + ", and " + count(n, "more like it", "more like it")
	}
	if places := c.places.list; len(places) > 0 {
		text = strings.TrimSuffix(text, ".") + " (" + firstPlaces(places) + ")"
	}
	return text
}

// saidIn is the same with the root modules at its end.
func (d dialect) saidIn(c *cause) string {
	where := "in " + d.dirs(c.dirs.list, fewDirs)
	if len(c.whole.list) > 1 && len(c.places.list) > 0 {
		return strings.TrimSuffix(d.said(&cause{what: c.what}), ".") + " (" + where + ": " + firstPlaces(c.places.list) + ")"
	}
	return d.said(c) + " (" + where + ")"
}

// firstPlaces are the first places of many.
func firstPlaces(places []string) string {
	text := strings.Join(places[:min(len(places), fewPlaces)], ", ")
	if more := len(places) - fewPlaces; more > 0 {
		text += " and " + count(more, "more place", "more places")
	}
	return text
}

// capital begins a sentence of ours.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// fewDirs is the number of root modules up to which they are named in a line.
const fewDirs = 3

func toolText(m Module) string {
	if m.Tool.Name == "" {
		return ""
	}
	text := m.Tool.String()
	if m.Assumed {
		text += ", assumed"
	}
	if m.Partial {
		text += ", partial"
	}
	return " (" + text + ")"
}

// made says what is known of a configuration that another program makes, and what there
// is to note about any.
func (d dialect) made(m scan.RootModule) []string {
	var lines []string
	if name := kindTitles[m.Kind]; name != "" {
		if m.Origin != "" {
			name += " of the module " + d.code(m.Origin)
		}
		lines = append(lines, name)
	}
	for _, h := range m.Holes {
		known := " is not known; no requirement depends on it"
		if h.Parts > 1 {
			known = " are not known; no requirement depends on them"
		}
		lines = append(lines, fmt.Sprintf("%s of %s%s (%s)", count(h.Parts, "part", "parts"), d.code(h.Generated), known, d.text(d.files.Place(h.Place).String())))
	}
	for _, text := range m.Assumptions {
		lines = append(lines, "assumed: "+d.text(text))
	}
	for _, u := range m.Tree.Unread {
		if u.Code == problem.CodeTerragruntUnit {
			lines = append(lines, fmt.Sprintf("known in part: %s (%s)", d.text(u.Reason), d.text(d.files.Place(u.Place).String())))
		}
	}
	for _, n := range m.Tree.Notes {
		lines = append(lines, fmt.Sprintf("note: %s (%s)", d.text(n.Message), d.text(d.files.Place(n.Place).String())))
	}
	return lines
}

// kindTitles are what people call root modules whose configuration is not theirs.
var kindTitles = map[scan.Kind]string{
	scan.TerragruntUnit: "Terragrunt unit", scan.Stack: "stack", scan.CDK: "CDK for Terraform", scan.Orphan: "a lock file alone",
}
