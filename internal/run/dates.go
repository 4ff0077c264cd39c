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

// dates is an upgrade.DateSource: it asks every server that may know the day of
// a release, the one nearest to the release first.
type dates struct {
	known  *memo.Memo[ask.Question, time.Time] // by release, whatever release of a tool asks
	source *registry.Client
	github *github.Client // nil where the run speaks to no GitHub server
	host   string         // of that server's repositories
}

// dateSource is the dates of a run. A token speaks to the GitHub server also for
// verbs that do nothing else there, so that all of them come to the same plan.
func dateSource(j job, server *github.Client) dates {
	from := j.access.github
	if server == nil && from.Token != "" {
		from.App = nil
		if reached, err := j.clients.connect(from, ""); err == nil {
			server = reached
		}
	}
	if server != nil && server.Anonymous() { // which GraphQL does not answer
		server = nil
	}
	return dates{known: j.dates, source: j.source, github: server, host: webHost(from.API)}
}

// Published returns the day that the registry gives, else that of the GitHub
// release that the packages lie in, else that on which the package was changed. These are
// at most three requests in a run that has asked for the versions, or about a package of
// the release. The time is zero where the last of them says that there is no date. That
// somebody could not be asked is an error: another day would have another answer.
func (d dates) Published(ctx context.Context, tool provider.Tool, want provider.Want) (time.Time, error) {
	release := ask.Question{Tool: provider.Tool{Name: tool.Name}, Want: provider.Want{Addr: want.Addr, Version: want.Version}}
	return d.known.Do(ctx, release, func() (time.Time, error) { return d.published(ctx, tool, release.Want) })
}

// published asks for the day of a release that nobody has asked for in this run.
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
