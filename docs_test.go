package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	markdown "github.com/yuin/goldmark/text"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/settings"
)

// document is a Markdown file of the repository.
type document struct {
	name  string // slash-separated, from the root
	links []string
	codes []string // inline code
	// fences are blocks of code by what stands behind the first fence.
	fences  []fence
	anchors []string
	text    string
}

type fence struct{ language, code string }

const examplesDir = "examples/workflows"

// documents are those that people read: of the root, in docs and in docs/decisions.
func documents(t *testing.T, fsys fs.FS) []document {
	t.Helper()
	var all []document
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		names, err := fs.Glob(fsys, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			src, err := fs.ReadFile(fsys, name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, readDocument(name, src))
		}
	}
	return all
}

// readDocument takes a document apart as GitHub does.
func readDocument(name string, src []byte) document {
	d := document{name: name, text: string(src)}
	times := map[string]int{}
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(markdown.NewReader(src))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			anchor := slug(plain(n, src))
			if times[anchor]++; times[anchor] > 1 {
				anchor = fmt.Sprintf("%s-%d", anchor, times[anchor]-1)
			}
			d.anchors = append(d.anchors, anchor)
		case *ast.RawHTML:
			if m := anchored.FindSubmatch(n.Segments.Value(src)); m != nil {
				d.anchors = append(d.anchors, string(m[1]))
			}
		case *ast.Link:
			d.links = append(d.links, string(n.Destination))
		case *ast.Image:
			d.links = append(d.links, string(n.Destination))
		case *ast.AutoLink:
			if n.AutoLinkType == ast.AutoLinkURL {
				d.links = append(d.links, string(n.URL(src)))
			}
		case *ast.CodeSpan:
			d.codes = append(d.codes, plain(n, src))
		case *ast.FencedCodeBlock:
			d.fences = append(d.fences, fence{language: string(n.Language(src)), code: string(n.Lines().Value(src))})
		}
		return ast.WalkContinue, nil
	})
	return d
}

// anchored is an anchor that is no heading, such as that of a row of a table.
var anchored = regexp.MustCompile(`^<a id="([a-z0-9-]+)">$`)

// plain is the text of a node and of what is in it.
func plain(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(src))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// slug is the anchor of a heading, as GitHub makes it.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// ourFiles begins the address of a file of this repository.
const ourFiles = project + "blob/main/"

const project = "https://github.com/relock-dev/relock/"

// sources are the files that the program, the action, its installer and the examples
// consist of, each with the links to documents that it has: a hint, a help text, or a
// comment. A link that ends in "#" gets a code of a problem from the program, so each
// code makes a link of its own.
func sources(t *testing.T, fsys fs.FS, codes map[string]bool) []document {
	t.Helper()
	mention := regexp.MustCompile(`(github\.com/\S+ )?\b(?:docs|examples)/(?:[\w-]+/)?[\w.-]+\.(?:md|png|json|yml)(?:#[\w-]*)?|` + regexp.QuoteMeta(project) + `(?:blob|tree)/[^\s"'` + "`" + `<>)]+`)
	var all []document
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir(), strings.HasSuffix(name, "_test.go"), strings.HasPrefix(name, "docs/"), name == "README.md":
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		file := document{name: name}
		for _, m := range mention.FindAllSubmatch(src, -1) {
			link := string(m[0])
			switch {
			case len(m[1]) > 0:
				continue // a document of another project
			case !strings.HasPrefix(link, "https:"):
				link = ourFiles + link
			}
			if !strings.HasSuffix(link, "#") {
				file.links = append(file.links, link)
				continue
			}
			for c := range codes {
				file.links = append(file.links, link+c)
			}
		}
		if len(file.links) > 0 {
			all = append(all, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// brokenLinks are the links of documents that lead nowhere. Of those to other
// servers only the form is judged.
func brokenLinks(fsys fs.FS, all []document) []string {
	anchors := map[string][]string{}
	for _, d := range all {
		anchors[d.name] = d.anchors
	}
	var broken []string
	for _, d := range all {
		for _, link := range d.links {
			name, here := strings.CutPrefix(link, ourFiles)
			u, err := url.Parse(name)
			switch {
			case err != nil:
				broken = append(broken, fmt.Sprintf("%s: %s is no address", d.name, link))
			case strings.HasPrefix(name, project+"blob/"), strings.HasPrefix(name, project+"tree/"):
				broken = append(broken, fmt.Sprintf("%s: %s does not begin with %s", d.name, link, ourFiles))
			case u.Scheme != "":
				if u.Scheme != "https" || !strings.Contains(u.Host, ".") {
					broken = append(broken, fmt.Sprintf("%s: %s is no https address", d.name, link))
				}
			default:
				target := d.name
				if here {
					target = u.Path
				} else if u.Path != "" {
					target = path.Join(path.Dir(d.name), u.Path)
				}
				if _, err := fs.Stat(fsys, target); err != nil {
					broken = append(broken, fmt.Sprintf("%s: %s leads to no file", d.name, link))
				} else if u.Fragment != "" && !slices.Contains(anchors[target], u.Fragment) {
					broken = append(broken, fmt.Sprintf("%s: %s has no such heading", d.name, link))
				}
			}
		}
	}
	return broken
}

// people are the documents whose examples are of this version; others tell of
// earlier ones, or of other tools.
func people(all []document) []document {
	return slices.DeleteFunc(slices.Clone(all), func(d document) bool {
		return d.name != "README.md" && !strings.HasPrefix(d.name, "docs/")
	})
}

// wrongExamples are the examples of documents that do not hold: commands that the
// program does not know, and files that it cannot read.
func wrongExamples(t *testing.T, all []document) []string {
	t.Helper()
	var wrong []string
	for _, d := range all {
		for _, f := range d.fences {
			if err := judgeFence(t, f); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v in:\n%s", d.name, err, f.code))
			}
		}
		for _, code := range d.codes {
			if err := judgeCode(t, code); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %s: %v", d.name, code, err))
			}
		}
	}
	return wrong
}

// judgeFence says what is wrong with a block of code.
func judgeFence(t *testing.T, f fence) error {
	switch f.language {
	case "sh":
		for line := range strings.Lines(f.code) {
			line, _, _ = strings.Cut(line, " #")
			line, _, _ = strings.Cut(line, " | ")
			if err := judgeCode(t, strings.TrimSpace(line)); err != nil {
				return err
			}
		}
		return nil
	case "json":
		if !json.Valid([]byte(f.code)) {
			return fmt.Errorf("no JSON")
		}
		return nil
	case "hcl":
		if _, problems := hclsyntax.ParseConfig([]byte(f.code), "example", hcl.InitialPos); problems.HasErrors() {
			return problems
		}
		return nil
	case "yaml":
		return judgeYAML(f.code, actionFile(t).Inputs)
	case "text":
		return nil
	}
	return fmt.Errorf("a block of the language %q, which no test reads,", f.language)
}

// judgeYAML reads a workflow, steps of one, or a configuration file, in whole or in
// part: that of a repository, if its first line says so, else an operator's.
func judgeYAML(code string, inputs map[string]input) error {
	first, _, _ := strings.Cut(code, "\n")
	switch {
	case strings.HasPrefix(first, "# .github/workflows/"):
		names, err := fs.Glob(os.DirFS("."), examplesDir+"/*.yml")
		if err != nil {
			return err
		}
		for _, name := range names {
			if src, err := os.ReadFile(name); err == nil && string(src) == code {
				return nil
			}
		}
		return fmt.Errorf("no file of %s is this workflow", examplesDir)
	case strings.HasPrefix(first, "# .pre-commit-config.yaml"):
		return judgeHooks(code)
	case strings.HasPrefix(code, "version: 1\nfindings:"):
		if _, problems := settings.ParseBaseline([]byte(code), "relock-baseline.yml"); len(problems) > 0 {
			return fmt.Errorf("%v", problems)
		}
		return nil
	case strings.Contains(first, "- uses:"):
		var steps []struct {
			Uses string
			With map[string]string
		}
		if err := yaml.Unmarshal([]byte(code), &steps); err != nil {
			return err
		}
		for _, s := range steps {
			for input := range s.With {
				if _, known := inputs[input]; !known && strings.HasPrefix(s.Uses, "relock-dev/relock@") {
					return fmt.Errorf("the action has no input %s", input)
				}
			}
		}
		return nil
	}
	if !strings.Contains(code, "version: 1\n") {
		code = "version: 1\n" + code
	}
	parse := settings.ParseOperatorFile
	if strings.HasPrefix(first, "# .github/") {
		parse = settings.ParseFile
	}
	file, problems := parse([]byte(code), "relock.yml")
	if _, more := settings.Resolve(settings.Merge(file.Values)); len(problems)+len(more) > 0 {
		return fmt.Errorf("%v", append(problems, more...))
	}
	return nil
}

// hook is one of those that pre-commit runs.
type hook struct {
	ID, Entry, Language, Files string
	PassFilenames              *bool `yaml:"pass_filenames"`
}

// hooks are those that this repository offers.
func hooks() ([]hook, error) {
	src, err := os.ReadFile(".pre-commit-hooks.yaml")
	if err != nil {
		return nil, err
	}
	var offered []hook
	return offered, yaml.Unmarshal(src, &offered)
}

// judgeHooks says whether a configuration of pre-commit names hooks that are offered.
func judgeHooks(code string) error {
	var file struct{ Repos []struct{ Hooks []hook } }
	if err := yaml.Unmarshal([]byte(code), &file); err != nil {
		return err
	}
	offered, err := hooks()
	for _, repo := range file.Repos {
		for _, h := range repo.Hooks {
			if !slices.ContainsFunc(offered, func(o hook) bool { return o.ID == h.ID }) {
				return fmt.Errorf("no hook is called %s", h.ID)
			}
		}
	}
	return err
}

// TestHooks holds .pre-commit-hooks.yaml to the command line: pre-commit would hand
// relock the names of files, which takes directories.
func TestHooks(t *testing.T) {
	t.Parallel()
	offered, err := hooks()
	if err != nil || len(offered) < 2 {
		t.Fatalf("hooks() = %v, %v", offered, err)
	}
	for _, h := range offered {
		if err := judgeCode(t, h.Entry); err != nil || !strings.HasPrefix(h.Entry, "relock ") {
			t.Errorf("%s runs %q: %v", h.ID, h.Entry, err)
		}
		files, err := regexp.Compile(h.Files)
		if err != nil || h.Language != "golang" || h.PassFilenames == nil || *h.PassFilenames {
			t.Errorf("%s: files %v, language %s, pass_filenames %v", h.ID, err, h.Language, h.PassFilenames)
			continue
		}
		for name, want := range map[string]bool{"a/main.tf": true, "main.tf.json": true, "x.tofu": true, "a/.terraform.lock.hcl": true, "README.md": false, "a.tfvars.txt": false} {
			if files.MatchString(name) != want {
				t.Errorf("%s runs for %s: %t, want %t", h.ID, name, !want, want)
			}
		}
	}
}

// judgeCode says what is wrong with a command line of relock, or with a command in
// a comment. What is neither is right.
func judgeCode(t *testing.T, code string) error {
	args := strings.Fields(code)
	if len(args) < 2 {
		return nil
	}
	switch args[0] {
	case "/relock":
		if strings.ContainsAny(code, "[…|") || strings.ToUpper(code) == code {
			return nil // the grammar, which another test holds
		}
		_, err := comment.Parse(code, comment.UnderPull)
		if err != nil {
			_, err = comment.Parse(code, comment.UnderPage)
		}
		return err
	case "go":
		dir, ours := strings.CutPrefix(strings.TrimSuffix(args[len(args)-1], "@latest"), "github.com/relock-dev/relock")
		_, err := os.Stat("." + dir + "/main.go")
		if ours && err != nil {
			return fmt.Errorf("no such program: %w", err)
		}
	case "relock":
		var out bytes.Buffer
		status := command.Main(t.Context(), command.Env{
			Args: append(args[1:], "--help"), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" },
		})
		if usage := "Usage:\n  relock " + args[1]; status != command.ExitOK || !strings.Contains(out.String(), usage) {
			return fmt.Errorf("status %d, and no %q\n%s", status, usage, &out)
		}
	}
	return nil
}

func TestDocumentsLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, problem := range brokenLinks(os.DirFS("."), documents(t, os.DirFS("."))) {
		t.Error(problem)
	}
}

// TestSourcesLinksLeadSomewhere follows every link to a document that a hint, a help
// text, a comment, the action or an example has.
func TestSourcesLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	codes, _ := problemCodes(t)
	fsys := os.DirFS(".")
	linking := sources(t, fsys, codes)
	for _, want := range []string{"examples/allow-list.yml", "internal/command/merge.go", "internal/render/sarif_rule.go", "internal/settings/init.go", "internal/settings/sources.go"} {
		if !slices.ContainsFunc(linking, func(d document) bool { return d.name == want }) {
			t.Errorf("no link was found in %s", want)
		}
	}
	known := documents(t, fsys)
	for i := range known {
		known[i].links = nil // TestDocumentsLinksLeadSomewhere follows them
	}
	for _, problem := range brokenLinks(fsys, append(known, linking...)) {
		t.Error(problem)
	}
}

func TestDocumentsExamplesHold(t *testing.T) {
	t.Parallel()
	for _, problem := range wrongExamples(t, people(documents(t, os.DirFS(".")))) {
		t.Error(problem)
	}
}

// TestDocumentsMistakesAreFound plants mistakes, so that the tests above cannot go
// blind.
func TestDocumentsMistakesAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":            {"See [it](docs/a.md#one-two-1) and [that](docs/a.md#row), `relock lock --exact` and `/relock why aws`.\n\n```sh\nrelock scan # all\n```\n", ""},
		"file_that_is_gone":  {"[a](docs/b.md)", "README.md: docs/b.md leads to no file"},
		"heading_renamed":    {"[a](docs/a.md#three)", "README.md: docs/a.md#three has no such heading"},
		"out_of_the_tree":    {"[a](../a.md)", "README.md: ../a.md leads to no file"},
		"heading_by_address": {"[a](" + ourFiles + "docs/a.md#three)", "/docs/a.md#three has no such heading"},
		"link_not_https":     {"<http://example.com>", "README.md: http://example.com is no https address"},
		"flag_that_is_gone":  {"```sh\nrelock lock --everything\n```\n", "unknown flag: --everything"},
		"verb_that_is_gone":  {"Use `relock fix`.", "relock fix: status"},
		"program_here":       {"```sh\ngo run github.com/relock-dev/relock/demo@latest\n```\n", ""},
		"program_elsewhere":  {"```sh\ngo run github.com/relock-dev/relock/show@latest\n```\n", "no such program"},
		"comment_not_spoken": {"Say `/relock merge`.", "/relock merge"},
		"input_that_is_gone": {"```yaml\n- uses: relock-dev/relock@v1\n  with: {verb: pr}\n```\n", "the action has no input verb"},
		"unknown_setting":    {"```yaml\nplatform: [linux_amd64]\n```\n", "platform"},
		"wrong_value":        {"```yaml\ngroup-by: team\n```\n", "group-by"},
		"workflow_apart":     {"```yaml\n# .github/workflows/relock.yml\non: push\n```\n", "no file of examples/workflows is this workflow"},
		"hook_that_is_gone":  {"```yaml\n# .pre-commit-config.yaml\nrepos: [{hooks: [{id: relock-fix}]}]\n```\n", "no hook is called relock-fix"},
		"half_of_JSON":       {"```json\n{\"a\": 1\n```\n", "no JSON"},
		"half_of_HCL":        {"```hcl\nhost \"a\" {\n```\n", "Unclosed"},
		"unread_language":    {"```ini\na=b\n```\n", `a block of the language "ini"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := fstest.MapFS{"README.md": {Data: []byte(c.text)}, "docs/a.md": {Data: []byte("# One *two*\n\n## One `two`\n\n| a |\n|---|\n| <a id=\"row\"></a>b |\n")}}
			all := documents(t, fsys)
			problems := append(brokenLinks(fsys, all), wrongExamples(t, people(all))...)
			if wanted := min(len(c.want), 1); len(problems) != wanted || !strings.Contains(strings.Join(problems, ""), c.want) {
				t.Errorf("found %q, want %q", problems, c.want)
			}
		})
	}
}

// problemCodes are the codes of problems that the program declares, and its source.
func problemCodes(t *testing.T) (codes map[string]bool, program string) {
	t.Helper()
	var source strings.Builder
	codes = map[string]bool{}
	code := regexp.MustCompile(`Code\w+ +(?:provider\.)?Code += "([a-z0-9-]+)"`)
	err := filepath.WalkDir("internal", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		src, err := os.ReadFile(name)
		source.Write(src)
		for _, m := range code.FindAllSubmatch(src, -1) {
			codes[string(m[1])] = true
		}
		return err
	})
	if err != nil || len(codes) < 35 {
		t.Fatalf("found the codes %v, which cannot be all: %v", codes, err)
	}
	return codes, source.String()
}

// TestSourcesMistakesAreFound plants links that lead nowhere.
func TestSourcesMistakesAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, want string }{
		"nothing":             {"internal/a.go", `hint = "docs/a.md#one-two-1 says how; " + "/blob/main/docs/a.md#"`, ""},
		"file_that_is_gone":   {"internal/b/b.go", "// see docs/b.md", "docs/b.md leads to no file"},
		"decision_renamed":    {"internal/a.go", "// docs/decisions/b.md says why.", "docs/decisions/b.md leads to no file"},
		"schema_renamed":      {"internal/a.go", `"https://raw.githubusercontent.com/relock-dev/relock/v1/docs/a.schema.json"`, "docs/a.schema.json leads to no file"},
		"example_renamed":     {"action.yml", "description: see examples/workflows/b.yml", "examples/workflows/b.yml leads to no file"},
		"heading_renamed":     {"action.yml", "description: docs/a.md#three", "docs/a.md#three has no such heading"},
		"address_renamed":     {"install/relock.sh", "fail '" + ourFiles + "docs/a.md#three'", "docs/a.md#three has no such heading"},
		"another_branch":      {"install/relock.sh", "https://github.com/relock-dev/relock/tree/v0/docs", "/tree/v0/docs does not begin with "},
		"code_without_a_text": {"internal/a.go", `url = "/blob/main/docs/c.md#" + code`, "docs/c.md#one-two has no such heading"},
		"elsewhere":           {"internal/a.go", "// [github.com/git-lfs/git-lfs docs/spec.md]", ""},
		"a_test":              {"internal/a_test.go", "// docs/b.md", ""},
		"data_of_a_test":      {"internal/testdata/a.go", "// docs/b.md", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := fstest.MapFS{
				c.file: {Data: []byte(c.text)}, "docs/a.md": {Data: []byte("# One *two*\n\n## One `two`\n\n| a |\n|---|\n| <a id=\"row\"></a>b |\n")}, "docs/c.md": {Data: []byte("# C\n")},
			}
			problems := brokenLinks(fsys, append(documents(t, fsys), sources(t, fsys, map[string]bool{"one-two": true})...))
			if wanted := min(len(c.want), 1); len(problems) != wanted || !strings.Contains(strings.Join(problems, ""), c.want) {
				t.Errorf("found %q, want %q", problems, c.want)
			}
		})
	}
}

// TestDocumentOfProblems holds docs/troubleshooting.md to the codes of problems,
// and the messages that it quotes to those of the program.
func TestDocumentOfProblems(t *testing.T) {
	t.Parallel()
	doc := read(t, "docs/troubleshooting.md")
	codes, source := problemCodes(t)
	for c := range codes {
		heading, row := "\n### `"+c+"`\n", "\n| <a id=\""+c+"\"></a>`"+c+"` | "
		if n := strings.Count(doc.text, heading) + strings.Count(doc.text, row); n != 1 {
			t.Errorf("%d paragraphs and rows are about the code %s, want 1", n, c)
		}
	}
	for _, m := range regexp.MustCompile("(?:\n### |</a>)`(.*?)`").FindAllStringSubmatch(doc.text, -1) {
		if !codes[m[1]] {
			t.Errorf("a paragraph or row is about %s, which is no code", m[1])
		}
	}
	for _, f := range doc.fences {
		for part := range strings.SplitSeq(strings.TrimSpace(f.code), "…") {
			quoted := strings.TrimSpace(part)
			if f.language == "text" && !strings.Contains(source, quoted) {
				t.Errorf("the program says nowhere %q, which is quoted as %q", quoted, f.code)
			}
		}
	}
}
