package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/oci"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/transport"
)

// DefaultJobs is how many packages are fetched at once. Most of the time is spent waiting
// for servers.
const DefaultJobs = 8

// Options are the settings of a Client. The zero value of each one is its default. The
// defaults, except for AllowLocal, fit a person who runs relock on a checkout.
type Options struct {
	Log *slog.Logger
	// Env is the environment for git and the netrc file.
	Env cliconfig.Env
	// AllowLocal allows packages on this machine's disk: absolute paths and file URLs, also
	// of git repositories.
	AllowLocal bool
	// Token returns the operator's credential for a git host in lower case, or "" if there
	// is none. nil has none. With a token the host is asked over https, even if a source
	// says ssh. Errors are *problem.Error.
	Token func(ctx context.Context, host string) (string, error)
	// TokenHost is the host for which the operator can set a token, for hints in errors;
	// empty: none.
	TokenHost string
	// Contact reports whether relock may contact a host that a source or a fetched package
	// names; nil allows all. It is not asked about hosts that a registry names, nor about
	// hosts that HTTP redirects name.
	Contact func(host string) bool
	// Ambient reports whether relock may use the machine's own credentials for a host (for
	// object stores HOST/BUCKET): those of git's configuration, ssh, the netrc file, the
	// clouds and Docker. nil allows all. For a pull request's head, allow only hosts that
	// the operator lists.
	Ambient func(place string) bool
	// Head says that the sources are from a pull request's head, which must choose nothing.
	// Then the operator's git configuration and keys are not used, nor credentials in the
	// address of an object store.
	Head bool
	// Cache is a directory that keeps packages with immutable references between runs; none
	// if empty.
	Cache string
	// Whole fetches pinned packages with all files, for Client.Whole. It needs Cache. Without
	// it only files of configurations are read.
	Whole bool
	// Silent asks nobody for a pinned package: it must be in Cache.
	Silent bool
	Jobs   int // DefaultJobs if 0
	// Fetching is called with the source of a module before it is fetched. It may be nil.
	Fetching func(source string)
	// Documents are the discovery documents that hosts have returned so far; nil: none.
	Documents *cliconfig.Documents

	limits gitLimits // standardLimits if zero
}

// mayContact refuses a host that relock must not contact.
func (o Options) mayContact(host string) error {
	if host == "" || o.Contact == nil || o.Contact(host) {
		return nil
	}
	return refusedModule("hosts that the base branch does not use are not contacted for a pull request from a fork",
		"the host %s is not one that modules are fetched from here", host)
}

// mayContactAt is mayContact for a URL. The operator may have named its host with the port.
func (o Options) mayContactAt(u *url.URL) error {
	if u.Port() != "" && o.mayContact(u.Host) == nil {
		return nil
	}
	return o.mayContact(u.Hostname())
}

// ambient reports whether relock may use the machine's own credentials for a place.
func (o Options) ambient(place string) bool { return o.Ambient == nil || o.Ambient(place) }

// own reports whether the operator's git configuration and keys are used for a host. For a
// pull request's head they never are: the head also chooses the repository.
func (o Options) own(host string) bool { return !o.Head && o.ambient(host) }

// mayAsk refuses all questions to others with Options.Silent.
func (o Options) mayAsk() error {
	if !o.Silent {
		return nil
	}
	return refusedModule("run relock get, which fetches it", "it is not in the cache, and nobody is asked for it")
}

// means are the values that all ways of fetching need.
type means struct {
	opts      Options
	transport *transport.Client
	cache     *cache
	greeting  *memo.Memo[string, netip.Addr] // which address of an ssh host answers
}

// Client fetches module packages. It is a scan.Source. One client serves a whole run.
type Client struct {
	means
	tools map[provider.ToolName]toolConfig
	slots *semaphore.Weighted // one for each package that is being fetched

	registries registries
	web        web
	gits       gits
	stores     stores

	locations memo.Memo[packageOrigin, location]
	packages  memo.Memo[packageQuestion, contents]
	saved     memo.Memo[savedQuestion, contents] // whole packages of the cache
	parts     memo.Memo[string, fs.FS]           // parts of packages, by ID
	tags      memo.Memo[string, []string]        // tags of git repositories, by package address
	// references are what refs of git name now, by package address.
	references memo.Memo[string, scan.Reference]
}

var _ scan.Source = (*Client)(nil)

// New returns a client that uses each tool's CLI configuration for that tool's registries.
// A tool without an entry has an empty configuration.
func New(t *transport.Client, configs map[provider.ToolName]*cliconfig.Config, opts Options) *Client {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Env.Getenv == nil {
		opts.Env.Getenv = func(string) string { return "" }
	}
	opts.limits = cmp.Or(opts.limits, standardLimits)
	m := means{opts, t, &cache{dir: opts.Cache, log: opts.Log}, &memo.Memo[string, netip.Addr]{ForgetErrors: true}}
	c := &Client{
		means: m, tools: map[provider.ToolName]toolConfig{}, slots: semaphore.NewWeighted(int64(cmp.Or(opts.Jobs, DefaultJobs))),
		gits: gits{m, &memo.Memo[gitQuestion, commits]{}, &memo.Memo[historyQuestion, commits]{}}, web: web{m, readNetrc(opts.Env)}, stores: stores{m, publicClouds},
	}
	c.registries = registries{transport: t, tools: c.tools}
	for _, tool := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
		config := cmp.Or(configs[tool], &cliconfig.Config{})
		c.tools[tool] = toolConfig{config, cliconfig.NewDiscovery(config, t, opts.Documents)}
	}
	return c
}

// Packages returns the number of distinct packages that were fetched, without those from
// the cache.
func (c *Client) Packages() int { return int(c.cache.fetched.Load()) }

// contents is a fetched package.
type contents struct {
	fs        fs.FS
	id        string
	hash      string         // as in scan.Package
	reference scan.Reference // of a git source
	disk      string         // the directory of this machine that it is; otherwise empty
	whole     *Whole         // all files, with Options.Whole
	part      string         // the directory of whole that it is; empty: all of it
}

// Fetch implements scan.Source. Errors are *problem.Error: CodeUnreadModule,
// CodeInvalidConfig for an invalid address, CodeNoVersion, CodeNoService, CodeUnauthorized,
// CodeUnreachable, CodeBadAnswer, CodeBadChecksum, CodeModuleMoved,
// CodeModuleForeign or CodeCancelled.
func (c *Client) Fetch(ctx context.Context, tool provider.Tool, call scan.Call) (scan.Package, error) {
	if c.opts.Fetching != nil {
		c.opts.Fetching(moduleaddr.Shown(call.Source))
	}
	got, err := c.find(ctx, tool, call)
	if err != nil {
		return scan.Package{}, err
	}
	return scan.Package{
		FS: got.fs, Dir: got.dir, ID: got.id, Hash: got.hash, Reference: got.reference,
		Version: got.version, Versions: got.versions, Repository: got.repository, Published: got.published,
	}, nil
}

// Whole returns all files of the package of a pinned call, or the directory of a call that is
// on this machine's disk. It needs Options.Whole. The files are proven by the pin. Errors are
// as those of Fetch, or CodeModuleOnDisk for an archive on the disk.
func (c *Client) Whole(ctx context.Context, tool provider.Tool, call scan.Call) (*Whole, error) {
	got, err := c.find(ctx, tool, call)
	switch {
	case err != nil:
		return nil, err
	case got.whole == nil && got.disk == "":
		return nil, coded(problem.CodeModuleOnDisk, "an archive on the disk of this machine cannot be locked")
	case got.whole == nil:
		return &Whole{Link: got.disk}, nil
	case got.part != "":
		return got.whole.Part(got.part), nil
	}
	return got.whole, nil
}

// Published returns when the registry of a module published a version. It is zero if the
// registry states no date. Errors are *problem.Error.
func (c *Client) Published(ctx context.Context, tool provider.Tool, address, version string) (time.Time, error) {
	a, err := moduleaddr.Parse(address, tool.Name)
	if err != nil || a.Kind != moduleaddr.Registry {
		return time.Time{}, nil
	}
	if err := c.opts.mayContact(a.Module.Host.String()); err != nil {
		return time.Time{}, err
	}
	r, err := c.registries.of(ctx, tool, a)
	if err != nil {
		return time.Time{}, err
	}
	return c.registries.published(ctx, r, version)
}

func (c *Client) wholes() wholes { return wholes{c} }

// answer is the module of a call in its package.
type answer struct {
	contents
	dir string
	selected
}

// find fetches the package of a call, and finds the module in it.
func (c *Client) find(ctx context.Context, tool provider.Tool, call scan.Call) (answer, error) {
	a, err := moduleaddr.Parse(call.Source, tool.Name)
	switch {
	case a.Kind == moduleaddr.Registry && err == nil:
		got, err := c.fromRegistry(ctx, tool, a, call)
		if err != nil {
			e := unfetched("module", a.Module.ForDisplay(), err)
			e.Problem.Host = cmp.Or(e.Problem.Host, a.Module.Host) // the error is new, so nobody else has it
			return answer{}, e
		}
		return got, nil
	case call.Versioned:
		return answer{}, invalidAddress("a module with a version must come from a module registry")
	case err != nil:
		return answer{}, invalidAddress("invalid module source address: %v", err)
	case a.Kind == moduleaddr.Local:
		return answer{}, invalidAddress("invalid module source address: it is a path in the package of the calling module")
	}
	if err := c.opts.mayContactAt(a.Package.URL); err != nil {
		return answer{}, err
	}
	got, err := c.fromRemote(ctx, tool, a, location{address: a}, call)
	if err != nil {
		return answer{}, unfetched(modulePackage, redact(a.Package.URL), err)
	}
	return got, nil
}

// fromRegistry fetches the package of a registry module: that of the pin, or of the version
// that it selects.
func (c *Client) fromRegistry(ctx context.Context, tool provider.Tool, addr moduleaddr.Address, call scan.Call) (answer, error) {
	if err := c.opts.mayContact(addr.Module.Host.String()); err != nil {
		return answer{}, err
	}
	if got, ok := c.wholes().remembered(ctx, addr, call); ok {
		return got, nil
	}
	at, err := c.located(ctx, tool, addr, call)
	if err != nil {
		return answer{}, err
	}
	return c.fromRemote(ctx, tool, addr, at, call)
}

// located is the place of a registry module.
func (c *Client) located(ctx context.Context, tool provider.Tool, addr moduleaddr.Address, call scan.Call) (location, error) {
	if call.Pin.Version == "" || call.Pin.Hash == "" {
		return c.registries.find(ctx, tool, addr, call)
	}
	if call.Pin.Package == "" {
		if err := c.opts.mayAsk(); err != nil {
			return location{}, err
		}
		r, err := c.registries.of(ctx, tool, addr)
		if err != nil {
			return location{}, err
		}
		at, err := c.registries.locate(ctx, r, call.Pin.Version)
		at.version = call.Pin.Version
		return at, err
	}
	at, err := pinnedRepository(call.Pin, addr.Subdir)
	if err != nil {
		return location{}, err
	}
	return at, c.opts.mayContactAt(at.address.Package.URL)
}

// location is the place of a package, according to a configuration or a server.
type location struct {
	address moduleaddr.Address // the address of the package, with the module's directory
	from    *url.URL           // the server that named it; nil: a configuration
	// archive is the request for a package that a registry serves itself; otherwise nil.
	archive *transport.Request
	selected
}

// selected is the version of a registry module, with the registry's list, the git repository
// that it names, and its date if the call asks for it; zero for others.
type selected struct {
	version    string
	versions   *scan.ModuleVersions
	repository string
	published  time.Time
}

// packageOrigin is a package address with the server that referred to it. The server
// decides whether the package may be on this machine.
type packageOrigin struct{ address, referrer, token string }

// packageQuestion is what is asked about a package: hashed asks for its h1, too.
type packageQuestion struct {
	packageOrigin
	hashed bool
}

func (l location) origin() packageOrigin {
	o := packageOrigin{address: l.address.Package.Key()}
	if l.from != nil {
		o.referrer = transport.HostPort(l.from)
	}
	if l.archive != nil {
		o.token = l.archive.Token
	}
	return o
}

// maxHops is how often servers may refer to another address, as for the tools [terraform
// 1.11 internal/getmodules/getter.go].
const maxHops = 10

// fromRemote fetches the package of a remote address and finds the module in it. called is the
// address that a configuration names.
func (c *Client) fromRemote(ctx context.Context, tool provider.Tool, called moduleaddr.Address, at location, call scan.Call) (answer, error) {
	subdir, of := at.address.Subdir, at.selected
	var within []string // the references of servers, outermost last
	for hops := 0; ; hops++ {
		// An address that names no archive is a question to its server for the package's
		// place.
		a := at.address
		_, kind := archiveFormat(a.Package)
		if a.Package.Getter != "http" && a.Package.Getter != "https" || a.Package.OnDisk() || kind != "" {
			break
		}
		if hops == 0 {
			if got, ok := c.wholes().remembered(ctx, called, call); ok {
				return got, nil
			}
		}
		if err := c.opts.mayAsk(); err != nil {
			return answer{}, err
		}
		if hops == maxHops {
			return answer{}, unread("more than %d servers refer to another one", maxHops)
		}
		next, err := c.locations.Do(ctx, at.origin(), func() (location, error) { return c.web.ask(ctx, a.Package, at.from) })
		if err != nil {
			return answer{}, err
		}
		at = next
		if err := c.opts.mayContactAt(at.address.Package.URL); err != nil {
			return answer{}, err
		}
		within = append(within, at.address.Subdir)
	}
	p, err := c.whole(ctx, tool, at, call)
	if err != nil {
		return answer{}, err
	}
	c.wholes().remember(called, call.Pin, place{subdir, within})
	got, err := c.within(ctx, p, within, subdir)
	got.selected = of
	return got, err
}

// within finds a module in a package, or in the part of it that servers have referred to.
func (c *Client) within(ctx context.Context, p contents, parts []string, subdir string) (answer, error) {
	var err error
	for _, dir := range slices.Backward(parts) {
		p, err = c.part(ctx, p, dir)
		if err != nil {
			return answer{}, err
		}
	}
	dir, err := findDir(p.fs, subdir)
	return answer{contents: p, dir: dir}, err
}

// whole is the package at a location, with the content that the call is pinned to. An
// archive with that content may be in the cache.
func (c *Client) whole(ctx context.Context, tool provider.Tool, at location, call scan.Call) (contents, error) {
	pin := call.Pin.Hash
	at.address.Package = pinned(at.address.Package, pin)
	a := at.address.Package
	if c.opts.Whole && pin != "" {
		return c.wholes().proven(ctx, tool, at, pin)
	}
	hashed := (call.Hash || pin != "") && a.Getter != "git" && a.Getter != "oci" && !a.OnDisk()
	if hashed && pin != "" {
		if p, ok := c.cache.load(pin); ok {
			return p, nil
		}
	}
	p, err := c.packages.Do(ctx, packageQuestion{at.origin(), hashed}, func() (contents, error) { return c.get(ctx, tool, at, archiveForm{hashed: hashed}) })
	if err == nil && pin != "" && p.hash != pin {
		return contents{}, moved(pin, p.hash)
	}
	return p, err
}

// part is the directory in a package that a server referred to. It becomes the whole
// package.
func (c *Client) part(ctx context.Context, p contents, dir string) (contents, error) {
	dir, err := findDir(p.fs, dir)
	if err != nil || dir == "." {
		return p, err
	}
	id := p.id + "//" + dir
	part, err := c.parts.Do(ctx, id, func() (fs.FS, error) {
		if t, ok := p.fs.(*filetree.Tree); ok {
			return filetree.Below(t, dir)
		}
		return fs.Sub(p.fs, dir)
	})
	p.fs, p.id, p.part = part, id, path.Join(p.part, dir)
	if p.disk != "" {
		p.disk = filepath.Join(p.disk, filepath.FromSlash(dir))
	}
	return p, err
}

// get fetches a package from an address that is no reference to another one.
func (c *Client) get(ctx context.Context, tool provider.Tool, at location, form archiveForm) (contents, error) {
	if err := c.mayRead(at); err != nil {
		return contents{}, err
	}
	a, from := at.address.Package, at.from
	if !a.OnDisk() {
		if err := c.opts.mayAsk(); err != nil {
			return contents{}, err
		}
	}
	if c.slots.Acquire(ctx, 1) != nil {
		return contents{}, ended(ctx)
	}
	defer c.slots.Release(1)
	if at.archive != nil {
		return c.web.download(ctx, *at.archive, form, checksum{})
	}
	c.opts.Log.DebugContext(ctx, "fetching a module package", "getter", a.Getter, "url", redact(a.URL))
	switch a.Getter {
	case "git":
		return c.gits.fetch(ctx, a, from, form.whole)
	case "http", "https":
		return c.web.fetch(ctx, a, from, form)
	case "file":
		return fromDisk(ctx, a)
	case "s3", "gcs":
		return c.stores.fetch(ctx, a, from, form)
	case "hg":
		return contents{}, refusedModule("move the module to a git repository, or publish it as an archive",
			"Mercurial repositories are not read: the hg program runs what its configuration says")
	case "oci":
		if tool.Has(provider.OCIModules) {
			return fromOCI(ctx, oci.Client{Transport: c.transport, Ambient: c.opts.Ambient}, c.tools[tool.Name].config, c.cache, a, form)
		}
	}
	return contents{}, invalidAddress("invalid module source address: %s fetches nothing of the kind %q", tool, a.Getter)
}

// mayRead refuses a package on the disk of this machine, unless it may be read.
func (c *Client) mayRead(at location) error {
	switch {
	case !at.address.Package.OnDisk():
		return nil
	case !c.opts.AllowLocal:
		return refusedModule("relock reads modules outside of the repository only where it is run by hand",
			"the module is on the disk of this machine")
	}
	return c.mayNamePaths(at.from)
}

// mayNamePaths refuses a server on another machine that refers to a path of this machine.
// For the tools any server may.
func (m means) mayNamePaths(server *url.URL) error {
	if server == nil || server.Scheme == "file" || m.transport.OnThisMachine(server) {
		return nil
	}
	return refusedModule("only a server on this machine may refer to a path here: name the path in the configuration, if it is meant",
		"%s refers to the disk of this machine", server.Host)
}

// findDir finds a directory in a package by its path, or by a glob that matches one path.
func findDir(fsys fs.FS, subdir string) (string, error) {
	if subdir == "" {
		return ".", nil
	}
	info, err := fs.Stat(fsys, subdir)
	if err == nil && info.IsDir() {
		return subdir, readable(fsys, subdir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
		return "", unread("reading the subdirectory %q of the module package: %v", subdir, file.Cause(err))
	}
	found, err := fs.Glob(fsys, subdir)
	switch {
	case err != nil || len(found) == 0:
		return "", unread("the module package has no subdirectory %q", subdir)
	case len(found) > 1:
		return "", unread("the subdirectory %q matches %s in the module package", subdir, collect.Count(len(found), "path", "paths"))
	}
	if info, err := fs.Stat(fsys, found[0]); err != nil || !info.IsDir() {
		return "", unread("%q in the module package is no directory", found[0])
	}
	return found[0], readable(fsys, found[0])
}

// readable returns why the content of a package's directory is missing.
func readable(fsys fs.FS, dir string) error {
	_, err := fs.ReadDir(fsys, dir)
	if reason, ok := errors.AsType[*problem.Error](err); ok {
		return attempting(fmt.Sprintf("reading the subdirectory %q of the module package", dir), reason)
	}
	return nil
}
