package registry

import (
	"context"
	"fmt"
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

func (d direct) releases(ctx context.Context, tool provider.Tool, addr provider.Addr) ([]provider.Release, error) {
	list, err := d.versionList(ctx, tool, addr)
	if err != nil {
		return nil, err
	}
	return list.releases(tool.Has(provider.LenientVersions))
}

func (d direct) versionList(ctx context.Context, tool provider.Tool, addr provider.Addr) (versionList, error) {
	q, err := d.query(ctx, provider.Want{Addr: addr})
	if err != nil {
		return versionList{}, err
	}
	return d.versions.Do(ctx, q, func() (versionList, error) { return d.askVersions(ctx, tool, q) })
}

func (d direct) askVersions(ctx context.Context, tool provider.Tool, q query) (versionList, error) {
	addr := q.want.Addr
	attempt := "could not query provider registry for " + addr.String()
	resp, err := d.get(ctx, tool, q, maxVersions, addr.Namespace, addr.Type, "versions")
	if err != nil {
		return versionList{}, failed(q.want, attempt, err)
	}
	switch resp.Status {
	case http.StatusOK:
	case http.StatusNotFound:
		return versionList{}, &provider.Error{
			Code: provider.CodeUnknownProvider, Addr: addr,
			Message: fmt.Sprintf("provider registry %s does not have a provider named %s", addr.Host.ForDisplay(), addr),
			Hint:    d.advise(ctx, tool, q),
		}
	case http.StatusUnauthorized, http.StatusForbidden:
		return versionList{}, cliconfig.Unauthorized(addr.Host, q.token != "")
	default:
		return versionList{}, naming(q.want, statusError(attempt, resp.Status))
	}
	var list versionList
	if err := transport.DecodeJSON(resp.Body, &list); err != nil {
		return versionList{}, naming(q.want, badAnswer("for the versions of %s is not valid: %v", addr, err))
	}
	return list, nil
}

func (d direct) askMetadata(ctx context.Context, tool provider.Tool, q query) (*metadata, error) {
	want := q.want
	addr, attempt := want.Addr, "could not query provider registry for "+want.Addr.String()
	resp, err := d.get(ctx, tool, q, maxMetadata,
		addr.Namespace, addr.Type, want.Version.String(), "download", want.Platform.OS, want.Platform.Arch)
	if err != nil {
		return nil, failed(provider.Want{Addr: addr}, attempt, err)
	}
	switch resp.Status {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, noPackage(want)
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, cliconfig.Unauthorized(addr.Host, q.token != "")
	default:
		return nil, naming(provider.Want{Addr: addr}, statusError(attempt, resp.Status))
	}
	var answer packageAnswer
	if err := transport.DecodeJSON(resp.Body, &answer); err != nil {
		return nil, naming(want, badAnswer("for %s %s on %s is not valid: %v", addr, want.Version, want.Platform, err))
	}
	return answer.metadata(want, resp.URL)
}

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
