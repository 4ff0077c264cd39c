package outline

import (
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// Glance is the content of the issue of a repository: everything that no open
// pull request deals with.
type Glance struct {
	Words Vocabulary
	// Room, Later and Closed are proposals without an open pull request. Room
	// ones wait for a free place, Later ones for a later run. A person has closed
	// the pull requests of Closed ones.
	Room, Later, Closed []report.PullRequest
	Held                []*Topic // what blocks providers
	Review              []*Topic // what was not read or not verified, or breaks a rule
}

// glanced are the concerns that the issue lists.
var glanced = []Concern{ConcernModule, ConcernFailed, ConcernHash, ConcernReReleased, ConcernRule, ConcernUnread, ConcernWarning}

// GlanceOf returns the part of a report that no open pull request covers. The
// result depends neither on the time nor on the dates that a run has asked for.
func GlanceOf(r report.Report) Glance {
	d := VocabularyOf(r)
	d.undated = true
	waiting := func(what string) []report.PullRequest {
		return collect.Those(r.PullRequests, func(p report.PullRequest) bool { return p.Waiting != nil && p.Waiting.For == what })
	}
	g := Glance{Words: d, Room: waiting("room"), Later: waiting("run"), Closed: waiting("person"), Held: heldBack(r, d)}
	for _, c := range reviewOf(r, d) {
		if slices.Contains(glanced, c.Concern) {
			g.Review = append(g.Review, lasting(c))
		}
	}
	return g
}

// Empty reports whether there is nothing to say.
func (g Glance) Empty() bool {
	return len(g.Room)+len(g.Later)+len(g.Closed)+len(g.Held)+len(g.Review) == 0
}

// lasting is a topic without the parts that change from run to run. For example,
// a server may fail for another reason each time, and then other providers need
// it.
func lasting(c *Topic) *Topic {
	if c.server == "" {
		return c
	}
	return &Topic{Concern: c.Concern, Text: safe.Format("%s gives no answer", safe.Text(c.server))}
}

// SilentIn returns the servers that did not answer and whose answers the report
// needed.
func SilentIn(r report.Report) []string {
	var servers collect.Set[string]
	for _, m := range r.Modules {
		for _, d := range m.Diagnostics {
			servers.Add(d.Outage.Server)
		}
		for _, u := range m.Unread {
			servers.Add(u.Outage.Server)
		}
	}
	slices.Sort(servers.List)
	return servers.List
}
