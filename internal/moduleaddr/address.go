// Package moduleaddr reads module source addresses: the paths, addresses of
// registries and remote addresses that are in the source argument of a module
// block. Both tools have frozen this grammar, which go-getter had when they did
// [terraform 1.11 internal/addrs/module_source.go, internal/getmodules/moduleaddrs].
//
// What a package is fetched with, and whether it may be, is for others to say.
package moduleaddr

import (
	"cmp"
	"errors"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	tfaddr "github.com/hashicorp/terraform-registry-address"

	"github.com/relock-dev/relock/internal/provider"
)

// Kind says where the module of an address is.
type Kind int

// The kinds of addresses, in the order in which they are tried.
const (
	Unknown  Kind = iota // it is no address
	Local                // a path relative to the calling module
	Registry             // in a module registry
	Remote               // in a package that is fetched
)

// Address is a module source address.
type Address struct {
	Kind Kind
	// Path is where a Local one leads from the calling module, clean.
	Path string
	// Module is that of a Registry one.
	Module tfaddr.ModulePackage
	// Package is that of a Remote one.
	Package Package
	// Subdir is the directory in the package, clean, perhaps a glob; empty is the
	// top. Of a Local one it is empty.
	Subdir string
}

// Parse reads an address as it is written. Short addresses of registries mean the tool's
// own registry. The kind may be valid even with an error, for a malformed address that
// looks like one to fetch.
func Parse(text string, tool provider.ToolName) (Address, error) {
	var a Address
	if localForm.MatchString(text) {
		a.Kind, a.Path = Local, path.Clean(strings.ReplaceAll(text, `\`, "/"))
		return a, nil
	}
	if m, err := parseRegistry(text, tool); err == nil {
		a.Kind, a.Module = Registry, m.Package
		a.Subdir, err = CleanSubdir(m.Subdir)
		return a, err
	}
	var err error
	a.Package, a.Subdir, err = parseRemote(text)
	if getter, _ := cutForced(text); !errors.Is(err, errNoRemote) || getter != "" {
		a.Kind = Remote
	}
	return a, err
}

// Same reports whether both lead to one directory of one package, however they are
// written.
func (a Address) Same(b Address) bool {
	return a.Kind == b.Kind && a.Path == b.Path && a.Module == b.Module && a.Subdir == b.Subdir &&
		(a.Kind != Remote || a.Package.Key() == b.Package.Key())
}

// localForm is a path; both separators count on every system.
var localForm = regexp.MustCompile(`^\.\.?[/\\]`)

// parseRegistry reads [HOST/]NAMESPACE/NAME/SYSTEM[//SUBDIR]. The library does
// not know that the default host is that of the tool. It takes a host of invalid UTF-8, and
// panics when that is shown.
func parseRegistry(text string, tool provider.ToolName) (tfaddr.Module, error) {
	m, err := tfaddr.ParseModuleSource(text)
	if err != nil || !utf8.ValidString(text) {
		return m, cmp.Or(err, errNoRemote)
	}
	if pkg, _ := cutSubdir(text); strings.Count(pkg, "/") == 2 {
		m.Package.Host = tool.DefaultHost()
	}
	return m, nil
}

// userInfo matches the credentials in a URL.
var userInfo = regexp.MustCompile(`://[^/?#]*@`)

// Shown is an address as it is written, without what may be secret in it:
// credentials and the query. The text need not be an address.
func Shown(text string) string {
	text, _, _ = strings.Cut(text, "?")
	return userInfo.ReplaceAllString(text, "://")
}

// ShownPackage is Shown without the directory in the package.
func ShownPackage(text string) string {
	pkg, _ := cutSubdir(Shown(text))
	return strings.TrimRight(pkg, "/")
}

// Unforced is ShownPackage without what forces a way to fetch it, as git:: does.
func Unforced(text string) string {
	pkg := ShownPackage(text)
	if _, forced, ok := strings.Cut(pkg, "::"); ok {
		return forced
	}
	return pkg
}

// refForm is a ref that can be shown: what else a query holds may be secret.
var refForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+-]{0,99}$`)

// Ref is the ref of git that an address asks for, as it is written; empty if it asks
// for none.
func Ref(text string) string {
	_, query, _ := strings.Cut(text, "?")
	values, err := url.ParseQuery(query)
	if ref := values.Get("ref"); err == nil && refForm.MatchString(ref) {
		return ref
	}
	return ""
}

// cutSubdir cuts the directory in a package from an address: what is behind the
// first // that belongs to no scheme, up to the query.
func cutSubdir(text string) (pkg, subdir string) {
	pkg, query, hasQuery := strings.Cut(text, "?")
	start := 0
	if i := strings.Index(pkg, "://"); i >= 0 {
		start = i + len("://")
	}
	if i := strings.Index(pkg[start:], "//"); i >= 0 {
		pkg, subdir = pkg[:start+i], pkg[start+i+len("//"):]
	}
	if hasQuery {
		pkg += "?" + query
	}
	return pkg, subdir
}

// withSubdir is the reverse of cutSubdir.
func withSubdir(pkg, subdir string) string {
	if subdir == "" {
		return pkg
	}
	pkg, query, hasQuery := strings.Cut(pkg, "?")
	if hasQuery {
		query = "?" + query
	}
	return strings.TrimRight(pkg, "/") + "//" + subdir + query
}
