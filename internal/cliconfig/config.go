package cliconfig

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// Env is the part of the environment that decides where the configuration is
// and what it is.
type Env struct {
	Getenv  func(string) string
	Environ []string // KEY=VALUE, for TF_TOKEN_ variables and credentials helpers
	Home    string
	GOOS    string
}

// Config is the merged configuration of one tool. The zero value is that of an
// operator who configured nothing and has no plugin directories.
type Config struct {
	services map[svchost.Hostname]map[string]any
	tokens   map[svchost.Hostname]string // of credentials blocks; "" of one without a token
	environ  map[svchost.Hostname]string // of TF_TOKEN_ variables
	helper   *tokenHelper
	limits   Limits
	oci      ociPolicy

	methods []Method // of the provider_installation block, if there is one
	// implied are the directories that the tool looks into where there is no
	// such block [terraform 1.11 provider_source.go].
	explicit   bool
	implied    []string
	overridden []provider.Addr // by dev_overrides, sorted
}

// Token returns what the operator set for the host, "" if nothing. As with the
// tools, a variable wins over a block even if it is empty, a block over the
// credentials helper even if it has no token, and the helper is asked once for
// each host.
//
// Errors are *problem.Error: CodeUnauthorized if the helper fails, or
// CodeCancelled.
func (c *Config) Token(ctx context.Context, host svchost.Hostname) (string, error) {
	if token, ok := c.environ[host]; ok {
		return token, nil
	}
	if token, ok := c.tokens[host]; ok || c.helper == nil {
		return token, nil
	}
	return c.helper.token(ctx, host)
}

// Hosts returns the hosts that the configuration names in host and credentials
// blocks and in TF_TOKEN_ variables, sorted.
func (c *Config) Hosts() []svchost.Hostname {
	named := slices.Collect(maps.Keys(c.services))
	named = slices.AppendSeq(named, maps.Keys(c.tokens))
	named = slices.AppendSeq(named, maps.Keys(c.environ))
	slices.Sort(named)
	return slices.Compact(named)
}

// Endpoints returns the host and port of everything that the operator named: the
// Hosts, the service URLs of host blocks, network mirrors and OCI registries. It
// is sorted, and as transport.Client.Admit takes it.
func (c *Config) Endpoints() []string {
	found := map[string]bool{}
	for _, host := range c.Hosts() {
		found[transport.HostPort(discoveryURL(host))] = true
	}
	for host, services := range c.services {
		for _, value := range services {
			if u, err := serviceURL(discoveryURL(host), value); err == nil {
				found[transport.HostPort(u)] = true
			}
		}
	}
	for _, m := range c.methods {
		if u := m.endpoint(); u != nil {
			found[transport.HostPort(u)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Methods returns where the tool looks for providers, in its order. Without a
// provider_installation block these are the plugin directories that exist, and
// the registry for providers that are in none of them: then implied is true,
// and what lies in the directories must be looked up [terraform 1.11 provider_source.go].
func (c *Config) Methods() (methods []Method, implied bool) {
	if c.explicit {
		return c.methods, false
	}
	for _, dir := range c.implied {
		methods = append(methods, Method{Kind: Filesystem, Path: dir})
	}
	return append(methods, Method{Kind: Direct}), true
}

// Overridden are the providers that dev_overrides replace, sorted.
func (c *Config) Overridden() []provider.Addr { return c.overridden }

// Limits returns the settings for all servers: how often and how long to ask.
func (c *Config) Limits() Limits { return c.limits }

// tokenPrefix begins the variables that hold the token of one host each.
const tokenPrefix = "TF_TOKEN_"

// tokenVariables decodes the hosts of TF_TOKEN_ variables. Two underscores mean a hyphen,
// and one means a dot, since shells allow neither in a name. International hosts may be in
// Unicode or punycode. Invalid hosts are ignored.
func tokenVariables(environ []string) map[svchost.Hostname]string {
	tokens := map[svchost.Hostname]string{}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		encoded, ok := strings.CutPrefix(name, tokenPrefix)
		if !ok {
			continue
		}
		given := strings.ReplaceAll(strings.ReplaceAll(encoded, "__", "-"), "_", ".")
		if host, err := svchost.ForComparison(svchost.ForDisplay(given)); err == nil {
			tokens[host] = value
		}
	}
	return tokens
}

// hostTokenHint says how to give the tools a token for the host.
func hostTokenHint(host svchost.Hostname) string {
	block := `a credentials "` + host.ForDisplay() + `" block in the CLI configuration`
	if strings.Contains(host.String(), ":") {
		return "set a token in " + block // a variable's name cannot hold a port
	}
	name := strings.NewReplacer("-", "__", ".", "_").Replace(host.String())
	return "set " + tokenPrefix + name + ", or a token in " + block
}

func discoveryURL(host svchost.Hostname) *url.URL {
	return &url.URL{Scheme: "https", Host: host.String(), Path: "/.well-known/terraform.json"}
}
