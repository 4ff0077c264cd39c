package cliconfig

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// Env is the part of the environment that decides where the configuration is.
type Env struct {
	Getenv  func(string) string
	Environ []string // KEY=VALUE, for TF_TOKEN_ variables
	Home    string
	GOOS    string
}

// Config is the merged configuration of one tool. The zero value is that of an
// operator who configured nothing.
type Config struct {
	services map[svchost.Hostname]map[string]any
	tokens   map[svchost.Hostname]string // of credentials blocks
	environ  map[svchost.Hostname]string // of TF_TOKEN_ variables
	// mirrors are the directories that the tool takes packages from without
	// being told; nil where an installation method is configured.
	mirrors []string
}

// Load reads the configuration that the tool would read. The result is never
// nil; with an error among the diagnostics it must not be used to write locks.
func Load(env Env, tool provider.ToolName) (*Config, []provider.Diagnostic) {
	m := merged{config: &Config{
		services: map[svchost.Hostname]map[string]any{},
		tokens:   map[svchost.Hostname]string{},
		environ:  tokenVariables(env.Environ),
	}}
	if path := env.override(); path != "" {
		m.readNamed(path)
	} else {
		m.readOptional(env.file(tool))
		// The tools skip the directory where a variable names the file, and so
		// the credentials that "terraform login" keeps there.
		m.readDir(env.dir(tool))
	}
	if !m.installation {
		m.config.mirrors = env.mirrors(tool)
	}
	return m.config, m.diags
}

// Token returns what the operator set for the host, "" if nothing. A variable
// wins over a block even if it is empty, as with the tools.
func (c *Config) Token(host svchost.Hostname) string {
	if token, ok := c.environ[host]; ok {
		return token
	}
	return c.tokens[host]
}

// Endpoints returns the host and port of each service URL of each host block,
// sorted, as transport.Client.Admit takes them: the operator named them.
func (c *Config) Endpoints() []string {
	found := map[string]bool{}
	for host, services := range c.services {
		for _, value := range services {
			if u, err := serviceURL(discoveryURL(host), value); err == nil {
				found[transport.HostPort(u)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Mirror returns the directory from which the tool would take the provider
// instead of asking its registry: where no installation method is configured,
// a provider that lies in the plugin directories of the user or the system is
// excluded from its registry, whatever versions lie there.
func (c *Config) Mirror(addr provider.Addr) (dir string, ok bool) {
	for _, base := range c.mirrors {
		dir := filepath.Join(base, addr.Host.ForDisplay(), addr.Namespace, addr.Type)
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		// VERSION/OS_ARCH directories, or zip files.
		if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.IsDir() || strings.HasSuffix(e.Name(), ".zip") }) {
			return dir, true
		}
	}
	return "", false
}

// tokenPrefix begins the variables that hold the token of one host each.
const tokenPrefix = "TF_TOKEN_"

// tokenVariables decodes the hosts of TF_TOKEN_ variables: two underscores
// stand for a hyphen and one for a dot, since shells allow neither in a name.
// International hosts may be given in Unicode or punycode. Names that are no
// hosts are ignored.
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

// CredentialsHint says how to give the tools a token for the host.
func CredentialsHint(host svchost.Hostname) string {
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
