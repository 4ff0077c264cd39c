package scan

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// VariableSet is a set of values that root modules are run with, by the name that people gave it.
type VariableSet struct {
	Name string
	// Values are those of variables, as texts. Files are variable files, relative to the
	// root module, of which a later one wins; Values win over all of them.
	Values map[string]string
	Files  []string
	// Directories are globs of the root modules that are run with the set; empty: all.
	Directories []string
}

// Reaches reports whether globs of directories take in a directory: without any, all are.
func Reaches(directories []string, dir string) bool {
	return len(directories) == 0 || globs.InAny(directories, dir)
}

// SetNames are names of sets of values, joined. The zero value has none.
type SetNames string

// NamesOfSets are names, in this order.
func NamesOfSets(names ...string) SetNames { return SetNames(strings.Join(names, nameGap)) }

// nameGap is what no name of a set has.
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

// With are these names and those of others that are not among them.
func (n SetNames) With(others SetNames) SetNames {
	all := n.List()
	for _, name := range others.List() {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return NamesOfSets(all...)
}

// String names the sets as sentences have them: "set a", "sets a and b".
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

// UnmarshalJSON implements json.Unmarshaler.
func (n *SetNames) UnmarshalJSON(src []byte) error {
	var names []string
	err := json.Unmarshal(src, &names)
	*n = NamesOfSets(names...)
	return err
}

// givenValues are the values from outside with which a root module is read: those of the first
// of some sets. As far as the root module has asked for values, all of the sets have the
// same.
type givenValues struct {
	sets []VariableSet // none: there are no values
	// asked are the variables whose values the root module has asked for.
	asked map[string]bool
	read  map[string]variableValues // by the names of sets, their files
}

// newGiven begins a root module with the sets that reach it.
func newGiven(sets []VariableSet, dir string) givenValues {
	return givenValues{sets: slices.DeleteFunc(slices.Clone(sets), func(s VariableSet) bool { return !Reaches(s.Directories, dir) })}
}

// setValue is the value of a variable in a set: an expression or a text, or the file that
// could not be read.
type setValue struct {
	text string
	expr hcl.Expression
	bad  string
}

// value is that of a variable in the first set; false if it has none.
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

// differing takes the sets away that have another value than the first one, of a variable
// that was asked for, and returns them.
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
	var names []string
	for _, s := range g.sets {
		names = append(names, s.Name)
	}
	return NamesOfSets(names...)
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

// sets are the names of the sets with which only some of the terms are required; none if
// all of them are required with every set.
func (r Requirement) sets() []string {
	var names SetNames
	for _, t := range r.Terms {
		names = names.With(t.Sets)
	}
	return names.List()
}

// In are the terms of one set, with the requirements on the provider there; false if
// nothing is.
func (r Requirement) In(set string) (Requirement, bool) {
	of := Requirement{Addr: r.Addr}
	for _, t := range r.Terms {
		if t.Sets.IsZero() || t.Sets.Has(set) {
			of.Terms = append(of.Terms, t)
		}
	}
	return of, len(of.Terms) > 0
}

// States reports whether the entry of a lock file may state constraints: those of the
// configuration or, where there are several sets of values, those of one. Init states
// the latter. Where several units begin with the lock file, it is what the entry of one of
// them may state.
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

// EntryConstraints are those that the entry of a lock file is to state, which states some
// now: it keeps them if it may.
func (r Requirement) EntryConstraints(now provider.Constraints) provider.Constraints {
	if r.States(now) {
		return now
	}
	return r.Constraints()
}
