package hash

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// nobody is a user who owns nothing here.
const nobody = 65534

// withoutRights lets the test meet the permissions of files, which do not stop
// root: its thread, and with it what the test does itself, asks for files as
// somebody else from here to the test's end. The way to the path, which is in a
// directory of the test, stays open.
func withoutRights(t *testing.T, path string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	for dir := filepath.Dir(filepath.Dir(path)); dir != filepath.Clean(os.TempDir()) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread()
	as := func(uid int) { syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(uid), 0, 0) }
	as(nobody)
	t.Cleanup(func() {
		as(0)
		runtime.UnlockOSThread()
	})
	// Asked for a user that there cannot be, it only says who it is.
	if is, _, _ := syscall.RawSyscall(syscall.SYS_SETFSUID, ^uintptr(0), 0, 0); is != nobody {
		t.Skip("root may write to every file, and may not become somebody else here")
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("temporary directories are closed to others here:", err)
	}
}
