package command

import (
	"runtime/debug"
	"testing"
)

func TestStamp(t *testing.T) {
	t.Parallel()
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: version}, Settings: append(settings,
			debug.BuildSetting{Key: "GOOS", Value: "linux"}, debug.BuildSetting{Key: "GOARCH", Value: "arm64"})}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "c0ffee"}
	for _, tt := range []struct {
		name, version, commit string
		info                  *debug.BuildInfo
		want                  string
	}{
		{"release", "1.2.3", "abc", built("(devel)"), "relock 1.2.3\ncommit: abc\nbuild: go1.26.8 linux/arm64\n"},
		{"release outranks the checkout", "1.2.3", "abc", built("v9.9.9", revision), "relock 1.2.3\ncommit: abc\nbuild: go1.26.8 linux/arm64\n"},
		{"go install", "", "", built("v1.2.3"), "relock 1.2.3\ncommit: unknown\nbuild: go1.26.8 linux/arm64\n"},
		{"go build in a checkout", "", "", built("(devel)", revision), "relock dev\ncommit: c0ffee\nbuild: go1.26.8 linux/arm64\n"},
		{"changed checkout", "", "", built("v0.0.0-2026+dirty", revision, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "relock 0.0.0-2026+dirty\ncommit: c0ffee (and changes)\nbuild: go1.26.8 linux/arm64\n"},
		{"nothing", "", "", nil, "relock dev\ncommit: unknown\nbuild: unknown\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Stamp(tt.version, tt.commit, tt.info).String(); got != tt.want {
				t.Errorf("Stamp gives\n%swant\n%s", got, tt.want)
			}
		})
	}
}
