package outline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// Vocabulary has the names that a report uses for providers and files. Its
// methods are the sentences that text, Markdown and page share.
type Vocabulary struct {
	providers map[provider.Addr]string
	// Files are the names of the files of one root module.
	Files   problem.Naming
	origins report.Origins // of the root module
	// comments means that people read the report on GitHub, where a comment can
	// be a command.
	comments bool
	pulls    []report.PullRequest
	undated  bool // leave out the dates of held releases
	// named are places that a sentence leaves out, since the one beside it has them.
	named []problem.Place
}

// Of is the vocabulary for one root module.
func (d Vocabulary) Of(m report.Module) Vocabulary {
	d.Files, d.origins = m.Names, m.Origins
	return d
}

// VocabularyOf names each provider of the report.
func VocabularyOf(r report.Report) Vocabulary {
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
	return Vocabulary{providers: all.ByHost(), comments: r.Verb == verbs.PR || r.Verb == verbs.Comment, pulls: r.PullRequests}
}

// Name is the provider's short name as code. If the report has no short names for
// its registry, Name is the address.
func (d Vocabulary) Name(a provider.Addr) safe.Markdown { return safe.Code(d.Called(a)) }

// Called is the provider's short name, or its address.
func (d Vocabulary) Called(a provider.Addr) string { return cmp.Or(d.providers[a], a.Short()) }

// Version writes a version, also 0.0.0.
func (d Vocabulary) Version(v provider.Version) safe.Markdown { return safe.Text(v.String()) }

// Label names the kind of a change in a word or two.
func (d Vocabulary) Label(c report.Change) string {
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

// Move says which versions a change is about.
func (d Vocabulary) Move(c report.Change) safe.Markdown {
	return moved(d.versions(c.Olds()), d.versions(c.News()))
}

// moved is the way from one version to another; the only one if there is no other.
func moved(from, to safe.Markdown) safe.Markdown {
	if from.Empty() || to.Empty() || from == to {
		return cmp.Or(to, from)
	}
	return safe.Join(" ", from, safe.Arrow, to)
}

// Details says what else changes; empty if nothing does.
func (d Vocabulary) Details(c report.Change) safe.Markdown {
	var parts []safe.Markdown
	switch c.Kind {
	case diff.Moved:
		parts = append(parts, safe.Format("was %s", safe.Code(c.AddrFrom.String())))
	case diff.ReReleased:
		parts = append(parts, safe.Const("the packages of this version were replaced"))
	}
	stays := c.Kind != diff.Added && c.Kind != diff.Removed
	if stays {
		parts = append(parts, hashes(c.Change))
	}
	covers := safe.Maybe("covers %s", d.platforms(c.Coverage))
	if c.Kind == diff.Completed && len(c.Platforms) > 0 {
		parts = append(parts, safe.Format("completes %s", d.platforms(c.Platforms)))
		if len(c.Coverage) > 0 {
			covers = safe.Format("covers %s now", safe.Count(len(c.Coverage), "platform", "platforms"))
		}
	}
	parts = append(parts, covers)
	if stays && !c.ConstraintsFrom.Equal(c.ConstraintsTo) {
		parts = append(parts, safe.Format("constraints %s %s %s", d.constraints(c.ConstraintsFrom), safe.Arrow, d.constraints(c.ConstraintsTo)))
	}
	if b := c.Brought; b.Module != "" {
		what := safe.Const("it")
		if b.Term.Op != 0 {
			what = safe.Code(b.Term.String())
		}
		parts = append(parts, safe.Format("%s %s brings %s", safe.Code(modulePath(b.Module)), LockedAs(b.Version, b.Hash), what))
	}
	if d.Label(c) != unsigned {
		signer := d.signer(c.Signer)
		if c.Resigned() {
			signer = signer.And(" (before: %s)", d.signer(c.SignerFrom))
		}
		parts = append(parts, signer)
	}
	for _, m := range c.Marks {
		parts = append(parts, markTexts[m])
	}
	parts = append(parts, safe.Maybe("released %s", safe.Text(provider.Day(c.Published).String())))
	return safe.JoinSome("; ", parts...)
}

// markTexts say what supports a hash that no signed list has. An unsigned list is
// described with the signer.
var markTexts = map[provider.Mark]safe.Markdown{
	provider.MarkMirror:   safe.Const("from a mirror"),
	provider.MarkReported: safe.Const("hashes of other platforms as the registry reports them"),
}

func (d Vocabulary) constraints(c provider.Constraints) safe.Markdown {
	if c.Empty() {
		return safe.Const("none")
	}
	return safe.Code(c.String())
}

// hashes sums up a change of a set of hashes. One removed hash and one added hash
// count as one replaced hash.
func hashes(c diff.Change) safe.Markdown {
	added, removed := len(c.HashesAdded), len(c.HashesRemoved)
	replaced := min(added, removed)
	var parts []safe.Markdown
	for _, p := range []struct {
		n    int
		what safe.Markdown
	}{{added - replaced, safe.Const("added")}, {replaced, safe.Const("replaced")}, {removed - replaced, safe.Const("removed")}} {
		switch {
		case p.n > 0 && len(parts) == 0:
			parts = append(parts, safe.Join(" ", safe.Count(p.n, "hash", "hashes"), p.what))
		case p.n > 0:
			parts = append(parts, safe.Join(" ", safe.Int(p.n), p.what))
		}
	}
	return safe.Join(", ", parts...)
}

// manyPlatforms is the number from which platforms are counted, not listed.
const manyPlatforms = 7

func (d Vocabulary) platforms(platforms []provider.Platform) safe.Markdown {
	if len(platforms) >= manyPlatforms {
		return safe.Count(len(platforms), "platform", "platforms")
	}
	return safe.Join(", ", collect.Mapped(platforms, func(p provider.Platform) safe.Markdown { return safe.Code(p.String()) })...)
}

// The labels of signers that are not names.
const (
	labelPartner    = "partner"
	labelSelfSigned = "self-signed"
	labelSigned     = "signed" // by a key whose owner is unknown
	unsigned        = "unsigned"
)

// signer says who signed a checksum list; empty if unknown. What the tools call
// "self-signed" is the usual case and no reason for alarm: the publisher has
// signed the list.
func (d Vocabulary) signer(s provider.Signer) safe.Markdown {
	key := safe.Maybe(", key %s", safe.Code(s.KeyID))
	switch s.Label {
	case unsigned:
		return safe.Const("not signed")
	case labelPartner:
		return safe.Format("signed by a HashiCorp partner%s", key)
	case labelSelfSigned:
		return safe.Format("signed by its %s", d.signerCell(s))
	case labelSigned:
		return safe.Format("signed%s", key)
	case "":
		return safe.Maybe("signed%s", key)
	}
	return safe.Format("signed by %s%s", safe.Text(s.Label), key)
}

// signerCell is signer in the short form of a table cell.
func (d Vocabulary) signerCell(s provider.Signer) safe.Markdown {
	label := safe.Text(s.Label)
	switch s.Label {
	case unsigned:
		return safe.Const("not signed")
	case labelSigned:
		label = safe.Markdown{}
	case labelSelfSigned:
		label = safe.Const("publisher's key")
	}
	return safe.JoinSome(" ", label, safe.Code(s.KeyID))
}

// assumed says which releases of the tools the run assumes.
func (d Vocabulary) assumed(r report.Report) safe.Markdown {
	var dirs collect.Groups[string, string] // by tool
	all := 0
	for _, m := range r.Modules {
		if m.Tool.Name == "" {
			continue
		}
		all++
		if m.Assumed {
			dirs.Add(m.Tool.String(), r.Title(m))
		}
	}
	slices.Sort(dirs.Keys)
	return safe.Maybe("Nothing names the release of the tool: %s.", safe.Join(", ", collect.Mapped(dirs.Keys, func(tool string) safe.Markdown {
		text := safe.Format("%s is assumed", safe.Text(tool))
		if len(dirs.Of[tool]) < all {
			text = text.And(" in %s", d.Dirs(dirs.Of[tool], FewDirs))
		}
		return text
	})...))
}

// Place is the position of a term: the line, and the module path outside the root
// module. A fetched module has its version, too.
func (d Vocabulary) Place(t scan.Term) safe.Markdown {
	return d.At(t.Place).And("%s", d.about(t))
}

// where is the position of a term behind its text, without a line that is named beside it.
func (d Vocabulary) where(t scan.Term) safe.Markdown {
	if slices.Contains(d.named, t.Place) {
		return d.about(t)
	}
	return safe.Format(" at %s", d.Place(t))
}

// about is what a term's line does not say about it, in parentheses.
func (d Vocabulary) about(t scan.Term) safe.Markdown {
	var origin safe.Markdown
	if t.Place.Package != "" {
		origin = safe.Text(d.origins.Of(t.Module))
	}
	return safe.Maybe(" (%s)", safe.JoinSome(", ",
		safe.Code(modulePath(t.Module)),
		origin,
		safe.Maybe("of %s", safe.Text(t.Unit)),
		safe.Maybe("source = %s", safe.Code(t.Source)),
		safe.Maybe("version = %s", safe.Code(t.Expression)),
		safe.Text(t.Sets.String()),
	))
}

// At is a place with the name that people use.
func (d Vocabulary) At(p problem.Place) safe.Markdown {
	return safe.Code(d.Files.Place(p).String())
}

// modulePath writes the names of module calls in the form of the tools' module
// addresses; empty for the root module.
func modulePath(calls string) string {
	if calls == "" {
		return ""
	}
	return "module." + strings.ReplaceAll(calls, ".", ".module.")
}

// held says why a provider cannot move. The newest release of all comes first. The
// newest release that each further reason blocks follows.
func (d Vocabulary) held(k report.Kept) safe.Markdown {
	return safe.Join("", d.Name(k.Addr), safe.Detail(" at %s", d.Version(k.Version)), safe.Const(" "), d.heldBy(k))
}

// heldBy is held without the provider.
func (d Vocabulary) heldBy(k report.Kept) safe.Markdown {
	var text safe.Markdown
	for _, h := range k.Held {
		text = andHeld(text, d.dated(d.Version(h.Version), h.Published), d.because(h))
	}
	return text
}

// andHeld adds a held release, the newest one first, to what is said of it.
func andHeld(text, release, because safe.Markdown) safe.Markdown {
	if text.Empty() {
		return safe.Format("%s; newest is %s", because, release)
	}
	return text.And("; then %s, held %s", release, because)
}

// heldModules says of each locked module why it does not move on, as held does of providers.
func (d Vocabulary) heldModules(m report.Module) []safe.Markdown {
	type place struct{ address, at string }
	type reason struct {
		place
		by policy.Hold
	}
	var places collect.Set[place]
	texts, told := map[place]safe.Markdown{}, map[reason]bool{}
	for _, h := range m.HeldModules {
		at := place{h.Address, h.At}
		places.Add(at)
		if why := (reason{at, h.By}); !told[why] {
			told[why] = true
			release := LockedAs(h.Version, h.Hash)
			if d.undated { // the next night may have another commit
				release = safe.Text(cmp.Or(h.Version, "HEAD"))
			}
			texts[at] = andHeld(texts[at], d.dated(release, h.Published), d.because(upgrade.Held{By: h.By}))
		}
	}
	return collect.Mapped(places.List, func(p place) safe.Markdown {
		return safe.Join(" ", safe.Code(moduleaddr.Shown(p.address)), safe.Detail("at %s", safe.Text(cmp.Or(p.at, "HEAD"))), texts[p])
	})
}

// dated is a held release with its date.
func (d Vocabulary) dated(release safe.Markdown, published time.Time) safe.Markdown {
	if d.undated {
		return release
	}
	return release.AndMaybe(", released %s", safe.Text(provider.Day(published).String()))
}

// because says what holds a release, and the end of the hold if known.
func (d Vocabulary) because(h upgrade.Held) safe.Markdown {
	rule := safe.Const("by a rule").AndMaybe(" (%s)", safe.Text(h.By.Rule))
	switch {
	case h.By.Reason == upgrade.HeldByConstraint:
		return safe.Format("by %s", d.terms(h))
	case h.By.Reason == upgrade.HeldByPlatform:
		return safe.Const("by a platform that it is not published for")
	case h.By.Reason == upgrade.HeldByLock:
		return safe.Const("by the lock file, since this check takes no newer version")
	case h.By.Reason == upgrade.HeldByProtocol:
		return safe.Const("by its plugin protocol")
	case h.By.Reason == policy.HeldByHold:
		return rule.And(" until %s", safe.Text(provider.Day(h.By.Eligible).String()))
	case h.By.Reason == policy.HeldByAge && h.By.Eligible.IsZero():
		return rule.And(", because its age is not known")
	case h.By.Reason == policy.HeldByAge:
		return rule.And(" until %s, when the first newer release is old enough", safe.Text(provider.Day(h.By.Eligible).String()))
	}
	return rule
}

// fewTerms is the number of further terms that a line names after the deciding
// one.
const fewTerms = 2

// terms returns the terms that exclude a release, the deciding one first. The
// others are details.
func (d Vocabulary) terms(h upgrade.Held) safe.Markdown {
	others := safe.Markdown{}
	for _, t := range h.Others[:min(len(h.Others), fewTerms)] {
		others = others.And(" and %s%s", d.bound(t), d.where(t))
	}
	others = others.AndMaybe(" and %s", safe.Some(len(h.Others)-fewTerms, "other term", "other terms"))
	return d.bound(h.Term).And("%s", safe.Detail("%s%s", d.where(h.Term), others))
}

// bound writes a term that holds a release. A bare version gets "=": without it,
// readers would take it for the held release.
func (d Vocabulary) bound(t scan.Term) safe.Markdown {
	text := t.Constraint.String()
	if t.Constraint.Op == provider.Exactly {
		text = "= " + strings.TrimPrefix(text, "= ")
	}
	return safe.Code(text)
}

// Missing says which wanted platforms a release lacks.
func (d Vocabulary) Missing(k report.Kept) safe.Markdown {
	text := safe.Format("%s %s is not released for %s", d.Name(k.Addr), d.Version(k.Version), d.platforms(k.Missing))
	for _, p := range k.Missing {
		if since, ok := k.Since[p]; ok {
			text = text.And("; no %s before %s", safe.Text(p.String()), d.Version(since))
		}
	}
	if !k.Serving.IsZero() {
		text = text.And("; %s is released for all of the wanted platforms", d.Version(k.Serving))
	}
	return text
}

// UnreadCall says which module call could not be followed, or which entry does
// not say what it requires, and why.
func (d Vocabulary) UnreadCall(u scan.Unread) safe.Markdown {
	text, expression := safe.Code(modulePath(u.Module)), safe.Markdown{}
	if u.OfEntry() {
		text = safe.Format("provider %s", safe.Code(u.Provider)).AndMaybe(" of %s", text)
		expression = safe.Format(", %s", safe.Code(u.Expression))
	}
	if u.Place.Path != "" {
		text = text.And(" at %s", d.At(u.Place))
	}
	return safe.Join("",
		text.AndMaybe(", source %s", safe.Code(u.Source)),
		expression.AndMaybe(", with the %s", safe.Text(u.Sets.String())),
		safe.Format(": %s", safe.Text(cmp.Or(u.Cause, u.Reason))),
	)
}

// preserving is the other way to deal with a module that cannot be read.
const preserving = "; or --unreadable-modules preserve uses the recorded constraints instead"

// unread is a symptom: a call that could not be followed, of one module package.
// replaced means that recorded constraints are used instead of its requirements.
func (d Vocabulary) unread(u scan.Unread, replaced bool) symptom {
	s := symptom{concern: ConcernUnread, said: d.UnreadCall(u), next: safe.Hint(u.Hint), outage: u.Outage}
	reason := cmp.Or(u.Cause, u.Reason)
	s.outage.Reason = cmp.Or(u.Outage.Reason, reason)
	if u.OfEntry() {
		s.of = u.Provider + " " + u.Reason
		s.general = safe.Format("the requirements on the provider %s are not known: %s", safe.Code(u.Provider), safe.Text(u.Reason))
	}
	if u.Source != "" {
		s.module = moduleaddr.ShownPackage(u.Source)
		s.of = string(u.Code) + " " + s.module
		instead := safe.Markdown{}
		if replaced {
			instead = safe.Const(", and the recorded constraints are used instead")
		}
		s.general = safe.Format("modules of %s could not be read%s: %s", safe.Code(s.module), instead, safe.Text(reason))
	}
	if u.Place.Path != "" {
		s.places = []safe.Markdown{d.At(u.Place)}
	}
	return s
}

// outage says which server did not answer or has a fault, why, and what needs the
// server.
func outage(c *Topic) safe.Markdown {
	text := safe.Format("%s cannot be reached", safe.Text(c.server))
	switch {
	case len(c.reasons.List) > 0 && c.answered:
		text = safe.Format("%s answers %s", safe.Text(c.server), safe.Text(c.reasons.List[0]))
	case len(c.reasons.List) > 0:
		text = text.And(": %s", safe.Text(c.reasons.List[0]))
	}
	text = text.AndMaybe(", and %s", safe.Some(len(c.reasons.List)-1, "more reason", "more reasons"))
	needs := safe.JoinSome(" and ",
		safe.Some(len(c.providers.List), "provider", "providers"),
		safe.Some(len(c.modules.List), "module package", "module packages"))
	if len(c.providers.List)+len(c.modules.List) == 1 {
		return text.And("; %s needs it", needs)
	}
	return text.AndMaybe("; %s need it", needs)
}

// Diagnostic returns a problem's place and message.
func (d Vocabulary) Diagnostic(p problem.Problem) safe.Markdown {
	if file := d.Files.Place(p.Place).File(); file == "" || file == "." { // the directory where relock was started
		return safe.Text(p.Message)
	}
	return safe.Detail("%s: ", d.At(p.Place)).And("%s", safe.Text(p.Message))
}

// Deciding is the term that limits the version most. An exact term comes first,
// then the lowest upper bound, then the highest lower bound. Of equal terms the
// first wins. ok is false if no term has a limit.
func Deciding(terms []scan.Term) (best scan.Term, ok bool) {
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

// upper returns the lowest version above the allowed range of a term. For a term
// that allows one version, it returns that version. ok is false without an upper
// bound.
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

// Dirs names up to most root modules, and counts more of them.
func (d Vocabulary) Dirs(dirs []string, most int) safe.Markdown {
	if len(dirs) > most {
		return safe.Count(len(dirs), "root module", "root modules")
	}
	return d.List(dirs)
}

// List names all root modules.
func (d Vocabulary) List(dirs []string) safe.Markdown {
	return safe.Join(", ", collect.Mapped(dirs, safe.Code)...)
}

// namedLagging is the highest number of root modules with an old version that are
// named. Names help readers to find and update them.
const namedLagging = 10

// UsedIn says which root modules use a version. Only versions that are not the
// newest in use get names.
func (d Vocabulary) UsedIn(u report.VersionUse, newest bool) safe.Markdown {
	if newest {
		return safe.Format("in %s", d.Dirs(u.Dirs, 1))
	}
	return safe.Format("in %s", d.Dirs(u.Dirs, namedLagging))
}

// documentation links to the pages and guides of a release in Terraform's public
// registry; empty for other registries.
func (d Vocabulary) documentation(c report.Change) safe.Markdown {
	if c.Addr.Host != provider.Terraform.DefaultHost() {
		return safe.Markdown{}
	}
	page := fmt.Sprintf("https://%s/providers/%s/%s/%s/docs", c.Addr.Host, c.Addr.Namespace, c.Addr.Type, c.To)
	return safe.Format(" (%s)", safe.Link(safe.Const("documentation"), page))
}

// versions returns the only version, or the lowest and the highest.
func (d Vocabulary) versions(all []provider.Version) safe.Markdown {
	distinct := slices.SortedFunc(slices.Values(all), provider.Version.Compare)
	distinct = slices.Compact(distinct)
	switch last := len(distinct) - 1; {
	case last < 0:
		return safe.Markdown{}
	case last == 0:
		return d.Version(distinct[0])
	default:
		return safe.Join(" … ", d.Version(distinct[0]), d.Version(distinct[last]))
	}
}

// Unlisted says what is pending in a lock file without a list of changes.
func (d Vocabulary) Unlisted(m report.Module) safe.Markdown {
	if !m.Remembered {
		return safe.Const("formatting only")
	}
	var parts []safe.Markdown
	for _, p := range d.pulls {
		switch {
		case !holds(p, m.Dir):
		case p.Number > 0:
			parts = append(parts, safe.Format("already proposed in %s", safe.Link(safe.Format("#%s", safe.Int(p.Number)), p.URL)))
		default:
			parts = append(parts, safe.Format("not proposed yet: %s", safe.Text(p.Reason)))
		}
	}
	if len(parts) == 0 {
		return safe.Const("not proposed")
	}
	return safe.Join("; ", parts...)
}

// itemsOf writes the changes of a root module as sentences.
func (d Vocabulary) itemsOf(m report.Module) []safe.Markdown {
	modules := collect.Mapped(ModuleRows(report.Report{}, m), ModuleRow.item)
	if len(m.Changes)+len(modules) == 0 {
		text := d.Unlisted(m)
		if !m.Remembered {
			text = text.And(": the lock file is not in the form that the tool writes")
		}
		return []safe.Markdown{text.Sentence()}
	}
	return append(collect.Mapped(m.Changes, func(c report.Change) safe.Markdown {
		return safe.Format("%s %s (%s)", d.Name(c.Addr), d.Move(c), safe.Text(d.Label(c))).AndMaybe(": %s", d.Details(c))
	}), modules...)
}

// Locked says what the lock file of modules of a root module has for a module, and which
// calls use it. A module that was not read may call it, too.
func (d Vocabulary) Locked(u report.LockedUse, m report.Module) (name, locked, calls safe.Markdown) {
	name, locked = safe.Code(moduleaddr.Shown(u.Address)), safe.Const("not locked")
	switch {
	case u.Hash != "":
		locked = LockedAs(u.Version, u.Hash)
	case u.Version != "":
		locked = safe.Format("%s, not locked", safe.Text(u.Version))
	}
	switch {
	case len(u.Calls) > 0:
		calls = calledAt(d.callsAt(u.Calls))
	case len(m.Unread) == 0:
		calls = safe.Const("no call uses it")
	}
	return name, locked, calls
}

// callsAt are the places of calls.
func (d Vocabulary) callsAt(calls []upgrade.ModuleCall) []safe.Markdown {
	return collect.Mapped(calls, func(c upgrade.ModuleCall) safe.Markdown { return d.At(c.Place) })
}

// Call is a call of a module, with its place.
func (d Vocabulary) Call(c upgrade.ModuleCall) safe.Markdown {
	if c.Module == "" { // no call, but the source of a Terragrunt unit
		return safe.Format("the source at %s", d.At(c.Place))
	}
	return safe.Format("%s at %s", safe.Code(modulePath(c.Module)), d.At(c.Place))
}

// Noted is the name of the provider or the module that release notes are about.
func (d Vocabulary) Noted(n notes.Notes) string {
	if n.Module != "" {
		return moduleaddr.Shown(n.Module)
	}
	return d.Called(n.Addr)
}

// Upgrade names a provider or a module and its versions.
func (d Vocabulary) Upgrade(n notes.Notes) safe.Markdown {
	return safe.Join(" ", safe.Code(d.Noted(n)), d.Version(n.From), safe.Arrow, d.Version(n.To))
}

// fewLeads is the number of breaking changes that are named before the release
// notes.
const fewLeads = 3

// broken says what an upgrade breaks, in the publishers' words; empty if nothing
// is known.
func (d Vocabulary) broken(n notes.Notes) safe.Markdown {
	var text strings.Builder
	for _, s := range report.BreakingSections(n) {
		text.WriteString(s.Text + "\n\n")
	}
	lines, more := safe.Leads(text.String(), fewLeads)
	if len(lines) == 0 {
		return safe.Markdown{}
	}
	if more > 0 {
		lines = append(lines, safe.Format("%s more in the release notes", safe.Int(more)))
	}
	return safe.Format("%s: %s", d.Upgrade(n), safe.Join("; ", lines...))
}

// FewDirs is the highest number of root modules that a line names.
const FewDirs = 3

// ToolText is the tool of a root module in brackets; empty if unknown.
func ToolText(m report.Module) safe.Markdown {
	if m.Tool.Name == "" {
		return safe.Markdown{}
	}
	text := safe.Text(m.Tool.Name.Title())
	if !m.Tool.Version.IsZero() { // a run knows no release for a lock file that it did not look at
		text = safe.Text(m.Tool.String())
	}
	if m.Partial {
		text = text.And(", partial")
	}
	return safe.Format(" (%s)", text)
}

// Made says which program makes a configuration, if one does. It adds the notes
// about the configuration.
func (d Vocabulary) Made(m scan.RootModule) []safe.Markdown {
	var lines []safe.Markdown
	if name := kindTitles[m.Kind]; !name.Empty() {
		lines = append(lines, name.AndMaybe(" of the module %s", safe.Code(m.Made.Origin)))
	}
	if n := len(m.Made.Units); n > 0 {
		lines = append(lines, safe.Format("serves %s of stacks: %s", safe.Count(n, "unit", "units"), safe.FirstOf(collect.Mapped(m.Made.Units, safe.Text), fewUnits, "more", "more")))
	}
	for _, h := range m.Made.Holes {
		known := safe.Const("is not known; no requirement depends on it")
		if h.Parts > 1 {
			known = safe.Const("are not known; no requirement depends on them")
		}
		lines = append(lines, safe.Format("%s of %s %s (%s)", safe.Count(h.Parts, "part", "parts"), safe.Code(h.Generated), known, safe.Text(d.Files.Place(h.Place).String())))
	}
	for _, text := range m.Made.Assumptions {
		lines = append(lines, safe.Format("assumed: %s", safe.Text(text)))
	}
	for _, u := range m.Tree.Unread {
		if u.Code == problem.CodeTerragruntUnit {
			known := safe.Const("known in part").AndMaybe(" with the %s", safe.Text(u.Sets.String()))
			lines = append(lines, safe.Format("%s: %s (%s)", known, safe.Text(u.Reason), safe.Text(d.Files.Place(u.Place).String())))
		}
	}
	for _, n := range m.Tree.Notes {
		lines = append(lines, safe.Format("note: %s (%s)", safe.Text(n.Message), safe.Text(d.Files.Place(n.Place).String())))
	}
	return lines
}

// fewUnits is the number of units with one lock file that are named.
const fewUnits = 3

// kindTitles name the kinds of root modules that are not ordinary ones.
var kindTitles = map[scan.Kind]safe.Markdown{
	scan.TerragruntUnit: safe.Const("Terragrunt unit"), scan.Stack: safe.Const("stack"), scan.CDK: safe.Const("CDK for Terraform"),
	scan.Orphan: safe.Const("a lock file alone"),
}
