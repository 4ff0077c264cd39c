package house

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// documents are pages that have a bound together, by patterns, and how many words they
// may have as wc -w counts them.
var documents = []struct {
	pages []string
	most  int
}{
	{[]string{"README.md", "docs/*.md", decisionPages}, 45_500},
	{[]string{"README.md"}, 1_300},
	{[]string{mapFile}, 2_500},
}

// TestDocumentsAreShort holds the bounds: a new page needs another one to become shorter.
func TestDocumentsAreShort(t *testing.T) {
	t.Parallel()
	for _, d := range documents {
		words := 0
		for _, pattern := range d.pages {
			pages := glob(t, pattern)
			if len(pages) == 0 {
				t.Errorf("no page is %s", pattern)
			}
			for _, name := range pages {
				words += len(strings.Fields(string(read(t, name))))
			}
		}
		if words > d.most {
			t.Errorf("%s have %d words, want %d at most", strings.Join(d.pages, ", "), words, d.most)
		}
	}
}

const reliabilityDoc = "docs/reliability.md"

// TestReliabilityNamesItsTests holds that every test and script that docs/reliability.md
// names as the proof of a promise is there.
func TestReliabilityNamesItsTests(t *testing.T) {
	t.Parallel()
	doc := string(read(t, reliabilityDoc))
	tests := testsOfTheHouse(t)
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(doc, -1)
	for _, m := range named {
		if !tests[m[1]] {
			t.Errorf("%s names %s, which is no test", reliabilityDoc, m[1])
		}
	}
	scripts := 0
	for _, list := range regexp.MustCompile("scripts? ((?:`\\w+`(?:, | and )?)+)").FindAllStringSubmatch(doc, -1) {
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(list[1], -1) {
			scripts++
			if _, err := fs.Stat(repository, "testdata/script/"+m[1]+".txtar"); err != nil {
				t.Errorf("%s names the script %s, which is not there", reliabilityDoc, m[1])
			}
		}
	}
	if len(named) < 12 || scripts < 6 {
		t.Errorf("%s names %d tests and %d scripts, which cannot be all", reliabilityDoc, len(named), scripts)
	}
}

// testsOfTheHouse are the names of all tests of the repository.
func testsOfTheHouse(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := fs.WalkDir(repository, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		src, err := fs.ReadFile(repository, name)
		for _, m := range declared.FindAllSubmatch(src, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
