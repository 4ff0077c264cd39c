package house

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/goccy/go-yaml"
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

var showEnglish = flag.String("english", "", "TestEnglish: show each long sentence and each unwanted word of the pages whose names contain this text")

// TestEnglish holds that people in a hurry can read our texts: documents, action.yml,
// comments of the examples, help and messages have short sentences and common words.
// Comments of the code have common words. Whether a text reads well is for people.
func TestEnglish(t *testing.T) {
	file := archive(t, englishFile)
	rules := readEnglish(t, file)
	pages := englishPages(t)
	if len(pages) < 100 {
		t.Fatalf("found %d pages, which cannot be all", len(pages))
	}
	rows := rules.judge(pages)
	for _, e := range rules.exceptions {
		if !e.used {
			t.Errorf("%s: the exception %q of %s is in no text there, or has no unwanted word", englishFile, e.phrase, e.page)
		}
	}
	found := findEnglish(rows)
	for i, rule := range englishRules {
		section := &file.Files[i+2]
		t.Run(rule.name, func(t *testing.T) {
			if *payDebt {
				section.Data = paid(section.Data, found[rule.name])
			}
			listed, err := debts(section.Data)
			if err != nil {
				t.Fatalf("%s, %s: %v", englishFile, rule.name, err)
			}
			for _, breach := range breaches(listed, found[rule.name]) {
				t.Errorf("%s: %s (show it: go test ./internal/house -run '^TestEnglish$' -v -english PAGE)", rule.law, breach)
			}
		})
	}
	if *payDebt {
		if err := os.WriteFile(filepath.Join(top, englishFile), txtar.Format(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Log("\n" + tableOfEnglish(rows))
	if *showEnglish != "" {
		t.Log("\n" + showRows(rows, *showEnglish))
	}
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

// tableOfEnglish is what people read: the figures of all pages, and of the volumes.
func tableOfEnglish(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-40s %6s %9s %5s %4s %8s\n", "page", "words", "sentences", "mean", ">30", "unwanted")
	for _, r := range rows {
		if r.page.wordsAlone {
			if len(r.unwanted) > 0 {
				fmt.Fprintf(&b, "%-40s %6s %9s %5s %4s %8d\n", r.page.name, "", "", "", "", len(r.unwanted))
			}
			continue
		}
		mean := strconv.FormatFloat(float64(tenthsOf(r))/10, 'f', 1, 64)
		fmt.Fprintf(&b, "%-40s %6d %9d %5s %4d %8d\n", r.page.name, r.words, r.sentences, mean, len(r.long), len(r.unwanted))
	}
	for _, v := range volumes {
		fmt.Fprintf(&b, "%-40s %6d of %d\n", "all of "+v.name, volumeOf(rows, v.pages), v.most)
	}
	return b.String()
}

// showRows are the long sentences and the unwanted words of some pages.
func showRows(rows []row, part string) string {
	var b strings.Builder
	for _, r := range rows {
		if strings.Contains(r.page.name, part) {
			for _, line := range slices.Concat(r.unwanted, r.long) {
				b.WriteString(line + "\n")
			}
		}
	}
	return b.String()
}

// englishPages are all texts of the repository that people read.
func englishPages(t *testing.T) []page {
	t.Helper()
	var pages []page
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		for _, name := range glob(t, pattern) {
			pages = append(pages, page{name: name, blocks: proseOf(name, read(t, name))})
		}
	}
	pages = append(pages, actionPage(t))
	for _, pattern := range []string{"examples/*.yml", "examples/workflows/*.yml"} {
		for _, name := range glob(t, pattern) {
			pages = append(pages, page{name: name, blocks: commentsOfYAML(name, read(t, name))})
		}
	}
	for _, s := range rooms(t) {
		dir := dirOf(s)
		comments := page{name: dir + ":comments", wordsAlone: true}
		messages := page{name: dir + ":messages"}
		for _, f := range s.files {
			comments.blocks = append(comments.blocks, commentsOf(s, f)...)
			messages.blocks = append(messages.blocks, messagesOf(s, f)...)
		}
		if _, ours := levels[s.name]; ours {
			pages = append(pages, messages)
		}
		pages = append(pages, comments)
	}
	return pages
}

// dirOf is the directory of a package.
func dirOf(s *room) string {
	return path.Join(".", strings.TrimPrefix(strings.TrimPrefix(s.path, module), "/"))
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

// actionPage are the descriptions of action.yml.
func actionPage(t *testing.T) page {
	t.Helper()
	type described struct {
		Description        string `yaml:"description"`
		DeprecationMessage string `yaml:"deprecationMessage"`
	}
	var file struct {
		Description string               `yaml:"description"`
		Inputs      map[string]described `yaml:"inputs"`
		Outputs     map[string]described `yaml:"outputs"`
	}
	if err := yaml.Unmarshal(read(t, "action.yml"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Inputs) == 0 || len(file.Outputs) == 0 {
		t.Fatal("action.yml has no inputs or no outputs")
	}
	p := page{name: "action.yml"}
	add := func(at, text string) {
		for _, b := range proseOf("", []byte(text)) {
			p.blocks = append(p.blocks, block{"action.yml: " + at, b.text})
		}
	}
	add("description", file.Description)
	for _, kind := range []map[string]described{file.Inputs, file.Outputs} {
		for _, name := range slices.Sorted(maps.Keys(kind)) {
			add(name, kind[name].Description)
			add(name, kind[name].DeprecationMessage)
		}
	}
	return p
}

// wholeComment is a line of YAML that is a comment alone, not one of settings that may
// be switched on.
var wholeComment = regexp.MustCompile(`^\s*# ?(.*)$`)

// commentsOfYAML are the paragraphs that the comments of a file make.
func commentsOfYAML(name string, src []byte) []block {
	var blocks []block
	open := false
	line := 0
	for l := range strings.Lines(string(src)) {
		line++
		m := wholeComment.FindStringSubmatch(strings.TrimRight(l, "\n"))
		switch {
		case m == nil || m[1] == "" || strings.HasSuffix(m[1], ".yml") && !strings.Contains(m[1], " "):
			open = false
		case open:
			blocks[len(blocks)-1].text += " " + m[1]
		default:
			blocks, open = append(blocks, block{fmt.Sprintf("%s:%d", name, line), m[1]}), true
		}
	}
	return blocks
}

// commentsOf are the paragraphs of the comments of a file of Go, without code and
// without the name with which the comment of a declaration begins.
func commentsOf(s *room, f *ast.File) []block {
	names := map[*ast.CommentGroup]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names[n.Doc] = n.Name.Name
		case *ast.GenDecl:
			if spec, ok := n.Specs[0].(*ast.TypeSpec); ok && len(n.Specs) == 1 {
				names[n.Doc] = spec.Name.Name
			}
			if spec, ok := n.Specs[0].(*ast.ValueSpec); ok {
				names[n.Doc] = spec.Names[0].Name
			}
		case *ast.TypeSpec:
			names[n.Doc] = n.Name.Name
		case *ast.ValueSpec:
			names[n.Doc] = n.Names[0].Name
		case *ast.Field:
			if len(n.Names) > 0 {
				names[n.Doc] = n.Names[0].Name
			}
		}
		return true
	})
	var blocks []block
	for _, group := range f.Comments {
		at := s.fset.Position(group.Pos())
		comment := group.Text()
		rest, named := strings.CutPrefix(comment, names[group]+" ")
		if named && names[group] != "" {
			comment = codeWord + " " + rest
		}
		for paragraph := range strings.SplitSeq(comment, "\n\n") {
			blocks = append(blocks, block{fmt.Sprintf("%s:%d", at.Filename, at.Line), withoutCode(paragraph)})
		}
	}
	return blocks
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

// messagesOf are the texts in the code of a file that have three words at least:
// errors, help, notes and what is posted.
func messagesOf(s *room, f *ast.File) []block {
	var blocks []block
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case ast.Expr:
			message, ok := literalText(n)
			if !ok {
				return true
			}
			at := s.fset.Position(n.Pos())
			for paragraph := range strings.SplitSeq(message, "\n\n") {
				paragraph = withoutCode(paragraph)
				if wordsIn(paragraph) >= 3 {
					blocks = append(blocks, block{fmt.Sprintf("%s:%d", at.Filename, at.Line), paragraph})
				}
			}
			return false
		}
		return true
	})
	return blocks
}

// literalText is what a literal says, or a sum that has one. What is no literal there
// counts as a word.
func literalText(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, isLeft := literalText(e.X)
		right, isRight := literalText(e.Y)
		if !isLeft && !isRight {
			return "", false
		}
		if !isLeft {
			left = codeWord
		}
		if !isRight {
			right = codeWord
		}
		return left + right, true
	}
	return "", false
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

// TestEnglishReadsCode has what counts of a file of Go: paragraphs of comments without
// the name that they begin with, and texts of three words at least.
func TestEnglishReadsCode(t *testing.T) {
	t.Parallel()
	s := samples(t, [2]string{"sample", "// told says `anew` twice.\n//\n//\tcode anew\n//\n// It is told.\nfunc told(s string) string {\n" +
		"\t// Within.\n\treturn \"two words\" + s + \" and \" + `more of them` + \"\\n\\nNew paragraph here: `x y z`.\"\n}\n"})[0]
	texts := func(blocks []block) []string {
		var all []string
		for _, b := range blocks {
			all = append(all, strings.TrimSpace(b.text))
		}
		return all
	}
	if got, want := texts(commentsOf(s, s.files[0])), []string{"`code` says `code` twice.", "", "It is told.", "Within."}; !slices.Equal(got, want) {
		t.Errorf("the comments are %q, want %q", got, want)
	}
	want := []string{"two words`code` and more of them", "New paragraph here: `code`."}
	if got := texts(messagesOf(s, s.files[0])); !slices.Equal(got, want) {
		t.Errorf("the messages are %q, want %q", got, want)
	}
}
