package units

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/staticeval"
)

// EnvironmentSet is a set of values that units are run with. The values come from the
// settings. The environment of this process does not matter to units.
type EnvironmentSet struct {
	Name string
	// Env are variables of the environment, and Features are feature flags.
	Env, Features map[string]string
	// Directories are globs of the units that are run with the set. Empty means all units.
	Directories []string
}

// AskedNames are the names of the outside values that a unit has asked for, also those
// without a value.
type AskedNames struct{ env, features map[string]bool }

// Differs reports whether two sets differ in a value that was asked for.
func (a AskedNames) Differs(s, other EnvironmentSet) bool {
	return differ(a.env, s.Env, other.Env) || differ(a.features, s.Features, other.Features)
}

func differ(names map[string]bool, a, b map[string]string) bool {
	for name := range names {
		x, inA := a[name]
		y, inB := b[name]
		if inA != inB || x != y {
			return true
		}
	}
	return false
}

// Read reads the unit of a directory with each of the sets of values. Sets with equal values
// for everything that the unit asks for share one reading.
func Read(files *Files, dir string, sets []EnvironmentSet) []Unit {
	var units []Unit
	EachWay(sets, func(set *EnvironmentSet) func(other EnvironmentSet) bool {
		u := readUnit(files, dir, set)
		units = append(units, u)
		return func(other EnvironmentSet) bool { return u.asked.Differs(*set, other) }
	}, func(alike []EnvironmentSet) { units[len(units)-1].Sets = NamesOf(alike) })
	return units
}

// Reaching returns the sets whose globs match a directory.
func Reaching(sets []EnvironmentSet, dir string) []EnvironmentSet {
	return slices.DeleteFunc(slices.Clone(sets), func(s EnvironmentSet) bool { return !scan.Reaches(s.Directories, dir) })
}

// NamesOf returns the names of several sets in the form that a scan.Root has them.
func NamesOf(sets []EnvironmentSet) scan.SetNames {
	return scan.NamesOfSets(collect.Mapped(sets, func(s EnvironmentSet) string { return s.Name })...)
}

// EachWay calls read with the first set. Then it calls it with the first set that differs
// in a value that was asked for, and so on, until every set is covered. Without sets it
// calls read once, with nil. done gets the sets that each reading covers.
func EachWay(sets []EnvironmentSet, read func(set *EnvironmentSet) (differs func(other EnvironmentSet) bool), done func(alike []EnvironmentSet)) {
	if len(sets) == 0 {
		read(nil)
		return
	}
	for left := sets; len(left) > 0; {
		differs := read(&left[0])
		var alike, others []EnvironmentSet
		for _, s := range left {
			if differs(s) {
				others = append(others, s)
			} else {
				alike = append(alike, s)
			}
		}
		done(alike)
		left = others
	}
}

// variable is the value of an environment variable in the set; false if the set has none.
func (r *Reading) variable(name string) (string, bool) {
	r.Asked.env[name] = true
	if r.set == nil {
		return "", false
	}
	text, ok := r.set.Env[name]
	return text, ok
}

// flag is the value of a feature flag in the set, which has the type of its default;
// false if the set has none [terragrunt 1.1 pkg/config/feature_flag.go].
func (r *Reading) flag(name string, fallback cty.Value) (v cty.Value, ok bool, why *staticeval.Unknown) {
	r.Asked.features[name] = true
	if r.set == nil {
		return cty.NilVal, false, nil
	}
	text, ok := r.set.Features[name]
	if !ok {
		return cty.NilVal, false, nil
	}
	plain, _ := fallback.Unmark()
	v = cty.StringVal(text)
	if !plain.IsNull() && plain.Type().IsPrimitiveType() {
		converted, err := convert.Convert(v, plain.Type())
		if err != nil {
			v, why = notAllowed("the value of feature.%s is not of the type of its default", name)
			return v, true, why
		}
		v = converted
	}
	return v, true, nil
}
