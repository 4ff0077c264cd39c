//go:build unix

package registry

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
)

// TestPipesInMirrorsAreNotWaitedFor puts a named pipe into a filesystem mirror: once
// instead of a packed package, once into an unpacked one.
func TestPipesInMirrorsAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]problem.Code{
		alphaDir + filename(linux):                 problem.CodeUnreadable,
		alphaDir + "1.1.0/linux_amd64/other":       problem.CodeBadPackage,
		alphaDir + "1.1.0/linux_amd64/sub/LICENSE": problem.CodeBadPackage,
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			dir := lay(t, map[string]string{filepath.Join(filepath.Dir(name), "x"): ""})
			if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := mirrored(t, dir).Hashes(t.Context(), terraform, want(terraformHost, linux))
			wantError(t, err, code, "it is not a regular file")
		})
	}
}
