package provider

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestParsePlatform(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Platform{
		"linux_amd64": {"linux", "amd64"},
		"made_up":     {"made", "up"},
		"Linux_X64":   {"Linux", "X64"},
	} {
		got, err := ParsePlatform(s)
		if err != nil || got != want || got.String() != s {
			t.Errorf("ParsePlatform(%q) = %+v, %v; want %+v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "linux", "_", "linux_", "_amd64", "linux_amd64_v2", "linux amd64", "linux_ amd64", "linux/amd64", "../x_y"} {
		if got, err := ParsePlatform(s); err == nil {
			t.Errorf("ParsePlatform(%q) = %+v, want an error", s, got)
		}
	}
}

// TestKnownPlatformsAreThoseOfGo holds the list to the toolchain's, so that a new
// port is not forgotten.
func TestKnownPlatformsAreThoseOfGo(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Skipf("go tool dist list: %v", err)
	}
	for pair := range strings.Lines(string(out)) {
		os, arch, _ := strings.Cut(strings.TrimSpace(pair), "/")
		cannot := slices.Contains([]string{"js", "wasip1", "ios"}, os)
		if p := (Platform{os, arch}); p.Known() == cannot {
			t.Errorf("%s is known: %v, want %v", p, p.Known(), !cannot)
		}
	}
}

func TestPlatformText(t *testing.T) {
	t.Parallel()
	if text, err := (Platform{"darwin", "arm64"}).MarshalText(); err != nil || string(text) != "darwin_arm64" {
		t.Errorf("MarshalText = %q, %v; want darwin_arm64", text, err)
	}
}

func TestDefaultPlatformsAreSorted(t *testing.T) {
	t.Parallel()
	if len(DefaultPlatforms) != 5 || !slices.IsSortedFunc(DefaultPlatforms, Platform.Compare) {
		t.Errorf("DefaultPlatforms = %v, want five in order", DefaultPlatforms)
	}
}
