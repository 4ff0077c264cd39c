package run

import (
	"context"
	"errors"
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
)

// dates is an upgrade.DateSource. It asks each server that may know the date of a release,
// beginning with the registry.
type dates struct {
	known  *memo.Memo[ask.Question, time.Time] // by release; the release of the tool makes no difference
	source *registry.Client
	github *github.Client // nil if the run uses no GitHub server
	host   string         // of that server's repositories
}

// dateSource returns the dates of a run. Every verb uses the token for the GitHub server
// here, so that all verbs make the same plan.
func dateSource(j job, server *github.Client) dates {
	from := j.access.github
	if server == nil && from.Token != "" {
		from.App = nil
		if reached, err := j.clients.connect(from, ""); err == nil {
			server = reached
		}
	}
	if server != nil && server.Anonymous() { // GraphQL does not answer anonymous clients
		server = nil
	}
	return dates{known: j.dates, source: j.source, github: server, host: webHost(from.API)}
}

// Published returns the date of a release. It asks the registry first, then the GitHub
// release that has the packages, and then the server of the package for its last change.
// That is at most three requests, if the run has already asked for versions or for a
// package of the release. The time is zero if the last server answers that it has no date.
// If a server cannot be asked, Published fails, since another day would have another
// answer.
func (d dates) Published(ctx context.Context, tool provider.Tool, want provider.Want) (time.Time, error) {
	release := ask.Question{Tool: provider.Tool{Name: tool.Name}, Want: provider.Want{Addr: want.Addr, Version: want.Version}}
	return d.known.Do(ctx, release, func() (time.Time, error) { return d.published(ctx, tool, release.Want) })
}

// published asks for the date of a release for the first time in this run.
func (d dates) published(ctx context.Context, tool provider.Tool, want provider.Want) (time.Time, error) {
	said, err := d.source.Repository(ctx, tool, want)
	if err != nil || !said.Published.IsZero() {
		return said.Published, err
	}
	if !said.Known() {
		said, err = d.source.Download(ctx, tool, want)
		if err != nil {
			return time.Time{}, err
		}
	}
	if d.github == nil || said.Tag == "" || said.Host != d.host {
		return d.source.Modified(ctx, tool, want)
	}
	found, err := d.github.Releases(ctx, []provider.Tagged{{Owner: said.Owner, Name: said.Name, Tags: []string{said.Tag}}})
	if errors.Is(err, github.ErrUnsupported) {
		return d.source.Modified(ctx, tool, want)
	}
	if err != nil || len(found[0]) == 0 {
		return time.Time{}, err
	}
	return found[0][0].Published, nil
}
