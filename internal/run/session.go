package run

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/module"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/transport"
	"github.com/relock-dev/relock/internal/upgrade"
)

// Session is what several requests share: the one HTTP client, what registries
// have answered and packages have hashed to. So a package is downloaded once
// for all repositories that need it.
type Session struct {
	env     Env
	client  *transport.Client
	configs map[provider.ToolName]*cliconfig.Config
	source  *registry.Client
	hashes  *hash.Cache
	named   []svchost.Hostname // by the operator, in the CLI configuration
	broken  []broken
	// warnings are those of the CLI configuration.
	warnings []provider.Diagnostic
}

// Open makes the session for a request, and for others that agree with it in
// verb, cache and plan. It asks nobody anything. Close must be called.
func Open(env Env, req Request) (*Session, error) {
	s := &Session{env: env, configs: map[provider.ToolName]*cliconfig.Config{}}
	if err := s.openCache(req); err != nil {
		return nil, err
	}
	s.client = transport.New(transport.Options{UserAgent: env.UserAgent, Log: env.Log})
	for _, name := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
		s.configs[name] = s.configOf(name)
	}
	s.source = registry.New(s.client, s.configs, registry.Options{
		Log:               env.Log,
		Cache:             s.hashes,
		Origin:            req.Plan.Exact && req.Plan.Mode == upgrade.Complete,
		EnforceValidation: env.Getenv("OPENTOFU_ENFORCE_GPG_VALIDATION") == "true",
		EnforceExpiration: env.Getenv("OPENTOFU_ENFORCE_GPG_EXPIRATION") == "true",
	})
	return s, nil
}

// Close writes what is remembered for the next session.
func (s *Session) Close() {
	if err := s.hashes.Close(); err != nil {
		s.env.Log.Warn("the hash cache could not be written in whole", "error", cause(err))
	}
}

// Do carries out a request. Whatever goes wrong with one root module, provider
// or pull request is in the report. An error means that the request itself
// cannot be carried out: it is for the person who made it.
func (s *Session) Do(ctx context.Context, req Request) (report.Report, error) {
	c := &corridor{Session: s, req: req, report: report.Report{Verb: string(req.Verb), DryRun: req.Pull.DryRun}}
	c.report.Diagnostics = slices.Clone(s.warnings)
	c.modules = module.New(s.client, s.configs, module.Options{
		Log: s.env.Log, Env: s.cliEnv(), AllowLocal: !s.env.OnGitHub,
		Tokens: req.ModuleTokens, Contact: c.contact(), Ambient: c.ambient(),
		Cache: s.env.ModuleCache, Jobs: req.Plan.Jobs,
	})
	err := c.walk(ctx)
	return c.report, err
}

// openCache opens the hash cache. One that somebody names must be usable; the
// user's own is done without if it is not. Whoever can write to the cache decides
// what lock files say, so that on GitHub only runs of the base branch add to it.
func (s *Session) openCache(req Request) error {
	if req.Verb == Scan {
		return nil
	}
	name := cmp.Or(req.Cache, s.env.HashCache)
	if name == "" {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.env.WorkDir, name)
	}
	open := hash.OpenCache
	if s.env.OnGitHub && req.Verb != PR {
		open = hash.OpenReadOnlyCache
	}
	var err error
	if s.hashes, err = open(name); err == nil {
		return nil
	}
	if req.Cache != "" {
		return fmt.Errorf("opening the hash cache %s: %w", req.Cache, cause(err))
	}
	s.env.Log.Warn("the hash cache cannot be used", "path", name, "error", cause(err))
	return nil
}

func (s *Session) cliEnv() cliconfig.Env {
	return cliconfig.Env{Getenv: s.env.Getenv, Environ: s.env.Environ, Home: s.env.Home, GOOS: s.env.GOOS}
}

// configOf reads the CLI configuration of a tool. Both tools may read the same
// file: what it warns of is said once. What is wrong for one tool may be right
// for the other, such as a block that only one of them knows: it is in the way
// only where a root module is for that tool.
func (s *Session) configOf(name provider.ToolName) *cliconfig.Config {
	cfg, diagnostics := cliconfig.Load(s.cliEnv(), name)
	for _, d := range diagnostics {
		if d.Severity == provider.SeverityError {
			s.broken = append(s.broken, broken{name, d})
		} else if !slices.Contains(s.warnings, d) {
			s.warnings = append(s.warnings, d)
		}
	}
	for _, endpoint := range cfg.Endpoints() {
		s.client.Admit(endpoint)
	}
	s.named = append(s.named, cfg.Hosts()...)
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
