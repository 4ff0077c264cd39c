package provider

import (
	"cmp"
	"fmt"
	"path"
	"strings"
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

// Literal reports whether the pattern has no wildcards. Then its author means one
// provider, which should exist.
func (p Pattern) Literal() bool { return !strings.ContainsAny(p.Given(), `*?[\`) }

// NamesHost reports whether the pattern limits the host; a wildcard alone does
// not.
func (p Pattern) NamesHost() bool { return strings.Trim(p.host, "*?") != "" }

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
