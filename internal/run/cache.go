package run

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/worktree"
)

// learns reports whether the run may write to the caches. Anyone who can write to a cache
// decides what lock files say. So on GitHub only runs of the base branch may, and no run
// about the head of a pull request.
func learns(env Env, a Ask) bool {
	return a.head == NoHead && (!env.OnGitHub || a.verb == verbs.PR || a.verb == verbs.Verify && env.Planned)
}

// openCache opens the hash cache. A cache that a person names must be usable, or repairable
// if it is damaged. If the user's own cache fails, the run works without it. A file that a
// scan reads cannot be a cache: the person has named it by mistake.
func openCache(env Env, a Ask) (*hash.Cache, error) {
	given := a.means.Settings.Cache
	name := cmp.Or(given, env.HashCache)
	if name == "" || a.verb == verbs.Scan || a.verb == verbs.Why || a.verb == verbs.Get || a.means.Settings.NoCache {
		return nil, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(env.WorkDir, name)
	}
	hashes, err := hashCache(env, a, name)
	if err == nil {
		return hashes, nil
	}
	damaged := errors.Is(err, hash.ErrNoCache) && hash.Junk(name) && !scan.Notices(filepath.ToSlash(name))
	if damaged && learns(env, a) {
		hashes, err = heal(env, name)
		if err == nil {
			return hashes, nil
		}
	}
	if given != "" && !damaged {
		return nil, fmt.Errorf("opening the hash cache %s: %w", given, file.Cause(err))
	}
	env.Log.Warn("the hash cache cannot be used, and this run works without it", "path", name, "error", file.Cause(err))
	return nil, nil
}

// heal moves a damaged cache aside and begins a new one.
func heal(env Env, name string) (*hash.Cache, error) {
	aside, err := hash.PutAside(name)
	if err != nil {
		return nil, err
	}
	env.Log.Warn("the hash cache was damaged: relock moved it aside and begins an empty one", "path", name, "aside", aside)
	return hash.OpenCache(name)
}

func hashCache(env Env, a Ask, name string) (*hash.Cache, error) {
	switch {
	case ofHead(env, a, name):
		return nil, &problem.Error{
			Problem: problem.Problem{
				Code:    problem.CodeSettings,
				Message: "a run about the head of a pull request uses no hash cache in the workspace, where that head may have put one",
				Hint:    "keep the cache outside of the checkout: in Actions, path: ${{ runner.temp }}/relock for the cache action and cache: ${{ runner.temp }}/relock/hashes for relock",
			},
		}
	case learns(env, a):
		return hash.OpenCache(name)
	}
	return hash.OpenReadOnlyCache(name)
}

// moduleCache is the directory of fetched modules. It is empty if the request is about a
// head that could have written to the directory. On GitHub it is beside the hash cache:
// workflows save that place, and nothing of the runner's home.
func moduleCache(env Env, a Ask, hashes string) string {
	name := env.ModuleCache
	if env.OnGitHub && hashes != "" {
		name = hashes + ".modules"
	}
	if !filepath.IsAbs(name) && name != "" {
		name = filepath.Join(env.WorkDir, name)
	}
	if ofHead(env, a, name) {
		return ""
	}
	return name
}

// ofHead reports whether the author of a pull request's head may have written a file: it is
// in the workspace, or in a repository that is read from disk.
func ofHead(env Env, a Ask, name string) bool {
	if a.head == NoHead || name == "" {
		return false
	}
	tops := []string{cmp.Or(env.Getenv("GITHUB_WORKSPACE"), env.WorkDir), worktree.RootOf(env.WorkDir)}
	for _, t := range a.targets {
		for _, dir := range t.dirs {
			name, _ := cutSearch(dir)
			tops = append(tops, worktree.RootOf(file.Absolute(env.WorkDir, name)))
		}
	}
	return !file.Outside(name, tops)
}
