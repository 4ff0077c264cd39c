// Package safetest checks, for tests, that Markdown has only the intended
// structure.
package safetest

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
)

// Rendered returns Markdown as HTML. It keeps raw HTML, as GitHub does, so that a
// tag which gets through is visible.
func Rendered(t *testing.T, markdown string) string {
	t.Helper()
	gfm := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(goldmarkhtml.WithUnsafe()))
	var b bytes.Buffer
	if err := gfm.Convert([]byte(markdown), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Prose returns the text of HTML, without elements in which GitHub looks for
// neither mentions nor references.
func Prose(page string) string {
	page = regexp.MustCompile(`(?s)<(code|pre|a)\b[^>]*>.*?</(code|pre|a)>`).ReplaceAllString(page, "")
	return html.UnescapeString(regexp.MustCompile(`(?s)<[^>]*>`).ReplaceAllString(page, ""))
}

// The texts that GitHub acts on when it renders a page, as far as relevant here.
var (
	mention   = regexp.MustCompile(`@[A-Za-z0-9]`)
	issue     = regexp.MustCompile(`(?i)#[0-9]|\bGH-[0-9]`)
	keyword   = regexp.MustCompile(`(?i)\b(close[sd]?|fix(e[sd])?|resolve[sd]?):?\s+(\S*#|GH-|\S*://)`)
	Foreign   = regexp.MustCompile(`(?i)<(img|script|iframe|a|h[1-6]|hr|input|div|details|summary|em|strong|del|blockquote|table)\b`)
	ownMarker = "<!-- relock:"
)

// Threats are outside texts that try to be more than text.
var Threats = []struct{ Name, Text string }{
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

// CheckProse checks that GitHub finds no mention, reference or closing keyword in HTML.
func CheckProse(t *testing.T, page string) {
	t.Helper()
	text := Prose(page)
	for what, pattern := range map[string]*regexp.Regexp{"mention": mention, "reference": issue, "closing keyword": keyword} {
		if got := pattern.FindString(text); got != "" {
			t.Errorf("%q is a %s in:\n%s", got, what, page)
		}
	}
}

// CheckSource checks Markdown as a program that searches the source reads it.
func CheckSource(t *testing.T, markdown string) {
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
