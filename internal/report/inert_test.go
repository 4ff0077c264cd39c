package report_test

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	goldmarkhtml "github.com/yuin/goldmark/renderer/html"

	"github.com/relock-dev/relock/internal/report"
)

// rendered is Markdown as HTML. Raw HTML is kept, as on GitHub, so that a tag
// which gets through is seen.
func rendered(t *testing.T, markdown string) string {
	t.Helper()
	gfm := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(goldmarkhtml.WithUnsafe()))
	var b bytes.Buffer
	if err := gfm.Convert([]byte(markdown), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// prose is the text of HTML outside the elements in which GitHub looks for
// neither mentions nor references.
func prose(page string) string {
	page = regexp.MustCompile(`(?s)<(code|pre|a)\b[^>]*>.*?</(code|pre|a)>`).ReplaceAllString(page, "")
	return html.UnescapeString(regexp.MustCompile(`(?s)<[^>]*>`).ReplaceAllString(page, ""))
}

// What GitHub acts on when it renders a page, as far as it matters here.
var (
	mention   = regexp.MustCompile(`@[A-Za-z0-9]`)
	issue     = regexp.MustCompile(`(?i)#[0-9]|\bGH-[0-9]`)
	keyword   = regexp.MustCompile(`(?i)\b(close[sd]?|fix(e[sd])?|resolve[sd]?):?\s+(\S*#|GH-|\S*://)`)
	foreign   = regexp.MustCompile(`(?i)<(img|script|iframe|a|h[1-6]|hr|input|div|details|summary|em|strong|del|blockquote|table)\b`)
	ownMarker = "<!-- relock:"
)

// threats are outside texts that want to be more than text.
var threats = []struct{ name, text string }{
	{"mention of a user", "thanks @octocat"},
	{"mention of a team", "cc @acme/security"},
	{"mention behind an entity", "&#64;octocat &commat;octocat"},
	{"issue", "see #1 and acme/infra#22"},
	{"issue in the old form", "see GH-1 and gh-22"},
	{"closing keyword", "This fixes #12, Closes: acme/infra#3 and resolved GH-4"},
	{"closing keyword with an address", "fixes https://github.com/acme/infra/issues/12"},
	{"address", "go to https://evil.example/login, or www.evil.example."},
	{"link", "[click](https://evil.example) [me][1] <https://evil.example>"},
	{"mail address", "mail root@evil.example"},
	{"image", "![x](https://evil.example/pixel.png) <img src=https://evil.example/pixel.png>"},
	{"tag", "<script>alert(1)</script><details><summary>x</summary>"},
	{"closing tag", "</code></summary></details></td></table>"},
	{"comment", "<!-- hidden --> <!-- unclosed"},
	{"forged marker", `<!-- relock:{"digest":"0"} -->`},
	{"forged marker in code", "`<!-- relock:{\"digest\":\"0\"} -->`"},
	{"fence", "```\nunclosed"},
	{"tilde fence", "~~~ unclosed"},
	{"table cells", "a | b \\| c || d"},
	{"lines", "a\r\nb\n\n# heading\n\n- item\n\n    code\u2028next"},
	{"rule", "---"},
	{"rule with gaps", "--- --"},
	{"heading's underline", "==="},
	{"list item", "- [ ] task"},
	{"numbered item", "1. one"},
	{"heading", "# heading"},
	{"quotation", "> quoted"},
	{"emphasis", "**bold** _em_ ~~gone~~ *x*"},
	{"backticks", "`code` ``more`` `"},
	{"backslash at the end", `ends in \`},
	{"entity", "&lt;b&gt; &#60;"},
	{"footnote", "[^1] [^1]: text"},
	{"formula", "$x$ $$y$$"},
	{"escape sequence", "\x1b[31mred\x1b[0m \x1b]0;title\x07 \u009b2J"},
	{"control characters", "a\x00b\x07c\x08d\x7fe\u0085f"},
	{"direction of writing", "user\u202Etxt.exe \u2066x\u2069 \u200Fy"},
	{"invisible characters", "a\u200Bb\u00ADc\uFEFFd\U000E0041e"},
	{"not UTF-8", "a\xff\xfeb"},
	{"carriage return", "safe\rEVIL"},
}

func TestInertIsOnlyText(t *testing.T) {
	for _, tt := range threats {
		t.Run(tt.name, func(t *testing.T) {
			for where, markdown := range map[string]string{
				"paragraph": "Before " + report.Inert(tt.text) + " after.\n",
				"item":      "- " + report.Inert(tt.text) + "\n",
				"line":      report.Inert(tt.text) + "\n",
				"code":      "Before " + report.Code(tt.text) + " after.\n",
			} {
				page := rendered(t, markdown)
				if got := foreign.FindString(page); got != "" {
					t.Errorf("in a %s it becomes %s:\n%s%s", where, got, markdown, page)
				}
				checkProse(t, page)
				checkSource(t, markdown)
			}
		})
	}
}

func checkProse(t *testing.T, page string) {
	t.Helper()
	text := prose(page)
	for what, pattern := range map[string]*regexp.Regexp{"mention": mention, "reference": issue, "closing keyword": keyword} {
		if got := pattern.FindString(text); got != "" {
			t.Errorf("%q is a %s in:\n%s", got, what, page)
		}
	}
}

// checkSource looks at the Markdown as a program does that searches it.
func checkSource(t *testing.T, markdown string) {
	t.Helper()
	if strings.Contains(markdown, ownMarker) {
		t.Errorf("the marker is forged in:\n%s", markdown)
	}
	for _, r := range markdown {
		if r != '\n' && r != utf8.RuneError && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Errorf("%U gets through in:\n%q", r, markdown)
		}
	}
}

func TestInertStaysInItsTableCell(t *testing.T) {
	for _, tt := range threats {
		for _, inert := range []string{report.Inert(tt.text), report.Code(tt.text)} {
			page := rendered(t, "| a | b | c |\n|---|---|---|\n| x | "+inert+" | last |\n")
			if n := strings.Count(page, "<td>"); n != 3 || !strings.Contains(page, "<td>last</td>\n</tr>\n</tbody>\n</table>") {
				t.Errorf("%s breaks the table (%d cells):\n%s", tt.name, n, page)
			}
		}
	}
}

func TestInertShowsTheTextItWasGiven(t *testing.T) {
	for _, text := range []string{
		"a plain sentence, with 5.31.0 and (brackets)", "snake_case and 2 * 3 < 7 & more", `C:\dir\*`, "100% of #hash, a@b", "it's \"quoted\"", "~> 5.0", "1. one", "- x",
	} {
		shown := strings.ReplaceAll(prose(rendered(t, "x "+report.Inert(text))), "\u200B", "")
		if want := "x " + text + "\n"; shown != want {
			t.Errorf("Inert(%q) is shown as %q", text, shown)
		}
	}
	for _, text := range []string{"envs/prod", ">= 5.0, < 6.0", "a`b", "a|b", "<b>", "git::https://example.com/x.git?ref=v1", "#1 @x"} {
		page := rendered(t, "x "+report.Code(text))
		code := regexp.MustCompile(`<code>(.*)</code>`).FindStringSubmatch(page)
		if code == nil || strings.ReplaceAll(html.UnescapeString(code[1]), "\u200B", "") != text {
			t.Errorf("Code(%q) is shown as %s", text, page)
		}
	}
}

func TestPlainIsOneLineWithoutControl(t *testing.T) {
	for _, tt := range threats {
		got := report.Plain(tt.text)
		for _, r := range got {
			if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("%s: Plain(%q) = %q holds %U", tt.name, tt.text, got, r)
			}
		}
	}
	for text, want := range map[string]string{
		"\x1b[31mred\x1b[0m":                      "red",
		"\x1b]8;;https://x\x07link\x1b]8;;\x1b\\": "link",
		"a\x1b(Bb":          "ab",
		" a\n\tb  c ":       "a b c",
		"user\u202Egpj.exe": "user\uFFFDgpj.exe",
		"a\xffb":            "a\uFFFDb",
		"日本語 naïve":         "日本語 naïve",
	} {
		if got := report.Plain(text); got != want {
			t.Errorf("Plain(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestOutsideTextIsCut(t *testing.T) {
	long := strings.Repeat("word @octocat ", 1<<18) // 3.5 MiB
	for name, got := range map[string]string{"Plain": report.Plain(long), "Inert": report.Inert(long), "Code": report.Code(long)} {
		if n := utf8.RuneCountInString(got); n > 2000 || !strings.Contains(got, "…") {
			t.Errorf("%s of a long text has %d characters and ends in %q", name, n, got[len(got)-10:])
		}
	}
	if got := report.Plain("a" + strings.Repeat(" ", 1<<20) + "b"); got != "a…" {
		t.Errorf("a text with a long gap becomes %q, want it marked as cut", got)
	}
	if got := report.Plain(strings.Repeat("é", 400)); utf8.RuneCountInString(got) != 400 {
		t.Errorf("a text of 400 characters is cut to %d", utf8.RuneCountInString(got))
	}
}

func FuzzInert(f *testing.F) {
	for _, tt := range threats {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, inert := range []string{report.Inert(text), report.Code(text)} {
			page := rendered(t, "| a | b |\n|---|---|\n| "+inert+" | last |\n\n- "+inert+"\n")
			if strings.Count(page, "<td>") != 2 || strings.Count(page, "<li>") > 1 {
				t.Errorf("%q breaks the page:\n%s", inert, page)
			}
			inner := strings.NewReplacer("<table>", "", "</table>", "").Replace(page)
			if got := foreign.FindString(inner); got != "" {
				t.Errorf("%q becomes %s:\n%s", inert, got, page)
			}
			checkProse(t, page)
			checkSource(t, inert)
		}
	})
}
