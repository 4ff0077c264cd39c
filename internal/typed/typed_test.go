package typed

import (
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"scan", "check", "upgrade", "lock", "config", "comment", "completion"}
	for word, want := range map[string]string{
		"chek": "check", "up": "upgrade", "upgarde": "upgrade", "CHECK": "check", "co": "", "conf": "config", "x": "", "": "",
		"everything": "", "scna": "scan",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestNoCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"hash-unkown": "did you mean hash-unknown?",
		"odd":         `there is no code "odd"`,
	} {
		if got := NoCode(problem.Code(code)).Error(); !strings.HasSuffix(got, want) {
			t.Errorf("NoCode(%q) = %q, want the end %q", code, got, want)
		}
	}
}

func TestKnownPlatform(t *testing.T) {
	t.Parallel()
	for _, p := range slices.Concat(provider.DefaultPlatforms, []provider.Platform{{OS: "linux", Arch: "s390x"}, {OS: "darwin", Arch: "386"}, {OS: "windows", Arch: "arm"}}) {
		if got, err := KnownPlatform(p.String()); err != nil || got != p {
			t.Errorf("KnownPlatform(%s) = %v, %v; want it as it is", p, got, err)
		}
	}
	for s, want := range map[string]string{
		"darwn_arm64":   "darwin_arm64",
		"linux_amd_64":  "linux_amd64",
		"linux/amd64":   "linux_amd64",
		"linux-x86_64":  "linux_amd64",
		"macos_aarch64": "darwin_arm64",
		"Windows_X64":   "windows_amd64",
		"solaris":       "solaris_amd64",
		"ios_arm64":     "",
		"js_wasm":       "",
		"made_up":       "",
		"linux":         "",
		"":              "",
	} {
		_, err := KnownPlatform(s)
		if near := NearPlatform(s); err == nil || near != want || want != "" && !strings.HasSuffix(err.Error(), "did you mean "+want+"?") {
			t.Errorf("KnownPlatform(%q) has the error %v and NearPlatform is %q; want an error and %q", s, err, near, want)
		}
	}
}
