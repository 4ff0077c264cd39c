package module

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/transport"
)

// service is the name of the module registry protocol in service discovery.
const service = "modules.v1"

// maxVersions bounds a list of versions. Registries repeat the dependencies of each version
// in it.
const maxVersions = 16 << 20

// registryQuestion is a question to a registry. Tools that ask the same question of the
// same registry with the same credentials share the answer.
type registryQuestion struct {
	url, token string
}

// registry is the registry of one module.
type registry struct {
	base  *url.URL
	token string
	addr  moduleaddr.Address
	tool  provider.Tool
}

type registries struct {
	transport *transport.Client
	tools     map[provider.ToolName]toolConfig
	versions  memo.Memo[registryQuestion, moduleList]
	downloads memo.Memo[registryQuestion, *transport.Response]
	dates     memo.Memo[registryQuestion, time.Time]
}

type toolConfig struct {
	config    *cliconfig.Config
	discovery *cliconfig.Discovery
}

// find selects a version of a registry module, and asks for its place.
func (rs *registries) find(ctx context.Context, tool provider.Tool, addr moduleaddr.Address, call scan.Call) (location, error) {
	var allowed goversion.Constraints
	if call.Versioned {
		var err error
		allowed, err = goversion.NewConstraint(call.Version)
		if err != nil {
			return location{}, invalidAddress("invalid version constraint %q", call.Version)
		}
	}
	r, err := rs.of(ctx, tool, addr)
	if err != nil {
		return location{}, err
	}
	exact := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(call.Version), "="))
	if v, err := provider.ParseVersion(exact); call.Versioned && err == nil && v.String() == exact { // usually the version is listed, and its location is then known already
		var beside sync.WaitGroup
		defer beside.Wait()
		beside.Go(func() { _, _ = rs.download(ctx, r, exact) }) // a caller that needs the answer gets its error, too
	}
	listed, err := rs.listed(ctx, r)
	if err != nil {
		return location{}, err
	}
	version, newest := scan.SelectModule(listed.numbers, allowed, tool)
	switch {
	case newest == "":
		return location{}, noVersion("it has no versions")
	case version == "":
		return location{}, noVersion("no version meets the constraint %q; the newest one is %s", call.Version, newest)
	}
	var published time.Time
	if call.Dated {
		published, err = rs.published(ctx, r, version)
		if err != nil {
			return location{}, err
		}
	}
	at, err := rs.locate(ctx, r, version)
	at.version, at.versions, at.published = version, listed.versions, published
	return at, err
}

// published is the date that the registry states for a version. It is no part of the
// protocol, so a registry that answers something else states none
// [developer.hashicorp.com/terraform/registry/api-docs: Get a Specific Module].
func (rs *registries) published(ctx context.Context, r registry, version string) (time.Time, error) {
	u := r.endpoint(version)
	return rs.dates.Do(ctx, registryQuestion{u.String(), r.token}, func() (time.Time, error) {
		resp, err := rs.ask(ctx, r, u, 0)
		var answer struct {
			Published time.Time `json:"published_at"`
		}
		switch {
		case problem.Coded(err, problem.CodeUnreachable), problem.Coded(err, problem.CodeCancelled):
			return time.Time{}, err // the next run may learn it
		case err != nil, resp.Status != http.StatusOK, transport.DecodeJSON(resp.Body, &answer) != nil:
			return time.Time{}, nil
		}
		return answer.Published, nil
	})
}

// of is the registry of a module.
func (rs *registries) of(ctx context.Context, tool provider.Tool, addr moduleaddr.Address) (registry, error) {
	base, err := rs.tools[tool.Name].discovery.Service(ctx, addr.Module.Host, service)
	if err != nil {
		return registry{}, err
	}
	token, err := rs.tools[tool.Name].config.Token(ctx, addr.Module.Host)
	if err != nil {
		return registry{}, err
	}
	if !strings.HasSuffix(base.Path, "/") { // as the tools complete it [terraform 1.11 internal/registry/client.go]
		slashed := *base
		slashed.Path, slashed.RawPath = base.Path+"/", ""
		base = &slashed
	}
	return registry{base, token, addr, tool}, nil
}

func noVersion(format string, args ...any) error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeNoVersion, Message: fmt.Sprintf(format, args...)}}
}

// endpoint is the URL of a question about the module.
func (r registry) endpoint(segments ...string) *url.URL {
	segments = append([]string{r.addr.Module.Namespace, r.addr.Module.Name, r.addr.Module.TargetSystem}, segments...)
	return r.base.ResolveReference(&url.URL{Path: path.Join(segments...)})
}

func (rs *registries) ask(ctx context.Context, r registry, u *url.URL, limit int64) (*transport.Response, error) {
	patience := rs.tools[r.tool.Name].config.Limits()
	resp, err := rs.transport.Do(ctx, transport.Request{
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
		return nil, cliconfig.Unauthorized(r.addr.Module.Host, r.token != "")
	}
	return nil, statusError(u, resp.Status, "")
}

// listed returns the registry's list for the module.
func (rs *registries) listed(ctx context.Context, r registry) (moduleList, error) {
	u := r.endpoint("versions")
	return rs.versions.Do(ctx, registryQuestion{u.String(), r.token}, func() (moduleList, error) {
		resp, err := rs.ask(ctx, r, u, maxVersions)
		switch {
		case err != nil:
			return moduleList{}, err
		case resp.Status == http.StatusNotFound:
			return moduleList{}, unread("the module registry %s does not have it", r.addr.Module.Host.ForDisplay())
		}
		return readListing(resp.Body)
	})
}

// locate asks for the place of a module's version. Terraform reads only a header. OpenTofu
// first reads the body of a 200, which must then be JSON. In newer releases the body says
// whether the registry itself serves the package, and whether with credentials [terraform
// 1.11 internal/registry/client.go] [opentofu 1.12 internal/registry/client.go].
func (rs *registries) locate(ctx context.Context, r registry, version string) (location, error) {
	u := r.endpoint(version, "download")
	resp, err := rs.download(ctx, r, version)
	switch {
	case err != nil:
		return location{}, err
	case resp.Status == http.StatusNotFound:
		return location{}, unread("the module registry %s does not have its version %s", r.addr.Module.Host.ForDisplay(), version)
	}
	source := resp.Header.Get(getHeader)
	var said struct {
		Location    string
		Credentials *bool `json:"use_registry_credentials"`
	}
	if resp.Status == http.StatusOK && r.tool.Has(provider.ModuleLocations) {
		if err := transport.UnmarshalJSON(resp.Body, &said); err != nil {
			return location{}, badAnswer("the registry's answer for its location is not valid: %v", err)
		}
		source = cmp.Or(said.Location, source)
	}
	if source == "" {
		return location{}, badAnswer("the registry does not say where it is")
	}
	if said.Credentials != nil && r.tool.Has(provider.RegistryPackages) {
		request, err := r.archive(u, source, *said.Credentials)
		if err != nil {
			return location{}, err
		}
		served := moduleaddr.Package{Getter: "registry archive", URL: request.URL} // no source can name this getter
		return location{address: moduleaddr.Address{Package: served, Subdir: r.addr.Subdir}, archive: request, from: u}, nil
	}
	beginsWith := func(prefix string) bool { return strings.HasPrefix(source, prefix) }
	if beginsWith("/") || beginsWith("./") || beginsWith("../") {
		ref, err := url.Parse(source)
		if err != nil {
			return location{}, badAnswer("the registry's location for it is no URL")
		}
		source = u.ResolveReference(ref).String()
	}
	a, err := moduleaddr.Parse(source, r.tool.Name)
	switch {
	case a.Kind == moduleaddr.Local || a.Kind == moduleaddr.Registry:
		return location{}, badAnswer("the registry's location for it is no remote address")
	case err != nil:
		return location{}, badAnswer("the registry's location for it is not valid: %v", err)
	}
	at := location{address: a, from: u}
	if a.Package.Getter == "git" {
		at.repository = a.Repository()
	}
	// The caller's directory is relative to the address's directory.
	at.address.Subdir, err = moduleaddr.CleanSubdir(path.Join(a.Subdir, r.addr.Subdir))
	return at, err
}

// download asks for the place of a module's version.
func (rs *registries) download(ctx context.Context, r registry, version string) (*transport.Response, error) {
	u := r.endpoint(version, "download")
	return rs.downloads.Do(ctx, registryQuestion{u.String(), r.token}, func() (*transport.Response, error) {
		return rs.ask(ctx, r, u, 0)
	})
}

// archive is the request for an archive that the registry serves itself. Its first bytes
// show its format.
func (r registry) archive(from *url.URL, source string, credentials bool) (*transport.Request, error) {
	ref, err := url.Parse(source)
	if err != nil {
		return nil, badAnswer("the registry's location for it is no URL")
	}
	u := from.ResolveReference(ref)
	if u.Scheme != "https" && u.Scheme != "http" || u.Fragment != "" {
		return nil, badAnswer("the registry's location for it is no URL of an archive")
	}
	request := &transport.Request{URL: u, Referrer: from, Header: http.Header{"X-Terraform-Version": {r.tool.Version.String()}}}
	// OpenTofu would send the token to any host. relock sends it only to the registry
	// [opentofu 1.12 internal/registry/package_location.go].
	if credentials && (transport.HostPort(u) == transport.HostPort(from) || u.Scheme == "https" && transport.Hostname(u) == r.addr.Module.Host) {
		request.Token = r.token
	}
	return request, nil
}
