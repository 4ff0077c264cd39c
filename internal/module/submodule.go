package module

import (
	"context"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/moduleaddr"
)

// The limits on submodules, far above what any module package has.
const (
	maxSubmodules     = 100 // of one repository
	maxSubmoduleDepth = 5   // depth of nested repositories
)

// submodules adds the files of submodules. The tools fetch all submodules, and stop at the
// first failure [go-getter 1.7 get_git.go], as is done for a whole package. Otherwise a
// failure is recorded in the submodule's directory, and only a reader of that directory sees
// it: most submodules have nothing to do with modules.
func (g *gits) submodules(ctx context.Context, r *gitRepository, into *filling, dir, commit string, links []gitEntry, depth int) error {
	config, err := r.gitmodules(ctx, commit)
	if err != nil {
		return err
	}
	for i, link := range links {
		at := path.Join(dir, link.name)
		settings, ok := config[link.name]
		switch {
		case settings.update == "none": // the tools leave the directory empty, too [go-getter 1.7 get_git.go]
			err = into.dir(at)
		case !ok:
			err = unread(".gitmodules has no URL for it")
		case i >= maxSubmodules || depth >= maxSubmoduleDepth:
			err = unread("the git repository has too many submodules")
		default:
			err = g.submodule(ctx, r, into, at, link.id, settings.url, depth)
		}
		if over := ended(ctx); over != nil {
			return over
		}
		if err == nil {
			continue
		}
		err = attempting("fetching the git submodule "+link.name, err)
		if into.whole != nil {
			return err
		}
		if err := into.AddMissing(at, fs.ModeDir|0o755, 0, err); err != nil {
			return unread("the git repository cannot be read: %v", err)
		}
	}
	return nil
}

// submodule adds the files of a submodule.
func (g *gits) submodule(ctx context.Context, parent *gitRepository, into *filling, dir, commit, text string, depth int) error {
	child, err := g.openSubmodule(ctx, parent, text)
	if err != nil {
		return err
	}
	defer child.close()
	if into.whole != nil {
		return g.fill(ctx, child, into, dir, commit, depth+1)
	}
	p, err := g.commit(ctx, child, commit, depth+1)
	if err != nil {
		return err
	}
	if err := into.AddTree(dir, p.fs.(*filetree.Tree)); err != nil {
		return unread("the git submodule %s cannot be read: %v", dir, err)
	}
	return nil
}

// openSubmodule prepares to ask the repository of a submodule. Its commit need not be on a
// branch or a tag: git fetches the commit itself where its clone lacks it [docs: git-submodule,
// update].
func (g *gits) openSubmodule(ctx context.Context, parent *gitRepository, text string) (*gitRepository, error) {
	u, err := submoduleURL(parent.remote.url, text)
	if err != nil {
		return nil, err
	}
	if err := g.opts.mayContactAt(u); err != nil {
		return nil, err
	}
	if u.Scheme == "file" {
		if err := g.mayNamePaths(parent.remote.url); err != nil {
			return nil, err
		}
	}
	r, err := g.opts.admitted(ctx, gitRemote{url: u, key: parent.remote.key, from: parent.remote.from})
	if err != nil {
		return nil, err
	}
	return openRepository(ctx, g, r)
}

// submoduleURL reads the URL of a submodule. It may be relative to the URL of the outer
// repository.
func submoduleURL(parent *url.URL, text string) (*url.URL, error) {
	if strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") {
		u := *parent
		u.Path, u.RawPath = path.Join("/", parent.Path, text), ""
		return &u, nil
	}
	if path.IsAbs(text) {
		return &url.URL{Scheme: "file", Path: text}, nil
	}
	if moduleaddr.Forced(text) {
		return nil, refusedModule(gitHint, "its URL names a program that git should run")
	}
	if u, ok := moduleaddr.ParseSCP(text); ok {
		return u, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, unread("its URL is not valid")
	}
	return u, nil
}

// submoduleConfig is an entry of .gitmodules.
type submoduleConfig struct{ dir, url, update string }

// gitmodules reads .gitmodules, by submodule directory.
func (r *gitRepository) gitmodules(ctx context.Context, commit string) (map[string]submoduleConfig, error) {
	out, err := r.run(ctx, nil, "config", "--null", "--blob", commit+":.gitmodules", "--get-regexp", `^submodule\..*\.(path|url|update)$`)
	if over := ended(ctx); over != nil {
		return nil, over
	}
	if err != nil {
		return nil, nil // the file is missing or invalid: no submodule has a URL
	}
	sections := map[string]submoduleConfig{}
	for record := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(record, "\n")
		dot := strings.LastIndex(key, ".")
		if dot < 0 {
			continue
		}
		s := sections[key[:dot]]
		switch key[dot+1:] {
		case "path":
			s.dir = path.Clean(value)
		case "url":
			s.url = value
		case "update":
			s.update = value
		}
		sections[key[:dot]] = s
	}
	config := map[string]submoduleConfig{}
	for _, s := range sections {
		if s.url != "" {
			config[s.dir] = s
		}
	}
	return config, nil
}
