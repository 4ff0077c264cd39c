package outline

import (
	"cmp"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
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
	if r.Verb == verbs.Diff {
		return VersionTable{}
	}
	newest, roots, used := newestKnown(r), map[provider.Addr]int{}, map[provider.Addr]map[provider.Version]int{}
	for _, m := range r.Modules {
		for _, u := range m.InUse {
			if used[u.Addr] == nil {
				used[u.Addr] = map[provider.Version]int{}
			}
			roots[u.Addr]++
			used[u.Addr][u.Version]++
		}
	}
	byUse := slices.SortedFunc(maps.Keys(roots), func(a, b provider.Addr) int { return cmp.Or(roots[b]-roots[a], a.Compare(b)) })
	columns := byUse[:min(len(byUse), mostColumns)]
	t := VersionTable{More: len(byUse) - len(columns), Columns: collect.Mapped(columns, d.Called)}
	for _, m := range r.Modules {
		if len(m.InUse) > 0 {
			t.Rows = append(t.Rows, versionRow{Dir: r.Title(m), Tool: m.Tool.String(), Cells: cellsOf(m, columns, newest)})
		}
	}
	slices.SortFunc(byUse, provider.Addr.Compare)
	reasons := reasonsOf(r, d)
	for _, a := range byUse {
		t.Providers = append(t.Providers, sumOf(d, a, used[a], newest[a], reasons[a].List))
	}
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

// sumOf sums up a provider. times says how many root modules use each version.
func sumOf(d Vocabulary, a provider.Addr, times map[provider.Version]int, newest provider.Version, held []safe.Markdown) versionSum {
	s, behind := versionSum{Name: d.Name(a), Newest: d.Version(newest), Held: held}, map[provider.Bump]int{}
	for _, v := range slices.SortedFunc(maps.Keys(times), func(a, b provider.Version) int { return b.Compare(a) }) {
		s.Used = append(s.Used, safe.Format("%s in %s", d.Version(v), safe.Count(times[v], "root module", "root modules")))
		behind[provider.BumpBetween(v, newest)] += times[v]
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
	type entry struct {
		addr    provider.Addr
		version provider.Version
	}
	cells, of, platforms := map[entry]map[provider.Platform]coverageCell{}, map[entry]int{}, map[provider.Platform]bool{}
	for _, m := range r.Modules {
		for _, k := range m.Facts() {
			if len(k.Coverage)+len(k.Missing) == 0 {
				continue
			}
			e := entry{k.Addr, k.Version}
			of[e]++
			if cells[e] == nil {
				cells[e] = map[provider.Platform]coverageCell{}
			}
			for _, p := range k.Coverage {
				c := cells[e][p]
				c.Covered++
				cells[e][p], platforms[p] = c, true
			}
			for _, p := range k.Missing {
				c := cells[e][p]
				c.Missing++
				cells[e][p], platforms[p] = c, true
			}
		}
	}
	columns := slices.SortedFunc(maps.Keys(platforms), func(a, b provider.Platform) int { return cmp.Compare(a.String(), b.String()) })
	t := CoverageTable{Platforms: collect.Mapped(columns, func(p provider.Platform) string { return safe.Plain(p.String()) })}
	entries := slices.SortedFunc(maps.Keys(of), func(a, b entry) int { return cmp.Or(a.addr.Compare(b.addr), b.version.Compare(a.version)) })
	for _, e := range entries {
		t.Rows = append(t.Rows, coverageRow{
			Name: d.Name(e.addr), Version: d.Version(e.version), Of: of[e],
			Cells: collect.Mapped(columns, func(p provider.Platform) coverageCell { return cells[e][p] }),
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
	signed := map[safe.Markdown]*collect.Set[safe.Markdown]{}
	var names collect.Set[safe.Markdown]
	add := func(a provider.Addr, v provider.Version, s provider.Signer) {
		name := d.signerCell(s)
		if name.Empty() {
			return
		}
		if names.Add(name); signed[name] == nil {
			signed[name] = &collect.Set[safe.Markdown]{}
		}
		signed[name].Add(safe.Join(" ", d.Name(a), d.Version(v)))
	}
	for _, m := range r.Modules {
		for _, c := range m.Changes {
			if c.Kind != diff.Removed {
				add(c.Addr, c.To, c.Signer)
			}
		}
		for _, k := range m.Kept {
			add(k.Addr, k.Version, k.Signer)
		}
	}
	all := collect.Mapped(names.List, func(name safe.Markdown) PageSigner {
		slices.SortFunc(signed[name].List, bySpans)
		return PageSigner{name, signed[name].List}
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
