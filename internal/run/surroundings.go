package run

import (
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
)

// surroundings are the facts about a repository on disk that matter for its
// settings.
type surroundings struct {
	// Locked counts its directories with a lock file. Examples counts those that
	// look like examples or tests.
	Locked, Examples int
	// Tools counts the root modules of each tool's release. For Assumed of them,
	// no file names the release.
	Tools   map[string]int
	Assumed int
	// Covered counts lock files by their number of platforms with hashes.
	Covered map[int]int
	// Unpinned counts the remote modules that no lock file of modules has.
	Unpinned int
	// Split means that there are groups to split the others by.
	Split bool
}

// notes are notes on settings of the configuration file, by key.
func (s surroundings) notes() map[string]string {
	if s.Locked == 0 {
		return map[string]string{"include": "no lock file."}
	}
	all := map[string]string{
		"include":   collect.Count(s.Locked, "directory with a lock file", "directories with a lock file") + ".",
		"tool":      s.tools(),
		"platforms": s.platforms(),
	}
	if s.Examples > 0 {
		all["exclude"] = collect.Count(s.Examples, "directory that looks", "directories that look") +
			" like examples or tests. relock keeps their lock files fresh, too, unless they are excluded."
	}
	if s.Unpinned > 0 {
		all["module-lock"] = "nothing locks " + collect.Count(s.Unpinned, "remote module", "remote modules") + "."
	}
	if s.Split {
		all["groups"] = collect.Count(s.Locked-s.Examples, "root module", "root modules") +
			", which may be much for one pull request. These groups would split them by directory."
	}
	return all
}

// mostKinds is the highest number of kinds that a note names.
const mostKinds = 3

func (s surroundings) tools() string {
	var parts []string
	for _, tool := range slices.Sorted(maps.Keys(s.Tools)) {
		parts = append(parts, fmt.Sprintf("%s in %d", tool, s.Tools[tool]))
	}
	text := collect.First(parts, mostKinds) + "."
	if s.Assumed > 0 {
		text += fmt.Sprintf(" Nothing names the release in %d: the newest one that fits is assumed there.", s.Assumed)
	}
	return text
}

func (s surroundings) platforms() string {
	if len(s.Covered) == 0 {
		return ""
	}
	var parts []string
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(s.Covered))) {
		parts = append(parts, fmt.Sprintf("hashes for %s in %s", collect.Count(n, "platform", "platforms"), collect.Count(s.Covered[n], "lock file", "lock files")))
	}
	text := collect.First(parts, mostKinds) + "."
	if s.Covered[0]+s.Covered[1] > 0 {
		text += " Lock files with fewer than two get the common platforms with auto."
	}
	return text
}
