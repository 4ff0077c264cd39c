package module

import (
	"regexp"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/provider"
)

// choose selects the version of a registry module as the tools do, which is not
// how they select providers: go-version alone decides, so that "~> 1" has no
// upper bound. Listed strings that it does not parse are passed over. Of equal
// versions the first listed wins. The chosen version is spelled as the registry
// is asked for it, and empty if none is allowed; newest is the one that would be
// chosen without constraint [cases 115, 117, 119, 227] [terraform 1.11 internal/initwd/module_install.go].
func choose(listed []string, allowed goversion.Constraints, tool provider.Tool) (chosen, newest string) {
	var best, last *goversion.Version
	for _, text := range listed {
		v, err := goversion.NewVersion(text)
		if err != nil || v.Prerelease() != "" && !asksForPrerelease(v, allowed.String(), tool) {
			continue
		}
		if last == nil || v.GreaterThan(last) {
			last = v
		}
		if allowed.Check(v) && (best == nil || v.GreaterThan(best)) {
			best = v
		}
	}
	if best != nil {
		chosen = best.String()
	}
	if last != nil {
		newest = last.String()
	}
	return chosen, newest
}

// asksForPrerelease reports whether a constraint asks for a prerelease. The tools read it
// a second time for that, by a grammar where terms stand side by side and not
// with commas, and where nothing may be between an operator and a number.
// What both grammars read and what admits a prerelease is an exact version alone
// [terraform 1.11 internal/initwd/module_install.go].
func asksForPrerelease(v *goversion.Version, constraint string, tool provider.Tool) bool {
	exact, err := exactVersion(constraint)
	if err != nil && tool.Has(provider.PrefixedPrereleases) {
		exact, err = exactVersion(versionText.ReplaceAllStringFunc(constraint, func(version string) string {
			return strings.TrimPrefix(version, "v")
		}))
	}
	if err != nil {
		return false
	}
	offered, err := provider.ParseVersion(v.String())
	return err == nil && offered == exact
}

func exactVersion(constraint string) (provider.Version, error) {
	return provider.ParseVersion(strings.TrimPrefix(strings.TrimSpace(constraint), "="))
}

var versionText = regexp.MustCompile(goversion.VersionRegexpRaw)
