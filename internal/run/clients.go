package run

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/transport"
)

// access is how an ask connects to the GitHub server.
type access struct {
	github github.Access
	// owner is the owner, if the run is about all of the owner's repositories. An App then
	// reads with one token, and writes with others.
	owner string
	// public says that a run without a token or an App reads public repositories.
	public bool
}

// clients are a session's clients for GitHub. Each has the credentials for one repository,
// or for all.
type clients struct {
	env  Env
	http *transport.Client

	mu       sync.Mutex
	known    map[string]*github.Client
	refusals github.Refusals // of new tokens, for all clients
}

// of returns the client for a repository. One token serves all repositories. An App has one
// token for each: GitHub refuses a token for several repositories if the App is missing in
// one.
func (c *clients) of(to access, repository string) (*github.Client, error) {
	if _, _, err := split(repository); err != nil {
		return nil, err
	}
	anonymous := to.github.Anonymous()
	if anonymous && !to.public {
		return nil, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: "there is no token for GitHub",
			Hint: "set GITHUB_TOKEN to one that may write contents and pull requests, or give a GitHub App; --dry-run needs none for what is public",
		}}
	}
	if anonymous { // GitHub counts anonymous requests, so each repository has its own count
		return c.connect(to.github, "anonymous "+repository)
	}
	if to.owner != "" {
		return c.inOwner(to, repository)
	}
	if to.github.App == nil {
		return c.connect(to.github, "")
	}
	to.github.App = narrowed(to.github.App, repository)
	name := repository
	if to.github.App.Teams {
		name += " with teams"
	}
	return c.connect(to.github, name)
}

// ofOwner returns the client that lists and reads the repositories of an owner. It reads
// custom properties if the caller selects by them.
func (c *clients) ofOwner(to access, properties bool) (*github.Client, error) {
	if to.github.Anonymous() {
		return nil, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: "there is no token for GitHub",
			Hint: "give a GitHub App that is installed in the organisation, or set GITHUB_TOKEN to somebody's token",
		}}
	}
	if to.github.App != nil {
		to.github.App = &github.App{ID: to.github.App.ID, PrivateKey: to.github.App.PrivateKey, Installation: to.github.App.Installation, Owner: to.owner, Properties: properties}
	}
	return c.connect(to.github, "owner "+to.owner)
}

// narrowedName follows the repository in the name of a client for one of an owner's
// repositories.
const narrowedName = " with teams: "

// inOwner returns the client for one of an owner's repositories.
func (c *clients) inOwner(to access, repository string) (*github.Client, error) {
	owner, err := c.ofOwner(to, false) // it exists already
	if err != nil {
		return nil, err
	}
	teams, labels := to.github.App != nil && to.github.App.Teams, to.github.App != nil && to.github.App.Labels
	name := fmt.Sprint(repository, narrowedName, teams, ", labels: ", labels)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.known[name]; !known {
		c.known[name] = owner.Narrowed(repository, teams, labels)
	}
	return c.known[name], nil
}

// forget drops the clients of a repository, with their caches.
func (c *clients) forget(repository string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.known, func(name string, _ *github.Client) bool { return strings.HasPrefix(name, repository+narrowedName) })
}

// moduleToken returns the operator's token for a git host with modules. For the GitHub
// server without a given token it is the App's. It is requested for the first module that
// needs it.
func moduleToken(j job) func(ctx context.Context, host string) (string, error) {
	return func(ctx context.Context, host string) (string, error) {
		given, to, repository := givenToken(j.env, j.settings, host), j.access, j.target.repository
		_, _, err := split(repository)
		if given != "" || to.github.App == nil || host != j.env.Server || err != nil {
			return given, nil
		}
		if to.owner != "" { // the App can read all of the owner's repositories
			client, err := j.clients.ofOwner(to, false)
			if err != nil {
				return "", err
			}
			return client.Token(ctx)
		}
		to.github.App = narrowed(to.github.App, repository)
		to.github.App.Modules = true
		client, err := j.clients.connect(to.github, "modules for "+repository)
		if err != nil {
			return "", err
		}
		return client.Token(ctx)
	}
}

// connect returns the client with a name, or makes it.
func (c *clients) connect(to github.Access, name string) (*github.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.known[name]; ok {
		return known, nil
	}
	for _, endpoint := range []string{to.API, to.GraphQL} {
		if u, err := url.Parse(endpoint); err == nil {
			c.http.Admit(transport.HostPort(u))
		}
	}
	client, err := github.New(github.Options{
		HTTP: c.http.HTTP(), Access: to, Made: c.env.Mask, Refusals: &c.refusals, Log: c.env.Log, Clock: c.env.Clock,
	})
	if err != nil {
		return nil, err
	}
	if c.known == nil {
		c.known = map[string]*github.Client{}
	}
	c.known[name] = client
	return client, nil
}

// narrowed is an App for one repository of the run. An installation belongs to one owner.
// If the run has several owners, the installation is looked up.
func narrowed(app *github.App, repository string) *github.App {
	narrow := *app
	narrow.Repositories = []string{repository}
	owner, _, _ := strings.Cut(repository, "/")
	if slices.ContainsFunc(app.Repositories, func(full string) bool {
		other, _, _ := strings.Cut(full, "/")
		return !strings.EqualFold(other, owner)
	}) {
		narrow.Installation = 0
	}
	return &narrow
}

// repositoryOf returns the repository OWNER/NAME.
func repositoryOf(client *github.Client, full string) (*github.Repository, error) {
	owner, name, err := split(full)
	if err != nil {
		return nil, err
	}
	return client.Repository(owner, name), nil
}

// reach returns a repository with the client for it.
func (c *clients) reach(to access, repository string) (*github.Repository, error) {
	client, err := c.of(to, repository)
	if err != nil {
		return nil, err
	}
	return repositoryOf(client, repository)
}

func (c *clients) defaultBranch(ctx context.Context, to access, repository string) (string, error) {
	repo, err := c.reach(to, repository)
	if err != nil {
		return "", err
	}
	return repo.DefaultBranch(ctx)
}

// head returns a repository and the commit of a branch. For an empty branch it is that of the
// default branch. It returns the name of the branch, too.
func (c *clients) head(ctx context.Context, to access, repository, branch string) (repo *github.Repository, name, commit string, err error) {
	repo, err = c.reach(to, repository)
	if err == nil && branch == "" {
		branch, err = repo.DefaultBranch(ctx)
	}
	if err != nil {
		return nil, "", "", err
	}
	commit, err = repo.Head(ctx, branch)
	return repo, branch, commit, err
}

// fetch reads the file tree at the head of a branch, without a checkout. It returns the name
// of the branch, as head does.
func (c *clients) fetch(ctx context.Context, to access, repository, branch string) (remote *Remote, base string, err error) {
	repo, base, commit, err := c.head(ctx, to, repository, branch)
	if err != nil {
		return nil, base, err
	}
	remote, err = Snapshot(ctx, repo, commit)
	return remote, base, err
}

// Snapshot reads the file tree of a commit, with the contents of the files that a
// run may read.
func Snapshot(ctx context.Context, repo *github.Repository, commit string) (*Remote, error) {
	return snapshotOf(ctx, repo, commit, "")
}

// snapshotOf is Snapshot for a commit whose tree has this id. The id must be known, and an
// archive must be the cheapest way to the files.
func snapshotOf(ctx context.Context, repo *github.Repository, commit, id string) (*Remote, error) {
	with := func(ctx context.Context, named map[string]bool) (*filetree.Tree, error) {
		return repo.SnapshotOf(ctx, commit, id, func(name string) bool { return reads(name) || named[name] })
	}
	files, err := with(ctx, nil)
	if err != nil {
		return nil, err
	}
	r := &Remote{FS: files, Commit: commit, with: with}
	return r.withUnits(ctx, nil)
}

// ReadCommit reads the files of a commit as Snapshot does.
func ReadCommit(ctx context.Context, repo *github.Repository, commit string) (*filetree.Tree, error) {
	r, err := Snapshot(ctx, repo, commit)
	if err != nil {
		return nil, err
	}
	return r.FS.(*filetree.Tree), nil
}

// mostRounds bounds how often a commit is read again for newly named files. Files that are
// still missing then stay unknown.
const mostRounds = 4

// reads reports whether a run may read a file.
func reads(name string) bool { return scan.Reads(name) || slices.Contains(settings.FileNames, name) }

// split cuts OWNER/NAME.
func split(repository string) (owner, name string, err error) {
	owner, name, ok := strings.Cut(repository, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return "", "", &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: "the repository is not known",
			Hint: "set GITHUB_REPOSITORY to OWNER/NAME, or name it with --repo",
		}}
	}
	return owner, name, nil
}
