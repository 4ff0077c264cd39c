package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/safe"
)

//go:embed html/page.html
var pageSource string

//go:embed html/page.css
var pageStyle string

//go:embed html/page.js
var pageScript string

// pageTemplate is the page. html/template escapes whatever stands in it; style and
// script alone are written as they are, and they are ours.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"spans": safe.Markdown.Spans, "count": count, "plain": safe.Plain,
}).Parse(pageSource))

// HTML writes the report as one page that fetches nothing. All of it can be read
// without its script, which filters and sorts. The error is the writer's.
func HTML(w io.Writer, r Report) error {
	var b strings.Builder
	if err := pageTemplate.Execute(&b, pageOf(r)); err != nil {
		panic("report: the page cannot be written: " + err.Error())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pageView is what the template prints.
type pageView struct {
	Verb, Headline, Noun string
	Policy               string
	Style                template.CSS
	Script               template.JS
	Answer               []string
	States, Kinds        chart
	Pulls                []safe.Markdown
	Verified             *pageVerified
	Changes              []pageChange
	Modules              []pageBlock
	Review               []pageConcern
	Held                 []pageCause
	Versions             versionTable
	Coverage             coverageTable
	Signers              []pageSigner
	Notes                []pageNotes
	Stats                string
	Fleet                *Fleet
}

// pageChange is a change and the root modules in which it is.
type pageChange struct {
	Name, From, To, Kind, Released, Signer safe.Markdown
	Dirs                                   []string
}

// pageBlock is what changes in root modules that change alike.
type pageBlock struct {
	Dirs  []string
	Tool  safe.Markdown
	Items []safe.Markdown
}

// pageConcern are the causes of one concern.
type pageConcern struct {
	Name   concern
	Causes []pageCause
}

// pageCause is a cause, in which root modules and at which places it shows, and
// what to do.
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

func pageOf(r Report) pageView {
	o := outlineOf(withoutVerified(r))
	p := pageView{
		Verb: r.Verb, Headline: o.headline.Plain(), Noun: r.noun().Plain(), Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		Policy: contentPolicy, States: statesOf(r), Kinds: kindsOf(r), Pulls: collect.Each(r.PullRequests, func(q PullRequest) safe.Markdown { return r.pullRequest(q).Capital() }),
		Changes: pageChanges(o), Review: pageConcerns(o), Held: collect.Each(o.held, func(c *cause) pageCause { return causeOnPage(o, c) }),
		Modules:  collect.Each(o.modules, func(b block) pageBlock { return pageBlock{b.dirs, b.tool, b.items} }),
		Versions: versionsOf(r, o.d), Coverage: platformsCovered(r, o.d), Signers: signersOf(r, o.d),
		Notes: pageNotesOf(o), Verified: pageVerifiedOf(r, o.d),
	}
	p.Fleet = r.Fleet
	if r.Verb == VerbComment {
		p.Headline, p.Answer = "The answer to a comment", plainLines(r.answer().String())
	}
	if r.Stats.known() {
		p.Stats = r.Stats.String()
	}
	return p
}

// contentPolicy lets a browser load nothing, and run nothing but our style and our
// script: https://www.w3.org/TR/CSP3/#match-element-to-source-list.
var contentPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + sourceOf(pageStyle) + "; script-src " + sourceOf(pageScript)

func sourceOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func pageChanges(o outline) []pageChange {
	var all []pageChange
	for i, row := range o.changes.rows(everyChange) {
		all = append(all, pageChange{row.name, row.from, row.to, row.kind, row.released, row.signer, o.changes.groups[i].dirs})
	}
	return all
}

// pageConcerns are the causes that want a reviewer, by concern.
func pageConcerns(o outline) []pageConcern {
	var all []pageConcern
	for _, c := range o.review {
		if len(all) == 0 || all[len(all)-1].Name != c.concern {
			all = append(all, pageConcern{Name: c.concern})
		}
		last := &all[len(all)-1]
		last.Causes = append(last.Causes, causeOnPage(o, c))
	}
	return all
}

// causeOnPage tells of a cause without its places, which have a list of their own.
func causeOnPage(o outline, c *cause) pageCause {
	p := pageCause{Text: o.d.said(&cause{whole: c.whole, what: c.what}), Next: c.remedy(), Dirs: c.dirs.List}
	if len(c.whole.List) > 1 {
		p.Places = c.places.List
	}
	return p
}

func pageNotesOf(o outline) []pageNotes {
	var all []pageNotes
	for _, n := range o.notes {
		p := pageNotes{Name: o.d.upgrade(n), Problem: safe.Plain(n.Problem)}
		for _, release := range n.Releases {
			q := pageRelease{Name: safe.Link(o.d.version(release.Version), release.URL)}
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
	return collect.Each(strings.Split(strings.TrimSpace(text), "\n"), safe.Plain)
}
