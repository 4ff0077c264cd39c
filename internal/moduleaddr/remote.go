package moduleaddr

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// Package is a module package that is fetched.
type Package struct {
	Getter string   // what fetches it: "git", "https", …
	URL    *url.URL // for the getter
}

// Key identifies packages before they are fetched, as in the tools [terraform 1.11
// internal/getmodules/getter.go].
func (p Package) Key() string { return p.Getter + "::" + p.URL.String() }

// OnDisk reports whether the package is on this machine's disk.
func (p Package) OnDisk() bool { return p.Getter == "file" || p.URL.Scheme == "file" }

// forced is the prefix that names a getter whatever the URL's scheme is.
var forced = regexp.MustCompile(`^([A-Za-z0-9]+)::(.+)$`)

// Forced reports whether an address names its getter.
func Forced(text string) bool { return forced.MatchString(text) }

func cutForced(text string) (getter, rest string) {
	if m := forced.FindStringSubmatch(text); m != nil {
		return m[1], m[2]
	}
	return "", text
}

// errNoRemote is an address that is neither a URL nor one of the short forms.
var errNoRemote = errors.New("it is no address of a module registry, no URL and none of the short forms")

// errNoURL replaces the errors of net/url, which quote the whole URL.
var errNoURL = errors.New("it is not a valid URL")

// parseRemote reads a URL, or one of the short forms.
func parseRemote(text string) (p Package, subdir string, err error) {
	pkg, subdir := cutSubdir(text)
	getter, src := cutForced(pkg)
	u, err := url.Parse(src)
	if err != nil || u.Scheme == "" {
		short, top, err := expand(src)
		if err != nil {
			return Package{}, "", err
		}
		getter, u, subdir = cmp.Or(getter, short.Getter), short.URL, path.Join(top, subdir)
	}
	subdir, err = CleanSubdir(subdir)
	return Package{cmp.Or(getter, u.Scheme), u}, subdir, err
}

// Noted is an address as the tools note it in modules.json [terraform 1.11
// internal/addrs/module_source.go]. A text that is no address stays as it is.
func Noted(text string, tool provider.ToolName) string {
	a, err := Parse(text, tool)
	switch {
	case err != nil:
		return text
	case a.Kind == Local && !strings.HasPrefix(a.Path, "../"):
		return "./" + a.Path
	case a.Kind == Local:
		return a.Path
	case a.Kind == Registry && a.Subdir == "":
		return a.Module.String()
	case a.Kind == Registry:
		return a.Module.String() + "//" + a.Subdir
	}
	pkg, _ := cutSubdir(text)
	if _, src := cutForced(pkg); !isURL(src) {
		pkg = a.Package.URL.String()
		if a.Package.Getter != a.Package.URL.Scheme {
			pkg = a.Package.Key()
		}
	}
	return withSubdir(pkg, a.Subdir)
}

// isURL reports whether a text is no short form.
func isURL(src string) bool {
	u, err := url.Parse(src)
	return err == nil && u.Scheme != ""
}

// ParseURL reads a Remote address that is a URL, with or without a forced getter.
// Servers refer to other addresses so; short forms are for people.
func ParseURL(text string) (Address, error) {
	pkg, _ := cutSubdir(text)
	_, src := cutForced(pkg)
	if !isURL(src) {
		return Address{}, errNoURL
	}
	a := Address{Kind: Remote}
	var err error
	a.Package, a.Subdir, err = parseRemote(text)
	return a, err
}

// CleanSubdir makes a directory in a package clean, or fails if it leads out.
func CleanSubdir(subdir string) (string, error) {
	subdir = strings.TrimLeft(path.Clean("./"+subdir), "/")
	if subdir == ".." || strings.HasPrefix(subdir, "../") {
		return "", fmt.Errorf("the subdirectory %q leads out of the module package", subdir)
	}
	if subdir == "." {
		return "", nil
	}
	return subdir, nil
}
