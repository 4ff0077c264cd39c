package provider

import "testing"

func TestPatternMatches(t *testing.T) {
	t.Parallel()
	const official, private = "registry.terraform.io/hashicorp/aws", "bücher.example:8443/acme/aws"
	for _, tt := range []struct {
		pattern           string
		official, private bool
	}{
		{"aws", true, true},
		{"AWS", true, true},
		{"*", true, true},
		{"hashicorp/aws", true, false},
		{"HashiCorp/*", true, false},
		{"*/aws", true, true},
		{"*/a[vw]s", true, true},
		{"acme/a?", false, false},
		{"registry.terraform.io/*/*", true, false},
		{"registry.*/*/aws", true, false},
		{"bücher.example:8443/acme/aws", false, true},
		{"bücher.example/acme/aws", false, false},
		{"hashicorp/awscc", false, false},
		{"*aws", true, true},
	} {
		p, err := ParsePattern(tt.pattern)
		if err != nil {
			t.Errorf("ParsePattern(%q): %v", tt.pattern, err)
			continue
		}
		if got := p.Match(addr(t, official)); got != tt.official {
			t.Errorf("%q matches %s: %v, want %v", tt.pattern, official, got, tt.official)
		}
		if got := p.Match(addr(t, private)); got != tt.private {
			t.Errorf("%q matches %s: %v, want %v", tt.pattern, private, got, tt.private)
		}
		if again, err := ParsePattern(p.String()); err != nil || again != p {
			t.Errorf("ParsePattern(%q) = %v, %v; want %v", p.String(), again, err, p)
		}
	}
}

func TestParsePatternRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "/", "hashicorp/", "/aws", "a//b", "a/b/c/d", "hashicorp/[aws", `hashicorp/aws\`} {
		if got, err := ParsePattern(s); err == nil {
			t.Errorf("ParsePattern(%q) = %q, want an error", s, got)
		}
	}
}
