package module

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/transport"
)

// service is the name of the module registry protocol in service discovery.
const service = "modules.v1"

// maxVersions bounds a list of versions. Registries repeat in it what each
// version depends on.
const maxVersions = 16 << 20

// registryQuestion is one that a registry is asked. Tools that would ask the
// same of the same registry with the same credentials share the answer.
type registryQuestion struct {
	url, token string
}

// registry is where a module's questions go.
type registry struct {
	base  *url.URL
	token string
	addr  registryAddress
	tool  provider.Tool
}

// fromRegistry selects a version of a registry module and fetches its package.
func (c *Client) fromRegistry(ctx context.Context, tool provider.Tool, addr registryAddress, call scan.Call) (scan.Package, error) {
	p, err := c.selected(ctx, tool, addr, call)
	if err != nil {
		err = during("fetching the module "+addr.ForDisplay(), err)
		if e, ok := errors.AsType[*provider.Error](err); ok && e.Host == "" {
			e.Host = addr.Host // a new error: nobody else has it
		}
		return scan.Package{}, err
	}
	return p, nil
}

func (c *Client) selected(ctx context.Context, tool provider.Tool, addr registryAddress, call scan.Call) (scan.Package, error) {
	if err := c.opts.mayContact(addr.Host.String()); err != nil {
		return scan.Package{}, err
	}
	var allowed goversion.Constraints
	if call.Versioned {
		var err error
		if allowed, err = goversion.NewConstraint(call.Version); err != nil {
			return scan.Package{}, invalid("invalid version constraint %q", call.Version)
		}
	}
	base, err := c.tools[tool.Name].discovery.Service(ctx, addr.Host, service)
	if err != nil {
		return scan.Package{}, err
	}
	token, err := c.tools[tool.Name].config.Token(ctx, addr.Host)
	if err != nil {
		return scan.Package{}, err
	}
	r := registry{slashed(base), token, addr, tool}
	listed, err := c.listed(ctx, r)
	if err != nil {
		return scan.Package{}, err
	}
	version, newest := choose(listed, allowed, tool)
	switch {
	case newest == "":
		return scan.Package{}, noVersion("it has no versions")
	case version == "":
		return scan.Package{}, noVersion("no version meets the constraint %q; the newest one is %s", call.Version, newest)
	}
	p, err := c.released(ctx, r, version)
	p.Version = version
	return p, err
}

func noVersion(format string, args ...any) error {
	return &provider.Error{Code: provider.CodeNoVersion, Message: fmt.Sprintf(format, args...)}
}

// slashed is the URL of a service as the tools complete it.
func slashed(base *url.URL) *url.URL {
	u := *base
	if !strings.HasSuffix(u.Path, "/") {
		u.Path, u.RawPath = u.Path+"/", ""
	}
	return &u
}

// endpoint is the URL of a question about the module.
func (r registry) endpoint(segments ...string) *url.URL {
	segments = append([]string{r.addr.Namespace, r.addr.Name, r.addr.TargetSystem}, segments...)
	return r.base.ResolveReference(&url.URL{Path: path.Join(segments...)})
}

func (c *Client) askRegistry(ctx context.Context, r registry, u *url.URL, limit int64) (*transport.Response, error) {
	patience := c.tools[r.tool.Name].config.Limits()
	resp, err := c.transport.Do(ctx, transport.Request{
		URL:     u,
		Header:  http.Header{"X-Terraform-Version": {r.tool.Version.String()}},
		Token:   r.token,
		Limit:   limit,
		Timeout: patience.Timeout,
		Retries: patience.Retries,
	})
	if err != nil {
		return nil, err
	}
	switch resp.Status {
	case http.StatusOK, http.StatusNoContent, http.StatusNotFound:
		return resp, nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, cliconfig.Unauthorized(r.addr.Host, r.token != "")
	}
	return nil, statusError(u, resp.Status, "")
}

// listed returns the versions that the registry lists, in its order.
func (c *Client) listed(ctx context.Context, r registry) ([]string, error) {
	u := r.endpoint("versions")
	return c.versions.Do(ctx, registryQuestion{u.String(), r.token}, func() ([]string, error) {
		resp, err := c.askRegistry(ctx, r, u, maxVersions)
		switch {
		case err != nil:
			return nil, err
		case resp.Status == http.StatusNotFound:
			return nil, unread("the module registry %s does not have it", r.addr.Host.ForDisplay())
		}
		var answer struct {
			Modules []struct {
				Versions []struct{ Version string }
			}
		}
		if err := transport.DecodeJSON(resp.Body, &answer); err != nil {
			return nil, badAnswer("the registry's answer for its versions is not valid: %v", err)
		}
		if len(answer.Modules) == 0 {
			return nil, badAnswer("the registry's answer for its versions names no module")
		}
		var versions []string
		for _, v := range answer.Modules[0].Versions { // the others are what it depends on
			versions = append(versions, v.Version)
		}
		return versions, nil
	})
}

// released fetches a version of the module from where the registry says it is.
func (c *Client) released(ctx context.Context, r registry, version string) (scan.Package, error) {
	u := r.endpoint(version, "download")
	resp, err := c.downloads.Do(ctx, registryQuestion{u.String(), r.token}, func() (*transport.Response, error) {
		return c.askRegistry(ctx, r, u, 0)
	})
	switch {
	case err != nil:
		return scan.Package{}, err
	case resp.Status == http.StatusNotFound:
		return scan.Package{}, unread("the module registry %s does not have its version %s", r.addr.Host.ForDisplay(), version)
	}
	source, direct, err := r.download(resp)
	if err != nil {
		return scan.Package{}, err
	}
	if direct != nil {
		return c.direct(ctx, r, u, source, *direct)
	}
	if source, err = relative(u, source); err != nil {
		return scan.Package{}, err
	}
	a, err := r.remote(source)
	if err != nil {
		return scan.Package{}, err
	}
	return c.fromRemote(ctx, r.tool, a, u)
}

// download reads where a version is. Terraform reads a header alone. OpenTofu
// reads the body of a 200, which must then be JSON, before the header; newer
// releases find there whether the registry itself serves the package, and
// whether with credentials.
func (r registry) download(resp *transport.Response) (source string, direct *bool, err error) {
	source = resp.Header.Get(getHeader)
	if resp.Status == http.StatusOK && r.tool.Has(provider.ModuleLocations) {
		var answer struct {
			Location    string
			Credentials *bool `json:"use_registry_credentials"`
		}
		if err := transport.UnmarshalJSON(resp.Body, &answer); err != nil {
			return "", nil, badAnswer("the registry's answer for its location is not valid: %v", err)
		}
		if answer.Location != "" {
			source = answer.Location
		}
		if r.tool.Has(provider.RegistryPackages) {
			direct = answer.Credentials
		}
	}
	if source == "" {
		return "", nil, badAnswer("the registry does not say where it is")
	}
	return source, direct, nil
}

// relative resolves what looks like a relative URL against that of the question.
func relative(u *url.URL, source string) (string, error) {
	if !strings.HasPrefix(source, "/") && !strings.HasPrefix(source, "./") && !strings.HasPrefix(source, "../") {
		return source, nil
	}
	ref, err := url.Parse(source)
	if err != nil {
		return "", badAnswer("the registry's location for it is no URL")
	}
	return u.ResolveReference(ref).String(), nil
}

// remote reads the address that the registry gave. The caller's subdirectory is
// below that of the address.
func (r registry) remote(source string) (address, error) {
	_, err := parseRegistry(source, r.tool.Name)
	if err == nil || localSource(source) {
		return address{}, badAnswer("the registry's location for it is no remote address")
	}
	a, err := parseRemote(source)
	if err != nil {
		return address{}, badAnswer("the registry's location for it is not valid: %v", err)
	}
	return a.below(r.addr.subdir)
}

func localSource(source string) bool {
	for _, prefix := range []string{"./", "../", `.\`, `..\`} {
		if strings.HasPrefix(source, prefix) {
			return true
		}
	}
	return false
}

// direct downloads an archive that the registry serves itself. Its format is
// told from its first bytes.
func (c *Client) direct(ctx context.Context, r registry, from *url.URL, source string, credentials bool) (scan.Package, error) {
	ref, err := url.Parse(source)
	if err != nil {
		return scan.Package{}, badAnswer("the registry's location for it is no URL")
	}
	u := from.ResolveReference(ref)
	if u.Scheme != "https" && u.Scheme != "http" || u.Fragment != "" {
		return scan.Package{}, badAnswer("the registry's location for it is no URL of an archive")
	}
	request := transport.Request{URL: u, Referrer: from, Header: http.Header{"X-Terraform-Version": {r.tool.Version.String()}}}
	// OpenTofu would send the token anywhere; it is for the registry.
	if credentials && (transport.HostPort(u) == transport.HostPort(from) || u.Scheme == "https" && hostname(u) == r.addr.Host) {
		request.Token = r.token
	}
	key := origin{"registry::" + u.String() + " " + request.Token, transport.HostPort(from)}
	p, err := c.packages.Do(ctx, key, func() (contents, error) {
		release, err := c.slot(ctx)
		if err != nil {
			return contents{}, err
		}
		defer release()
		return c.download(ctx, request, "", checksum{})
	})
	if err != nil {
		return scan.Package{}, err
	}
	dir, err := findDir(p.fs, r.addr.subdir)
	return scan.Package{FS: p.fs, Dir: dir, ID: p.id}, err
}
