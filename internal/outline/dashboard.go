package outline

import (
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/upgrade"
)

// Glance is what the issue of a repository says: what no open pull request does.
type Glance struct {
	Words Vocabulary
	// Room, Later and Closed are proposals without an open pull request: those that wait for
	// room, for a later run, and for the person who has closed theirs.
	Room, Later, Closed []report.PullRequest
	Held                []*Topic // what holds providers back
	Review              []*Topic // what was not read or not verified, or breaks a rule
}

// glanced are the concerns that the issue has.
var glanced = []Concern{ConcernFailed, ConcernHash, ConcernReReleased, ConcernRule, ConcernUnread, ConcernWarning}

// GlanceOf returns what must be said of a report of what no open pull request says.
// Nothing in it changes by the passing of time, or by which dates a run has asked for.
func GlanceOf(r report.Report) Glance {
	r.Modules = collect.Mapped(r.Modules, undated)
	d := VocabularyOf(r)
	waiting := func(what string) []report.PullRequest {
		return collect.Those(r.PullRequests, func(p report.PullRequest) bool { return p.Waiting != nil && p.Waiting.For == what })
	}
	g := Glance{Words: d, Room: waiting("room"), Later: waiting("run"), Closed: waiting("person"), Held: heldBack(r, d)}
	for _, c := range reviewOf(r, d, false) {
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

// lasting is a topic as long as its cause is the same: the reason why a server gives no
// answer may be another one each time, and so may be what that concerns.
func lasting(c *Topic) *Topic {
	if c.server == "" {
		return c
	}
	said := &Topic{Concern: c.Concern}
	said.Whole.Add(safe.Format("%s gives no answer", safe.Text(c.server)))
	return said
}

// undated is a root module without the dates of what is held back.
func undated(m report.Module) report.Module {
	bare := func(f report.Facts) report.Facts {
		f.Held = collect.Mapped(f.Held, func(h upgrade.Held) upgrade.Held {
			h.Published = time.Time{}
			return h
		})
		return f
	}
	m.Kept = collect.Mapped(m.Kept, func(k report.Kept) report.Kept {
		k.Facts = bare(k.Facts)
		return k
	})
	m.Changes = collect.Mapped(m.Changes, func(c report.Change) report.Change {
		c.Facts = bare(c.Facts)
		return c
	})
	return m
}

// SilentIn are the servers that gave no answer to what a report is about.
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
