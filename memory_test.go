package main

import (
	"slices"
	"testing"
)

// The limit grows with the root modules of the largest target and never shrinks;
// GOMEMLIMIT alone decides where it is set.
func TestMemoryGrowsWithRootModules(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, tt := range map[string]struct {
		environment string
		roots       []int
		want        []int64 // every limit that is set
	}{
		"nothing_found_yet":         {"", nil, []int64{192 * mib}},
		"none":                      {"", []int{0}, []int64{192 * mib}},
		"a_few_change_nothing":      {"", []int{50, 3640}, []int64{192 * mib}},
		"many":                      {"", []int{5000}, []int64{192 * mib, 64*mib + 5000*36<<10}},
		"a_smaller_target_after_it": {"", []int{5000, 10, 6000}, []int64{192 * mib, 64*mib + 5000*36<<10, 64*mib + 6000*36<<10}},
		"no_end_of_them":            {"", []int{10_000_000, 20_000_000}, []int64{192 * mib, 1 << 30}},
		"decided":                   {"64MiB", []int{5000}, nil},
		"decided_against":           {"off", []int{5000}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []int64
			found := boundMemory(func(string) string { return tt.environment }, func(limit int64) int64 {
				got = append(got, limit)
				return 0
			})
			for _, n := range tt.roots {
				found(n)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("limits %v, want %v", got, tt.want)
			}
		})
	}
}
