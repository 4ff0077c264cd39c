package organisation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"time"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

// memory is the knowledge of earlier runs about the repositories of an
// organisation, by id. It names private repositories. It only decides which
// repositories are read. All writes are decided from the repository itself.
type memory struct {
	FormatVersion int    `json:"format_version"`
	Relock        string `json:"relock"` // the version that has written it
	// Next is the first repository that a run has not reached, or in which
	// something waits; empty if there is none.
	Next         string                `json:"next"`
	Repositories map[string]remembered `json:"repositories"`
}

// remembered is a repository at the end of a run that had nothing to do in it, or
// no room.
type remembered struct {
	Tree     string             `json:"tree"` // of the default branch
	Branch   string             `json:"branch"`
	Settings string             `json:"settings"` // what identifies those that its own file does not give
	Heads    map[string]string  `json:"heads"`    // of our branches
	Pulls    map[string]string  `json:"pulls"`    // our open pull requests, with when they changed
	Modules  []rememberedModule `json:"modules"`
	Unseen   []string           `json:"unseen"`   // what was said of lock files that were not looked at
	Excluded []string           `json:"excluded"` // lock files that the settings leave out
	Requires []neededProvider   `json:"requires"`
	Until    time.Time          `json:"until"` // when a rule lets something through that it held; zero: none does
	Read     time.Time          `json:"read"`  // zero: it must be read the next time
	// PullRequests are the open ones and those that wait for room, as in the
	// report. Waits is the time since when some wait; zero if none does. Full means
	// that the repository has reached its own limit: there is room when one of its
	// pull requests changes.
	PullRequests []report.PullRequest `json:"pull_requests,omitzero"`
	Waits        time.Time            `json:"waits,omitzero"`
	Full         bool                 `json:"full,omitzero"`
	// Profile is what the report lacks, for the page about the organisation.
	Profile report.Profile `json:"profile,omitzero"`
}

// rememberedModule is a root module with the versions in its lock file.
type rememberedModule struct {
	Dir     string        `json:"dir"`
	Tool    provider.Tool `json:"tool"`
	Assumed bool          `json:"tool_version_assumed"`
	Pending bool          `json:"pending"`
	Left    bool          `json:"left"`
	InUse   []report.Use  `json:"in_use"`
}

// neededProvider is a provider that root modules require in the same versions,
// with the newest of these at that time.
type neededProvider struct {
	Tool        provider.Tool    `json:"tool"`
	Addr        provider.Addr    `json:"provider"`
	Constraints string           `json:"constraints"`
	Newest      provider.Version `json:"newest"` // zero: none
}

// newestOf is the present value of Newest for these releases. Invalid
// constraints, as in an edited file, allow no release.
func (r neededProvider) newestOf(releases []provider.Release) (newest provider.Version) {
	var allowed provider.Constraints
	var err error
	if r.Constraints != "" {
		allowed, err = provider.ParseConstraints(r.Constraints)
		if err != nil {
			return newest
		}
	}
	for _, one := range releases {
		if allowed.Allows(one.Version) && (newest.IsZero() || one.Version.Compare(newest) > 0) {
			newest = one.Version
		}
	}
	return newest
}

// longestMemory is the longest time without reading a repository. Fetched modules
// may change, which no file of the repository shows.
const longestMemory = 7 * 24 * time.Hour

// recall returns the knowledge about a repository if the list shows it unchanged.
// The caller must ask for new releases, if they matter.
func (m *memory) recall(l github.Listed, settings string, now time.Time) (remembered, bool) {
	r, known := m.Repositories[idOf(l)]
	age := now.Sub(r.Read)
	// Repositories first read on one day are read again on different days.
	patience := longestMemory - time.Duration(uint64(l.ID)%24)*time.Hour
	same := known && !r.Read.IsZero() && r.Tree == l.Tree && r.Branch == l.Branch && r.Settings == settings && l.Heads != nil &&
		maps.Equal(r.Heads, l.Heads) && maps.Equal(r.Pulls, l.Pulls)
	return r, same && age >= 0 && (!r.matters() || age < patience && (r.Until.IsZero() || now.Before(r.Until)))
}

// matters reports whether a new release, or a changed module, makes work in a
// repository. If everything waits for room and no branch is ours, it does not
// before there is room.
func (r remembered) matters() bool { return r.Waits.IsZero() || len(r.Heads) > 0 }

// remember keeps the results of a run for a repository.
func (m *memory) remember(l github.Listed, r remembered) {
	if m.Repositories == nil {
		m.Repositories = map[string]remembered{}
	}
	r.Tree, r.Branch, r.Heads, r.Pulls = l.Tree, l.Branch, l.Heads, l.Pulls
	m.Repositories[idOf(l)] = r
}

// forget makes the next run read the repository.
func (m *memory) forget(l github.Listed) { delete(m.Repositories, idOf(l)) }

func idOf(l github.Listed) string { return strconv.FormatInt(l.ID, 10) }

const memoryFormat = 2

// readMemory reads a memory. The memory of another version of relock is ignored:
// its rules may differ.
func readMemory(r io.Reader, relock string) (*memory, error) {
	m := &memory{}
	if err := json.NewDecoder(r).Decode(m); err != nil {
		return &memory{}, fmt.Errorf("it is no memory of a fleet: %w", err)
	}
	if m.Relock != "" && m.Relock != relock {
		return &memory{}, nil
	}
	if m.FormatVersion != memoryFormat {
		return &memory{}, errors.New("it is no memory of a fleet that this version of relock can read")
	}
	return m, nil
}

// write writes the memory with the version of relock.
func (m *memory) write(w io.Writer, relock string) error {
	out := *m
	out.FormatVersion, out.Relock = memoryFormat, relock
	return json.NewEncoder(w).Encode(out)
}
