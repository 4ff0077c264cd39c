package versionfile

import (
	"regexp"
	"slices"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Pin is a version file's statement about the release of a tool.
type Pin struct {
	Tool provider.ToolName `json:"-"` // empty: Terragrunt
	// Text is the value as the file has it. A value that is too long to be a release is
	// cut.
	Text          string `json:"text"`
	problem.Place        // in JSON, its keys are on the level of text
	// Kind is what the value means; empty for Terragrunt.
	Kind Kind `json:"pins,omitempty"`
	// Exact is the release of a pin of the kind Exact. Constraint is the constraint of a
	// pin of the kind Some, unless it has a pattern.
	Exact      provider.Version `json:"-"`
	Constraint string           `json:"-"`

	pattern *regexp.Regexp
	matched []provider.Version // the last release of each minor version that the pattern finds
}

// Kind is what a value in a version file means.
type Kind string

// The kinds.
const (
	Exact      Kind = "exact"   // one release
	Some       Kind = "some"    // the newest of some releases
	Allowed    Kind = "allowed" // the newest that required_version allows
	Oldest     Kind = "oldest"  // the oldest that required_version allows
	Unresolved Kind = "none"    // no release that is known without a list of all releases
)

// maxValue bounds the bytes of a value. No release, constraint or pattern that people
// write comes near.
const maxValue = 200

// byPrefix matches one number or two, which select all releases that begin with them.
var byPrefix = regexp.MustCompile(`^(?:prefix:)?v?([0-9]{1,9})(\.[0-9]{1,9})?$`)

// newPin reads a value. Prefixes are from mise, constraints from tenv, words and patterns
// from tfenv and tenv [docs: mise.jdx.dev/configuration.html, tofuutils.github.io/tenv,
// github.com/tfutils/tfenv].
func newPin(tool provider.ToolName, text string) Pin {
	p := Pin{Tool: tool, Text: text, Kind: Unresolved}
	if tool == "" {
		p.Kind = ""
	}
	if len(text) > maxValue {
		p.Text = strings.ToValidUTF8(text[:maxValue], "") + "…"
		return p
	}
	pattern, isPattern := strings.CutPrefix(text, "latest:")
	prefix := byPrefix.FindStringSubmatch(text)
	switch {
	case tool == "":
	case text == "latest-allowed":
		p.Kind = Allowed
	case text == "min-required":
		p.Kind = Oldest
	case isPattern:
		return p.matching(pattern)
	case prefix != nil:
		p.Kind, p.Constraint = Some, "~> "+prefix[1]+prefix[2]+".0"
	case text != "" && strings.ContainsAny(text[:1], "=!<>~"):
		terms, err := goversion.NewConstraint(text)
		if err == nil && !slices.ContainsFunc(terms, (*goversion.Constraint).Prerelease) {
			p.Kind, p.Constraint = Some, text
		}
	case strings.Count(text, ".") >= 2:
		if v, err := provider.ParseVersion(strings.TrimPrefix(text, "v")); err == nil {
			p.Kind, p.Exact = Exact, v
		}
	}
	return p
}

// matching is the pin with a regular expression, if that finds a known release. It refuses
// counted repetitions. A few characters of them can make a program of a hundred megabytes,
// and no release needs one.
func (p Pin) matching(pattern string) Pin {
	if strings.Contains(pattern, "{") {
		return p
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return p
	}
	for _, v := range p.Tool.Lasts() {
		for v.Patch >= 0 && !re.MatchString(v.String()) {
			v.Patch--
		}
		if v.Patch >= 0 {
			p.matched = append(p.matched, v)
		}
	}
	if len(p.matched) > 0 {
		p.Kind, p.pattern = Some, re
	}
	return p
}

// Pinless is the pin changed to one without a known release, as if its value had no
// meaning.
func (p Pin) Pinless() Pin {
	return Pin{Tool: p.Tool, Text: p.Text, Place: p.Place, Kind: Unresolved}
}

// Candidates are the releases of a tool that a choice must compare: those with other rules,
// and those that the pin treats in another way. The pin may be nil.
func (p *Pin) Candidates(tool provider.ToolName) []provider.Version {
	all := append(tool.Boundaries(), tool.Lasts()...)
	switch {
	case p == nil:
	case p.pattern != nil:
		return slices.Clone(p.matched)
	case p.Kind == Oldest:
		for _, v := range tool.Lasts() {
			all = append(all, provider.Version{Major: v.Major, Minor: v.Minor})
		}
	}
	return all
}

// Admits reports whether the pattern of a pin matches a release. Without a pattern it is
// true. The pin may be nil.
func (p *Pin) Admits(v provider.Version) bool {
	return p == nil || p.pattern == nil || p.pattern.MatchString(v.String())
}
