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

	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/terragrunt"
	"github.com/relock-dev/relock/internal/worktree"
)

// Found says of the repository on disk what bears on its settings, by its files
// and lock files alone: relock asks no server.
func Found(ctx context.Context, workDir string) (settings.Found, error) {
	opts := scan.Options{Orphans: true}
	modules, _, err := rootModules(ctx, tree{root: worktree.RootOf(workDir)}.FS(), terragrunt.Options{Scan: opts})
	if err != nil {
		return settings.Found{}, fmt.Errorf("looking for root modules: %w", err)
	}
	seen := report.Surroundings{Locked: len(modules), Tools: map[string]int{}, Covered: map[int]int{}}
	var dirs []string
	for _, m := range modules {
		dirs = append(dirs, m.Dir)
		seen.Tools[m.Tool.String()]++
		if m.Assumed {
			seen.Assumed++
		}
		if m.Lock != nil { // it can be read
			seen.Covered[widest(m.Lock.Locks)]++
		}
	}
	found := settings.Found{Exclude: examplesIn(dirs)}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return globs.InAny(found.Exclude, dir) })
	found.Groups = groupsOf(dirs)
	seen.Examples, seen.Split = len(modules)-len(dirs), len(found.Groups) > 0
	found.Notes = seen.Notes()
	return found, nil
}

// HostsIn are the registries that a commit names, by the settings of how to look for root
// modules. Modules that it fetches are not looked into.
func HostsIn(ctx context.Context, files *Remote, c settings.Settings) ([]svchost.Hostname, error) {
	var hosts []svchost.Hostname
	err := eachProvider(ctx, files, c, func(_ string, addr provider.Addr) { hosts = append(hosts, addr.Host) })
	return hosts, err
}

// GroupsIn are the groups that the providers of a commit belong to, each once and sorted, by
// the settings of how to look for root modules.
func GroupsIn(ctx context.Context, files *Remote, c settings.Settings) ([]string, error) {
	groups := map[string]bool{}
	err := eachProvider(ctx, files, c, func(dir string, addr provider.Addr) { groups[c.Policy.GroupOf(dir, addr)] = true })
	return slices.Sorted(maps.Keys(groups)), err
}

// eachProvider goes over what the root modules of a commit require or lock.
func eachProvider(ctx context.Context, files *Remote, c settings.Settings, visit func(dir string, addr provider.Addr)) error {
	opts := Ask{}.searching(c)
	opts.Create, opts.Orphans = true, true
	modules, _, err := rootModules(ctx, files.FS, terragrunt.Options{Scan: opts, List: true})
	if err != nil {
		return err
	}
	for _, m := range modules {
		for _, addr := range (found{module: m}).providers() {
			visit(m.Dir, addr)
		}
	}
	return nil
}

// widest is for how many platforms a lock file has packages' hashes. Which those are
// is in no lock file: only the packages say it.
func widest(locks []lockfile.Lock) int {
	most := 0
	for _, l := range locks {
		h1 := slices.DeleteFunc(slices.Clone(l.Hashes), func(h provider.Hash) bool { return h.Scheme() != provider.SchemeH1 })
		most = max(most, len(h1))
	}
	return most
}

// exampleNames are directories whose root modules nobody applies. A directory test is
// as often an environment.
var exampleNames = []string{"example", "examples", "fixtures", "testdata", "tests"}

// examplesIn are globs of the directories that look like examples or tests, unless
// all do: then they are what the repository is about.
func examplesIn(dirs []string) []string {
	globs := map[string]bool{}
	matched := 0
	for _, dir := range dirs {
		parts := strings.Split(dir, "/")
		i := slices.IndexFunc(parts, func(part string) bool { return slices.Contains(exampleNames, part) })
		switch {
		case i < 0:
			continue
		case i == 0:
			globs[parts[0]+"/**"] = true
		default:
			globs["**/"+parts[i]+"/**"] = true
		}
		matched++
	}
	if matched == len(dirs) {
		return nil
	}
	return slices.Sorted(maps.Keys(globs))
}

// manyRoots is how many root modules may be too much for one pull request, and
// mostGroups how many groups are a help.
const (
	manyRoots  = 10
	mostGroups = 12
)

// plainDir is a path that is no pattern, and whose last part can name a group.
var plainDir = regexp.MustCompile(`^([A-Za-z0-9_-][A-Za-z0-9._-]*/)*[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

// groupsOf splits many directories by the first part of their paths in which they
// differ; none if that would be no help.
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
