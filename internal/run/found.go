package run

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Found tells of the repository on disk what bears on its settings, by its files
// and lock files alone: nobody is asked.
func Found(ctx context.Context, workDir string) (config.Found, error) {
	opts := scan.Options{Orphans: true}
	modules, _, err := rootModules(ctx, tree{root: RepositoryOf(workDir)}.FS(), nil, opts)
	if err != nil {
		return config.Found{}, fmt.Errorf("looking for root modules: %w", err)
	}
	if len(modules) == 0 {
		return config.Found{Notes: map[string]string{"include": "no lock file."}}, nil
	}
	var dirs []string
	for _, m := range modules {
		dirs = append(dirs, m.Dir)
	}
	found := config.Found{
		Notes: map[string]string{
			"include":   counted(len(modules), "directory with a lock file", "directories with a lock file") + ".",
			"tool":      toolsOf(modules),
			"platforms": coverageOf(modules),
		},
		Exclude: examplesIn(dirs),
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return scan.InAny(found.Exclude, dir) })
	if len(found.Exclude) > 0 {
		found.Notes["exclude"] = counted(len(modules)-len(dirs), "directory that looks", "directories that look") +
			" like examples or tests. relock keeps their lock files fresh, too, unless they are excluded."
	}
	if found.Groups = groupsOf(dirs); len(found.Groups) > 0 {
		found.Notes["groups"] = counted(len(dirs), "root module", "root modules") +
			", which may be much for one pull request. These groups would split them by directory."
	}
	return found, nil
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// toolsOf says whose root modules they are.
func toolsOf(modules []scan.RootModule) string {
	counts := map[string]int{}
	assumed := 0
	for _, m := range modules {
		counts[m.Tool.String()]++
		if m.Assumed {
			assumed++
		}
	}
	var parts []string
	for _, tool := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s in %d", tool, counts[tool]))
	}
	text := strings.Join(parts, ", ") + "."
	if assumed > 0 {
		text += fmt.Sprintf(" Nothing names the release in %d: the newest one that fits is assumed there.", assumed)
	}
	return text
}

// coverageOf says how many platforms lock files have packages' hashes for. Which
// those are stands in no lock file: it takes packages to tell.
func coverageOf(modules []scan.RootModule) string {
	counts := map[int]int{}
	for _, m := range modules {
		if m.Lock == nil { // it cannot be read
			continue
		}
		most := 0
		for _, l := range m.Lock.Locks {
			h1 := 0
			for _, h := range l.Hashes {
				if h.Scheme() == provider.SchemeH1 {
					h1++
				}
			}
			most = max(most, h1)
		}
		counts[most]++
	}
	var parts []string
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(counts))) {
		parts = append(parts, fmt.Sprintf("hashes for %s in %s", counted(n, "platform", "platforms"), counted(counts[n], "lock file", "lock files")))
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, ", ") + ". Which platforms those are stands in no lock file; a run finds it out."
	if counts[0]+counts[1] > 0 {
		text += " Lock files with fewer than two get the common platforms with auto."
	}
	return text
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
func groupsOf(dirs []string) []config.FoundGroup {
	if len(dirs) < manyRoots {
		return nil
	}
	shared := dirs[0]
	for _, dir := range dirs {
		for shared != "." && dir != shared && !strings.HasPrefix(dir, shared+"/") {
			shared = path.Dir(shared)
		}
	}
	var groups []config.FoundGroup
	for _, dir := range dirs {
		below := strings.TrimPrefix(strings.TrimPrefix(dir, shared), "/")
		if shared == "." {
			below = dir
		}
		name, _, _ := strings.Cut(below, "/")
		group := config.FoundGroup{Name: name, Directories: path.Join(shared, name) + "/**"}
		if name != "" && !slices.Contains(groups, group) && plainDir.MatchString(path.Join(shared, name)) {
			groups = append(groups, group)
		}
	}
	if len(groups) < 2 || len(groups) > mostGroups {
		return nil
	}
	return groups
}
