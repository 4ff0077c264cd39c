package outline

import (
	"cmp"
	"math"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
)

// Concern is why something needs a reviewer. It is the heading of its topics.
type Concern string

// The concerns, in the order of the list.
const (
	ConcernModule     Concern = "Moved module"
	ConcernFailed     Concern = "Failed"
	concernCarried    Concern = "Carried over"
	ConcernHash       Concern = "Unknown hash"
	ConcernReReleased Concern = "Re-released"
	ConcernRule       Concern = "Rule"
	concernSigner     Concern = "Signer"
	concernDowngrade  Concern = "Downgrade"
	concernMajor      Concern = "Major upgrade"
	concernBreaking   Concern = "Breaking changes"
	concernMoved      Concern = "Other registry"
	concernRemoved    Concern = "Removed"
	ConcernRegistry   Concern = "Registry warning"
	ConcernPlatform   Concern = "Missing platform"
	ConcernUnread     Concern = "Not read"
	ConcernWarning    Concern = "Warning"
	ConcernHeld       Concern = "Held back"
)

var concerns = []Concern{
	ConcernModule, ConcernFailed, concernCarried, ConcernHash, ConcernReReleased, ConcernRule, concernSigner, concernDowngrade, concernMajor, concernBreaking, concernMoved,
	concernRemoved, ConcernRegistry, ConcernPlatform, ConcernUnread, ConcernWarning,
}

// symptom is one effect of a cause: in one root module, at one place.
type symptom struct {
	concern Concern
	// of is what the symptoms of one cause share, in addition to the concern. If it is
	// empty, the symptoms share their text without details.
	of string
	// said is the sentence, with its places as details, and next what to do.
	said, next safe.Markdown
	places     []safe.Markdown
	changed    []safe.Markdown // further places, which next has as details
	dir        string          // the root module; empty if the symptom is of the run
	// general is the sentence about several symptoms. If it is empty, it is said
	// without the details.
	general safe.Markdown
	// outage says why a server did not answer. It is the cause of everything that
	// needs the server, whatever the concern. module needs the server here; it is
	// empty if the run itself reports the outage.
	outage   problem.Outage
	provider provider.Addr // that the symptom is about; empty if about none
	module   string
	finding  bool // it is a finding about a line of a lock file
}

// Topic is one fact that people must know. It may have many symptoms.
type Topic struct {
	Concern Concern
	// Text is the sentence about the fact, and Places are its places, unless Text
	// has them.
	Text    safe.Markdown
	Places  []safe.Markdown
	Next    safe.Markdown       // what to do; empty if unknown
	Dirs    collect.Set[string] // root modules; none if it concerns the run
	Finding bool

	said, general, next, places, changed collect.Set[safe.Markdown] // of its symptoms
	providers                            collect.Set[provider.Addr]
	// server did not answer, for the reasons. The providers and module packages need
	// it. For any other topic server is empty.
	server   string
	answered bool // the server did answer, but said that it has a fault
	reasons  collect.Set[string]
	modules  collect.Set[string]
}

// fewPlaces is the number of places that are named for a cause, and namedFailed
// that of root modules that failed.
const (
	fewPlaces   = 3
	namedFailed = 10
)

// Said is the sentence with the first places.
func (c *Topic) Said() safe.Markdown {
	if len(c.Places) == 0 {
		return c.Text
	}
	return c.Text.Stopless().And(" (%s)", c.firstPlaces())
}

// SaidIn is Said with the root modules at its end.
func (c *Topic) SaidIn(d Vocabulary) safe.Markdown {
	where := d.Dirs(c.Dirs.List, FewDirs)
	if len(c.Places) == 0 {
		return c.Text.And(" (in %s)", where)
	}
	return c.Text.Stopless().And(" (in %s: %s)", where, c.firstPlaces())
}

// Where names the root modules, or counts them if they are many. Of those that
// failed it always names some.
func (c *Topic) Where(d Vocabulary) safe.Markdown {
	if c.Concern != ConcernFailed {
		return d.Dirs(c.Dirs.List, FewDirs)
	}
	return safe.FirstOf(collect.Mapped(c.Dirs.List, safe.Code), namedFailed, "more", "more")
}

func (c *Topic) firstPlaces() safe.Markdown {
	return safe.FirstOf(c.Places, fewPlaces, "more place", "more places")
}

// join makes one sentence and one next step out of those of the symptoms.
func (c *Topic) join() {
	c.Text, c.Places = c.said.List[0], nil
	divided := c.Concern == ConcernHeld && len(c.next.List) > 1 // the next step goes without its places
	if divided {
		c.places.Add(c.changed.List...)
	}
	switch {
	case len(c.said.List) == 1 && !divided: // it has its places
	case c.server != "":
		c.Text = outage(c)
	default:
		c.Text, c.Places = likeIt(c.general.List[0], len(c.general.List)), c.places.List
	}
	if len(c.next.List) == 0 {
		return
	}
	c.Next = c.next.List[0]
	if divided {
		var next collect.Set[safe.Markdown]
		next.Add(collect.Mapped(c.next.List, safe.Markdown.WithoutDetails)...)
		c.Next = next.List[0].AndMaybe("; %s", safe.Some(len(next.List)-1, "other root module needs something else", "others need something else"))
	}
}

// likeIt is the first of several similar sentences, with the number of the others.
func likeIt(text safe.Markdown, of int) safe.Markdown {
	if of == 1 {
		return text
	}
	return text.Stopless().And(", and %s", safe.Count(of-1, "more like it", "more like it"))
}

// causes joins symptoms by their cause.
type causes struct {
	d     Vocabulary
	list  []*Topic
	index map[causeKey]*Topic
}

func causesIn(d Vocabulary) *causes { return &causes{d: d, index: map[causeKey]*Topic{}} }

type causeKey struct {
	concern Concern
	of      string
	said    safe.Markdown // used if of is empty
}

func (all *causes) add(s symptom) {
	keys := []causeKey{{concern: s.concern, said: s.said.WithoutDetails()}}
	switch {
	case s.outage.Server != "":
		keys = []causeKey{{of: s.outage.Server}}
	case s.of != "": // first as it is said: one cause may fail several providers
		keys = append(keys, causeKey{concern: s.concern, of: s.of})
	}
	c := all.of(keys)
	if c == nil {
		c = &Topic{Concern: s.concern, Finding: s.finding, server: s.outage.Server, answered: s.outage.Answered}
		all.list = append(all.list, c)
	}
	for _, key := range keys {
		if all.index[key] == nil {
			all.index[key] = c
		}
	}
	if s.concern == ConcernFailed {
		c.Concern = ConcernFailed
	}
	c.said.Add(s.said)
	c.general.Add(cmp.Or(s.general, s.said.WithoutDetails()))
	c.next.Add(s.next)
	c.places.Add(s.places...)
	c.changed.Add(s.changed...)
	c.reasons.Add(s.outage.Reason)
	c.providers.Add(s.provider)
	c.modules.Add(s.module)
	c.Dirs.Add(s.dir)
}

// of returns the cause of the first key that has one, or nil.
func (all *causes) of(keys []causeKey) *Topic {
	for _, key := range keys {
		if c := all.index[key]; c != nil {
			return c
		}
	}
	return nil
}

// topics returns the causes, with their sentences.
func (all *causes) topics() []*Topic {
	for _, c := range all.list {
		c.join()
	}
	return all.list
}

// ranked sorts the causes by concern. Within a concern, causes of the run come
// first, then those that the most root modules share.
func (all *causes) ranked() []*Topic {
	slices.SortStableFunc(all.topics(), func(a, b *Topic) int {
		return cmp.Or(
			cmp.Compare(slices.Index(concerns, a.Concern), slices.Index(concerns, b.Concern)),
			cmp.Compare(reach(b), reach(a)),
		)
	})
	return all.list
}

// reach is the number of root modules with a cause. A cause of the run has the
// longest reach.
func reach(c *Topic) int {
	if len(c.Dirs.List) == 0 {
		return math.MaxInt
	}
	return len(c.Dirs.List)
}

// TopicsOf joins problems that belong to no root module. Equal problems are one
// topic.
func TopicsOf(problems []problem.Problem) []*Topic {
	all := causesIn(Vocabulary{})
	for _, p := range problems {
		all.diagnostic(p, "")
	}
	return all.topics()
}

// reviewOf collects what needs a reviewer.
func reviewOf(r report.Report, d Vocabulary) []*Topic {
	all := causesIn(d)
	for _, p := range r.Diagnostics {
		all.diagnostic(p, "")
	}
	findings, next := Briefs(r), StepOf(r)
	for i, m := range r.Modules {
		all.d = d.Of(m)
		dir := r.Title(m)
		if next != "" { // the report says once what to run
			m.Diagnostics = collect.Mapped(m.Diagnostics, withoutStep)
		}
		all.problems(m, dir)
		for _, f := range findings[i] {
			all.finding(f, dir)
		}
		for _, c := range m.Changes {
			all.change(c, dir)
		}
		for _, k := range m.Facts() {
			all.facts(k, dir)
		}
	}
	all.breaking(r)
	return all.ranked()
}

// heldBack collects what blocks providers and locked modules.
func heldBack(r report.Report, d Vocabulary) []*Topic {
	all := causesIn(d)
	for _, m := range r.Modules {
		all.d = d.Of(m)
		for _, k := range m.Held() {
			all.held(k, r.Title(m))
		}
		for _, said := range all.d.heldModules(m) {
			all.add(symptom{concern: ConcernHeld, said: said, dir: r.Title(m)})
		}
	}
	return all.ranked()
}

// problems adds the problems of a root module, and the module calls that were not
// read. If a problem is about a call, it counts with the other calls to the same
// module package.
func (all *causes) problems(m report.Module, dir string) {
	told, calls := map[problem.Place]bool{}, map[problem.Place]scan.Unread{}
	for _, u := range m.Unread {
		calls[u.Place] = u
	}
	for _, p := range m.Diagnostics {
		u, ok := calls[p.Place]
		if p.Code != problem.CodeUnreadModule && p.Code != problem.CodeUnknownEntry || !ok {
			all.diagnostic(p, dir)
			continue
		}
		told[p.Place] = true
		s := all.d.unread(u, p.Severity == problem.SeverityWarning)
		s.concern, s.said, s.dir = severity(p), all.d.Diagnostic(p), dir
		s.next = safe.Hint(p.Hint)
		if p.Severity == problem.SeverityError {
			s.next = s.next.And(preserving)
		}
		all.add(s)
	}
	for _, u := range m.Unread {
		if u.Module == "" && !u.OfEntry() {
			continue // the run reports it once for all root modules
		}
		if s := all.d.unread(u, false); !told[u.Place] {
			s.dir = dir
			all.add(s)
		}
	}
}

// withoutStep leaves out the hint to run relock upgrade.
func withoutStep(p problem.Problem) problem.Problem {
	if p.Severity == problem.SeverityError && p.Upgradable {
		p.Hint = ""
	}
	return p
}

func severity(p problem.Problem) Concern {
	if p.Severity == problem.SeverityWarning {
		return ConcernWarning
	}
	return ConcernFailed
}

// diagnostic adds a problem. Problems have one cause if one of these is equal:
// the provider and the kind of failure, the server that did not answer, or the
// words about several providers.
func (all *causes) diagnostic(p problem.Problem, dir string) {
	p.Message = worded(p)
	s := symptom{
		concern: severity(p), said: all.d.Diagnostic(p), next: safe.Hint(p.Hint), dir: dir, outage: p.Outage, provider: p.Subject.Addr,
	}
	if p.Subject.Addr != (provider.Addr{}) {
		s.of = string(p.Code) + " " + p.Subject.Addr.String()
	}
	if p.Place != (problem.Place{}) {
		s.places = []safe.Markdown{all.d.At(p.Place)}
	}
	all.add(s)
}

// worded is the message of a problem. A problem that was read from a file may
// have none; then its code is used.
func worded(p problem.Problem) string {
	return cmp.Or(safe.Plain(p.Message), safe.Plain(string(p.Code)), "a problem without a message")
}

// finding adds a finding without its line, since root modules may have the same
// one at other lines. A module that has moved is one cause for all its calls.
func (all *causes) finding(f problem.Problem, dir string) {
	s := symptom{concern: ConcernHash, said: safe.Text(worded(f)), next: safe.Hint(f.Hint), dir: dir, finding: true, provider: f.Subject.Addr}
	switch f.Code {
	case problem.CodeModuleMoved:
		s.concern, s.of = ConcernModule, f.About
		s.said, s.places = all.d.Diagnostic(f), []safe.Markdown{all.d.At(f.Place)}
	case problem.CodeReReleased:
		s.concern = ConcernReReleased
	case problem.CodeProviderRefused, problem.CodeVersionRefused, problem.CodeTooYoung, problem.CodeSignerRefused, problem.CodeTamperedBoth:
		s.concern = ConcernRule
	}
	all.add(s)
}

// change adds the parts of a change that a reviewer must see.
func (all *causes) change(c report.Change, dir string) {
	add := func(why Concern, text safe.Markdown) {
		all.add(symptom{concern: why, said: text, dir: dir, provider: c.Addr})
	}
	d, what := all.d, safe.Join(" ", all.d.Name(c.Addr), all.d.Move(c))
	if c.FromPull && !c.Unasked {
		add(concernCarried, what.And(" stays as this pull request proposed it: this run could not look at it"))
	}
	if c.Kind == diff.ReReleased {
		add(ConcernReReleased, what.And(": no package is as it was when the lock file was written"))
	}
	switch {
	case c.Kind == diff.Signer && c.Signer.Label == unsigned:
		add(concernSigner, what.And(" is no longer signed"))
	case c.Kind == diff.Signer:
		add(concernSigner, what.And(" is now %s", cmp.Or(d.signer(c.Signer), safe.Const("signed by another key"))))
	case c.Resigned():
		add(concernSigner, what.And(" is %s now; before it was %s", d.signer(c.Signer), d.signer(c.SignerFrom)))
	case c.Signer.Label == unsigned && c.Kind != diff.Removed:
		add(concernSigner, what.And(" has a checksum list that nobody signed"))
	}
	switch {
	case c.Kind == diff.Downgraded, c.Kind == diff.Moved && c.To.Compare(c.From) < 0:
		add(concernDowngrade, what)
	case isMajor(c):
		add(concernMajor, what.And("%s", d.documentation(c)))
	}
	switch c.Kind {
	case diff.Removed:
		add(concernRemoved, what.And(": no configuration requires it any more"))
	case diff.Moved:
		add(concernMoved, what.And(" was %s", safe.Code(c.AddrFrom.String())))
	}
}

// facts adds what registries report about a provider.
func (all *causes) facts(k report.Kept, dir string) {
	for _, w := range k.Warnings {
		all.add(symptom{concern: ConcernRegistry, said: safe.Format("%s: %s", all.d.Name(k.Addr), safe.Text(w)), dir: dir, provider: k.Addr})
	}
	if len(k.Missing) > 0 {
		all.add(symptom{concern: ConcernPlatform, said: all.d.Missing(k), dir: dir, provider: k.Addr})
	}
}

// breaking adds the breaking changes that publishers announce, for root modules
// that take such an upgrade.
func (all *causes) breaking(r report.Report) {
	for _, n := range report.SortedNotes(r) {
		if text := all.d.broken(n); !text.Empty() {
			for _, dir := range report.Taking(r, n) {
				all.add(symptom{concern: concernBreaking, said: text, dir: dir, provider: n.Addr})
			}
		}
	}
}

// held adds what blocks a provider. The same constraint on the same newest
// release is one cause, in every file. The places that change are in the advice.
func (all *causes) held(k report.Kept, dir string) {
	next, changed := adviceOf(k, all.d)
	d := all.d
	d.named = changed
	s := symptom{concern: ConcernHeld, said: d.held(k), next: next, dir: dir}
	for _, t := range termsOf(k) {
		if slices.Contains(changed, t.Place) {
			s.changed = append(s.changed, d.Place(t))
		} else {
			s.places = append(s.places, d.Place(t))
		}
	}
	all.add(s)
}
