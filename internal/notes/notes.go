// Package notes finds the texts of publishers about the releases of an upgrade of a provider
// or a locked module.
// It reads the text of GitHub releases or, if a release has none, the part of CHANGELOG.md
// about its version.
//
// The registry names a provider's repository, and the lock file of modules a module's. One question to GitHub asks for all releases
// of a run, by their tags. Nothing is listed or searched. If many releases are between two
// versions, only the most important ones are read: the last one, the first of each major
// version, which describes breaking changes, and the newest of the others. A Cache keeps
// the texts between runs.
//
// Notes are optional. If they fail, one line says so, and the upgrade is proposed all the
// same. The texts are untrusted and unchanged; package report makes them harmless.
package notes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/provider"
)

// Source says where providers come from. Implementations must be safe for
// concurrent use.
type Source interface {
	// Versions returns all releases of a provider, in any order.
	Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (provider.Offer, error)
	// Repository returns the repository with the source of a release; zero if it is
	// unknown.
	Repository(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Repository, error)
}

// Hub is a GitHub server, on which the repositories are.
type Hub interface {
	// Releases returns the releases that exist, by the index of the asked repository.
	Releases(ctx context.Context, asked []provider.Tagged) ([][]provider.Announcement, error)
	// Files returns a file of each repository, by index; empty if it is missing.
	Files(ctx context.Context, asked []provider.Tagged, path string) ([]string, error)
}

// Upgrade is a provider or a locked module that leaves a release for a newer one.
type Upgrade struct {
	Tool     provider.Tool
	Addr     provider.Addr
	From, To provider.Version
	// Platform is one that the newer release serves.
	Platform provider.Platform
	// Module is the address of a module, without Addr and Platform. Then Repository has its
	// source, and Listed its releases, as far as they are known.
	Module     string
	Repository provider.Repository
	Listed     []provider.Release
}

// Notes are the publisher's texts about the releases of one upgrade.
type Notes struct {
	Addr       provider.Addr       `json:"provider,omitzero"`
	Module     string              `json:"module,omitempty"` // as in Upgrade
	From       provider.Version    `json:"from"`
	To         provider.Version    `json:"to"`
	Repository provider.Repository `json:"-"`
	Releases   []Release           `json:"releases"` // newest first
	// More counts the releases between the two versions that are not in Releases.
	More int `json:"more"`
	// Problem says in a line why notes are missing; empty if none are.
	Problem string `json:"problem"`
}

// Release is the publisher's text about one release, cut into sections.
type Release struct {
	Version   provider.Version `json:"version"`
	URL       string           `json:"url"` // of its page; empty if there is none
	Published provider.Day     `json:"released"`
	Sections  []Section        `json:"sections"` // the most important first
	// Cut says that the notes are longer than the sections.
	Cut bool `json:"cut"`
}

const (
	// mostReleases bounds the releases of an upgrade that are read.
	mostReleases = 5
	// jobs bounds the questions to registries that are open at once.
	jobs = 8
)

// overBefore is the problem if the time was over before an answer was read.
const overBefore = "the time for release notes was over before they were looked at"

// Read returns the notes of each upgrade, by index. A failure is the Problem of its notes.
// host is the server of the hub. Repositories on other servers are named and not read.
func Read(ctx context.Context, src Source, hub Hub, host string, upgrades []Upgrade) []Notes {
	all := make([]Notes, len(upgrades))
	var g errgroup.Group
	g.SetLimit(jobs)
	for i, u := range upgrades {
		g.Go(func() error {
			all[i] = begin(ctx, src, host, u)
			return nil
		})
	}
	_ = g.Wait() // failures are part of the notes
	r := reader{hub: hub}
	r.releases(ctx, all)
	r.changelogs(ctx, all)
	keepMost(all)
	for i := range all {
		if n := &all[i]; n.Problem == "" && !slices.ContainsFunc(n.Releases, Release.told) {
			n.Problem = "nothing is said about these releases"
		}
	}
	return all
}

// begin finds the repository of an upgrade, and the releases to read.
func begin(ctx context.Context, src Source, host string, u Upgrade) Notes {
	n := Notes{Addr: u.Addr, Module: u.Module, From: u.From, To: u.To, Repository: u.Repository}
	var err error
	if u.Module == "" {
		n.Repository, err = src.Repository(ctx, u.Tool, provider.Want{Addr: u.Addr, Version: u.To, Platform: u.Platform})
	}
	switch {
	case err != nil:
		n.Problem = err.Error()
		return n
	case !n.Repository.Known():
		n.Problem = "the registry does not say where the source is"
		return n
	case n.Repository.Host != host:
		n.Problem = fmt.Sprintf("the source is on %s, and this run reads %s", n.Repository.Host, cmp.Or(host, "no server"))
		return n
	}
	if u.Module == "" {
		offer, err := src.Versions(ctx, u.Tool, u.Addr)
		if err == nil { // else the newest is known without the list
			u.Listed = offer.Releases
		}
	}
	n.Releases, n.More = pick(u.Listed, u.From, u.To)
	return n
}

// pick chooses the releases to read on the way from one version to another, the newest
// first. more counts the others.
func pick(listed []provider.Release, from, to provider.Version) (picked []Release, more int) {
	onTheWay := []provider.Version{to}
	for _, r := range listed {
		if r.Version.Prerelease == "" && r.Version.Compare(from) > 0 && r.Version.Compare(to) < 0 {
			onTheWay = append(onTheWay, r.Version)
		}
	}
	slices.SortFunc(onTheWay, func(a, b provider.Version) int {
		return cmp.Or(cmp.Compare(weight(a, from, to), weight(b, from, to)), b.Compare(a))
	})
	more = max(0, len(onTheWay)-mostReleases)
	onTheWay = onTheWay[:len(onTheWay)-more]
	slices.SortFunc(onTheWay, func(a, b provider.Version) int { return b.Compare(a) })
	for _, v := range onTheWay {
		picked = append(picked, Release{Version: v})
	}
	return picked, more
}

// weight is less for a release that matters more.
func weight(v, from, to provider.Version) int {
	switch {
	case v == to:
		return 0
	case v.Major > from.Major && v.Minor == 0 && v.Patch == 0:
		return 1
	}
	return 2
}

// tags are the possible tags of a version. The tag of the newest release shows how the
// others are named.
func (n Notes) tags(v provider.Version) []string {
	if prefix, ok := strings.CutSuffix(n.Repository.Tag, n.To.String()); ok {
		return []string{prefix + v.String()}
	}
	if v == n.To && n.Repository.Tag != "" {
		return []string{n.Repository.Tag}
	}
	return []string{"v" + v.String(), v.String()}
}

// reader asks the hub.
type reader struct{ hub Hub }

// asking collects the questions to the hub, one for each repository.
type asking []provider.Tagged

// add asks for the tags of a repository, and returns its index.
func (a *asking) add(r provider.Repository, tags ...string) int {
	i := slices.IndexFunc(*a, func(t provider.Tagged) bool { return t.Owner == r.Owner && t.Name == r.Name })
	if i < 0 {
		i = len(*a)
		*a = append(*a, provider.Tagged{Owner: r.Owner, Name: r.Name})
	}
	asked := &(*a)[i]
	for _, tag := range tags {
		if !slices.Contains(asked.Tags, tag) {
			asked.Tags = append(asked.Tags, tag)
		}
	}
	return i
}

// releases reads the texts of releases.
func (r reader) releases(ctx context.Context, all []Notes) {
	var ask asking
	for _, n := range all {
		for _, rel := range n.Releases {
			ask.add(n.Repository, n.tags(rel.Version)...)
		}
	}
	if len(ask) == 0 {
		return
	}
	found, err := r.hub.Releases(ctx, ask)
	for i := range all {
		n := &all[i]
		if len(n.Releases) == 0 {
			continue
		}
		if err != nil {
			n.Problem = err.Error()
		}
		for j := range n.Releases {
			if err == nil && ctx.Err() != nil { // without an answer there are only cached releases
				n.Problem = overBefore
				break
			}
			n.Releases[j].take(found[ask.add(n.Repository)], n.tags(n.Releases[j].Version))
		}
	}
}

// take copies the text of the first release with one of the tags.
func (rel *Release) take(found []provider.Announcement, tags []string) {
	for _, f := range found {
		if slices.Contains(tags, f.Tag) {
			rel.URL, rel.Published = f.URL, provider.Day(f.Published)
			if !elsewhere(f.Text) {
				rel.say(f.Text)
			}
			return
		}
	}
}

// say splits a text into the sections of the release.
func (rel *Release) say(text string) {
	rel.Sections, rel.Cut = sections(text), len(text) > maxText
}

func (rel Release) told() bool { return len(rel.Sections) > 0 }

// changelogs reads CHANGELOG.md for releases that have no text.
func (r reader) changelogs(ctx context.Context, all []Notes) {
	var ask asking
	silent := func(n Notes) bool {
		return n.Problem == "" && len(n.Releases) > 0 && slices.ContainsFunc(n.Releases, func(rel Release) bool { return !rel.told() })
	}
	for _, n := range all {
		if silent(n) {
			ask.add(n.Repository)
		}
	}
	if len(ask) == 0 {
		return
	}
	found, err := r.hub.Files(ctx, ask, "CHANGELOG.md")
	for i := range all {
		n := &all[i]
		if !silent(*n) {
			continue
		}
		if err != nil {
			n.Problem = err.Error()
			continue
		}
		text := found[ask.add(n.Repository)]
		for j := range n.Releases {
			if ctx.Err() != nil {
				n.Problem = overBefore
				break
			}
			if rel := &n.Releases[j]; !rel.told() {
				rel.say(chapter(text, rel.Version))
			}
		}
	}
}

// Compare returns the address of all changes between the two releases; empty if the form of
// their tags is unknown.
func (n Notes) Compare() string {
	from, to := n.tags(n.From), n.tags(n.To)
	if !n.Repository.Known() || len(from) != 1 || len(to) != 1 {
		return ""
	}
	return n.Repository.URL("compare", from[0]+"..."+to[0])
}
