package scan

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// VariableSet is a named set of values with which root modules are run.
type VariableSet struct {
	Name string
	// Values are texts by the names of variables. Files are variable files, relative to the
	// root module. A later file overrides an earlier one, and Values override all files.
	Values map[string]string
	Files  []string
	// Directories are globs of the root modules that are run with the set; empty: all.
	Directories []string
}

// Reaches reports whether globs match a directory; no globs match all.
func Reaches(directories []string, dir string) bool {
	return len(directories) == 0 || globs.InAny(directories, dir)
}

// SetNames are names of sets of values, joined. The zero value has none.
type SetNames string

// NamesOfSets are names, in this order.
func NamesOfSets(names ...string) SetNames { return SetNames(strings.Join(names, nameGap)) }

// nameGap separates names, and is in no name.
const nameGap = ", "

// List are the names.
func (n SetNames) List() []string {
	if n.IsZero() {
		return nil
	}
	return strings.Split(string(n), nameGap)
}

// IsZero reports whether there is no name.
func (n SetNames) IsZero() bool { return n == "" }

// Has reports whether a name is among them.
func (n SetNames) Has(name string) bool { return slices.Contains(n.List(), name) }

// With adds the names of others that are missing.
func (n SetNames) With(others SetNames) SetNames {
	var all collect.Set[string]
	all.Add(n.List()...)
	all.Add(others.List()...)
	return NamesOfSets(all.List...)
}

// String names the sets as in a sentence: "set a", "sets a and b".
func (n SetNames) String() string {
	all := n.List()
	switch len(all) {
	case 0:
		return ""
	case 1:
		return "set " + all[0]
	}
	last := len(all) - 1
	return "sets " + strings.Join(all[:last], nameGap) + " and " + all[last]
}

// MarshalJSON implements json.Marshaler with a list of the names.
func (n SetNames) MarshalJSON() ([]byte, error) { return json.Marshal(n.List()) }

// givenValues are the values with which a root module is read: those of the first set. All
// sets have the same values for the variables that the root module has asked for.
type givenValues struct {
	sets []VariableSet // none: there are no values
	// asked are the variables whose values the root module has asked for.
	asked map[string]bool
	read  map[string]variableValues // of their files, by the names of sets
}

// newGiven begins a root module with the sets that apply to it.
func newGiven(sets []VariableSet, dir string) givenValues {
	return givenValues{sets: slices.DeleteFunc(slices.Clone(sets), func(s VariableSet) bool { return !Reaches(s.Directories, dir) })}
}

// setValue is the value of a variable in a set: an expression, a text, or a file that could
// not be read.
type setValue struct {
	text string
	expr hcl.Expression
	bad  string
}

// value is the value of a variable in the first set; false if it has none.
func (g *givenValues) value(at tfconfig.Directory, name string) (setValue, bool) {
	if len(g.sets) == 0 {
		return setValue{}, false
	}
	if g.asked == nil {
		g.asked = map[string]bool{}
	}
	g.asked[name] = true
	return g.valueIn(&g.sets[0], at, name)
}

func (g *givenValues) valueIn(s *VariableSet, at tfconfig.Directory, name string) (setValue, bool) {
	if text, ok := s.Values[name]; ok {
		return setValue{text: text}, true
	}
	if len(s.Files) == 0 {
		return setValue{}, false
	}
	files, ok := g.read[s.Name]
	if !ok {
		if g.read == nil {
			g.read = map[string]variableValues{}
		}
		files = readFiles(at, s.Files)
		g.read[s.Name] = files
	}
	if files.bad != "" {
		return setValue{bad: files.bad}, true
	}
	expr, ok := files.exprs[name]
	return setValue{expr: expr}, ok
}

// key is the same for values that are alike.
func (v setValue) key() string {
	if v.expr == nil {
		return fmt.Sprintf("%q %q", v.text, v.bad)
	}
	return fmt.Sprintf("%#v", staticeval.Literal(v.expr))
}

// differing removes and returns the sets that differ from the first one in a variable that
// was asked for.
func (g *givenValues) differing(at tfconfig.Directory) []VariableSet {
	if len(g.sets) < 2 {
		return nil
	}
	var alike, others []VariableSet
	asked := slices.Sorted(maps.Keys(g.asked))
	for _, s := range g.sets {
		if slices.ContainsFunc(asked, func(name string) bool {
			first, has := g.valueIn(&g.sets[0], at, name)
			own, too := g.valueIn(&s, at, name)
			return has != too || first.key() != own.key()
		}) {
			others = append(others, s)
		} else {
			alike = append(alike, s)
		}
	}
	g.sets = alike
	return others
}

// names are those of the sets.
func (g *givenValues) names() SetNames {
	return NamesOfSets(collect.Mapped(g.sets, func(s VariableSet) string { return s.Name })...)
}

// files are the variable files of all sets, which the root module depends on.
func (g *givenValues) files(at tfconfig.Directory) []string {
	var names []string
	for _, s := range g.sets {
		for _, name := range s.Files {
			names = append(names, path.Join(at.Path, name))
		}
	}
	return names
}

// sets are the names of the sets that have only some of the terms; none if every set has
// all terms.
func (r Requirement) sets() []string {
	var names SetNames
	for _, t := range r.Terms {
		names = names.With(t.Sets)
	}
	return names.List()
}

// In has the terms of one set; false if the set does not require the provider.
func (r Requirement) In(set string) (Requirement, bool) {
	of := Requirement{Addr: r.Addr}
	of.Terms = collect.Those(r.Terms, func(t Term) bool { return t.Sets.IsZero() || t.Sets.Has(set) })
	return of, len(of.Terms) > 0
}

// States reports whether an entry of a lock file may record these constraints: those of the
// configuration or, with several sets of values, those of one set, as init records them.
// With several units, it is those of any unit.
func (r Requirement) States(c provider.Constraints) bool {
	if r.Constraints().Equal(c) {
		return true
	}
	for _, terms := range r.OfUnits {
		if (Requirement{Addr: r.Addr, Terms: terms}).States(c) {
			return true
		}
	}
	return r.OfUnits == nil && slices.ContainsFunc(r.sets(), func(set string) bool {
		of, _ := r.In(set)
		return of.Constraints().Equal(c)
	})
}

// EntryConstraints are the constraints that an entry must record. It keeps the present ones
// if it may record them.
func (r Requirement) EntryConstraints(now provider.Constraints) provider.Constraints {
	if r.States(now) {
		return now
	}
	return r.Constraints()
}
