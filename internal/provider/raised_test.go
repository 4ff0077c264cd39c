package provider

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestRaised(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ term, version, want string }{
		{"~> 5.31", "6.20.1", "~> 6.0"},
		{"~> 5", "6.20.1", "~> 6.0"},
		{"~> 5.31.2", "6.20.1", "~> 6.20.0"},
		{"~> 5.31.2", "5.40.3", "~> 5.40.0"},
		{"~> 5.31.2-beta1", "5.40.3", "~> 5.40.0"},
		{"< 6", "6.20.1", "< 7.0.0"},
		{"< 6.5", "6.20.1", "< 6.21.0"},
		{"< 6.5.2", "6.20.1", "< 6.20.2"},
		{"< 6", "6.0.0", "< 7.0.0"},
		{"<= 5.99", "6.20.1", "<= 6.20.1"},
		{"= 5.31.0", "6.20.1", "6.20.1"},
		{"5.31.0", "6.20.1+a", "6.20.1+a"},
		{"!= 6.20.1", "6.20.1", ""},
		{">= 5", "6.20.1", ">= 5.0.0"},
		{"~> 6.1", "6.20.1", "~> 6.1"},
		{"< 6", "9223372036854775807.0.0", "9223372036854775807.0.0"},
	} {
		term, v := constraints(t, tt.term).Terms()[0], version(t, tt.version)
		got, err := term.Raised(v).MarshalText()
		if err != nil || string(got) != tt.want {
			t.Errorf("Term(%q).Raised(%s) = %q, want %q", tt.term, tt.version, got, tt.want)
		}
	}
	if got := (Term{}).Raised(version(t, "1.0.0")); got != (Term{}) {
		t.Errorf("no term becomes %q", got)
	}
}

// TestRaisedTextAdmitsTheVersionAndNothingOlder makes random constraint texts and puts
// what Raised says in place of each term that excludes a version above the one in use.
func TestRaisedTextAdmitsTheVersionAndNothingOlder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	number := func() int64 {
		return []int64{0, 1, 2, 3, 10, 0, 1, 2, 3, 10, math.MaxInt64}[random.IntN(11)]
	}
	some := func() Version { return Version{Major: number(), Minor: number(), Patch: number()} }
	ops := []string{"", "= ", "!= ", "> ", ">= ", "< ", "<= ", "~> "}
	tried := 0
	for range 200_000 {
		var pieces []string
		for range 1 + random.IntN(3) {
			text := some().String()
			for range random.IntN(3) {
				text = text[:strings.LastIndexByte(text, '.')]
			}
			pieces = append(pieces, ops[random.IntN(len(ops))]+text)
		}
		used, newest := some(), some()
		before := constraints(t, strings.Join(pieces, ", "))
		if newest.Compare(used) <= 0 || !before.Allows(used) || before.Allows(newest) || newest.IsZero() {
			continue
		}
		tried++
		var after []string
		for _, piece := range pieces {
			term := constraints(t, piece).Terms()[0]
			raised := term.Raised(newest)
			switch {
			case term.Meets(newest):
				after = append(after, piece)
				if raised != term {
					t.Fatalf("of %q, %q becomes %q, though %s meets it", pieces, term, raised, newest)
				}
			case raised != (Term{}):
				after = append(after, raised.String())
			}
		}
		text := strings.Join(after, ", ")
		var now Constraints
		if text != "" {
			now = constraints(t, text)
		}
		if !now.Allows(newest) {
			t.Fatalf("%q becomes %q, which does not allow %s", pieces, text, newest)
		}
		for range 20 {
			v := some()
			if now.Allows(v) && !aboveAll(before, v) {
				t.Fatalf("%q becomes %q, which allows %s", pieces, text, v)
			}
		}
	}
	if tried < 1000 {
		t.Errorf("%d constraints were tried, want more", tried)
	}
}

// aboveAll reports whether a version is above every lower bound.
func aboveAll(c Constraints, v Version) bool {
	for _, t := range c.Terms() {
		order := v.Precedence(t.Bound)
		if t.Op == Greater && order <= 0 || order < 0 && (t.Op == AtLeast || t.Op == WithinMinor || t.Op == WithinMajor || t.Op == Exactly) {
			return false
		}
	}
	return true
}
