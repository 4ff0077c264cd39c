package pr

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
)

// Changed is what changes in one root module.
type Changed struct {
	Dir     string
	Tool    provider.Tool
	Changes []diff.Change
	// Modules are those of the lock file of modules. LocksModules says that it is new.
	Modules      []modulelock.Change
	LocksModules bool
}

// loud are the kinds of change that a title names, with their verbs, the most important
// first. A provider counts for the first of its kinds.
var loud = []struct {
	kind diff.Kind
	verb string
}{
	{diff.Upgraded, "bump"},
	{diff.Downgraded, "downgrade"},
	{diff.Added, "add"},
	{diff.Removed, "remove"},
	{diff.Moved, "move"},
	{diff.ReReleased, "replace the hashes of re-released"},
}

// quiet are the kinds that a title names only if there is no loud one.
var quiet = []struct {
	kind diff.Kind
	text string
}{
	{diff.Completed, "Complete lock file hashes"},
	{diff.Signer, "Update lock file hashes"},
	{diff.Constrained, "Update lock file constraints"},
	{diff.Normalised, "Format lock files"},
}

// Describe writes the title of a proposal, and the message of its commit. Both say what
// changes. They follow the templates of the presentation, or else have our own words.
func (p *Proposal) Describe(changed []Changed) {
	values := templateValues(changed)
	values["group"], values["base"] = p.Group, p.Base
	titles, subjects := p.PullRequest.Title, p.CommitMessage
	p.Title, p.Subject, p.Summary, p.Styled = titleOf(changed), subjectOf(changed, ""), detailsOf(changed), nil
	if titles != "" {
		p.Title = titles.Execute(values)
	}
	if subjects != "" {
		p.Subject = cutSubject(subjects.Execute(values))
	} else if titles == "" {
		p.Styled = func(prefix string) string { return subjectOf(changed, prefix) }
	}
}

// Message returns the message of a commit with the changes, below a subject. If the subject
// is empty, Message writes one.
func Message(changed []Changed, subject string) string {
	return cutSubject(cmp.Or(subject, subjectOf(changed, ""))) + "\n\n" + detailsOf(changed)
}

// titleOf says in a few words what changes: "Bump hashicorp/aws from 5.31.0 to
// 5.34.0 in 3 root modules".
func titleOf(changed []Changed) string {
	headline, dirs := headlineOf(changed)
	return headline + inDirs(dirs)
}

// maxSubject is the longest subject of a commit, in characters. Tools cut longer ones.
const maxSubject = 72

// subjectOf is the title, cut to the length of a subject, after a prefix such as
// "chore(deps): ". After a prefix the title begins with a small letter.
func subjectOf(changed []Changed, prefix string) string {
	headline, dirs := headlineOf(changed)
	const least = "Update lock files"
	for _, s := range []string{headline + inDirs(dirs), headline, least + " in " + countedRoots(len(dirs)), least} {
		if prefix != "" {
			s = prefix + strings.ToLower(s[:1]) + s[1:]
		}
		if utf8.RuneCountInString(s) <= maxSubject {
			return s
		}
	}
	return least
}

// headlineOf returns the title without the directories, and the directories.
func headlineOf(changed []Changed) (string, []string) {
	if len(changed) > 0 && changed[0].LocksModules { // they have a pull request of their own
		return "Lock the modules of " + countedRoots(len(changed)), nil
	}
	clauses, dirs := clausesOf(changed)
	var parts []string
	for _, c := range clauses {
		parts = append(parts, c.verb+" "+c.providers())
	}
	if len(clauses) == 1 && len(clauses[0].names) == 1 {
		parts[0] += clauses[0].versions()
	}
	if modules, in := modulesIn(changed); len(modules) > 0 {
		parts, dirs = append(parts, "update "+collect.Count(len(modules), "module", "modules")), distinct(append(dirs, in...))
	}
	if len(parts) > 0 {
		text := enumerate(parts)
		return strings.ToUpper(text[:1]) + text[1:], dirs
	}
	for _, q := range quiet {
		if dirs := dirsWith(changed, q.kind); len(dirs) > 0 {
			return q.text, dirs
		}
	}
	return "Update lock files", nil
}

// modulesIn are the addresses of the locked modules that change, and the directories of the
// root modules in which they do.
func modulesIn(changed []Changed) (addresses, dirs []string) {
	for _, m := range changed {
		for _, c := range m.Modules {
			addresses, dirs = append(addresses, c.Address), append(dirs, m.Dir)
		}
	}
	return distinct(addresses), distinct(dirs)
}

// clause is the part of a title about all providers with one kind of change.
type clause struct {
	verb     string
	kind     diff.Kind
	names    []string // of the providers, as namesIn has them
	from, to []string // versions, distinct
}

// namesIn returns the name of each provider in a text about the changes. Two providers of
// the same type on different registries have different names.
func namesIn(changed []Changed) map[provider.Addr]string {
	var all provider.CallNames
	for _, m := range changed {
		for _, c := range m.Changes {
			all.Add(m.Tool, c.Addr)
		}
	}
	return all.Names()
}

// clausesOf sorts the providers with a loud change by kind.
func clausesOf(changed []Changed) (clauses []clause, dirs []string) {
	names, taken := namesIn(changed), make(map[string]bool)
	for _, l := range loud {
		c := clause{verb: l.verb, kind: l.kind}
		for _, m := range changed {
			for _, change := range m.Changes {
				name := names[change.Addr]
				if change.Kind != l.kind || taken[name] {
					continue
				}
				c.names = append(c.names, name)
				c.from = append(c.from, change.From.String())
				c.to = append(c.to, change.To.String())
			}
		}
		c.names, c.from, c.to = distinct(c.names), distinct(c.from), distinct(c.to)
		for _, name := range c.names {
			taken[name] = true
		}
		if len(c.names) > 0 {
			clauses = append(clauses, c)
		}
		dirs = append(dirs, dirsWith(changed, l.kind)...)
	}
	return clauses, distinct(dirs)
}

func distinct(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

func dirsWith(changed []Changed, kind diff.Kind) []string {
	var dirs []string
	for _, m := range changed {
		if slices.ContainsFunc(m.Changes, func(c diff.Change) bool { return c.Kind == kind }) {
			dirs = append(dirs, m.Dir)
		}
	}
	return distinct(dirs)
}

// providers names one provider, and counts several.
func (c clause) providers() string {
	if len(c.names) == 1 {
		return c.names[0]
	}
	return collect.Count(len(c.names), "provider", "providers")
}

// versions are those of the only provider, if they are the same everywhere.
func (c clause) versions() string {
	switch {
	case c.kind == diff.Removed || c.kind == diff.Moved || len(c.to) > 1:
		return ""
	case c.kind == diff.Added || c.kind == diff.ReReleased:
		return " " + c.to[0]
	case len(c.from) > 1:
		return " to " + c.to[0]
	}
	return " from " + c.from[0] + " to " + c.to[0]
}

// enumerate joins parts as in a sentence: "a, b and c".
func enumerate(parts []string) string {
	last := len(parts) - 1
	if last == 0 {
		return parts[0]
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// plainDir is a directory that can be in a title as it is.
var plainDir = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]{0,47}$`)

// inDirs returns the name of a single directory, the number of several, and nothing for the
// top of the repository.
func inDirs(dirs []string) string {
	switch {
	case len(dirs) == 0 || len(dirs) == 1 && dirs[0] == ".":
		return ""
	case len(dirs) == 1 && plainDir.MatchString(dirs[0]):
		return " in " + dirs[0]
	}
	return " in " + countedRoots(len(dirs))
}

// countedRoots counts root modules, by their directories.
func countedRoots(n int) string { return safe.Count(n, "root module", "root modules").Plain() }

// mostLines bounds the table of a commit message.
const mostLines = 50

// detailsOf is the table below the subject of a commit: the changes of each provider and
// locked module, and the number of its root modules.
func detailsOf(changed []Changed) string {
	type row struct{ provider, text string }
	names, dirs := namesIn(changed), make(map[row][]string)
	for _, m := range changed {
		for _, c := range m.Changes {
			r := row{names[c.Addr], whatOf(c)}
			dirs[r] = append(dirs[r], m.Dir)
		}
		for _, c := range m.Modules {
			r := row{oneLine(c.Address), oneLine(moduleWhat(c))}
			dirs[r] = append(dirs[r], m.Dir)
		}
	}
	rows := slices.SortedFunc(maps.Keys(dirs), func(a, b row) int {
		return cmp.Or(strings.Compare(a.provider, b.provider), strings.Compare(a.text, b.text))
	})
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows[:min(len(rows), mostLines)] {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.provider, r.text, countedRoots(len(distinct(dirs[r]))))
	}
	w.Flush() // a strings.Builder accepts everything
	if more := len(rows) - mostLines; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return b.String()
}

// moduleWhat says in a word or two what changes of a locked module.
func moduleWhat(c modulelock.Change) string {
	if c.Kind == modulelock.Updated {
		return c.From + " -> " + c.To
	}
	return strings.TrimSpace(cmp.Or(c.To, c.From) + " " + string(c.Kind))
}

// whatOf says in a word or two what changes of a provider.
func whatOf(c diff.Change) string {
	version := cmp.Or(c.To, c.From).String()
	if c.From != c.To && c.From != (provider.Version{}) && c.To != (provider.Version{}) {
		return c.From.String() + " -> " + c.To.String()
	}
	if c.Kind == diff.Completed {
		return version + " hashes completed"
	}
	return version + " " + string(c.Kind)
}

// templateValues returns the values for a template of a title or subject. "changes" is the
// title in our words. "provider" is the provider, or the number of several. "from" and "to"
// are its versions, if they are the same everywhere. "directories" is the directory of the
// only root module, or the number of several.
func templateValues(changed []Changed) map[string]string {
	var names, from, to, dirs []string
	called := namesIn(changed)
	for _, m := range changed {
		dirs = append(dirs, m.Dir)
		for _, c := range m.Changes {
			names = append(names, called[c.Addr])
			from, to = append(from, c.From.String()), append(to, c.To.String())
		}
	}
	return map[string]string{
		"changes":     titleOf(changed),
		"provider":    oneOrMany(names, "providers"),
		"from":        onlyOne(from),
		"to":          onlyOne(to),
		"directories": oneOrMany(dirs, "root modules"),
	}
}

// onlyOne is the text that all are equal to; empty if they differ, or there is none.
func onlyOne(texts []string) string {
	texts = distinct(texts)
	if len(texts) == 1 && texts[0] != (diff.Change{}).To.String() {
		return texts[0]
	}
	return ""
}

func oneOrMany(names []string, many string) string {
	names = distinct(names)
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%d %s", len(names), many)
}

// cutSubject cuts a subject to maxSubject characters, at a word where it can.
func cutSubject(subject string) string {
	if utf8.RuneCountInString(subject) <= maxSubject {
		return subject
	}
	cut := string([]rune(subject)[:maxSubject-1])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,") + "…"
}
