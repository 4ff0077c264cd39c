package command

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Every run of relock pays for what packages do before main: a variable that is dear
// to make is made where it is first used. Bytes are counted, since they are the same
// on every machine.
func TestStartAllocatesLittle(t *testing.T) {
	t.Parallel()
	const ofPackage, ofAll = 512 << 10, 4 << 20
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, trace)
	}
	var all, ours int
	for _, line := range regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(string(trace), -1) {
		bytes, err := strconv.Atoi(line[2])
		if err != nil {
			t.Fatal(err)
		}
		all += bytes
		if strings.Contains(line[1], "/relock/") {
			ours++
		}
		if bytes > ofPackage {
			t.Errorf("package %s allocates %d bytes before main, want at most %d", line[1], bytes, ofPackage)
		}
	}
	if ours < 10 || all > ofAll {
		t.Errorf("%d packages of ours and others allocate %d bytes before main, want at most %d of 10 packages and more", ours, all, ofAll)
	}
}

// BenchmarkStart measures relock version from start to end: processor time, and
// the most memory that a run took.
//
//	go test -run '^$' -bench Start -benchtime 30x ./internal/command
func BenchmarkStart(b *testing.B) {
	program := built(b)
	var milliseconds float64
	var largest int64
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), program, "version")
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		milliseconds += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() * 1000
		largest = max(largest, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	}
	b.ReportMetric(milliseconds/float64(b.N), "cpu-ms")
	b.ReportMetric(float64(largest)/1024, "peak-MiB")
}
