package safe_test

import (
	"html/template"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/safe/safetest"
)

// page is a text on a page of HTML.
func page(t *testing.T, m safe.Markdown) string {
	t.Helper()
	const source = `{{range .Spans}}{{if .URL}}<a href="{{.URL}}">{{.Text}}</a>{{else if .Code}}<code>{{.Text}}</code>{{else}}{{.Text}}{{end}}{{end}}`
	var b strings.Builder
	if err := template.Must(template.New("").Parse(source)).Execute(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarkdownIsPrinted(t *testing.T) {
	const run, odd = "https://github.com/acme/infra/actions/runs/1", "https://github.com/acme/a(b)"
	for _, tt := range []struct {
		name                        string
		m                           safe.Markdown
		github, terminal, flat, web string
	}{
		{name: "nothing"},
		{"words of ours", safe.Const("**Rules** and `code`"), "**Rules** and `code`", "**Rules** and `code`", "**Rules** and `code`", "**Rules** and `code`"},
		{"text", safe.Text("a*b\n@c"), "a&#42;b @&#8203;c", "a*b @c", "a*b @c", "a*b @c"},
		{"text that begins a list", safe.Text("- a"), "&#8203;- a", "- a", "- a", "- a"},
		{"code", safe.Code(">= 5.0,  < 6"), "`>= 5.0, < 6`", ">=\u00A05.0, <\u00A06", ">= 5.0, < 6", "<code>&gt;= 5.0, &lt; 6</code>"},
		{"code with a backtick", safe.Code("a`b"), "<code>a&#96;b</code>", "a`b", "a`b", "<code>a`b</code>"},
		{"element", safe.Element("a_b"), "<code>a&#95;b</code>", "a_b", "a_b", "<code>a_b</code>"},
		{"no code", safe.Code(" \n"), "", "", "", ""},
		{"link", safe.Link(safe.Const("run ").And("%s", safe.Text("_1_")), run), "[run &#95;1&#95;](" + run + ")", "run _1_", "run _1_", `<a href="` + run + `">run _1_</a>`},
		{"link to elsewhere", safe.Link(safe.Const("run"), odd), "run `" + odd + "`", "run", "run", "run"},
		{"link to nowhere", safe.Link(safe.Const("run"), ""), "run", "run", "run", "run"},
		{"link without a text", safe.Link(safe.Text(""), "x"), "`x`", "", "", ""},
		{"arrow", safe.Join(" ", safe.Int(1), safe.Arrow, safe.Text("2_")), "1 → 2&#95;", "1 -> 2_", "1 -> 2_", "1 → 2_"},
		{"sentence", safe.Format("%s in %s", safe.Code("a"), safe.Count(1, "root module", "root modules")).And(", %s", safe.Count(2, "b", "c")), "`a` in 1 root module, 2 c", "a in 1 root module, 2 c", "a in 1 root module, 2 c", "<code>a</code> in 1 root module, 2 c"},
		{"details", safe.Format("%s%s by 2", safe.Code("a"), safe.Detail(" at %s", safe.Text("_1_"))).And("%s", safe.Detail(" and 3")), "`a` at &#95;1&#95; by 2 and 3", "a at _1_ by 2 and 3", "a at _1_ by 2 and 3", "<code>a</code> at _1_ by 2 and 3"},
		{"no details", safe.Format("%s%s by 2", safe.Code("a"), safe.Detail(" at %s", safe.Text("_1_"))).And("%s", safe.Detail(" and 3")).WithoutDetails(), "`a` by 2", "a by 2", "a by 2", "<code>a</code> by 2"},
		{"text of ours", safe.Ours("<!-- x --> *a*"), "<!-- x --> *a*", "<!-- x --> *a*", "<!-- x --> *a*", "&lt;!-- x --&gt; *a*"},
		{"block of code", safe.Fenced("text", "a\n", 100), "```text\na\n```\n", "```text\na\n```\n", "```text\na\n```\n", "```text\na\n```\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := []string{tt.m.String(), tt.m.Terminal(), tt.m.Plain(), page(t, tt.m)}
			if diff := cmp.Diff([]string{tt.github, tt.terminal, tt.flat, tt.web}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.m.Len() != len(tt.github) || tt.m.Empty() != (tt.name == "nothing" || tt.name == "no code") {
				t.Errorf("Len() = %d, Empty() = %t", tt.m.Len(), tt.m.Empty())
			}
		})
	}
}

// Nobody can forge a mark: whatever stands in a piece stays there, in each printer.
func TestMarksCannotBeForged(t *testing.T) {
	marks := string([]byte{0xf8, 'a', 0xff, 0xf9, 'b', 0xfb, 0xfc, 0xfd, 0xff, 0xfe})
	texts := []string{marks, "\x02\x03" + marks}
	for _, tt := range safetest.Threats {
		texts = append(texts, tt.Text, tt.Text+marks, marks+tt.Text)
	}
	for _, text := range texts {
		plain := safe.Plain(text)
		for name, m := range map[string]safe.Markdown{
			"Text": safe.Text(text), "Code": safe.Code(text), "Element": safe.Element(text), "Link": safe.Link(safe.Text(text), "https://x"),
		} {
			if m.Plain() != plain {
				t.Errorf("%s(%q) is %q, want %q", name, text, m.Plain(), plain)
			}
			if spans := m.Spans(); len(spans) != 1 || spans[0].Text != plain {
				t.Errorf("%s(%q) is %v on a page", name, text, spans)
			}
		}
		quoted, _ := safe.Quoted(text, 1000)
		for name, m := range map[string]safe.Markdown{"Ours": safe.Ours(text), "Fenced": safe.Fenced("text", text, 1000), "Quoted": quoted, "Link": safe.Link(safe.Const("x"), text)} {
			for _, got := range []string{m.String(), m.Terminal()} {
				if strings.ToValidUTF8(got, "") != got {
					t.Errorf("%s(%q) is %q", name, text, got)
				}
			}
		}
	}
}

func TestSentences(t *testing.T) {
	for _, tt := range []struct {
		m        safe.Markdown
		sentence string
		stopless string
	}{
		{safe.Const("there is one"), "There is one.", "there is one"},
		{safe.Const("there is one."), "There is one.", "there is one"},
		{safe.Const("which?"), "Which?", "which?"},
		{safe.Const("lines\nof text"), "Lines\nof text", "lines\nof text"},
		{safe.Text("éa_b."), "Éa&#95;b.", "éa&#95;b"},
		{safe.Const("in ").And("%s", safe.Text("b.")), "In b.", "in b"},
		{safe.Const("in ").And("%s", safe.Text(".")), "In .", "in "},
		{safe.Code("a."), "`a.`.", "`a.`"},
		{safe.Text("www.example.com is gone"), "`www.example.com` is gone.", "`www.example.com` is gone"},
		{safe.Link(safe.Const("a"), "https://b."), "[a](https://b.).", "[a](https://b.)"},
		{safe.Const("`code` begins it"), "`code` begins it.", "`code` begins it"},
		{safe.Const("ändern"), "Ändern.", "ändern"},
		{safe.Markdown{}, "", ""},
	} {
		if got := tt.m.Sentence().String(); got != tt.sentence {
			t.Errorf("%q.Sentence() = %q, want %q", tt.m, got, tt.sentence)
		}
		if got := tt.m.Stopless().String(); got != tt.stopless {
			t.Errorf("%q.Stopless() = %q, want %q", tt.m, got, tt.stopless)
		}
	}
}

// What has nothing to say leaves no words behind.
func TestNothingIsSaidOfNothing(t *testing.T) {
	none, one := safe.Markdown{}, safe.Const("a")
	for _, tt := range []struct {
		got  safe.Markdown
		want string
	}{
		{safe.Maybe(" (%s)", none), ""},
		{safe.Maybe(" (%s)", one), " (a)"},
		{one.AndMaybe(" of %s", none), "a"},
		{one.AndMaybe(" of %s", one), "a of a"},
		{safe.JoinSome("; ", none, one, none, one), "a; a"},
		{safe.JoinSome("; ", none, none), ""},
		{safe.Some(0, "change", "changes"), ""},
		{safe.Some(-1, "change", "changes"), ""},
		{safe.Some(2, "change", "changes"), "2 changes"},
	} {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("it says %q, want %q", got, tt.want)
		}
	}
}

func TestFencedCannotBeLeft(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		limit      int
		want       string
	}{
		{"plain", "a\nb\n", 100, "```text\na\nb\n```\n"},
		{"a fence in it", "a\n```\n@octo\n````\n", 100, "`````text\na\n```\n@octo\n````\n`````\n"},
		{"cut at a line", "first\nsecond\n", 8, "```text\nfirst\n…\n```\n"},
		{"one line that is too long", "first", 3, "```text\n…\n```\n"},
	}
	for _, tt := range tests {
		if got := safe.Fenced("text", tt.text, tt.limit).String(); got != tt.want {
			t.Errorf("%s: Fenced(%q, %d) = %q, want %q", tt.name, tt.text, tt.limit, got, tt.want)
		}
	}
}

// A variable is no constant: the type of constants has no name elsewhere.
func TestConstantsAreConstants(t *testing.T) {
	for name, f := range map[string]any{"Const": safe.Const, "Format": safe.Format, "Join": safe.Join, "And": safe.Markdown.And, "Maybe": safe.Maybe, "AndMaybe": safe.Markdown.AndMaybe, "JoinSome": safe.JoinSome, "Some": safe.Some} {
		of := reflect.TypeOf(f)
		for i := range of.NumIn() {
			if in := of.In(i); in.Kind() == reflect.String && (in.PkgPath() == "" || in.Name() != strings.ToLower(in.Name())) {
				t.Errorf("%s takes a %s, which anybody can make", name, in)
			}
		}
	}
	if of := reflect.TypeFor[safe.Markdown](); of.NumField() != 1 || of.Field(0).IsExported() {
		t.Errorf("%s can be made of anything", of)
	}
}

func TestFormatHasAPlaceForEachText(t *testing.T) {
	for name, format := range map[string]func() safe.Markdown{
		"too few":  func() safe.Markdown { return safe.Format("%s and %s", safe.Int(1)) },
		"too many": func() safe.Markdown { return safe.Format("%s", safe.Int(1), safe.Int(2)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s texts are taken", name)
				}
			}()
			format()
		}()
	}
}
