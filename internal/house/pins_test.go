package house

import (
	"go/version"
	"regexp"
	"strings"
	"testing"
)

var (
	// foreignAction is what a step takes from another repository: not ./path, not
	// an image, not relock itself.
	foreignAction = regexp.MustCompile(`(?m)^[ -]*uses: +((?:[^.\s/][^\s/]*)/[^\s@]+@\S+)(.*)$`)
	pinnedAction  = regexp.MustCompile(`^([^/@]+/[^/@]+)[^@]*@([0-9a-f]{40})$`)
	pinnedRelease = regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`)
	baseImage     = regexp.MustCompile(`(?m)^FROM +(\S+)`)
	pinnedImage   = regexp.MustCompile(`^[^@]+@sha256:[0-9a-f]{64}$`)
)

// A tag can be moved to other code, a commit and a digest cannot. All files name the
// same release of an action: what this repository runs is what people copy.
func TestForeignCodeIsPinned(t *testing.T) {
	t.Parallel()
	seen := 0
	first := map[string]string{} // the release of each action's repository, and the file that names it first
	for _, pattern := range []string{".github/workflows/*.yml", "examples/workflows/*.yml", "README.md", "docs/*.md"} {
		for _, name := range glob(t, pattern) {
			for _, m := range foreignAction.FindAllStringSubmatch(string(read(t, name)), -1) {
				if strings.HasPrefix(m[1], "relock-dev/relock@") {
					continue // what a release is to its readers
				}
				seen++
				pin := pinnedAction.FindStringSubmatch(m[1])
				if pin == nil {
					t.Errorf("%s uses %s: pin it by its commit", name, m[1])
					continue
				}
				if !pinnedRelease.MatchString(m[2]) {
					t.Errorf("%s uses %s: name its release, like # v1.2.3, after it", name, m[1])
				}
				release := pin[2] + m[2]
				other, ok := first[pin[1]]
				if !ok {
					first[pin[1]] = release + " in " + name
				} else if !strings.HasPrefix(other, release+" in ") {
					t.Errorf("%s uses %s %s, others use %s: all files take one release", name, pin[1], release, other)
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

// TestGoOfReleases holds that CI and releases use one Go, which .go-version names whole,
// and that it is no older than the oldest that go.mod allows.
func TestGoOfReleases(t *testing.T) {
	t.Parallel()
	used := strings.TrimSpace(string(read(t, ".go-version")))
	oldest := goMod(t).Go.Version
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(used) || version.Compare("go"+used, "go"+oldest) < 0 {
		t.Errorf(".go-version names %q, want a whole release, %s or newer", used, oldest)
	}
	for _, name := range glob(t, ".github/workflows/*.yml") {
		text := string(read(t, name))
		steps := strings.Count(text, "uses: actions/setup-go@")
		if n := strings.Count(text, "with: {go-version-file: .go-version"); n != steps {
			t.Errorf("%s sets Go up in %d steps, and in %d by .go-version", name, steps, n)
		}
	}
}
