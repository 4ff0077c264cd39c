package provider

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Platform is an operating system and a processor architecture, in Go's terms.
type Platform struct{ OS, Arch string }

// DefaultPlatforms are locked if neither the lock file nor a setting names
// platforms: the usual ones for development and deployment.
var DefaultPlatforms = []Platform{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"},
}

// KnownPlatforms are the platforms that providers are built for, sorted. They are
// the pairs of go tool dist list whose systems can start processes (not js,
// wasip1 and ios), and pairs of earlier releases of Go.
var KnownPlatforms = known(map[string]string{
	"aix":       "ppc64",
	"android":   "386 amd64 arm arm64",
	"darwin":    "386 amd64 arm64",
	"dragonfly": "amd64",
	"freebsd":   "386 amd64 arm arm64 riscv64",
	"illumos":   "amd64",
	"linux":     "386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x",
	"netbsd":    "386 amd64 arm arm64",
	"openbsd":   "386 amd64 arm arm64 mips64 ppc64 riscv64",
	"plan9":     "386 amd64 arm",
	"solaris":   "amd64",
	"windows":   "386 amd64 arm arm64",
})

func known(architectures map[string]string) []Platform {
	var platforms []Platform
	for os, list := range architectures {
		for _, arch := range strings.Fields(list) {
			platforms = append(platforms, Platform{os, arch})
		}
	}
	slices.SortFunc(platforms, Platform.Compare)
	return platforms
}

// Known reports whether providers are built for the platform. A registry may
// offer unknown platforms. A user may not ask for one: relock would look for its
// hashes for ever.
func (p Platform) Known() bool { return slices.Contains(KnownPlatforms, p) }

// ParsePlatform reads OS_ARCH: two words around exactly one underscore, as
// providers lock does. It accepts any words.
func ParsePlatform(s string) (Platform, error) {
	os, arch, ok := strings.Cut(s, "_")
	if !ok || os == "" || arch == "" || strings.ContainsAny(arch, "_") || strings.ContainsAny(s, " \t\r\n/\\") {
		return Platform{}, fmt.Errorf("invalid platform %q: it must be like linux_amd64", s)
	}
	return Platform{OS: os, Arch: arch}, nil
}

// String returns OS_ARCH.
func (p Platform) String() string { return p.OS + "_" + p.Arch }

// Compare orders platforms by name.
func (p Platform) Compare(q Platform) int {
	return cmp.Or(strings.Compare(p.OS, q.OS), strings.Compare(p.Arch, q.Arch))
}

// MarshalText implements encoding.TextMarshaler with String's form.
func (p Platform) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
