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
	// Summary says that the caller writes a step summary of the report.
	Summary bool
	// Planned says that a schedule or a person has started the run there, and not a
	// change that somebody makes.
	Planned bool
	Log     *slog.Logger
	// Mask gets every secret that is made in the run, before it is used, to keep it out of
	// a log; nil: there is no such log.
	Mask func(secret string) error
	// Now is when the run is, for rules about dates.
	Now time.Time
	// Clock measures the waiting for GitHub, and how old its answers and tokens are; its
	// zero value is the real one.
	Clock github.Clock
	// Announce is called before packages are downloaded, and when it is known how large
	// they are. It may be nil.
	Announce func(provider.Downloads)
	// Watch follows the downloads of packages, as registry.Options.Watch does.
	Watch func(name string, size int64) registry.Download
	// Fetching is called with the source of a module when it begins to be fetched. It may
	// be nil.
	Fetching func(source string)
	// Did is called when something was done on GitHub, with a sentence on that without a
	// full stop. It may be nil.
	Did func(done string)
	// Found is called with the number of root modules of a file tree, before they are
	// planned. It may be nil.
	Found func(roots int)
	// Dial is as in transport.Options.
	Dial func(ctx context.Context, network, hostport string) (net.Conn, error)
}
