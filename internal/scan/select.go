package scan

import (
	"regexp"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/provider"
)

// SelectModule selects the version of a registry module as the tools do. They select providers
// differently: here go-version alone decides, so that "~> 1" has no upper bound. Listed
// texts that it cannot parse are skipped. Of equal versions the first in the list wins.
// chosen has the list's spelling, and is empty if no version is allowed. newest is the
// version that would be chosen without a constraint [cases 115, 117, 119, 227] [terraform
// 1.11 internal/initwd/module_install.go].
func SelectModule(listed []string, allowed goversion.Constraints, tool provider.Tool) (chosen, newest string) {
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

// asksForPrerelease reports whether a constraint asks for a prerelease. The tools parse it
// a second time for that, with another grammar: its terms are separated by spaces and not
// by commas, and nothing may be between an operator and a number. Only an exact version is
// valid in both grammars and allows a prerelease [terraform 1.11
// internal/initwd/module_install.go].
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
