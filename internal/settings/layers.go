package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
)

// layers are the values of several sources, from weak to strong: the defaults, which merge
// adds, environment, operator, own, enforced, and given from its last to its first.
type layers struct {
	environment Values
	// operator and enforced are of the operator's configuration file, and own is a
	// repository's own.
	operator, own, enforced Values
	given                   []Values
}

// layersOf are those of two files. A file that was not read has no name.
func layersOf(operator, own File) layers {
	if operator.Name == "" {
		return layers{own: own.Values}
	}
	return layers{operator: complete(operator.Values), own: complete(own.Values), enforced: complete(operator.Enforced)}
}

// merged is the result of merging layers.
type merged struct {
	from   layers
	values Values
	// own are the values of the repository's own file that take effect.
	own Values
	// notices name the values of that file without effect, and the operator's enforced ones.
	notices []problem.Problem
	// problems are contradictions between the files.
	problems []problem.Problem
}

// Merge joins the sources and the defaults, the strongest first: flags, dispatch inputs,
// inputs, files, environment.
func Merge(strongestFirst ...Values) Values { return merge(layers{given: strongestFirst}).values }

// merge joins layers. A text, a number, a list or a list of groups replaces another whole.
// Maps and lists of sets override each other name by name. Rules are joined in this order:
// those of the operator's file, the repository's own, the enforced ones. A later rule
// outranks an earlier one.
func merge(from layers) merged {
	m := merged{from: from, values: Values{}, own: Values{}}
	weakestFirst := []Values{from.environment, from.operator, from.own, from.enforced}
	for _, layer := range slices.Backward(from.given) {
		weakestFirst = append(weakestFirst, layer)
	}
	for _, s := range All {
		m.values[s.Name()] = m.merge(s, weakestFirst)
	}
	slices.SortStableFunc(m.notices, problem.Problem.Compare)
	return m
}

// merge joins the values of one setting.
func (m *merged) merge(s Setting, weakestFirst []Values) Value {
	name := s.Name()
	enforced, isEnforced := m.from.enforced[name]
	var all, refused []Value
	for _, layer := range weakestFirst {
		v, ok := layer[name]
		switch {
		case !ok:
			continue
		case v.By != ByRepository:
		case isEnforced && s.replaces():
			m.noticeEnforced(v, v.Place, s, enforced)
		default:
			v, refused = m.admit(s, v, enforced)
			if v.empty() && len(refused) > 0 {
				continue
			}
			m.own[name] = v
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		return s.byDefault()
	}
	m.problems = append(m.problems, unlike(s, all)...)
	return join(s, all, refused)
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
	return []problem.Problem{refusal(list.Place, "write both as lists, or both as maps", "%s is a list of sets here, and a map in %s", s.Key, names.Place)}
}

// admit splits a repository's own value: counts takes effect, and refused does not.
func (m *merged) admit(s Setting, own, enforced Value) (counts Value, refused []Value) {
	switch {
	case s.byName:
		return m.admitNames(s, own, enforced)
	case s.structured():
		return m.admitRecords(s, own, enforced.Items), nil
	}
	return own, nil
}

// admitNames leaves out enforced names, and changes of the operator's values that a
// repository may not make.
func (m *merged) admitNames(s Setting, own, enforced Value) (counts Value, refused []Value) {
	counts = own
	counts.Items = nil
	out := map[string]bool{}
	for _, item := range own.Items {
		name := item.key()
		given := m.from.operator[s.Name()].only(name)
		switch by := enforced.only(name); {
		case out[name]:
			continue
		case !by.empty():
			m.noticeEnforced(own, item.Place, s, by)
		case s.lenient != nil && !given.empty() && s.lenient(given.Items[0], item):
			m.notice(item.Place, fmt.Sprintf("%s: the operator has chosen %s (%s), and a repository's own file can only make that worse",
				s.Key, write(shown(s, given)), given.Place.String()))
		default:
			counts.Items = append(counts.Items, item)
			continue
		}
		out[name], refused = true, append(refused, own.only(name))
	}
	return counts, refused
}

// admitRecords leaves out keys that would replace an enforced setting. If an enforced rule
// covers everything that a rule is about, the rule gets a notice: the enforced rule comes
// later, and outranks it.
func (m *merged) admitRecords(s Setting, own Value, enforced []Item) Value {
	counts := own
	counts.Items = nil
	for _, r := range own.Items {
		r.Fields = maps.Clone(r.Fields)
		for _, f := range s.Fields {
			v, said := r.Fields[f.Name()]
			if by, ok := m.from.enforced[f.Instead]; ok && said {
				instead, _ := lookup(Setting.Name, f.Instead)
				m.noticeEnforced(v, v.Place, instead, by)
				delete(r.Fields, f.Name())
			} else if i := outranking(s, enforced, r, f); i >= 0 && said {
				m.noticeEnforced(v, v.Place, f, enforced[i].Fields[f.Name()])
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
func (m *merged) noticeEnforced(own Value, at problem.Place, s Setting, enforced Value) {
	if !own.implied {
		m.notice(at, fmt.Sprintf("the operator enforces %s: %s (%s)", s.Key, write(shown(s, enforced)), enforced.Place.String()))
	}
}

func (m *merged) notice(at problem.Place, message string) {
	notice := refusal(at, "take the line out: it has no effect", "%s", message)
	notice.Severity = problem.SeverityWarning
	m.notices = append(m.notices, notice)
}

// join joins values, the weakest first. refused have no effect.
func join(s Setting, all, refused []Value) Value {
	v, over := all[len(all)-1], refused
	switch before := all[:len(all)-1]; {
	case s.replaces():
		over = before
	case len(before) > 0:
		parts := all
		if s.byName {
			var gone []Value
			parts, gone = united(all)
			over = append(over, gone...)
		}
		parts = slices.DeleteFunc(parts, Value.empty)
		if len(parts) > 0 {
			v = partsJoined(parts)
		}
	}
	v.over = slices.Clone(over)
	slices.Reverse(v.over)
	return v
}

// partsJoined is the value that parts make together.
func partsJoined(parts []Value) Value {
	if len(parts) == 1 {
		return parts[0]
	}
	v := parts[len(parts)-1]
	v.Items, v.parts = nil, parts
	var sources []string
	for _, p := range parts {
		v.Items, sources = append(v.Items, p.Items...), append(sources, p.Source)
	}
	v.Source = strings.Join(sources, ", ")
	return v
}

// united splits maps. parts take effect. Stronger maps override the names in gone.
func united(all []Value) (parts, gone []Value) {
	for i, v := range all {
		part, rest := v, v
		part.Items, rest.Items = nil, nil
		for _, item := range v.Items {
			to := &part
			if slices.ContainsFunc(all[i+1:], func(v Value) bool { return !v.only(item.key()).empty() }) {
				to = &rest
			}
			to.Items = append(to.Items, item)
		}
		parts, gone = append(parts, part), append(gone, rest)
	}
	return parts, slices.DeleteFunc(gone, Value.empty)
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
