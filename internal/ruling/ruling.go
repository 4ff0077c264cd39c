package ruling

import (
	"context"
	"io/fs"
	"slices"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verify"
)

// Examined is a root module whose lock file is judged.
type Examined struct {
	Root scan.RootModule
	// Files is the file tree that it is in.
	Files fs.FS
}

// Options are the rules for Make, how severe a breach is, and how to plan.
type Options struct {
	// Rules refuse providers, versions and ages, by their Now.
	Rules policy.Rulebook
	// Signers are the keys that may sign; nil if relock does not ask who has signed.
	Signers provider.Signers
	// All judges every entry as if it were changed.
	All        bool
	Severities settings.Severities
	Strict     bool
	// Plan is how relock itself selects releases.
	Plan upgrade.Options
	// Former reads the root modules that the base has in directories or, without a base,
	// those at hand. A directory without one has no result.
	Former func(dirs []string) []scan.RootModule
}

// Ruling is the result for one lock file.
type Ruling struct {
	// Findings are what the rules refuse. Undecided are errors about entries that could not
	// be judged, since a question had no answer.
	Findings, Undecided []problem.Problem
	// Changed reports whether the change touches an entry to which a rule applies.
	Changed bool
}

// Concerned reports whether a rule or a choice of signers applies to any of these root
// modules: to an entry, or to a requirement without one. Otherwise it does not matter what
// changed.
func Concerned(modules []Examined, o Options) bool {
	return len(entriesOf(modules, nil, o)) > 0 || slices.ContainsFunc(modules, func(m Examined) bool {
		return len(unpermitted(m, nil, o))+len(unpermittedModules(m, nil, o)) > 0
	})
}

// Make compares the entries of lock files with the rules. The rulings have the order of the
// root modules. It asks for dates and signers once for each release, and only for binding
// entries.
func Make(ctx context.Context, src upgrade.Source, modules []Examined, base *Before, o Options) []Ruling {
	rulings := make([]Ruling, len(modules))
	entries := entriesOf(modules, base, o)
	dates, listings := askDates(ctx, o, entries), askListings(ctx, src, o, entries)
	var refused []refusedEntry
	for _, e := range entries {
		v := &rulings[e.module]
		v.Changed = v.Changed || e.changed
		date, listing := dates[e.question()], listings[e.question()]
		if date.err != nil {
			v.Undecided = append(v.Undecided, e.undecided("it is not known when it was published", date.err))
		}
		if listing.err != nil {
			v.Undecided = append(v.Undecided, e.undecided("it is not known who signed it", listing.err))
		}
		refused = append(refused, e.refusals(date, o)...)
		if len(listing.value.Files) > 0 && !o.Signers.Admits(e.lock.Addr, listing.value.Signer) {
			v.Findings = append(v.Findings, e.signerRefused(listing.value.Signer, o))
		}
	}
	excused := cornered(ctx, src, refused, o)
	for _, r := range refused {
		v := &rulings[r.entry.module]
		v.Findings = append(v.Findings, r.finding(excused[ruledAt{r.entry.former, r.entry.lock.Addr}], refused))
	}
	for i, m := range modules {
		rulings[i].Findings = slices.Concat(rulings[i].Findings, unpermitted(m, base, o), unpermittedModules(m, base, o))
		slices.SortStableFunc(rulings[i].Findings, verify.ByEntry)
	}
	return rulings
}
