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
)

// memory is what runs over an organisation know of its repositories, by their ids. It
// names private repositories. What is in it decides only which repositories are
// read: whatever is written is decided from the repository itself.
type memory struct {
	FormatVersion int    `json:"format_version"`
	Relock        string `json:"relock"` // the version that has written it
	// Next is the first repository that a run has not come to, or in which something waits;
	// empty: there is none.
	Next         string                `json:"next"`
	Repositories map[string]remembered `json:"repositories"`
}

// remembered is a repository at the end of a run that had nothing to do in it, or no room for
// it.
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
	// Waits is since when it waits for room; zero: it does not. Waiting are the pull requests
	// for which there was none. Full says that it has as many as its own limit allows: there
	// is room when one of these changes.
	Waits   time.Time     `json:"waits,omitzero"`
	Waiting []waitingPull `json:"waiting,omitzero"`
	Full    bool          `json:"full,omitzero"`
}

// waitingPull is a pull request that waits for room, as the report says it.
type waitingPull struct {
	Number      int      `json:"number"` // 0: it is to be opened
	URL         string   `json:"url"`
	Title       string   `json:"title"`
	Branch      string   `json:"branch"`
	Base        string   `json:"base"`
	HeadSHA     string   `json:"head_sha"`
	Directories []string `json:"directories"`
	Reason      string   `json:"reason"`
}

// rememberedModule is a root module and the versions that its lock file has, by provider.
type rememberedModule struct {
	Dir      string            `json:"dir"`
	Pending  bool              `json:"pending"`
	Left     bool              `json:"left"`
	Versions map[string]string `json:"versions"`
}

// neededProvider is a provider that root modules require in the same versions, and the newest
// of these that was there.
type neededProvider struct {
	Tool        provider.ToolName `json:"tool"`
	ToolVersion string            `json:"tool_version"`
	Provider    string            `json:"provider"`
	Constraints string            `json:"constraints"`
	Newest      string            `json:"newest"` // empty: none
}

// newestOf is what Newest says where these releases are offered. Constraints that are
// none, as in a file that somebody has changed, allow no release.
func (r neededProvider) newestOf(releases []provider.Release) string {
	var allowed provider.Constraints
	var err error
	if r.Constraints != "" {
		allowed, err = provider.ParseConstraints(r.Constraints)
		if err != nil {
			return ""
		}
	}
	var newest provider.Version
	for _, one := range releases {
		if allowed.Allows(one.Version) && (newest.IsZero() || one.Version.Compare(newest) > 0) {
			newest = one.Version
		}
	}
	if newest.IsZero() {
		return ""
	}
	return newest.String()
}

// longestMemory is how long a repository may go unread. Within it modules that are
// fetched may change, and no file of the repository shows it.
const longestMemory = 7 * 24 * time.Hour

// recall returns what is known of a repository, if nothing that the list tells is
// otherwise now. Whether there are new releases is for the caller to ask, if they matter.
func (m *memory) recall(l github.Listed, settings string, now time.Time) (remembered, bool) {
	r, known := m.Repositories[idOf(l)]
	age := now.Sub(r.Read)
	// Not all that was first read on one day is read again on one day.
	patience := longestMemory - time.Duration(uint64(l.ID)%24)*time.Hour
	same := known && !r.Read.IsZero() && r.Tree == l.Tree && r.Branch == l.Branch && r.Settings == settings && l.Heads != nil &&
		maps.Equal(r.Heads, l.Heads) && maps.Equal(r.Pulls, l.Pulls)
	return r, same && age >= 0 && (!r.matters() || age < patience && (r.Until.IsZero() || now.Before(r.Until)))
}

// matters reports whether a new release, or a module that changes, makes something to do in a
// repository. Where all waits for room and no branch is ours, it makes no difference before
// there is room.
func (r remembered) matters() bool { return r.Waits.IsZero() || len(r.Heads) > 0 }

// remember keeps what a run has found of a repository.
func (m *memory) remember(l github.Listed, r remembered) {
	if m.Repositories == nil {
		m.Repositories = map[string]remembered{}
	}
	r.Tree, r.Branch, r.Heads, r.Pulls = l.Tree, l.Branch, l.Heads, l.Pulls
	m.Repositories[idOf(l)] = r
}

// forget lets a repository be read the next time.
func (m *memory) forget(l github.Listed) { delete(m.Repositories, idOf(l)) }

func idOf(l github.Listed) string { return strconv.FormatInt(l.ID, 10) }

const memoryFormat = 1

// readMemory reads what write has written. What another version of relock knows counts
// for nothing: its rules may be others.
func readMemory(r io.Reader, relock string) (*memory, error) {
	m := &memory{}
	if err := json.NewDecoder(r).Decode(m); err != nil {
		return &memory{}, fmt.Errorf("it is no memory of a fleet: %w", err)
	}
	if m.FormatVersion != memoryFormat {
		return &memory{}, errors.New("it is no memory of a fleet that this version of relock can read")
	}
	if m.Relock != relock {
		return &memory{}, nil
	}
	return m, nil
}

// write writes the memory, as that of a version of relock.
func (m *memory) write(w io.Writer, relock string) error {
	out := *m
	out.FormatVersion, out.Relock = memoryFormat, relock
	return json.NewEncoder(w).Encode(out)
}
