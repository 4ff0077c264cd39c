package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/provider"
)

// source is one place that providers come from.
type source interface {
	// releases lists what the place has of a provider. CodeUnknownProvider means
	// nothing, so that the next place is asked; every other error is final.
	releases(ctx context.Context, tool provider.Tool, addr provider.Addr) ([]provider.Release, error)
	// hashes finds, verifies and hashes one package. CodeUnknownProvider and
	// CodeNoPackage mean that the next place is asked.
	hashes(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Hashes, error)
	// host is the one to talk about where the place fails, empty if none.
	host(addr provider.Addr) svchost.Hostname
	// name says for people where the provider is looked for.
	name(addr provider.Addr) string
}

// Versions returns the releases that the tool's installation methods offer
// together, sorted by version. A place that does not know the provider is
// passed over; any other trouble with one is final, as with the tools.
//
// Errors are *provider.Error: CodeUnknownProvider, CodeNoService,
// CodeUnauthorized, CodeUnreachable, CodeBadAnswer, CodeCLIConfig or
// CodeCancelled.
func (c *Client) Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) ([]provider.Release, error) {
	want := provider.Want{Addr: addr}
	sources, err := c.sources(tool, want)
	if err != nil {
		return nil, about(err, want, "")
	}
	var all union
	var unknown error
	for _, s := range sources {
		releases, err := s.releases(ctx, tool, addr)
		switch {
		case provider.Coded(err, provider.CodeUnknownProvider):
			unknown = about(err, want, s.host(addr))
		case err != nil:
			return nil, about(err, want, s.host(addr))
		default:
			all.add(releases...)
		}
	}
	switch {
	case all == nil && len(sources) == 1:
		return nil, unknown
	case all == nil:
		return nil, about(notFound(sources, addr), want, "")
	}
	return all.sorted(), nil
}

// Methods returns the installation methods that Versions asks, in order, and
// which of them have answered with a list. It asks nothing that Versions has
// asked.
func (c *Client) Methods(ctx context.Context, tool provider.Tool, addr provider.Addr) []provider.Method {
	sources, err := c.sources(tool, provider.Want{Addr: addr})
	if err != nil {
		return nil // as Versions says
	}
	var methods []provider.Method
	for _, s := range sources {
		_, err := s.releases(ctx, tool, addr)
		_, isRegistry := s.(*direct)
		_, isDirectory := s.(*directory)
		if isDirectory && err != nil && c.tools[tool.Name].implied {
			continue // nobody has named it, and it has nothing of the provider
		}
		methods = append(methods, provider.Method{Name: s.name(addr), Host: s.host(addr), Mirror: !isRegistry, Listed: err == nil})
	}
	return methods
}

// Hashes finds, verifies and hashes one package: that of the first installation
// method that has the version for the platform. What is verified is verified
// before the download, as far as it can be.
//
// Errors are *provider.Error: those of Versions, but CodeNoPackage instead of
// CodeUnknownProvider, further CodeProtocol, CodeBadSignature, CodeBadChecksum,
// CodeBadPackage and CodeUnreadable.
func (c *Client) Hashes(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Hashes, error) {
	sources, err := c.sources(tool, want)
	if err != nil {
		return provider.Hashes{}, about(err, want, "")
	}
	var missing error = noPackage(want)
	for _, s := range sources {
		h, err := s.hashes(ctx, tool, want)
		switch {
		case err == nil:
			return h, nil
		case provider.Coded(err, provider.CodeNoPackage) && len(sources) == 1:
			missing = err
		case !provider.Coded(err, provider.CodeNoPackage) && !provider.Coded(err, provider.CodeUnknownProvider):
			return provider.Hashes{}, about(err, want, s.host(want.Addr))
		}
	}
	return provider.Hashes{}, about(missing, want, "")
}

// sources are the places to ask about a provider, in order.
func (c *Client) sources(tool provider.Tool, want provider.Want) ([]source, error) {
	in, ok := c.tools[tool.Name]
	switch {
	case !ok:
		return nil, fmt.Errorf("tool %q has no registries", tool.Name)
	case c.opts.Origin || want.Origin:
		return []source{in.origin}, nil
	case in.implied:
		return c.impliedSources(tool, in, want.Addr)
	}
	var sources []source
	for _, m := range in.methods {
		if m.serves(want.Addr) {
			sources = append(sources, m.source)
		}
	}
	return sources, nil
}

// impliedSources are the plugin directories, that of the root module first, and
// the registry of a provider that is in none of them, in whatever version.
func (c *Client) impliedSources(tool provider.Tool, in installation, addr provider.Addr) ([]source, error) {
	var sources []source
	held := false
	if c.plugins != nil {
		held = c.plugins.has(addr)
		if held && !c.plugins.usable {
			return nil, &provider.Error{
				Code: provider.CodeCLIConfig, Addr: addr,
				Message: fmt.Sprintf("%s would take %s from %s, and what a repository keeps there is not used on GitHub",
					tool.Name.Title(), addr, c.plugins.shown),
				Hint: "name the directory in a filesystem_mirror of the runner's CLI configuration, or remove the provider from it",
			}
		}
		sources = append(sources, c.plugins.directory)
	}
	for _, m := range in.methods {
		d, isDirectory := m.source.(*directory)
		if isDirectory {
			held = held || d.has(addr)
			sources = append(sources, d)
		}
	}
	if !held {
		sources = append(sources, in.origin)
	}
	return sources, nil
}

// union has the releases of several places; it is nil until one has answered, if
// only with nothing.
type union map[provider.Version]provider.Release

// add keeps what an earlier place says of a version, but for the platforms:
// each package is taken from the first place that has it. Where one of the places
// does not say what it has, nobody knows what they have together.
func (u *union) add(releases ...provider.Release) {
	if *u == nil {
		*u = union{}
	}
	for _, r := range releases {
		known, ok := (*u)[r.Version]
		if ok {
			known.Open = known.Open || r.Open || (len(known.Platforms) == 0) != (len(r.Platforms) == 0)
			known.Platforms = sortedPlatforms(append(slices.Clone(known.Platforms), r.Platforms...))
			known.Warnings = append(slices.Clone(known.Warnings), r.Warnings...)
			r = known
		}
		(*u)[r.Version] = r
	}
}

func (u union) sorted() []provider.Release {
	return slices.SortedFunc(maps.Values(u), func(a, b provider.Release) int { return a.Version.Compare(b.Version) })
}

// releasesOf makes releases of versions of which no more is known, passing over
// what is none, as either tool does with a mirror.
func releasesOf(versions []string) []provider.Release {
	var all union
	for _, text := range versions {
		if v, err := provider.ParseVersion(text); err == nil {
			all.add(provider.Release{Version: v})
		}
	}
	return all.sorted()
}

func sortedPlatforms(platforms []provider.Platform) []provider.Platform {
	slices.SortFunc(platforms, provider.Platform.Compare)
	return slices.Compact(platforms)
}

func notFound(sources []source, addr provider.Addr) error {
	if len(sources) == 0 {
		return &provider.Error{
			Code: provider.CodeUnknownProvider, Addr: addr,
			Message: fmt.Sprintf("no installation method of the CLI configuration is for %s", addr),
			Hint:    "check include and exclude in provider_installation",
		}
	}
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.name(addr)
	}
	return &provider.Error{
		Code: provider.CodeUnknownProvider, Addr: addr,
		Message: fmt.Sprintf("provider %s was not found in any of the search locations: %s", addr, strings.Join(names, ", ")),
		Hint:    unknownHint,
	}
}

// unknownHint names the usual mistake.
const unknownHint = "check the source in required_providers; a provider without one is taken to be in the namespace hashicorp"

func noPackage(want provider.Want) error {
	return naming(want, &provider.Error{
		Code:    provider.CodeNoPackage,
		Message: fmt.Sprintf("provider %s %s is not available for %s", want.Addr, want.Version, want.Platform),
	})
}
