package render_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// elsewhere are the fields that no run of the verb pr fills, with the reason.
// Random reports leave them and their content empty.
var elsewhere = map[string]string{
	"Idle":                                  "of a run that has looked at nothing",
	"Answer":                                "a run of the verb comment fills it",
	"Mending":                               "a check fills it, which writes nothing itself",
	"Touched":                               "a check fills it, which may be restricted to what a change touches",
	"Proofs":                                "it is of the report of one pull request, whose body is made of that",
	"CarriedOver":                           "it is of the report of one pull request, whose body is made of that",
	"KeepsFromMerging":                      "it is of the report of one pull request, whose body is made of that",
	"Dashboards.Unsettled":                  "it is for the run alone",
	"PullRequests.Unsettled":                "it is for the run alone",
	"Modules.LockPath":                      "no text, Markdown or page of a run that proposes names a lock file, but SARIF does",
	"Modules.OnBase":                        "a check fills it, which knows the base",
	"Modules.Forgiven":                      "a check fills it, which knows the base",
	"Modules.Names":                         "what is written has the names that it gives",
	"Diagnostics.About":                     "a finding has it",
	"Diagnostics.ProvenBy":                  "a finding has it",
	"Diagnostics.Place.From":                "a finding has it",
	"Diagnostics.Place.To":                  "a finding has it",
	"Diagnostics.Subject.Version":           "a finding has it",
	"Diagnostics.Subject.Versioned":         "a finding has it",
	"Diagnostics.Subject.Platform":          "a finding has it",
	"Diagnostics.Subject.Hash":              "a finding has it",
	"Modules.Diagnostics.About":             "a finding has it",
	"Modules.Diagnostics.ProvenBy":          "a finding has it",
	"Modules.Diagnostics.Place.From":        "a finding has it",
	"Modules.Diagnostics.Place.To":          "a finding has it",
	"Modules.Diagnostics.Subject.Version":   "a finding has it",
	"Modules.Diagnostics.Subject.Versioned": "a finding has it",
	"Modules.Diagnostics.Subject.Platform":  "a finding has it",
	"Modules.Diagnostics.Subject.Hash":      "a finding has it",
	"Modules.Findings.Outage":               "a failure to ask has it",
	"Modules.Findings.Host":                 "a failure to ask has it",
	"Modules.Findings.Dirs":                 "a warning that is reported once for several has it",
	"Modules.Undecided.Outage":              "a failure to ask has it",
	"Modules.Undecided.Host":                "a failure to ask has it",
	"Modules.Scan":                          "a scan fills it",
	"Modules.Verified":                      "verify fills it",
	"Modules.Unread.Entry":                  "a scan says by it which entries of the lock file are required",
}

// unneeded are the fields of random reports that are not read. The reason says
// why no text, Markdown or page of a report from a file needs them.
var unneeded = map[string]string{
	"Footer":                             "the body of a pull request ends in it, which the run writes",
	"Summarised":                         "the body of a pull request says it, which the run writes",
	"Pushed":                             "the answer to a comment says it, which the run writes",
	"Asked.Platforms":                    "the body of a pull request says it, which the run writes",
	"FailOn":                             "verify alone fails by it",
	"Modules.Accepted":                   "check and verify have it, whose reports nothing reads",
	"Modules.Undecided":                  "the text has it with --verbose alone, which no command that reads reports has",
	"Modules.Changes.Line":               "SARIF alone says where an entry begins",
	"Modules.Changes.Required":           "annotations and SARIF alone say where a change is required",
	"Modules.Changes.Unasked":            "it takes the meaning from FromPull, which is written where it has one",
	"Modules.Changes.Signer.Expired":     "verify finds it",
	"Modules.Changes.Signer.Ahead":       "verify finds it",
	"Modules.Changes.SignerFrom.Expired": "verify finds it",
	"Modules.Changes.SignerFrom.Ahead":   "verify finds it",
	"Modules.Kept.SignerFrom":            "what is said of a provider that stays as it is does not say it",
	"Modules.Kept.Published":             "what is said of a provider that stays as it is does not say it",
	"Modules.Kept.Marks":                 "what is said of a provider that stays as it is does not say it",
	"Modules.Kept.FromPull":              "what is said of a provider that stays as it is does not say it",
	"Modules.Kept.Unasked":               "what is said of a provider that stays as it is does not say it",
	"Modules.Kept.Signer.Expired":        "verify finds it",
	"Modules.Kept.Signer.Ahead":          "verify finds it",
	"Modules.Findings.Place.To":          "SARIF alone says where a hash ends",
	"Modules.Findings.About":             "the fingerprint of a finding is made of it, which only verify and SARIF write",
}

// random makes reports.
type random struct {
	*rand.Rand
	filled map[string]bool // the fields that had a value
}

// report returns a report of the verb pr.
func (g *random) report() report.Report {
	var r report.Report
	g.fill("", reflect.ValueOf(&r).Elem())
	return r
}

// fill gives a value to the field at a path of a report, and to all fields below
// it.
func (g *random) fill(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if g.made(v.Addr().Interface()) {
			break
		}
		for field, of := range v.Fields() {
			if name := below(path, field); elsewhere[name] == "" {
				g.fill(name, of)
			}
		}
		g.agree(v.Addr().Interface())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), g.IntN(4), 4))
		for i := range v.Len() {
			g.fill(path, v.Index(i))
		}
	case reflect.Pointer:
		if g.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(path, v.Elem())
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range g.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			g.fill(path, key)
			g.fill(path, value)
			v.SetMapIndex(key, value)
		}
	case reflect.Int, reflect.Int64:
		if !g.made(v.Addr().Interface()) {
			v.SetInt(g.Int64N(2) * g.Int64N(1<<20))
		}
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.String:
		if !g.made(v.Addr().Interface()) {
			v.SetString(g.text())
		}
	default:
		panic(fmt.Sprintf("%s is a %s, and nobody says which values it may have", path, v.Kind()))
	}
	if !v.IsZero() {
		g.filled[path] = true
	}
}

// below is the path of a field. Fields of an embedded struct are fields of the
// outer struct.
func below(path string, field reflect.StructField) string {
	if field.Anonymous {
		return path
	}
	return strings.TrimPrefix(path+"."+field.Name, ".")
}

// oneOf returns one of the values.
func oneOf[T any](g *random, values ...T) T { return values[g.IntN(len(values))] }

// made fills types that cannot have any random value. It reports whether p points
// to such a type.
func (g *random) made(p any) bool {
	switch p := p.(type) {
	case *provider.Addr:
		*p = oneOf(g, provider.Addr{}, addr("hashicorp/aws"), addr("hashicorp/google"), addr("registry.opentofu.org/hashicorp/aws"), addr("acme/tool"),
			addr("registry.example.com/acme/tool"), addr("müller.example:8443/acme_x/y-1"), addr("hashicorp/null"))
	case *provider.Version:
		*p = oneOf(g, provider.Version{}, version("1.2.3"), version("1.2.4"), version("2.0.0"), version("2.1.0-beta.1"), version("3.0.0+build.5"))
	case *provider.Constraints:
		*p = oneOf(g, provider.Constraints{}, constraints("~> 5.0"), constraints(">= 1.0, < 2.0, != 1.5.0"), constraints("1.2.3"))
	case *provider.Term:
		*p = oneOf(g, provider.Term{}, constraints("~> 5.0").Terms()[0], constraints("~> 5.0.1").Terms()[0], constraints("1.2.3").Terms()[0], constraints("!= 1.5.0-rc1").Terms()[0])
	case *provider.Platform:
		*p = oneOf(g, linux, mac, windows)
	case *provider.Pattern:
		*p, _ = provider.ParsePattern(oneOf(g, "hashicorp/*", "aws", "registry.example.com/*/*"))
	case *provider.Repository:
		*p = oneOf(g, provider.Repository{}, provider.Repository{Host: "github.com", Owner: "acme", Name: "tool", Tag: oneOf(g, "", "v1.2.3", "tool/2.0.0")})
	case *time.Time:
		*p = oneOf(g, time.Time{}, day("2026-11-06"), day("2024-02-29"))
	case *provider.Day:
		g.made((*time.Time)(p))
	case *svchost.Hostname:
		*p = oneOf(g, "", addr("müller.example:8443/acme/b").Host, addr("registry.example.com/a/b").Host)
	case *report.Elapsed:
		*p = report.Elapsed(g.IntN(100_000)) * report.Elapsed(time.Millisecond)
	case *diff.Kind:
		*p = oneOf(g, diff.Downgraded, diff.ReReleased, diff.Signer, diff.Removed, diff.Moved, diff.Upgraded, diff.Added, diff.Completed, diff.Constrained, diff.Normalised)
	case *policy.Reason:
		*p = oneOf(g, upgrade.HeldByConstraint, policy.HeldByRule, policy.HeldByHold, policy.HeldByAge, upgrade.HeldByPlatform, upgrade.HeldByLock, upgrade.HeldByProtocol)
	case *notes.Kind:
		*p = oneOf(g, notes.Breaking, notes.Note, notes.Deprecation, notes.Other)
	case *problem.Severity:
		*p = oneOf(g, problem.SeverityError, problem.SeverityWarning, problem.SeverityNote)
	case *provider.Bump:
		*p = oneOf(g, provider.BumpNone, provider.BumpMajor, provider.BumpMinor, provider.BumpPatch, provider.BumpPrerelease)
	case *provider.Mark:
		*p = oneOf(g, provider.MarkMirror, provider.MarkReported, provider.MarkUnsigned)
	case *provider.ToolName:
		*p = oneOf(g, "", provider.Terraform, provider.OpenTofu)
	case *problem.Code:
		*p = oneOf(g, problem.CodeSyntax, problem.CodeUnreadModule, problem.CodeUnknownEntry, problem.CodeCancelled, problem.CodeReReleased, problem.CodeHashUnknown)
	case *safe.Markdown:
		*p = safe.Text(g.text())
	case *report.State:
		*p = oneOf(g, report.UpToDate, report.NotExamined, report.Outdated, report.FleetFailed)
	default:
		return false
	}
	return true
}

// agree makes the fields of a struct consistent, as in a real run.
func (g *random) agree(p any) {
	switch p := p.(type) {
	case *report.Report:
		p.Verb = verbs.PR
		problemsAgree(p.Diagnostics)
		for i := range p.Modules {
			p.Modules[i] = kept(p.Modules[i], p.Fleet != nil)
		}
	case *report.Module:
		problemsAgree(p.Diagnostics)
		p.Changes = distinctBy(p.Changes, func(c report.Change) provider.Addr { return c.Addr })
		p.Kept = distinctBy(p.Kept, func(k report.Kept) provider.Addr { return k.Addr })
		p.Kept = slices.DeleteFunc(p.Kept, func(k report.Kept) bool {
			return slices.ContainsFunc(p.Changes, func(c report.Change) bool { return c.Addr == k.Addr })
		})
		p.InUse = distinctBy(p.InUse, func(u report.Use) provider.Addr { return u.Addr })
	case *report.Change:
		if p.Kind == diff.Removed { // no release was looked for
			p.Missing, p.Since, p.Serving, p.Warnings = nil, nil, provider.Version{}, nil
		}
		p.FromPull = p.FromPull && !p.Unasked
	case *diff.Change:
		switch p.Kind {
		case diff.Added:
			p.From = provider.Version{}
		case diff.Removed:
			p.To = provider.Version{}
		}
	case *report.Facts:
		if len(p.Missing) == 0 {
			p.Serving, p.Since = provider.Version{}, nil
		}
		if len(p.Since) == 0 {
			p.Since = nil
		}
	case *provider.Signer:
		if p.KeyID+p.Label == "" {
			*p = provider.Signer{}
		}
	case *problem.Problem:
		p.Message = "it is " + p.Message
		if !p.Subject.Versioned {
			p.Subject.Version = provider.Version{}
		}
	case *scan.Term:
		p.Place = p.Place.At(p.Line) // only places of hashes have columns
	case *scan.Unread:
		p.Place = p.Place.At(p.Line)
	case *upgrade.HoldingCall:
		p.Place = p.Place.At(p.Line)
	case *problem.Place: // no path has two slashes side by side, and no package is without a path
		p.Path = strings.ReplaceAll("a/"+p.Path, "/", "/.")
		if p.Package != "" {
			p.Package += "x"
		}
	case *report.PullRequest:
		if p.CarriedOver.Roots == 0 {
			p.CarriedOver = report.CarriedOver{}
		}
	}
}

// kept removes from a root module the facts about unchanged providers that the
// JSON does not have. Most of them are written only for joined reports of an
// organisation. The versions of fetched modules are written only if something is
// held.
func kept(m report.Module, joined bool) report.Module {
	var fetched report.Origins
	for _, c := range m.Changes {
		if len(c.Held) > 0 && c.Kind != diff.Removed {
			fetched = c.Origins
		}
	}
	for _, k := range m.Kept {
		if len(k.Held) > 0 {
			fetched = k.Origins
		}
	}
	if !joined {
		m.InUse, fetched = nil, nil
		m.Kept = slices.DeleteFunc(m.Kept, func(k report.Kept) bool { return len(k.Held)+len(k.Missing) == 0 })
	}
	for i := range m.Changes {
		m.Changes[i].Origins = fetched
	}
	for i := range m.Kept {
		if m.Kept[i].Origins = fetched; !joined {
			m.Kept[i].Coverage, m.Kept[i].Signer = nil, provider.Signer{}
		}
	}
	return m
}

// problemsAgree makes a run's problems errors and warnings, errors first, since
// the JSON has two lists.
func problemsAgree(problems []problem.Problem) {
	for i := range problems {
		problems[i].Severity = min(problems[i].Severity, problem.SeverityWarning)
	}
	slices.SortStableFunc(problems, func(a, b problem.Problem) int { return cmp.Compare(a.Severity, b.Severity) })
}

// distinctBy sorts facts by provider, and keeps one of each provider.
func distinctBy[T any](all []T, about func(T) provider.Addr) []T {
	all = slices.DeleteFunc(all, func(e T) bool { return about(e) == provider.Addr{} })
	slices.SortStableFunc(all, func(a, b T) int { return about(a).Compare(about(b)) })
	return slices.CompactFunc(all, func(a, b T) bool { return about(a) == about(b) })
}

// pieces are parts of texts that a format could mistake for its own syntax.
var pieces = []string{
	"a", "live/prod", "main.tf", " ", "\n", "\t", "\x1b[31m", "\u009b2J", "\u202e", "\u2028", "\ufeff", "\U000E0041", "\x00", "\x7f", "é", "日本", "🔒",
	"`", "|", "<b>", "</script>", "&amp;", "<!--", "\"", "\\", "\\u0041", "'", "$(id)", "{{.}}", "%s", "//", "@octocat", "#1", "[x](http://example.com)", "](", "**", "- ", "1.2.3",
}

// text is empty, or a few pieces.
func (g *random) text() string {
	var b strings.Builder
	for range g.IntN(5) {
		b.WriteString(oneOf(g, pieces...))
	}
	return b.String()
}

// TestReportsAreReadAsTheyWereWritten holds that whatever is made of a report of the verb
// pr can be made of it when it was written for programs and read again.
func TestReportsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	g := &random{rand.New(rand.NewPCG(1, 2)), map[string]bool{}}
	for range 40 {
		r := g.report()
		read := sameWhenRead(t, r)
		withoutFields("", reflect.ValueOf(&r).Elem(), unneeded)
		withoutFields("", reflect.ValueOf(&read).Elem(), unneeded)
		if diff := gocmp.Diff(r, read, cmpopts.EquateEmpty(), cmpopts.EquateComparable(provider.Pattern{}, provider.Day{}, safe.Markdown{}), byUrgency); diff != "" {
			t.Fatalf("a report that was read (-written +read):\n%s", diff)
		}
		for i := range r.Modules {
			r.Modules[i].Names = oneOf(g, problem.Naming{Repository: "acme/infra"}, problem.Naming{Root: "/repo", WorkDir: "/repo/live"})
		}
		sameWhenRead(t, r) // with the names that were written
	}
	// Each field has a reason why it is not there, or was there.
	named := map[string]bool{}
	fields("", reflect.TypeFor[report.Report](), func(path string) {
		named[path] = true
		if elsewhere[path] == "" && !g.filled[path] {
			t.Errorf("no random report has the field %s", path)
		}
	})
	for _, list := range []map[string]string{elsewhere, unneeded} {
		for path, reason := range list {
			if !named[path] || reason == "" {
				t.Errorf("the list has %s, %q, which is no field of a report", path, reason)
			}
		}
	}
}

// sameWhenRead holds that text, Markdown, page and JSON of a report that was written and read
// are those of the report, and returns what was read.
func sameWhenRead(t *testing.T, r report.Report) report.Report {
	t.Helper()
	doc := jsonText(t, r)
	read, err := report.FromJSON(strings.NewReader(doc))
	if err != nil {
		t.Fatalf("FromJSON = %v of\n%s", err, doc)
	}
	for what, shown := range map[string]func(report.Report) string{
		"text":     func(r report.Report) string { return text(t, r, render.TextOptions{Stats: true}) },
		"Markdown": func(r report.Report) string { return render.Markdown(r, 0).String() },
		"page":     func(r report.Report) string { return webpage(t, r) },
		"JSON":     func(r report.Report) string { return jsonText(t, r) },
	} {
		if diff := gocmp.Diff(shown(r), shown(read)); diff != "" {
			t.Fatalf("the %s of a report that was read (-written +read):\n%s\nthe report was\n%s", what, diff, doc)
		}
	}
	return read
}

// byUrgency compares release notes in any order: those to read first are written first.
var byUrgency = cmpopts.SortSlices(func(a, b notes.Notes) bool { return fmt.Sprint(a) < fmt.Sprint(b) })

// withoutFields takes the fields that a list names from a value.
func withoutFields(path string, v reflect.Value, list map[string]string) {
	switch {
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			withoutFields(path, v.Index(i), list)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		withoutFields(path, v.Elem(), list)
	case v.Kind() == reflect.Struct && !whole(v.Type()):
		for field, of := range v.Fields() {
			if name := below(path, field); list[name] != "" {
				of.SetZero()
			} else {
				withoutFields(name, of, list)
			}
		}
	}
}

// fields calls visit with the path of each field that a random report may have, and with
// those that it has not.
func fields(path string, t reflect.Type, visit func(path string)) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || whole(t) {
		return
	}
	for field := range t.Fields() {
		name := below(path, field)
		if !field.Anonymous {
			visit(name)
		}
		if elsewhere[name] == "" {
			fields(name, field.Type, visit)
		}
	}
}

// whole reports whether random reports have values of a type that are made as a whole.
func whole(t reflect.Type) bool {
	g := &random{Rand: rand.New(rand.NewPCG(1, 2))}
	return g.made(reflect.New(t).Interface())
}
