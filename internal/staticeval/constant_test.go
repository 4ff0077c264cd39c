package staticeval

import (
	"strings"
	"testing"
)

// TestConstant evaluates what people write, and refuses what would not end.
func TestConstant(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]*Unknown{
		`"~> ${1}.0"`:                          nil,
		`"${2 * 3 - "1"}"`:                     nil,
		`1000000 * 1000000`:                    nil,
		`[1e1000, 1e1000][1]`:                  nil,
		`-1e1200`:                              nil,
		`1e1300`:                               Costly,
		`1e-1300`:                              Costly,
		`["${1e600000000}"]`:                   Costly,
		`"${1e1200 * 1e1200}"`:                 Costly,
		`"1e600000000" * 1`:                    Costly,
		`"1e${600000000}" * 1`:                 Costly,
		`(true ? ["1e600000000"] : [""])[0]+1`: Costly,
		`[for v in ["1"] : v]`:                 Loop,
		`"%{for v in ["1"]}${v}%{endfor}"`:     Loop,
		`["1"][*]`:                             Splat,
		`"` + strings.Repeat("a", MaxConstant) + `"`: Long,
	} {
		if _, got, diags := Constant(parse(t, src)); got != want || diags.HasErrors() {
			t.Errorf("Constant(%.40s) is refused: %v, %v, want %v", src, got, diags, want)
		}
	}
}
