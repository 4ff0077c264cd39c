package memo

import (
	"slices"
	"testing"
)

func TestAlikeKeepsOneOfEqualValues(t *testing.T) {
	t.Parallel()
	var a Alike[[]int]
	one, same, other := []int{1}, []int{1}, []int{2}
	for i, tt := range []struct {
		key         string
		value, want []int
	}{{"a", one, one}, {"a", same, one}, {"b", same, same}, {"a", other, other}, {"a", same, same}} {
		if got := a.One(tt.key, tt.value, slices.Equal); &got[0] != &tt.want[0] {
			t.Errorf("%d: One(%s, %v) is another one", i, tt.key, tt.value)
		}
	}
}
