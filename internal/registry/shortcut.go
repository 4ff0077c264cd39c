package registry

import (
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// The shortcut: a package is proven by what the registry said of another one of its release,
// so that it is not asked about this one.

// proveShort proves a package by what the registry said of another one of the release where
// that is enough, and else by asking about this one. The former needs the cache to know the
// archives of the release. Where it does not know that of the package which was asked about
// first, all are asked about at once.
func (d *direct) proveShort(ctx context.Context, tool provider.Tool, want provider.Want) (provenPackage, error) {
	if p, ok := d.byFirst(ctx, tool, want); ok {
		return p, nil
	}
	return d.prove(ctx, tool, want)
}

// byFirst proves a package by what is proven of the one of its release that was asked about
// first in this run; ok is false where that is not enough.
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

// infer proves a package by what is proven of another one of the release, so
// that a run which has nothing to download asks about one package of a release
// instead of every one. What the registry would say of this one is known where
//
//   - the checksum list, verified by the rules of the tool, names the archive of the
//     platform in the form that the publishing rules of the registries ask for,
//     and the other package's file has a name of this form too;
//   - the list of versions says that the platform is served;
//   - with packages, which OpenTofu's registry says of all platforms at once,
//     they agree with the list;
//   - the cache knows what the archive hashes to, so that its address is not
//     needed.
//
// Protocols, keys, list and signature are the release's, which the registries
// repeat for each platform; one that has a list for each has only one archive in
// it, and is asked. Only a registry that contradicts its own list of versions or
// its publisher's signed list would have said anything else.
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

// firstProven returns what is proven of whichever package of the release was asked
// about first in this run, which is the wanted one if nobody has.
func (d *direct) firstProven(ctx context.Context, tool provider.Tool, want provider.Want) (provenPackage, error) {
	if first, err := d.firstDescribed(ctx, tool, want); err == nil {
		want.Platform = first.platform
	}
	release := placeQuery{want: provider.Want{Addr: want.Addr, Version: want.Version}, tool: tool}
	return once(ctx, &d.answers.proven, d.place, release, func(placeQuery) (provenPackage, error) { return d.prove(ctx, tool, want) })
}

// firstDescribed returns what the registry says of whichever package of the release
// was asked about first in this run.
func (d *direct) firstDescribed(ctx context.Context, tool provider.Tool, want provider.Want) (*description, error) {
	release := placeQuery{want: provider.Want{Addr: want.Addr, Version: want.Version}, first: true}
	return once(ctx, &d.answers.described, d.place, release, func(placeQuery) (*description, error) { return d.description(ctx, tool, want) })
}

// anyDescribed returns what the registry says of whichever package of the release was asked
// about first in this run, or else of one that it lists; nil if there is none. A registry need
// not list platforms: then it is asked about that which nearly every release has.
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
	if problem.Coded(err, problem.CodeNoPackage) { // what was asked about first is not made for that platform
		p, err = listed()
	}
	if problem.Coded(err, problem.CodeNoPackage) || problem.Coded(err, problem.CodeUnknownProvider) {
		return nil, nil
	}
	return p, err
}
