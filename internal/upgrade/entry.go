package upgrade

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// locks puts new entries beside old ones. An old entry whose provider failed
// or was not asked for keeps its bytes. One that nothing requires stays where
// providers lock keeps it, where it is named to be kept, or where the run is
// about other providers; otherwise it goes, as with init.
func (r root) locks(old []lockfile.Lock, renewed map[provider.Addr]lockfile.Lock, opts Options, b behaviour) []lockfile.Lock {
	required := map[provider.Addr]bool{}
	for _, q := range r.module.Tree.Requirements {
		required[q.Addr] = true
	}
	all := make([]lockfile.Lock, 0, max(len(old), len(renewed)))
	for _, l := range old {
		if _, again := renewed[l.Addr]; again {
			continue
		}
		if required[l.Addr] || b.keepsUnreferenced || opts.KeepUnreferenced || matches(opts.Keep, l.Addr) || !selected(opts.Only, l.Addr) {
			all = append(all, l.Kept())
		}
	}
	all = slices.AppendSeq(all, maps.Values(renewed))
	slices.SortFunc(all, func(a, b lockfile.Lock) int { return a.Addr.Compare(b.Addr) })
	return all
}

// explain turns a failure, or else the notices, into diagnostics at the place
// that requires the provider. What is no failure (missing platforms, the
// registry's warnings) stays a fact of the selection.
func (p proven) explain() []provider.Diagnostic {
	causes, severity := p.notices, provider.SeverityWarning
	if p.err != nil {
		causes, severity = []error{p.err}, provider.SeverityError
	}
	var diagnostics []provider.Diagnostic
	for _, cause := range causes {
		d := provider.Diagnose(cause)
		d.Severity, d.Addr = severity, p.addr()
		if terms := p.requirement.Terms; d.File == "" && len(terms) > 0 {
			d.File, d.Line, d.Package = terms[0].File, terms[0].Line, terms[0].Package
		}
		diagnostics = append(diagnostics, d)
	}
	return diagnostics
}

// believed says which new entries have the platforms of others though only the
// number of their old hashes tells that they had the same.
func believed(dir string, assumed []witness) []provider.Diagnostic {
	if len(assumed) == 0 {
		return nil
	}
	var names []string
	for _, w := range assumed {
		names = append(names, fmt.Sprintf("%s %s", w.addr(), w.old.Version))
	}
	return []provider.Diagnostic{{
		Severity: provider.SeverityWarning, Code: provider.CodeNoPackage, File: path.Join(dir, lockfile.Name),
		Message: fmt.Sprintf("the old entries of %s are taken to cover the same platforms as the others, since they have as many hashes", strings.Join(names, ", ")),
		Hint:    "keep relock's hash cache between runs, or name the platforms with the setting platforms, and nothing is taken to be",
	}}
}
