//go:build !linux

package hash

import (
	"os"
	"runtime"
	"testing"
)

// withoutRights makes sure that permissions of files can stop the test.
func withoutRights(t *testing.T, _ string) {
	t.Helper()
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("permissions stop nobody here: root may write to every file, and Windows has none such")
	}
}
