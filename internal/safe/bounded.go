package safe

import (
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	goldmarktext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// longestSource is the highest number of bytes of a paragraph, list item or
// heading that are parsed. The parser's time for emphasis and links there grows
// with the square of the length. Of these bytes, longestParagraph characters are
// shown.
const longestSource = sourcePerByte * longestParagraph

// longestDefinitions is the highest number of bytes of a paragraph in which
// definitions of references are searched. Each definition moves all lines after
// it.
const longestDefinitions = 4 * longestSource

// boundedParser returns goldmark's parser of CommonMark with three limits, so
// that its time grows with the length of a document. Blocks nested deeper than
// the shown levels stay text. Text is cut at longestSource. References are
// defined only at the beginning of a paragraph. Code blocks are unchanged.
var boundedParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers( // as in parser.DefaultBlockParsers
			util.Prioritized(shortHeading{parser.NewSetextHeadingParser()}, 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(shallowContainers{parser.NewListParser()}, 300),
			util.Prioritized(shallowContainers{parser.NewListItemParser()}, 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(shortHeading{parser.NewATXHeadingParser()}, 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(shallowContainers{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewHTMLBlockParser(), 900),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(
			util.Prioritized(shortParagraph(longestDefinitions), 50),
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(shortParagraph(longestSource), 200),
		),
	)
})

// shallowContainers is a parser of containers that opens none below the level
// deepest.
type shallowContainers struct{ parser.BlockParser }

// Open implements parser.BlockParser.
func (p shallowContainers) Open(parent ast.Node, reader goldmarktext.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		if n.Kind() == ast.KindBlockquote || n.Kind() == ast.KindListItem {
			depth++
		}
	}
	if depth > deepest {
		return nil, parser.NoChildren
	}
	return p.BlockParser.Open(parent, reader, pc)
}

// shortHeading is a parser of headings that cuts their text.
type shortHeading struct{ parser.BlockParser }

// Close implements parser.BlockParser.
func (p shortHeading) Close(node ast.Node, reader goldmarktext.Reader, pc parser.Context) {
	p.BlockParser.Close(node, reader, pc)
	shorten(node, longestSource)
}

// shortParagraph cuts the text of paragraphs, also in list items, to a number of
// bytes.
type shortParagraph int

// Transform implements parser.ParagraphTransformer.
func (p shortParagraph) Transform(node *ast.Paragraph, _ goldmarktext.Reader, _ parser.Context) {
	shorten(node, int(p))
}

// shorten cuts the lines of a block.
func shorten(node ast.Node, room int) {
	lines := node.Lines()
	for i, line := range lines.Sliced(0, lines.Len()) {
		if line.Len() > room {
			line.Stop -= line.Len() - room
			lines.Set(i, line)
			lines.SetSliced(0, i+1)
			return
		}
		room -= line.Len()
	}
}
