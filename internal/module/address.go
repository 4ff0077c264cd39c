package module

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	tfaddr "github.com/hashicorp/terraform-registry-address"

	"github.com/relock-dev/relock/internal/provider"
)

// address is a remote module source address: a package, and a directory in it.
type address struct {
	getter string   // what fetches the package: "git", "https", …
	url    *url.URL // of the package, for the getter
	subdir string   // of the module, clean, perhaps a glob; "" is the top
}

// key tells packages apart before they are fetched, as the tools do.
func (a address) key() string { return a.getter + "::" + a.url.String() }

// String is the package for people: without query and user information.
func (a address) String() string { return redact(a.url) }

// local reports whether the package is on this machine's disk.
func (a address) local() bool { return a.getter == "file" || a.url.Scheme == "file" }

// below joins a directory to that of the address. Both may come from strangers,
// so the result never climbs.
func (a address) below(subdir string) (address, error) {
	joined, err := cleanSubdir(path.Join(a.subdir, subdir))
	a.subdir = joined
	return a, err
}

// registryAddress is the address of a module in a module registry.
type registryAddress struct {
	tfaddr.ModulePackage
	subdir string
}

// parseRegistry reads [HOST/]NAMESPACE/NAME/SYSTEM[//SUBDIR]. The default host
// is that of the tool, which the library does not know.
func parseRegistry(source string, tool provider.ToolName) (registryAddress, error) {
	m, err := tfaddr.ParseModuleSource(source)
	if err != nil {
		return registryAddress{}, err
	}
	if pkg, _ := splitSubdir(source); strings.Count(pkg, "/") == 2 {
		m.Package.Host = tool.DefaultHost()
	}
	return registryAddress{m.Package, m.Subdir}, nil
}

// forced is the prefix that names a getter whatever the URL's scheme is.
var forced = regexp.MustCompile(`^([A-Za-z0-9]+)::(.+)$`)

func cutForced(source string) (getter, rest string) {
	if m := forced.FindStringSubmatch(source); m != nil {
		return m[1], m[2]
	}
	return "", source
}

// errNoRemote is a source that is neither a URL nor one of the short forms.
var errNoRemote = errors.New("it is no address of a module registry, no URL and none of the short forms")

// parseRemote reads a remote source address, a URL or one of the short forms of
// go-getter, which both tools have frozen. What it understands, and in which
// order, is theirs.
func parseRemote(source string) (address, error) {
	pkg, subdir := splitSubdir(source)
	getter, src := cutForced(pkg)
	u, err := url.Parse(src)
	if err != nil || u.Scheme == "" {
		var short shortForm
		if short, err = expand(src); err != nil {
			return address{}, err
		}
		if getter == "" {
			getter = short.getter
		}
		u, subdir = short.url, path.Join(short.subdir, subdir)
	}
	if getter == "" {
		getter = u.Scheme
	}
	subdir, err = cleanSubdir(subdir)
	return address{getter, u, subdir}, err
}

// splitSubdir cuts the directory in a package from a source address: what is
// behind the first // that belongs to no scheme, up to the query.
func splitSubdir(source string) (pkg, subdir string) {
	pkg, query, hasQuery := strings.Cut(source, "?")
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

// cleanSubdir makes a directory in a package clean, or fails if it leads out.
func cleanSubdir(subdir string) (string, error) {
	subdir = strings.TrimLeft(path.Clean("./"+subdir), "/")
	if subdir == ".." || strings.HasPrefix(subdir, "../") {
		return "", fmt.Errorf("the subdirectory %q leads out of the module package", subdir)
	}
	if subdir == "." {
		return "", nil
	}
	return subdir, nil
}

// shortForm is what a source without a scheme stands for.
type shortForm struct {
	getter string
	url    *url.URL
	subdir string
}

// expand tries the short forms in the tools' order.
func expand(src string) (shortForm, error) {
	for _, try := range []func(string) (shortForm, bool, error){
		expandGitHub, expandSSH, expandBitbucket, expandGCS, expandS3, expandPath,
	} {
		if short, ok, err := try(src); ok || err != nil {
			return short, err
		}
	}
	return shortForm{}, errNoRemote
}

// expandGitHub reads github.com/OWNER/NAME[/SUBDIR].
func expandGitHub(src string) (shortForm, bool, error) {
	repository, query, _ := strings.Cut(src, "?")
	if !strings.HasPrefix(repository, "github.com/") {
		return shortForm{}, false, nil
	}
	parts := strings.SplitN(repository, "/", 4)
	if len(parts) < 3 {
		return shortForm{}, false, errors.New("an address of GitHub must be github.com/OWNER/NAME")
	}
	u, err := url.Parse("https://" + strings.Join(parts[:3], "/"))
	if err != nil {
		return shortForm{}, false, errNoURL
	}
	u.RawQuery = query
	withGitSuffix(u)
	short := shortForm{getter: "git", url: u}
	if len(parts) == 4 {
		short.subdir = parts[3]
	}
	return short, true, nil
}

// scpForm is how ssh's copy program writes a remote path: git@HOST:PATH.
var scpForm = regexp.MustCompile(`^(?:([^@]+)@)?([^:]+):/?(.+)$`)

// scpURL is the URL of a repository that is written in that form.
func scpURL(text string) (*url.URL, bool) {
	m := scpForm.FindStringSubmatch(text)
	if m == nil || strings.Contains(text, "://") {
		return nil, false
	}
	u := &url.URL{Scheme: "ssh", Host: m[2], Path: "/" + m[3]}
	if m[1] != "" {
		u.User = url.User(m[1])
	}
	return u, true
}

// expandSSH reads git@HOST:PATH. Other users than git are taken for something
// else than a repository.
func expandSSH(src string) (shortForm, bool, error) {
	m := scpForm.FindStringSubmatch(src)
	if m == nil || m[1] != "git" {
		return shortForm{}, false, nil
	}
	name, query, _ := strings.Cut(m[3], "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return shortForm{}, false, errNoURL
	}
	u := &url.URL{Scheme: "ssh", User: url.User(m[1]), Host: m[2], Path: "/" + name, RawQuery: values.Encode()}
	return shortForm{getter: "git", url: u}, true, nil
}

// expandBitbucket reads bitbucket.org/OWNER/NAME, which is always git today.
func expandBitbucket(src string) (shortForm, bool, error) {
	if !strings.HasPrefix(src, "bitbucket.org/") {
		return shortForm{}, false, nil
	}
	u, err := url.Parse("https://" + src)
	if err != nil {
		return shortForm{}, false, errNoURL
	}
	withGitSuffix(u)
	return shortForm{getter: "git", url: u}, true, nil
}

func withGitSuffix(u *url.URL) {
	if !strings.HasSuffix(u.Path, ".git") {
		u.Path, u.RawPath = u.Path+".git", ""
	}
}

// expandGCS reads www.googleapis.com/storage/VERSION/BUCKET/OBJECT.
func expandGCS(src string) (shortForm, bool, error) {
	if !strings.Contains(src, "googleapis.com/") {
		return shortForm{}, false, nil
	}
	parts := strings.SplitN(src, "/", 5)
	if len(parts) < 5 {
		return shortForm{}, false, errors.New("an address of Google Cloud Storage must be www.googleapis.com/storage/VERSION/BUCKET/OBJECT")
	}
	return object("gcs", "https://www.googleapis.com/storage/"+strings.Join(parts[2:], "/"))
}

// expandS3 reads the three styles of addresses in S3: s3[-REGION] with the
// bucket in the path, and BUCKET.s3-REGION and BUCKET.s3.REGION.
func expandS3(src string) (shortForm, bool, error) {
	if !strings.Contains(src, ".amazonaws.com/") {
		return shortForm{}, false, nil
	}
	host, key, _ := strings.Cut(src, "/")
	switch labels := strings.Split(host, "."); {
	case len(labels) == 3:
		return object("s3", "https://"+labels[0]+".amazonaws.com/"+key)
	case len(labels) == 4:
		return object("s3", "https://"+labels[1]+".amazonaws.com/"+labels[0]+"/"+key)
	case len(labels) == 5 && labels[1] == "s3":
		return object("s3", "https://s3."+labels[2]+".amazonaws.com/"+labels[0]+"/"+key)
	}
	return shortForm{}, false, errors.New("the host is not one of S3")
}

func object(getter, text string) (shortForm, bool, error) {
	u, err := url.Parse(text)
	if err != nil {
		return shortForm{}, false, errNoURL
	}
	return shortForm{getter: getter, url: u}, true, nil
}

// expandPath reads an absolute path of the machine.
func expandPath(src string) (shortForm, bool, error) {
	if !filepath.IsAbs(src) && !path.IsAbs(src) {
		return shortForm{}, false, nil
	}
	u := &url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(src), "/")}
	return shortForm{getter: "file", url: u}, true, nil
}

// errNoURL stands for the errors of net/url, which quote the URL whole.
var errNoURL = errors.New("it is not a valid URL")
