package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// BenchmarkRecovery measures what it costs to find out which platforms lock files
// cover, on root modules and packages of BenchmarkMonorepo: their lock files are for
// three of the four platforms, and all of their entries move to another version.
//
//	named     the platforms are named, and no old package is asked for
//	cold      relock recovers them, and remembers nothing
//	warm      the same with what the run remembers that wrote the lock files
//
// old-packages are those of the versions that are left, and old-MB their bytes. It
// fails if the lock files come out different.
//
//	go test -run '^$' -bench Recovery -benchtime 1x ./internal/command
func BenchmarkRecovery(b *testing.B) {
	m := newMonorepo(b)
	upgrade := []string{"upgrade", "--create", "--tool", "terraform", "--format", "json", "live/..."}
	name := append(slices.Clone(upgrade), "--platform", strings.Join(monorepoPlatforms[:3], ","))
	for _, roots := range []int{1, 50} {
		var want map[string]string
		for _, how := range []string{"named", "cold", "warm"} {
			b.Run(fmt.Sprintf("%s/%d", how, roots), func(b *testing.B) {
				// From 1.0.0 alone there is a single set of old packages, which is what a
				// repository has whose lock files were written together.
				dir := m.write(b, roots, "~> 1.0, < 1.%d")
				m.forget(b, dir)
				m.exec(b, m.sandbox.CLIConfig(), dir, m.program, name...)
				loosen(b, dir)
				locked := lockFiles(b, dir)
				args := upgrade
				if how == "named" {
					args = name
				}
				var out []byte
				for b.Loop() {
					b.StopTimer()
					if how != "warm" {
						m.forget(b, dir)
					}
					for name, content := range locked {
						if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
							b.Fatal(err)
						}
					}
					m.sandbox.ResetRequests()
					b.StartTimer()
					out = m.exec(b, m.sandbox.CLIConfig(), dir, m.program, args...)
				}
				reportStats(b, out)
				var packages, bytes int64
				for _, r := range m.sandbox.Requests() {
					if strings.HasSuffix(r.Path, ".zip") && strings.Contains(r.Path, "_1.0.0_") {
						packages, bytes = packages+1, bytes+r.Bytes
					}
				}
				b.ReportMetric(float64(packages), "old-packages")
				b.ReportMetric(float64(bytes)/1e6, "old-MB")
				got := lockFiles(b, dir)
				if want == nil {
					want = got
				}
				checkLocks(b, want, got)
			})
		}
	}
}

// loosen lets all root modules take the newest version.
func loosen(b *testing.B, dir string) {
	b.Helper()
	for _, root := range rootsIn(b, dir) {
		name := filepath.Join(root, "main.tf")
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		text = regexp.MustCompile(`~> 1\.0, < 1\.\d+`).ReplaceAll(text, []byte(">= 1.0"))
		if err := os.WriteFile(name, text, 0o644); err != nil {
			b.Fatal(err)
		}
	}
}
