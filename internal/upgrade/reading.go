package upgrade

import (
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// examined adds advice to the choices. Unlike advised, it reads the releases of modules that
// could help, and asks about all providers that the root modules then require.
func examined(modules []scan.RootModule, choices [][]chosen, b behaviour, world asker) [][]chosen {
	b.options.Only = nil
	t := trials{modules: modules, behaviour: b, world: world, read: map[trial][]root{}, latest: map[ToolCall]readRelease{}}
	all := slices.Clone(choices)
	for i, a := range t.advisers(choices) {
		all[i] = a.advise(choices[i])
	}
	return all
}

// trials are the root modules of one Examine, read again with other releases of modules.
type trials struct {
	modules   []scan.RootModule
	behaviour behaviour // about all providers
	world     asker
	read      map[trial][]root         // one for each root module; without a directory if it could not be read
	latest    map[ToolCall]readRelease // of modules that no registry lists
}

// rootTrials are the trials of one root module.
type rootTrials struct {
	of     *trials
	index  int // of the root module
	module scan.RootModule
}

// trial is a release of a module instead of the one in use.
type trial struct {
	call    ToolCall
	release string
}

// readRelease is a release of a module that is read instead of the one in use.
type readRelease struct {
	call    scan.Call
	release string
	becomes string // the constraint or the ref that selects it
	why     string // why there is none
}

// advisers are those of the root modules with a provider that wants advice, by index. They
// know all providers of these.
func (t *trials) advisers(choices [][]chosen) map[int]adviser {
	roots := make([]root, len(choices))
	others := make([][]*wanted, len(choices))
	for i, choice := range choices {
		if !slices.ContainsFunc(choice, wantsAdvice) {
			continue
		}
		roots[i] = want(t.modules[i], t.behaviour)
		others[i] = collect.Those(roots[i].wanted, func(w *wanted) bool {
			return !slices.ContainsFunc(choice, func(c chosen) bool { return c.wanted.addr() == w.addr() })
		})
	}
	all := map[int]adviser{}
	for i, further := range chooseVersions(others, t.behaviour, t.world) {
		if !slices.ContainsFunc(choices[i], wantsAdvice) {
			continue
		}
		a := newAdviser(roots[i], slices.Concat(choices[i], further), t.behaviour)
		a.trials = &rootTrials{t, i, t.modules[i]}
		all[i] = a
	}
	return all
}

// wanted is a provider that the root module requires only with another release of a module;
// nil if it is not known.
func (r *rootTrials) wanted(addr provider.Addr) *wanted {
	for _, roots := range r.of.read {
		for _, w := range roots[r.index].wanted {
			if w.addr() == addr {
				return w
			}
		}
	}
	return nil
}

// with is the root module with another release of a module. It reads all root modules that
// have the call, once.
func (r *rootTrials) with(at trial, call scan.Call) scan.RootModule {
	t := r.of
	if t.read[at] == nil {
		t.read[at] = collect.Mapped(t.world.reader.Reread(t.world.ctx, t.modules, at.call, call), func(m scan.RootModule) root {
			if m.Dir == "" {
				return root{}
			}
			return want(m, t.behaviour)
		})
	}
	return t.read[at][r.index].module
}

// options are the releases of a module that allow the version, as reading them shows. If
// none does, it is the last one with the reason. Nothing beyond the nth is read. listed is
// what the registry's list says.
func (r *rootTrials) options(h holder, addr provider.Addr, v provider.Version, nth int, listed []option) []option {
	key := ToolCall{r.module.Tool.Name, h.call.Call}
	last := option{measure: Measure{Kind: MeasureNone, Term: h.terms[0], Call: holdingCall(h.call)}}
	var helping []option
	for _, next := range r.releases(key, h, listed) {
		o := last
		o.measure.Kind, o.measure.Why = MeasureUnread, next.why
		o.measure.Release, o.measure.CallBecomes = next.release, next.becomes
		if next.why == "" {
			o = r.read(h, addr, v, o.measure, r.with(trial{key, next.release}, next.call))
		}
		if o.measure.helps() {
			helping = append(helping, o)
		} else {
			last = o
		}
		if len(helping) > nth {
			break
		}
	}
	if len(helping) == 0 {
		return []option{last}
	}
	return helping
}

// releases are the releases of a module that may be read: those that help by the registry's
// list, and the newest.
func (r *rootTrials) releases(key ToolCall, h holder, listed []option) []readRelease {
	if h.call.Versions == nil {
		return r.newestRef(key, h)
	}
	_, above, known := h.call.Versions.Above(h.call.Version)
	if !known {
		return []readRelease{{why: "its registry does not list the version in use"}}
	}
	listed = collect.Those(listed, func(o option) bool { return o.measure.Kind == MeasureListed })
	if len(listed) < mostReleases {
		for _, newest := range slices.Backward(above) {
			if becomes, selected, ok := repin(h.call, newest); ok {
				listed = append(listed, option{measure: Measure{Release: selected.Version, CallBecomes: becomes}})
				break
			}
		}
	}
	var all []readRelease
	for _, o := range listed {
		call := h.call.Call
		call.Version, call.Versioned, call.Pin = "= "+o.measure.Release, true, scan.Pin{}
		all = append(all, readRelease{call: call, release: o.measure.Release, becomes: o.measure.CallBecomes})
	}
	return slices.CompactFunc(all, func(r, s readRelease) bool { return r.release == s.release })
}

// newestRef is the newest release of a module that no registry lists, or why it is not
// known.
func (r *rootTrials) newestRef(key ToolCall, h holder) []readRelease {
	newest, ok := r.of.latest[key]
	if !ok {
		call, release, err := r.of.world.reader.Latest(r.of.world.ctx, r.module.Tool, h.call.Call)
		newest = readRelease{call: call, release: release, becomes: release}
		switch {
		case err != nil:
			newest = readRelease{why: problem.Of(err).Message}
		case release == "":
			newest.why = "it comes from no registry, and no ref with a version says which release is in use"
		}
		r.of.latest[key] = newest
	}
	if newest.why == "" && newest.call == h.call.Call {
		return nil
	}
	return []readRelease{newest}
}

// read is what the root module shows after another release of a module was read.
func (r *rootTrials) read(h holder, addr provider.Addr, v provider.Version, m Measure, after scan.RootModule) option {
	o := option{measure: m, terms: map[provider.Addr][]scan.Term{}}
	for _, required := range after.Tree.Requirements {
		below := collect.Those(required.Terms, func(t scan.Term) bool { return isBelow(t.Module, h.call.Module) })
		if len(below) > 0 {
			o.terms[required.Addr] = below
		}
	}
	o.measure.Why = unread(r.module, after, h.call.Module)
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
func unread(before, after scan.RootModule, module string) string {
	if after.Dir == "" {
		return "the root module could not be read again"
	}
	for _, u := range after.Tree.Unread {
		if isBelow(u.Module, module) {
			return u.Reason
		}
	}
	for _, d := range after.Tree.Diagnostics {
		if d.Severity == problem.SeverityError && !slices.Contains(before.All().Diagnostics, d) {
			return d.Message
		}
	}
	if after.Newer && !before.Newer {
		return "it needs a newer release of " + before.Tool.Name.Title() + " than relock knows"
	}
	return ""
}
