package provider

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Constraints is a set of version constraint terms, all of which must hold. It is
// always canonical: without duplicates, and sorted like the constraints argument
// of a lock file. The zero value allows any release [terraform 1.11
// internal/getproviders/providerreqs/version.go].
//
// go-version would select other versions than the tools do, so relock has this
// type. Here "~> 1" has an upper bound, only an exact term admits prereleases,
// and exact terms compare build metadata. That is Terraform's behaviour for
// providers, from go-versions. For the versions of modules, Terraform uses
// go-version [terraform 1.11 internal/getproviders/providerreqs/version.go].
type Constraints struct{ terms []Term }

// Term is one comparison of a version with a bound. Terms are comparable with ==;
// two spellings of one term (">= 1", ">=1.0") are equal.
type Term struct {
	Op    Op
	Bound Version
}

// Op is the operator of a term. There are two pessimistic operators, since the
// number of written parts decides what is allowed.
type Op int

// The operators, in the tools' order for terms with one bound [terraform 1.11
// internal/getproviders/providerreqs/version.go].
const (
	Greater     Op = iota + 1 // >
	AtLeast                   // >=
	Exactly                   // = or nothing
	WithinMinor               // ~> X.Y.Z: below X.(Y+1).0
	WithinMajor               // ~> X.Y or ~> X: below (X+1).0.0
	AtMost                    // <=
	Less                      // <
	Not                       // !=
)

var opText = map[Op]string{
	Greater: "> ", AtLeast: ">= ", Exactly: "", WithinMinor: "~> ", WithinMajor: "~> ",
	AtMost: "<= ", Less: "< ", Not: "!= ",
}

// termForm splits a term into operator and version. At most one space may be
// between them, and only after an operator.
var termForm = regexp.MustCompile(`^(?:(=|!=|>|>=|<|<=|~>) ?)?([0-9].*)$`)

// ParseConstraints reads a version constraint string as the tools do for
// providers: terms separated by commas, with white space around each. An empty
// string and an empty term are errors [terraform 1.11
// internal/getproviders/providerreqs/version.go].
func ParseConstraints(s string) (Constraints, error) {
	var terms []Term
	for piece := range strings.SplitSeq(s, ",") {
		t, err := parseTerm(strings.Trim(piece, " \t\r\n\v\f"))
		if err != nil {
			return Constraints{}, fmt.Errorf("invalid version constraints %q: %w", s, err)
		}
		terms = append(terms, t)
	}
	return NewConstraints(terms...), nil
}

// WrittenIn is the term as a constraint string spells it. It is empty if that is the
// canonical form, or if the string has no such term.
func (t Term) WrittenIn(s string) string {
	for piece := range strings.SplitSeq(s, ",") {
		piece = strings.TrimSpace(piece)
		parsed, err := parseTerm(piece)
		if err == nil && parsed == t && piece != t.String() {
			return strings.Clone(piece)
		}
	}
	return ""
}

func parseTerm(s string) (Term, error) {
	if s == "" {
		return Term{}, fmt.Errorf("a constraint is empty")
	}
	m := termForm.FindStringSubmatch(s)
	if m == nil {
		return Term{}, fmt.Errorf("%q is not an operator (=, !=, >, >=, <, <= or ~>) and a version", s)
	}
	bound, numbers, err := parseVersion(m[2])
	if err != nil {
		return Term{}, err
	}
	op := written[m[1]]
	if op == WithinMajor && numbers == 3 {
		op = WithinMinor
	}
	return Term{Op: op, Bound: bound}, nil
}

// written are the operators as constraint strings have them.
var written = map[string]Op{
	">": Greater, ">=": AtLeast, "=": Exactly, "": Exactly, "~>": WithinMajor, "<=": AtMost, "<": Less, "!=": Not,
}

// NewConstraints builds the canonical set of the given terms.
func NewConstraints(terms ...Term) Constraints {
	sorted := slices.Clone(terms)
	slices.SortFunc(sorted, Term.compare)
	return Constraints{terms: slices.Compact(sorted)}
}

// Terms returns the terms in canonical order. The caller must not change them.
func (c Constraints) Terms() []Term { return c.terms }

// Empty reports whether there is no term; then any release is allowed.
func (c Constraints) Empty() bool { return len(c.terms) == 0 }

// Equal reports whether both sets have the same terms.
func (c Constraints) Equal(d Constraints) bool { return slices.Equal(c.terms, d.terms) }

// String returns the canonical form that lock files record; "" for no terms.
func (c Constraints) String() string {
	texts := make([]string, len(c.terms))
	for i, t := range c.terms {
		texts[i] = t.String()
	}
	return strings.Join(texts, ", ")
}

// MarshalText implements encoding.TextMarshaler with String's form.
func (c Constraints) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Allows reports whether a version may be selected: it meets every term, and an
// exact term names it if it is a prerelease. 0.0.0 is never allowed.
func (c Constraints) Allows(v Version) bool {
	if v.IsZero() {
		return false
	}
	named := v.Prerelease == ""
	for _, t := range c.terms {
		if !t.Meets(v) {
			return false
		}
		named = named || t.Op == Exactly
	}
	return named
}

// Meets reports whether the version satisfies the comparison. It ignores the rule
// for prereleases, which needs the whole set.
func (t Term) Meets(v Version) bool {
	order := v.Precedence(t.Bound)
	switch t.Op {
	case Greater:
		return order > 0
	case AtLeast:
		return order >= 0
	case AtMost:
		return order <= 0
	case Less:
		return order < 0
	case Not:
		return v != t.Bound
	case WithinMinor:
		return order >= 0 && v.Precedence(Version{Major: t.Bound.Major, Minor: t.Bound.Minor + 1}) < 0
	case WithinMajor:
		return order >= 0 && v.Precedence(Version{Major: t.Bound.Major + 1}) < 0
	}
	return v == t.Bound
}

// String returns the term's canonical form.
func (t Term) String() string {
	text := t.Bound.String()
	if t.Op == WithinMajor {
		core := t.Bound.Core().String()
		text = strings.TrimSuffix(core, ".0") + strings.TrimPrefix(text, core)
	}
	return opText[t.Op] + text
}

// MarshalText implements encoding.TextMarshaler with String's form; the zero value, which
// allows any version, is the empty text.
func (t Term) MarshalText() ([]byte, error) {
	if t.Op == 0 {
		return nil, nil
	}
	return []byte(t.String()), nil
}

// Raised returns the term in the same form for a release above its bound. A term
// that the release meets is unchanged. A raised lower bound never moves down.
// Examples:
//
//	"~> 5.31"    and 6.20.1   "~> 6.0"
//	"~> 5.31.2"  and 6.20.1   "~> 6.20.0"
//	"< 6.0.0"    and 6.20.1   "< 7.0.0"
//	"< 6.5.0"    and 6.20.1   "< 6.21.0"
//	"= 5.31.0"   and 6.20.1   "= 6.20.1"
//	"!= 6.20.1"  and 6.20.1   the zero Term: none remains
func (t Term) Raised(v Version) Term {
	if t.Op == 0 || t.Meets(v) {
		return t
	}
	raised := t.raised(v)
	if raised.Op != 0 && !raised.Meets(v) { // there is no next number
		return Term{Exactly, v}
	}
	return raised
}

func (t Term) raised(v Version) Term {
	next := v.Core()
	switch {
	case t.Op == Exactly:
		return Term{Exactly, v}
	case t.Op == AtMost:
		return Term{AtMost, v.Core()}
	case t.Op == WithinMajor:
		return Term{WithinMajor, Version{Major: v.Major}}
	case t.Op == WithinMinor:
		return Term{WithinMinor, Version{Major: v.Major, Minor: v.Minor}}
	case t.Op != Less:
		return Term{}
	case t.Bound.Patch != 0:
		next.Patch++
	case t.Bound.Minor != 0:
		next.Minor, next.Patch = next.Minor+1, 0
	default:
		next = Version{Major: v.Major + 1}
	}
	return Term{Less, next}
}

func (t Term) compare(u Term) int {
	return cmp.Or(t.Bound.Compare(u.Bound), cmp.Compare(t.Op, u.Op))
}
