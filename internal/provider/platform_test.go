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

func TestParseKnownPlatform(t *testing.T) {
	t.Parallel()
	for _, p := range slices.Concat(DefaultPlatforms, []Platform{{"linux", "s390x"}, {"darwin", "386"}, {"windows", "arm"}}) {
		if got, err := ParseKnownPlatform(p.String()); err != nil || got != p {
			t.Errorf("ParseKnownPlatform(%s) = %v, %v; want it as it is", p, got, err)
		}
	}
	for s, want := range map[string]string{
		"darwn_arm64":   "darwin_arm64",
		"linux_amd_64":  "linux_amd64",
		"linux/amd64":   "linux_amd64",
		"linux-x86_64":  "linux_amd64",
		"macos_aarch64": "darwin_arm64",
		"Windows_X64":   "windows_amd64",
		"ios_arm64":     "",
		"js_wasm":       "",
		"made_up":       "",
		"linux":         "",
		"":              "",
	} {
		near, ok := NearPlatform(s)
		if _, err := ParseKnownPlatform(s); err == nil || ok != (want != "") || ok && near.String() != want {
			t.Errorf("ParseKnownPlatform(%q) has the error %v and NearPlatform says %v, %v; want an error and %q", s, err, near, ok, want)
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
	want := Platform{"darwin", "arm64"}
	text, err := want.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var got Platform
	if err := got.UnmarshalText(text); err != nil || got != want {
		t.Errorf("UnmarshalText(%q) = %v, %v; want %v", text, got, err, want)
	}
	if err := got.UnmarshalText([]byte("darwin")); err == nil || got != want {
		t.Errorf("UnmarshalText of half a platform: %v, error %v; want an error and the value unchanged", got, err)
	}
}

func TestDefaultPlatformsAreSorted(t *testing.T) {
	t.Parallel()
	if len(DefaultPlatforms) != 5 || !slices.IsSortedFunc(DefaultPlatforms, Platform.Compare) {
		t.Errorf("DefaultPlatforms = %v, want five in order", DefaultPlatforms)
	}
}
