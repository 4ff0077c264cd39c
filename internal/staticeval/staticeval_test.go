package staticeval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

func parse(t testing.TB, text string) hcl.Expression {
	t.Helper()
	expr, diags := hclsyntax.ParseExpression([]byte(text), "x.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return expr
}

// locals makes a scope in which local.NAME is what an expression says.
func locals(t testing.TB, texts map[string]string) *Scope {
	t.Helper()
	s := &Scope{Functions: Tools}
	s.Refer = func(root, name string) (cty.Value, *Unknown) {
		text, ok := texts[name]
		if root != "local" || !ok {
			return cty.DynamicVal, &Unknown{Reason: root + "." + name + " is not known"}
		}
		return s.Value(parse(t, text))
	}
	return s
}

func TestValue(t *testing.T) {
	t.Parallel()
	known := map[string]string{
		"text": `"Ab"`, "number": `3`, "list": `["a", "b"]`, "object": `{ a = { b = "c" }, unknown = local.nowhere }`,
		"secret": `sensitive("x")`,
	}
	for expr, want := range map[string]string{
		`"./${local.text}-${local.number + 1}"`:     `./Ab-4`,
		`local.number > 2 && !false ? "yes" : "no"`: `yes`,
		`local.list[1]`:                                                    `b`,
		`local.list[local.number - 2]`:                                     `b`,
		`local.object.a.b`:                                                 `c`,
		`local.object["a"]["b"]`:                                           `c`,
		`"%{if local.number == 3}three%{else}else%{endif}"`:                `three`,
		`format("%s/%05.1f|%5s", "a", 1.25, "b")`:                          `a/001.2|    b`,
		`core::join("-", concat(local.list, ["c"]))`:                       `a-b-c`,
		`replace("a/b/c", "/", "--")`:                                      `a--b--c`,
		`lower(upper(local.text))`:                                         `ab`,
		`trimspace(trimsuffix(trimprefix(trim("..a x ", "."), "a"), "b"))`: `x`,
		`element(split(",", "a,b,c"), 4)`:                                  `b`,
		`lookup({ a = 1 }, "b", "2")`:                                      `2`,
		`lookup(local.object.a, "b")`:                                      `c`,
		`coalesce("", null, "a")`:                                          `a`,
		`merge({ a = "1" }, { a = "2" }).a`:                                `2`,
		`tostring(length(local.list)) == "2" ? "t" : "f"`:                  `t`,
		`tolist(local.list)[0]`:                                            `a`,
		`try(local.list[9], local.object.x, "d")`:                          `d`,
		`can(local.list[9]) ? "t" : "f"`:                                   `f`,
		`jsondecode("{\"a\": [1, \"x\"]}").a[1]`:                           `x`,
		`startswith(local.text, "A") ? "t" : "f"`:                          `t`,
		`nonsensitive(local.secret)`:                                       `x`,
	} {
		value, unknown := locals(t, known).Value(parse(t, expr))
		if unknown != nil || value.Type() != cty.String || value.AsString() != want {
			t.Errorf("Value(%s) = %#v, %+v, want %q", expr, value, unknown, want)
		}
	}
}

func TestValue_unknown(t *testing.T) {
	t.Parallel()
	known := map[string]string{"a": "local.b", "b": "local.a", "list": `[local.nowhere, 1]`, "self": `"${local.self}"`}
	for expr, want := range map[string]Unknown{
		`yamldecode("a")`:                          {Reason: "it calls yamldecode, which is not evaluated here"},
		`try(yamldecode("a"), "b")`:                {Reason: "it calls yamldecode, which is not evaluated here"},
		`provider::a::b(1)`:                        {Reason: "it calls provider::a::b, which is not evaluated here"},
		`replace("a", "/a/", "b")`:                 {Reason: "it calls replace with a regular expression, which is not evaluated here"},
		`[for a in ["b"] : a][0]`:                  {Reason: "it is computed by a for expression"},
		`"%{for a in ["b"]}${a}%{endfor}"`:         {Reason: "it is computed by a for expression"},
		`local.list[*]`:                            {Reason: "it is computed by a splat expression"},
		`local.nowhere`:                            {Reason: "local.nowhere is not known"},
		`local.list`:                               {Reason: "local.nowhere is not known"},
		`local.a`:                                  {Refused: true, Reason: "local.a refers to itself"},
		`local.self`:                               {Refused: true, Reason: "local.self refers to itself"},
		`lower()`:                                  {Refused: true, Reason: "not enough function arguments"},
		`jsondecode("a text that is told nobody")`: {Refused: true, Reason: "error in function call"},
		`coalesce("", null)`:                       {Refused: true, Reason: "error in function call"},
	} {
		value, unknown := locals(t, known).Value(parse(t, expr))
		if unknown == nil || *unknown != want {
			t.Errorf("Value(%s) = %#v, %+v, want %+v", expr, value, unknown, want)
		}
	}
	// What is known of a value that is not wholly known can be used.
	if value, unknown := locals(t, known).Value(parse(t, "local.list[1]")); unknown != nil || !value.RawEquals(cty.NumberIntVal(1)) {
		t.Errorf("Value = %#v, %+v, want 1", value, unknown)
	}
}

// TestValue_attacks evaluates expressions that would take for ever, fill the memory
// or the stack, or give absurdly large values.
func TestValue_attacks(t *testing.T) {
	t.Parallel()
	chain := func(n int, first, next string) map[string]string {
		texts := map[string]string{"l0": first}
		for i := range n {
			texts[fmt.Sprintf("l%d", i+1)] = strings.ReplaceAll(next, "PREV", fmt.Sprintf("local.l%d", i))
		}
		texts["last"] = fmt.Sprintf("local.l%d", n)
		return texts
	}
	many := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	nested := func(n int, open, inner, close string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(close, n)
	}
	long := `"` + strings.Repeat("a", 60_000) + `"`
	loops := `"x"`
	for i := range 60 {
		loops = fmt.Sprintf(`[for v%d in [%s] : "${v%d}${v%d}"][0]`, i, loops, i, i)
	}
	only := func(expr string) map[string]string { return map[string]string{"last": expr, "long": long} }
	mixed := "[" + many(8000, `1, "a"`) + "]"
	tests := map[string]map[string]string{
		"doubling":             chain(60, `"./a"`, `"${PREV}${PREV}"`),
		"doubling_tuples":      chain(60, `["./a"]`, `[PREV, PREV]`),
		"doubling_objects":     chain(60, `{ a = "./a" }`, `{ a = PREV, b = PREV }`),
		"replacing":            chain(60, long, `replace(PREV, "a", PREV)`),
		"joining":              chain(60, long, `join(PREV, split("", PREV))`),
		"a_long_chain":         chain(5_000, `"./a"`, `PREV`),
		"squares":              chain(40, `9e1200`, `PREV * PREV`),
		"many_splits":          only("[" + many(900, `split("", local.long)`) + "]"),
		"nested_loops":         only(loops),
		"tries":                only(nested(60, "try(", `"./a${[][0]}"`, `)`)),
		"nested_calls":         only(nested(5000, "lower(", "local.long", ")")),
		"nested_conditionals":  only(nested(2000, "true ? (", "[local.long]", ") : []")),
		"nested_templates":     only(nested(5000, `"${`, "local.long", `}a"`)),
		"a_long_expression":    only(`"` + strings.Repeat("a", MaxExpression) + `"`),
		"many_references":      only(`"` + strings.Repeat("${local.long}", 4000) + `"`),
		"padding":              only(`format("%1000000000d", 1)`),
		"a_long_precision":     only(`format("%.1000000000f", 1)`),
		"many_arguments":       only(`format("` + strings.Repeat("%[1]s", 1500) + `", local.long)`),
		"a_null_argument":      only(`format("` + strings.Repeat("%[1]s", 1500) + `", local.long, null)`),
		"many_joins":           only(`[` + many(2000, `join(",", [local.long])`) + `]`),
		"trimming":             only(`trim(local.long, "` + strings.Repeat("ä", 5_000) + `")`),
		"deep_JSON":            only(`jsondecode("` + strings.Repeat("[", 60_000) + `")`),
		"wide_JSON":            only(`jsondecode("[` + strings.Repeat("1,", 20_000) + `1]")`),
		"a_huge_JSON":          only(`jsondecode("1e600000000")`),
		"a_huge_number":        only(`"${1e600000000}"`),
		"a_tiny_number":        only(`"${1e-600000000}"`),
		"converted":            only(`"./${"1e600000000" * 1}"`),
		"converted_base_2":     only(`"./${-"1p2000000000"}"`),
		"put_together":         only(`"./${"1e6${"00000000"}" * 1}"`),
		"of_an_object":         only(`"./${{ a = "1e600000000" }.a + 1}"`),
		"of_a_function":        only(`"./${format("%s", "1e600000000") + 1}"`),
		"of_a_reference":       {"last": `"./${local.number + 1}"`, "number": `"1e600000000"`},
		"of_references":        {"last": `"./${` + strings.Repeat("local.number * ", 3000) + `1}"`, "number": `"1e9999"`},
		"a_large_product":      only(`"./${` + strings.Repeat("9e9000 * ", 5000) + `1}"`),
		"unified":              only(`tolist(` + mixed + `)[0]`),
		"unified_arguments":    only(`coalesce(` + many(8000, `null, ""`) + `, 1)`),
		"unified_branches":     only(`(true ? ` + mixed + ` : [])[0]`),
		"unified_objects":      only(`tolist([` + many(3000, `{a=1}, {b=1}`) + `])[0]`),
		"unified_concatenated": chain(6, `[`+many(100, `{a=1}, {b=1}`)+`]`, `concat(PREV, PREV)`),
	}
	for name, texts := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value, unknown := locals(t, texts).Value(parse(t, "local.last"))
			if unknown == nil {
				t.Errorf("it has a value of type %.100s", value.Type().FriendlyName())
			}
		})
	}
}

// TestValue_bounds holds what all evaluations for one root module may take.
func TestValue_bounds(t *testing.T) {
	t.Parallel()
	bound := &Bound{}
	scope := func(value cty.Value) *Scope {
		return &Scope{Functions: Tools, Bound: bound, Refer: func(string, string) (cty.Value, *Unknown) { return value, nil }}
	}
	s := scope(cty.StringVal("a"))
	for i := range maxReferences {
		if _, unknown := s.Value(parse(t, fmt.Sprintf("local.l%d", i))); unknown != nil {
			t.Fatalf("reference %d: %+v", i, unknown)
		}
	}
	if _, unknown := s.Value(parse(t, "local.one_more")); unknown == nil {
		t.Errorf("more than %d references have a value", maxReferences)
	}
	*bound = Bound{}
	s = scope(cty.StringVal(strings.Repeat("a", maxEvaluation/4)))
	n := 0
	for expr := parse(t, `lower(local.a) == "b"`); n < 4*maxTotal/maxEvaluation; n++ {
		if _, unknown := s.Value(expr); unknown != nil {
			break
		}
	}
	if n == 0 || n == 4*maxTotal/maxEvaluation {
		t.Errorf("%d evaluations of a quarter of a MiB are made, want some and not all", n)
	}
}

// What only a few elements are used of is not counted as a whole.
func TestValue_large_reference(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"large": `{ a = "` + strings.Repeat("a", 50_000) + `", b = "b" }`}
	value, unknown := locals(t, texts).Value(parse(t, `"`+strings.Repeat("${local.large.b}", 3000)+`"`))
	if unknown != nil || len(value.AsString()) != 3000 {
		t.Errorf("Value = %+v, want a text", unknown)
	}
}

func TestValue_JSON(t *testing.T) {
	t.Parallel()
	attrs := func(text string) hcl.Attributes {
		file, diags := json.Parse([]byte(text), "x.tf.json")
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		attrs, _ := file.Body.JustAttributes()
		return attrs
	}
	s := locals(t, map[string]string{"a": `"x"`})
	value, unknown := s.Value(attrs(`{"v": {"${local.a}": ["./${upper(local.a)}", 1, null]}}`)["v"].Expr)
	if unknown != nil || value.GetAttr("x").Index(cty.Zero).AsString() != "./X" {
		t.Errorf("Value = %#v, %+v", value, unknown)
	}
	for text, refused := range map[string]bool{`"${"`: true, `["${local."]`: true, `{"${": 1}`: true, `"` + strings.Repeat("a", maxTemplate+1) + `"`: false} {
		_, unknown := s.Value(attrs(`{"v": ` + text + `}`)["v"].Expr)
		if unknown == nil || unknown.Refused != refused {
			t.Errorf("Value(%.20s) = %+v, want one that is refused: %t", text, unknown, refused)
		}
	}
	if value := Literal(attrs(`{"v": "${a}"}`)["v"].Expr); value.Equals(cty.StringVal("${a}")) != cty.True {
		t.Errorf("Literal = %#v, want the text", value)
	}
}

func TestLiteral(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`"a"`: true, `[1, { a = null }]`: true, `"a${1 + 1}"`: true,
		`local.a`: false, `lower("A")`: false, `[for a in [] : a]`: false, `"${"1e600000000" * 1}"`: false,
	} {
		if value := Literal(parse(t, text)); value.IsWhollyKnown() != want {
			t.Errorf("Literal(%s) = %#v, want a known value: %t", text, value, want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`object({ a = optional(string, "b") })`: true, `optional(string, [for a in [] : a])`: false, `optional(string, -"1e600000000")`: false} {
		if unknown := Check(parse(t, text)); (unknown == nil) != want {
			t.Errorf("Check(%s) = %+v, want that it can be evaluated: %t", text, unknown, want)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	last := ""
	for _, f := range Tools {
		if f.Name <= last || f.Meaning == "" || f.Source == "" {
			t.Errorf("%q does not come after %q, or lacks its meaning or source", f.Name, last)
		}
		last = f.Name
	}
}

// FuzzValue holds that whatever expression is evaluated, there is a wholly known
// value of bounded size or a reason.
func FuzzValue(f *testing.F) {
	f.Add(`"${local.a}${local.n + 1}"`)
	f.Add(`{ for k, v in { a = local.l } : "${local.nowhere}${k}" => v[*].b... if k != local.a }`)
	f.Add(`"%{ for v in local.l ~}${v}%{ endfor }%{ if local.nowhere }x%{ endif }"`)
	f.Add(`try(jsondecode("[1]")[0], -local.n * 1e9, local.l[0] ? null : "x")`)
	for _, fn := range append(append([]Function{}, Wide...), Tools...) {
		f.Add(fn.Name + `(local.a, local.l, [1, null, true], -1)`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		expr, diags := hclsyntax.ParseExpression([]byte(text), "x.tf", hcl.InitialPos)
		if diags.HasErrors() {
			return
		}
		texts := map[string]string{"a": `"./A"`, "n": "3", "l": `["a", { b = sensitive("c") }, local.nowhere]`}
		for _, s := range []*Scope{locals(t, texts), wide(t, texts)} {
			value, unknown := s.Value(expr)
			switch {
			case unknown != nil && unknown.Reason == "":
				t.Errorf("Value(%q): there is no reason", text)
			case unknown == nil && (!value.IsWhollyKnown() || cost(value, false) > maxEvaluation):
				t.Errorf("Value(%q) = %#v, want a value that is known", text, value)
			}
		}
	})
}
