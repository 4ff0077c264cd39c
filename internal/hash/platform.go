package hash

import (
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// Platforms returns the platforms whose packages the hashes cover by h1, of
// either kind, sorted; other programs record the h1 of the zip. A zh says
// nothing here: lock files hold those of all platforms.
func Platforms(hashes []provider.Hash, sums map[provider.Platform]Sum) []provider.Platform {
	var covered []provider.Platform
	for platform, sum := range sums {
		if sum.H1 != "" && slices.Contains(hashes, sum.H1) || sum.H1Zip != "" && slices.Contains(hashes, sum.H1Zip) {
			covered = append(covered, platform)
		}
	}
	slices.SortFunc(covered, provider.Platform.Compare)
	return covered
}
