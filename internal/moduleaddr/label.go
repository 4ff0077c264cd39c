package moduleaddr

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Label is the first label of the block that locks the package of a Registry or Remote
// address in a lock file of modules, and for git its ref, the second label. The label is
// the package's address as the tools normalise it, without the subdirectory, without
// credentials, and without the arguments that do not say what the package is [terraform 1.11
// internal/getmodules/moduleaddrs]. An address of a registry always has its host. Other kinds
// of addresses have no label.
func (a Address) Label() (address, ref string) {
	switch a.Kind {
	case Registry:
		m := a.Module
		return strings.Join([]string{m.Host.ForDisplay(), m.Namespace, m.Name, m.TargetSystem}, "/"), ""
	case Remote:
		if a.Package.Getter == "git" {
			ref = a.Package.URL.Query().Get("ref")
		}
		return a.Package.label(), ref
	}
	return "", ""
}

// Repository is the Label of a git repository, with the subdirectory. A lock file of modules
// has it where a registry names a repository.
func (a Address) Repository() string {
	return withSubdir(a.Package.label(), a.Subdir)
}

// label is the address of a package without credentials and arguments.
func (p Package) label() string {
	u := *p.URL
	u.User, u.ForceQuery = nil, false
	if u.Scheme == "ssh" && p.URL.User != nil {
		u.User = url.User(p.URL.User.Username()) // it is a part of the address, as in ssh://git@github.com
	}
	for strings.Contains(u.Path, "//") { // which would begin a subdirectory
		u.Path, u.RawPath = strings.ReplaceAll(u.Path, "//", "/"), ""
	}
	u.RawQuery = p.query()
	text := u.String()
	if p.Getter != u.Scheme {
		text = p.Getter + "::" + text
	}
	return text
}

// arguments are those of go-getter that name no package, by getter [go-getter 1.7
// client.go, get_git.go, get_s3.go]. To other getters they are a part of the URL.
var arguments = map[string][]string{
	"git": {"ref", "depth", "sshkey", "checksum"},
	"s3":  {"aws_access_key_id", "aws_access_key_secret", "aws_access_token", "checksum"},
}

// query is the query without arguments, sorted by name.
func (p Package) query() string {
	without, ok := arguments[p.Getter]
	if !ok {
		without = []string{"checksum"}
	}
	name := func(part string) string {
		name, _, _ := strings.Cut(part, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			return decoded
		}
		return name
	}
	parts := slices.DeleteFunc(strings.Split(p.URL.RawQuery, "&"), func(part string) bool {
		return part == "" || slices.Contains(without, name(part))
	})
	slices.SortStableFunc(parts, func(a, b string) int { return strings.Compare(name(a), name(b)) })
	return strings.Join(parts, "&")
}

// PlausibleRef reports whether git may be asked for a ref: git would read another text as an
// option, or in several lines.
func PlausibleRef(ref string) bool {
	return utf8.ValidString(ref) && !strings.HasPrefix(ref, "-") && !strings.ContainsFunc(ref, unicode.IsControl)
}

// gitHubPath matches the path of a repository on GitHub.
var gitHubPath = regexp.MustCompile(`^/([A-Za-z0-9-]+/[A-Za-z0-9._-]+?)(\.git)?/?$`)

// OnGitHub is the name of the repository on github.com that an address of a git package
// names, as OWNER/NAME. It is empty for all other addresses.
func OnGitHub(address string) string {
	a, err := ParseURL(address)
	if err != nil || a.Package.Getter != "git" || a.Package.URL.Host != "github.com" {
		return ""
	}
	if name := gitHubPath.FindStringSubmatch(a.Package.URL.Path); name != nil {
		return name[1]
	}
	return ""
}

// End is the end of a package's address in as many parts as a pattern of providers has, for
// Matches. Other words stay as they are.
func End(word string) string {
	parts := strings.Split(word, "/")
	ofRegistry := len(parts) == 4 && strings.Contains(parts[0], ".")
	if strings.Contains(word, "::") || ofRegistry {
		return strings.TrimLeft(strings.Join(parts[max(0, len(parts)-3):], "/"), "/")
	}
	return word
}

// Matches reports whether a pattern names the package of an address: its parts, with
// wildcards, follow each other in the address. One part alone names none.
func Matches(pattern, address string) bool {
	parts := strings.Split(strings.TrimSuffix(pattern, ".git"), "/")
	in := strings.Split(strings.TrimSuffix(Shown(address), ".git"), "/")
	for i := 0; len(parts) > 1 && i+len(parts) <= len(in); i++ {
		match := true
		for n, part := range parts {
			ok, err := path.Match(part, in[i+n])
			match = match && ok && err == nil
		}
		if match {
			return true
		}
	}
	return false
}
