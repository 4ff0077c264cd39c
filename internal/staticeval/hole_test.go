package staticeval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// lenient makes a scope like locals that admits loops and holes.
func lenient(t testing.TB, texts map[string]string) *Scope {
	t.Helper()
	s := locals(t, texts)
	s.Holes = &Holes{Through: []string{"join"}}
	s.Refer = func(root, name string) (cty.Value, *Unknown) {
		if text, ok := texts[name]; ok && root == "local" {
			return s.Value(parse(t, text))
		}
		why := &Unknown{Reason: root + "." + name + " is not known"}
		return cty.DynamicVal.Mark(why), why
	}
	return s
}

func TestValue_loops(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"list": `["a", "bc", "d"]`, "objects": `[{ a = "x" }, { a = "y" }]`, "map": `{ a = "1", b = "2" }`}
	for expr, want := range map[string]string{
		`join(",", [for s in local.list : upper(s) if length(s) == 1])`:                                                 "A,D",
		`join(",", [for k, v in local.map : "${k}${v}"])`:                                                               "a1,b2",
		`{ for k, v in local.map : v => k }["2"]`:                                                                       "b",
		`join(",", local.objects[*].a)`:                                                                                 "x,y",
		`"%{for s in local.list}${s};%{endfor}"`:                                                                        "a;bc;d;",
		`join(",", [for a in local.list : join("", [for b in local.list : "${a}${b}"])])`:                               "aaabcad,bcabcbcbcd,dadbcdd",
		`join(",", [for o in local.objects : local.map[o.a == "x" ? "a" : "b"]])`:                                       "1,2",
		`join(",", [for o in [for p in local.objects : { c = p.a }] : o.c])`:                                            "x,y",
		`try([for s in local.nowhere : s], "d") == "d" ? "t" : local.map.a`:                                             "",
		`local.map.a == "1" ? "t" : local.nowhere`:                                                                      "t",
		`[for s in local.list : s if local.map.a == "1"][length(local.list) - 1] == "d" ? join("", local.list[*]) : ""`: "abcd",
	} {
		value, unknown := lenient(t, texts).Value(parse(t, expr))
		if want == "" {
			if unknown == nil || unknown.Reason != "local.nowhere is not known" {
				t.Errorf("Value(%s) = %#v, %+v, want what is not known", expr, value, unknown)
			}
			continue
		}
		if unknown != nil || value.Type() != cty.String || value.AsString() != want {
			t.Errorf("Value(%s) = %#v, %+v, want %q", expr, value, unknown, want)
		}
	}
}

// TestValue_holes shows which texts have parts that are not known, and that nothing
// is decided by them.
func TestValue_holes(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"text": `"a-${local.nowhere}-b"`, "known": `"k"`, "list": `["x", local.text]`,
		"if": `"a%{if local.nowhere == "x"}b%{endif}c"`, "for": `"a%{for x in local.nowhere}b%{endfor}c"`,
	}
	for expr, want := range map[string]string{
		`local.text`:                               "a-?-b",
		`"<${local.text}>${local.known}"`:          "<a-?-b>k",
		`join("+", local.list)`:                    "x+a-?-b",
		`local.known == "k" ? local.text : "x"`:    "a-?-b",
		`local.known == "x" ? local.text : "x"`:    "x",
		`"%{for x in local.list}${x},%{endfor}"`:   "x,a-?-b,",
		`"${local.known == "k" ? "y" : local.if}"`: "y",
		`"a${local.if}b"`:                          "a?b",
		`{ a = local.text, b = "c" }.b`:            "c",
		// What follows decides something by the text, or is not known as a whole.
		`local.text == "a-b" ? "x" : "y"`:                   "",
		`upper(local.text)`:                                 "",
		`local.if`:                                          "",
		`local.for`:                                         "",
		`local.nowhere`:                                     "",
		`{ "${local.text}" = "x" }["y"]`:                    "",
		`{ x = "x" }[local.text]`:                           "",
		`[for x in local.list : x if x == "x"][0]`:          "",
		`"%{if local.text == "x"}b%{endif}"`:                "",
		`length(local.text) > 3 ? "x" : "y"`:                "",
		`{ for x in local.list : x => "v" }["x"]`:           "",
		`local.list[length(local.text) > 3 ? 0 : 1]`:        "",
		`try(local.text == "a", false) ? "x" : local.known`: "",
	} {
		s := lenient(t, texts)
		value, unknown := s.Value(parse(t, expr))
		if want == "" {
			if unknown == nil || unknown.Reason != "local.nowhere is not known" {
				t.Errorf("Value(%s) = %#v, %+v, want that it is not known", expr, value, unknown)
			}
			continue
		}
		if unknown != nil {
			t.Errorf("Value(%s) = %#v, %+v, want %q", expr, value, unknown, want)
			continue
		}
		value, _ = value.Unmark()
		got := value.AsString()
		for n := range 100 {
			got = strings.ReplaceAll(got, fmt.Sprintf("%s%d_", hole, n), "?")
		}
		if got != want || Has(value.AsString()) != strings.Contains(want, "?") {
			t.Errorf("Value(%s) = %q, want %q", expr, got, want)
		}
		if why := s.Holes.Reason(value.AsString()); (why != nil) != strings.Contains(want, "?") {
			t.Errorf("Value(%s): the reason is %+v", expr, why)
		}
	}
	s := lenient(t, texts)
	value, _ := s.Value(parse(t, "local.list"))
	if whole := s.Holes.Whole(value); whole.IsWhollyKnown() || ReasonFor(whole).Reason != "local.nowhere is not known" {
		t.Errorf("Whole = %#v, want one that is not known, with the reason", whole)
	}
	if (*Holes)(nil).Whole(value).RawEquals(value) == false {
		t.Error("without holes a value changes")
	}
}

// TestValue_loop_attacks evaluates loops that would take for ever or fill the memory.
func TestValue_loop_attacks(t *testing.T) {
	t.Parallel()
	digits := `["0","1","2","3","4","5","6","7","8","9"]`
	nest := func(n int, inner string) string {
		for i := range n {
			inner = fmt.Sprintf(`[for v%d in %s : %s]`, i, digits, inner)
		}
		return inner
	}
	doubling := `"x"`
	for i := range 60 {
		doubling = fmt.Sprintf(`[for v%d in [%s] : "${v%d}${v%d}"][0]`, i, doubling, i, i)
	}
	long := strings.Repeat("a", 30_000)
	template := strings.Repeat("%{for a in local.digits}", 30) + "x" + strings.Repeat("%{endfor}", 30)
	for name, last := range map[string]string{
		"nested":         nest(12, `"x"`),
		"doubling":       doubling,
		"long_results":   `[for a in local.digits : [for b in local.digits : "${local.long}${a}"]]`,
		"long_elements":  `[for a in [` + strings.Repeat("local.long,", 30) + `] : "${a}${a}${a}"]`,
		"directives":     `"` + template + `"`,
		"splats":         `[for a in local.digits : [for b in local.digits : [for c in local.digits : local.longs[*].a]]]`,
		"calls":          `[for a in local.digits : [for b in local.digits : lower(local.long)]]`,
		"many_reasons":   `"` + strings.Repeat("${local.nowhere}", 4000) + `"`,
		"grouped":        `{for a in local.digits : a => [for b in local.digits : local.long]...}`,
		"nested_in_keys": `{for a in ` + nest(6, `"x"`) + ` : "${a[0][0]}" => a...}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := lenient(t, map[string]string{"last": last, "digits": digits, "long": `"` + long + `"`, "longs": `[` + strings.Repeat(`{ a = local.long },`, 10) + `]`})
			value, unknown := s.Value(parse(t, "local.last"))
			if name == "many_reasons" {
				value, _ = value.Unmark()
				if unknown == nil && len(value.AsString()) > maxEvaluation {
					t.Error("a text of holes has no bound")
				}
				return
			}
			if unknown == nil || unknown.Reason != Costly.Reason {
				t.Errorf("it has a value, or another reason: %+v", unknown)
			}
		})
	}
}

// TestValue_whole_reference evaluates what refers to a root alone.
func TestValue_whole_reference(t *testing.T) {
	t.Parallel()
	s := &Scope{Functions: Tools, Holes: &Holes{}}
	s.Refer = func(root, name string) (cty.Value, *Unknown) {
		list := cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")})
		return list, nil
	}
	value, unknown := s.Value(parse(t, `join("", [for s in list : "${s}${list[0]}"])`))
	if unknown != nil || value.AsString() != "aaba" {
		t.Errorf("Value = %#v, %+v, want aaba", value, unknown)
	}
}
