package run

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// ignoreFiles are the ignore files of a repository on disk [git, gitignore(5)], read when
// they are asked for: those in its directories and .git/info/exclude. That of a person,
// which says nothing about the repository, is not among them.
type ignoreFiles struct {
	tree  tree
	show  func(string) string
	rules map[string][]ignoreRule // by the path of the file
}

// ignoreRule is a line of an ignore file.
type ignoreRule struct {
	gitignore.Pattern
	line int
}

// by returns the line by which git ignores a file, as .gitignore:3; empty if none does. A
// file that is committed is not ignored, whatever the line says.
func (g *ignoreFiles) by(name string) string {
	parts := strings.Split(name, "/")
	for n := 1; n <= len(parts); n++ { // what is below an ignored directory is ignored
		if by := g.decides(parts[:n], n < len(parts)); by != "" {
			return by
		}
	}
	return ""
}

// decides returns the line that ignores a path, of which the last that matches counts.
func (g *ignoreFiles) decides(parts []string, isDir bool) string {
	by := ""
	files := []string{".git/info/exclude"}
	for n := range parts {
		files = append(files, path.Join(path.Join(parts[:n]...), ".gitignore"))
	}
	for i, file := range files {
		var domain []string
		if i > 1 {
			domain = parts[:i-1]
		}
		for _, rule := range g.read(file, domain) {
			switch rule.Match(parts, isDir) {
			case gitignore.Exclude:
				by = fmt.Sprintf("%s:%d", g.show(file), rule.line)
			case gitignore.Include:
				by = ""
			}
		}
	}
	return by
}

// read returns the rules of a file, once. One that cannot be read has none.
func (g *ignoreFiles) read(file string, domain []string) []ignoreRule {
	if rules, known := g.rules[file]; known {
		return rules
	}
	var rules []ignoreRule
	if content, err := g.content(file); err == nil {
		for n, line := range strings.Split(string(content), "\n") {
			line = strings.TrimSuffix(line, "\r")
			if line != "" && !strings.HasPrefix(line, "#") {
				rules = append(rules, ignoreRule{gitignore.ParsePattern(line, domain), n + 1})
			}
		}
	}
	if g.rules == nil {
		g.rules = map[string][]ignoreRule{}
	}
	g.rules[file] = rules
	return rules
}

func (g *ignoreFiles) content(name string) ([]byte, error) {
	info, err := fs.Lstat(g.tree.FS(), name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	f, err := g.tree.FS().Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f)
}
