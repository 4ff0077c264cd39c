package file

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Temporary names have the form PREFIX.relock-MACHINE-PROCESS-RANDOM, so that a later run
// can find out which process made them.
var ours = regexp.MustCompile(`^.+\.relock-([0-9a-f]{8})-([0-9]+)-[0-9]+$`)

// patience is the age at which a temporary file counts as left behind if it is unknown
// whether its process still runs. No run takes that long.
const patience = time.Hour

// pattern returns the pattern of a temporary name for os.CreateTemp and os.MkdirTemp.
func pattern(prefix string) string {
	return fmt.Sprintf("%s.relock-%s-%d-*", prefix, machine(), os.Getpid())
}

// machine identifies the place in which a process number is valid: a machine, or a
// container. Several of them may share a directory.
var machine = sync.OnceValue(func() string {
	host, _ := os.Hostname()
	processes, _ := os.Readlink("/proc/self/ns/pid") // Linux alone has it
	sum := sha256.Sum256([]byte(host + "\n" + processes))
	return hex.EncodeToString(sum[:4])
})

// swept are the directories that Sweep has seen in this process.
var swept sync.Map

// Sweep removes temporary files of killed runs from a directory. Such a file is removed if
// its process is gone, or if that is unknown and the file is older than an hour. Every
// writer calls Sweep before it writes. Each process sweeps a directory once. A file that
// cannot be removed stays, and is no reason to fail.
func Sweep(dir string) {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if _, again := swept.LoadOrStore(dir, true); again {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if left(e, time.Now()) {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// left reports whether a directory entry is temporary and was left behind by a killed run.
func left(e os.DirEntry, now time.Time) bool {
	parts := ours.FindStringSubmatch(e.Name())
	if parts == nil || !e.Type().IsRegular() && !e.IsDir() {
		return false
	}
	process, err := strconv.Atoi(parts[2])
	if err == nil && parts[1] == machine() && process != os.Getpid() {
		return !runs(process)
	}
	info, err := e.Info()
	return err == nil && now.Sub(info.ModTime()) > patience
}

// runs reports whether a process has that number. Windows has no signals, but
// os.FindProcess fails there if no process has the number.
func runs(process int) bool {
	p, err := os.FindProcess(process)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
