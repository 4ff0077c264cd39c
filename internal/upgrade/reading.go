package upgrade

import (
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// mostRereads is how often root modules are read again, each time with one more release of
// each module that is tried.
const mostRereads = 3

// measurePending is a module release that must be read before the search for advice can go
// on. No finished advice has it.
const measurePending MeasureKind = "pending"

// examine adds advice to the choices. Unlike advised, it reads the releases of modules that
// could help, and asks about all providers that the root modules then require.
func examine(modules []scan.RootModule, choices [][]chosen, b behaviour, world rereading) [][]chosen {
	t := trials{modules: modules, world: world, read: map[trial]rereadRoot{}, latest: map[ToolCall]readRelease{}}
	all := make([][]chosen, len(choices))
	advisers := t.advisers(choices, b)
	for reads := 0; ; reads++ {
		t.instead, t.over = map[ToolCall]readRelease{}, reads == mostRereads
		for i, choice := range choices {
			all[i] = collect.Mapped(choice, func(c chosen) chosen {
				if !wantsAdvice(c) {
					return c
				}
				return withAdvice(c, advisers[i].advice(c))
			})
		}
		if len(t.instead) == 0 {
			return all
		}
		t.reread(b)
	}
}

// trials are the module releases that one Examine has read, and those to read next.
type trials struct {
	modules []scan.RootModule
	world   rereading
	read    map[trial]rereadRoot
	latest  map[ToolCall]readRelease // of modules that no registry lists; without a release: why not
	instead map[ToolCall]readRelease // to read next
	over    bool                     // nothing more is read
}

// trial is a release of a module in the tree of a root module.
type trial struct {
	module  int
	call    ToolCall
	release string
}

// rereadRoot is a root module that was read with other releases of modules.
type rereadRoot struct {
	root    root
	instead map[ToolCall]readRelease
}

// readRelease is a release of a module that is read instead of the one in use.
type readRelease struct {
	call    scan.Call
	release string
	becomes string // the constraint or the ref that selects it
	why     string // why there is none
}

// advisers are those of the root modules with a provider that wants advice. They know all
// providers of these.
func (t *trials) advisers(choices [][]chosen, b behaviour) []adviser {
	whole := b
	whole.options.Only = nil
	roots := make([]root, len(choices))
	others := make([][]*wanted, len(choices))
	for i, choice := range choices {
		if !slices.ContainsFunc(choice, wantsAdvice) {
			continue
		}
		roots[i] = want(t.modules[i], whole)
		others[i] = collect.Those(roots[i].wanted, func(w *wanted) bool {
			return !slices.ContainsFunc(choice, func(c chosen) bool { return c.wanted.addr() == w.addr() })
		})
	}
	further := chooseVersions(others, whole, t.world.asker)
	all := make([]adviser, len(choices))
	for i, choice := range choices {
		known := slices.Concat(choice, further[i])
		for _, w := range roots[i].idle {
			known = append(known, chosen{wanted: w, old: w.locked, to: w.locked.Version, idle: true})
		}
		all[i] = t.adviser(i, newAdviser(roots[i], known, whole))
	}
	return all
}

// adviser is the adviser of a root module that reads releases, instead of trusting lists,
// and asks for what else a plan needs.
func (t *trials) adviser(module int, a adviser) adviser {
	listed, known, again := a.options, a.base, a.plan
	a.options = func(h holder, addr provider.Addr, v provider.Version, nth int) []option {
		return t.options(module, h, v, addr, nth, listed(h, addr, v, nth))
	}
	a.base = func(addr provider.Addr) *wanted {
		if w := known(addr); w != nil {
			return w
		}
		for at, r := range t.read {
			i := slices.IndexFunc(r.root.wanted, func(w *wanted) bool { return w.addr() == addr })
			if at.module == module && i >= 0 {
				return r.root.wanted[i]
			}
		}
		return nil
	}
	a.plan = func(w *wanted) chosen {
		if known(w.addr()) != nil {
			if c := again(w); !c.undated {
				return c
			}
		}
		return chooseVersions([][]*wanted{{w}}, a.behaviour, t.world.asker)[0][0]
	}
	return a
}

// options are the releases of a module that allow the version, as reading them has shown. If
// none does, it is the last one with the reason. Nothing beyond the nth is read. listed is
// what the registry's list says.
func (t *trials) options(module int, h holder, v provider.Version, addr provider.Addr, nth int, listed []option) []option {
	m := Measure{Term: h.terms[0], Call: holdingCall(h.call)}
	key := ToolCall{t.modules[module].Tool.Name, h.call.Call}
	if listed[0].measure.Kind == MeasureNone {
		return listed
	}
	var helping, others []option
	for _, next := range t.releases(key, h, listed) {
		o := option{measure: m}
		o.measure.Release, o.measure.CallBecomes = next.release, next.becomes
		read, ok := t.read[trial{module, key, next.release}]
		switch {
		case next.why != "":
			o.measure.Kind, o.measure.Why = MeasureUnread, next.why
		case ok:
			o = read.option(t.modules[module], h, o.measure, addr, v)
		case t.over:
			o.measure.Kind, o.measure.Why = MeasureUnread, "too many releases of modules were read already"
		default:
			o.measure.Kind = measurePending
			t.instead[key] = next
		}
		if o.measure.Kind == measurePending {
			return []option{o} // it decides whether another one is read
		}
		if !o.measure.helps() {
			others = append(others, o)
			continue
		}
		helping = append(helping, o)
		if len(helping) > nth {
			return helping
		}
	}
	switch {
	case len(helping) > 0:
		return helping
	case len(others) > 0:
		return others[len(others)-1:]
	}
	m.Kind = MeasureNone
	return []option{{measure: m}}
}

// releases are the releases of a module that may be read: those that help by the registry's
// list, and the newest.
func (t *trials) releases(key ToolCall, h holder, listed []option) []readRelease {
	if h.call.Versions == nil {
		return t.newestRef(key, h)
	}
	_, above, known := h.call.Versions.Above(h.call.Version)
	if !known {
		return []readRelease{{why: "its registry does not list the version in use"}}
	}
	var all []readRelease
	add := func(release, becomes string) {
		call := h.call.Call
		call.Version, call.Versioned, call.Pin = "= "+release, true, scan.Pin{}
		if !slices.ContainsFunc(all, func(r readRelease) bool { return r.release == release }) {
			all = append(all, readRelease{call: call, release: release, becomes: becomes})
		}
	}
	for _, o := range listed {
		if o.measure.Kind == MeasureListed {
			add(o.measure.Release, o.measure.CallBecomes)
		}
	}
	for _, r := range slices.Backward(above) {
		if becomes, selected, ok := repin(h.call, r); ok && len(all) < mostReleases {
			add(selected.Version, becomes)
			break
		}
	}
	return all
}

// newestRef is the newest release of a module that no registry lists, or why it is not
// known.
func (t *trials) newestRef(key ToolCall, h holder) []readRelease {
	r, ok := t.latest[key]
	if !ok {
		call, release, err := t.world.latest(t.tool(key), h.call.Call)
		r = readRelease{call: call, release: release, becomes: release}
		switch {
		case err != nil:
			r = readRelease{why: problem.Of(err).Message}
		case release == "":
			r.why = "it comes from no registry, and no ref with a version says which release is in use"
		}
		t.latest[key] = r
	}
	if r.why == "" && r.call == h.call.Call {
		return nil
	}
	return []readRelease{r}
}

// tool is the tool of the root modules that have a call.
func (t *trials) tool(key ToolCall) provider.Tool {
	return t.modules[slices.IndexFunc(t.modules, func(m scan.RootModule) bool { return m.Tool.Name == key.Tool })].Tool
}

// reread reads the root modules with the releases to read next.
func (t *trials) reread(b behaviour) {
	calls := map[ToolCall]scan.Call{}
	for key, r := range t.instead {
		calls[key] = r.call
	}
	for i, m := range t.world.again(t.modules, calls) {
		r := rereadRoot{instead: t.instead}
		if m.Dir != "" {
			whole := b
			whole.options.Only = nil
			r.root = want(m, whole)
		}
		for key, next := range t.instead {
			t.read[trial{i, key, next.release}] = r
		}
	}
}

// option is what reading a release of a module has shown.
func (r rereadRoot) option(before scan.RootModule, h holder, m Measure, addr provider.Addr, v provider.Version) option {
	o := option{measure: m, terms: map[provider.Addr][]scan.Term{}}
	for _, required := range r.root.module.Tree.Requirements {
		below := collect.Those(required.Terms, func(t scan.Term) bool { return isBelow(t.Module, h.call.Module) })
		if len(below) > 0 {
			o.terms[required.Addr] = below
		}
	}
	o.measure.Why = r.unread(before, h.call.Module)
	refuting := slices.IndexFunc(o.terms[addr], func(t scan.Term) bool { return excludes(t, v) })
	switch {
	case o.measure.Why != "":
		o.measure.Kind = MeasureUnread
	case refuting >= 0:
		o.measure.Kind, o.measure.Against = MeasureRefuted, o.terms[addr][refuting]
	default:
		o.measure.Kind = MeasureRead
	}
	return o
}

// unread says why the tree below a call is not known with another release of its module;
// empty if it is.
func (r rereadRoot) unread(before scan.RootModule, module string) string {
	if r.root.module.Dir == "" {
		return "the root module could not be read again"
	}
	tree := r.root.module.Tree
	for _, u := range tree.Unread {
		if isBelow(u.Module, module) {
			return u.Reason
		}
	}
	for _, d := range tree.Diagnostics {
		if d.Severity == problem.SeverityError && !slices.Contains(before.All().Diagnostics, d) {
			return d.Message
		}
	}
	if r.root.module.Newer && !before.Newer {
		return "it needs a newer release of " + before.Tool.Name.Title() + " than relock knows"
	}
	for _, f := range tree.Fetched {
		if _, replaced := r.instead[ToolCall{before.Tool.Name, f.Call}]; replaced && f.Module != module && isBelow(f.Module, module) {
			return "it calls a module of which another release was tried, too"
		}
	}
	return ""
}
