package pr

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/provider"
)

func upgraded(t *testing.T, name, from, to string) diff.Change {
	t.Helper()
	addr, err := provider.ParseAddr(name, provider.Terraform)
	if err != nil {
		t.Fatal(err)
	}
	version := func(s string) provider.Version {
		v, err := provider.ParseVersion(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	return diff.Change{Addr: addr, Kind: diff.Upgraded, From: version(from), To: version(to)}
}

func TestWords(t *testing.T) {
	t.Parallel()
	aws, older, null := upgraded(t, "hashicorp/aws", "5.31.0", "5.34.0"), upgraded(t, "hashicorp/aws", "5.30.0", "5.34.0"), upgraded(t, "hashicorp/null", "3.2.2", "3.2.4")
	tests := []struct {
		name    string
		changed []Changed
		want    map[string]string
	}{
		{"one provider in one directory", []Changed{{"prod", []diff.Change{aws}}}, map[string]string{
			"changes":  "Bump hashicorp/aws from 5.31.0 to 5.34.0 in prod",
			"provider": "hashicorp/aws", "from": "5.31.0", "to": "5.34.0", "directories": "prod",
		}},
		{"from several versions", []Changed{{"prod", []diff.Change{aws}}, {"stage", []diff.Change{older}}}, map[string]string{
			"changes":  "Bump hashicorp/aws to 5.34.0 in 2 directories",
			"provider": "hashicorp/aws", "from": "", "to": "5.34.0", "directories": "2 directories",
		}},
		{"several providers", []Changed{{"prod", []diff.Change{aws, null}}}, map[string]string{
			"changes":  "Bump 2 providers in prod",
			"provider": "2 providers", "from": "", "to": "", "directories": "prod",
		}},
	}
	tofu := aws
	tofu.Addr.Host = provider.OpenTofu.DefaultHost()
	tests = append(tests, struct {
		name    string
		changed []Changed
		want    map[string]string
	}{"the same provider of two registries", []Changed{{"prod", []diff.Change{aws, tofu}}}, map[string]string{
		"changes":  "Bump 2 providers in prod",
		"provider": "2 providers", "from": "5.31.0", "to": "5.34.0", "directories": "prod",
	}})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Words(tt.changed)); diff != "" {
				t.Errorf("Words (-want +got):\n%s", diff)
			}
		})
	}
}

func TestShortened(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]string{
		"short":                           "short",
		strings.Repeat("é", MaxSubject):   strings.Repeat("é", MaxSubject),
		strings.Repeat("word ", 20):       strings.Repeat("word ", 14)[:69] + "…",
		strings.Repeat("x", MaxSubject+1): strings.Repeat("x", MaxSubject-1) + "…",
	} {
		if got := Shortened(subject); got != want {
			t.Errorf("Shortened(%q) = %q, want %q", subject, got, want)
		}
	}
}

func TestConventional(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		subjects []string
		want     string
	}{
		{"no commits", nil, ""},
		{"plain subjects", []string{"Add a module", "Fix it", "feat: one"}, ""},
		{"as many as not", []string{"Add a module", "feat: one"}, ""},
		{"conventional subjects", []string{"feat(vpc): add", "fix!: mend", "Release"}, "chore(deps): "},
		{"as commits about dependencies are", []string{"feat: a", "build(deps): bump x", "build(deps): bump y", "chore(deps): z"}, "build(deps): "},
		{"something like it", []string{"Note: this", "wip: that", "feat a: b"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := conventional(tt.subjects); got != tt.want {
				t.Errorf("conventional(%q) = %q, want %q", tt.subjects, got, tt.want)
			}
		})
	}
}

func TestIgnoreOver(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	for until, want := range map[string]bool{"": false, "2027-02-01": false, "2027-01-31": true, "2020-01-01": true, "soon": true} {
		if got := (Ignore{Until: until}).Over(now); got != want {
			t.Errorf("Ignore{Until: %q}.Over = %t, want %t", until, got, want)
		}
	}
}
