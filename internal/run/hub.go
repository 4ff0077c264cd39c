package run

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/terragrunt"
	"github.com/relock-dev/relock/internal/transport"
)

// Hub says how a GitHub server is spoken to.
type Hub struct {
	// API and GraphQL are the addresses of its APIs as the runner gives them;
	// empty: those of github.com.
	API, GraphQL string
	Token        string // secret
	// App takes the place of the token if it is given; its Repositories are
	// those of the requests.
	App *github.App
	// Owner is whose repositories the run is about, if it is about all of them: an App
	// then reads with one token, and makes others for what is written.
	Owner string
	// Anonymous says that a run without a token and an App reads what is public.
	Anonymous bool
}

// hub is a GitHub server with the credentials for one repository, or for all.
type hub struct{ *github.Client }

// hubs are the clients of a session.
type hubs struct {
	env    Env
	client *transport.Client

	mu    sync.Mutex
	known map[string]hub
}

// of returns the client for a repository. A token serves all of them. An App has
// a token for each: narrowed to several, it could not be had where the App is not
// installed in one of them.
func (s *hubs) of(h Hub, repository string) (hub, error) {
	if _, _, err := split(repository); err != nil {
		return hub{}, err
	}
	anonymous := h.Token == "" && h.App == nil
	if anonymous && !h.Anonymous {
		return hub{}, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: "there is no token for GitHub",
			Hint: "set GITHUB_TOKEN to one that may write contents and pull requests, or give a GitHub App; --dry-run needs none for what is public",
		}}
	}
	if anonymous { // whose requests are counted by repository
		return s.connect(h, "anonymous "+repository)
	}
	if h.Owner != "" {
		return s.inOwner(h, repository)
	}
	if h.App == nil {
		return s.connect(h, "")
	}
	h.App = narrowed(h.App, repository)
	name := repository
	if h.App.Teams {
		name += " with teams"
	}
	return s.connect(h, name)
}

// ofOwner returns the client that lists the repositories of an owner and reads them,
// with custom properties where somebody chooses by them.
func (s *hubs) ofOwner(h Hub, properties bool) (hub, error) {
	if h.Token == "" && h.App == nil {
		return hub{}, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: "there is no token for GitHub",
			Hint: "give a GitHub App that is installed in the organisation, or set GITHUB_TOKEN to somebody's token",
		}}
	}
	if h.App != nil {
		h.App = &github.App{ID: h.App.ID, PrivateKey: h.App.PrivateKey, Installation: h.App.Installation, Owner: h.Owner, Properties: properties}
	}
	return s.connect(h, "owner "+h.Owner)
}

// inOwner returns the client for one of an owner's repositories.
func (s *hubs) inOwner(h Hub, repository string) (hub, error) {
	owner, err := s.ofOwner(h, false) // which is there already
	if err != nil {
		return hub{}, err
	}
	teams, labels := h.App != nil && h.App.Teams, h.App != nil && h.App.Labels
	name := clientName(repository, teams, labels)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.known[name]; !known {
		s.known[name] = hub{owner.Narrowed(repository, teams, labels)}
	}
	return s.known[name], nil
}

// clientName is the name of a client for one repository.
func clientName(repository string, teams, labels bool) string {
	return fmt.Sprint(repository, " with teams: ", teams, ", labels: ", labels)
}

// forget lets the clients of a repository go, with what they remember.
func (s *hubs) forget(repository string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, teams := range []bool{false, true} {
		for _, labels := range []bool{false, true} {
			delete(s.known, clientName(repository, teams, labels))
		}
	}
}

// moduleToken returns the operator's tokens for git hosts that modules come from: the
// one that is given or, for the GitHub server, that of the App. It is asked for when
// the first module needs it.
func moduleToken(j job) func(ctx context.Context, host string) (string, error) {
	return func(ctx context.Context, host string) (string, error) {
		given, h, repository := moduleTokens(j.env, j.settings)[host], j.access, j.target.repository
		_, _, err := split(repository)
		if given != "" || h.App == nil || host != j.env.Server || err != nil {
			return given, nil
		}
		if h.Owner != "" { // whose repositories can be read all
			client, err := j.hubs.ofOwner(h, false)
			if err != nil {
				return "", err
			}
			return client.Token(ctx)
		}
		h.App = narrowed(h.App, repository)
		h.App.Modules = true
		client, err := j.hubs.connect(h, "modules for "+repository)
		if err != nil {
			return "", err
		}
		return client.Token(ctx)
	}
}

// connect returns the client that is known by a name, or makes it.
func (s *hubs) connect(h Hub, name string) (hub, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.known[name]; ok {
		return known, nil
	}
	for _, endpoint := range []string{h.API, h.GraphQL} {
		if u, err := url.Parse(endpoint); err == nil {
			s.client.Admit(transport.HostPort(u))
		}
	}
	client, err := github.New(github.Options{
		HTTP: s.client.HTTP(), API: h.API, GraphQL: h.GraphQL, Token: h.Token, App: h.App, Made: s.env.Mask, Log: s.env.Log, Clock: s.env.Clock,
	})
	if err != nil {
		return hub{}, err
	}
	if s.known == nil {
		s.known = map[string]hub{}
	}
	s.known[name] = hub{client}
	return hub{client}, nil
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

// repository returns the repository OWNER/NAME.
func (h hub) repository(full string) (*github.Repository, error) {
	owner, name, err := split(full)
	if err != nil {
		return nil, err
	}
	return h.Repository(owner, name), nil
}

// reach returns a repository with the client for it.
func (s *hubs) reach(h Hub, repository string) (*github.Repository, error) {
	client, err := s.of(h, repository)
	if err != nil {
		return nil, err
	}
	return client.repository(repository)
}

// defaultBranch returns the name of a repository's default branch.
func (s *hubs) defaultBranch(ctx context.Context, h Hub, repository string) (string, error) {
	repo, err := s.reach(h, repository)
	if err != nil {
		return "", err
	}
	return repo.DefaultBranch(ctx)
}

// fetch reads the file tree at the head of a branch, without a checkout. An
// empty branch is the default one, whose name is returned.
func (s *hubs) fetch(ctx context.Context, h Hub, repository, branch string) (remote *Remote, base string, err error) {
	repo, err := s.reach(h, repository)
	if err != nil {
		return nil, "", err
	}
	if branch == "" {
		if branch, err = repo.DefaultBranch(ctx); err != nil {
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
	files, err := repo.SnapshotOf(ctx, commit, id, Reads)
	if err != nil {
		return nil, err
	}
	// Which files Terragrunt units read only their configuration says, which may read
	// others in turn.
	lacking := map[string]bool{}
	for range mostRounds {
		names := slices.DeleteFunc(terragrunt.Lacks(files), func(name string) bool { return lacking[name] })
		if len(names) == 0 {
			break
		}
		for _, name := range names {
			lacking[name] = true
		}
		if files, err = repo.SnapshotOf(ctx, commit, id, func(name string) bool { return Reads(name) || lacking[name] }); err != nil {
			return nil, err
		}
	}
	return &Remote{FS: files, Commit: commit}, nil
}

// locksOf are the lock files of a commit on GitHub, by path.
func locksOf(ctx context.Context, repo *github.Repository, sha string) (map[string][]byte, error) {
	tree, err := repo.Snapshot(ctx, sha, lockfile.Is)
	if err != nil {
		return nil, err
	}
	return lockFiles(tree)
}

// mostRounds bounds how often a commit is read again for files that were not known
// to be needed. What is lacking then is not known.
const mostRounds = 4

// Reads reports whether a run may read a file.
func Reads(name string) bool { return scan.Reads(name) || slices.Contains(settings.FileNames, name) }
