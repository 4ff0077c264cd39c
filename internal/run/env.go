package run

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
)

// Env is the world around a run. Nothing in this package reads the process's
// environment by itself.
type Env struct {
	WorkDir   string // absolute
	Getenv    func(string) string
	Environ   []string // NAME=VALUE, for variables whose names are patterns
	Home      string
	GOOS      string
	UserAgent string
	// Server is the host name of the GitHub server, which serves modules, too. API and
	// GraphQL are the addresses of its APIs; empty: those of github.com.
	Server, API, GraphQL string
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
