package registry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"sync"
	"sync/atomic"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// service is the name of the provider registry protocol in service discovery.
const service = "providers.v1"

// The limits on answers. The tools have none; each is far above the largest
// known one, a list of versions of about a megabyte.
const (
	maxVersions  = 32 << 20
	maxMetadata  = 4 << 20
	maxList      = 1 << 20
	maxSignature = 1 << 20
)

// Options are the settings of a Client. The zero value of each is its default.
type Options struct {
	Log *slog.Logger
	// EnforceValidation is OPENTOFU_ENFORCE_GPG_VALIDATION=true: OpenTofu makes
	// no exception for registry.opentofu.org.
	EnforceValidation bool
	// EnforceExpiration is OPENTOFU_ENFORCE_GPG_EXPIRATION=true: OpenTofu takes
	// no signature of an expired key.
	EnforceExpiration bool
}

// Client asks provider registries. It is safe for concurrent use; how much is
// asked at once is its callers' business.
type Client struct {
	transport *transport.Client
	opts      Options
	tools     map[provider.ToolName]toolConfig
	trust     func() trust

	versions memo[question, versionList]
	metadata memo[question, *metadata]
	files    memo[location, []byte]
	archives memo[archive, hash.Sum]
	// sums holds what archives hash to by their zh, which identifies an archive
	// whatever its URL.
	sums       memo[provider.Hash, hash.Sum]
	downloaded atomic.Int64
	warned     sync.Map // of the releases that a warning was logged about
}

type toolConfig struct {
	config    *cliconfig.Config
	discovery *cliconfig.Discovery
}

// New returns a client that asks each tool's questions with the hosts and
// credentials of that tool's CLI configuration; a tool without an entry has an
// empty one.
func New(t *transport.Client, configs map[provider.ToolName]*cliconfig.Config, opts Options) *Client {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	c := &Client{transport: t, opts: opts, tools: map[provider.ToolName]toolConfig{}, trust: hashicorpTrust}
	c.sums.forgetErrors = true
	for _, tool := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
		config := cmp.Or(configs[tool], &cliconfig.Config{})
		c.tools[tool] = toolConfig{config, cliconfig.NewDiscovery(config, t)}
	}
	return c
}

// Packages returns how many distinct packages were downloaded.
func (c *Client) Packages() int { return int(c.downloaded.Load()) }

// question is one that the registry of a provider is asked. Tools that would
// ask the same of the same registry with the same credentials share the answer.
type question struct {
	service string // the registry's URL
	token   string
	want    provider.Want // version and platform as far as they matter
}

// question finds the registry of the provider, or says why the tool would not
// ask it.
func (c *Client) question(ctx context.Context, tool provider.Tool, want provider.Want) (question, error) {
	t, ok := c.tools[tool.Name]
	if !ok {
		return question{}, fmt.Errorf("tool %q has no registries", tool.Name)
	}
	if dir, ok := t.config.Mirror(want.Addr); ok {
		return question{}, &provider.Error{
			Code:    provider.CodeCLIConfig,
			Message: fmt.Sprintf("%s would take %s from the directory %s instead of its registry, and relock does not read such directories yet", tool.Name.Title(), want.Addr, dir),
			Hint:    "remove the provider from there, or write provider_installation with direct {} alone into the CLI configuration",
		}
	}
	base, err := t.discovery.Service(ctx, want.Addr.Host, service)
	if err != nil {
		return question{}, err
	}
	return question{base.String(), t.config.Token(want.Addr.Host), want}, nil
}

// get asks with the headers that the tools send. The path is relative to the
// service as RFC 3986 has it: without a slash at the end of the service's URL,
// its last segment is replaced.
func (c *Client) get(ctx context.Context, tool provider.Tool, q question, limit int64, segments ...string) (*transport.Response, error) {
	base, err := url.Parse(q.service)
	if err != nil {
		return nil, err
	}
	return c.transport.Do(ctx, transport.Request{
		URL:    base.ResolveReference(&url.URL{Path: path.Join(segments...)}),
		Header: http.Header{"X-Terraform-Version": {tool.Version.String()}},
		Token:  q.token,
		Limit:  limit,
	})
}

// location is a file that a registry refers to. The referring server is part of
// it because it decides whether the file may be on this machine.
type location struct{ url, referrer string }

// file fetches a checksum list or a signature, without the token: it may be
// anywhere.
func (c *Client) file(ctx context.Context, u, referrer *url.URL, limit int64) ([]byte, error) {
	return c.files.do(ctx, location{u.String(), transport.HostPort(referrer)}, func() ([]byte, error) {
		resp, err := c.transport.Do(ctx, transport.Request{URL: u, Referrer: referrer, Limit: limit})
		if err != nil {
			return nil, err
		}
		if resp.Status != http.StatusOK {
			return nil, statusError("requesting "+transport.Redact(u), resp.Status)
		}
		return resp.Body, nil
	})
}

// archive is a zip that a registry offers.
type archive struct {
	location
	zh provider.Hash
}

// sum downloads and hashes the archive, without the token, unless an archive
// of that zh has been: the zh is of the checksum list, and the error says so
// where the bytes are others.
func (c *Client) sum(ctx context.Context, m *metadata) (hash.Sum, error) {
	key := archive{location{m.zip.String(), transport.HostPort(m.from)}, m.zh}
	return c.archives.do(ctx, key, func() (hash.Sum, error) {
		return c.sums.do(ctx, m.zh, func() (hash.Sum, error) { return c.download(ctx, m) })
	})
}

func (c *Client) download(ctx context.Context, m *metadata) (hash.Sum, error) {
	resp, body, err := c.transport.Stream(ctx, transport.Request{URL: m.zip, Referrer: m.from, Limit: hash.MaxSize})
	if err != nil {
		return hash.Sum{}, err
	}
	defer body.Close()
	if resp.Status != http.StatusOK {
		return hash.Sum{}, statusError("downloading "+transport.Redact(m.zip), resp.Status)
	}
	sum, err := hash.Package(body)
	switch {
	case sum.ZH != "" && sum.ZH != m.zh:
		return hash.Sum{}, &provider.Error{
			Code:    provider.CodeBadChecksum,
			Message: fmt.Sprintf("archive has incorrect checksum %s (expected %s)", sum.ZH, m.zh),
		}
	case sum.ZH != "" && err != nil:
		return hash.Sum{}, &provider.Error{Code: provider.CodeBadPackage, Message: "archive " + m.filename, Err: err}
	case err != nil:
		return hash.Sum{}, err
	}
	c.downloaded.Add(1)
	return sum, nil
}
