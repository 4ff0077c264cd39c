package verify

import "testing"

func TestCountsAreOneLine(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Counts{
		"0 hashes; 0 unproven":                                 {},
		"1 hash: 1 in signed lists; 0 unproven":                {ByList: 1},
		"3 hashes: 1 in unsigned lists; 1 refuted, 1 unproven": {Unsigned: 1, Disproven: 1, Unproven: 1},
		"214 hashes: 150 in signed lists, 40 h1 by packages hashed now, 24 h1 by earlier runs; 0 unproven": {ByList: 150, ByPackage: 40, ByCache: 24},
		"2 hashes: 1 known from mirrors alone, 1 known from a registry's word alone; 0 unproven":           {ByMirror: 1, ByReport: 1},
	} {
		if got := c.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
	sum := Counts{ByList: 1}
	sum.Add(Counts{ByList: 2, Disproven: 1})
	if sum[ByList] != 3 || sum.Hashes() != 4 || len(sum.Each()) != len(verdicts) {
		t.Errorf("sum = %v of %d hashes, want 3 and 1 of 4", sum, sum.Hashes())
	}
}
