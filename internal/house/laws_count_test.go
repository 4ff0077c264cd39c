package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"testing"
)

// countedByHand are the functions whose texts have a number and the plural of a noun: such a
// text says "1 pull requests" one day. A bound, as in "more than %d files", is no count.
func countedByHand(house []*room) map[string]int {
	found := map[string]int{}
	for _, s := range house {
		if developers.MatchString(s.name) {
			continue
		}
		for _, file := range s.files {
			for _, d := range file.Decls {
				name := s.name
				if f, ok := d.(*ast.FuncDecl); ok {
					name = s.named(f)
				}
				ast.Inspect(d, func(n ast.Node) bool {
					if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
						if n := counts(lit.Value); n > 0 {
							found[name] += n
						}
					}
					return true
				})
			}
		}
	}
	return found
}

// developers matches the packages whose texts only developers of relock read.
var developers = regexp.MustCompile(`^(demo|judge|sandbox|\.ci)(/|$)`)

// counted matches a number that comes in later, what is before it, and the words after it.
var (
	counted = regexp.MustCompile(`(\S+ |[^ a-z"]?)%d ((?:[a-z-]+ )?[a-z-]+s)\b`)
	bounded = regexp.MustCompile(`^(than|most) $`)
	noNoun  = regexp.MustCompile(`(^| )(as|belongs|does|has|is|takes|this|was)$`)
)

// counts returns how many numbers with a plural a text has.
func counts(text string) int {
	n := 0
	for _, found := range counted.FindAllStringSubmatch(text, -1) {
		if !bounded.MatchString(found[1]) && !noNoun.MatchString(found[2]) {
			n++
		}
	}
	return n
}

func TestLawOfCounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`"%d pull requests are open"`:          1,
		`"has %d files"`:                       1,
		`"%d of %d packages"`:                  1,
		`"%d more results are left out"`:       1,
		`"%d root modules, %d lock files"`:     2,
		`"it has more than %d files"`:          0,
		`"at most %d words"`:                   0,
		`"#%d is open"`:                        0,
		`"pull request #%d which has changed"`: 0,
		`"%s are open (limit %d)"`:             0,
	} {
		if got := counts(text); got != want {
			t.Errorf("counts(%s) = %d, want %d", text, got, want)
		}
	}
}
