package provider

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/agext/levenshtein"
)

// Pattern selects providers: [HOST/]NAMESPACE/TYPE with shell wildcards in
// each part. Without a host it matches on every host; a bare TYPE matches in
// every namespace.
type Pattern struct{ host, namespace, typ string } // empty means not given

// ParsePattern reads a pattern. It fails on more than three parts, an empty
// part or an unclosed bracket.
func ParsePattern(s string) (Pattern, error) {
	parts := strings.Split(s, "/")
	for _, p := range parts {
		if _, err := path.Match(p, ""); err != nil || p == "" || len(parts) > 3 {
			return Pattern{}, fmt.Errorf("invalid provider pattern %q: it must be like hashicorp/aws or */aws", s)
		}
	}
	parts = append([]string{"", ""}, parts...)
	last := len(parts) - 1
	return Pattern{host: parts[last-2], namespace: parts[last-1], typ: parts[last]}, nil
}

// Match reports whether the pattern selects the provider.
func (p Pattern) Match(a Addr) bool {
	return match(p.host, a.Host.ForDisplay()) && match(p.namespace, a.Namespace) && match(p.typ, a.Type)
}

func match(pattern, s string) bool {
	if pattern == "" {
		return true
	}
	ok, _ := path.Match(strings.ToLower(pattern), s) // checked by ParsePattern
	return ok
}

// String returns the pattern with all its parts.
func (p Pattern) String() string {
	return cmp.Or(p.host, "*") + "/" + cmp.Or(p.namespace, "*") + "/" + p.typ
}

// Given returns the pattern with the parts that it was written with.
func (p Pattern) Given() string {
	return strings.TrimLeft(p.host+"/"+p.namespace+"/"+p.typ, "/")
}

// MarshalText implements encoding.TextMarshaler with Given's form.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.Given()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParsePattern.
func (p *Pattern) UnmarshalText(text []byte) error {
	parsed, err := ParsePattern(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// Literal reports whether the pattern has no wildcards. Then its author means one
// provider, which should exist.
func (p Pattern) Literal() bool { return !strings.ContainsAny(p.Given(), `*?[\`) }

// NamesHost reports whether the pattern limits the host; a wildcard alone does
// not.
func (p Pattern) NamesHost() bool { return strings.Trim(p.host, "*?") != "" }

// Slips is the number of different letters up to which a name counts as a
// misspelling of another. Two swapped letters count as two.
func Slips(name string) int {
	switch n := len(name); {
	case n < 4:
		return 1
	case n < 10:
		return 2
	}
	return 3
}

// Near returns the provider that a pattern without a match probably means: one of
// the same type, or one whose name differs in a few letters. ok is false if there
// is none.
func (p Pattern) Near(there []Addr) (near Addr, ok bool) {
	typed := strings.Trim(p.typ, "*?") != ""
	meant := p.typ
	if !typed { // the pattern is for every provider of a namespace
		meant = p.namespace
	}
	least := Slips(meant) + 1
	for _, a := range there {
		d := differs(p.host, a.Host.ForDisplay()) + differs(p.namespace, a.Namespace) + differs(p.typ, a.Type)
		if typed && match(p.typ, a.Type) {
			d = min(d, 1)
		}
		if d < least && d < len(meant) {
			near, least, ok = a, d, true
		}
	}
	return near, ok
}

// differs is the number of letters in which a part of a pattern differs from a
// name. A part with wildcards that does not match differs in all letters.
func differs(part, name string) int {
	switch {
	case match(part, name):
		return 0
	case strings.ContainsAny(part, `*?[\`):
		return len(part) + len(name)
	}
	return levenshtein.Distance(strings.ToLower(part), strings.ToLower(name), nil)
}

// ReleasePattern selects one version of the providers that a pattern selects.
type ReleasePattern struct {
	Provider Pattern
	Version  Version
}

// ParseReleasePattern reads PATTERN@VERSION, like hashicorp/aws@5.31.0.
func ParseReleasePattern(s string) (ReleasePattern, error) {
	name, text, ok := strings.Cut(s, "@")
	if !ok {
		return ReleasePattern{}, fmt.Errorf("invalid release %q: it must be like hashicorp/aws@5.31.0", s)
	}
	p, err := ParsePattern(name)
	if err != nil {
		return ReleasePattern{}, err
	}
	v, err := ParseVersion(text)
	return ReleasePattern{p, v}, err
}

// Match reports whether the pattern selects the release. Build metadata counts.
func (r ReleasePattern) Match(a Addr, v Version) bool {
	return r.Version == v && r.Provider.Match(a)
}

// Pattern selects this provider only.
func (a Addr) Pattern() Pattern { return Pattern{a.Host.ForDisplay(), a.Namespace, a.Type} }
