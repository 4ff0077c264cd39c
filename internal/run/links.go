package run

import (
	"errors"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
)

// leaveOutShared removes root modules whose lock files are shared by links from an inventory
// before a verb that writes, and notes that the run did not look at them. If one cannot be
// read, that is still an error.
func leaveOutShared(j job, s *inventory) {
	if j.ask.to == nil {
		return
	}
	s.found = slices.DeleteFunc(s.found, func(f found) bool {
		spared := f.module.Shared && f.module.Lock != nil
		if spared {
			s.unseen.add(behindLink, j.names(f.tree).Of, path.Join(f.module.Dir, lockfile.Name))
		}
		return spared
	})
}

// errLinkedLock is why relock does not replace a lock file.
var errLinkedLock = errors.New("it is a link, in whose place a file would be put")
