package registry

import (
	"context"
	"net/http"
	"net/url"
	"path"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// service is the name of the provider registry protocol in service discovery.
const service = "providers.v1"

// direct is the registry of each provider's own host.
type direct struct {
	*core
	config    *cliconfig.Config
	discovery *cliconfig.Discovery
	downloads int // retries, as in cliconfig.Limits
}

func newDirect(c *core, config *cliconfig.Config, discovery *cliconfig.Discovery, downloads int) direct {
	return direct{core: c, config: config, discovery: discovery, downloads: downloads}
}

func (d direct) host(addr provider.Addr) svchost.Hostname { return addr.Host }
func (d direct) name(addr provider.Addr) string           { return "registry " + addr.Host.ForDisplay() }

// query finds the registry of the provider.
func (d direct) query(ctx context.Context, want provider.Want) (query, error) {
	want.Origin = false // asks the same
	base, err := d.discovery.Service(ctx, want.Addr.Host, service)
	if err != nil {
		return query{}, err
	}
	token, err := d.config.Token(ctx, want.Addr.Host)
	return query{base.String(), token, want}, err
}

// get asks with the headers that the tools send. The path is relative to the
// service as RFC 3986 has it: without a slash at the end of the service's URL,
// its last segment is replaced.
func (d direct) get(ctx context.Context, tool provider.Tool, q query, limit int64, segments ...string) (*transport.Response, error) {
	base, err := url.Parse(q.service)
	if err != nil {
		return nil, err
	}
	limits := d.config.Limits()
	return d.transport.Do(ctx, transport.Request{
		URL:     base.ResolveReference(&url.URL{Path: path.Join(segments...)}),
		Header:  http.Header{"X-Terraform-Version": {tool.Version.String()}},
		Token:   q.token,
		Limit:   limit,
		Retries: limits.Retries,
		Timeout: limits.Timeout,
	})
}
