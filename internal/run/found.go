package run

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/terragrunt"
	"github.com/relock-dev/relock/internal/worktree"
)

// Found returns the facts about the repository on disk that matter for its settings. It
// reads files and lock files, and asks no server.
func Found(ctx context.Context, workDir string) (settings.Found, error) {
	t := tree{root: worktree.RootOf(workDir)}
	opts := withIgnored(scan.Options{Orphans: true}, t, t.names(workDir))
	modules, _, err := rootModules(ctx, t.FS(), terragrunt.Options{Scan: opts})
	if err != nil {
		return settings.Found{}, fmt.Errorf("looking for root modules: %w", err)
	}
	seen := surroundings{Locked: len(modules), Tools: map[string]int{}, Covered: map[int]int{}}
	var dirs []string
	var unpinned collect.Set[string]
	for _, m := range modules {
		dirs = append(dirs, m.Dir)
		if m.ModuleLock == nil {
			unpinned.Add(scan.RemoteModules(m)...)
		}
		seen.Tools[m.Tool.String()]++
		if m.Assumed {
			seen.Assumed++
		}
		if m.Lock != nil { // the lock file is readable
			seen.Covered[widest(m.Lock.Locks)]++
		}
	}
	seen.Unpinned = len(unpinned.List)
	found := settings.Found{Exclude: examplesIn(dirs)}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return globs.InAny(found.Exclude, dir) })
	found.Groups = groupsOf(dirs)
	seen.Examples, seen.Split = len(modules)-len(dirs), len(found.Groups) > 0
	found.Notes = seen.notes()
	return found, nil
}

// HostsIn are the registries that a commit names. The settings say how to find root
// modules. Modules outside of the commit are not read.
func HostsIn(ctx context.Context, files *Remote, c settings.Settings) ([]svchost.Hostname, error) {
	all, err := foundIn(ctx, files, c)
	var hosts []svchost.Hostname
	for _, f := range all {
		for _, addr := range f.providers() {
			hosts = append(hosts, addr.Host)
		}
	}
	return hosts, err
}

// GroupsIn are the distinct groups of a commit's providers and locked modules, sorted. The
// settings say how to find root modules.
func GroupsIn(ctx context.Context, files *Remote, c settings.Settings) ([]string, error) {
	all, err := foundIn(ctx, files, c)
	return groupKeys(c.Policy, all), err
}

// foundIn are the root modules of a commit.
func foundIn(ctx context.Context, files *Remote, c settings.Settings) ([]found, error) {
	opts := Ask{}.searching(c)
	opts.Create, opts.Orphans = true, true
	modules, _, err := rootModules(ctx, files.FS, terragrunt.Options{Scan: opts, List: true})
	return collect.Mapped(modules, func(m scan.RootModule) found { return found{module: m} }), err
}

// widest is the largest number of platforms for which a lock file has hashes. The lock file
// does not say which platforms: only the packages do.
func widest(locks []lockfile.Lock) int {
	most := 0
	for _, l := range locks {
		most = max(most, collect.CountIf(l.Hashes, func(h provider.Hash) bool { return h.Scheme() == provider.SchemeH1 }))
	}
	return most
}

// exampleNames are directories whose root modules nobody applies. The name "test" is
// missing: such a directory is often an environment.
var exampleNames = []string{"example", "examples", "fixtures", "testdata", "tests"}

// examplesIn are globs of the directories that look like examples or tests. If all
// directories look so, they are the purpose of the repository, and there are no globs.
func examplesIn(dirs []string) []string {
	patterns := map[string]bool{}
	matched := 0
	for _, dir := range dirs {
		parts := strings.Split(dir, "/")
		i := slices.IndexFunc(parts, func(part string) bool { return slices.Contains(exampleNames, part) })
		switch {
		case i < 0:
			continue
		case i == 0:
			patterns[parts[0]+"/**"] = true
		default:
			patterns["**/"+parts[i]+"/**"] = true
		}
		matched++
	}
	if matched == len(dirs) {
		return nil
	}
	return slices.Sorted(maps.Keys(patterns))
}

// From manyRoots root modules on, one pull request may be too large. More than mostGroups
// groups do not help.
const (
	manyRoots  = 10
	mostGroups = 12
)

// plainDir matches a path without wildcards whose last part can name a group.
var plainDir = regexp.MustCompile(`^([A-Za-z0-9_-][A-Za-z0-9._-]*/)*[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

// groupsOf groups many directories by the first part of their paths that differs. It
// returns none if that would not help.
func groupsOf(dirs []string) []settings.FoundGroup {
	if len(dirs) < manyRoots {
		return nil
	}
	shared := dirs[0]
	for _, dir := range dirs {
		for shared != "." && dir != shared && !strings.HasPrefix(dir, shared+"/") {
			shared = path.Dir(shared)
		}
	}
	var groups []settings.FoundGroup
	for _, dir := range dirs {
		below := strings.TrimPrefix(strings.TrimPrefix(dir, shared), "/")
		if shared == "." {
			below = dir
		}
		name, _, _ := strings.Cut(below, "/")
		group := settings.FoundGroup{Name: name, Directories: path.Join(shared, name) + "/**"}
		if name != "" && !slices.Contains(groups, group) && plainDir.MatchString(path.Join(shared, name)) {
			groups = append(groups, group)
		}
	}
	if len(groups) < 2 || len(groups) > mostGroups {
		return nil
	}
	return groups
}
