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

// Options are the settings of a Client. The zero value of each is its default.
type Options struct {
	Log *slog.Logger
	// Origin asks the provider's own registry for everything, wherever the
	// installation methods of the CLI configuration would: that is how providers
	// lock works. Want.Origin says so of one package.
	Origin bool
	// Cache remembers what packages hash to from one run to the next; nil
	// remembers nothing. It is asked only for packages whose zh is sure: it
	// is in a verified checksum list, names the package in an OCI registry,
	// or was computed. It is believed only where relock itself has hashed the
	// bytes, or where HashSource admits what a registry states.
	Cache *hash.Cache
	// HashSource names a registry whose word is taken for h1. With "opentofu", a
	// package that a signed checksum list names is not downloaded if OpenTofu's
	// registry has the same archive among its packages. Empty: none.
	HashSource string
	// EnforceValidation is OPENTOFU_ENFORCE_GPG_VALIDATION=true: OpenTofu makes
	// no exception for registry.opentofu.org [opentofu 1.12 internal/getproviders/package_authentication.go].
	EnforceValidation bool
	// EnforceExpiration is OPENTOFU_ENFORCE_GPG_EXPIRATION=true: OpenTofu takes
	// no signature of an expired key [opentofu 1.12 internal/getproviders/package_authentication.go].
	EnforceExpiration bool
	// Content keeps what packages hold that Package downloads, for Content.
	Content bool
	// MaxDownloads bounds the packages that are downloaded at once; those of one
	// host are bounded besides. 0: no further bound.
	MaxDownloads int
	// Watch is told of each download of a package when it begins, with the name
	// of the file and its size, which is not known if it is not above zero. The
	// rare package whose bytes are needed twice is downloaded twice. Downloads
	// run at the same time; nil watches none.
	Watch func(name string, size int64) Download
	// Documents are what hosts have said of their services; nil: nothing yet.
	Documents *cliconfig.Documents
}

// Client asks provider registries and mirrors. It is safe for concurrent use;
// how much is asked at once is its callers' business, except for downloads.
type Client struct {
	fetch   *fetcher
	tools   map[provider.ToolName]installation
	plugins *plugins // of the root module that the client is for, if it has any
}

// New returns a client that asks each tool's questions as that tool's CLI
// configuration has it; a tool without an entry has an empty one.
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

// In returns a client for a root module that keeps providers in a directory of
// its own, terraform.d/plugins, which the tools look into first
// [terraform 1.11 provider_source.go]. It shares all answers with c. The directory is the root of the file tree, and name is what
// messages call it.
//
// A repository must not choose the packages that its lock file is made of where
// others decide what is in it. If the directory is not usable, the providers in
// it fail; there is no other place from which the tools would take them [terraform 1.11 provider_source.go].
func (c *Client) In(fsys fs.FS, name string, usable bool) *Client {
	return &Client{c.fetch, c.tools, &plugins{newDirectory(c.fetch, fsys, name), usable}}
}

// Packages returns how many distinct packages were downloaded.
func (c *Client) Packages() int { return int(c.fetch.downloaded.Load()) }

// Cached returns how many distinct packages the cache knew.
func (c *Client) Cached() int { return int(c.fetch.cached.Load()) }

// Versions returns the releases that the tool's installation methods offer
// together, sorted by version. A place that does not know the provider is
// passed over; any other trouble with one is final, as with the tools
// [terraform 1.11 internal/getproviders/multi_source.go]. With the releases come the
// methods that were asked, and which of them have answered with a list.
//
// Errors are *problem.Error: CodeUnknownProvider, CodeNoService,
// CodeUnauthorized, CodeUnreachable, CodeBadAnswer, CodeCLIConfig or
// CodeCancelled.
func (c *Client) Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (provider.Offer, error) {
	want := provider.Want{Addr: addr}
	sources, err := c.sources(tool, want)
	if err != nil {
		return provider.Offer{}, about(err, want, "")
	}
	var all, elsewhere joinedReleases // elsewhere: in no directory
	var methods []provider.Method
	beyond := false // the directories
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
			continue // nobody has named it, and it has nothing of the provider
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

// Hashes finds, verifies and hashes one package: that of the first installation
// method that has the version for the platform. What is verified is verified
// before the download, as far as it can be.
//
// Errors are *problem.Error: those of Versions, but CodeNoPackage instead of
// CodeUnknownProvider, further CodeProtocol, CodeBadSignature, CodeBadChecksum,
// CodeBadPackage and CodeUnreadable.
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

// sources are the places to ask about a provider, in order.
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
