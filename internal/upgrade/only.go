package upgrade

import (
	"bytes"
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// Only returns the part of the plan that is about the providers that take
// selects: what else the plan changes stays as it is in the old lock file, byte
// for byte, and is not told of. File is nil if nothing is left to change. The
// parts of a plan can be written one after the other, in any order, if each is
// planned anew once another one is written.
//
// An entry that goes because its provider has moved to the registry of the other
// tool goes with the entry that takes its place. What is no provider's, such as
// the order of the entries under Exact, is the first entry's.
func (r Result) Only(take func(provider.Addr) bool) Result {
	taken := func(addr provider.Addr) bool { return take(r.successor(addr)) }
	part := r
	part.Selections = slices.DeleteFunc(slices.Clone(r.Selections), func(s Selection) bool { return !taken(s.Requirement.Addr) })
	part.Diagnostics = slices.DeleteFunc(slices.Clone(r.Diagnostics), func(d provider.Diagnostic) bool {
		return d.Addr != provider.Addr{} && !taken(d.Addr)
	})
	others := func(f provider.Finding) bool { return !taken(f.Addr) }
	part.Findings = slices.DeleteFunc(slices.Clone(r.Findings), others)
	part.Undecided = slices.DeleteFunc(slices.Clone(r.Undecided), others)
	part.New = nil
	for _, l := range r.Old {
		if !taken(l.Addr) {
			part.New = append(part.New, l.Kept())
		}
	}
	for _, l := range r.New {
		if taken(l.Addr) {
			part.New = append(part.New, l)
		}
	}
	slices.SortFunc(part.New, func(a, b lockfile.Lock) int { return a.Addr.Compare(b.Addr) })
	switch changed := r.changed(); {
	case r.File == nil:
		part.New = r.New
	case len(changed) == 0 && len(r.New) > 0 && !taken(r.New[0].Addr), len(changed) > 0 && !slices.ContainsFunc(changed, taken):
		part.New, part.File = r.Old, nil
	default:
		part.File = lockfile.Print(r.Module.Tool.Name, part.New)
	}
	return part
}

// successor is the address whose entry takes the place of one that goes: the
// same name in the registry of the other tool. It is addr itself if there is none.
func (r Result) successor(addr provider.Addr) provider.Addr {
	twin := addr
	switch addr.Host {
	case provider.Terraform.DefaultHost():
		twin.Host = provider.OpenTofu.DefaultHost()
	case provider.OpenTofu.DefaultHost():
		twin.Host = provider.Terraform.DefaultHost()
	}
	_, was := find(r.Old, addr)
	_, is := find(r.New, addr)
	_, twinWas := find(r.Old, twin)
	_, twinIs := find(r.New, twin)
	if was && !is && twinIs && !twinWas {
		return twin
	}
	return addr
}

// changed are the providers whose entries the plan changes: what they say or,
// under Exact, how it is written.
func (r Result) changed() []provider.Addr {
	var changed []provider.Addr
	for _, l := range r.New {
		if old, ok := find(r.Old, l.Addr); !ok || !r.same(old, l) {
			changed = append(changed, l.Addr)
		}
	}
	for _, old := range r.Old {
		if _, ok := find(r.New, old.Addr); !ok {
			changed = append(changed, old.Addr)
		}
	}
	return changed
}

func (r Result) same(old, l lockfile.Lock) bool {
	if !r.exact {
		return old.Equal(l)
	}
	print := func(l lockfile.Lock) []byte { return lockfile.Print(r.Module.Tool.Name, []lockfile.Lock{l}) }
	return bytes.Equal(print(old.Kept()), print(l))
}

func find(locks []lockfile.Lock, addr provider.Addr) (lockfile.Lock, bool) {
	i := slices.IndexFunc(locks, func(l lockfile.Lock) bool { return l.Addr == addr })
	if i < 0 {
		return lockfile.Lock{}, false
	}
	return locks[i], true
}
