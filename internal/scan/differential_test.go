package scan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

// exprs makes random expressions.
type exprs struct{ *rand.Rand }

func (r exprs) pick(of ...string) string { return of[r.IntN(len(of))] }

func (r exprs) make(depth int) string {
	if depth <= 0 {
		return r.pick(`"a"`, `"./A b"`, `""`, `1`, `2.5`, `-1`, `true`, `null`, `[]`, `{}`, `"x/y,z"`, `"[1, \"a\", {\"k\": null}]"`,
			`local.s`, `local.n`, `local.l`, `local.o`, `local.o.a`, `local.o["b"]`, `local.l[0]`, `local.u`, `local.p.known`, `local.p.not`, `local.p`, `local.secret`, `local.m`, `local.none`, `var.x`, `each.key`, `path`)
	}
	sub := func() string { return r.make(r.IntN(depth)) }
	switch r.IntN(14) {
	case 0:
		return `"` + r.pick("", "./", "${") + `${` + sub() + `}` + r.pick("", "-") + `${` + sub() + `}"`
	case 1:
		return `"${` + sub() + `}"`
	case 2:
		return "(" + sub() + " ? " + sub() + " : " + sub() + ")"
	case 3:
		return "(" + sub() + r.pick("+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||") + sub() + ")"
	case 4:
		return "[" + sub() + ", " + sub() + "]"
	case 5:
		return `{ a = ` + sub() + `, (` + sub() + `) = ` + sub() + ` }`
	case 6:
		return "(" + sub() + ")[" + sub() + "]"
	case 7:
		return "(" + sub() + ")." + r.pick("a", "b", "0")
	case 8:
		return r.pick("!", "-") + "(" + sub() + ")"
	case 9:
		return `"%{if ` + sub() + `}` + r.pick("a", "${local.s}") + `%{else}b%{endif}"`
	case 10:
		if r.IntN(8) == 0 {
			return r.pick("[for x in "+sub()+" : x]", sub()+"[*]", "regex("+sub()+", "+sub()+")", "timestamp()")
		}
		return sub()
	default:
		f := staticeval.Tools[r.IntN(len(staticeval.Tools))].Name
		var args []string
		for range r.IntN(4) {
			args = append(args, sub())
		}
		if f == "format" && len(args) > 0 && r.IntN(2) == 0 {
			args[0] = r.pick(`"%s"`, `"%5.1f%%"`, `"%[2]s-%v"`, `"%#v %q"`, `"%d"`, `"%1000d"`, `"%9999d"`)
		}
		return r.pick("", "", "core::") + f + "(" + strings.Join(args, ", ") + r.pick("", "", "", "...") + ")"
	}
}

var world = map[string]string{
	"s": `"./a/B"`, "n": `3`, "l": `["a", "", 2]`, "o": `{ a = "x", b = [1, { c = null }] }`, "u": `var.unset`,
	"p": `{ known = "k", not = var.unset }`, "secret": `sensitive("s")`, "m": `merge({ a = "1" }, { "b" : "2" })`,
}

// both evaluates an expression the old way and the new one.
func both(t testing.TB, text string) (was cty.Value, wasNot *failure, is cty.Value, isNot *staticeval.Unknown) {
	parse := func(text string) hcl.Expression {
		expr, diags := hclsyntax.ParseExpression([]byte(text), "x.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Skip()
		}
		return expr
	}
	c := &config{tool: provider.Newest(provider.OpenTofu), locals: map[string]*hcl.Attribute{}, variables: map[string]variable{"unset": {name: "unset"}}}
	for name, text := range world {
		c.locals[name] = &hcl.Attribute{Name: name, Expr: parse(text)}
	}
	c.at = location{tree: newTree(fileTree(nil, nil)), dir: "."}
	was, wasNot = newEvaluation(c, &Options{}).scope().value(parse(text))
	old := newEvaluation(c, &Options{}).scope()
	s := &staticeval.Scope{Functions: staticeval.Tools}
	s.Refer = func(root, name string) (cty.Value, *staticeval.Unknown) {
		if attr, ok := c.locals[name]; ok && root == "local" {
			return s.Value(attr.Expr)
		}
		v, f := old.resolve(root, name)
		if f != nil {
			return v, &staticeval.Unknown{Reason: f.why, Hint: f.hint, Refused: f.wrong}
		}
		return v, nil
	}
	is, isNot = s.Value(parse(text))
	return was, wasNot, is, isNot
}

// decided says why the new evaluation may differ from the old one.
func decided(text string, wasNot *failure, isNot *staticeval.Unknown) string {
	switch {
	case isNot == nil || isNot.Refused && !strings.Contains(text, "regex"):
		return ""
	case strings.HasPrefix(isNot.Reason, "it is computed by a "): // for or splat expression
		return "nothing iterates"
	case strings.Contains(text, "regex"):
		return "regular expressions are not in the table"
	case isNot.Reason == complexity && strings.Contains(text, "{"):
		return "nobody knows how large a number is in a string that is put together"
	}
	return ""
}

// TestDifferential holds the new evaluation against the old one.
func TestDifferential(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4000) {
		r := exprs{rand.New(rand.NewPCG(seed, 1))}
		text := r.make(1 + r.IntN(6))
		if _, diags := hclsyntax.ParseExpression([]byte(text), "x.tf", hcl.InitialPos); diags.HasErrors() || len(text) > 4000 {
			continue
		}
		was, wasNot, is, isNot := both(t, text)
		same := wasNot == nil && isNot == nil || wasNot != nil && isNot != nil && *wasNot == failure{isNot.Reason, isNot.Hint, isNot.Refused}
		// Values are equal but for the type of their marks.
		if (!same || fmt.Sprintf("%#v", was) != fmt.Sprintf("%#v", is)) && decided(text, wasNot, isNot) == "" {
			t.Errorf("%s = %#v, %+v, was %#v, %+v", text, is, isNot, was, wasNot)
		}
	}
}
