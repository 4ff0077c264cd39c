package outline

import (
	"cmp"
	"strings"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// ModuleRow is what happens to a locked module.
type ModuleRow struct {
	Name, From, To, Move, Kind safe.Markdown
	Detail                     safe.Markdown // of the repository that a registry names
	Tone                       Tone
	Dirs                       []string // the root modules
}

// moduleKinds are the words and tones of changes of locked modules, the most important
// first.
var moduleKinds = []struct {
	kind modulelock.Kind
	word safe.Markdown
	tone Tone
}{
	{modulelock.Moved, safe.Const("other content"), ToneBad},
	{modulelock.Repackaged, safe.Const("other repository"), ToneBad},
	{modulelock.Updated, safe.Const("updated"), ToneGood},
	{modulelock.Removed, safe.Const("removed"), ToneNone},
	{modulelock.Added, safe.Const("added"), ToneGood},
}

// ModuleRows are the changes of locked modules in root modules, the most important first.
// Those that several root modules share are there once.
func ModuleRows(r report.Report, modules ...report.Module) []ModuleRow {
	var order []modulelock.Change
	dirs := map[modulelock.Change][]string{}
	for _, m := range modules {
		for _, c := range m.LockedModules {
			if dirs[c] == nil {
				order = append(order, c)
			}
			dirs[c] = append(dirs[c], r.Title(m))
		}
	}
	var rows []ModuleRow
	for _, k := range moduleKinds {
		for _, c := range order {
			if c.Kind == k.kind {
				row := moduleRow(c)
				row.Kind, row.Tone, row.Dirs = k.word, k.tone, dirs[c]
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func moduleRow(c modulelock.Change) ModuleRow {
	row := ModuleRow{Name: safe.Code(moduleaddr.Shown(c.Address))}
	if c.HashFrom != "" {
		row.From = lockedAs(c.From, c.HashFrom)
	}
	if c.Hash != "" {
		row.To = lockedAs(c.To, c.Hash)
	}
	row.Move = cmp.Or(row.To, row.From)
	if !row.From.Empty() && !row.To.Empty() && row.From != row.To {
		row.Move = safe.Join(" ", row.From, safe.Arrow, row.To)
	}
	if c.PackageFrom != c.Package && c.HashFrom != "" && c.Hash != "" {
		from, to := safe.Code(moduleaddr.Shown(c.PackageFrom)), safe.Code(moduleaddr.Shown(c.Package))
		switch {
		case c.PackageFrom == "":
			row.Detail = safe.Format("now the repository %s", to)
		case c.Package == "":
			row.Detail = safe.Format("no longer the repository %s", from)
		default:
			row.Detail = safe.Format("the repository %s instead of %s", to, from)
		}
	}
	return row
}

// lockedAs is a version or ref, and the beginning of the hash.
func lockedAs(version, hash string) safe.Markdown {
	scheme, sum, _ := strings.Cut(hash, ":")
	sum = strings.TrimPrefix(sum, "sha256:")
	short := safe.Text(sum[:min(len(sum), 7)])
	if scheme != "git" {
		short = safe.Format("%s:%s", safe.Text(scheme), short)
	}
	if version == "" {
		return short
	}
	return safe.Format("%s (%s)", safe.Text(version), short)
}
