package module

import (
	"context"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"

	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/transport"
)

// gitSchemes are the supported transports of git. relock and git refuse all others, such as
// ext, which runs a command.
var gitSchemes = map[string]bool{"https": true, "http": true, "ssh": true, "git": true, "file": true}

const gitHint = "use a URL of https, http, ssh, git or file: no other is read as a git repository"

type gitRemote struct {
	url   *url.URL // the URL for git, without go-getter's arguments
	key   []byte   // the ssh key; nil: ssh finds one
	token string   // the operator's token for the URL's host over https
	from  *url.URL // the server that referred to it
}

// gitQuestion identifies a remote for memos. With other credentials, or if another server
// named it, the answer may differ.
type gitQuestion struct{ url, key, referrer string }

func (r gitRemote) question() gitQuestion {
	q := gitQuestion{url: r.url.String(), key: string(r.key)}
	if r.from != nil {
		q.referrer = transport.HostPort(r.from)
	}
	return q
}

type historyQuestion struct {
	gitQuestion
	of string
}

// reference names a commit of a repository.
type reference struct {
	name    string // a branch, a tag, a commit or any other revision of git; "" is the default branch
	shallow bool   // a depth was given: only a branch or a tag is allowed
}

// commit returns the commit that the reference names by its whole ID, if it does.
func (r reference) commit() (scan.Reference, bool) {
	return scan.Reference{Kind: scan.RefCommit, Commit: r.name}, fullCommit.MatchString(r.name) && !r.shallow
}

// gits fetches from git repositories. It checks nothing out: no hook, filter or attribute
// of a repository has any effect.
type gits struct {
	means
	tips      *memo.Memo[gitQuestion, commits] // of remotes that are asked for a commit
	histories *memo.Memo[historyQuestion, commits]
}

// named reads the repository and the reference from a package address, and refuses a
// repository that must not be asked. go-getter removes its own arguments from the URL
// [go-getter 1.7 get_git.go].
func (g *gits) named(ctx context.Context, a moduleaddr.Package, from *url.URL) (gitRemote, reference, error) {
	query := a.URL.Query()
	ref := reference{name: query.Get("ref")}
	if depth, err := strconv.Atoi(query.Get("depth")); err == nil && depth > 0 {
		ref.shallow = true
	}
	plain := *a.URL
	r := gitRemote{url: &plain, from: from}
	if encoded := query.Get("sshkey"); encoded != "" {
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return r, ref, invalidAddress("invalid module source address: its sshkey is not in base64")
		}
		r.key = key
	}
	for _, argument := range []string{"ref", "depth", "sshkey", "archive", "checksum"} {
		query.Del(argument)
	}
	plain.RawQuery = query.Encode()
	if !moduleaddr.PlausibleRef(ref.name) {
		return r, ref, invalidAddress("invalid module source address: its ref is no name of a commit")
	}
	r, err := g.opts.admitted(ctx, r)
	return r, ref, err
}

// fetch reads the files of a commit. whole takes all of them; nil: files of configurations are
// kept.
func (g *gits) fetch(ctx context.Context, a moduleaddr.Package, from *url.URL, whole *packageWriter) (contents, error) {
	r, ref, err := g.named(ctx, a, from)
	if err != nil {
		return contents{}, err
	}
	named, known := ref.commit()
	if known {
		if err := g.prove(ctx, r, named.Commit); err != nil {
			return contents{}, err
		}
		if p, ok := g.saved(r.url, named.Commit); ok && whole == nil {
			p.reference = named
			return p, nil
		}
	}
	return inRepository(ctx, g, r, func(repository *gitRepository) (contents, error) {
		if !known {
			named, err = repository.resolve(ctx, ref)
			if err != nil {
				return contents{}, err
			}
			g.cache.setReachable(gitID(r.url, named.Commit))
		}
		if whole != nil {
			err := g.fill(ctx, repository, newFilling(archiveForm{whole: whole}), "", named.Commit, 0)
			return g.cache.save(contents{hash: gitHash + named.Commit}, ""), err
		}
		p, err := g.commit(ctx, repository, named.Commit, 0)
		p.reference = named
		return p, err
	})
}

// prove returns an error for a commit that no branch and no tag has. The tools clone
// branches and tags, and so find no other commit [case commit-of-a-pull]. But a server may
// send any commit that it has, and a host such as GitHub has those of forks and of pull
// requests in one place.
func (g *gits) prove(ctx context.Context, r gitRemote, commit string) error {
	if g.cache.reachable(gitID(r.url, commit)) {
		return nil
	}
	found, err := g.tips.Do(ctx, r.question(), func() (commits, error) {
		return inRepository(ctx, g, r, func(repository *gitRepository) (commits, error) { return repository.tips(ctx) })
	})
	if err == nil && !found.has(commit) {
		found, err = g.history(ctx, r, "--all")
	}
	switch {
	case err != nil:
		return err
	case !found.has(commit):
		e := coded(problem.CodeModuleForeign, "no branch and no tag of the git repository has the commit %s", commit)
		e.Problem.Hint = "name a commit of one of its branches or tags: this one may be that of a fork or of a pull request"
		return e
	}
	g.cache.setReachable(gitID(r.url, commit))
	return nil
}

// history is a commit with its ancestors or, for --all, the commits of all branches and tags.
func (g *gits) history(ctx context.Context, r gitRemote, of string) (commits, error) {
	return g.histories.Do(ctx, historyQuestion{r.question(), of}, func() (commits, error) {
		return inRepository(ctx, g, r, func(repository *gitRepository) (commits, error) { return repository.history(ctx, of) })
	})
}

// tags are a repository's tags with a prefix.
func (g *gits) tags(ctx context.Context, r gitRemote, prefix string) ([]string, error) {
	out, err := inRepository(ctx, g, r, func(repository *gitRepository) ([]byte, error) {
		return repository.run(ctx, nil, "ls-remote", "--tags", "--refs", "origin", "refs/tags/"+prefix+"*")
	})
	if err != nil {
		return nil, err
	}
	var tags []string
	for line := range strings.Lines(string(out)) {
		if _, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			tags = append(tags, strings.TrimPrefix(ref, "refs/tags/"))
		}
	}
	return tags, nil
}

// tagged is the commit of a tag.
func (g *gits) tagged(ctx context.Context, r gitRemote, tag string) (string, error) {
	heads, err := inRepository(ctx, g, r, func(repository *gitRepository) (heads, error) { return repository.advertised(ctx, tag) })
	if err != nil {
		return "", err
	}
	if heads.tag != "" && !fullCommit.MatchString(heads.tag) {
		return "", unread("the git repository does not name its objects by SHA-1")
	}
	return heads.tag, nil
}

// commit reads one commit, from the cache if it has it.
func (g *gits) commit(ctx context.Context, r *gitRepository, commit string, depth int) (contents, error) {
	if p, ok := g.saved(r.remote.url, commit); ok {
		return p, nil
	}
	into := newFilling(archiveForm{})
	if err := g.fill(ctx, r, into, "", commit, depth); err != nil {
		return contents{}, err
	}
	id := gitID(r.remote.url, commit)
	return g.cache.save(contents{fs: into.Tree(), id: id, hash: gitHash + commit}, id), nil
}

// fill adds the files of a commit below a directory, and those of its submodules.
func (g *gits) fill(ctx context.Context, r *gitRepository, into *filling, dir, commit string, depth int) error {
	if err := r.fetch(ctx, commit, into.whole != nil); err != nil {
		return err
	}
	links, err := r.read(ctx, into, dir, commit)
	if err != nil || len(links) == 0 {
		return err
	}
	return g.submodules(ctx, r, into, dir, commit, links, depth)
}

// saved is a commit from the cache.
func (g *gits) saved(u *url.URL, commit string) (contents, bool) {
	p, ok := g.cache.load(gitID(u, commit))
	p.hash = gitHash + commit
	return p, ok
}

// gitHash is before a commit in a lock file of modules. The commit determines all of its
// files, and the commits of its submodules.
const gitHash = "git:"

// gitID names a commit of a repository, without credentials.
func gitID(u *url.URL, commit string) string {
	plain := *u
	plain.User = nil
	return "git+" + plain.String() + "@" + commit
}

// admitted checks that a repository may be asked. It adds the operator's token for its
// host, over https.
func (o Options) admitted(ctx context.Context, r gitRemote) (gitRemote, error) {
	u := r.url
	host := u.Hostname()
	switch {
	case !gitSchemes[u.Scheme]:
		return gitRemote{}, refusedModule(gitHint, "a git repository at a URL with the scheme %q is not read", u.Scheme)
	case strings.HasPrefix(host, "-") || strings.HasPrefix(u.User.Username(), "-") || strings.ContainsFunc(u.String(), func(r rune) bool { return r < ' ' }):
		return gitRemote{}, invalidAddress("invalid module source address: it is no URL of a git repository")
	case u.Scheme == "file":
		if !o.AllowLocal {
			return gitRemote{}, refusedModule("relock reads modules outside of the repository only where it is run by hand",
				"the git repository is on the disk of this machine")
		}
		return r, nil
	case host == "":
		return gitRemote{}, invalidAddress("invalid module source address: it is no URL of a git repository")
	}
	// A token is never sent unencrypted. A source with its own credentials keeps them.
	_, hasPassword := u.User.Password()
	taken := u.Scheme == "ssh" || u.Scheme == "https" && !hasPassword
	if o.Token != nil && r.key == nil && taken && !o.Silent { // it may have to be asked for
		var err error
		r.token, err = o.Token(ctx, strings.ToLower(host))
		if err != nil {
			return gitRemote{}, err
		}
	}
	if r.token != "" {
		over := *u
		if u.Scheme == "ssh" { // its port is not that of https
			over.Scheme, over.Host = "https", u.Hostname()
		}
		over.User = nil
		r.url = &over
		return r, nil
	}
	if u.Scheme == "ssh" && r.key == nil && !o.Silent && !o.own(host) {
		return gitRemote{}, unauthorized(u, "set module-token (RELOCK_MODULE_TOKEN), which is sent to its host over https",
			"the git repository is asked for over ssh, and the keys of this machine are not used for %s here", host)
	}
	return r, nil
}
