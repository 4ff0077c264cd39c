package run

import (
	"context"
	"log/slog"
	"net"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// Request is what a person or an event asks for.
type Request struct {
	Verb verbs.Verb
	// Targets are what it is about.
	Targets []Target
	// Configure makes the request for the files of a commit, by their own
	// configuration file: for targets without Files, and where a base has moved; nil:
	// what has moved is an error.
	Configure Configure
	// Notices tell what of the repository's own configuration file has no effect.
	Notices []problem.Problem
	// Touched restricts the run to root modules for which it holds; nil: all.
	Touched func(scan.RootModule) bool
	// Change narrows the verb check to what was changed; nil: nothing is known of
	// changes, and all is looked at.
	Change *Change
	// Named are the providers that somebody names, as Plan.Only or to be told
	// about: they must be there, as must the directories of the targets.
	Named []provider.Pattern
	// Clauses are what the repository's own configuration file says of providers
	// and directories; none of a file that serves other repositories, too.
	Clauses []Clause
	// Own is which root modules the repository's own configuration file selects: what
	// Scan leaves out besides, this run leaves out.
	Own OwnSelection
	// Scan and Plan say how; Scan.Dirs is that of the targets.
	Scan scan.Options
	Plan upgrade.Options
	// Proof says how Verify proves; the rest of it is as in Plan.
	Proof Proving
	// UnlockedFails makes a failure of root modules without a lock file, if
	// Scan.Unlocked looks for them.
	UnlockedFails bool
	// Cache is the path of the hash cache, relative to the working directory or
	// absolute; empty: Env.HashCache, which does without where it cannot be used.
	Cache string
	// HashSource is as in registry.Options.
	HashSource string
	// Head says whether the tree is the head of a pull request.
	Head Head
	// Hosts returns the registries that a head from a fork may name, since its base
	// does. It is asked if there is one to be judged; nil: none.
	Hosts func() []svchost.Hostname
	// Timeout is the time in which a session may ask; 0: as long as it takes, or on a
	// runner of GitHub half an hour, and longer while packages keep arriving.
	Timeout time.Duration
	// ModuleTokens are tokens for git hosts that modules come from, by host.
	ModuleTokens map[string]string
	// Hub is the GitHub server.
	Hub Hub
	// Pull says how pull requests are made.
	Pull Pull
}

// OwnSelection is what the configuration file with a name that is searched for says of
// the directories that a search takes; its zero value takes all.
type OwnSelection struct {
	File             string // in the repository
	Include, Exclude []string
}

// Env is the world around a run. Nothing in this package reads the process's
// environment by itself.
type Env struct {
	WorkDir   string // absolute
	Getenv    func(string) string
	Environ   []string // NAME=VALUE, for variables whose names are patterns
	Home      string
	GOOS      string
	UserAgent string
	// Server is the host name of the GitHub server, which serves modules, too.
	Server string
	// HashCache is the path of the user's own hash cache, and NotesCache that of
	// what was said about releases; none if empty.
	HashCache, NotesCache string
	// ModuleCache is the directory in which fetched modules are kept from one
	// run to the next; none if empty.
	ModuleCache string
	// OnGitHub says that the run is on a runner of GitHub, where others decide
	// what is in the repository.
	OnGitHub bool
	// Summary says that whoever runs it writes a step summary of the report.
	Summary bool
	// Planned says that a schedule or a person has started the run there, and not a
	// change that somebody makes.
	Planned bool
	Log     *slog.Logger
	// Mask is told of every secret that is made in the run, before it is used; nil:
	// nobody prints a log for others.
	Mask func(secret string) error
	// Now is when the run is, for rules about dates.
	Now time.Time
	// Clock measures the waiting for limits of GitHub; its zero value is the real one.
	Clock github.Clock
	// Announce is told of packages before they are downloaded, and when it is known how
	// large they are; nil: nobody is.
	Announce func(provider.Downloads)
	// Watch is told of the downloads of packages, as registry.Options.Watch is.
	Watch func(name string, size int64) registry.Download
	// Fetching is told the source of each module that is fetched, when that begins;
	// nil: nobody is.
	Fetching func(source string)
	// Did hears, in a sentence without a full stop, of what was done on GitHub, when it
	// was; nil: nobody does.
	Did func(done string)
	// Found is told how many root modules a target has, before they are planned; nil:
	// nobody is.
	Found func(roots int)
	// Dial is as in transport.Options.
	Dial func(ctx context.Context, network, hostport string) (net.Conn, error)
}
