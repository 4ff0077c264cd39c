package module

import (
	"context"
	"net/url"
	"regexp"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// releaseTag is a tag with a version at its end: v1.2.3, or vpc/v1.2.3 and vpc-1.2.3 in a
// repository with several modules.
var releaseTag = regexp.MustCompile(`^((?:[A-Za-z0-9][A-Za-z0-9._/+-]{0,80}[/_-])?v?)([0-9]+(?:\.[0-9]+){1,2})$`)

// Latest implements upgrade.Rereader: it asks a git repository for its tags. It finds
// nothing for a module that is in no git repository, or whose ref is no release. Errors are
// those of Fetch.
func (c *Client) Latest(ctx context.Context, tool provider.Tool, call scan.Call) (scan.Call, string, error) {
	a, err := moduleaddr.Parse(call.Source, tool.Name)
	if err != nil || a.Kind != moduleaddr.Remote || a.Package.Getter != "git" {
		return scan.Call{}, "", nil
	}
	inUse := releaseTag.FindStringSubmatch(a.Package.URL.Query().Get("ref"))
	if inUse == nil {
		return scan.Call{}, "", nil
	}
	if err := c.opts.mayContact(a.Package.URL.Hostname()); err != nil {
		return scan.Call{}, "", err
	}
	tags, err := c.tags.Do(ctx, a.Package.Key(), func() ([]string, error) { return c.gits.tags(ctx, a.Package, inUse[1]) })
	if err != nil {
		return scan.Call{}, "", unfetched("module package", redact(a.Package.URL), err)
	}
	newest, err := goversion.NewVersion(inUse[2])
	name := inUse[0]
	for _, tag := range tags {
		m := releaseTag.FindStringSubmatch(tag)
		if m == nil || m[1] != inUse[1] {
			continue
		}
		if v, invalid := goversion.NewVersion(m[2]); invalid == nil && err == nil && v.GreaterThan(newest) {
			newest, name = v, tag
		}
	}
	switch {
	case err != nil: // the ref in use is no version after all
		return scan.Call{}, "", nil
	case name == inUse[0]:
		return call, name, nil
	}
	call.Pin = scan.Pin{}
	call.Source, err = withRef(call.Source, name)
	return call, name, err
}

// CommitOfTag asks a git repository at an https address for the commit of a tag. The result
// is empty if the repository has no such tag.
func (c *Client) CommitOfTag(ctx context.Context, repository, tag string) (string, error) {
	u, err := url.Parse(repository)
	if err != nil {
		return "", invalidAddress("the address of the git repository is no URL")
	}
	if err := c.opts.mayContact(u.Hostname()); err != nil {
		return "", err
	}
	commit, err := c.gits.tagged(ctx, moduleaddr.Package{Getter: "git", URL: u}, tag)
	if err != nil {
		return "", unfetched("tag "+tag+" of", redact(u), err)
	}
	return commit, nil
}

func withRef(source, ref string) (string, error) {
	place, query, _ := strings.Cut(source, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", invalidAddress("invalid module source address: its query is not valid")
	}
	values.Set("ref", ref)
	return place + "?" + values.Encode(), nil
}
