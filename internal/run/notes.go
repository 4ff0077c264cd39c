package run

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/worktree"
)

// notesTime bounds the questions for the text of a pull request. An upgrade does not wait
// longer for its release notes.
const notesTime = time.Minute

// readNotes reads the release notes for all upgrades of the run.
func readNotes(ctx context.Context, j job, server *github.Client, all []found) []notes.Notes {
	ctx, cancel := context.WithTimeout(ctx, notesTime)
	defer cancel()
	host := webHost(j.env.API)
	var asked notes.Hub = server
	if j.notes != nil {
		asked = notes.Cached(server, host, j.notes)
	}
	return notes.Read(ctx, j.source, asked, host, upgrades(all))
}

// upgrades are the distinct pairs of an old and a new release.
func upgrades(found []found) []notes.Upgrade {
	var all []notes.Upgrade
	for _, f := range found {
		for _, s := range f.result.Selections {
			if f.result.File == nil || s.Err != nil || s.From.IsZero() || s.To.Compare(s.From) <= 0 {
				continue
			}
			u := notes.Upgrade{Tool: f.module.Tool, Addr: s.Requirement.Addr, From: s.From, To: s.To}
			if len(s.Coverage) > 0 {
				u.Platform = s.Coverage[0]
			}
			known := slices.ContainsFunc(all, func(k notes.Upgrade) bool { return k.Addr == u.Addr && k.From == u.From && k.To == u.To })
			if !known {
				all = append(all, u)
			}
		}
		for _, u := range moduleUpgrades(f) {
			if !slices.ContainsFunc(all, func(k notes.Upgrade) bool { return k.Module == u.Module && k.From == u.From && k.To == u.To }) {
				all = append(all, u)
			}
		}
	}
	return all
}

// moduleUpgrades are the locked modules of a root module that move to newer releases, if their
// source is on github.com.
func moduleUpgrades(f found) []notes.Upgrade {
	var all []notes.Upgrade
	for _, c := range f.result.LockedModules {
		from, to, ok := c.Upgrade()
		repository, onGitHub := provider.ParseRepository("https://github.com/" + moduleaddr.OnGitHub(cmp.Or(c.Package, c.Address)))
		if !ok || !onGitHub || f.result.ModulesFile == nil {
			continue
		}
		u := notes.Upgrade{Module: c.Address, From: from, To: to, Repository: repository}
		for _, call := range f.module.Locked() {
			if call.Locked.Address != c.Address || call.Versions == nil || u.Listed != nil {
				continue
			}
			for _, r := range call.Versions.Releases {
				if v, err := provider.ParseVersion(r.Version); err == nil {
					u.Listed = append(u.Listed, provider.Release{Version: v})
				}
			}
		}
		all = append(all, u)
	}
	return all
}

// fillDates fills in the publication dates of a report's releases, if registries have them.
// The modules are all or some of the found ones.
func fillDates(ctx context.Context, j job, all []found, modules []report.Module) {
	ctx, cancel := context.WithTimeout(ctx, notesTime)
	defer cancel()
	tools, unknown := map[provider.Want]provider.Tool{}, map[provider.Want][]*time.Time{}
	for i, m := range modules {
		eachDate(m, func(want provider.Want, published *time.Time) {
			if published.IsZero() {
				tools[want], unknown[want] = all[i].module.Tool, append(unknown[want], published)
			}
		})
	}
	for want, answer := range ask.Each(cmp.Or(j.settings.Jobs, 8), slices.Collect(maps.Keys(tools)), func(want provider.Want) time.Time {
		r, _ := j.source.Repository(ctx, tools[want], want) // a missing date stays unknown
		return r.Published
	}) {
		for _, published := range unknown[want] {
			*published = answer
		}
	}
}

// fillSigners fills in who signed the releases of changes that a pull request keeps because
// this run is about other things. The modules are those of all.
func fillSigners(ctx context.Context, j job, all []found, modules []report.Module) {
	ctx, cancel := context.WithTimeout(ctx, notesTime)
	defer cancel()
	platform := slices.Concat(j.plan.Platforms.List, provider.DefaultPlatforms)[0]
	unknown := map[ask.Question][]*provider.Signer{}
	for i, f := range all {
		m, tool := modules[i], f.module.Tool
		if tool.Version.IsZero() { // of a lock file that the run did not look at
			tool = provider.Newest(tool.Name)
		}
		for k, c := range m.Changes {
			if !c.Unasked || c.To.IsZero() {
				continue
			}
			of := func(v provider.Version) ask.Question {
				return ask.Question{Tool: tool, Want: provider.Want{Addr: c.Addr, Version: v, Platform: platform}}
			}
			unknown[of(c.To)] = append(unknown[of(c.To)], &m.Changes[k].Signer)
			if !c.From.IsZero() && c.From != c.To {
				unknown[of(c.From)] = append(unknown[of(c.From)], &m.Changes[k].SignerFrom)
			}
		}
	}
	for question, signer := range upgrade.Signers(ctx, j.source, slices.Collect(maps.Keys(unknown)), j.settings.Jobs) {
		for _, of := range unknown[question] {
			*of = signer
		}
	}
}

// eachDate visits the dates of releases in a module's report.
func eachDate(m report.Module, visit func(want provider.Want, published *time.Time)) {
	facts := func(addr provider.Addr, f *upgrade.Facts) {
		for i := range f.Held {
			visit(provider.Want{Addr: addr, Version: f.Held[i].Version}, &f.Held[i].Published)
		}
	}
	for i := range m.Changes {
		change := &m.Changes[i]
		if !change.To.IsZero() && !change.FromPull { // an entry of the pull request: nobody was asked about it
			visit(provider.Want{Addr: change.Addr, Version: change.To}, &change.Published)
		}
		facts(change.Addr, &change.Facts)
	}
	for i := range m.Kept {
		facts(m.Kept[i].Addr, &m.Kept[i].Facts)
	}
}

// webHost is the host of an API's repositories. For a server on this machine, as in the
// demonstration, it is github.com.
func webHost(api string) string {
	u, err := url.Parse(cmp.Or(api, github.PublicAPI))
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	tenant, isAPI := strings.CutPrefix(host, "api.")
	switch {
	case host == "localhost", net.ParseIP(host) != nil && net.ParseIP(host).IsLoopback():
		return "github.com"
	case isAPI && (tenant == "github.com" || strings.HasSuffix(tenant, ".ghe.com")):
		return tenant
	}
	return host
}

// CloneOf returns the repository that the working tree at root is a clone of, as
// worktree.Origin does. api is the address of the server's REST API.
func CloneOf(root, api string) (repository string, notices []problem.Problem, err error) {
	return worktree.Origin(root, webHost(api))
}

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
