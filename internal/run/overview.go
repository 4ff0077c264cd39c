package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/box"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/dashboard"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
)

// OwnerPage is the issue about all repositories of an owner. A nil page is none.
type OwnerPage struct {
	session *Session
	ask     Ask
	own     settings.Settings
	access  access
	name    string // of its repository, OWNER/NAME
	repo    *github.Repository
	found   github.OwnIssues
	board   board // of the boxes
}

// FindPage looks for the issue that the settings of an ask want; nil if they want none, or
// if a person has restricted the run to some repositories, directories or providers.
func (s *Session) FindPage(ctx context.Context, a Ask) *OwnerPage {
	p := &OwnerPage{session: s, ask: a, own: a.means.Settings, name: a.means.Settings.Dashboard.Repository}
	by := p.own.Values
	part := by["org.where"].By == settings.ByFlag && by["dashboard.repository"].By != settings.ByFlag
	if p.name == "" || part || len(p.own.Providers)+len(a.targets[0].dirs) > 0 {
		return nil
	}
	asking := p.own
	asking.Dashboard.Issue = true // so that the token may be for issues
	p.access = accessFor(s.env, a, asking, p.name)
	to := p.access
	if owner, _, _ := strings.Cut(p.name, "/"); !strings.EqualFold(owner, a.owner) {
		to.owner = ""
	}
	p.repo, p.found.Err = s.clients.reach(to, p.name)
	if p.found.Err == nil {
		_, p.found, _ = p.repo.LatestAndIssues(ctx, nil, github.Sought{Is: dashboard.OfOrganisation.Is, Opener: a.means.Ticked.Opener})
	}
	return p
}

// Opens are those of the repositories in which everything that waits is opened, since a
// person with write access there has checked the box.
func (p *OwnerPage) Opens(ctx context.Context, repositories []string) map[string]bool {
	opens := map[string]bool{}
	if p == nil || len(p.found.List) == 0 || !p.found.List[0].Open {
		return opens
	}
	page, ticked := p.found.List[0], p.ask.means.Ticked
	for _, one := range box.In(page.Body) {
		if one.Act != box.Open || !slices.Contains(repositories, one.Branch) || len(opens) == mostBoxes {
			continue
		}
		who := page.Editor
		if ticked.Issue == page.Number && slices.Contains(ticked.Boxes, one) {
			who = github.Actor{Login: ticked.By}
		}
		repo, err := p.session.clients.reach(p.access, one.Branch)
		if err != nil {
			p.board.unknown = err
			continue
		}
		before := len(p.board.granted)
		p.board.grant(ctx, rights(repo), one.Branch, who, []box.Box{one})
		opens[one.Branch] = len(p.board.granted) > before
	}
	return opens
}

// Keep updates the issue by what a run has found, and adds to the overview what the issue
// says. asking is the time of the run: what it did not see changes nothing. The result is
// nil if nothing is to be said about the issue.
func (p *OwnerPage) Keep(ctx, asking context.Context, o *report.Overview) (*report.Dashboard, []problem.Problem) {
	acting, stop := p.session.bounds.finishing(ctx, asking)
	defer stop()
	var out dashboard.Outcome
	var body string
	switch {
	case p.found.Err == nil && openness(p.found.Visibility) > openness(o.Visibility):
		return nil, []problem.Problem{{
			Code: problem.CodeSettings, Severity: problem.SeverityWarning,
			Message: fmt.Sprintf("no page is written: %s is %s, and not all repositories that it would be about are", p.name, p.found.Visibility),
			Hint:    "set dashboard.repository to a repository that nobody sees who may not see all of them",
		}}
	case asking.Err() != nil:
		out = dashboard.Left(p.found, sawPart, nil)
	case p.board.unknown != nil:
		out = dashboard.Left(p.found, mayNotAct, p.board.unknown)
	default:
		out, body = p.write(acting, o)
	}
	said := issueKept(p.session.env, out, p.name, p.own.DryRun)
	said.Body = body
	if out.Err != nil {
		return &said, []problem.Problem{problem.Of(out.Err)}
	}
	return &said, nil
}

// write writes the issue, and the comment of a shard below it. Only the first shard writes
// the issue, by the comments of all. body is what a dry run would write.
func (p *OwnerPage) write(ctx context.Context, found *report.Overview) (out dashboard.Outcome, body string) {
	o := *found
	out = dashboard.Left(p.found, "", nil)
	var known []dashboard.Part
	stands := len(p.found.List) > 0 && p.found.List[0].Open
	if o.Shard != "" && stands {
		comments, err := p.repo.Comments(ctx, github.OnIssue(out.Number))
		if err != nil {
			return dashboard.Left(p.found, "its comments cannot be read", err), ""
		}
		known = dashboard.PartsIn(comments, p.found.Self)
		o = settled(o, known)
	}
	first := strings.HasPrefix(o.Shard, "1/") || o.Shard == ""
	if first {
		var page dashboard.Page
		*found, page = p.page(joined(o, p.allowed(known)))
		if p.own.DryRun {
			body = page.Text().String()
		}
		out = keepIssue(ctx, p.repo, p.found, page, p.own)
		stands = stands || out.Operation == "created"
	} else if !stands {
		out.Reason = "the first shard opens it"
	}
	if o.Shard == "" || !stands || p.own.DryRun || out.Err != nil {
		return out, body
	}
	part := dashboard.KeepPart(ctx, p.repo, out.Number, p.found.Self, known, dashboard.Part{Name: o.Shard, Data: encoded(o)}, p.words(o))
	switch {
	case part.Reason != "":
		out.Reason, out.Err = part.Reason, part.Err
	case !first && part.Operation == "updated":
		out.Operation, out.Reason = "updated", "the comment of shard "+o.Shard
	}
	return out, body
}

// page is the content of the issue, and the overview that it is made of.
func (p *OwnerPage) page(o report.Overview) (report.Overview, dashboard.Page) {
	since, now := dashboard.OfOrganisation.SinceIn(p.found), weekOf(p.session.env.Now)
	if since.Week != now {
		since = dashboard.Counts{Week: now, Of: map[string]int{}}
		for s, n := range o.States {
			since.Of[string(s)] = n
		}
	}
	o.Since = report.Baseline{Week: now, Counts: map[report.Standing]int{}}
	for _, s := range report.Standings {
		o.Since.Counts[s] = max(0, since.Of[string(s)])
	}
	if slices.ContainsFunc(o.Parts, func(part report.ShardPart) bool { return part.Day == "" }) {
		o.Since, since = report.Baseline{}, dashboard.Counts{} // the counts of all shards begin the comparison
	}
	page := dashboard.Page{Kind: dashboard.OfOrganisation, Notice: p.board.refused, Written: p.ask.means.Written, Since: kept(since)}
	page.Body, page.Empty = p.ask.means.Overview(o)
	return o, page
}

// kept are counts without what is no count of ours, since people may edit a marker.
func kept(c dashboard.Counts) dashboard.Counts {
	maps.DeleteFunc(c.Of, func(name string, n int) bool {
		return n <= 0 || !slices.Contains(report.Standings, report.Standing(name))
	})
	return c
}

// weekOf is the Monday of a week.
func weekOf(now time.Time) string {
	now = now.UTC()
	return provider.Day(now.AddDate(0, 0, -(int(now.Weekday())+6)%7)).String()
}

// mostEncoded bounds the data in a comment, in bytes. GitHub accepts 65,536 characters.
const mostEncoded = 60_000

// encoded are the data of a shard. If they are too many, rows and lines are left out.
func encoded(o report.Overview) json.RawMessage {
	for {
		text, err := json.Marshal(o)
		if err != nil {
			panic("encoding an overview: " + err.Error())
		}
		if len(text) <= mostEncoded {
			return text
		}
		needs, further := map[report.Need][]report.NeedLine{}, map[report.Need]int{}
		for n, lines := range o.Needs {
			needs[n], further[n] = lines[:len(lines)/2], o.Further[n]+len(lines)-len(lines)/2
		}
		o.Rows, o.Uses, o.Needs, o.Further = o.Rows[:len(o.Rows)/2], o.Uses[:len(o.Uses)*3/4], needs, further
	}
}

// settled is the overview of a shard with the day of its comment, if nothing else has
// changed this week.
func settled(o report.Overview, known []dashboard.Part) report.Overview {
	for _, p := range known {
		var was report.Overview
		if p.Name != o.Shard || json.Unmarshal(p.Data, &was) != nil {
			continue
		}
		then := o
		then.Day = was.Day
		day, err := time.Parse(time.DateOnly, o.Day)
		if err == nil && was.Day >= weekOf(day) && was.Day <= o.Day && string(encoded(then)) == string(p.Data) {
			return then
		}
	}
	return o
}

// allowed are the parts that may be on the page. Its repository may be seen by more people
// now than when they were written.
func (p *OwnerPage) allowed(known []dashboard.Part) []dashboard.Part {
	return collect.Those(known, func(part dashboard.Part) bool {
		var of struct{ Visibility string }
		return json.Unmarshal(part.Data, &of) == nil && openness(p.found.Visibility) <= openness(of.Visibility)
	})
}

// joined adds the other shards of the same division to the overview of one.
func joined(o report.Overview, known []dashboard.Part) report.Overview {
	_, of, sharded := strings.Cut(o.Shard, "/")
	if !sharded {
		return o
	}
	all, parts := []report.Overview{o}, []report.ShardPart{{Shard: o.Shard, Day: o.Day}}
	var shards int
	_, _ = fmt.Sscan(of, &shards)
	for n := 2; n <= shards; n++ {
		one := report.ShardPart{Shard: fmt.Sprint(n, "/", of)}
		i := slices.IndexFunc(known, func(p dashboard.Part) bool { return p.Name == one.Shard })
		var there report.Overview
		if i >= 0 && json.Unmarshal(known[i].Data, &there) == nil && there.Owner == o.Owner {
			one.Day = cmp.Or(there.Day, "another day")
			all = append(all, there)
		}
		parts = append(parts, one)
	}
	sum := outline.Merge(all)
	sum.Parts = parts
	return sum
}

// words are what people read of a shard's comment.
func (p *OwnerPage) words(o report.Overview) safe.Markdown {
	n := collect.Sum(slices.Collect(maps.Values(o.States)), func(n int) int { return n })
	return safe.Format("Shard %s on %s: %s, of which %s a person. The issue says it together with the other shards.",
		safe.Text(o.Shard), safe.Text(o.Day), safe.Count(n, "repository", "repositories"), safe.Count(o.Needing, "needs", "need"))
}

// openness orders visibilities. An unknown one counts as private.
func openness(visibility string) int {
	return max(0, slices.Index([]string{"private", "internal", "public"}, visibility))
}

// LeastOpen is the visibility with which the fewest people see a repository.
func LeastOpen(a, b string) string {
	if openness(b) < openness(a) {
		return b
	}
	return a
}
