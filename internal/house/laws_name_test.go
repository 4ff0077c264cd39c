package house

import (
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"strings"
	"testing"
)

// commentsOfAnotherName are functions, methods and types whose doc comments begin with
// another word than their name.
func commentsOfAnotherName(house []*room) map[string]int {
	found := map[string]int{}
	for _, s := range house {
		for _, file := range s.files {
			for _, d := range file.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if !beginsWith(d.Doc, d.Name.Name) {
						found[s.named(d)] = 1
					}
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						typ, ok := spec.(*ast.TypeSpec)
						if !ok {
							continue
						}
						doc := typ.Doc
						if doc == nil && !d.Lparen.IsValid() {
							doc = d.Doc
						}
						if !beginsWith(doc, typ.Name.Name) {
							found[s.name+"."+typ.Name.Name] = 1
						}
					}
				}
			}
		}
	}
	return found
}

// beginsWith reports whether a doc comment begins with a name. No comment is none
// that is wrong.
func beginsWith(doc *ast.CommentGroup, name string) bool {
	text := doc.Text()
	if strings.TrimSpace(text) == "" {
		return true
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n,:.;", r) })
	if len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
		words = words[1:]
	}
	return len(words) > 0 && words[0] == name
}

func TestLawOfComments(t *testing.T) {
	t.Parallel()
	house := samples(t, [2]string{"p", `
		// right: a colon is no part of a word.
		func right() {}
		func silent() {}
		//go:noinline
		func directed() {}
		// wrong says nothing about this one.
		func other() {}
		// A Type may have an article.
		type Type struct{}
		// The other type is another.
		type Other struct{}
		// does something.
		func (t *Type) method() {}
		type (
			// First is the first.
			First int
			// Third is not.
			Second int
		)
		// lists are of no name.
		type (
			third int
		)`})
	finds(t, commentsOfAnotherName, house, map[string]int{"p.other": 1, "p.Other": 1, "p.Type.method": 1, "p.Second": 1})
}

// textsOfOnePackage are exported constants and functions that are sentences, and that
// less than two other packages use. A constant of a type of its own is a value of a
// closed set, and no sentence. A function is a sentence if it returns nothing but text
// and writes words into it itself: one that changes or joins other texts is none. What
// is for tests alone has no other users.
func textsOfOnePackage(house []*room) map[string]int {
	users := map[string]int{}
	for _, s := range house {
		used := map[string]bool{}
		for _, o := range s.info.Uses {
			if o.Pkg() != nil && o.Pkg() != s.types && o.Parent() == o.Pkg().Scope() {
				used[nameOf(o.Pkg().Path())+"."+o.Name()] = true
			}
		}
		for name := range used {
			users[name]++
		}
	}
	found := map[string]int{}
	for _, s := range house {
		if isForTests(s.name) {
			continue
		}
		for name := range s.texts() {
			if users[name] < 2 {
				found[name] = 1
			}
		}
	}
	return found
}

// texts are the exported constants and functions of a package that are sentences.
func (s *room) texts() map[string]bool {
	all := map[string]bool{}
	scope := s.types.Scope()
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && c.Exported() && isText(c.Type()) && isSentence(c.Val()) {
			all[s.name+"."+name] = true
		}
	}
	s.functions(func(name string, f *ast.FuncDecl) {
		declared, ok := s.info.Defs[f.Name].(*types.Func)
		if !ok || f.Recv != nil || !declared.Exported() {
			return
		}
		results := declared.Signature().Results()
		if results.Len() != 1 || !isText(results.At(0).Type()) {
			return
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && isSentence(s.info.Types[e].Value) {
				all[name] = true
			}
			return true
		})
	})
	return all
}

// isText reports whether a type is a string, or Markdown that is safe to post.
func isText(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if ok {
		return named.Obj().Name() == "Markdown"
	}
	basic, ok := t.(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

var (
	twoWords = regexp.MustCompile(`\pL[\pL,:;.]* [^ ]*\pL`)
	fmtVerb  = regexp.MustCompile(`%[-+#0-9.]*[a-z]`)
)

// isSentence reports whether a constant has two words in a row. A verb of package fmt is
// none.
func isSentence(v constant.Value) bool {
	return v != nil && v.Kind() == constant.String && twoWords.MatchString(fmtVerb.ReplaceAllString(constant.StringVal(v), "%"))
}

func TestLawOfTexts(t *testing.T) {
	t.Parallel()
	text := [2]string{"text", `
		type Kind string
		type Markdown string
		const (
			Shared        = "two packages say so"
			Once          = "one package says so"
			Never  string = "no package says so"
			Safe Markdown = "it is *safe*"
			Word          = "word"
			Verbs         = "%.1f %s"
			Words         = "%d are left"
			Member Kind   = "of a set"
			kept          = "says it"
		)
		func Twice() string { return "said " + kept }
		func Says(name string) Markdown { return Markdown(name + " " + kept) }
		func Cut(s string) string { return s[:3] }
		func Both() (string, bool) { return "two results", true }
		func says() string { return Once + Never }
		func (Kind) Says() string { return "a method does" }`}
	user := func(name, uses string) [2]string {
		return [2]string{name, `import "` + module + `/internal/text"
			func use(...any) {}
			func all() { use(` + uses + `) }`}
	}
	house := samples(t, text, user("p", "text.Shared, text.Once, text.Once, text.Twice, text.Word"), user("q", "text.Shared, text.Twice, text.Says, text.Cut"))
	finds(t, textsOfOnePackage, samples(t, [2]string{"watch", `const Seen = "by tests"`}), map[string]int{})
	finds(t, textsOfOnePackage, house, map[string]int{"text.Once": 1, "text.Never": 1, "text.Safe": 1, "text.Says": 1, "text.Words": 1})
}
