package provider

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	goversion "github.com/hashicorp/go-version"
)

// Version is the version of a provider or of a tool. Versions are comparable with
// ==, which is exact: build metadata counts. The zero value is 0.0.0, which the
// tools never select [case 82].
type Version struct {
	Major, Minor, Patch int64
	Prerelease          string // without the hyphen
	Metadata            string // without the plus
}

// versionForm is the accepted grammar, narrower than go-version's: one to three
// numbers, no "v", identifiers of letters, digits and hyphens. A hyphen may be
// there without a prerelease ("1.10.0-" is 1.10.0), unless metadata follows.
// Terraform reads a provider's constraints with two libraries, go-version and
// then go-versions. This is the grammar that both accept [terraform 1.11
// internal/configs/version_constraint.go,
// internal/getproviders/providerreqs/version.go].
var versionForm = regexp.MustCompile(
	`^([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-|-(` + ids + `)(?:\+(` + ids + `))?|\+(` + ids + `))?$`)

const ids = `[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*`

// ParseVersion reads a version as the tools read a registry's versions: missing
// numbers are 0, leading zeros are dropped [cases 64b, 64c, 64f, 64k, 64m].
func ParseVersion(s string) (Version, error) {
	v, _, err := parseVersion(s)
	return v, err
}

// parseVersion also returns the number of given numbers.
func parseVersion(s string) (Version, int, error) {
	m := versionForm.FindStringSubmatch(s)
	if m == nil {
		return Version{}, 0, fmt.Errorf("invalid version %q: it must be like 1.2.3 or 1.2.3-beta.1", s)
	}
	parsed, err := goversion.NewVersion(strings.Join(compact(m[1:4]), "."))
	if err != nil {
		return Version{}, 0, fmt.Errorf("invalid version %q: %w", s, err)
	}
	numbers := parsed.Segments64()
	return Version{
		Major: numbers[0], Minor: numbers[1], Patch: numbers[2],
		Prerelease: m[4], Metadata: m[5] + m[6],
	}, len(compact(m[1:4])), nil
}

func compact(parts []string) []string {
	var given []string
	for _, p := range parts {
		if p != "" {
			given = append(given, p)
		}
	}
	return given
}

// String returns the canonical form, always with three numbers.
func (v Version) String() string {
	var b strings.Builder
	b.WriteString(strconv.FormatInt(v.Major, 10) + "." + strconv.FormatInt(v.Minor, 10) + "." + strconv.FormatInt(v.Patch, 10))
	if v.Prerelease != "" {
		b.WriteString("-" + v.Prerelease)
	}
	if v.Metadata != "" {
		b.WriteString("+" + v.Metadata)
	}
	return b.String()
}

// MarshalText implements encoding.TextMarshaler with String's form.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParseVersion.
func (v *Version) UnmarshalText(text []byte) (err error) {
	*v, err = ParseVersion(string(text))
	return err
}

// Core returns the version without prerelease and metadata.
func (v Version) Core() Version { return Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch} }

// IsZero reports whether v is 0.0.0. For a selected version this means none,
// since 0.0.0 is never selected. A release or an entry may have that version.
func (v Version) IsZero() bool { return v == Version{} }

// Compare is a total order: by Precedence, then by metadata.
func (v Version) Compare(w Version) int {
	return cmp.Or(v.Precedence(w), compareIDs(v.Metadata, w.Metadata, -1))
}

// Precedence orders versions as selection does, without build metadata. A
// prerelease comes before its release. Two prereleases compare part by part with
// the tools' own rule, not by Semantic Versioning: the string with fewer parts
// comes first, whatever the parts (so beta comes before alpha.1).
func (v Version) Precedence(w Version) int {
	return cmp.Or(
		cmp.Compare(v.Major, w.Major),
		cmp.Compare(v.Minor, w.Minor),
		cmp.Compare(v.Patch, w.Patch),
		compareIDs(v.Prerelease, w.Prerelease, +1),
	)
}

// compareIDs compares dot-separated identifiers. An empty string compares as
// whenEmpty against any other.
func compareIDs(a, b string, whenEmpty int) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return whenEmpty
	case b == "":
		return -whenEmpty
	}
	for {
		aPart, aRest, aMore := strings.Cut(a, ".")
		bPart, bRest, bMore := strings.Cut(b, ".")
		// The string that ends here comes first, before any content is compared.
		// This makes the rule differ from Semantic Versioning.
		if aMore != bMore {
			if bMore {
				return -1
			}
			return 1
		}
		if c := compareID(aPart, bPart); c != 0 || !aMore {
			return c
		}
		a, b = aRest, bRest
	}
}

// compareID puts numbers before words, and shorter numbers before longer ones. It
// compares numbers as text, since they may have leading zeros or exceed any
// integer.
func compareID(a, b string) int {
	an, bn := numeric(a), numeric(b)
	switch {
	case an && !bn:
		return -1
	case !an && bn:
		return 1
	case an:
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	}
	return strings.Compare(a, b)
}

func numeric(s string) bool { return strings.Trim(s, "0123456789") == "" }

// Bump is the number of the version that changes between two versions.
type Bump string

// The bumps, largest first. BumpPrerelease is a change after the numbers.
const (
	BumpMajor      Bump = "major"
	BumpMinor      Bump = "minor"
	BumpPatch      Bump = "patch"
	BumpPrerelease Bump = "prerelease"
	BumpCommit     Bump = "commit" // of a module: another commit of a branch
	BumpNone       Bump = ""
)

// BumpBetween names the largest number that differs between two versions, in
// either direction.
func BumpBetween(from, to Version) Bump {
	switch {
	case from == to:
		return BumpNone
	case from.Major != to.Major:
		return BumpMajor
	case from.Minor != to.Minor:
		return BumpMinor
	case from.Patch != to.Patch:
		return BumpPatch
	}
	return BumpPrerelease
}
