package outline

import (
	"cmp"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// mostColumns is the highest number of providers in the matrix of versions. The
// matrix has the most used ones; the list below it has all.
const mostColumns = 40

// VersionTable shows which root module uses which version of a provider. It also
// shows how far each version is behind the newest known release.
type VersionTable struct {
	Columns   []string // names of providers
	More      int      // providers without a column
	Rows      []versionRow
	Providers []versionSum
}

// versionRow is a root module, with a cell for each column.
type versionRow struct {
	Dir, Tool string
	Cells     []versionCell
}

// versionCell is a version in use; empty if the root module does not use the
// provider.
type versionCell struct {
	Version string
	Behind  provider.Bump
}

// versionSum sums up one provider over all root modules.
type versionSum struct {
	Name, Newest safe.Markdown
	Used         []safe.Markdown // versions, newest first, each with how often
	Lag          Chart
	Held         []safe.Markdown
}

// VersionsOf collects the versions in use after the run. A diff has none: it
// compares two states of one file.
func VersionsOf(r report.Report, d Vocabulary) VersionTable {
	newest, uses := newestKnown(r), report.Versions(r)
	if len(uses) == 0 {
		return VersionTable{}
	}
	roots := func(s report.VersionSkew) int {
		return collect.Sum(s.Versions, func(u report.VersionUse) int { return len(u.Dirs) })
	}
	byUse := slices.SortedStableFunc(slices.Values(uses), func(a, b report.VersionSkew) int { return roots(b) - roots(a) })
	columns := collect.Mapped(byUse[:min(len(byUse), mostColumns)], func(s report.VersionSkew) provider.Addr { return s.Addr })
	t := VersionTable{More: len(uses) - len(columns), Columns: collect.Mapped(columns, d.Called)}
	for _, m := range r.Modules {
		if len(m.InUse) > 0 {
			t.Rows = append(t.Rows, versionRow{Dir: r.Title(m), Tool: m.Tool.String(), Cells: cellsOf(m, columns, newest)})
		}
	}
	reasons := reasonsOf(r, d)
	t.Providers = collect.Mapped(uses, func(s report.VersionSkew) versionSum {
		return sumOf(d, s, newest[s.Addr], reasons[s.Addr].List)
	})
	return t
}

// newestKnown is the newest release of each provider that the run saw, in use or
// held.
func newestKnown(r report.Report) map[provider.Addr]provider.Version {
	newest := map[provider.Addr]provider.Version{}
	see := func(a provider.Addr, v provider.Version) {
		if known, ok := newest[a]; !ok || v.Compare(known) > 0 {
			newest[a] = v
		}
	}
	for _, m := range r.Modules {
		for _, u := range m.InUse {
			see(u.Addr, u.Version)
		}
		for _, k := range m.Held() {
			see(k.Addr, k.Held[0].Version)
		}
	}
	return newest
}

func cellsOf(m report.Module, columns []provider.Addr, newest map[provider.Addr]provider.Version) []versionCell {
	used := map[provider.Addr]provider.Version{}
	for _, u := range m.InUse {
		used[u.Addr] = u.Version
	}
	return collect.Mapped(columns, func(a provider.Addr) versionCell {
		v, ok := used[a]
		if !ok {
			return versionCell{}
		}
		return versionCell{safe.Plain(v.String()), provider.BumpBetween(v, newest[a])}
	})
}

// reasonsOf returns what blocks each provider, from all files.
func reasonsOf(r report.Report, d Vocabulary) map[provider.Addr]collect.Set[safe.Markdown] {
	all := map[provider.Addr]collect.Set[safe.Markdown]{}
	for _, m := range r.Modules {
		for _, k := range m.Held() {
			reasons := all[k.Addr]
			reasons.Add(d.heldBy(k).WithoutDetails())
			all[k.Addr] = reasons
		}
	}
	return all
}

// sumOf sums up a provider.
func sumOf(d Vocabulary, of report.VersionSkew, newest provider.Version, held []safe.Markdown) versionSum {
	s, behind := versionSum{Name: d.Name(of.Addr), Newest: d.Version(newest), Held: held}, map[provider.Bump]int{}
	for _, u := range of.Versions {
		s.Used = append(s.Used, safe.Format("%s in %s", d.Version(u.Version), safe.Count(len(u.Dirs), "root module", "root modules")))
		behind[provider.BumpBetween(u.Version, newest)] += len(u.Dirs)
	}
	s.Lag = Charted(
		ChartPart{Label: "at the newest", Class: "good", N: behind[provider.BumpNone]},
		ChartPart{Label: "a patch or prerelease behind", Class: "patch", N: behind[provider.BumpPatch] + behind[provider.BumpPrerelease]},
		ChartPart{Label: "a minor version behind", Class: "minor", N: behind[provider.BumpMinor]},
		ChartPart{Label: "a major version behind", Class: "major", N: behind[provider.BumpMajor]},
	)
	return s
}

// CoverageTable shows which platforms the entries cover, as far as the run
// looked.
type CoverageTable struct {
	Platforms []string
	Rows      []coverageRow
}

// coverageRow is a version of a provider, with a cell for each platform.
type coverageRow struct {
	Name, Version safe.Markdown
	Of            int // entries
	Cells         []coverageCell
}

// coverageCell counts the entries that cover a platform, and those whose release
// has no package for it.
type coverageCell struct{ Covered, Missing int }

// PlatformsCovered collects what the run knows of platforms.
func PlatformsCovered(r report.Report, d Vocabulary) CoverageTable {
	var entries collect.Groups[report.Use, report.Kept]
	var platforms collect.Set[provider.Platform]
	for _, m := range r.Modules {
		for _, k := range m.Facts() {
			if len(k.Coverage)+len(k.Missing) > 0 {
				entries.Add(report.Use{Addr: k.Addr, Version: k.Version}, k)
				platforms.Add(slices.Concat(k.Coverage, k.Missing)...)
			}
		}
	}
	slices.SortFunc(platforms.List, func(a, b provider.Platform) int { return cmp.Compare(a.String(), b.String()) })
	slices.SortFunc(entries.Keys, func(a, b report.Use) int { return cmp.Or(a.Addr.Compare(b.Addr), b.Version.Compare(a.Version)) })
	t := CoverageTable{Platforms: collect.Mapped(platforms.List, func(p provider.Platform) string { return safe.Plain(p.String()) })}
	for _, e := range entries.Keys {
		t.Rows = append(t.Rows, coverageRow{
			Name: d.Name(e.Addr), Version: d.Version(e.Version), Of: len(entries.Of[e]),
			Cells: collect.Mapped(platforms.List, func(p provider.Platform) coverageCell {
				return coverageCell{
					Covered: collect.CountIf(entries.Of[e], func(k report.Kept) bool { return slices.Contains(k.Coverage, p) }),
					Missing: collect.CountIf(entries.Of[e], func(k report.Kept) bool { return slices.Contains(k.Missing, p) }),
				}
			}),
		})
	}
	return t
}

// PageSigner is a signer, and the releases it signed.
type PageSigner struct {
	Name     safe.Markdown
	Releases []safe.Markdown
}

// SignersOf lists the known signers of the releases that the lock files have
// after the run. Signers of the fewest releases come first: those need a look.
func SignersOf(r report.Report, d Vocabulary) []PageSigner {
	var signed collect.Groups[safe.Markdown, safe.Markdown]
	for _, m := range r.Modules {
		for _, k := range m.Facts() {
			if name := d.signerCell(k.Signer); !name.Empty() {
				signed.Add(name, safe.Join(" ", d.Name(k.Addr), d.Version(k.Version)))
			}
		}
	}
	all := collect.Mapped(signed.Keys, func(name safe.Markdown) PageSigner {
		slices.SortFunc(signed.Of[name], bySpans)
		return PageSigner{name, slices.Compact(signed.Of[name])}
	})
	slices.SortStableFunc(all, func(a, b PageSigner) int {
		return cmp.Or(len(a.Releases)-len(b.Releases), bySpans(a.Name, b.Name))
	})
	return all
}

// bySpans compares texts; code sorts before words.
func bySpans(a, b safe.Markdown) int {
	return slices.CompareFunc(a.Spans(), b.Spans(), func(x, y safe.Span) int {
		switch {
		case x.Code == y.Code:
			return cmp.Compare(x.Text, y.Text)
		case x.Code:
			return -1
		}
		return 1
	})
}
