package house

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	markdown "github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"golang.org/x/tools/txtar"
)

// englishFile has the words that no text of the house uses, the exceptions, and a list
// of debt for each rule. Each list has the form of those in debtFile.
const englishFile = "internal/house/testdata/english.txt"

const (
	mostMean      = 18 // words of a sentence, on average over a page
	mostWords     = 30 // words of a sentence that is not long
	sentencesLong = 20 // among so many sentences, one may be long
)

// volumes are the pages that have a bound together, and how many words they may have.
var volumes = []struct {
	name, pages string
	most        int
}{
	{"docs", `^(README\.md|docs/[\w-]+\.md)$`, 14_000},
	{"ARCHITECTURE.md", `^ARCHITECTURE\.md$`, 2_500},
	{"CHANGELOG.md", `^CHANGELOG\.md$`, 600},
}

// englishRules are the lists of debt in englishFile, in order.
var englishRules = []struct{ name, law string }{
	{"volumes", "the prose of some pages has a bound, here in thousands of words"},
	{"mean", "a page's sentences have 18 words at most on average, here rounded up"},
	{"long", "at most one sentence in twenty of a page has more than 30 words"},
	{"unwanted", "a text uses the wanted word of " + englishFile},
}

// page is a text that is judged as one: a document, or the messages or the comments of
// a package.
type page struct {
	name   string
	blocks []block
	// wordsAlone is for comments of code: their sentences are not measured.
	wordsAlone bool
}

// block is a paragraph or an item of a list. Each ends a sentence.
type block struct{ at, text string }

// english are the rules as englishFile has them.
type english struct {
	words      []unwantedWord
	exceptions []*exception
}

// unwantedWord are the forms of a word that we do not use, and what we use.
type unwantedWord struct {
	form   *regexp.Regexp
	opens  bool // a sentence must not begin with it, unless it is a question
	wanted string
}

// exception is a phrase that may have an unwanted word on a page, or in a file.
type exception struct {
	page, phrase string
	used         bool
}

// readEnglish reads the first two sections of englishFile.
func readEnglish(t *testing.T, file *txtar.Archive) *english {
	t.Helper()
	names := []string{"words", "exceptions"}
	for _, rule := range englishRules {
		names = append(names, rule.name)
	}
	if len(file.Files) != len(names) {
		t.Fatalf("%s has %d sections, want %q", englishFile, len(file.Files), names)
	}
	for i, name := range names {
		if file.Files[i].Name != name {
			t.Fatalf("section %d of %s is %s, want %s", i+1, englishFile, file.Files[i].Name, name)
		}
	}
	rules := &english{}
	for _, line := range linesOf(file.Files[0].Data) {
		forms, wanted, ok := strings.Cut(line, ": ")
		if !ok || wanted == "" {
			t.Fatalf("%s: %q is not FORM, FORM…: WANTED", englishFile, line)
		}
		for form := range strings.SplitSeq(forms, ", ") {
			rules.words = append(rules.words, unwantedWordOf(form, wanted))
		}
	}
	for _, line := range linesOf(file.Files[1].Data) {
		entry, reason, explained := strings.Cut(line, " # ")
		page, phrase, ok := strings.Cut(entry, ": ")
		if !ok || !explained || phrase == "" || reason == "" {
			t.Fatalf("%s: %q is not PAGE: PHRASE # REASON", englishFile, line)
		}
		rules.exceptions = append(rules.exceptions, &exception{page: page, phrase: strings.ToLower(phrase)})
	}
	return rules
}

// unwantedWordOf reads a form. One that must not begin a sentence matches as it is
// written.
func unwantedWordOf(form, wanted string) unwantedWord {
	form, opens := strings.CutPrefix(form, "^")
	pattern := regexp.QuoteMeta(form)
	if opens {
		return unwantedWord{regexp.MustCompile("^" + pattern), true, wanted}
	}
	return unwantedWord{regexp.MustCompile("(?i)" + pattern), false, wanted}
}

// linesOf are the lines of a section that are neither empty nor a comment.
func linesOf(section []byte) []string {
	var lines []string
	for line := range strings.Lines(string(section)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// row is what the rules say of a page.
type row struct {
	page             page
	words, sentences int
	long, unwanted   []string // each with its place
}

// tooLong reports whether more sentences of a page are long than may be.
func (r *row) tooLong() bool { return len(r.long)*sentencesLong > r.sentences }

// judge measures each page.
func (e *english) judge(pages []page) []row {
	rows := make([]row, len(pages))
	for i, p := range pages {
		rows[i] = e.judgePage(p)
	}
	return rows
}

// judgePage measures a page.
func (e *english) judgePage(p page) row {
	r := row{page: p}
	for _, b := range p.blocks {
		for _, sentence := range sentencesOf(b.text) {
			words := wordsIn(sentence)
			if words == 0 {
				continue
			}
			for _, found := range e.unwantedIn(p.name, b.at, sentence) {
				r.unwanted = append(r.unwanted, fmt.Sprintf("%s: %s: %s", b.at, found, sentence))
			}
			if p.wordsAlone {
				continue
			}
			r.words += words
			r.sentences++
			if words > mostWords {
				r.long = append(r.long, fmt.Sprintf("%s: %d words: %s", b.at, words, sentence))
			}
		}
	}
	return r
}

// unwantedIn are the unwanted words of a sentence, each with the wanted one. What an
// exception allows is left out.
func (e *english) unwantedIn(page, at, sentence string) []string {
	allowed := e.allowedIn(page, at, sentence)
	var found []string
	for _, w := range e.words {
		if w.opens && strings.HasSuffix(sentence, "?") {
			continue
		}
		for _, m := range w.form.FindAllStringIndex(sentence, -1) {
			if !wholeWord(sentence, m[0], m[1]) {
				continue
			}
			excepted := slices.ContainsFunc(allowed, func(a [2]int) bool { return a[0] <= m[0] && m[1] <= a[1] })
			if !excepted {
				found = append(found, fmt.Sprintf("%q, want %s", sentence[m[0]:m[1]], w.wanted))
			}
		}
	}
	return found
}

// allowedIn are the parts of a sentence that an exception allows.
func (e *english) allowedIn(page, at, sentence string) [][2]int {
	var allowed [][2]int
	file, _, _ := strings.Cut(at, ":")
	lower := strings.ToLower(sentence)
	for _, x := range e.exceptions {
		if x.page != page && x.page != file || len(lower) != len(sentence) {
			continue
		}
		i := strings.Index(lower, x.phrase)
		if i >= 0 {
			x.used = true
			allowed = append(allowed, [2]int{i, i + len(x.phrase)})
		}
	}
	return allowed
}

// wholeWord reports whether a part of a text is no part of a longer word, a path or a name.
func wholeWord(s string, from, to int) bool {
	return !partBefore.MatchString(s[:from]) && !partAfter.MatchString(s[to:])
}

var (
	partBefore = regexp.MustCompile(`[\pL\pN_/.-]$`)
	partAfter  = regexp.MustCompile(`^[.]?[\pL\pN_/-]`)
)

// sentenceEnd is where a sentence may end: a mark, perhaps with a quote or a bracket
// behind it. A semicolon, a colon and a dash end none.
var sentenceEnd = regexp.MustCompile(`[.!?…]["'”’)\]*_]*(\s+|$)`)

// abbreviations end no sentence.
var abbreviations = regexp.MustCompile(`(?i)\b(e\.g|i\.e|vs|cf|etc|incl|approx)\.$`)

// sentencesOf are the sentences of a block.
func sentencesOf(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	var all []string
	begin := 0
	for _, m := range sentenceEnd.FindAllStringIndex(text, -1) {
		if !abbreviations.MatchString(text[begin : m[0]+1]) {
			all = append(all, strings.TrimSpace(text[begin:m[1]]))
			begin = m[1]
		}
	}
	if rest := strings.TrimSpace(text[begin:]); rest != "" {
		all = append(all, rest)
	}
	return all
}

// wordsIn counts what blanks divide and has a letter or a digit.
func wordsIn(sentence string) int {
	words := 0
	for word := range strings.FieldsSeq(sentence) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			words++
		}
	}
	return words
}

// findEnglish is what breaks each rule, by page.
func findEnglish(rows []row) map[string]map[string]int {
	found := map[string]map[string]int{}
	for _, rule := range englishRules {
		found[rule.name] = map[string]int{}
	}
	for _, r := range rows {
		name := r.page.name
		if r.words > mostMean*r.sentences {
			found["mean"][name] = (r.words + r.sentences - 1) / r.sentences
		}
		if r.tooLong() {
			found["long"][name] = len(r.long)
		}
		if len(r.unwanted) > 0 {
			found["unwanted"][name] = len(r.unwanted)
		}
	}
	for _, v := range volumes {
		words := volumeOf(rows, v.pages)
		if words > v.most {
			found["volumes"][v.name] = (words + 999) / 1000
		}
	}
	return found
}

// tenthsOf is how many tenths of a word a sentence of a page has on average.
func tenthsOf(r row) int {
	if r.sentences == 0 {
		return 0
	}
	return (r.words*10 + r.sentences - 1) / r.sentences
}

// volumeOf counts the words of the pages whose names match.
func volumeOf(rows []row, pattern string) int {
	words := 0
	names := regexp.MustCompile(pattern)
	for _, r := range rows {
		if names.MatchString(r.page.name) {
			words += r.words
		}
	}
	return words
}

// generated are parts of documents that a program writes, between two comments.
var generated = regexp.MustCompile(`(?s)<!-- (\w+):begin -->.*?<!-- \w+:end -->|<!-- The table is written by .*?<!-- End of the table. -->`)

// proseOf are the paragraphs and the items of lists of a document. Tables, headings,
// code, comments and generated parts are left out.
func proseOf(name string, src []byte) []block {
	src = generated.ReplaceAllFunc(src, func(part []byte) []byte { return []byte(strings.Repeat("\n", strings.Count(string(part), "\n"))) })
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(src))
	var blocks []block
	_ = markdown.Walk(root, func(n markdown.Node, entering bool) (markdown.WalkStatus, error) {
		if !entering {
			return markdown.WalkContinue, nil
		}
		switch n.(type) {
		case *markdown.Paragraph, *markdown.TextBlock:
			line := 1 + strings.Count(string(src[:n.Lines().At(0).Start]), "\n")
			blocks = append(blocks, block{fmt.Sprintf("%s:%d", name, line), inlineText(n, src)})
			return markdown.WalkSkipChildren, nil
		case *markdown.Heading:
			return markdown.WalkSkipChildren, nil
		}
		return markdown.WalkContinue, nil
	})
	return blocks
}

// codeWord is what code counts as: one word, which is never unwanted.
const codeWord = "`code`"

// inlineText is the text of a block. Code and addresses are a word each.
func inlineText(n markdown.Node, src []byte) string {
	var b strings.Builder
	_ = markdown.Walk(n, func(n markdown.Node, entering bool) (markdown.WalkStatus, error) {
		if !entering {
			return markdown.WalkContinue, nil
		}
		switch n := n.(type) {
		case *markdown.CodeSpan, *markdown.AutoLink:
			b.WriteString(codeWord)
			return markdown.WalkSkipChildren, nil
		case *markdown.Image:
			return markdown.WalkSkipChildren, nil
		case *markdown.Text:
			b.Write(n.Segment.Value(src))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *markdown.String:
			b.Write(n.Value)
		}
		return markdown.WalkContinue, nil
	})
	return b.String()
}

// inlineCode is code within a text of Go.
var inlineCode = regexp.MustCompile("`[^`]*`")

// withoutCode is a paragraph without its indented lines, with a word for each code.
func withoutCode(paragraph string) string {
	var kept []string
	for line := range strings.Lines(paragraph) {
		if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "  ") {
			kept = append(kept, line)
		}
	}
	return inlineCode.ReplaceAllString(strings.Join(kept, ""), codeWord)
}

// TestEnglishIsMeasured has a document with each part that is left out, and one with
// each that counts.
func TestEnglishIsMeasured(t *testing.T) {
	t.Parallel()
	const document = "# Told in a heading\n\n" +
		"It stands in `told` and in a [link](https://told.example): one, two; three - four.\nSee <https://told.example> e.g. here! " +
		"Version 1.2 of file.txt (v1.2) is *new.* Yes?\n\n" +
		"* an item without a mark\n* What is found?\n* What is found is **told**.\n\n  A second paragraph.\n\n" +
		"| told | told |\n|---|---|\n| told | anew |\n\n" +
		"```sh\ntold\n```\n\n<!-- told -->\n\n<!-- settings:begin -->\ntold\n<!-- settings:end -->\n\n" +
		"<!-- The table is written by told. -->\ntold\n<!-- End of the table. -->\n\n" +
		"A stand-in and docs/anew.md are no words of the list.\n\n    told\n"
	rules := readEnglish(t, txtar.Parse([]byte("-- words --\ntold, anew: said\nstands in, stand: is\n^What is: the noun\n"+
		"-- exceptions --\npage.md: an unused phrase # none\n-- volumes --\n-- mean --\n-- long --\n-- unwanted --\n")))
	p := page{name: "page.md", blocks: proseOf("page.md", []byte(document))}
	var sentences []string
	for _, b := range p.blocks {
		sentences = append(sentences, sentencesOf(b.text)...)
	}
	want := []string{
		"It stands in `code` and in a link: one, two; three - four.",
		"See `code` e.g. here!",
		"Version 1.2 of file.txt (v1.2) is new.",
		"Yes?",
		"an item without a mark",
		"What is found?",
		"What is found is told.",
		"A second paragraph.",
		"A stand-in and docs/anew.md are no words of the list.",
	}
	if !slices.Equal(sentences, want) {
		t.Errorf("the sentences are %q, want %q", sentences, want)
	}
	r := rules.judgePage(p)
	unwanted := []string{
		"page.md:3: \"stands in\", want is: " + want[0],
		"page.md:8: \"told\", want said: " + want[6],
		"page.md:8: \"What is\", want the noun: " + want[6],
	}
	if !slices.Equal(r.unwanted, unwanted) {
		t.Errorf("the unwanted words are %q, want %q", r.unwanted, unwanted)
	}
	if r.words != 50 || r.sentences != len(want) {
		t.Errorf("counted %d words in %d sentences, want 50 in %d", r.words, r.sentences, len(want))
	}
	if rules.exceptions[0].used {
		t.Error("an exception counts as used that no text has")
	}
}

// TestEnglishHasBounds judges pages at the bounds, and one step behind each.
func TestEnglishHasBounds(t *testing.T) {
	t.Parallel()
	sentence := func(words int) block { return block{"page.md:1", strings.Repeat("word ", words) + "."} }
	pageOf := func(name string, lengths ...int) page {
		p := page{name: name}
		for _, words := range lengths {
			p.blocks = append(p.blocks, sentence(words))
		}
		return p
	}
	short := slices.Repeat([]int{1}, 19)
	rules := &english{}
	found := findEnglish(rules.judge([]page{
		pageOf("mean.md", 17, 19),
		pageOf("meaner.md", 18, 19),
		pageOf("long.md", append(short, 31)...),
		pageOf("longer.md", append(short[:18:18], 31)...),
		pageOf("thirty.md", append(short[:10:10], 30, 30)...),
		pageOf("docs/a.md", slices.Repeat([]int{10}, 1000)...),
		pageOf("docs/b.md", slices.Repeat([]int{10}, 401)...),
		pageOf("docs/decisions/c.md", slices.Repeat([]int{10}, 5000)...),
		pageOf("CHANGELOG.md", slices.Repeat([]int{10}, 60)...),
	}))
	want := map[string]map[string]int{"volumes": {"docs": 15}, "mean": {"meaner.md": 19}, "long": {"longer.md": 1}, "unwanted": {}}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("findEnglish = %v, want %v", found, want)
	}
}
