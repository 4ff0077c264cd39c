package run

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/worktree"
)

// toolDirs are directories of git, the tools and package managers. They have no files of
// people.
var toolDirs = append([]string{".git", "node_modules"}, toolCaches...)

func inToolDir(name string) bool { return worktree.Within(name, toolDirs) }

// toolCaches are directories that the tools fill. On disk, their content is nobody's work.
// If it is committed, the tools read it, and no reviewer does.
var toolCaches = []string{".terraform", ".terragrunt-cache"}

// lockList has the lock files of a tree. It is made from names alone: no configuration can
// hide a lock file. Of a commit it has all files. Of a checkout it has the files on disk
// that git does not ignore, and those of HEAD. Outside of git it has the files on disk in
// the directories of the run.
type lockList struct {
	tree   tree
	commit committed
	types  map[string]fs.FileMode // by name: regular files and links
	// unlisted are directories that could not be listed. They end in a slash.
	unlisted []string
	absent   map[string]bool // HEAD has them, and the disk does not
	// submodules are directories with files of other repositories.
	submodules []string
	head       func() (worktree.Revision, error)
	// rest is the tree of HEAD with the content of the absent files.
	rest func() (fs.FS, error)
}

// listLocks lists the lock files of a tree, those of providers and of modules. c is what is
// known of HEAD.
func listLocks(t tree, c committed) lockList {
	l := lockList{tree: t, commit: c, types: map[string]fs.FileMode{}, absent: map[string]bool{}, submodules: c.submodules()}
	for name, typ := range c.types {
		if !typ.IsDir() && locksAnything(name) {
			l.types[name] = typ
		}
	}
	for _, name := range slices.Concat(c.missing, c.deleted) {
		l.absent[name] = true
	}
	starts := []string{"."}
	if t.loose {
		starts = t.dirs
	}
	for _, dir := range starts {
		l.walk(strings.TrimSuffix(dir, "/..."))
	}
	l.head = sync.OnceValues(func() (worktree.Revision, error) { return t.at("HEAD") })
	l.rest = sync.OnceValues(func() (fs.FS, error) {
		head, err := l.head()
		if err != nil {
			return nil, err
		}
		return head.Tree(func(name string) bool { return l.absent[name] && locksAnything(name) })
	})
	return l
}

// names are the lock files in the directories of the run, sorted.
func (l lockList) names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l.types)), func(name string) bool { return !l.tree.covers(path.Dir(name)) })
}

// shared are the lock files that are links, and the files that such links lead to. relock
// does not write these. It would replace a link by a file, and the target belongs to several
// root modules [hashicorp/terraform#27158, hashicorp/terraform#32707].
func (l lockList) shared() map[string]bool {
	shared, files := map[string]bool{}, l.tree.FS()
	for name, typ := range l.types {
		if typ != fs.ModeSymlink {
			continue
		}
		shared[name] = true
		if to, err := filetree.Resolve(files, name); err == nil {
			shared[to] = true
		} else if target := l.commit.links[name]; l.absent[name] && target != "" {
			shared[path.Join(path.Dir(name), target)] = true
		}
	}
	return shared
}

// walk adds the lock files in a directory of the tree, and below it.
func (l *lockList) walk(start string) {
	skips := l.skips()
	visit := func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			l.unlisted = append(l.unlisted, strings.TrimPrefix(name+"/", "./"))
			return fs.SkipDir
		case name != start && skips(name, d.IsDir()):
			if d.IsDir() {
				return fs.SkipDir
			}
		case locksAnything(name) && (d.Type().IsRegular() || d.Type() == fs.ModeSymlink):
			l.types[name] = d.Type()
		}
		return nil
	}
	if l.tree.remote != nil {
		_ = fs.WalkDir(l.tree.FS(), start, visit) // visit gets each error
		return
	}
	_ = filepath.WalkDir(l.tree.path(start), func(at string, d fs.DirEntry, err error) error {
		name, outside := filepath.Rel(l.tree.root, at)
		if outside != nil {
			return outside
		}
		return visit(filepath.ToSlash(name), d, err)
	})
}

// skips returns a function that reports whether a listing leaves out a file or a directory
// on disk. Files of HEAD are listed in any case. A directory node_modules of HEAD may have
// very many other files on disk.
func (l *lockList) skips() func(name string, isDir bool) bool {
	if l.tree.remote != nil {
		return func(string, bool) bool { return false }
	}
	ignored := worktree.ReadIgnoreFiles(l.tree.root)
	return func(name string, isDir bool) bool {
		base := path.Base(name)
		switch {
		case isDir && (base == ".git" || slices.Contains(toolCaches, base) || base == "node_modules" && l.commit.types[name].IsDir()):
			return true
		case l.tree.loose || !isDir && !locksAnything(name):
			return false
		}
		if isDir {
			return ignored.ByDir(name).Path != ""
		}
		return ignored.By(name).Path != ""
	}
}

// read returns the content of a lock file. The content of a link is that of its target,
// which must be in the tree.
func (l lockList) read(name string) ([]byte, error) {
	files := l.tree.FS()
	if l.absent[name] {
		var err error
		files, err = l.rest()
		if err != nil {
			return nil, err
		}
	}
	to, err := filetree.Resolve(files, name)
	if err != nil {
		return nil, err
	}
	var f fs.File
	if l.absent[name] || l.tree.remote != nil {
		f, err = files.Open(to)
	} else {
		f, err = file.Open(l.tree.path(to))
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return worktree.ReadBounded(f)
}

// submodule is the submodule that has a file; empty if the repository itself has it.
func (l lockList) submodule(name string) string {
	i := slices.IndexFunc(l.submodules, func(dir string) bool { return strings.HasPrefix(name, dir+"/") })
	if i < 0 {
		return ""
	}
	return l.submodules[i]
}

// edited reports whether a lock file on disk differs from that of HEAD: the link, or the
// content. If that is unknown, a lock file on disk counts as edited.
func (l lockList) edited(name string) bool {
	if l.tree.remote != nil {
		return false
	}
	head, err := l.head()
	to, lost := filetree.Resolve(l.tree.FS(), name)
	if err != nil || lost != nil {
		return !l.absent[name]
	}
	content, err := l.read(name)
	if err != nil || differsFrom(head, to, content) {
		return true
	}
	if to == name {
		return false
	}
	target, err := os.Readlink(l.tree.path(name))
	return err == nil && differsFrom(head, name, []byte(filepath.ToSlash(target)))
}

// differsFrom reports whether a revision has another content at a path.
func differsFrom(at worktree.Revision, name string, content []byte) bool {
	id, err := at.Blob(name)
	want := "" // as Blob has it for an empty file
	if len(content) > 0 {
		want = github.BlobID(content)
	}
	return err != nil || id != want
}

// withLocks adds to an inventory the lock files of a tree for which no root module was
// found. The root modules of the tree begin at the index first. An ask that judges adds
// each lock file. Any other ask names those in hidden directories as not looked at.
// Excluded ones are named, too.
func withLocks(j job, s inventory, l lockList, first int, left func(dir string) bool) inventory {
	show := j.names(l.tree).Of
	read := map[string]int{}
	for i := first; i < len(s.found); i++ {
		m := s.found[i].module
		wrong := problem.AnyError(m.Problems)
		if m.Lock != nil || wrong {
			read[path.Join(m.Dir, lockfile.Name)] = i
		}
		if m.ModuleLock != nil || wrong {
			read[path.Join(m.Dir, modulelock.Name)] = i
		}
	}
	for _, dir := range l.unlisted {
		switch {
		case !l.tree.covers(path.Clean(dir)):
		case left(path.Clean(dir)):
			s.excluded = append(s.excluded, show(path.Clean(dir))+"/")
		default:
			s.unseen.add(notReadable, show, dir)
		}
	}
	for _, name := range l.names() {
		i, isRead := read[name]
		switch {
		case j.ask.judges() && left(path.Dir(name)), !j.ask.judges() && !isRead && !j.scan.Selects(path.Dir(name)):
			s.excluded = append(s.excluded, show(name))
		case !j.ask.judges() && isRead:
		case !j.ask.judges() && !utf8.ValidString(name):
			s.unseen.add(notReadable, show, name)
		case !j.ask.judges():
			if s.extent.touched == nil && isHidden(j.scan.Enters, path.Dir(name)) {
				s.unseen.add(inHiddenDir, show, name)
			}
		case modulelock.Resembles(name):
			s = withJudgedModules(j, s, l, name, isRead)
		default:
			s = withJudged(j, s, l, name, i, isRead)
		}
	}
	return s
}

// withJudgedModules adds a lock file of modules that is judged entry by entry. In a check,
// rules alone judge the one of a root module that the change leaves alone, or that is judged by
// the plan since there is no change.
func withJudgedModules(j job, s inventory, l lockList, name string, isRead bool) inventory {
	ofChange := j.ask.change != nil || s.extent.base != nil
	added := mayAdd(s.extent, l, name)
	if j.ask.verb == verbs.Check && !added && !isRead {
		return s
	}
	content, err := l.read(name)
	if !l.missed(j, &s, name, err) {
		s.moduleLocks = append(s.moduleLocks, judgedFile{l.tree, name, content, err, j.ask.verb == verbs.Check && (!added || isRead && !ofChange)})
	}
	return s
}

// missed notes that a checkout lacks a lock file that is judged. It returns true if the
// clone lacks the content, too, as a partial one does.
func (l lockList) missed(j job, s *inventory, name string, unread error) bool {
	if !slices.Contains(l.commit.missing, name) || s.extent.differs != nil {
		return false
	}
	lacking := unread != nil && l.absent[name]
	switch {
	case lacking:
		s.unseen.add(notInCheckout, j.names(l.tree).Of, name)
	case j.ask.verb == verbs.Check:
		s.unseen.add(onlyHashes, j.names(l.tree).Of, name)
	}
	return lacking
}

// isHidden reports whether a search does not enter a directory, or one above it.
func isHidden(enters func(dir string) bool, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if !enters(dir) {
			return true
		}
	}
	return false
}

// withJudged adds a lock file that is judged. That of a root module counts as read if the
// root module was read with the very same bytes.
func withJudged(j job, s inventory, l lockList, name string, i int, isRead bool) inventory {
	added := j.ask.verb == verbs.Check && mayAdd(s.extent, l, name)
	if j.ask.verb == verbs.Check && !added {
		return s
	}
	content, err := l.read(name)
	var lock *lockfile.File // of the root module
	if isRead {
		lock = s.found[i].module.Lock
	}
	if lock != nil && err == nil && bytes.Equal(content, lock.Source) {
		s.found[i].added = added
		return s
	}
	if l.missed(j, &s, name, err) {
		return s
	}
	m := scan.Alone(name, content, err, j.scan)
	if isRead && lock == nil && m.Lock == nil { // the root module has the error
		return s
	}
	if err != nil && l.absent[name] {
		m.Tree.Diagnostics[0].Hint = scan.CheckOut(path.Dir(name))
	}
	if j.ask.pull == nil || s.extent.touched(m) {
		s.alone = append(s.alone, found{tree: l.tree, module: m, added: added, result: upgrade.Result{Module: m, Diagnostics: m.Tree.Diagnostics}})
	}
	return s
}

// mayAdd reports whether a lock file may have entries that the base lacks. It may if the
// file was changed, in the change or on disk alone, or what its link leads to. One that is
// read through links may, too, if any link was changed.
// A file of a submodule may have some if another commit of the submodule was recorded.
func mayAdd(e extent, l lockList, name string) bool {
	if dir := l.submodule(name); dir != "" {
		return e.differs == nil || e.differs.files[dir]
	}
	if e.differs == nil || e.differs.hasFile(name) || l.edited(name) {
		return true
	}
	to, err := filetree.Resolve(l.tree.FS(), name)
	return to != name && (e.differs.anywhere || err == nil && e.differs.hasFile(to))
}

// leftOut returns a function that reports whether the run leaves out a directory. Only the
// settings that judge can exclude a lock file that is judged: those of the base. They are
// read if the settings at hand exclude one.
func leftOut(j job, inForce func() (settings.Settings, error)) func(dir string) bool {
	return func(dir string) bool {
		if !j.ask.judges() || !j.scan.Excludes(dir) {
			return j.scan.Excludes(dir)
		}
		by, _ := inForce() // in error, nothing is excluded
		return excludes(by, dir)
	}
}

// excludes reports whether settings exclude a directory.
func excludes(by settings.Settings, dir string) bool {
	return scan.Options{Exclude: by.Exclude}.Excludes(dir)
}
