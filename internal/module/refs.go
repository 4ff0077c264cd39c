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
	tags, err := c.tags.Do(ctx, a.Package.Key(), func() ([]string, error) {
		return askGit(ctx, c, modulePackage, a.Package, func(r gitRemote, _ reference) ([]string, error) { return c.gits.tags(ctx, r, inUse[1]) })
	})
	if err != nil {
		return scan.Call{}, "", err
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
	of := moduleaddr.Package{Getter: "git", URL: u}
	return askGit(ctx, c, "tag "+tag+" of", of, func(r gitRemote, _ reference) (string, error) { return c.gits.tagged(ctx, r, tag) })
}

// Names returns what the ref of a git source names now, without fetching a package. A whole
// commit names itself, reachable or not. For a call of another kind the result is zero.
// Errors are those of Fetch.
func (c *Client) Names(ctx context.Context, tool provider.Tool, call scan.Call) (scan.Reference, error) {
	a, err := moduleaddr.Parse(call.Source, tool.Name)
	if err != nil || a.Kind != moduleaddr.Remote || a.Package.Getter != "git" {
		return scan.Reference{}, nil
	}
	return c.references.Do(ctx, a.Package.Key(), func() (scan.Reference, error) {
		return askGit(ctx, c, modulePackage, a.Package, func(r gitRemote, ref reference) (scan.Reference, error) {
			if found, known := ref.commit(); known {
				return found, nil
			}
			return inRepository(ctx, &c.gits, r, func(repository *gitRepository) (scan.Reference, error) { return repository.resolve(ctx, ref) })
		})
	})
}

// Reachable returns an error with CodeModuleForeign for a commit that no branch and no tag
// of a git repository has. Other errors are those of Fetch, and say nothing about the
// commit.
func (c *Client) Reachable(ctx context.Context, repository moduleaddr.Package, commit string) error {
	_, err := askGit(ctx, c, modulePackage, repository, func(r gitRemote, _ reference) (bool, error) {
		err := c.gits.prove(ctx, r, commit)
		return err == nil, err
	})
	return err
}

// Precedes reports whether a commit of a git repository is another one or its ancestor.
// Errors are those of Fetch.
func (c *Client) Precedes(ctx context.Context, repository moduleaddr.Package, commit, of string) (bool, error) {
	ancestors, err := askGit(ctx, c, modulePackage, repository, func(r gitRemote, _ reference) (commits, error) { return c.gits.history(ctx, r, of) })
	return ancestors.has(commit), err
}

// modulePackage is what most questions are about.
const modulePackage = "module package"

// askGit asks about something in a git repository, if that may be asked, as get does for a
// package.
func askGit[T any](ctx context.Context, c *Client, about string, a moduleaddr.Package, ask func(gitRemote, reference) (T, error)) (answer T, err error) {
	if err := c.opts.mayContactAt(a.URL); err != nil {
		return answer, err
	}
	if c.slots.Acquire(ctx, 1) != nil {
		return answer, ended(ctx)
	}
	defer c.slots.Release(1)
	r, ref, err := c.gits.named(ctx, a, nil)
	if err == nil {
		answer, err = ask(r, ref)
	}
	if err != nil {
		return answer, unfetched(about, redact(a.URL), err)
	}
	return answer, nil
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
