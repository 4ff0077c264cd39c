package safe_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/safe/safetest"
)

// structure are the elements that a quoted text may have.
var structure = regexp.MustCompile(`</?(p|h5|ul|ol|li|blockquote|pre|code)>|<a href="https://redirect\.github\.com[^"]*">|</a>`)

// checkQuoted checks that outside Markdown became harmless.
func checkQuoted(t *testing.T, source, quoted string) {
	t.Helper()
	page := safetest.Rendered(t, quoted)
	if got := regexp.MustCompile(`<[a-zA-Z/!][^>]*>`).FindString(structure.ReplaceAllString(page, "")); got != "" {
		t.Errorf("%q becomes %s:\n%s\n%s", source, got, quoted, page)
	}
	safetest.CheckProse(t, page)
	safetest.CheckSource(t, quoted)
	// What follows stands for itself.
	if after := safetest.Rendered(t, "<details>\n\n"+quoted+"\n</details>\n\n### After\n"); !strings.HasSuffix(after, "</details>\n<h3>After</h3>\n") {
		t.Errorf("%q does not end:\n%s\n%s", source, quoted, after)
	}
}

func TestQuotedIsHarmless(t *testing.T) {
	more := []struct{ Name, Text string }{
		{"marker in a block of code", "```\n<!-- relock:{} -->\n```"},
		{"fence in a list", "- a\n  ```\n  unclosed\n\n</details>\n"},
		{"fence within a fence", "````\n```\n@octocat\n```\n````"},
		{"fence of another kind", "~~~\n</details>\n```\n~~~\n"},
		{"indented code", "    </details>\n    @octocat"},
		{"details", "<details>\n\n<summary>x</summary>\n\ntext"},
		{"unclosed tag", "text <b unclosed"},
		{"reference link", "[a][b]\n\n[b]: https://evil.example/x"},
		{"link to a script", "[a](javascript:alert(1)) [b](data:text/html,x)"},
		{"link to an issue", "fixes [#1](https://github.com/a/b/issues/1)"},
		{"link that mentions", "[@octocat](https://github.com/octocat)"},
		{"link in a link", "[a [b](https://github.com/b) c](https://github.com/c)"},
		{"image in a link", "[![x](https://evil.example/y.png)](https://github.com/a/b)"},
		{"keyword before emphasis", "fixes **#1**, closes _acme/infra#2_"},
		{"mention across emphasis", "*@*octocat @**octocat**"},
		{"mention behind a backslash", `\@octocat \#1`},
		{"table", "| a | b |\n|---|---|\n| @octocat | #1 |\n"},
		{"deep lists", strings.Repeat("- ", 500) + "x"},
		{"deep quotations", strings.Repeat("> ", 500) + "x"},
		{"list item that is a rule", "- ***\n- ---\n- - a"},
		{"text that begins a list", `\- a` + "\n\n" + `1\. b` + "\n\n" + `\# c`},
		{"setext heading", "@octocat\n===\n\n#1\n---\n"},
		{"alert", "> [!CAUTION]\n> text"},
		{"autolink", "<https://github.com/a/b/issues/1> <root@evil.example>"},
		{"code with a bar", "`a | b` `` ` ``"},
	}
	for _, tt := range append(safetest.Threats, more...) {
		t.Run(tt.Name, func(t *testing.T) {
			for _, source := range []string{tt.Text, "- " + tt.Text, "> " + tt.Text, "# " + tt.Text, "a\n\n" + tt.Text + "\n\nb"} {
				quoted, _ := safe.Quoted(source, 6000)
				checkQuoted(t, source, quoted.String())
			}
		})
	}
}

func TestQuotedStaysReadable(t *testing.T) {
	const source = `## BREAKING CHANGES:

* resource/aws_x: The ` + "`name`" + ` argument is **required**, see [#123](https://github.com/a/b/issues/123)
  * nested, with [docs](https://example.com/x)
* second

Text over
two lines &amp; an \*asterisk\*.

1. one
2. two

> quoted

` + "```hcl\nresource \"x\" \"y\" {\n\tname = 1\n}\n```" + `

<img src="x"> ![alt](https://example.com/y.png)
`
	const want = `##### BREAKING CHANGES:

- resource/aws&#95;x: The ` + "`name`" + ` argument is required, see [#&#8203;123](https://redirect.github.com/a/b/issues/123)

  - nested, with docs
- second

Text over two lines &amp; an &#42;asterisk&#42;.

1. one
1. two

> quoted

` + "```\nresource \"x\" \"y\" {\n    name = 1\n}\n```" + "\n"
	got, whole := safe.Quoted(source, 6000)
	if got.String() != want || !whole {
		t.Errorf("whole %v, Quoted:\n%s\nwant:\n%s", whole, got, want)
	}
}

func TestQuotedStaysWithinItsLimit(t *testing.T) {
	for name, source := range map[string]string{
		"a note of 2 MB":          strings.Repeat("* resource/aws_thing: fixed a bug @octocat #1\n", 45_000),
		"one line of 2 MB":        strings.Repeat("word @octocat ", 150_000),
		"2 MB of quotation marks": strings.Repeat(">", 2<<20),
		"2 MB of brackets":        strings.Repeat("[", 2<<20),
		"2 MB of list items":      strings.Repeat("- ", 1<<20),
		"2 MB of backticks":       strings.Repeat("` `` ", 400_000),
		"2 MB of asterisks":       strings.Repeat("*a ", 700_000),
		"2 MB of code":            "```\n" + strings.Repeat("line\n", 400_000),
	} {
		quoted, whole := safe.Quoted(source, 6000)
		if quoted.Len() > 6000 || whole {
			t.Errorf("%s: %d bytes, whole %v", name, quoted.Len(), whole)
		}
		checkQuoted(t, name, quoted.String())
	}
	cut, _ := safe.Quoted(strings.Repeat("* an item\n", 10_000), 6000)
	quoted := cut.String()
	if !strings.HasSuffix(quoted, "\n- an item\n") || len(quoted) < 5000 {
		t.Errorf("a list is not cut between items near the limit: %d bytes, %q", len(quoted), quoted[max(0, len(quoted)-30):])
	}
}

func FuzzQuoted(f *testing.F) {
	for _, tt := range safetest.Threats {
		f.Add(tt.Text)
	}
	f.Fuzz(func(t *testing.T, source string) {
		quoted, _ := safe.Quoted(source, 2000)
		checkQuoted(t, source, quoted.String())
	})
}
