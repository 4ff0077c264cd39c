package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// account is the current knowledge about the hashes of one release. It decides whether a
// hash of a lock file belongs to the release. It sends no requests.
type account struct {
	// files are the lines of the release's verified checksum lists, by zh.
	files map[provider.Hash]provider.ListedFile
	// archives are the zh of the packages for a platform, from the lists. Several platforms
	// may share one archive.
	archives map[provider.Platform][]provider.Hash
	// contents are the h1 hashes of the known files, with the verdict that each one proves.
	contents map[provider.Hash]Verdict
	// reported are h1 hashes that a source states and that the tool accepts [opentofu 1.12
	// internal/getproviders/registry_client.go].
	reported map[provider.Hash]bool
	// mirrored are the hashes of a mirror's packages, if no registry may be asked. mirror
	// is the mirror's name.
	mirrored map[provider.Hash]bool
	mirror   string
	// everyMirrored says that relock has looked at every package of the mirror.
	everyMirrored bool
	// unsigned says that the tool accepts the lists although no key signed them [opentofu
	// 1.12 internal/getproviders/package_authentication.go].
	unsigned bool
	// served are the platforms of the release, according to the registry.
	served []provider.Platform
	// failures are the errors of platforms that could not be looked at. CodeNoPackage is an
	// answer, so it is not among them.
	failures map[provider.Platform]error
	// absent are platforms for which the registry has no package.
	absent map[provider.Platform]bool
	// everyList says that files has the own list of each platform. A registry may have one
	// list for each.
	everyList bool
	// err says why no list could be read; nil if one could.
	err error
	// poor says that some package was not looked at, because the allowance of downloads is
	// used up.
	poor bool
}

// judge decides about a hash of a scheme that the tools know. The tools compare strings,
// and so does judge. A hash with another spelling, such as a zh in capitals, neither
// explains nor is explained [case 91].
//
// Only checksum lists decide about a zh. An h1 is refuted only if relock has hashed every
// archive of the lists, and every package that the registry serves, in both forms.
// everything says whether that is so.
func (a *account) judge(h provider.Hash, everything map[string]bool) Verdict {
	explained := a.explanation(h)
	switch {
	case explained != "":
		return explained
	case a.err != nil:
		return Unproven
	case !h.WellFormed() || everything[h.Scheme()]:
		return Disproven
	}
	return Unproven
}

func (a *account) explains(h provider.Hash) bool { return a.explanation(h) != "" }

// explanation is the strongest proof of a hash, or empty.
func (a *account) explanation(h provider.Hash) Verdict {
	_, listed := a.files[h]
	known := a.contents[h]
	switch {
	case (listed || known != "") && a.unsigned:
		return Unsigned
	case listed:
		return ByList
	case known != "":
		return known
	case a.reported[h]:
		return ByReport
	case a.mirrored[h]:
		return ByMirror
	}
	return ""
}

// everything says for each scheme whether relock has looked at everything that could
// explain a hash. Call it once for an entry: a lock file and a list may have a hundred
// thousand lines each.
func (a *account) everything() map[string]bool {
	looked, of := a.looked()
	return map[string]bool{
		provider.SchemeZH: a.everyList || a.everyMirrored, provider.SchemeH1: of > 0 && looked == of || a.everyMirrored,
	}
}

// looked counts the hashed packages, and all packages. All packages are the archives of the
// lists, and one for each served platform whose archive no read list names.
func (a *account) looked() (looked, of int) {
	for _, f := range a.files {
		if f.Platform == (provider.Platform{}) && !strings.HasSuffix(f.Name, ".zip") {
			continue // for example, the manifest
		}
		of++
		if f.Sum.Computed() {
			looked++
		}
	}
	for _, p := range a.served {
		if len(a.archives[p]) == 0 && !a.absent[p] {
			of++
		}
	}
	return looked, of
}

// add adds a listing. Hashes that relock has computed stay known.
func (a *account) add(l provider.Listing) {
	for _, f := range l.Files {
		known := a.files[f.Sum.ZH]
		if f.Platform == (provider.Platform{}) {
			f.Platform = known.Platform
		}
		if !f.Sum.Computed() && known.Sum.Computed() {
			f.Sum, f.Fresh = known.Sum, known.Fresh
		}
		a.files[f.Sum.ZH] = f
		if of := a.archives[f.Platform]; f.Platform != (provider.Platform{}) && !slices.Contains(of, f.Sum.ZH) {
			a.archives[f.Platform] = append(of, f.Sum.ZH)
		}
		by := ByCache
		if f.Fresh {
			by = ByPackage
		}
		for _, h := range f.Sum.Contents() {
			a.contents[h] = by
		}
	}
	for _, h := range l.Reported {
		a.reported[h] = true
	}
	if m := l.Mirrored; m != nil {
		a.mirror = m.Mirror
		for _, h := range slices.Concat([]provider.Hash{m.Sum.H1, m.Sum.H1Zip, m.Sum.ZH}, m.Verified) {
			a.mirrored[h] = true
		}
	}
}

// mostPlatforms bounds the platforms of a release that relock asks about. Real releases
// have less than half as many, but a list may name any number.
const mostPlatforms = 100

// platforms are the platforms that may have a package. Those of the lock file come first,
// then the default list. all is false if there are more than mostPlatforms.
func (a *account) platforms(covered []provider.Platform) (some []provider.Platform, all bool) {
	some = slices.AppendSeq(slices.Clone(a.served), maps.Keys(a.archives))
	slices.SortFunc(some, func(p, q provider.Platform) int {
		return cmp.Or(cmp.Compare(tier(p, covered), tier(q, covered)), p.Compare(q))
	})
	some = slices.Compact(some)
	return some[:min(len(some), mostPlatforms)], len(some) <= mostPlatforms
}

// tier orders platforms: those with a lower number are looked at first.
func tier(p provider.Platform, covered []provider.Platform) int {
	switch {
	case slices.Contains(covered, p):
		return 0
	case slices.Contains(provider.DefaultPlatforms, p):
		return 1
	}
	return 2
}

// known reports whether the content of the platform's package is known.
func (a *account) known(p provider.Platform) bool {
	return slices.ContainsFunc(a.archives[p], func(zh provider.Hash) bool { return a.files[zh].Sum.Computed() })
}

// replaced reports whether the release was probably replaced after it was locked: no list
// has any recorded zh, and a list names a package that the entry does not know. It is then
// one finding, not one for each hash.
func (a *account) replaced(l lockfile.Lock) bool {
	unlisted, of := a.unlisted(l)
	if unlisted == 0 || unlisted < of {
		return false
	}
	recorded := map[provider.Hash]bool{}
	for _, h := range l.Hashes {
		recorded[h] = true
	}
	for _, f := range a.files {
		if f.Platform != (provider.Platform{}) && !recorded[f.Sum.ZH] && !slices.ContainsFunc(f.Sum.Contents(), func(h provider.Hash) bool { return recorded[h] }) {
			return true
		}
	}
	return false
}

// unlisted counts the well-formed recorded zh that are in no list, and all well-formed
// ones. The first number is 0 as long as relock may have missed a list.
func (a *account) unlisted(l lockfile.Lock) (unlisted, of int) {
	for _, h := range l.Hashes {
		if h.Scheme() != provider.SchemeZH || !h.WellFormed() {
			continue
		}
		of++
		if a.everyList && !a.explains(h) {
			unlisted++
		}
	}
	return unlisted, of
}

// fewFindings bounds the findings about hashes of one entry. The others are only counted.
const fewFindings = 100

// why says what prevented a decision, and with which error.
func (a *account) why() (reason Obstacle, cause error) {
	some, _ := a.platforms(nil)
	for _, p := range some {
		cause = a.failures[p]
		if cause != nil {
			break
		}
	}
	if cause == nil {
		cause = a.err
	}
	switch {
	case cause == nil && a.poor:
		return ForBudget, nil
	case problem.Coded(cause, problem.CodeUnauthorized):
		return ForUnauthorized, cause
	case problem.Coded(cause, problem.CodeCancelled):
		return ForInterrupt, nil
	}
	return ForUnreachable, cause
}

// longestHash is longer than any hash that the tools write [terraform 1.11
// internal/getproviders/hash.go].
const longestHash = 100

// shortened is a hash for a message. People can write any text after a scheme.
func shortened(h provider.Hash) string {
	if len(h) > longestHash {
		return fmt.Sprintf("%.*s…", longestHash, string(h))
	}
	return string(h)
}
