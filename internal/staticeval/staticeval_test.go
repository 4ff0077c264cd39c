package staticeval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
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
	s := &Scope{Functions: []Function{{Name: "upper", Call: stdlib.UpperFunc}}}
	s.Refer = func(root, name string) (cty.Value, *Unknown) {
		text, ok := texts[name]
		if root != "local" || !ok {
			return cty.DynamicVal, &Unknown{Reason: root + "." + name + " is not known"}
		}
		return s.Value(parse(t, text))
	}
	return s
}

// TestValue_bounds holds what all evaluations for one root module may take.
func TestValue_bounds(t *testing.T) {
	t.Parallel()
	bound := &Bound{}
	scope := func(value cty.Value) *Scope {
		return &Scope{Functions: []Function{{Name: "upper", Call: stdlib.UpperFunc}}, Bound: bound, Refer: func(string, string) (cty.Value, *Unknown) { return value, nil }}
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
	for expr := parse(t, `upper(local.a) == "b"`); n < 4*maxTotal/maxEvaluation; n++ {
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
	if value, ok := Literal(attrs(`{"v": "${a}"}`)["v"].Expr); !ok || value.AsString() != "${a}" {
		t.Errorf("Literal = %#v, %t, want the text", value, ok)
	}
}

func TestLiteral(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`"a"`: true, `[1, { a = null }]`: true, `"a${1 + 1}"`: true,
		`local.a`: false, `lower("A")`: false, `[for a in [] : a]`: false, `"${"1e600000000" * 1}"`: false,
	} {
		if _, ok := Literal(parse(t, text)); ok != want {
			t.Errorf("Literal(%s) = %t, want %t", text, ok, want)
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
