package verify

import (
	"encoding/json"
	"testing"
)

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
	text, err := json.Marshal(sum)
	var written map[string]int
	if err == nil {
		err = json.Unmarshal(text, &written)
	}
	if sum[ByList] != 3 || sum.Hashes() != 4 || err != nil || written["hashes"] != 4 || len(written) != len(verdicts)+1 {
		t.Errorf("sum = %v of %d hashes, in JSON %s, %v; want 3 and 1 of 4", sum, sum.Hashes(), text, err)
	}
}
