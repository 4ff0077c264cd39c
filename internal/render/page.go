package render

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
)

//go:embed html/page.html
var pageSource string

//go:embed html/page.css
var pageStyle string

//go:embed html/page.js
var pageScript string

// pageTemplate is the page. html/template escapes everything but style and
// script, which are ours.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"spans": safe.Markdown.Spans, "count": report.Count, "plain": safe.Plain,
}).Parse(pageSource))

// HTML writes the report as one page that fetches nothing. The script only
// filters and sorts: the page is complete without it. The error is the writer's.
func HTML(w io.Writer, r report.Report) error {
	var b strings.Builder
	if err := pageTemplate.Execute(&b, pageOf(r)); err != nil {
		panic("report: the page cannot be written: " + err.Error())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pageView is what the template prints.
type pageView struct {
	Verb           verbs.Verb
	Headline, Noun string
	Next           safe.Markdown // what to do
	Policy         string
	Style          template.CSS
	Script         template.JS
	Answer         []string
	States, Kinds  outline.Chart
	Pulls          []safe.Markdown
	Verified       *pageVerified
	Changes        []outline.ChangeRow
	Signed         string
	Assumed        safe.Markdown
	Modules        []pageBlock
	Review         []pageConcern
	Held           []pageCause
	Versions       outline.VersionTable
	Coverage       outline.CoverageTable
	Signers        []outline.PageSigner
	Notes          []pageNotes
	Stats          string
	Fleet          *report.Fleet
}

// pageBlock is the changes of root modules that change alike.
type pageBlock struct {
	Dirs  []string
	Tool  safe.Markdown
	Items []safe.Markdown
}

// pageConcern are the causes of one concern.
type pageConcern struct {
	Name   outline.Concern
	Causes []pageCause
}

// pageCause is a cause with its root modules, its places and the next step.
type pageCause struct {
	Text, Next safe.Markdown
	Dirs       []string
	Places     []safe.Markdown
}

// pageNotes are the release notes of an upgrade.
type pageNotes struct {
	Name     safe.Markdown
	Problem  string
	Releases []pageRelease
}

// pageRelease is what the publisher says of a release.
type pageRelease struct {
	Name  safe.Markdown
	Lines []string
}

func pageOf(r report.Report) pageView {
	o := outline.WithFindingsApart(r)
	p := pageView{
		Verb: r.Verb, Headline: o.Headline.Plain(), Next: o.Next.Markdown().Capital(), Noun: noun(r).Plain(), Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		Policy: contentPolicy, States: outline.StatesOf(r), Kinds: outline.KindsOf(r), Pulls: pullSentences(r),
		Changes: o.Changes, Signed: o.Signed.Plain(), Assumed: o.Assumed, Review: pageConcerns(o), Held: collect.Mapped(o.Held, func(c *outline.Topic) pageCause { return causeOnPage(o, c) }),
		Modules:  collect.Mapped(o.Modules, func(b outline.Block) pageBlock { return pageBlock{b.Dirs, b.Tool, b.Items} }),
		Versions: outline.VersionsOf(r, o.Words), Coverage: outline.PlatformsCovered(r, o.Words), Signers: outline.SignersOf(r, o.Words),
		Notes: pageNotesOf(o), Verified: pageVerifiedOf(r, o.Words),
	}
	p.Fleet = r.Fleet
	if r.Verb == verbs.Comment {
		p.Headline, p.Answer = "The answer to a comment", plainLines(answerOf(r).String())
	}
	if r.Stats.Known() {
		p.Stats = r.Stats.String()
	}
	return p
}

// contentPolicy forbids the browser to load anything, and to run anything but our
// style and our script: https://www.w3.org/TR/CSP3/#match-element-to-source-list.
var contentPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + sourceOf(pageStyle) + "; script-src " + sourceOf(pageScript)

func sourceOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// pageConcerns are the causes that need a reviewer, by concern.
func pageConcerns(o outline.Outline) []pageConcern {
	var all []pageConcern
	for _, c := range o.Review {
		if len(all) == 0 || all[len(all)-1].Name != c.Concern {
			all = append(all, pageConcern{Name: c.Concern})
		}
		last := &all[len(all)-1]
		last.Causes = append(last.Causes, causeOnPage(o, c))
	}
	return all
}

// causeOnPage is a cause without its places, which the page lists separately.
func causeOnPage(o outline.Outline, c *outline.Topic) pageCause {
	p := pageCause{Text: o.Words.Said(&outline.Topic{Whole: c.Whole, What: c.What}), Next: c.Remedy(), Dirs: c.Dirs.List}
	if len(c.Whole.List) > 1 {
		p.Places = c.Places.List
	}
	return p
}

func pageNotesOf(o outline.Outline) []pageNotes {
	var all []pageNotes
	for _, n := range o.Notes {
		p := pageNotes{Name: o.Words.Upgrade(n), Problem: safe.Plain(n.Problem)}
		for _, release := range n.Releases {
			q := pageRelease{Name: safe.Link(o.Words.Version(release.Version), release.URL)}
			for _, s := range release.Sections {
				q.Lines = append(q.Lines, safe.Plain(s.Title))
				q.Lines = append(q.Lines, plainLines(s.Text)...)
			}
			if release.Cut {
				q.Lines = append(q.Lines, notesCut)
			}
			p.Releases = append(p.Releases, q)
		}
		if n.More > 0 {
			p.Releases = append(p.Releases, pageRelease{Name: safe.Count(n.More, "release in between was not read", "releases in between were not read")})
		}
		all = append(all, p)
	}
	return all
}

// plainLines are the lines of an outside text, each harmless.
func plainLines(text string) []string {
	return collect.Mapped(strings.Split(strings.TrimSpace(text), "\n"), safe.Plain)
}
