package safe

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	goldmarktext "github.com/yuin/goldmark/text"
)

// numbered is a text of lines that all differ.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// shapes are documents of so many bytes whose cost grew with the square of that, or might.
var shapes = map[string]func(n int) string{
	"quotations in each other":     func(n int) string { return strings.Repeat(">", n) },
	"quotations of many lines":     func(n int) string { return strings.Repeat("> ", 200) + "\n" + strings.Repeat(">a\n", n/3) },
	"lists in each other":          func(n int) string { return strings.Repeat("- ", n/2) + "x" },
	"numbered lists in each other": func(n int) string { return strings.Repeat("1. ", n/3) },
	"lists and quotations":         func(n int) string { return strings.Repeat("- > ", n/4) },
	"deeper and deeper lists":      func(n int) string { return strings.Repeat(" ", 64) + strings.Repeat("- a\n  ", n/6) },
	"emphasis":                     func(n int) string { return strings.Repeat("_a*", n/3) },
	"emphasis in a heading":        func(n int) string { return "# " + strings.Repeat("_a*", n/3) },
	"emphasis in another heading":  func(n int) string { return strings.Repeat("_a*", n/3) + "\n===\n" },
	"emphasis in an item":          func(n int) string { return "* " + strings.Repeat("_a*", n/3) },
	"links":                        func(n int) string { return strings.Repeat("[a](", n/4) },
	"open links":                   func(n int) string { return strings.Repeat("[", n) },
	"images":                       func(n int) string { return strings.Repeat("![", n/2) },
	"definitions":                  func(n int) string { return strings.Repeat("[a]: b\n", n/7) },
	"definitions of many":          func(n int) string { return numbered("[a%d]: b\n", n) },
	"definitions without an end":   func(n int) string { return strings.Repeat("[a]: b\n\"\n", n/9) },
	"backticks":                    func(n int) string { return strings.Repeat("`a``", n/4) },
	"tags":                         func(n int) string { return strings.Repeat("<a ", n/3) },
	"comments":                     func(n int) string { return "x " + strings.Repeat("<!--", n/4) },
	"instructions":                 func(n int) string { return "x " + strings.Repeat("<?", n/2) },
	"items":                        func(n int) string { return strings.Repeat("* a\n", n/4) },
	"newlines":                     func(n int) string { return strings.Repeat("\n", n) },
	"blocks of code":               func(n int) string { return strings.Repeat("```\na\n```\n", n/10) },
	"entities":                     func(n int) string { return strings.Repeat("&#1;", n/4) },
}

// What the library works on has a bound, so that the time grows with the length of a
// document: text in one block, containers in each other, and what it allocates.
func TestMarkdownCostsWhatItHolds(t *testing.T) {
	// What the library makes once it keeps in pools. Each processor has its own, and the
	// garbage collector empties them.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const size = 30_000
	for name, shape := range shapes {
		var bytes [2]uint64
		for i, n := range []int{size, 2 * size} {
			q := quoter{source: []byte(shape(n))}
			q.parse() // what is made once
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			doc := q.parse()
			runtime.ReadMemStats(&after)
			bytes[i] = after.TotalAlloc - before.TotalAlloc
			most(t, name, doc, 0)
		}
		if bytes[1] > bytes[0]*5/2 {
			t.Errorf("%s: %d bytes, and %d for twice the text", name, bytes[0], bytes[1])
		}
	}
}

// most looks whether blocks are larger or deeper than they may be.
func most(t *testing.T, name string, n ast.Node, depth int) {
	t.Helper()
	if n.Kind() == ast.KindBlockquote || n.Kind() == ast.KindListItem {
		depth++
	}
	if depth > deepest+1 {
		t.Errorf("%s: %d containers in each other", name, depth)
		return
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Type() == ast.TypeInline {
			continue
		}
		size := 0
		for i := range c.Lines().Len() {
			line := c.Lines().At(i)
			size += line.Len()
		}
		switch c.Kind() {
		case ast.KindParagraph, ast.KindTextBlock, ast.KindHeading:
			if size > longestSource {
				t.Errorf("%s: a block has %d bytes", name, size)
			}
		}
		most(t, name, c, depth)
	}
}

// What is within the bounds is read as goldmark reads it, and a block of code is whole
// whatever it holds.
func TestBoundedParserReadsAsGoldmark(t *testing.T) {
	documents := map[string]string{
		"code": "```\n" + strings.Repeat("> > > > > > a\n", 1000) + "```\n\n    " + strings.Repeat("_a*", 5000) + "\n",
		"all": "# A _b_\n\nC\n===\n\n* d [e](f) `g`\n  1. h\n     > i\n     > - j\n\n> > > k\n\n[l]: https://m \"n\"\n[l] <https://o>\n\n---\n\n" +
			"```go\np\n```\n\n<b>q</b>\n\n\t- - - r\n",
	}
	for _, name := range []string{"../render/testdata/notes.body.md.golden", "../render/testdata/failures.md.golden", "../../CHANGELOG.md", "../../CONTRIBUTING.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		documents[name] = string(text)
	}
	for name, text := range documents {
		source := []byte(text)
		q := quoter{source: source}
		want := nodesOf(goldmark.DefaultParser().Parse(goldmarktext.NewReader(source)), source, "")
		if diff := cmp.Diff(want, nodesOf(q.parse(), source, "")); diff != "" {
			t.Errorf("%s (-goldmark +bounded):\n%s", name, diff)
		}
	}
}

// nodesOf are the kinds of a document's nodes, with their texts.
func nodesOf(n ast.Node, source []byte, indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s", indent, n.Kind())
	switch n := n.(type) {
	case *ast.Text:
		fmt.Fprintf(&b, " %q", n.Segment.Value(source))
	case *ast.Link:
		fmt.Fprintf(&b, " %q", n.Destination)
	}
	if n.Type() == ast.TypeBlock {
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			fmt.Fprintf(&b, " %q", line.Value(source))
		}
	}
	b.WriteString("\n")
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.WriteString(nodesOf(c, source, indent+" "))
	}
	return b.String()
}
