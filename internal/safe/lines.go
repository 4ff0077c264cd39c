package safe

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	goldmarktext "github.com/yuin/goldmark/text"
)

// Lines returns the lines of a Markdown text in which its author speaks: those of its
// paragraphs, each from the beginning of the line. Lines of quotations, lists, code and
// HTML are left out, and so are lines that begin inside of code or of an HTML comment.
func Lines(markdown string) []string {
	source := []byte(markdown)
	var lines []string
	for block := boundedParser().Parse(goldmarktext.NewReader(source)).FirstChild(); block != nil; block = block.NextSibling() {
		if block.Kind() != ast.KindParagraph && block.Kind() != ast.KindHeading { // a line below may make it a heading
			continue
		}
		seen := textStarts(block)
		for _, line := range block.Lines().Sliced(0, block.Lines().Len()) {
			whole := line.Start == 0 || source[line.Start-1] == '\n' || source[line.Start-1] == '\r'
			if whole && seen[line.Start] {
				uncut, _, _ := bytes.Cut(source[line.Start:], []byte("\n"))
				lines = append(lines, string(bytes.TrimSuffix(uncut, []byte("\r"))))
			}
		}
	}
	return lines
}

// textStarts are the places at which the pieces of visible text in a block begin.
func textStarts(block ast.Node) map[int]bool {
	starts := map[int]bool{}
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function has no error
		if n.Kind() == ast.KindCodeSpan {
			return ast.WalkSkipChildren, nil
		}
		if text, ok := n.(*ast.Text); ok && entering {
			starts[text.Segment.Start] = true
		}
		return ast.WalkContinue, nil
	})
	return starts
}
