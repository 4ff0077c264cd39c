package run

import (
	"context"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
)

// dates is an upgrade.DateSource: it asks for the day of a release whoever may
// know it, the one nearest to the release first.
type dates struct {
	source *registry.Client
	hub    hub    // without a client where the run speaks to no GitHub server
	host   string // of that server's repositories
}

// dateSource is the dates of a run. A token speaks to the GitHub server also for
// verbs that do nothing else there, so that all of them come to the same plan.
func (c *corridor) dateSource() dates {
	server, from := c.hub, c.req.Pull.Hub
	if server.Client == nil && from.Token != "" {
		from.App = nil
		if reached, err := c.connect(from, ""); err == nil {
			server = reached
		}
	}
	return dates{source: c.source, hub: server, host: webHost(from.API)}
}

// Published returns the day that the registry gives, else that of the GitHub
// release that the packages lie in, else that on which the package was changed.
func (d dates) Published(ctx context.Context, tool provider.Tool, want provider.Want) (time.Time, error) {
	said, err := d.source.Repository(ctx, tool, want)
	if err != nil || !said.Published.IsZero() {
		return said.Published, err
	}
	if want.Platform, err = d.platform(ctx, tool, want); err != nil || want.Platform == (provider.Platform{}) {
		return time.Time{}, err
	}
	if said, err = d.source.Repository(ctx, tool, want); err != nil {
		return time.Time{}, err
	}
	if at := d.released(ctx, said); !at.IsZero() {
		return at, nil
	}
	return d.source.Modified(ctx, tool, want)
}

// platform is one that the release serves; zero if none is known.
func (d dates) platform(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Platform, error) {
	releases, err := d.source.Versions(ctx, tool, want.Addr)
	if err != nil {
		return provider.Platform{}, err
	}
	i := slices.IndexFunc(releases, func(r provider.Release) bool { return r.Version == want.Version })
	if i < 0 || len(releases[i].Platforms) == 0 {
		return provider.Platform{}, nil
	}
	return releases[i].Platforms[0], nil
}

// released is the date of a GitHub release; zero if that cannot be had.
func (d dates) released(ctx context.Context, r provider.Repository) time.Time {
	if d.hub.Client == nil || r.Tag == "" || r.Host != d.host {
		return time.Time{}
	}
	found, err := d.hub.Releases(ctx, []provider.Tagged{{Owner: r.Owner, Name: r.Name, Tags: []string{r.Tag}}})
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return time.Time{}
	}
	return found[0][0].Published
}
