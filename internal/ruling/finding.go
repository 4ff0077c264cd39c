package ruling

import (
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verify"
)

// problem is a problem with the entry. Its fingerprint depends on the code, the lock file,
// the provider and the version. It does not depend on the day or on the place of the rule.
func (e ruled) problem(code problem.Code, message string) problem.Problem {
	place := problem.Place{Path: e.path, Line: e.lock.Line()}
	place.From, place.To = e.lock.AddrColumns()
	return problem.Problem{
		Code: code, Place: place, Message: message,
		Subject: problem.Subject{Addr: e.lock.Addr, Version: e.lock.Version, Versioned: true},
	}
}

// finding says which rule refuses the entry, and what to do. cornered says that the rules
// leave no release that the constraints allow. For a young release, it names the day when
// it is old enough. It recommends a run on that day, unless another rule still refuses the
// entry.
func (r refusedEntry) finding(cornered bool, others []refusedEntry) problem.Problem {
	release := fmt.Sprintf("%s %s", r.entry.lock.Addr, r.entry.lock.Version)
	f := r.entry.problem(r.breach.Code, refusal(r.breach, r.entry.lock.Addr.String(), release))
	f.Severity, f.Hint = r.severity, helpWith(f)
	switch {
	case f.Code == problem.CodeTooYoung && r.breach.Eligible.IsZero():
		f.Hint = fmt.Sprintf("add a later rule in a pull request of its own: `{providers: [%s], age-unknown: allow}`", r.entry.lock.Addr.Short())
	case f.Code == problem.CodeTooYoung && !slices.ContainsFunc(others, r.outlives):
		f.Message += "; run the check again then"
	}
	if cornered {
		f.Severity = max(f.Severity, problem.SeverityWarning)
		f.Message += "; the rules leave no release that the constraints allow"
	}
	return f
}

// refusal says which rule refuses a provider or a module, or a release of it.
func refusal(b policy.Breach, name, release string) string {
	by := "by the rule " + b.Rule.Origin()
	switch {
	case b.Code == problem.CodeProviderRefused:
		return fmt.Sprintf("%s must not be locked, %s", name, by)
	case b.Code == problem.CodeVersionRefused:
		return fmt.Sprintf("%s is not allowed, %s", release, by)
	case b.Eligible.IsZero():
		return fmt.Sprintf("%s has no known date, and releases without one are held, %s", release, by)
	}
	return fmt.Sprintf("%s is too young, %s: old enough on %s", release, by, provider.Day(b.Eligible))
}

// outlives reports whether another rule refuses the same entry for good.
func (r refusedEntry) outlives(other refusedEntry) bool {
	return other.entry.module == r.entry.module && other.entry.lock.Addr == r.entry.lock.Addr && other.breach.Code != r.breach.Code
}

// signerRefused is the finding that a key has signed the release and may not do so.
func (e ruled) signerRefused(by provider.Signer, o Options) problem.Problem {
	f := verify.SignerRefused(e.lock, e.path, by)
	f.Place.From, f.Place.To = e.lock.AddrColumns()
	f.Severity = o.severity(f.Code, e.binding)
	return f
}

// unpermitted has a finding for each requirement without an entry whose provider must not
// be locked. relock adds no such entry, and a person must not.
func unpermitted(m Examined, base *Before, o Options) []problem.Problem {
	var all []problem.Problem
	for _, required := range m.Root.All().Requirements {
		rule := o.Rules.About(m.Root.Dir, required.Addr).Forbids()
		if rule == nil || len(required.Terms) == 0 || locks(m.Root, required.Addr) {
			continue
		}
		f := o.forbidden(m, base, required.Terms[0].Place, func(former scan.RootModule) bool {
			return slices.ContainsFunc(former.All().Requirements, func(r scan.Requirement) bool { return r.Addr == required.Addr })
		})
		f.Subject.Addr, f.Message = required.Addr, fmt.Sprintf("%s is required and must not be locked, by the rule %s", required.Addr, rule.Origin())
		f.Hint = helpWith(f)
		all = append(all, f)
	}
	return all
}

// unpermittedModules has a finding for each call without an entry whose module must not be
// locked, as unpermitted for requirements.
func unpermittedModules(m Examined, base *Before, o Options) []problem.Problem {
	var all []problem.Problem
	for _, f := range m.Root.Locked() {
		address := f.Address(m.Root.Tool.Name)
		rule := o.Rules.AboutModule(m.Root.Dir, address).Forbids()
		if rule == nil || m.Root.ModuleLock.Has(address) {
			continue
		}
		d := o.forbidden(m, base, f.Place, func(former scan.RootModule) bool {
			return slices.ContainsFunc(former.Locked(), func(f scan.Fetched) bool { return f.Address(former.Tool.Name) == address })
		})
		d.About, d.Message = address, fmt.Sprintf("module.%s calls %s, which must not be locked, by the rule %s", f.Module, address, rule.Origin())
		d.Hint = moduleHelp(address, "permitted: true")
		all = append(all, d)
	}
	return all
}

// forbidden is the finding that a place asks for what must not be locked. It does not bind
// if the file is unchanged since the base, or if the root module had this there.
func (o Options) forbidden(m Examined, base *Before, at problem.Place, had func(former scan.RootModule) bool) problem.Problem {
	binding := o.All || base != nil && !base.has(m, at) && (o.Former == nil || !slices.ContainsFunc(o.Former([]string{m.Root.Dir}), had))
	return problem.Problem{Code: problem.CodeProviderRefused, Severity: o.severity(problem.CodeProviderRefused, binding), Place: at}
}

// locks reports whether the lock file of a root module has an entry of a provider. Without
// a lock file it is false.
func locks(m scan.RootModule, addr provider.Addr) bool {
	if m.Lock == nil {
		return false
	}
	_, has := m.Lock.Lock(addr)
	return has
}

// undecided is the error about an entry that could not be judged.
func (e ruled) undecided(why string, err error) problem.Problem {
	d := problem.Of(err)
	d.Severity, d.Place, d.Subject.Addr = problem.SeverityError, problem.Place{Path: e.path, Line: e.lock.Line()}, e.lock.Addr
	d.Message = undecidedText(fmt.Sprintf("%s %s", e.lock.Addr, e.lock.Version), why, d.Message)
	return d
}

func undecidedText(release, why, cause string) string {
	return fmt.Sprintf("%s is not judged by the rules: %s: %s", release, why, cause)
}

func helpWith(f problem.Problem) string {
	meaning, _ := problem.MeaningOf(f.Code)
	return meaning.Next(f)
}
