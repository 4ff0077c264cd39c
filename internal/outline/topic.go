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

// Concern is why something wants a reviewer, as its first words.
type Concern string

// The concerns, in the order in which they are listed.
const (
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
	ConcernFailed, concernCarried, ConcernHash, ConcernReReleased, ConcernRule, concernSigner, concernDowngrade, concernMajor, concernBreaking, concernMoved,
	concernRemoved, ConcernRegistry, ConcernPlatform, ConcernUnread, ConcernWarning,
}

// symptom is what a cause did once: in one root module, at one place.
type symptom struct {
	concern Concern
	// of is what symptoms of one cause have in common, beside the concern; empty: it is
	// what is said of them.
	of string
	// whole tells of the symptom alone. what tells of the cause, without the
	// places, for several symptoms of it.
	whole, what safe.Markdown
	places      []safe.Markdown
	next        safe.Markdown // what to do
	nextOfAll   safe.Markdown // the same without places, for several symptoms of the cause
	dir         string        // of the root module; empty: of the run
	// outage is why a server gave no answer: the cause of all that needs the server,
	// whatever the concern. provider and module are what needs it here; empty: the run
	// says it by itself.
	outage   problem.Outage
	provider provider.Addr
	module   string
	finding  bool // that a line of a lock file is about
}

// Topic is one thing that somebody must know, however often it shows.
type Topic struct {
	Concern Concern
	Whole   collect.Set[safe.Markdown] // distinct texts of its symptoms
	What    collect.Set[safe.Markdown]
	Places  collect.Set[safe.Markdown]
	next    collect.Set[safe.Markdown]
	// nextOfAll has distinct ones without places, of several symptoms.
	nextOfAll collect.Set[safe.Markdown]
	Dirs      collect.Set[string] // root modules; none if it concerns the run
	Finding   bool

	// server gave no answer for any of these reasons, and these providers and module
	// packages need it; empty for any other topic.
	server    string
	answered  bool // by its first answer, that it is in trouble
	reasons   collect.Set[string]
	providers collect.Set[provider.Addr]
	modules   collect.Set[string]
}

// Remedy is what to do next; empty if that is not known.
func (c *Topic) Remedy() safe.Markdown {
	switch {
	case len(c.next.List) == 0:
		return safe.Markdown{}
	case len(c.next.List) == 1 || len(c.nextOfAll.List) == 0:
		return c.next.List[0]
	}
	next := c.nextOfAll.List[0]
	if n := len(c.nextOfAll.List) - 1; n > 0 {
		next = next.And("; %s", safe.Count(n, "other root module needs something else", "others need something else"))
	}
	return next
}

// causes joins symptoms.
type causes struct {
	d     Vocabulary
	list  []*Topic
	index map[causeKey]*Topic
}

func causesIn(d Vocabulary) *causes { return &causes{d: d, index: map[causeKey]*Topic{}} }

// causeKey is what symptoms of one cause have in common.
type causeKey struct {
	concern Concern
	of      string
	said    safe.Markdown // where of is empty
}

// add adds a symptom to its cause.
func (all *causes) add(s symptom) {
	what := cmp.Or(s.what, s.whole)
	keys := []causeKey{{concern: s.concern, said: what}}
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
	c.reasons.Add(s.outage.Reason)
	c.providers.Add(s.provider)
	c.modules.Add(s.module)
	c.Whole.Add(s.whole)
	c.What.Add(what)
	c.Places.Add(s.places...)
	c.next.Add(s.next)
	c.nextOfAll.Add(s.nextOfAll)
	c.Dirs.Add(s.dir)
}

// of returns the cause that has the first of these keys that any has; nil if none does.
func (all *causes) of(keys []causeKey) *Topic {
	for _, key := range keys {
		if c := all.index[key]; c != nil {
			return c
		}
	}
	return nil
}

// topics are all causes. What several symptoms say of a server without an answer is one
// sentence.
func (all *causes) topics() []*Topic {
	for _, c := range all.list {
		if c.server != "" && len(c.Whole.List) > 1 {
			said := all.d.outage(c)
			c.Whole, c.What = collect.Set[safe.Markdown]{}, collect.Set[safe.Markdown]{}
			c.Whole.Add(said)
			c.What.Add(said)
		}
	}
	return all.list
}

// ranked are the causes by concern. Of one concern those of the run come first,
// then those that the most root modules share.
func (all *causes) ranked() []*Topic {
	slices.SortStableFunc(all.topics(), func(a, b *Topic) int {
		return cmp.Or(
			cmp.Compare(slices.Index(concerns, a.Concern), slices.Index(concerns, b.Concern)),
			cmp.Compare(reach(b), reach(a)),
		)
	})
	return all.list
}

// reach is how many root modules a cause shows in. One of the run reaches further than all.
func reach(c *Topic) int {
	if len(c.Dirs.List) == 0 {
		return math.MaxInt
	}
	return len(c.Dirs.List)
}

// TopicsOf joins problems that belong to no root module: equal ones are one topic.
func TopicsOf(problems []problem.Problem) []*Topic {
	all := causesIn(Vocabulary{})
	for _, p := range problems {
		all.diagnostic(p, "")
	}
	return all.topics()
}

// reviewOf collects what needs a reviewer.
func reviewOf(r report.Report, d Vocabulary, findingsApart bool) []*Topic {
	all := causesIn(d)
	for _, p := range r.Diagnostics {
		all.diagnostic(p, "")
	}
	for _, m := range r.Modules {
		all.d = d.Of(m)
		dir := r.Title(m)
		all.problems(m, dir)
		if m.Verified == nil || !findingsApart {
			for _, f := range Brief(m.Findings) {
				all.finding(f, dir)
			}
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

// heldBack collects what holds providers back.
func heldBack(r report.Report, d Vocabulary) []*Topic {
	all := causesIn(d)
	for _, m := range r.Modules {
		all.d = d.Of(m)
		for _, k := range m.Held() {
			all.held(k, r.Title(m))
		}
	}
	return all.ranked()
}

// problems adds those of a root module, and the module calls that were not read. A
// call of which a problem tells is counted with those to the same module package.
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
		s.concern, s.whole, s.dir = severity(p), all.d.Diagnostic(p), dir
		s.next = safe.Text(p.Hint)
		if p.Severity == problem.SeverityError {
			s.next = s.next.And(preserving)
		}
		all.add(s)
	}
	for _, u := range m.Unread {
		if u.Module == "" && !u.OfEntry() {
			continue // the run tells of it, once for all root modules
		}
		if s := all.d.unread(u, false); !told[u.Place] {
			s.dir = dir
			all.add(s)
		}
	}
}

func severity(p problem.Problem) Concern {
	if p.Severity == problem.SeverityWarning {
		return ConcernWarning
	}
	return ConcernFailed
}

// diagnostic adds a problem. What goes wrong with one provider in one way is one
// cause, whatever the messages add to it, and so is what one server leaves without an
// answer, or what is said in the same words of several providers.
func (all *causes) diagnostic(p problem.Problem, dir string) {
	p.Message = worded(p)
	s := symptom{
		concern: severity(p), whole: all.d.Diagnostic(p), what: safe.Text(p.Message),
		next: safe.Text(p.Hint), dir: dir, outage: p.Outage, provider: p.Subject.Addr,
	}
	if p.Subject.Addr != (provider.Addr{}) {
		s.of = string(p.Code) + " " + p.Subject.Addr.String()
	}
	if p.Place != (problem.Place{}) {
		s.places = []safe.Markdown{all.d.At(p.Place)}
	}
	all.add(s)
}

// worded is the message of a problem. One that was read from a file may have none, and
// is called by its code.
func worded(p problem.Problem) string {
	return cmp.Or(safe.Plain(p.Message), safe.Plain(string(p.Code)), "a problem without a message")
}

// finding adds one without its line: root modules may have the same in theirs.
func (all *causes) finding(f problem.Problem, dir string) {
	s := symptom{concern: ConcernHash, whole: safe.Text(worded(f)), next: safe.Text(f.Hint), dir: dir, finding: true}
	switch f.Code {
	case problem.CodeReReleased:
		s.concern = ConcernReReleased
	case problem.CodeProviderRefused, problem.CodeVersionRefused, problem.CodeTooYoung, problem.CodeSignerRefused, problem.CodeTamperedBoth:
		s.concern = ConcernRule
	}
	all.add(s)
}

// change adds what of a change a reviewer must see.
func (all *causes) change(c report.Change, dir string) {
	add := func(why Concern, text safe.Markdown) { all.add(symptom{concern: why, whole: text, dir: dir}) }
	d, what := all.d, safe.Join(" ", all.d.Name(c.Addr), all.d.Move(c))
	if c.FromPull && !c.Unasked {
		add(concernCarried, what.And(" stays as this pull request proposed it: this run could not look at it"))
	}
	switch {
	case c.Kind == diff.ReReleased:
		add(ConcernReReleased, what.And(": no package is as it was when the lock file was written"))
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

// facts adds what registries say of a provider.
func (all *causes) facts(k report.Kept, dir string) {
	for _, w := range k.Warnings {
		all.add(symptom{concern: ConcernRegistry, whole: safe.Format("%s: %s", all.d.Name(k.Addr), safe.Text(w)), dir: dir})
	}
	if len(k.Missing) > 0 {
		all.add(symptom{concern: ConcernPlatform, whole: all.d.Missing(k), dir: dir})
	}
}

// breaking adds what publishers say that breaks, in the root modules that take
// such an upgrade.
func (all *causes) breaking(r report.Report) {
	for _, n := range report.SortedNotes(r) {
		if text := all.d.broken(n); !text.Empty() {
			for _, dir := range report.Taking(r, n) {
				all.add(symptom{concern: concernBreaking, whole: text, dir: dir})
			}
		}
	}
}

// held adds what holds a provider back: the same constraint of the same newest
// release is one cause, wherever it stands.
func (all *causes) held(k report.Kept, dir string) {
	s := symptom{concern: ConcernHeld, whole: all.d.held(k), what: all.d.heldWhy(k), dir: dir}
	if s.whole.Empty() {
		return
	}
	s.next, s.nextOfAll = adviceOf(k, all.d, true), adviceOf(k, all.d, false)
	for _, h := range k.Held {
		if h.Term.Place.Path != "" {
			s.places = append(s.places, all.d.Place(h.Term, k.Origins))
		}
		for _, t := range h.Others {
			s.places = append(s.places, all.d.Place(t, k.Origins))
		}
	}
	all.add(s)
}
