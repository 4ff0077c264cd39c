package report

import (
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// spread is a provider of which root modules use different versions.
type spread struct {
	addr     provider.Addr
	versions []usage // newest first, two at least
}

// usage is where one version is in use.
type usage struct {
	version provider.Version
	dirs    []string // in the report's order
}

// lagging are the root modules that do not use the newest version in use.
func (s spread) lagging() []string {
	var dirs []string
	for _, u := range s.versions[1:] {
		dirs = append(dirs, u.dirs...)
	}
	return dirs
}

// spreads lists the providers of which more than one version is in use, sorted
// by address. A diff has none: it is about two states of one file.
func (r Report) spreads() []spread {
	if r.Verb == VerbDiff {
		return nil
	}
	where := map[provider.Addr]map[provider.Version][]string{}
	for _, m := range r.Modules {
		for _, u := range m.InUse {
			if where[u.Addr] == nil {
				where[u.Addr] = map[provider.Version][]string{}
			}
			where[u.Addr][u.Version] = append(where[u.Addr][u.Version], r.title(m))
		}
	}
	var all []spread
	for _, addr := range slices.SortedFunc(maps.Keys(where), provider.Addr.Compare) {
		if len(where[addr]) < 2 {
			continue
		}
		s := spread{addr: addr}
		newestFirst := func(a, b provider.Version) int { return b.Compare(a) }
		for _, v := range slices.SortedFunc(maps.Keys(where[addr]), newestFirst) {
			s.versions = append(s.versions, usage{v, where[addr][v]})
		}
		all = append(all, s)
	}
	return all
}

// namedLagging is the number of root modules with an old version up to which
// they are named: whoever wants to bring them up must find them.
const namedLagging = 10

// where says in which root modules a version is: the newest in use needs no
// names, an older one does.
func (d dialect) where(u usage, newest bool) string {
	if newest {
		return "in " + d.dirs(u.dirs, 1)
	}
	return "in " + d.dirs(u.dirs, namedLagging)
}

// consistency is the section about versions in use.
func (r Report) consistency(d dialect) part {
	p := part{rank: 4, head: "### Versions in use\n\n", what: "provider"}
	for _, s := range r.spreads() {
		text := "- " + d.name(s.addr) + "\n"
		for i, u := range s.versions {
			text += "  - " + d.version(u.version) + " " + d.where(u, i == 0)
			if i > 0 {
				text += ", behind"
			}
			text += "\n"
		}
		p.items = append(p.items, text)
	}
	return p
}

// consistency writes which providers are in use in several versions.
func (t *text) consistency() {
	var rows []row
	for _, s := range t.r.spreads() {
		name := cell{t.d.name(s.addr), plain}
		for i, u := range s.versions {
			state := cell{"behind", yellow}
			if i == 0 {
				state = cell{"newest in use", dim}
			}
			rows = append(rows, row{[]cell{name, {t.d.version(u.version), plain}, state}, t.d.where(u, i == 0)})
			name = cell{}
		}
	}
	if len(rows) == 0 {
		return
	}
	t.WriteString(t.paint(bold, "Versions in use") + "\n")
	t.table(rows)
}

type spreadJSON struct {
	Provider string      `json:"provider"`
	Versions []usageJSON `json:"versions"`
	Lagging  []string    `json:"lagging"`
}

type usageJSON struct {
	Version     string   `json:"version"`
	Directories []string `json:"directories"`
}

func spreadOf(s spread) spreadJSON {
	return spreadJSON{
		Provider: s.addr.String(),
		Versions: list(s.versions, func(u usage) usageJSON { return usageJSON{u.version.String(), u.dirs} }),
		Lagging:  s.lagging(),
	}
}
