package run

import (
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/module"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/transport"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

// Env is the world around a run. This package reads nothing from the process's environment
// itself.
type Env struct {
	WorkDir   string // absolute
	Getenv    func(string) string
	Environ   []string // NAME=VALUE, for variables whose names are patterns
	Home      string
	GOOS      string
	UserAgent string
	// Server is the host name of the GitHub server, which also serves modules. API and
	// GraphQL are the addresses of its APIs; empty: those of github.com.
	Server, API, GraphQL string
	// HashCache is the path of the user's own hash cache; empty: none. NotesCache is the
	// path of the cache of release notes; empty: none.
	HashCache, NotesCache string
	// ModuleCache is the directory that keeps fetched modules between runs; empty: none.
	ModuleCache string
	// OnGitHub says that the run is on a runner of GitHub. There, other people decide what
	// the repository contains.
	OnGitHub bool
	// Summary says that the caller writes a step summary of the report.
	Summary bool
	// Planned says that a schedule or a person has started the run, and no change of the
	// repository.
	Planned bool
	Log     *slog.Logger
	// Mask gets every secret that the run creates, before its first use, to keep it out of
	// the log; nil: there is no log.
	Mask func(secret string) error
	// Now is the time of the run, for rules about dates.
	Now time.Time
	// Clock measures waits for GitHub, and the age of its answers and tokens. The zero
	// value is the real clock.
	Clock github.Clock
	// Announce is called before packages are downloaded, and again when their size is
	// known. It may be nil. If SizesFirst is set, downloads wait for the size.
	Announce   func(provider.Downloads)
	SizesFirst bool
	// Watch follows the downloads of packages, as registry.Options.Watch does.
	Watch func(name string, size int64) registry.Download
	// Fetching is called with the source of a module before relock fetches it. It may be
	// nil.
	Fetching func(source string)
	// Did is called after each change on GitHub, with a sentence without a full stop. It
	// may be nil.
	Did func(done string)
	// Found is called with the number of root modules of a file tree, before they are
	// planned. It may be nil.
	Found func(roots int)
	// Dial is as in transport.Options.
	Dial func(ctx context.Context, network, hostport string) (net.Conn, error)
}

// Session is what several requests share: the HTTP client, the answers of registries, and
// the hashes of packages. So relock downloads a package once for all repositories.
type Session struct {
	env     Env
	bounds  *bounds
	client  *transport.Client
	configs map[provider.ToolName]*cliconfig.Config
	asking  registry.Options

	mu      sync.Mutex                       // for sources, documents and fetchers
	sources map[registryKey]*registry.Client // see registries
	// documents are the discovery answers of hosts, by who named the hosts. That decides
	// which hosts relock may contact.
	documents map[Head]*cliconfig.Documents
	hashes    *hash.Cache
	// allowance bounds the downloads for finding out whether hashes belong to anything.
	// Verify has its own.
	allowance *verify.Allowance
	notes     *notes.Cache                            // nil remembers nothing
	clients   *clients                                // of the GitHub server
	fetchers  map[modulesKey]*module.Client           // see modulesFor
	packages  string                                  // keeps whole packages of modules; empty: none are wanted
	named     []svchost.Hostname                      // by the operator, in the CLI configuration
	broken    map[provider.ToolName][]problem.Problem // errors in the CLI configuration of a tool
	// warnings are about the CLI configuration.
	warnings []problem.Problem
}

// Open makes the session for an ask, and for others with the same means. It makes no
// request. The caller must call Close.
func Open(env Env, a Ask) (*Session, error) {
	c := a.means.Settings
	s := &Session{
		env: env, bounds: newBounds(c.Timeout, env.OnGitHub), allowance: verify.NewAllowance(verify.MostAccounted),
		configs: map[provider.ToolName]*cliconfig.Config{}, sources: map[registryKey]*registry.Client{}, fetchers: map[modulesKey]*module.Client{},
		documents: map[Head]*cliconfig.Documents{}, broken: map[provider.ToolName][]problem.Problem{},
	}
	var err error
	s.hashes, err = openCache(env, a)
	if err != nil {
		return nil, err
	}
	s.notes = openNotes(env, a.verb)
	s.client = transport.New(transport.Options{UserAgent: env.UserAgent, Log: env.Log, Dial: env.Dial})
	s.clients = &clients{env: env, http: s.client}
	for _, name := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
		s.configs[name] = s.configOf(name)
	}
	s.asking = registry.Options{
		Log:               env.Log,
		MaxDownloads:      c.Jobs,
		Watch:             env.Watch,
		Arrived:           s.bounds.arrived,
		Cache:             s.hashes,
		Content:           c.Packages,
		Origin:            c.Exact && a.mode == upgrade.Complete,
		EnforceValidation: env.Getenv("OPENTOFU_ENFORCE_GPG_VALIDATION") == "true",
		EnforceExpiration: env.Getenv("OPENTOFU_ENFORCE_GPG_EXPIRATION") == "true",
	}
	return s, nil
}

// registryKey identifies requests that may share the answers of registries.
type registryKey struct {
	hashSource string // source of trusted hashes
	head       Head   // who named the registries
}

// registries returns the source of releases for files with these settings. It asks through
// client. Repositories may differ in their source of trusted hashes. They share computed
// hashes by the hash cache.
func (s *Session) registries(head Head, c settings.Settings, client *transport.Client) *registry.Client {
	key := registryKey{hashSource(c), head}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sources[key] == nil {
		asking := s.asking
		asking.HashSource, asking.Documents = key.hashSource, s.documentsFor(head)
		s.sources[key] = registry.New(client, s.configs, asking)
	}
	return s.sources[key]
}

// clientFor returns the client for hosts that the files of an ask name. The GitHub server,
// which may have a token, comes from the operator.
func (s *Session) clientFor(a Ask) *transport.Client {
	if s.env.Server != "" {
		s.client.Admit(transport.HostPort(&url.URL{Scheme: "https", Host: s.env.Server}))
	}
	switch a.head {
	case OwnHead:
		return s.client.For(transport.OwnHead, nil)
	case ForkHead:
		return s.client.For(transport.ForkHead, a.ofBase)
	}
	return s.client
}

// modulesKey identifies jobs that may share fetched modules.
type modulesKey struct {
	head  Head // who named the modules
	local bool // modules may be elsewhere on the disk
	// repository has its own token for modules; empty: all share one.
	repository string
}

// modulesFor returns the client that fetches modules for a job. All repositories and base
// branches share the fetched modules, since the caller of a module makes no difference.
func (s *Session) modulesFor(j job, client *transport.Client) *module.Client {
	key := modulesKey{head: j.ask.head, local: !s.env.OnGitHub && j.target.remote == nil}
	if j.access.github.App != nil && j.access.owner == "" {
		key.repository = j.target.repository
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fetchers[key] == nil {
		s.fetchers[key] = module.New(client, s.configs, module.Options{
			Log: s.env.Log, Env: s.cliEnv(), AllowLocal: key.local,
			Token: moduleToken(j), TokenHost: s.env.Server, Contact: j.contact(), Ambient: j.ambient(), Head: key.head != NoHead,
			Cache: cmp.Or(s.packages, moduleCache(s.env, j.ask, j.settings.Cache)), Jobs: j.settings.Jobs, Documents: s.documentsFor(key.head), Fetching: s.env.Fetching,
			Whole: s.packages != "", Silent: j.ask.silent,
		})
	}
	return s.fetchers[key]
}

// documentsFor returns the discovery answers of hosts, by who named the hosts. The caller
// holds the lock.
func (s *Session) documentsFor(head Head) *cliconfig.Documents {
	if s.documents[head] == nil {
		s.documents[head] = cliconfig.NewDocuments()
	}
	return s.documents[head]
}

// Whole runs work of several asks. An interrupt ends it as it ends Run.
func (s *Session) Whole(ctx context.Context, do func(ctx context.Context) (report.Report, error)) (report.Report, error) {
	ctx, stop := s.bounds.heed(ctx)
	defer stop()
	return s.bounds.counted(do(ctx))
}

// Plan reads a repository and plans an ask of ToProposeOf for it, with the configuration
// file of its default branch. Several repositories may be planned at once. The caller must
// call Forget after Deliver.
func (s *Session) Plan(ctx context.Context, a Ask, repository string, visit Visit) *Plan {
	visit.Lookup.several = true
	s.env.Log.Info("looking at a repository", "repository", repository)
	return makePlan(ctx, s, a, target{repository: repository, dirs: a.targets[0].dirs}, visit)
}

// Forget drops the clients of a repository: there may be thousands.
func (s *Session) Forget(p *Plan) { s.clients.forget(p.given.repository) }

// Env is the world around the runs of the session.
func (s *Session) Env() Env { return s.env }

// Asking returns the context for questions. It ends with an interrupt, and with the time of
// the session.
func (s *Session) Asking(ctx context.Context) (context.Context, context.CancelFunc) {
	return s.bounds.asking(ctx)
}

// Acting returns the context for work around asks, such as the answer to a comment. It ends
// writingTime after an interrupt.
func (s *Session) Acting(ctx context.Context) (context.Context, context.CancelFunc) {
	return s.bounds.heed(ctx)
}

// Interrupted is an error if the run was interrupted. Then nothing new begins.
func (s *Session) Interrupted() error {
	if s.bounds.isInterrupted() {
		return errInterrupted
	}
	return nil
}

// Owner returns the client that lists and reads the repositories of a ToProposeOf ask's
// owner. It reads custom properties if the caller selects by them.
func (s *Session) Owner(a Ask, properties bool) (*github.Client, error) {
	return s.clients.ofOwner(accessFor(s.env, a, a.means.Settings), properties)
}

// Releases is the source of registries' answers for an ask.
func (s *Session) Releases(a Ask) upgrade.Source {
	return s.registries(a.head, a.means.Settings, s.clientFor(a))
}

// Close writes the caches for the next session.
func (s *Session) Close() {
	if err := s.hashes.Close(); err != nil {
		s.env.Log.Warn("the hash cache could not be written in whole", "error", file.Cause(err))
	}
	if s.notes == nil {
		return
	}
	if err := s.notes.Save(); err != nil {
		s.env.Log.Warn("the release notes could not be kept", "error", file.Cause(err))
	}
}

// Repository returns the first repository that an ask is about, with the client for it.
func (s *Session) Repository(a Ask) (*github.Repository, error) {
	return s.clients.reach(accessFor(s.env, a, a.means.Settings), a.targets[0].repository)
}

// AtDefault returns those of the named files that the default branch of a repository on
// GitHub has, and the branch's name.
func (s *Session) AtDefault(ctx context.Context, a Ask, names []string) (files fs.FS, branch string, err error) {
	repo, branch, commit, err := s.clients.head(ctx, accessFor(s.env, a, a.means.Settings), a.targets[0].repository, "")
	if err != nil {
		return nil, branch, err
	}
	files, err = repo.Snapshot(ctx, commit, func(name string) bool { return slices.Contains(names, name) })
	return files, branch, err
}

// Spent returns the costs of the session so far.
func (s *Session) Spent() report.Stats {
	asked := s.client.Stats()
	peak := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(peak)
	packages, cached := 0, 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, source := range s.sources {
		packages, cached = packages+source.Packages(), cached+source.Cached()
	}
	return report.Stats{
		Requests: asked.Requests, Bytes: asked.Bytes,
		Packages: int64(packages), Cached: int64(cached),
		PeakBytes: int64(peak[0].Value.Uint64()),
	}
}

// openNotes opens the cache of release notes, for a run that writes some. Release notes
// decide nothing, so a broken cache is no problem.
func openNotes(env Env, verb verbs.Verb) *notes.Cache {
	if verb != verbs.PR || env.NotesCache == "" {
		return nil
	}
	cache, err := notes.OpenCache(env.NotesCache)
	if err != nil {
		env.Log.Debug("the release notes of earlier runs cannot be used", "error", file.Cause(err))
		return nil
	}
	return cache
}

func (s *Session) cliEnv() cliconfig.Env {
	return cliconfig.Env{Getenv: s.env.Getenv, Environ: s.env.Environ, Home: s.env.Home, GOOS: s.env.GOOS}
}

// configOf reads the CLI configuration of a tool. Both tools may read the same file, so
// each warning is given once. Only one of the tools may know a block of it. So an error
// counts only if a root module is for that tool.
func (s *Session) configOf(name provider.ToolName) *cliconfig.Config {
	cfg, diagnostics := cliconfig.Load(s.cliEnv(), name)
	for _, d := range diagnostics {
		if d.Severity == problem.SeverityError {
			s.broken[name] = append(s.broken[name], d)
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

// usable fails if a root module needs a tool whose CLI configuration has an error.
func usable(j job, all []found) error {
	for _, tool := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
		if len(j.broken[tool]) > 0 && slices.ContainsFunc(all, func(f found) bool { return f.module.Tool.Name == tool }) {
			return &problem.Error{Problem: j.broken[tool][0]}
		}
	}
	return nil
}

// hashSource is the source of trusted hashes. A strict run trusts none, and downloads the
// packages.
func hashSource(c settings.Settings) string {
	if c.Strict {
		return ""
	}
	return c.HashSource
}

// CommitOfTag asks a public git repository for the commit of a tag. It is empty if the
// repository has no such tag. relock sends no token.
func CommitOfTag(ctx context.Context, s *Session, repository, tag string) (string, error) {
	ctx, stop := s.Asking(ctx)
	defer stop()
	asker := module.New(s.client, s.configs, module.Options{Log: s.env.Log, Env: s.cliEnv(), AllowLocal: !s.env.OnGitHub})
	return asker.CommitOfTag(ctx, repository, tag)
}
