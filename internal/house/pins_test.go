package house

import (
	"regexp"
	"strings"
	"testing"
)

var (
	// foreignAction is what a step takes from another repository: not ./path, not
	// an image, not relock itself.
	foreignAction = regexp.MustCompile(`(?m)^[ -]*uses: +((?:[^.\s/][^\s/]*)/[^\s@]+@\S+)(.*)$`)
	pinnedAction  = regexp.MustCompile(`^[^@]+@[0-9a-f]{40}$`)
	baseImage     = regexp.MustCompile(`(?m)^FROM +(\S+)`)
	pinnedImage   = regexp.MustCompile(`^[^@]+@sha256:[0-9a-f]{64}$`)
)

// A tag can be moved to other code, a commit and a digest cannot.
func TestForeignCodeIsPinned(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, pattern := range []string{".github/workflows/*.yml", "examples/workflows/*.yml", "README.md", "docs/*.md"} {
		for _, name := range glob(t, pattern) {
			for _, m := range foreignAction.FindAllStringSubmatch(string(read(t, name)), -1) {
				if strings.HasPrefix(m[1], "relock-dev/relock@") {
					continue // what a release is to its readers
				}
				seen++
				if !pinnedAction.MatchString(m[1]) {
					t.Errorf("%s uses %s: pin it by its commit", name, m[1])
				}
				if !strings.HasPrefix(m[2], " # v") {
					t.Errorf("%s uses %s without saying which release that is", name, m[1])
				}
			}
		}
	}
	if seen < 6 {
		t.Errorf("%d steps of others are found, want those of the workflows", seen)
	}
	bases := baseImage.FindAllStringSubmatch(string(read(t, "Dockerfile")), -1)
	if len(bases) == 0 {
		t.Error("the Dockerfile has no base")
	}
	for _, m := range bases {
		if !pinnedImage.MatchString(m[1]) {
			t.Errorf("the Dockerfile is made from %s: pin it by its digest", m[1])
		}
	}
}
