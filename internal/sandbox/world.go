package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	svchost "github.com/hashicorp/terraform-svchost"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/provider"
)

// World is what a sandbox serves. It does not change once it is read.
type World struct {
	// Repositories of the GitHub API, by OWNER/NAME.
	Repositories map[string]*Repository

	providers map[provider.Addr]*offer
	modules   map[moduleAddr]*moduleOffer
	tokens    map[svchost.Hostname]string
	apps      []App
	faults    []Fault
}

// ParseWorld reads a world from a text archive. The name of each file says what
// it describes:
//
//	registry/HOST/NAMESPACE/TYPE        a provider, in YAML
//	modules/HOST/NAMESPACE/NAME/SYSTEM/VERSION/PATH   a file of a module's release
//	listings/HOST/NAMESPACE/NAME/SYSTEM   what the list of its versions says that they require
//	github/OWNER/REPOSITORY/BRANCH/PATH  a file of a repository
//	releases/OWNER/REPOSITORY/TAG.md     a release of a repository; its first line may be published: DATE
//	settings/OWNER/REPOSITORY            in YAML: what its administrators chose, and who they let in
//	apps      in YAML: SLUG: {id, permissions: {NAME: LEVEL}, repositories: [OWNER/NAME]}
//	keys      in YAML: NAME: {owner, created, expires, signs}
//	hosts     in YAML: HOST: {token}; requests to its registries without it are refused
//	faults    one in a line, as ParseFault reads them; # begins a comment
//
// A provider needs only its versions, as a list, or as a map if some of them are
// special. These fields hold for all versions:
//
//	platforms: [linux_amd64]       default: provider.DefaultPlatforms
//	protocols: ["5.0"]             default: ["5.0"]
//	sign: k1                       the key that signs; k1, k2 and the expired kexp always exist
//	keys: [k1]                     those announced; default: the one that signs
//	packages: true                 state the hashes of all platforms, as OpenTofu's registry does
//	warnings: [moved to acme/new]
//	source: https://github.com/acme/terraform-provider-tool   where the public registry says it is made
//	also: [registry.opentofu.org]  further hosts that offer the very same
//	extra_versions: [v1.3]         listed in these words, without a package
//
// A version may override the first five, and has these fields:
//
//	published: 2024-05-01
//	modified: 2024-05-01           what Last-Modified says of its files
//	tag: v1.2.0                    default: v and the version, where there is a source
//	files: {"*": [{name, content, mode}]}   of each platform's zip, instead of its own
//	no_keys: true                  announce no key
//	no_platforms: true             do not list which platforms it serves
//	list_only: true                list it, but know no package
//	unlisted: true                 have packages, but do not list it
//	manifest: ["5.0"]              publish a manifest that says that it speaks these protocols
//	shasums_extra: [LINE]          more lines of the checksum list
//	shasums_raw: TEXT              all of it; {{linux_amd64}} is the SHA-256 of that package
//	serve_other: {linux_amd64: darwin_arm64}   the bytes of another package
//	packages_edit: {linux_amd64: {hashes, package_size}}
//	mirror_hashes: {linux_amd64: [HASH]}       what the network mirror states; default: nothing
//
// Without a listing, the list of a module has only versions, as in some
// registries. A line of a listing is one provider of one module in the package of
// a version. The listing may be wrong. A version without a line has no details:
//
//	1.0.0 . aws hashicorp/aws >= 5.0, < 6   the module at the top; - in place of a source: none
//	1.0.0 modules/x                         a module that requires no provider
//	1.0.0 published: 2024-05-01             what the registry says of the version
//	1.0.0 source: git::https://HOST/PATH?ref=v1.0.0   where its package is, if the world has no files of it
//
// The settings of a repository are those of Settings:
//
//	private: true
//	internal: true                 as well, except for the members of an enterprise
//	topics: [terraform]
//	properties: {team: platform, stages: [test, live]}   custom ones of the organization
//	people: {hubot: read}          roles: none, read, triage, write, maintain, admin
//	teams: [platform]              those that can be asked for a review
//	labels: [dependencies]         those that it has
//	milestones: [v1]               the first has number 1
//	forbid_actions_pulls: true     a GITHUB_TOKEN may not open pull requests
//	auto_merge: true               GitHub merges what it may, when asked to
//	unprotected: true              but nothing would have to be waited for
//	too_soon: 2                    so often is auto-merge refused after the opening
//	merge_states: never            the state of a merge is not computed; stale: it is late
//	protect:                       what branches demand; the fields of Protection
//	  main: {strict: true, checks: true, reviews: 1, dismiss_stale: true, merge_queue: true, ruleset: true}
//	rules: [{branches: relock/**, no_force: true}]   rulesets; the fields of BranchRule
//	archived: true
//	delete_merged: true            the branches of merged pull requests go
//
// In paths of repositories, a final * marks an executable, and "@ -> TARGET" a
// link, as ls -F does. @commit marks a submodule, whose text is the SHA. The
// first branch of a repository is its default branch.
//
// ParseWorld returns all errors in the text together, each with its file and, if
// known, its line.
func ParseWorld(ar *txtar.Archive) (*World, error) {
	keys, err := parseKeys(ar)
	if err != nil {
		return nil, err
	}
	p := worldParser{world: newWorld(), keys: keys}
	errs := make([]error, 0, len(ar.Files))
	seen := map[string]bool{}
	for _, f := range ar.Files {
		if seen[f.Name] {
			errs = append(errs, fmt.Errorf("%s: this file is here twice", f.Name))
			continue
		}
		seen[f.Name] = true
		errs = append(errs, p.add(f))
	}
	p.world.beginRepositories()
	errs = append(errs, p.world.packModules())
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p.world, nil
}

func newWorld() *World {
	return &World{
		Repositories: map[string]*Repository{},
		providers:    map[provider.Addr]*offer{},
		modules:      map[moduleAddr]*moduleOffer{},
		tokens:       map[svchost.Hostname]string{},
	}
}

const keysFile = "keys"

// parseKeys makes the keys first, since any provider may name them.
func parseKeys(ar *txtar.Archive) (keyring, error) {
	var declared map[string]keyText
	for _, f := range ar.Files {
		if f.Name == keysFile {
			if err := decode(f, &declared); err != nil {
				return nil, err
			}
		}
	}
	keys, err := newKeyring(declared)
	return keys, inFile(keysFile, err)
}

type worldParser struct {
	world *World
	keys  keyring
}

// add reads one file of the text.
func (p *worldParser) add(f txtar.File) error {
	kind, rest, _ := strings.Cut(f.Name, "/")
	switch kind {
	case keysFile:
		return nil // parseKeys has read it already
	case "hosts":
		return p.world.addHosts(f)
	case "faults":
		return p.world.addFaults(f)
	case "registry":
		return p.addProvider(f, rest)
	case "modules":
		return p.world.addModuleFile(f, rest)
	case "listings":
		return p.world.addListing(f, rest)
	case "github":
		return p.world.addRepositoryFile(f, rest)
	case "releases":
		return p.world.addRelease(f, rest)
	case "settings":
		return p.world.addSettings(f, rest)
	case "apps":
		return p.world.addApps(f)
	}
	return fmt.Errorf("%s: unknown kind of file: it must be registry/…, modules/…, listings/…, github/…, releases/…, settings/…, apps, keys, hosts or faults", f.Name)
}

func (w *World) addHosts(f txtar.File) error {
	var hosts map[string]struct{ Token string }
	if err := decode(f, &hosts); err != nil {
		return err
	}
	for name, host := range hosts {
		h, err := svchost.ForComparison(name)
		if err != nil {
			return fmt.Errorf("%s: invalid host %q: %w", f.Name, name, err)
		}
		w.tokens[h] = host.Token
	}
	return nil
}

func (w *World) addFaults(f txtar.File) error {
	for i, line := range strings.Split(string(f.Data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fault, err := ParseFault(line)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", f.Name, i+1, err)
		}
		w.faults = append(w.faults, fault)
	}
	return nil
}

func (p *worldParser) addProvider(f txtar.File, name string) error {
	addr, err := provider.ParseFullAddr(name)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	var text providerText
	if err := decode(f, &text); err != nil {
		return err
	}
	offer, err := text.offer(addr, p.keys, packFiles(addr))
	if err != nil {
		return inFile(f.Name, err)
	}
	return inFile(f.Name, p.world.offer(addr, text.Also, offer))
}

// offer adds a provider under its address and under other hosts.
func (w *World) offer(addr provider.Addr, also []string, o *offer) error {
	hosts := []svchost.Hostname{addr.Host}
	for _, name := range also {
		host, err := svchost.ForComparison(name)
		if err != nil {
			return fmt.Errorf("invalid host %q: %w", name, err)
		}
		hosts = append(hosts, host)
	}
	for _, addr.Host = range hosts {
		if w.providers[addr] != nil {
			return fmt.Errorf("%s is described twice", addr)
		}
		w.providers[addr] = o
	}
	return nil
}

func (w *World) addRepositoryFile(f txtar.File, name string) error {
	parts := strings.SplitN(name, "/", 4)
	if len(parts) < 4 {
		return fmt.Errorf("%s: it must be like github/OWNER/REPOSITORY/BRANCH/PATH", f.Name)
	}
	name, file := repositoryFile(parts[3], f.Data)
	if !fs.ValidPath(name) {
		return fmt.Errorf("%s: invalid path %q", f.Name, name)
	}
	w.repository(parts[0], parts[1]).add(parts[2], name, file)
	return nil
}

func (w *World) addRelease(f txtar.File, name string) error {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) < 3 || !strings.HasSuffix(parts[2], ".md") {
		return fmt.Errorf("%s: it must be like releases/OWNER/REPOSITORY/TAG.md", f.Name)
	}
	tag := strings.TrimSuffix(parts[2], ".md")
	return inFile(f.Name, w.repository(parts[0], parts[1]).addRelease(tag, f.Data))
}

func (w *World) addSettings(f txtar.File, name string) error {
	owner, repo, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(repo, "/") {
		return fmt.Errorf("%s: it must be like settings/OWNER/REPOSITORY", f.Name)
	}
	settings := &w.repository(owner, repo).Settings
	if err := decode(f, settings); err != nil {
		return err
	}
	return inFile(f.Name, settings.check())
}

func (w *World) addApps(f txtar.File) error {
	var apps map[string]struct {
		ID           int64
		Permissions  map[string]string
		Repositories []string
	}
	if err := decode(f, &apps); err != nil {
		return err
	}
	for _, slug := range slices.Sorted(maps.Keys(apps)) {
		a := apps[slug]
		w.apps = append(w.apps, App{Slug: slug, ID: a.ID, Permissions: a.Permissions, Repositories: a.Repositories})
	}
	return nil
}

// beginRepositories gives a branch to repositories that have only releases or
// settings, since every repository with a tag has one.
func (w *World) beginRepositories() {
	for _, r := range w.Repositories {
		if r.Branches == nil {
			r.add("main", "README.md", File{Mode: ModeFile, Content: []byte("# " + r.Name + "\n")})
		}
	}
}

func (w *World) repository(owner, name string) *Repository {
	full := owner + "/" + name
	if w.Repositories[full] == nil {
		w.Repositories[full] = &Repository{Owner: owner, Name: name}
	}
	return w.Repositories[full]
}

// repositories returns the repositories sorted by name.
func (w *World) repositories() []Repository {
	names := slices.Sorted(maps.Keys(w.Repositories))
	sorted := make([]Repository, len(names))
	for i, name := range names {
		sorted[i] = *w.Repositories[name]
	}
	return sorted
}

// decode reads a YAML file of a world; an unknown key is an error.
func decode(f txtar.File, v any) error {
	return inFile(f.Name, yaml.UnmarshalWithOptions(f.Data, v, yaml.DisallowUnknownField()))
}

// lineError is an error at a line of a file whose name the caller knows.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// inFile puts the file, and the line if it is known, before an error. It drops
// the excerpt that the YAML library adds to its own errors.
func inFile(name string, err error) error {
	var at *lineError
	var bad yaml.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad) && bad.GetToken() != nil:
		return fmt.Errorf("%s:%d: %s", name, bad.GetToken().Position.Line, bad.GetMessage())
	case errors.As(err, &at):
		return fmt.Errorf("%s:%d: %w", name, at.line, at.err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (w *World) routes(github *GitHub) http.Handler {
	mux := http.NewServeMux()
	registry{w}.routes(mux)
	modules{w}.routes(mux)
	mux.Handle("/github/api/", github)
	mux.Handle(codeloadPath+"/", github)
	return mux
}

// restricted demands the host's token, if it has one. Files are free: the tools
// send no tokens for them.
func (w *World) restricted(next http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		token := w.tokens[svchost.Hostname(r.PathValue("host"))]
		if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
			refuse(rw, http.StatusUnauthorized)
			return
		}
		next(rw, r)
	}
}

func (w *World) hosts() []svchost.Hostname {
	hosts := []svchost.Hostname{provider.Terraform.DefaultHost(), provider.OpenTofu.DefaultHost()}
	for addr := range w.providers {
		hosts = append(hosts, addr.Host)
	}
	for addr := range w.modules {
		hosts = append(hosts, addr.host)
	}
	for host := range w.tokens {
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Packages returns how many packages the world has, and their bytes.
func (w *World) Packages() (n int, bytes int64) {
	for _, o := range w.providers {
		for _, r := range o.releases {
			for _, p := range r.packages {
				n, bytes = n+1, bytes+int64(len(p.zip))
			}
		}
	}
	return n, bytes
}
