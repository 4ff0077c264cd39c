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

// Env is the world around a run. This package reads nothing from the process's environment
// itself.
type Env struct {
	WorkDir   string // absolute
	Getenv    func(string) string
	Environ   []string // NAME=VALUE, for variables whose names are patterns
	Home      string
	GOOS      string
	UserAgent string
	// Server is the host name of the GitHub server, which also serves modules. API and
	// GraphQL are the addresses of its APIs; empty: those of github.com.
	Server, API, GraphQL string
	// HashCache is the path of the user's own hash cache; empty: none. NotesCache is the
	// path of the cache of release notes; empty: none.
	HashCache, NotesCache string
	// ModuleCache is the directory that keeps fetched modules between runs; empty: none.
	ModuleCache string
	// OnGitHub says that the run is on a runner of GitHub. There, other people decide what
	// the repository contains.
	OnGitHub bool
	// Summary says that the caller writes a step summary of the report.
	Summary bool
	// Planned says that a schedule or a person has started the run, and no change of the
	// repository.
	Planned bool
	Log     *slog.Logger
	// Mask gets every secret that the run creates, before its first use, to keep it out of
	// the log; nil: there is no log.
	Mask func(secret string) error
	// Now is the time of the run, for rules about dates.
	Now time.Time
	// Clock measures waits for GitHub, and the age of its answers and tokens. The zero
	// value is the real clock.
	Clock github.Clock
	// Announce is called before packages are downloaded, and again when their size is
	// known. It may be nil.
	Announce func(provider.Downloads)
	// Watch follows the downloads of packages, as registry.Options.Watch does.
	Watch func(name string, size int64) registry.Download
	// Fetching is called with the source of a module before relock fetches it. It may be
	// nil.
	Fetching func(source string)
	// Did is called after each change on GitHub, with a sentence without a full stop. It
	// may be nil.
	Did func(done string)
	// Found is called with the number of root modules of a file tree, before they are
	// planned. It may be nil.
	Found func(roots int)
	// Dial is as in transport.Options.
	Dial func(ctx context.Context, network, hostport string) (net.Conn, error)
}
