package provider

import (
	"fmt"
	"path"
	"strings"
)

// Pattern selects providers: [HOST/]NAMESPACE/TYPE with shell wildcards in
// each part. Without a host it matches on every host; a bare TYPE matches in
// every namespace.
type Pattern struct{ host, namespace, typ string }

// ParsePattern reads a pattern. It fails on more than three parts, an empty
// part or an unclosed bracket.
func ParsePattern(s string) (Pattern, error) {
	parts := strings.Split(s, "/")
	for _, p := range parts {
		if _, err := path.Match(p, ""); err != nil || p == "" || len(parts) > 3 {
			return Pattern{}, fmt.Errorf("invalid provider pattern %q: it must be like hashicorp/aws or */aws", s)
		}
	}
	parts = append([]string{"*", "*"}, parts...)
	last := len(parts) - 1
	return Pattern{host: parts[last-2], namespace: parts[last-1], typ: parts[last]}, nil
}

// Match reports whether the pattern selects the provider.
func (p Pattern) Match(a Addr) bool {
	return match(p.host, a.Host.ForDisplay()) && match(p.namespace, a.Namespace) && match(p.typ, a.Type)
}

func match(pattern, s string) bool {
	ok, _ := path.Match(strings.ToLower(pattern), s) // checked by ParsePattern
	return ok
}

// String returns the pattern with all its parts.
func (p Pattern) String() string { return p.host + "/" + p.namespace + "/" + p.typ }
