package module

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// repository is a bare repository in a temporary directory, into which commits
// of one remote are fetched. Beside it are the settings of git, the key for ssh,
// and an empty home directory.
type repository struct {
	client *Client
	remote remote
	dir    string // that is removed in the end
	env    []string
	doubt  error // why the remote could not be asked before git was; git may know better
}

// open prepares to ask a remote, after checking its host as transport would.
// The URL is given to git by a file: no argument of git, which every user of the
// machine can see, holds credentials.
func (c *Client) open(ctx context.Context, r remote) (*repository, error) {
	dir, err := file.NewTemporaryDir("git")
	if err != nil {
		return nil, unread("making a temporary directory: %v", err)
	}
	repo := &repository{client: c, remote: r, dir: dir}
	if err := repo.prepare(ctx); err != nil {
		repo.close()
		return nil, err
	}
	return repo, nil
}

func (r *repository) close() { os.RemoveAll(r.dir) }

func (r *repository) prepare(ctx context.Context) error {
	key, err := r.writeKey()
	if err != nil {
		return err
	}
	if err := os.Mkdir(r.path("home"), 0o700); err != nil {
		return unread("making a temporary directory: %v", pathless(err))
	}
	if err := r.configure(r.remote); err != nil {
		return err
	}
	if err := r.reset(ctx); err != nil {
		return err
	}
	if r.remote.url.Scheme == "file" {
		return nil
	}
	asked, err := r.asked(ctx)
	if err != nil {
		return err
	}
	return r.reach(ctx, asked, key)
}

// configure makes the environment for a remote. What may be secret in it is in a
// file that nobody else can read: what is in the environment, every program gets
// that git runs.
func (r *repository) configure(of remote, more ...setting) error {
	secret := append(r.client.secretSettings(of), more...)
	if err := os.WriteFile(r.path("settings"), []byte(configFile(secret)), 0o600); err != nil {
		return unread("writing the settings of git: %v", pathless(err))
	}
	r.env = r.environ(of)
	return nil
}

// path is that of a file beside the repository.
func (r *repository) path(name string) string { return filepath.Join(r.dir, name) }

func (r *repository) gitDir() string { return r.path("repository") }

// writeKey puts the key for ssh into a file that nobody else can read.
func (r *repository) writeKey() (name string, err error) {
	if r.remote.key == nil {
		return "", nil
	}
	name = r.path("key")
	if err := os.WriteFile(name, r.remote.key, 0o600); err != nil {
		return "", unread("writing the key for ssh: %v", pathless(err))
	}
	return name, nil
}

// asked is the URL that git asks: the operator's configuration may put another
// one in its place (insteadOf), or a path or an alias of ssh, which is none.
func (r *repository) asked(ctx context.Context) (*url.URL, error) {
	if !r.client.opts.own(r.remote.url.Hostname()) {
		return r.remote.url, nil
	}
	out, err := r.run(ctx, nil, "ls-remote", "--get-url", "origin")
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(out))
	if strings.Contains(text, "://") {
		u, err := url.Parse(text)
		if err != nil {
			return nil, unread("git's configuration puts something in place of %s that is no URL", redact(r.remote.url))
		}
		return u, nil
	}
	if u, ok := scpURL(text); ok {
		return u, nil
	}
	return &url.URL{Scheme: "file", Path: text}, nil
}

// maxAdvertised bounds what a server answers when git asks it first: by version 2
// of the protocol some hundred bytes, before that a line for each branch and tag.
const maxAdvertised = 32 << 20

// settle follows the redirects of a server for git, which is told not to: the
// rules for what may be connected to hold at each hop only here. It returns where
// the repository has moved to, nil if nowhere. What cannot be asked is left to
// git where it may know other ways by the operator's configuration.
func (r *repository) settle(ctx context.Context, asked *url.URL) (*remote, error) {
	const question = "/info/refs"
	u := asked.JoinPath(question)
	query := u.Query()
	query.Set("service", "git-upload-pack")
	u.RawQuery = query.Encode()
	header := http.Header{"Git-Protocol": {"version=2"}}
	if r.remote.token != "" && u.Host == r.remote.url.Host {
		header.Set("Authorization", basic(r.remote.token))
	}
	own := r.client.opts.own(r.remote.url.Hostname())
	resp, body, err := r.client.transport.Stream(ctx, transport.Request{
		URL: u, Referrer: r.remote.from, Header: header, NoRetry: own, Limit: maxAdvertised,
	})
	if err != nil {
		if over := ended(ctx); over != nil || transport.Refused(err) || !own {
			return nil, cmp.Or(over, err)
		}
		r.doubt = err
		return nil, nil
	}
	defer body.Close()
	// git keeps all of it in memory, however much that is.
	if _, err := io.Copy(io.Discard, body); provider.Coded(err, provider.CodeBadAnswer) {
		return nil, err
	}
	end, ok := strings.CutSuffix(resp.URL.Path, question)
	if !ok || end == strings.TrimSuffix(u.Path, question) && transport.HostPort(resp.URL) == transport.HostPort(u) {
		return nil, nil
	}
	final := *resp.URL
	final.Path, final.RawPath, final.RawQuery = end, "", asked.RawQuery
	if transport.HostPort(&final) == transport.HostPort(asked) {
		final.User = asked.User
	}
	moved := remote{url: &final, key: r.remote.key, from: r.remote.from}
	if moved, err = r.client.admitted(ctx, moved); err != nil {
		return nil, err
	}
	return &moved, nil
}

// basic is the header for a token of any of the large git hosts: they ignore
// the user name, or want this one.
func basic(token string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token))
}

// fullCommit is the name of a commit that no branch or tag is taken for.
var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// plainName is a branch or tag that can be asked for by name.
var plainName = regexp.MustCompile(`^[^ ~^:?*\[\\]+$`)

// resolve finds the commit that a reference means to the tools, which clone the
// repository and then check it out.
func (r *repository) resolve(ctx context.Context, ref reference) (string, error) {
	if fullCommit.MatchString(ref.name) && !ref.shallow {
		return ref.name, nil
	}
	if ref.name == "" || plainName.MatchString(ref.name) && !strings.Contains(ref.name, "@{") {
		heads, err := r.advertised(ctx, ref.name)
		if err != nil {
			return "", err
		}
		switch commit := heads.choose(ref); {
		case fullCommit.MatchString(commit):
			return commit, nil
		case commit != "":
			return "", unread("the git repository does not name its objects by SHA-1")
		case ref.name == "":
			return "", unread("the git repository has no default branch")
		}
	}
	if ref.shallow {
		return "", unread("the git repository has no branch or tag %q; with depth, the ref must be one", ref.name)
	}
	return r.parse(ctx, ref.name)
}

// heads is what a repository advertises of a name.
type heads struct {
	main, mainName string // the default branch
	branch, tag    string // commits of that name
}

// choose prefers as git does: for a clone, a branch of this name is there only
// if it is the default one, else a tag comes first; a shallow clone is of a
// branch before a tag.
func (h heads) choose(ref reference) string {
	switch {
	case ref.name == "":
		return h.main
	case h.branch != "" && (ref.shallow || ref.name == h.mainName || h.tag == ""):
		return h.branch
	}
	return h.tag
}

// advertised asks the remote for its default branch and for a name.
func (r *repository) advertised(ctx context.Context, name string) (heads, error) {
	const branches, tags = "refs/heads/", "refs/tags/"
	args := []string{"ls-remote", "--symref", "origin", "HEAD"}
	if name != "" {
		args = append(args, branches+name, tags+name, tags+name+"^{}")
	}
	out, err := r.run(ctx, nil, args...)
	if err != nil {
		return heads{}, err
	}
	var h heads
	for line := range strings.Lines(string(out)) {
		value, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		target, symbolic := strings.CutPrefix(value, "ref: ")
		switch {
		case ref == "HEAD" && symbolic && plainName.MatchString(target):
			h.mainName = strings.TrimPrefix(target, branches)
		case symbolic:
		case ref == "HEAD":
			h.main = value
		case ref == branches+name:
			h.branch = value
		case ref == tags+name && h.tag == "", ref == tags+name+"^{}":
			h.tag = value // peeled, where it is an annotated tag
		}
	}
	return h, nil
}

// parse resolves what only a clone can: an abbreviated commit, HEAD~1, or
// origin/main. The clone has commits alone, if the server can do that.
func (r *repository) parse(ctx context.Context, name string) (string, error) {
	if err := r.clone(ctx, "--filter=tree:0"); err != nil {
		return "", err
	}
	for _, candidate := range []string{name, "refs/remotes/origin/" + name} {
		out, err := r.run(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", candidate+"^{commit}")
		if commit := strings.TrimSpace(string(out)); err == nil && fullCommit.MatchString(commit) {
			return commit, r.reset(ctx)
		}
	}
	if err := ended(ctx); err != nil {
		return "", err
	}
	return "", unread("the git repository has nothing that the ref %q names", name)
}

// clone fetches all branches and tags to where they are in a clone.
func (r *repository) clone(ctx context.Context, options ...string) error {
	heads, err := r.advertised(ctx, "")
	if err != nil {
		return err
	}
	args := append([]string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"}, options...)
	args = append(args, "origin", "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
	if heads.mainName != "" && heads.main != "" {
		args = append(args, "+refs/heads/"+heads.mainName+":refs/heads/"+heads.mainName)
	}
	if err := r.bounded(ctx, nil, args...); err != nil {
		return err
	}
	if heads.mainName == "" {
		return nil
	}
	_, err = r.run(ctx, nil, "symbolic-ref", "HEAD", "refs/heads/"+heads.mainName)
	return err
}

// reset makes the repository, or makes it anew. Having a commit without its files,
// a server would take it for whole and send nothing; and a fetch that failed may
// have left settings behind, by which git would look for objects at the remote.
func (r *repository) reset(ctx context.Context) error {
	if err := os.RemoveAll(r.gitDir()); err != nil {
		return unread("emptying a temporary directory: %v", pathless(err))
	}
	if err := os.Mkdir(r.gitDir(), 0o700); err != nil {
		return unread("making a temporary directory: %v", pathless(err))
	}
	_, err := r.run(ctx, nil, "init", "--quiet", "--bare", "--template=", ".")
	return err
}

// fetch gets one commit without its history, and without files that no
// configuration is as large as: see readBlobs. Not every server gives a commit
// that it does not advertise, and one that is no more than files over HTTP knows
// neither; then all of them are fetched.
func (r *repository) fetch(ctx context.Context, commit string) error {
	err := r.bounded(ctx, nil, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules",
		"--filter=blob:limit=1m", "origin", commit)
	if err == nil {
		return nil
	}
	if over := ended(ctx); over != nil || provider.Coded(err, provider.CodeUnauthorized) {
		return cmp.Or(over, err)
	}
	if err := r.reset(ctx); err != nil {
		return err
	}
	if err := r.clone(ctx); err != nil {
		return err
	}
	if _, missing := r.run(ctx, nil, "cat-file", "-e", commit+"^{commit}"); missing != nil {
		return unread("the git repository has no commit %s", commit)
	}
	return nil
}

// bounded runs git while it does not fill the disk.
func (r *repository) bounded(ctx context.Context, stdin io.Reader, args ...string) error {
	err := within(ctx, r.dir, func(ctx context.Context) error {
		_, err := r.run(ctx, stdin, args...)
		return err
	})
	if errors.Is(err, errDirectory) {
		return unread("git %s of %s: %v", commandOf(args), redact(r.remote.url), err)
	}
	return err
}

// gitlink is where a tree has a submodule, and at which commit.
type gitlink struct{ dir, commit string }

// maxListing bounds the list of the files of a commit.
const maxListing = 64 << 20

// read reads what is kept of a commit's files.
func (r *repository) read(ctx context.Context, commit string) (*filling, []gitlink, error) {
	out, err := r.run(ctx, nil, "ls-tree", "-r", "-t", "-z", "--full-tree", commit)
	if err != nil {
		return nil, nil, err
	}
	into := newFilling()
	var links []gitlink
	var blobs []blob
	for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		meta, name, _ := strings.Cut(record, "\t")
		fields := strings.Fields(meta) // MODE TYPE ID
		if len(fields) != 3 {
			continue // an empty tree has an empty record
		}
		if err := into.count(); err != nil {
			return nil, nil, unread("the git repository cannot be read: %v", err)
		}
		mode, id := fields[0], fields[2]
		switch {
		case nameless(name):
		case mode == "040000":
			err = into.AddDir(name)
		case mode == "160000":
			err = into.AddDir(name)
			links = append(links, gitlink{name, id})
		case mode == "120000" || kept(name):
			blobs = append(blobs, blob{id: id, name: name, link: mode == "120000"})
		}
		if err != nil {
			return nil, nil, unread("the git repository cannot be read: %v", err)
		}
	}
	if err := r.readBlobs(ctx, into, commit, blobs); err != nil {
		return nil, nil, err
	}
	return into, links, nil
}
