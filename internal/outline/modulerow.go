package outline

import (
	"cmp"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
)

// ModuleRow is what happens to a locked module.
type ModuleRow struct {
	Name, From, To, Move, Kind safe.Markdown
	Calls                      safe.Markdown // how many use the module, and the first place
	Detail                     safe.Markdown // of the repository that a registry names
	Compare                    string        // the URL of what differs; empty if unknown
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
	{modulelock.Switched, safe.Const("other entry"), ToneGood},
	{modulelock.Removed, safe.Const("removed"), ToneNone},
	{modulelock.Added, safe.Const("added"), ToneGood},
}

// ModuleRows are the changes of locked modules in root modules, the most important first.
// Those that several root modules share are there once.
func ModuleRows(r report.Report, modules ...report.Module) []ModuleRow {
	var dirs collect.Groups[modulelock.Change, string]
	var calls collect.Groups[modulelock.Change, safe.Markdown]
	for _, m := range modules {
		for _, c := range m.LockedModules {
			dirs.Add(c.Change, r.Title(m))
			calls.Add(c.Change, Vocabulary{Files: m.Names}.callsAt(c.Calls)...)
		}
	}
	var all []ModuleRow
	for _, k := range moduleKinds {
		for _, c := range dirs.Keys {
			if c.Kind != k.kind {
				continue
			}
			row := moduleRow(c)
			row.Kind, row.Tone, row.Calls, row.Dirs = k.word, k.tone, calledAt(calls.Of[c]), dirs.Of[c]
			all = append(all, row)
		}
	}
	return all
}

// item is the row as a sentence.
func (row ModuleRow) item() safe.Markdown {
	return safe.Format("module %s %s (%s)", row.Name, row.Move, row.Kind).AndMaybe(": %s", row.About())
}

// About has the calls and the details of a row.
func (row ModuleRow) About() safe.Markdown { return safe.JoinSome("; ", row.Calls, row.Detail) }

// calledAt counts the calls of a module, and has the first place.
func calledAt(places []safe.Markdown) safe.Markdown {
	if len(places) < 2 {
		return safe.Join("", places...)
	}
	return safe.Format("%s, first at %s", safe.Count(len(places), "call", "calls"), places[0])
}

func moduleRow(c modulelock.Change) ModuleRow {
	row := ModuleRow{Name: safe.Code(moduleaddr.Shown(c.Address)), Compare: compareURL(c)}
	if c.HashFrom != "" {
		row.From = LockedAs(c.From, c.HashFrom)
	}
	if c.Hash != "" {
		row.To = LockedAs(c.To, c.Hash)
	}
	row.Move = moved(row.From, row.To)
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

// compareURL is GitHub's page about the difference of two commits of one repository; empty
// for other changes.
func compareURL(c modulelock.Change) string {
	from, wasGit := strings.CutPrefix(c.HashFrom, "git:")
	to, isGit := strings.CutPrefix(c.Hash, "git:")
	repository := moduleaddr.OnGitHub(cmp.Or(c.Package, c.Address))
	if !wasGit || !isGit || from == to || repository == "" || repository != moduleaddr.OnGitHub(cmp.Or(c.PackageFrom, c.Address)) {
		return ""
	}
	return "https://github.com/" + repository + "/compare/" + from + "..." + to
}

// unpinned says that nothing locks the remote modules of scanned root modules; empty if there
// are none, or if lock files do.
func unpinned(r report.Report) safe.Markdown {
	var all collect.Set[string]
	for _, m := range r.Modules {
		if m.Scan != nil && m.Scan.ModuleLock == nil {
			all.Add(scan.RemoteModules(*m.Scan)...)
		}
	}
	if len(all.List) == 0 || r.Verb != verbs.Scan {
		return safe.Markdown{}
	}
	return safe.Format("nothing locks %s: %s does", safe.Count(len(all.List), "remote module", "remote modules"), safe.Code("module-lock: write"))
}

// LockedAs is the version or ref of a locked module, and the beginning of its hash.
func LockedAs(version, hash string) safe.Markdown {
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
