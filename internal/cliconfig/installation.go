package cliconfig

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	tfaddr "github.com/hashicorp/terraform-registry-address"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/provider"
)

// Kind is the name of a block in provider_installation.
type Kind string

// The kinds, by the names of their blocks.
const (
	Direct     Kind = "direct"            // the provider's own registry
	Filesystem Kind = "filesystem_mirror" // a directory
	Network    Kind = "network_mirror"    // a server of the provider mirror protocol
	OCI        Kind = "oci_mirror"        // repositories of an OCI registry; OpenTofu's
)

// Method is one place to get providers from, and for which providers it is.
type Method struct {
	Kind Kind
	Path string   // of Filesystem
	URL  *url.URL // of Network
	// DownloadRetries is how often the download of a package is tried again, as in
	// Limits.
	DownloadRetries int
	// TrustAllHashes lets OpenTofu record what a network mirror says of other
	// platforms' packages [opentofu 1.12 internal/command/cliconfig/provider_installation.go].
	TrustAllHashes bool

	include, exclude []pattern
	template         *repositoryTemplate // of OCI
}

// Serves reports whether the method is for the provider: no exclude pattern
// matches, and an include pattern does or there is none.
func (m Method) Serves(addr provider.Addr) bool {
	matches := func(p pattern) bool { return p.match(addr) }
	return !slices.ContainsFunc(m.exclude, matches) && (len(m.include) == 0 || slices.ContainsFunc(m.include, matches))
}

// endpoint is the URL that the operator named, nil if none.
func (m Method) endpoint() *url.URL {
	switch m.Kind {
	case Network:
		return m.URL
	case OCI:
		return m.template.registry()
	}
	return nil
}

// pattern selects providers by parts of their addresses. It is stricter than
// the patterns of our own settings: a part is "*" or a name, and everything
// behind a wildcard must be one.
type pattern struct{ host, namespace, typ string }

const wildcard = "*"

// parsePattern reads [HOST/]NAMESPACE/TYPE. Without a host it is about the
// tool's default registry alone.
func parsePattern(s string, tool provider.ToolName) (pattern, error) {
	parts := strings.Split(s, "/")
	if len(parts) == 2 {
		parts = append([]string{string(tool.DefaultHost())}, parts...)
	}
	if len(parts) != 3 {
		return pattern{}, fmt.Errorf("the provider pattern %q must be like NAMESPACE/TYPE or HOST/NAMESPACE/TYPE", s)
	}
	p := pattern{wildcard, wildcard, wildcard}
	if parts[0] != wildcard {
		host, err := svchost.ForComparison(parts[0])
		if err != nil {
			return pattern{}, fmt.Errorf("the provider pattern %q has no valid host name", s)
		}
		p.host = host.String()
	}
	namespace, typ := tfaddr.ParseProviderPart, tfaddr.ParseProviderPart
	if provider.Newest(tool).Has(provider.UnderscoreNamespaces) {
		namespace = tfaddr.ParseProviderNamespace // whatever release a root module is for: see docs/decisions/deviations.md
	}
	var err [2]error
	if parts[1] != wildcard {
		p.namespace, err[0] = namespace(parts[1])
	}
	if parts[2] != wildcard {
		p.typ, err[1] = typ(parts[2])
	}
	if err[0] != nil || err[1] != nil {
		return pattern{}, fmt.Errorf("the provider pattern %q has a part that is neither a name nor *", s)
	}
	if p.host == wildcard && p.namespace != wildcard || p.namespace == wildcard && p.typ != wildcard {
		return pattern{}, fmt.Errorf("the provider pattern %q has a name behind a *", s)
	}
	return p, nil
}

func (p pattern) match(a provider.Addr) bool {
	return is(p.host, a.Host.String()) && is(p.namespace, a.Namespace) && is(p.typ, a.Type)
}

func is(part, s string) bool { return part == wildcard || part == s }

// addInstallation reads the provider_installation block, of which there may be
// one in all files together.
func (m *merged) addInstallation(path string, block *ast.ObjectItem) {
	if m.config.explicit {
		m.report(path, line(block), "there is more than one provider_installation block", "")
		return
	}
	m.config.explicit = true
	// HCL 1 folds nested JSON objects into one item with several keys.
	items := []*ast.ObjectItem{{Keys: block.Keys[1:], Val: block.Val, Assign: block.Assign}}
	if body, ok := block.Val.(*ast.ObjectType); ok && len(block.Keys) == 1 {
		items = body.List.Items
	}
	for _, item := range items {
		m.addMethod(path, item)
	}
	if len(items) == 0 {
		m.report(path, line(block), "the provider_installation block has no method, so that no provider could be installed", "")
	}
}

// methodBody has the arguments of every method, except for dev_overrides.
type methodBody struct {
	Path            string   `hcl:"path"`
	URL             string   `hcl:"url"`
	Template        string   `hcl:"repository_template"`
	Include         []string `hcl:"include"`
	Exclude         []string `hcl:"exclude"`
	DownloadRetries *int     `hcl:"download_retry_count"`
	TrustAllHashes  bool     `hcl:"trust_all_hashes"`
}

func (m *merged) addMethod(path string, item *ast.ObjectItem) {
	kind := Kind(key(item, 0))
	body, isObject := item.Val.(*ast.ObjectType)
	switch {
	case !isObject || len(item.Keys) != 1:
		m.report(path, line(item), fmt.Sprintf("%q in provider_installation is not a block without labels", kind), "")
		return
	case kind == "dev_overrides":
		m.addOverrides(path, item, body)
		return
	}
	var b methodBody
	if err := hcl.DecodeObject(&b, body); err != nil {
		m.report(path, line(item), fmt.Sprintf("the %s block has an argument of an unexpected form", kind), "")
		return
	}
	method, err := m.method(kind, b)
	if err != nil {
		m.report(path, line(item), fmt.Sprintf("the %s block is not valid: %v", kind, err), "")
		return
	}
	m.config.methods = append(m.config.methods, method)
}

// method checks what the tool would check when it starts or when it first uses
// the method [terraform 1.11 internal/command/cliconfig/provider_installation.go].
func (m *merged) method(kind Kind, b methodBody) (Method, error) {
	method := Method{Kind: kind}
	var err error
	method.include, err = m.patterns(b.Include)
	if err != nil {
		return method, err
	}
	method.exclude, err = m.patterns(b.Exclude)
	if err != nil {
		return method, err
	}
	switch {
	case kind == Direct:
	case kind == Filesystem:
		method.Path, err = mirrorPath(b.Path)
	case kind == Network:
		method.URL, err = mirrorURL(b.URL)
	case kind == OCI && m.tool == provider.OpenTofu:
		method.template, err = parseTemplate(b.Template, method.include)
	default:
		err = fmt.Errorf("%s has no such installation method", m.tool.Title())
	}
	if m.tool == provider.OpenTofu {
		method.DownloadRetries = cmp.Or(retries(b.DownloadRetries), m.config.limits.DownloadRetries)
		method.TrustAllHashes = b.TrustAllHashes
	}
	return method, err
}

func (m *merged) patterns(texts []string) ([]pattern, error) {
	var patterns []pattern
	for _, text := range texts {
		p, err := parsePattern(text, m.tool)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

// mirrorPath refuses a relative path. The tools look below the directory that
// they run in, which is the root module; it would be another one for each, and
// in a repository whose content its authors choose
// [terraform 1.11 internal/getproviders/filesystem_mirror_source.go].
func mirrorPath(path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("it needs a path")
	case !filepath.IsAbs(path):
		return "", fmt.Errorf("the path %q must be absolute, since relock works on many root modules", path)
	}
	return filepath.Clean(path), nil
}

func mirrorURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, errors.New("it needs a url")
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the url must be an https URL") // which may hold a password
	}
	return u, nil
}

// addOverrides reads dev_overrides. They let a developer run a provider of their own
// making. Most releases lock the providers that they replace all the same, since others run
// the released provider; see provider.SkippedOverrides for the others.
func (m *merged) addOverrides(path string, item *ast.ObjectItem, body *ast.ObjectType) {
	if len(m.config.methods) > 0 {
		m.report(path, line(item), "the dev_overrides block must come before all installation methods", "")
		return
	}
	var overrides map[string]string
	if err := hcl.DecodeObject(&overrides, body); err != nil {
		m.report(path, line(item), "the dev_overrides block has an argument of an unexpected form", "")
		return
	}
	var names []string
	for source := range overrides {
		addr, err := provider.ParseAddr(source, m.tool)
		if err != nil {
			m.report(path, line(item), fmt.Sprintf("dev_overrides: %v", err), "")
			continue
		}
		names = append(names, addr.Short())
		m.config.overridden = append(m.config.overridden, addr)
	}
	slices.Sort(names)
	slices.SortFunc(m.config.overridden, provider.Addr.Compare)
	since, skipped := m.tool.Since(provider.SkippedOverrides)
	switch {
	case len(names) == 0:
	case skipped:
		m.warn(path, line(item), fmt.Sprintf(
			"dev_overrides: upgrades leave the entries of %s alone in root modules for %s %s and later, as init does", strings.Join(names, ", "), m.tool.Title(), since,
		), "")
	default:
		m.warn(path, line(item), "dev_overrides do not change what is locked: "+strings.Join(names, ", ")+" as without them", "")
	}
}
