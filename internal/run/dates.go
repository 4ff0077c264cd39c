package run

import (
	"context"
	"time"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
)

// dates is an upgrade.DateSource: it asks for the day of a release whoever may
// know it, the one nearest to the release first.
type dates struct {
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
	return dates{source: j.source, github: server, host: webHost(from.API)}
}

// Published returns the day that the registry gives, else that of the GitHub
// release that the packages lie in, else that on which the package was changed.
func (d dates) Published(ctx context.Context, tool provider.Tool, want provider.Want) (time.Time, error) {
	said, err := d.source.Repository(ctx, tool, want)
	if err != nil || !said.Published.IsZero() {
		return said.Published, err
	}
	want.Platform, err = d.platform(ctx, tool, want)
	if err != nil || want.Platform == (provider.Platform{}) {
		return time.Time{}, err
	}
	said, err = d.source.Repository(ctx, tool, want)
	if err != nil {
		return time.Time{}, err
	}
	if at, err := d.released(ctx, said); err != nil || !at.IsZero() {
		return at, err
	}
	return d.source.Modified(ctx, tool, want)
}

// platform is one that the release serves; zero if none is known.
func (d dates) platform(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Platform, error) {
	offer, err := d.source.Versions(ctx, tool, want.Addr)
	if err != nil {
		return provider.Platform{}, err
	}
	if r := offer.Release(want.Version); r != nil && len(r.Platforms) > 0 {
		return r.Platforms[0], nil
	}
	return provider.Platform{}, nil
}

// released is the date of a GitHub release; zero if there is none that may be
// read. A server that does not answer is an error: what comes next is not the
// date that would be used on another day.
func (d dates) released(ctx context.Context, r provider.Repository) (time.Time, error) {
	if d.github == nil || r.Tag == "" || r.Host != d.host {
		return time.Time{}, nil
	}
	found, err := d.github.Releases(ctx, []provider.Tagged{{Owner: r.Owner, Name: r.Name, Tags: []string{r.Tag}}})
	switch {
	case problem.Coded(err, problem.CodeUnreachable), problem.Coded(err, problem.CodeCancelled):
		return time.Time{}, err
	case err != nil || len(found) == 0 || len(found[0]) == 0:
		return time.Time{}, nil
	}
	return found[0][0].Published, nil
}
