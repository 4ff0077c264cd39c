package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// everything is the last element of a DIR that is to be searched.
const everything = "..."

// find adds the root modules that a DIR stands for.
func (s *scanner) find(ctx context.Context, dir string) error {
	name := path.Clean(dir)
	search := path.Base(name) == everything
	if search {
		name = path.Dir(name)
	}
	at, err := s.tree.directory(name)
	if err == nil && at.tree != s.tree {
		err = errOutside
	}
	if err != nil || path.IsAbs(name) {
		s.missing(name, err)
		return nil
	}
	if !search {
		if r := s.identify(at); !r.standalone {
			s.roots[at.dir] = r
			return nil
		}
	}
	return s.search(ctx, at)
}

// missing reports a DIR that cannot be searched.
func (s *scanner) missing(name string, err error) {
	message := "there is no directory " + name
	switch {
	case path.IsAbs(name) || errors.Is(err, errOutside):
		message = name + " leads out of the repository"
	case !errors.Is(err, fs.ErrNotExist):
		message = fmt.Sprintf("%s could not be read: %v", name, reason(err))
	}
	s.diags = append(s.diags, provider.Diagnostic{Code: provider.CodeNotRootModule, Message: message, File: name})
}

// search adds the locked root modules in a directory and below it, and with
// Create those that should be locked.
func (s *scanner) search(ctx context.Context, base location) error {
	dirs, err := s.walk(ctx, base)
	if err != nil {
		return err
	}
	var locked, unlocked []location
	for _, at := range dirs {
		switch {
		case !s.selected(at.dir):
		case s.locked(at):
			locked = append(locked, at)
		default:
			unlocked = append(unlocked, at)
		}
	}
	if err := s.addLocked(ctx, locked); err != nil {
		return err
	}
	var fresh []location
	if s.opts.Create || s.opts.Unlocked {
		if fresh, err = s.fresh(ctx, unlocked); err != nil {
			return err
		}
	}
	for _, at := range fresh {
		if s.opts.Create {
			s.roots[at.dir] = s.identify(at)
		} else {
			s.warn(provider.CodeUnlocked, at.dir, "the root module has no lock file", unlockedHint)
		}
	}
	if len(locked) == 0 && (len(fresh) == 0 || !s.opts.Create) {
		s.warn(provider.CodeNotRootModule, base.dir, "no root module was found in "+base.dir, s.hint(base, unlocked))
	}
	return nil
}

const unlockedHint = "name its directory, or set --create"

// hint says what to do where a search found nothing.
func (s *scanner) hint(base location, unlocked []location) string {
	switch {
	case terragruntUnit(base) && !s.locked(base):
		return "it is a Terragrunt unit: Terragrunt writes its lock file, and relock lock completes it"
	case s.opts.Create || !slices.ContainsFunc(unlocked, s.lockable):
		return ""
	}
	return "no configuration there has a lock file yet: name its directory, or set --create"
}

// warn reports something about the tree that stops nothing.
func (s *scanner) warn(code provider.Code, file, message, hint string) {
	s.diags = append(s.diags, provider.Diagnostic{
		Severity: provider.SeverityWarning, Code: code, Message: message, File: file, Hint: hint,
	})
}

// walk lists the directories at and below one, without what a search skips. It
// does not follow links, which would lead to the same directories again.
func (s *scanner) walk(ctx context.Context, base location) ([]location, error) {
	dirs := []location{base}
	for i := 0; i < len(dirs); i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entries, err := s.tree.list(dirs[i].dir)
		if err != nil {
			s.unreadable("directory", dirs[i].dir, err)
			continue
		}
		for _, e := range entries {
			name := dirs[i].path(e.Name())
			if e.IsDir() && !skipped(e.Name()) && !s.ignored(name) {
				dirs = append(dirs, location{tree: s.tree, dir: name})
			}
		}
	}
	return dirs, nil
}

func (s *scanner) ignored(name string) bool { return s.opts.Ignored != nil && s.opts.Ignored(name) }

// selected applies Include and Exclude.
func (s *scanner) selected(dir string) bool {
	for above := dir; ; above = path.Dir(above) {
		if matchesAny(s.opts.Exclude, above) {
			return false
		}
		if above == "." {
			break
		}
	}
	return len(s.opts.Include) == 0 || matchesAny(s.opts.Include, dir)
}

// wished reports whether a glob names a directory. The glob of all directories,
// which is the default of the setting, names none.
func (s *scanner) wished(dir string) bool {
	return slices.ContainsFunc(s.opts.Include, func(glob string) bool { return glob != "**" && matchesAny([]string{glob}, dir) })
}

func (s *scanner) locked(at location) bool {
	return at.has(lockfile.Name) && !s.ignored(at.path(lockfile.Name))
}

// addLocked adds the locked root modules among directories with a lock file.
func (s *scanner) addLocked(ctx context.Context, dirs []location) error {
	found := make([]*root, len(dirs))
	if err := each(ctx, dirs, func(i int, at location) { found[i] = s.identify(at) }); err != nil {
		return err
	}
	for _, r := range found {
		if r.standalone && !s.opts.Orphans {
			s.diags = append(s.diags, r.kind.warning(r.at.path(lockfile.Name)))
			continue
		}
		s.roots[r.at.dir] = r
	}
	return nil
}

// fresh returns, of directories without a lock file, those that hold a root
// module by every sign: no module or test calls them, they say something that
// only a root module has reason to say or are included by a glob, they are not
// where called modules and examples usually are, and a lock file there would
// not be ignored.
func (s *scanner) fresh(ctx context.Context, dirs []location) ([]location, error) {
	var likely []location
	for _, at := range dirs {
		switch {
		case s.ignored(at.path(lockfile.Name)), !s.lockable(at):
		case s.wished(at.dir), !inModules(at.dir) && s.rootOnly(at):
			likely = append(likely, at)
		}
	}
	if len(likely) == 0 {
		return nil, nil
	}
	called, err := s.called(ctx)
	return slices.DeleteFunc(likely, func(at location) bool { return called[at] }), err
}

// configured reports whether a directory holds configuration.
func (s *scanner) configured(at location) bool {
	entries, _ := s.tree.list(at.dir)
	return files(entries, s.likelyTool(at)).configured()
}

// lockable reports whether a directory holds all of its configuration, so that
// a lock file can be written for it.
func (s *scanner) lockable(at location) bool { return s.configured(at) && !terragruntUnit(at) }

// likelyTool is the tool of a directory whose lock file, if there is one, has
// not been read for itself.
func (s *scanner) likelyTool(at location) provider.Tool {
	if r, ok := s.roots[at.dir]; ok {
		return r.tool
	}
	tool, _ := s.tools.tool(at, nil)
	return tool
}

// rootOnly reports whether a directory holds what only root modules have reason
// to hold: values of variables, a backend, imports, configured providers.
func (s *scanner) rootOnly(at location) bool {
	entries, _ := s.tree.list(at.dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return variableFile(e.Name()) }) ||
		s.configs.load(at, s.likelyTool(at)).rootOnly
}

// called returns the directories that any module of the tree calls, or any
// test runs. The whole tree is read for it, if it is a repository.
func (s *scanner) called(ctx context.Context) (map[location]bool, error) {
	dirs, err := s.walk(ctx, location{tree: s.tree, dir: s.top()})
	if err != nil {
		return nil, err
	}
	dirs = slices.DeleteFunc(dirs, func(at location) bool { return !s.configured(at) })
	targets := make([][]location, len(dirs))
	err = each(ctx, dirs, func(i int, at location) {
		c := s.configs.load(at, s.likelyTool(at))
		scope := newEvaluation(c, &s.opts).scope()
		for _, call := range slices.Concat(c.calls, s.configs.tests(c).runs) {
			source := call.module
			if source.kind == earlySource {
				source = evaluateSource(&decoder{tool: c.tool}, call, scope)
			}
			if source.kind != localSource {
				continue
			}
			if to, err := s.tree.directory(at.path(source.path)); err == nil {
				targets[i] = append(targets[i], to)
			}
		}
	})
	called := map[location]bool{}
	for _, to := range slices.Concat(targets...) {
		called[to] = true
	}
	return called, err
}

// top is the directory below which callers of modules are looked for: what was
// named alone says how far a tree goes that is no repository.
func (s *scanner) top() string {
	if s.opts.Around == nil {
		return "."
	}
	top := ""
	for _, dir := range s.opts.Dirs {
		name := path.Clean(dir)
		if path.Base(name) == everything {
			name = path.Dir(name)
		}
		if at, err := s.tree.directory(name); err == nil && at.tree == s.tree {
			top = common(top, at.dir)
		}
	}
	return cmp.Or(top, ".")
}

// common is the nearest directory that is or holds both; an empty one is none.
func common(a, b string) string {
	for a != "" && a != "." && a != b && !strings.HasPrefix(b, a+"/") {
		a = path.Dir(a)
	}
	return cmp.Or(a, b)
}
