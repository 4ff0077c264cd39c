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

// account is what is known about the hashes of one release. Whether a hash of a
// lock file belongs to the release follows from it: nothing here asks anybody.
type account struct {
	// files are the lines of all verified checksum lists of the release, by zh.
	files map[provider.Hash]provider.ListedFile
	// archives are the zh that the lists give the packages for a platform. Several
	// platforms may have one archive in common.
	archives map[provider.Platform][]provider.Hash
	// contents are the h1 hashes of the files that are known, and by what.
	contents map[provider.Hash]Verdict
	// reported are h1 hashes that a source states and the tool takes
	// [opentofu 1.12 internal/getproviders/registry_client.go].
	reported map[provider.Hash]bool
	// mirrored are the hashes of a mirror's packages, where no registry may be
	// asked, and mirror is its name.
	mirrored map[provider.Hash]bool
	mirror   string
	// everyMirrored: every package that the mirror has was looked at.
	everyMirrored bool
	// unsigned: the tool takes the lists, and nobody has signed them
	// [opentofu 1.12 internal/getproviders/package_authentication.go].
	unsigned bool
	// served are the platforms that the registry says the release is for.
	served []provider.Platform
	// failures say of platforms why they could not be looked at. CodeNoPackage
	// is an answer and stands not here.
	failures map[provider.Platform]error
	// absent are platforms for which the registry has no package.
	absent map[provider.Platform]bool
	// everyList: each platform's own list is among those that files is made of.
	// Registries may have one for each.
	everyList bool
	// err is why no list at all could be had; nil if one could.
	err error
	// poor: some package was not looked at for want of what may be downloaded.
	poor bool
}

// judge decides about a hash of a scheme that the tools know. They compare
// strings, and so does it: a hash that is spelt in another way than they write
// it, such as a zh in capitals, explains nothing and is explained by nothing
// [case 91].
//
// A zh is decided by the checksum lists alone. An h1 is refuted only where every
// archive that the lists name, and every package that the registry serves, was
// hashed in both of its forms. Whether that is so, everything says.
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

// explanation is what proves a hash, the strongest first; empty if nothing does.
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

// everything says of each scheme whether all was looked at that could explain a
// hash. It is asked once for an entry: a lock file and a list may have a hundred
// thousand lines each.
func (a *account) everything() map[string]bool {
	looked, of := a.looked()
	return map[string]bool{
		provider.SchemeZH: a.everyList || a.everyMirrored, provider.SchemeH1: of > 0 && looked == of || a.everyMirrored,
	}
}

// looked counts the packages that were hashed, and those that there are: the
// archives of the lists, and the platforms that are served by an archive that no
// list which was seen names.
func (a *account) looked() (looked, of int) {
	for _, f := range a.files {
		if f.Platform == (provider.Platform{}) && !strings.HasSuffix(f.Name, ".zip") {
			continue // such as the manifest
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

// add joins what a listing says. What relock has computed of an archive stays
// known.
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

// mostPlatforms bounds the platforms of a release that are asked about. Real ones
// are made for less than half as many; a list may name anything.
const mostPlatforms = 100

// platforms are those that may have a package, those to be looked at first
// before the others: what the lock file covers, then the default list. all is
// false if there are more than anybody asks about.
func (a *account) platforms(covered []provider.Platform) (some []provider.Platform, all bool) {
	some = slices.AppendSeq(slices.Clone(a.served), maps.Keys(a.archives))
	slices.SortFunc(some, func(p, q provider.Platform) int {
		return cmp.Or(cmp.Compare(tier(p, covered), tier(q, covered)), p.Compare(q))
	})
	some = slices.Compact(some)
	return some[:min(len(some), mostPlatforms)], len(some) <= mostPlatforms
}

// tier orders platforms by when they are looked at.
func tier(p provider.Platform, covered []provider.Platform) int {
	switch {
	case slices.Contains(covered, p):
		return 0
	case slices.Contains(provider.DefaultPlatforms, p):
		return 1
	}
	return 2
}

// known reports whether the content of a platform's package is.
func (a *account) known(p provider.Platform) bool {
	return slices.ContainsFunc(a.archives[p], func(zh provider.Hash) bool { return a.files[zh].Sum.Computed() })
}

// replaced reports whether the release seems to have been replaced after it was
// locked: no recorded zh is in a list any more, and a list names a package that
// the entry knows nothing of. It is one finding then, not one for each hash.
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

// unlisted counts the recorded zh that are in no list, of those that a tool may have
// written. It is none as long as there may be a list that was not seen.
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

// fewFindings bounds the hashes of one entry that are named; the rest is counted.
const fewFindings = 100

// why says what kept an account from a decision, and with what error.
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
	}
	return ForUnreachable, cause
}

// longestHash is more than any that the tools write [terraform 1.11 internal/getproviders/hash.go].
const longestHash = 100

// shortened is a hash as a message shows it: people can write anything behind a
// scheme.
func shortened(h provider.Hash) string {
	if len(h) > longestHash {
		return fmt.Sprintf("%.*s…", longestHash, string(h))
	}
	return string(h)
}
