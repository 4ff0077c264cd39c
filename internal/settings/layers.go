package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
)

// layered is the result of joining the operator's configuration file with a repository's
// own.
type layered struct {
	values Values
	// own are the values of the repository's own file that take effect.
	own Values
	// notices name the values without effect, and the operator's enforced ones.
	notices []problem.Problem
	// problems are contradictions between the files.
	problems []problem.Problem
}

// layerFiles joins two files: a repository's own file overrides the operator's, and the
// operator's enforced settings override both. A file that was not read has no name.
//
// A text, a number, a list or a list of groups replaces another whole. Maps and lists of
// sets override each other name by name. Rules are joined in this order: those of the
// operator's file, the repository's own, the enforced ones. A later rule outranks an
// earlier one.
func layerFiles(operator, own File) layered {
	if operator.Name == "" {
		return layered{values: own.Values, own: own.Values}
	}
	given, said := complete(operator.Values), complete(own.Values)
	l := overlay{given: given, enforced: complete(operator.Enforced)}
	both := layered{values: Values{}, own: Values{}}
	for _, s := range All {
		name := s.Name()
		var layers, overridden []Value // the weakest first
		for _, from := range []Values{given, said, l.enforced} {
			v, ok := from[name]
			if !ok {
				continue
			}
			if v.By == ByRepository {
				counts, without := l.admit(s, v)
				overridden = append(overridden, without...)
				if counts == nil {
					continue
				}
				both.own[name], v = *counts, *counts
			}
			layers = append(layers, v)
		}
		if len(layers) > 0 {
			both.problems = append(both.problems, unlike(s, layers)...)
			both.values[name] = joinLayers(s, layers, overridden)
		}
	}
	both.notices = l.notices
	slices.SortStableFunc(both.notices, problem.Problem.Compare)
	return both
}

// unlike refuses a setting that is a map in one file and a list in another.
func unlike(s Setting, layers []Value) []problem.Problem {
	var list, names *Value
	for _, v := range layers {
		switch {
		case v.records():
			list = &v
		case !v.empty():
			names = &v
		}
	}
	if list == nil || names == nil {
		return nil
	}
	return []problem.Problem{{
		Code: problem.CodeSettings, Place: list.Place, Message: fmt.Sprintf("%s is a list of sets here, and a map in %s", s.Key, names.Place),
		Hint: "write both as lists, or both as maps",
	}}
}

// overlay joins the operator's file and a repository's own.
type overlay struct {
	given, enforced Values
	notices         []problem.Problem
}

// admit splits a repository's own value: counts takes effect, and without does not. counts
// is nil if nothing takes effect.
func (l *overlay) admit(s Setting, own Value) (counts *Value, without []Value) {
	e, enforced := l.enforced[s.Name()]
	switch {
	case enforced && s.layering() == replacing:
		l.noticeEnforced(own, own.Place.Line, s, e)
		return nil, []Value{own}
	case s.layering() == byName:
		return l.admitNames(s, own, e)
	case s.structured():
		own = l.admitRecords(s, own, e.Items)
	}
	return &own, nil
}

// admitNames leaves out enforced names, and changes of the operator's values that a
// repository may not make.
func (l *overlay) admitNames(s Setting, own, enforced Value) (counts *Value, without []Value) {
	some := own
	some.Items = nil
	refused := map[string]bool{}
	for _, item := range own.Items {
		name := item.key()
		given := l.given[s.Name()].only(name)
		switch by := enforced.only(name); {
		case refused[name]:
			continue
		case !by.empty():
			l.noticeEnforced(own, item.Place.Line, s, by)
		case s.lenient != nil && !given.empty() && s.lenient(given.Items[0], item):
			l.notice(item.Place.Line, own, fmt.Sprintf("%s: the operator has chosen %s (%s), and a repository's own file can only make that worse",
				s.Key, write(s.shown(given)), given.Place.String()))
		default:
			some.Items = append(some.Items, item)
			continue
		}
		refused[name], without = true, append(without, own.only(name))
	}
	if some.empty() && !own.empty() {
		return nil, without
	}
	return &some, without
}

// admitRecords leaves out keys that would replace an enforced setting. If an enforced rule
// covers everything that a rule is about, the rule gets a notice: the enforced rule comes
// later, and outranks it.
func (l *overlay) admitRecords(s Setting, own Value, enforced []Item) Value {
	counts := own
	counts.Items = nil
	for _, r := range own.Items {
		r.Fields = maps.Clone(r.Fields)
		for _, f := range s.Fields {
			v, said := r.Fields[f.Name()]
			if by, ok := l.enforced[f.Instead]; ok && said {
				instead, _ := lookup(Setting.Name, f.Instead)
				l.noticeEnforced(v, v.Place.Line, instead, by)
				delete(r.Fields, f.Name())
			} else if i := outranking(s, enforced, r, f); i >= 0 && said {
				l.noticeEnforced(v, v.Place.Line, f, enforced[i].Fields[f.Name()])
			}
		}
		if s.sound == nil || s.sound(s, nil, r) == nil { // something is left
			counts.Items = append(counts.Items, r)
		}
	}
	return counts
}

// outranking returns the index of the enforced rule with the same key that covers
// everything another rule is about; -1 if there is none.
func outranking(s Setting, enforced []Item, r Item, f Setting) int {
	return slices.IndexFunc(enforced, func(by Item) bool {
		if f.Where || !by.has(f.Name()) {
			return false
		}
		for _, where := range s.Fields {
			if where.Where && by.has(where.Name()) && !slices.Equal(by.Fields.Texts(where.Name()), r.Fields.Texts(where.Name())) {
				return false
			}
		}
		return true
	})
}

// noticeEnforced says that a value has no effect, and why. A value that only follows from
// another one has the notice of that one.
func (l *overlay) noticeEnforced(own Value, line int, s Setting, enforced Value) {
	if own.implied {
		return
	}
	l.notice(line, own, fmt.Sprintf("the operator enforces %s: %s (%s)", s.Key, write(s.shown(enforced)), enforced.Place.String()))
}

func (l *overlay) notice(line int, own Value, message string) {
	l.notices = append(l.notices, problem.Problem{
		Code: problem.CodeSettings, Severity: problem.SeverityWarning, Place: problem.Place{Path: own.Place.Path, Line: line},
		Message: message, Hint: "take the line out: it has no effect",
	})
}

// joinLayers joins the values of several files, the weakest first. overridden are those
// without effect.
func joinLayers(s Setting, layers, overridden []Value) Value {
	last := layers[len(layers)-1]
	v := last
	switch before := layers[:len(layers)-1]; {
	case s.layering() == replacing:
		overridden = slices.Concat(before, overridden)
	case len(before) > 0:
		v.Items = nil
		v.parts = slices.DeleteFunc(layers, Value.empty)
		if s.layering() == byName {
			var gone []Value
			v.parts, gone = united(layers)
			overridden = append(overridden, gone...)
		}
		for _, p := range v.parts {
			v.Items = append(v.Items, p.Items...)
		}
		v.Source = sourcesOf(v.parts)
		switch len(v.parts) {
		case 0:
			v = last
		case 1:
			v = v.parts[0]
		}
	}
	slices.Reverse(overridden)
	v.over = overridden
	return v
}

// united joins maps. A stronger map removes its names from weaker ones, and gone are the
// removed parts.
func united(layers []Value) (parts, gone []Value) {
	for i, layer := range layers {
		part, rest := layer, layer
		part.Items, rest.Items = nil, nil
		for _, item := range layer.Items {
			to := &part
			if slices.ContainsFunc(layers[i+1:], func(v Value) bool { return !v.only(item.key()).empty() }) {
				to = &rest
			}
			to.Items = append(to.Items, item)
		}
		parts, gone = append(parts, part), append(gone, rest)
	}
	return slices.DeleteFunc(parts, Value.empty), slices.DeleteFunc(gone, Value.empty)
}

func sourcesOf(parts []Value) string {
	sources := make([]string, len(parts))
	for i, p := range parts {
		sources[i] = p.Source
	}
	return strings.Join(sources, ", ")
}

// complete makes auto-merge and draft exclude each other, since GitHub refuses both
// together. If one file sets auto-merge, it also sets that pull requests are no drafts, and
// the other way round. So a value of another file cannot contradict it.
func complete(given Values) Values {
	given = maps.Clone(given)
	exclude(given, nil, "pull-request.")
	if groups, ok := given["groups"]; ok {
		groups.Items = slices.Clone(groups.Items)
		for i, r := range groups.Items {
			groups.Items[i].Fields = maps.Clone(r.Fields)
			exclude(groups.Items[i].Fields, given, "")
		}
		given["groups"] = groups
	}
	return given
}

// exclude does so for the keys with a prefix. around are the defaults for these keys in the
// same file.
func exclude(values, around Values, prefix string) {
	draft, drafts := values[prefix+"draft"]
	merge, merges := values[prefix+"auto-merge"]
	_, draftAround := around["pull-request.draft"]
	_, mergeAround := around["pull-request.auto-merge"]
	if drafts && draft.text() == "true" && !merges && !mergeAround {
		draft.Items, draft.implied = []Item{{Place: draft.Place}}, true
		values[prefix+"auto-merge"] = draft
	}
	if merges && merge.text() != "" && !drafts && !draftAround {
		merge.Items, merge.implied = []Item{{Text: "false", Place: merge.Place}}, true
		values[prefix+"draft"] = merge
	}
}
