package run

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/terragrunt"
	"github.com/relock-dev/relock/internal/transport"
)

// access is how an ask speaks to the GitHub server.
type access struct {
	github github.Access
	// owner is whose repositories the run is about, if it is about all of them: an App
	// then reads with one token, and makes others for what is written.
	owner string
	// public says that a run without a token and an App reads what is public.
	public bool
}

// clients are those of a session that speak to GitHub, each with the credentials for one
// repository, or for all.
type clients struct {
	env  Env
	http *transport.Client

	mu       sync.Mutex
	known    map[string]*github.Client
	refusals github.Refusals // of new tokens, by all of them
}

// of returns the client for a repository. A token serves all of them. An App has
// a token for each: narrowed to several, it could not be had where the App is not
// installed in one of them.
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
	if anonymous { // whose requests are counted by repository
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

// ofOwner returns the client that lists the repositories of an owner and reads them,
// with custom properties where somebody chooses by them.
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

// inOwner returns the client for one of an owner's repositories.
func (c *clients) inOwner(to access, repository string) (*github.Client, error) {
	owner, err := c.ofOwner(to, false) // which is there already
	if err != nil {
		return nil, err
	}
	teams, labels := to.github.App != nil && to.github.App.Teams, to.github.App != nil && to.github.App.Labels
	name := clientName(repository, teams, labels)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.known[name]; !known {
		c.known[name] = owner.Narrowed(repository, teams, labels)
	}
	return c.known[name], nil
}

// clientName is the name of a client for one repository.
func clientName(repository string, teams, labels bool) string {
	return fmt.Sprint(repository, " with teams: ", teams, ", labels: ", labels)
}

// forget lets the clients of a repository go, with what they remember.
func (c *clients) forget(repository string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, teams := range []bool{false, true} {
		for _, labels := range []bool{false, true} {
			delete(c.known, clientName(repository, teams, labels))
		}
	}
}

// moduleToken returns the operator's tokens for git hosts that modules come from: the
// one that is given or, for the GitHub server, that of the App. It is asked for when
// the first module needs it.
func moduleToken(j job) func(ctx context.Context, host string) (string, error) {
	return func(ctx context.Context, host string) (string, error) {
		given, to, repository := moduleTokens(j.env, j.settings)[host], j.access, j.target.repository
		_, _, err := split(repository)
		if given != "" || to.github.App == nil || host != j.env.Server || err != nil {
			return given, nil
		}
		if to.owner != "" { // whose repositories can be read all
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

// connect returns the client that is known by a name, or makes it.
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

// narrowed is an App for one repository of the run. An installation belongs to
// one owner: where there are several, it is looked up.
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

// defaultBranch returns the name of a repository's default branch.
func (c *clients) defaultBranch(ctx context.Context, to access, repository string) (string, error) {
	repo, err := c.reach(to, repository)
	if err != nil {
		return "", err
	}
	return repo.DefaultBranch(ctx)
}

// fetch reads the file tree at the head of a branch, without a checkout. An
// empty branch is the default one, whose name is returned.
func (c *clients) fetch(ctx context.Context, to access, repository, branch string) (remote *Remote, base string, err error) {
	repo, err := c.reach(to, repository)
	if err != nil {
		return nil, "", err
	}
	if branch == "" {
		branch, err = repo.DefaultBranch(ctx)
		if err != nil {
			return nil, "", err
		}
	}
	commit, err := repo.Head(ctx, branch)
	if err != nil {
		return nil, branch, err
	}
	remote, err = Snapshot(ctx, repo, commit)
	return remote, branch, err
}

// Snapshot reads the file tree of a commit, with the contents of the files that a
// run may read.
func Snapshot(ctx context.Context, repo *github.Repository, commit string) (*Remote, error) {
	return snapshotOf(ctx, repo, commit, "")
}

// snapshotOf does so for a commit whose tree has this id, if that is known and an archive
// is the cheapest way to its files.
func snapshotOf(ctx context.Context, repo *github.Repository, commit, id string) (*Remote, error) {
	files, err := readCommit(ctx, repo, commit, id)
	if err != nil {
		return nil, err
	}
	return &Remote{FS: files, Commit: commit, with: func(ctx context.Context, named map[string]bool) (*filetree.Tree, error) {
		return repo.SnapshotOf(ctx, commit, id, func(name string) bool { return reads(name) || named[name] })
	}}, nil
}

// ReadCommit reads the files of a commit as Snapshot does.
func ReadCommit(ctx context.Context, repo *github.Repository, commit string) (*filetree.Tree, error) {
	return readCommit(ctx, repo, commit, "")
}

func readCommit(ctx context.Context, repo *github.Repository, commit, id string) (*filetree.Tree, error) {
	files, err := repo.SnapshotOf(ctx, commit, id, reads)
	// Which files Terragrunt units read only their configuration says, which may read
	// others in turn.
	lacking := map[string]bool{}
	for range mostRounds {
		if err != nil {
			return nil, err
		}
		names := slices.DeleteFunc(terragrunt.Lacks(ctx, files, nil), func(name string) bool { return lacking[name] })
		if len(names) == 0 {
			break
		}
		for _, name := range names {
			lacking[name] = true
		}
		files, err = repo.SnapshotOf(ctx, commit, id, func(name string) bool { return reads(name) || lacking[name] })
	}
	return files, err
}

// mostRounds bounds how often a commit is read again for files that were not known
// to be needed. What is lacking then is not known.
const mostRounds = 4

// reads reports whether a run may read a file.
func reads(name string) bool { return scan.Reads(name) || slices.Contains(settings.FileNames, name) }
