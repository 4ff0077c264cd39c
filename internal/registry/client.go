package registry

import (
	"cmp"
	"io/fs"
	"log/slog"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/hash"
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
	// stands in a verified checksum list, names the package in an OCI registry,
	// or was computed. It is believed only where relock itself has hashed the
	// bytes, or where HashSource admits what a registry states.
	Cache *hash.Cache
	// HashSource names a registry whose word is taken for h1. With "opentofu", a
	// package that a signed checksum list names is not downloaded if OpenTofu's
	// registry has the same archive among its packages. Empty: none.
	HashSource string
	// EnforceValidation is OPENTOFU_ENFORCE_GPG_VALIDATION=true: OpenTofu makes
	// no exception for registry.opentofu.org.
	EnforceValidation bool
	// EnforceExpiration is OPENTOFU_ENFORCE_GPG_EXPIRATION=true: OpenTofu takes
	// no signature of an expired key.
	EnforceExpiration bool
	// Downloads bounds the packages that are downloaded at once; those of one host
	// are bounded besides. 0: no further bound.
	Downloads int
	// Watch is told of each download of a package when it begins, with the name
	// of the file and its size, which is not known if it is not above zero. The
	// rare package whose bytes are needed twice is downloaded twice. Downloads
	// run at the same time; nil watches none.
	Watch func(name string, size int64) Download
}

// Client asks provider registries and mirrors. It is safe for concurrent use;
// how much is asked at once is its callers' business, but for downloads.
type Client struct {
	*core
	plugins *plugins // of the root module that the client is for, if it has any
}

// core is what the clients of one run share.
type core struct {
	transport *transport.Client
	opts      Options
	tools     map[provider.ToolName]installation
	fetch     *fetcher
	answers   registryAnswers
	mirrors   networkAnswers
	stated    *hashSource // nil where nobody's word is taken
}

// installation is what one tool's CLI configuration amounts to.
type installation struct {
	origin  *direct
	methods []method
	// implied: there is no provider_installation block. The methods are the
	// plugin directories, and the origin for what none of them holds.
	implied bool
}

// method is an installation method.
type method struct {
	source
	serves func(provider.Addr) bool
}

// plugins is the plugin directory of a root module.
type plugins struct {
	*directory
	usable bool
}

// New returns a client that asks each tool's questions as that tool's CLI
// configuration has it; a tool without an entry has an empty one.
func New(t *transport.Client, configs map[provider.ToolName]*cliconfig.Config, opts Options) *Client {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	c := &core{transport: t, opts: opts, tools: map[provider.ToolName]installation{}, fetch: newFetcher(t, opts)}
	c.answers.trust = hashicorpTrust
	if opts.HashSource == HashSourceOpenTofu {
		c.stated = &hashSource{fetch: c.fetch}
	}
	for _, name := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
		c.tools[name] = c.installation(cmp.Or(configs[name], &cliconfig.Config{}))
	}
	if c.stated != nil {
		c.stated.registry = c.tools[provider.OpenTofu].origin
	}
	return &Client{core: c}
}

func (c *core) installation(config *cliconfig.Config) installation {
	discovery := cliconfig.NewDiscovery(config, c.transport)
	in := installation{origin: c.direct(config, discovery, config.Limits().Downloads)}
	var configured []cliconfig.Method
	configured, in.implied = config.Methods()
	for _, m := range configured {
		in.methods = append(in.methods, method{c.source(config, discovery, m), m.Serves})
	}
	return in
}

func (c *core) source(config *cliconfig.Config, discovery *cliconfig.Discovery, m cliconfig.Method) source {
	switch m.Kind {
	case cliconfig.Filesystem:
		return openDirectory(c.fetch, m.Path)
	case cliconfig.Network:
		return newNetwork(c.fetch, &c.mirrors, config, m)
	case cliconfig.OCI:
		return newOCIMirror(c.fetch, config, m)
	}
	return c.direct(config, discovery, m.Downloads)
}

func (c *core) direct(config *cliconfig.Config, discovery *cliconfig.Discovery, retries int) *direct {
	return &direct{c.fetch, &c.answers, config, discovery, c.stated, retries}
}

// In returns a client for a root module that keeps providers in a directory of
// its own, terraform.d/plugins, which the tools look into first. It shares all
// answers with c. The directory is the root of the file tree, and name is what
// messages call it.
//
// A repository must not choose the packages that its lock file is made of where
// others decide what is in it. If the directory is not usable, the providers in
// it fail; there is no other place from which the tools would take them.
func (c *Client) In(fsys fs.FS, name string, usable bool) *Client {
	return &Client{core: c.core, plugins: &plugins{newDirectory(c.fetch, fsys, name), usable}}
}

// Packages returns how many distinct packages were downloaded.
func (c *Client) Packages() int { return int(c.fetch.downloaded.Load()) }

// Cached returns how many distinct packages the cache knew.
func (c *Client) Cached() int { return int(c.fetch.cached.Load()) }

// query is what the registry of a provider, or a mirror, is asked. Tools that would
// ask the same in the same place with the same credentials share the answer.
type query struct {
	service string // the URL of the registry or mirror
	token   string
	want    provider.Want // version and platform as far as they matter
}
