package worktree

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/problem"
)

// IgnoreFiles are the ignore files of a repository on disk [git, gitignore(5)], read when
// they are asked for: those in its directories and .git/info/exclude. That of a person,
// which says nothing about the repository, is not among them. They are for one goroutine.
type IgnoreFiles struct {
	files fs.FS
	rules map[string][]ignoreRule  // by directory: those for what is in it, of all files above
	dirs  map[string]problem.Place // by directory: the line that ignores it, or one above it
	paths func() (trackedPaths, error)
}

// ReadIgnoreFiles returns the ignore files of the repository whose working tree begins at
// root.
func ReadIgnoreFiles(root string) *IgnoreFiles {
	return &IgnoreFiles{
		files: os.DirFS(root), rules: map[string][]ignoreRule{}, dirs: map[string]problem.Place{},
		paths: sync.OnceValues(func() (trackedPaths, error) { return readTracked(root) }),
	}
}

// ignoreRule is a line of an ignore file.
type ignoreRule struct {
	at      problem.Place
	depth   int      // elements of the path of its file's directory
	negates bool     // it takes back what lines before it ignore
	dirs    bool     // it is about directories alone
	name    string   // a pattern of the last element of a path; empty: glob counts
	glob    []string // patterns of all elements, from the directory of the file on
}

// readRule reads a line of an ignore file.
func readRule(text string, at problem.Place, depth int) ignoreRule {
	r := ignoreRule{at: at, depth: depth}
	if !strings.HasSuffix(text, `\ `) {
		text = strings.TrimRight(text, " ")
	}
	text, r.negates = strings.CutPrefix(text, "!")
	text, r.dirs = strings.CutSuffix(text, "/")
	text = strings.ReplaceAll(text, "[!", "[^") // the form of path.Match
	if !strings.Contains(text, "/") {
		r.name = text
		return r
	}
	r.glob = strings.Split(strings.TrimPrefix(text, "/"), "/")
	if r.glob[len(r.glob)-1] == "**" { // not the directory itself
		r.glob = append(r.glob, "*")
	}
	return r
}

// matches reports whether the line is about a path, by its elements below the directory of
// the file. A file in a directory that the line is about is another path.
func (r ignoreRule) matches(elements []string, isDir bool) bool {
	if r.dirs && !isDir {
		return false
	}
	if r.name != "" {
		matched, _ := path.Match(r.name, elements[len(elements)-1])
		return matched
	}
	return globs.MatchesElements(r.glob, elements)
}

// By returns the line by which git ignores a file; the zero Place if git tracks the file,
// or no line ignores it. A repository that cannot be read tracks nothing.
func (g *IgnoreFiles) By(name string) problem.Place {
	by := g.dir(path.Dir(name))
	if by.Path == "" {
		by = g.decides(name, false)
	}
	if by.Path == "" {
		return by
	}
	if tracked, err := g.paths(); err == nil && tracked.has(name) {
		return problem.Place{}
	}
	return by
}

// ByDir returns the line by which git ignores a directory; the zero Place if git tracks a
// file in it, or no line ignores it. A repository that cannot be read ignores none.
func (g *IgnoreFiles) ByDir(name string) problem.Place {
	by := g.dir(name)
	if by.Path == "" {
		return by
	}
	if tracked, err := g.paths(); err != nil || tracked.has(name) {
		return problem.Place{}
	}
	return by
}

// dir returns the line that ignores a directory, or one above it: no other line takes that
// back.
func (g *IgnoreFiles) dir(name string) problem.Place {
	if name == "." {
		return problem.Place{}
	}
	by, known := g.dirs[name]
	if !known {
		by = g.dir(path.Dir(name))
		if by.Path == "" {
			by = g.decides(name, true)
		}
		g.dirs[name] = by
	}
	return by
}

// decides returns the line that ignores a path, of which the last that matches counts.
func (g *IgnoreFiles) decides(name string, isDir bool) (by problem.Place) {
	parts := strings.Split(name, "/")
	for _, rule := range g.rulesIn(path.Dir(name)) {
		if !rule.matches(parts[rule.depth:], isDir) {
			continue
		}
		by = rule.at
		if rule.negates {
			by = problem.Place{}
		}
	}
	return by
}

// rulesIn returns the rules for what is in a directory, in the order in which they count.
// Each directory is read once, so that a deep path costs no more than its elements.
func (g *IgnoreFiles) rulesIn(dir string) []ignoreRule {
	if rules, known := g.rules[dir]; known {
		return rules
	}
	above, depth := []ignoreRule(nil), 0
	if dir == "." {
		above = g.read(".git/info/exclude", 0)
	} else {
		above, depth = g.rulesIn(path.Dir(dir)), strings.Count(dir, "/")+1
	}
	rules := append(slices.Clip(above), g.read(path.Join(dir, ".gitignore"), depth)...)
	g.rules[dir] = rules
	return rules
}

// read returns the rules of a file. One that cannot be read has none.
func (g *IgnoreFiles) read(file string, depth int) (rules []ignoreRule) {
	content, err := g.content(file)
	if err != nil {
		return nil
	}
	for n, line := range strings.Split(string(content), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line != "" && !strings.HasPrefix(line, "#") {
			rules = append(rules, readRule(line, problem.Place{Path: file, Line: n + 1}, depth))
		}
	}
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

// trackedPaths are the paths that git tracks: those of HEAD, and of the index.
type trackedPaths struct {
	head   *object.Tree
	staged []*index.Entry // sorted by name
}

// readTracked reads what a repository tracks. Without an index that go-git can read, that
// is what HEAD has.
func readTracked(root string) (trackedPaths, error) {
	c, err := OpenClone(root)
	if err != nil {
		return trackedPaths{}, err
	}
	tracked := trackedPaths{head: &object.Tree{}}
	if !c.Unborn() {
		head, err := c.At("HEAD")
		if err != nil {
			return trackedPaths{}, err
		}
		tracked.head, err = head.commit.Tree()
		if err != nil {
			return trackedPaths{}, err
		}
	}
	if staged, err := c.stored.Index(); err == nil {
		tracked.staged = staged.Entries
	}
	return tracked, nil
}

// has reports whether git tracks a file, or one in a directory. All paths below a submodule
// count as tracked.
func (t trackedPaths) has(name string) bool {
	if t.isStaged(name) {
		return true
	}
	for at := name; at != "."; at = path.Dir(at) {
		if entry, err := t.head.FindEntry(at); err == nil {
			return at == name || entry.Mode == filemode.Submodule
		}
	}
	return false
}

// isStaged reports whether the index has a file, or one in a directory.
func (t trackedPaths) isStaged(name string) bool {
	from := func(name string) (first string) {
		i := sort.Search(len(t.staged), func(i int) bool { return t.staged[i].Name >= name })
		if i < len(t.staged) {
			first = t.staged[i].Name
		}
		return first
	}
	return from(name) == name || strings.HasPrefix(from(name+"/"), name+"/")
}
