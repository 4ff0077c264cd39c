package registry

import (
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// The shortcut: the registry's answer about another package of the release proves a
// package, so that the registry is not asked about it.

// proveShort proves a package by the answer about another package of the release, if that
// is enough. Otherwise it asks about the wanted one. The shortcut needs the cache to know
// the archives of the release. If the cache does not know the first archive, the packages
// are asked about at once.
func (d *direct) proveShort(ctx context.Context, tool provider.Tool, want provider.Want) (provenPackage, error) {
	if p, ok := d.byFirst(ctx, tool, want); ok {
		return p, nil
	}
	return d.prove(ctx, tool, want)
}

// byFirst proves a package by the package of its release that this run asked about first.
// ok is false if that is not enough.
func (d *direct) byFirst(ctx context.Context, tool provider.Tool, want provider.Want) (p provenPackage, ok bool) {
	described, err := d.firstDescribed(ctx, tool, want)
	if err != nil {
		return p, false
	}
	_, known := d.fetch.computed(described.zh)
	if !known && described.platform != want.Platform {
		return p, false
	}
	first, err := d.firstProven(ctx, tool, want)
	if err != nil {
		return p, false
	}
	return d.infer(ctx, tool, want, first)
}

// infer proves a package by another proven package of the release. So a run without
// downloads asks about one package of a release instead of all. The registry's answer about
// the wanted package is known on these conditions:
//
//   - The checksum list, verified by the tool's rules, names the platform's archive in the
//     form of the registries' publishing rules. The other package's name has this form, too.
//   - The list of versions names the platform.
//   - The property packages, in which OpenTofu's registry states all platforms, agrees with
//     the list.
//   - The cache knows the archive's hashes, so that its address is not needed.
//
// Protocols, keys, list and signature belong to the release, and the registries repeat them
// for each platform. A registry with a list for each package has only one archive in it, so
// it is asked. Another answer would contradict the registry's own list of versions or its
// publisher's signed list.
func (d *direct) infer(ctx context.Context, tool provider.Tool, want provider.Want, first provenPackage) (provenPackage, bool) {
	if first.platform == want.Platform {
		return first, true
	}
	zh, ok := lineHash(first.sums.line(archiveName(want, want.Platform)))
	if !ok || first.filename != archiveName(want, first.platform) {
		return provenPackage{}, false
	}
	if len(first.reported) > 0 && first.reported.check(want.Platform, zh) != nil {
		return provenPackage{}, false
	}
	if _, ok := d.fetch.computed(zh); !ok {
		return provenPackage{}, false
	}
	versions, err := d.versions(ctx, tool, want.Addr)
	if err != nil {
		return provenPackage{}, false
	}
	if served, _ := versions.platforms(want.Version); !slices.Contains(served, want.Platform) {
		return provenPackage{}, false
	}
	p, own := first, *first.description
	own.platform, own.filename, own.zh, own.archive = want.Platform, archiveName(want, want.Platform), zh, nil
	p.description = &own
	return p, true
}

// firstProven returns the proven package of the release that this run asked about first. If
// there is none, it proves the wanted one.
func (d *direct) firstProven(ctx context.Context, tool provider.Tool, want provider.Want) (provenPackage, error) {
	if first, err := d.firstDescribed(ctx, tool, want); err == nil {
		want.Platform = first.platform
	}
	release := placeQuery{want: provider.Want{Addr: want.Addr, Version: want.Version}, tool: tool}
	return once(ctx, &d.answers.proven, d.place, release, func(placeQuery) (provenPackage, error) { return d.prove(ctx, tool, want) })
}

// firstDescribed returns the registry's answer about the package of the release that this
// run asked about first. If there is none, it asks about the wanted one.
func (d *direct) firstDescribed(ctx context.Context, tool provider.Tool, want provider.Want) (*description, error) {
	release := placeQuery{want: provider.Want{Addr: want.Addr, Version: want.Version}, first: true}
	return once(ctx, &d.answers.described, d.place, release, func(placeQuery) (*description, error) { return d.description(ctx, tool, want) })
}

// anyDescribed returns the registry's answer about the package of the release that this run
// asked about first, or about one that it lists; nil if there is none. A registry need not
// list platforms. Then linux_amd64 is asked about, which nearly every release has.
func (d *direct) anyDescribed(ctx context.Context, tool provider.Tool, want provider.Want) (*description, error) {
	listed := func() (*description, error) {
		list, err := d.versions(ctx, tool, want.Addr)
		if err != nil {
			return nil, err
		}
		served, _ := list.platforms(want.Version)
		want.Platform = append(served, provider.Platform{OS: "linux", Arch: "amd64"})[0]
		return d.description(ctx, tool, want)
	}
	release := placeQuery{want: provider.Want{Addr: want.Addr, Version: want.Version}, first: true}
	p, err := once(ctx, &d.answers.described, d.place, release, func(placeQuery) (*description, error) { return listed() })
	if problem.Coded(err, problem.CodeNoPackage) { // the first question was about a platform that the release does not serve
		p, err = listed()
	}
	if problem.Coded(err, problem.CodeNoPackage) || problem.Coded(err, problem.CodeUnknownProvider) {
		return nil, nil
	}
	return p, err
}
