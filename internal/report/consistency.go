package report

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
	p := part{rank: 4, share: 5, head: "### Versions in use\n\n", what: "provider"}
	for _, s := range spreadsOf(r) {
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
	for _, s := range spreadsOf(t.r) {
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
