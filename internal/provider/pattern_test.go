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
		if again, err := ParsePattern(p.String()); err != nil || again.String() != p.String() {
			t.Errorf("ParsePattern(%q) = %v, %v; want %v", p.String(), again, err, p)
		}
	}
}

func TestPatternThatMeansOneProvider(t *testing.T) {
	t.Parallel()
	for pattern, literal := range map[string]bool{
		"awss": true, "hashicorp/aws": true, "HashiCorp/awss": true, "bücher.example/acme/tol": true,
		"hashicrop/*": false, "*/awss": false, "*": false, "hashicorp/a?s": false, "hashicorp/[a]ws": false,
	} {
		p, err := ParsePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if p.Literal() != literal || p.Given() != pattern {
			t.Errorf("%q is given as %q and literal: %v, want %v", pattern, p.Given(), p.Literal(), literal)
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

func TestReleasePattern(t *testing.T) {
	t.Parallel()
	aws, err := ParseFullAddr("registry.terraform.io/hashicorp/aws")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		pattern, version string
		want             bool
	}{
		{"hashicorp/aws@5.31.0", "5.31.0", true},
		{"*/aws@5.31", "5.31.0", true},
		{"hashicorp/aws@5.31.0", "5.31.1", false},
		{"hashicorp/aws@5.31.0", "5.31.0+a", false},
		{"hashicorp/null@5.31.0", "5.31.0", false},
	}
	for _, tt := range tests {
		r, err := ParseReleasePattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		v, err := ParseVersion(tt.version)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Match(aws, v); got != tt.want {
			t.Errorf("%s matches %s: %v, want %v", tt.pattern, tt.version, got, tt.want)
		}
	}
	for _, s := range []string{"hashicorp/aws", "hashicorp/aws@latest", "@1.0.0", "a/b/c/d@1.0.0"} {
		if r, err := ParseReleasePattern(s); err == nil {
			t.Errorf("ParseReleasePattern(%q) = %v, want an error", s, r)
		}
	}
}
