package staticeval

import (
	"slices"
	"strings"
	"testing"
)

// TestWays goes each way through directives that depend on what is not known, and no
// other.
func TestWays(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"known": `"k"`, "yes": `true`, "list": `["x", "y"]`, "if": `"a%{if local.nowhere == "x"}b%{endif}c"`,
	}
	for expr, want := range map[string][]string{
		`"a"`: {"a"},
		`"a%{if local.nowhere == "x"}b%{endif}c"`:                           {"ac", "abc"},
		`"a%{if local.nowhere}b%{else}c%{endif}d"`:                          {"acd", "abd"},
		`"%{if local.yes}b%{else}c%{endif}"`:                                {"b"},
		`"%{if local.yes}b%{else}%{if local.nowhere}c%{endif}%{endif}"`:     {"b"},
		`"%{if local.nowhere}a%{if local.elsewhere}b%{endif}%{endif}."`:     {".", "a.", "ab."},
		`"%{if local.nowhere}a%{endif}%{if local.elsewhere}b%{endif}."`:     {".", "b.", "a.", "ab."},
		`"%{for x in local.nowhere}${x},%{endfor}."`:                        {".", "?,."},
		`"%{for k, x in local.nowhere}${k}=${x},%{endfor}."`:                {".", "?=?,."},
		`"%{for x in local.list}${x}%{if local.nowhere}!%{endif}%{endfor}"`: {"xy", "xy!", "x!y", "x!y!"},
		`"%{for x in local.nowhere}%{if x == "a"}b%{endif}c%{endfor}."`:     {".", "c.", "bc."},
		`"a${local.nowhere}%{if local.nowhere}b%{endif}"`:                   {"a?", "a?b"},
		// What a template refers to has no ways, and neither does what is no template.
		`"<${local.if}>"`:                   {"<?>"},
		`"%{if local.if == "x"}a%{endif}."`: {".", "a."},
		`local.if`:                          nil,
		`local.nowhere ? "a" : "b"`:         nil,
		`"${local.nowhere ? "a" : "b"}"`:    nil,
	} {
		s := lenient(t, texts)
		values, open, why := s.Ways(parse(t, expr), 32)
		var got []string
		for _, v := range values {
			if why == nil {
				plain, _ := v.Unmark()
				text := plain.AsString()
				for Has(text) {
					before, after, _ := strings.Cut(text, hole)
					_, rest, _ := strings.Cut(after, "_")
					text = before + "?" + rest
				}
				got = append(got, text)
			}
		}
		if !slices.Equal(got, want) || len(open) == 0 && len(got) > 1 {
			t.Errorf("Ways(%s) = %q with %d open directives, %+v, want %q", expr, got, len(open), why, want)
		}
		if s.Holes.way != nil {
			t.Errorf("Ways(%s) leaves a way open", expr)
		}
	}
}

func TestWaysAreBounded(t *testing.T) {
	t.Parallel()
	for n, fits := range map[int]bool{5: true, 6: false} {
		expr := `"` + strings.Repeat(`%{if local.nowhere}a%{endif}`, n) + `."`
		values, open, why := lenient(t, nil).Ways(parse(t, expr), 32)
		if fits != (why == nil) || fits && len(values) != 32 || len(open) == 0 {
			t.Errorf("%d directives have %d ways, %d open, %+v", n, len(values), len(open), why)
		}
		if !fits && why.Reason != "local.nowhere is not known, and there are more than 32 ways through the template" {
			t.Errorf("the reason is %q", why.Reason)
		}
	}
}
