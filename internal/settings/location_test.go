package settings

import "testing"

func TestChoose(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		facts Facts
		want  Location
	}{
		{"nothing named, nothing checked out", Facts{}, SearchedTree},
		{"nothing named, checked out", Facts{Checkout: true}, SearchedDisk},
		{"named within what is read, on a pull request's head", Facts{Named: true}, NamedTree},
		{"named within the checkout", Facts{Named: true, Checkout: true}, NamedDisk},
		{"named outside of the checkout", Facts{Named: true, Apart: true, Checkout: true}, Operators},
		{"named outside, on a pull request's head", Facts{Named: true, Apart: true}, Operators},
	} {
		if got := Choose(tt.facts); got != tt.want {
			t.Errorf("%s: Choose(%+v) = %d, want %d", tt.name, tt.facts, got, tt.want)
		}
	}
}
