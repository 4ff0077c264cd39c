package staticeval

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// wide makes a scope like lenient with all functions.
func wide(t testing.TB, texts map[string]string) *Scope {
	t.Helper()
	s := lenient(t, texts)
	s.Functions = append(append([]Function{}, Wide...), Tools...)
	return s
}

func TestWide(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`join(",", formatlist("%s-%s", "a", ["b", "c"]))`: "a-b,a-c",
		`regex("^v([0-9]+)", "v12.3")[0]`:                 "12",
		`join(",", regexall("[a-z]", "a1b2"))`:            "a,b",
		`replace("a1b22", "/[0-9]+/", "<$0>")`:            "a<1>b<22>",
		`replace("a.b", ".", "-")`:                        "a-b",
		`yamldecode("a: [1, {b: c}]").a[1].b`:             "c",
		`join(",", sort(distinct(["b", "a", "b"])))`:      "a,b",
		`one(["a"])`: "a",
		`alltrue([true, true]) && !anytrue([false]) ? "t" : "f"`:                   "t",
		`endswith("abc", "bc") && strcontains("abc", "b") ? "t" : "f"`:             "t",
		`join(",", [for p in setproduct(["a", "b"], ["c"]) : join("", p)])`:        "ac,bc",
		`"${indent(2, "a\nb")}${chomp("c\n")}"`:                                    "a\n  bc",
		`join(",", keys(zipmap(["a", "b"], [1, 2])))`:                              "a,b",
		`join(",", flatten([["a"], [["b"]]]))`:                                     "a,b",
		`join(",", [for i in range(3) : tostring(i + max(1, 2) - tonumber("1"))])`: "1,2,3",
		`cidrhost("10.0.0.0/8", 2)`:                                                "10.0.0.2",
		`cidrhost("10.0.0.0/24", -1)`:                                              "10.0.0.255",
		`cidrhost("fd00:fd12:3456:7890::/56", 16)`:                                 "fd00:fd12:3456:7800::10",
		`cidrnetmask("172.16.0.0/12")`:                                             "255.240.0.0",
		`cidrsubnet("172.16.0.0/12", 4, 2)`:                                        "172.18.0.0/16",
		`cidrsubnet("fd00:fd12:3456:7890::/56", 16, 162)`:                          "fd00:fd12:3456:7800:a200::/72",
		`join(",", cidrsubnets("10.1.0.0/16", 4, 4, 8, 4))`:                        "10.1.0.0/20,10.1.16.0/20,10.1.32.0/24,10.1.48.0/20",
		`csvdecode("a,b\n1,2\n3,4")[1].b`:                                          "4",
		`base64decode(base64encode("ä"))`:                                          "ä",
		`sha1("a")`:                                                                "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
		`base64sha256("a")`:                                                        "ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=",
		`urlencode("a b/c")`:                                                       "a+b%2Fc",
		`tostring(index(["a", "b"], "b") + sum([1, 2]) + signum(-3))`:              "3",
		`tostring(parseint("ff", 16) + pow(2, 3) + log(100, 10))`:                  "265",
		`join(",", matchkeys(["a", "b", "c"], ["x", "y", "x"], ["x"]))`:            "a,c",
		`join(",", transpose({ a = ["1", "2"], b = ["2"] })["2"])`:                 "a,b",
		`formatdate("YYYY", timeadd("2020-12-31T23:00:00Z", "2h"))`:                "2021",
		`yamlencode({ a = ["b"] })`:                                                "\"a\":\n- \"b\"\n",
	} {
		value, unknown := wide(t, nil).Value(parse(t, expr))
		if unknown != nil || value.Type() != cty.String || value.AsString() != want {
			t.Errorf("Value(%s) = %#v, %+v, want %q", expr, value, unknown, want)
		}
	}
}

// TestWide_attacks calls functions so that the result or the work would be too much.
func TestWide_attacks(t *testing.T) {
	t.Parallel()
	laughs := "a0: &a0 [x]\n"
	for i := range 30 {
		laughs += strings.NewReplacer("P", string(rune('a'+i)), "N", string(rune('b'+i))).Replace("N: &N [*P, *P]\n")
	}
	list := "[" + strings.Repeat(`"a",`, 3000) + "]"
	for name, last := range map[string]string{
		"product":      `setproduct(` + strings.TrimSuffix(strings.Repeat(`["a","b"],`, 30), ",") + `)`,
		"distinct":     `distinct(` + list + `)`,
		"indent":       `indent(1000000, "a\nb\nc")`,
		"repetition":   `regex("((a{100}){100}){100}", "b")`,
		"long_text":    `regexall("(a|b)*c(d|e)*", "` + strings.Repeat("a", 60_000) + `")`,
		"replacing":    `replace("` + strings.Repeat("a", 3000) + `", "/a/", "` + strings.Repeat("$0", 3000) + `")`,
		"formats":      `formatlist("%s", ` + list + `)`,
		"laughs":       `yamldecode("` + strings.ReplaceAll(laughs, "\n", `\n`) + `")`,
		"wide_YAML":    `yamldecode("[` + strings.Repeat("a,", 20_000) + `]")`,
		"deep_JSON":    `jsondecode("` + strings.Repeat(`[\"]\",`, 2000) + `1` + strings.Repeat(`]`, 2000) + `")`,
		"brackets":     `yamldecode("` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `")`,
		"dashes":       `yamldecode("` + strings.Repeat("- ", 20_000) + `x")`,
		"a_number":     `tonumber("1e600000000") + 1`,
		"integer":      `parseint("` + strings.Repeat("9", 60_000) + strings.Repeat("9", 60_000) + `", 10)`,
		"CSV":          `csvdecode("` + strings.Repeat("a,", 20_000) + `")`,
		"deep_YAML":    `yamlencode(` + strings.Repeat("[", 200) + `"` + strings.Repeat("a", 10_000) + `"` + strings.Repeat("]", 200) + `)`,
		"encoding":     `urlencode(join("", [for a in range(1000) : "` + strings.Repeat("/", 500) + `"]))`,
		"subnets":      `cidrsubnets("10.0.0.0/8", ` + strings.TrimSuffix(strings.Repeat("8,", 9000), ",") + `)`,
		"many_numbers": `[for a in range(1000) : range(1000)]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, unknown := wide(t, map[string]string{"last": last}).Value(parse(t, "local.last"))
			if unknown == nil || unknown.Reason != Costly.Reason {
				t.Errorf("it has a value, or another reason: %+v", unknown)
			}
		})
	}
}

func TestWide_table(t *testing.T) {
	t.Parallel()
	last := ""
	for _, f := range Wide {
		if f.Name <= last || f.Meaning == "" || f.Source == "" {
			t.Errorf("%q does not come after %q, or lacks its meaning or source", f.Name, last)
		}
		last = f.Name
	}
}
