package worktree

import (
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// IgnoreFiles are the ignore files of a repository on disk [git, gitignore(5)], read when
// they are asked for: those in its directories and .git/info/exclude. That of a person,
// which says nothing about the repository, is not among them. They are for one goroutine.
type IgnoreFiles struct {
	files fs.FS
	rules map[string][]ignoreRule // by the path of the file
}

// ReadIgnoreFiles returns the ignore files of the repository whose working tree begins at
// root.
func ReadIgnoreFiles(root string) *IgnoreFiles {
	return &IgnoreFiles{files: os.DirFS(root), rules: map[string][]ignoreRule{}}
}

// ignoreRule is a line of an ignore file.
type ignoreRule struct {
	gitignore.Pattern
	line int
}

// By returns the ignore file and the line by which git ignores a file; no file if none
// does. A file that is committed is not ignored, whatever the line says.
func (g *IgnoreFiles) By(name string) (file string, line int) {
	parts := strings.Split(name, "/")
	for n := 1; n <= len(parts); n++ { // what is below an ignored directory is ignored
		file, line = g.decides(parts[:n], n < len(parts))
		if file != "" {
			return file, line
		}
	}
	return "", 0
}

// Ignores reports whether git ignores a file or a directory that is below no ignored
// directory, and is not committed.
func (g *IgnoreFiles) Ignores(name string, isDir bool) bool {
	by, _ := g.decides(strings.Split(name, "/"), isDir)
	return by != ""
}

// decides returns the line that ignores a path, of which the last that matches counts.
func (g *IgnoreFiles) decides(parts []string, isDir bool) (by string, line int) {
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
				by, line = file, rule.line
			case gitignore.Include:
				by, line = "", 0
			}
		}
	}
	return by, line
}

// read returns the rules of a file, once. One that cannot be read has none.
func (g *IgnoreFiles) read(file string, domain []string) []ignoreRule {
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
	g.rules[file] = rules
	return rules
}

func (g *IgnoreFiles) content(name string) ([]byte, error) {
	info, err := fs.Lstat(g.files, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	f, err := g.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadBounded(f)
}
