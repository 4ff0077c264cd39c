package run

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/module"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/transport"
	"github.com/relock-dev/relock/internal/upgrade"
)

// Head says whether the file tree is the head of a pull request, and whose. A
// head chooses nothing: neither credentials nor, from a fork, hosts.
type Head int

const (
	NoHead   Head = iota
	OwnHead       // of a branch of the repository itself
	ForkHead      // of somebody else's repository
)

// connect makes the one HTTP client of the run, and on it what asks registries
// and fetches modules, by the CLI configuration of both tools.
func (c *corridor) connect() {
	c.client = transport.New(transport.Options{UserAgent: c.env.UserAgent, Log: c.env.Log})
	configs := map[provider.ToolName]*cliconfig.Config{}
	for _, name := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
		configs[name] = c.configOf(name)
	}
	c.source = registry.New(c.client, configs, registry.Options{
		Log:               c.env.Log,
		Cache:             c.hashes,
		Origin:            c.req.Plan.Exact && c.req.Plan.Mode == upgrade.Complete,
		EnforceValidation: c.env.Getenv("OPENTOFU_ENFORCE_GPG_VALIDATION") == "true",
		EnforceExpiration: c.env.Getenv("OPENTOFU_ENFORCE_GPG_EXPIRATION") == "true",
	})
	c.modules = module.New(c.client, configs, module.Options{
		Log: c.env.Log, Env: c.cliEnv(), AllowLocal: !c.env.OnGitHub,
		Tokens: c.req.ModuleTokens, Contact: c.contact(), Ambient: c.ambient(),
		Cache: c.env.ModuleCache, Jobs: c.req.Plan.Jobs,
	})
}

// openCache opens the hash cache. One that somebody names must be usable; the
// user's own is done without if it is not. Whoever can write to the cache decides
// what lock files say, so that on GitHub only runs of the base branch add to it.
func (c *corridor) openCache() error {
	if c.req.Verb == Scan {
		return nil
	}
	name := cmp.Or(c.req.Cache, c.env.HashCache)
	if name == "" {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.env.WorkDir, name)
	}
	open := hash.OpenCache
	if c.env.OnGitHub && c.req.Verb != PR {
		open = hash.OpenReadOnlyCache
	}
	var err error
	if c.hashes, err = open(name); err == nil {
		return nil
	}
	if c.req.Cache != "" {
		return fmt.Errorf("opening the hash cache %s: %w", c.req.Cache, cause(err))
	}
	c.env.Log.Warn("the hash cache cannot be used", "path", name, "error", cause(err))
	return nil
}

func (c *corridor) closeCache() {
	if err := c.hashes.Close(); err != nil {
		c.env.Log.Warn("the hash cache could not be written in whole", "error", cause(err))
	}
}

func (c *corridor) cliEnv() cliconfig.Env {
	return cliconfig.Env{Getenv: c.env.Getenv, Environ: c.env.Environ, Home: c.env.Home, GOOS: c.env.GOOS}
}

// configOf reads the CLI configuration of a tool. Both tools may read the same
// file: what it warns of is said once. What is wrong for one tool may be right
// for the other, such as a block that only one of them knows: it is in the way
// only where a root module is for that tool.
func (c *corridor) configOf(name provider.ToolName) *cliconfig.Config {
	cfg, diagnostics := cliconfig.Load(c.cliEnv(), name)
	for _, d := range diagnostics {
		if d.Severity == provider.SeverityError {
			c.broken = append(c.broken, broken{name, d})
		} else if !slices.Contains(c.report.Diagnostics, d) {
			c.report.Diagnostics = append(c.report.Diagnostics, d)
		}
	}
	for _, endpoint := range cfg.Endpoints() {
		c.client.Admit(endpoint)
	}
	c.named = append(c.named, cfg.Hosts()...)
	return cfg
}

// broken is what makes the CLI configuration of a tool unusable.
type broken struct {
	tool  provider.ToolName
	cause provider.Diagnostic
}

// usable fails if a root module is for a tool whose CLI configuration is not.
func (c *corridor) usable() error {
	for _, b := range c.broken {
		if slices.ContainsFunc(c.found, func(f found) bool { return f.module.Tool.Name == b.tool }) {
			return b.cause
		}
	}
	return nil
}

// contact says which hosts may be contacted because a file names them; nil
// admits all. Whoever proposes changes from a fork must not be able to make a
// runner speak to hosts of their choice: only the public registries, GitHub's
// own host and those that the operator's configuration names remain.
func (c *corridor) contact() func(host string) bool {
	if c.req.Head != ForkHead {
		return nil
	}
	return func(host string) bool {
		public := host == string(provider.Terraform.DefaultHost()) || host == string(provider.OpenTofu.DefaultHost())
		return public || host == c.env.Server || c.req.ModuleTokens[host] != "" || slices.Contains(c.named, svchost.Hostname(host))
	}
}

// ambient says for which places credentials that lie about on the machine may
// be used; nil admits all. For the head of a pull request these are only the
// hosts that the operator gave a token for.
func (c *corridor) ambient() func(place string) bool {
	if c.req.Head == NoHead {
		return nil
	}
	return func(place string) bool { return c.req.ModuleTokens[place] != "" }
}

// refuse notes the providers of a root module whose registry may not be
// contacted.
func (c *corridor) refuse(f *found) {
	admitted := c.contact()
	if admitted == nil {
		return
	}
	for _, r := range f.module.Requirements {
		host := r.Addr.Host
		if admitted(string(host)) {
			continue
		}
		f.module.Diagnostics = append(f.module.Diagnostics, provider.Diagnostic{
			Code: provider.CodeUnreachable, Addr: r.Addr, Host: host, File: r.Terms[0].File, Line: r.Terms[0].Line,
			Message: "the registry " + host.ForDisplay() + " is not contacted for a pull request from a fork",
			Hint:    "name it in a host block of the runner's CLI configuration, if such pull requests may use it",
		})
	}
}
