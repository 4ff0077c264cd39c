package provider

import (
	"cmp"
	"fmt"
	"strings"
)

// Platform is an operating system and a processor architecture in Go's words.
type Platform struct{ OS, Arch string }

// DefaultPlatforms are locked where neither the lock nor a setting says which:
// those that people develop and deploy on.
var DefaultPlatforms = []Platform{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"},
}

// ParsePlatform reads OS_ARCH: two words around exactly one underscore, as
// providers lock does. The words are checked against no list.
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

// UnmarshalText implements encoding.TextUnmarshaler with ParsePlatform.
func (p *Platform) UnmarshalText(text []byte) error {
	parsed, err := ParsePlatform(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}
