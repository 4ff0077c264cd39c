package registry

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// Options are the settings of a Client. The zero value of each one is its default.
type Options struct {
	Log *slog.Logger
	// Origin asks only the provider's own registry, as providers lock does, whatever the
	// installation methods of the CLI configuration say. Want.Origin does the same for one
	// package.
	Origin bool
	// Cache remembers the hashes of packages between runs; nil remembers nothing. It is
	// asked only about packages whose zh is sure: a verified checksum list has it, it names
	// the package in an OCI registry, or relock computed it. An entry counts only if relock
	// itself has hashed the bytes, or if HashSource allows what a registry states.
	Cache *hash.Cache
	// HashSource names a registry whose h1 hashes are accepted. With "opentofu", a package
	// in a signed checksum list is not downloaded if OpenTofu's registry has the same
	// archive among its packages. Empty: none.
	HashSource string
	// EnforceValidation is OPENTOFU_ENFORCE_GPG_VALIDATION=true: OpenTofu makes no
	// exception for registry.opentofu.org [opentofu 1.12
	// internal/getproviders/package_authentication.go].
	EnforceValidation bool
	// EnforceExpiration is OPENTOFU_ENFORCE_GPG_EXPIRATION=true: OpenTofu accepts no
	// signature of an expired key [opentofu 1.12
	// internal/getproviders/package_authentication.go].
	EnforceExpiration bool
	// Content keeps findings about the files in packages that Package downloads, for the
	// method Content.
	Content bool
	// MaxDownloads bounds the downloads that run at once, in addition to the bound for each
	// host. 0: no further bound.
	MaxDownloads int
	// Watch is called when the download of a package starts, with the name of the file and
	// its size. A size of 0 or less is not known. A package whose bytes are needed twice is
	// downloaded twice, which is rare. Downloads run at the same time. nil watches none.
	Watch func(name string, size int64) Download
	// Arrived is called after each download of a package that did not break. It may be nil.
	Arrived func()
	// Documents are the discovery documents that hosts have returned so far; nil: none.
	Documents *cliconfig.Documents
}

// Client asks provider registries and mirrors. It is safe for concurrent use. It bounds
// downloads, and its callers bound the other requests.
type Client struct {
	fetch   *fetcher
	tools   map[provider.ToolName]installation
	plugins *plugins // of the client's root module, if it has any
}

// New returns a client that uses each tool's CLI configuration for that tool. A tool
// without an entry has an empty configuration.
func New(t *transport.Client, configs map[provider.ToolName]*cliconfig.Config, opts Options) *Client {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	c := &Client{fetch: newFetcher(t, opts), tools: map[provider.ToolName]installation{}}
	s := sharedAnswers{fetch: c.fetch, answers: &answers{trust: hashicorpTrust}}
	if opts.HashSource == HashSourceOpenTofu {
		s.stated = &reportedHashes{fetch: c.fetch}
	}
	for _, name := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
		c.tools[name] = s.installation(cmp.Or(configs[name], &cliconfig.Config{}))
	}
	if s.stated != nil {
		s.stated.registry = c.tools[provider.OpenTofu].origin
	}
	return c
}

// In returns a client for a root module that has its own plugin directory,
// terraform.d/plugins. The tools look there first [terraform 1.11 provider_source.go]. The
// client shares all answers with c. fsys is the directory, and name is its name in
// messages.
//
// usable is false if other people decide what is in the repository: it must not choose the
// packages that its lock file is made from. The providers in the directory then fail, since
// the tools would take them from nowhere else [terraform 1.11 provider_source.go].
func (c *Client) In(fsys fs.FS, name string, usable bool) *Client {
	return &Client{c.fetch, c.tools, &plugins{newDirectory(c.fetch, fsys, name), usable}}
}

// Packages returns the number of distinct packages that were downloaded.
func (c *Client) Packages() int { return int(c.fetch.downloaded.Load()) }

// Cached returns the number of distinct packages that the cache knew.
func (c *Client) Cached() int { return int(c.fetch.cached.Load()) }

// Versions returns all releases that the tool's installation methods offer, sorted by
// version. A source that does not know the provider is skipped. Any other error of a source
// is final, as in the tools [terraform 1.11 internal/getproviders/multi_source.go]. The
// offer also has the methods that were asked, and which of them returned a list.
//
// Errors are *problem.Error: CodeUnknownProvider, CodeNoService, CodeUnauthorized,
// CodeUnreachable, CodeBadAnswer, CodeCLIConfig or CodeCancelled.
func (c *Client) Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (provider.Offer, error) {
	want := provider.Want{Addr: addr}
	sources, err := c.sources(tool, want)
	if err != nil {
		return provider.Offer{}, about(err, want, "")
	}
	var all, elsewhere joinedReleases // elsewhere: not from directories
	var methods []provider.Method
	beyond := false // some source is no directory
	var unknown error
	for _, s := range sources {
		_, isDirectory := s.(*directoryMirror)
		beyond = beyond || !isDirectory
		releases, err := s.releases(ctx, tool, addr)
		switch {
		case problem.Coded(err, problem.CodeUnknownProvider):
			unknown = about(err, want, s.host(addr))
		case err != nil:
			return provider.Offer{}, about(err, want, s.host(addr))
		default:
			all.add(releases...)
		}
		if !isDirectory {
			elsewhere.add(releases...)
		}
		if isDirectory && err != nil && c.tools[tool.Name].implied {
			continue // no person has named it, and it does not have the provider
		}
		_, isRegistry := s.(*direct)
		methods = append(methods, provider.Method{Name: s.name(addr), Host: s.host(addr), Mirror: !isRegistry, Listed: err == nil})
	}
	if beyond {
		all.openBut(elsewhere)
	}
	switch {
	case all == nil && len(sources) == 1:
		return provider.Offer{}, unknown
	case all == nil:
		return provider.Offer{}, about(notInRegistry(sources, addr), want, "")
	}
	return provider.Offer{Releases: all.sorted(), Methods: methods}, nil
}

// Hashes finds, verifies and hashes one package: that of the first installation method that
// has the version for the platform. It verifies as much as possible before the download.
//
// Errors are *problem.Error: those of Versions, with CodeNoPackage instead of
// CodeUnknownProvider, and CodeProtocol, CodeBadSignature, CodeBadChecksum, CodeBadPackage
// and CodeUnreadable.
func (c *Client) Hashes(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Hashes, error) {
	return fromFirst(c, tool, want, func(s source) (provider.Hashes, error) { return s.hashes(ctx, tool, want, 0) })
}

// fromFirst asks the sources in order until one has the package.
func fromFirst[T any](c *Client, tool provider.Tool, want provider.Want, ask func(source) (T, error)) (answer T, err error) {
	sources, err := c.sources(tool, want)
	if err != nil {
		return answer, about(err, want, "")
	}
	var missing error = noPackage(want)
	for _, s := range sources {
		answer, err = ask(s)
		switch {
		case err == nil:
			return answer, nil
		case problem.Coded(err, problem.CodeNoPackage) && len(sources) == 1:
			missing = err
		case !problem.Coded(err, problem.CodeNoPackage) && !problem.Coded(err, problem.CodeUnknownProvider):
			return answer, about(err, want, s.host(want.Addr))
		}
	}
	return answer, about(missing, want, "")
}

// sources are the sources to ask about a provider, in order.
func (c *Client) sources(tool provider.Tool, want provider.Want) ([]source, error) {
	in, ok := c.tools[tool.Name]
	switch {
	case !ok:
		return nil, fmt.Errorf("tool %q has no registries", tool.Name)
	case c.fetch.opts.Origin || want.Origin:
		return []source{in.origin}, nil
	}
	return in.sources(tool, want.Addr, c.plugins)
}
