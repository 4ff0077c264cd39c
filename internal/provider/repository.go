package provider

import (
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Repository is the source repository of a release, and its date, according to
// its registry. It is untrusted: anybody may publish a provider and name another
// person's repository.
type Repository struct {
	Host        string // like github.com; empty if unknown
	Owner, Name string
	Tag         string    // of the release; empty if unknown
	Published   time.Time // zero if unknown
}

// Known reports whether the repository is known.
func (r Repository) Known() bool { return r.Host != "" }

// String returns OWNER/NAME.
func (r Repository) String() string { return r.Owner + "/" + r.Name }

// URL returns the address of a page of the repository, which a path may name.
func (r Repository) URL(path ...string) string {
	return "https://" + strings.Join(append([]string{r.Host, r.Owner, r.Name}, path...), "/")
}

// The forms of names on GitHub. Other names are not accepted.
var (
	repositoryHost  = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+$`)
	repositoryOwner = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}$`)
	repositoryName  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
)

// ParseRepository reads the address of a repository, like
// https://github.com/OWNER/NAME. It ignores the rest after the name.
func ParseRepository(address string) (Repository, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Port() != "" || u.User != nil {
		return Repository{}, false
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) < 2 {
		return Repository{}, false
	}
	r := Repository{Host: strings.ToLower(u.Hostname()), Owner: parts[0], Name: strings.TrimSuffix(parts[1], ".git")}
	ok := repositoryHost.MatchString(r.Host) && repositoryOwner.MatchString(r.Owner) && repositoryName.MatchString(r.Name) &&
		r.Name != "." && r.Name != ".."
	if !ok {
		return Repository{}, false
	}
	return r, true
}

// ParseDownload reads the repository and the tag from the address of a file of
// a GitHub release, OWNER/NAME/releases/download/TAG/FILE.
func ParseDownload(address string) (Repository, bool) {
	r, ok := ParseRepository(address)
	if !ok {
		return Repository{}, false
	}
	_, rest, isRelease := strings.Cut(address, "/releases/download/")
	tag, _, hasFile := strings.Cut(rest, "/")
	if tag, err := url.PathUnescape(tag); isRelease && hasFile && err == nil && tag != "" {
		r.Tag = tag
		return r, true
	}
	return Repository{}, false
}

// Tagged names the releases of one repository to look for.
type Tagged struct {
	Owner, Name string
	Tags        []string
}

// Announcement is a publisher's description of a release on the page of its tag:
// untrusted.
type Announcement struct {
	Tag       string
	URL       string
	Text      string // in Markdown
	Published time.Time
}
