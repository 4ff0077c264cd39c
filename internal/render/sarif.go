package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
)

// SARIFOptions are facts that a report does not contain.
type SARIFOptions struct {
	// Version is the version of relock.
	Version string
	// Category separates the uploads of several runs of one verb for one commit.
	Category string
	// Path returns the path in the repository of a file with the shown name;
	// false if the file is not in the repository.
	Path func(shown string) (string, bool)
}

// mostResults is the highest number of results of a run that GitHub shows:
// https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support-for-code-scanning
const mostResults = 5000

// sarifLog is the content of a file of SARIF 2.1.0. The library's type has a
// method that validates. It would add a validator to the program that fetches the
// URLs in a schema.
type sarifLog struct {
	Schema  string       `json:"$schema"`
	Version string       `json:"version"`
	Runs    []*sarif.Run `json:"runs"`
}

// SARIF writes the report of verify or check for code scanning: SARIF 2.1.0,
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html.
// The error is the writer's.
func SARIF(w io.Writer, r report.Report, o SARIFOptions) error {
	doc := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []*sarif.Run{sarifRun(r, o)}}
	return report.Encode(w, doc, " ")
}

func sarifRun(r report.Report, o SARIFOptions) *sarif.Run {
	issues, notices := issuesOf(r, o)
	issues = fitting(issues)
	rules := rulesOf(r.Verb, issues)
	run := sarif.NewRunWithInformationURI("relock", projectURL).WithColumnKind("unicodeCodePoints")
	run.Tool.Driver.WithVersion(o.Version)
	for _, rule := range rules {
		run.Tool.Driver.AddRule(sarifRule(r.Verb, rule, issues))
	}
	root := sarif.NewArtifactLocation().WithDescription(sarif.NewMessage().WithText("The root of the repository."))
	run.WithOriginalUriBaseIds(map[string]sarif.ArtifactLocation{rootID: *root})
	run.WithAutomationDetails(sarif.NewRunAutomationDetails().WithID(automationID(r.Verb, o.Category)))
	run.WithInvocations([]*sarif.Invocation{sarifInvocation(r, notices)})
	seen := map[string]int{}
	for _, i := range issues {
		print := i.Fingerprint()
		seen[print]++
		result := i.result(fmt.Sprintf("%s:%d", strings.TrimSuffix(print, ":1"), seen[print]))
		result.RuleIndex = slices.IndexFunc(rules, func(rule problem.Meaning) bool { return rule.Code == i.Code })
		run.AddResult(result)
	}
	return run
}

// automationID is the category of the results for code scanning: the part up to
// the last slash. An upload replaces the earlier one of the same commit and
// category.
func automationID(verb verbs.Verb, category string) string {
	id := "relock/" + string(verb) + "/"
	category = strings.Trim(linkless(category), "/")
	if category != "" {
		id += category + "/"
	}
	return id
}

// issue is the fact behind a result.
type issue struct {
	problem.Problem
	names    problem.Naming     // the names of its files
	path     string             // in the repository
	accepted *ledger.Acceptance // nil unless a baseline accepts it
}

// issuesOf are the results of a report, the worst first and accepted ones last.
// notices are the problems without a place in the repository.
func issuesOf(r report.Report, o SARIFOptions) (issues, notices []issue) {
	add := func(f problem.Problem, m report.Module, accepted *ledger.Acceptance) {
		i, ok := o.placed(f, m)
		i.accepted = accepted
		if !ok {
			notices = append(notices, issue{Problem: f, names: m.Names})
			return
		}
		issues = append(issues, i)
	}
	problems := func(all []problem.Problem, m report.Module) {
		for _, d := range all {
			switch {
			case d.Code == problem.CodeOnBase, outline.IsStale(r, d): // the lock file has results
			case d.Place == (problem.Place{}):
				notices = append(notices, issue{Problem: d, names: m.Names})
			default: // others at its place have another message
				d.About, d.Subject = d.Message, problem.Subject{Addr: d.Subject.Addr}
				add(d, m, nil)
			}
		}
	}
	problems(r.Diagnostics, report.Module{})
	d := outline.VocabularyOf(r)
	for _, m := range r.Modules {
		problems(m.Diagnostics, m)
		found := slices.Concat(m.Findings, unfollowed(m, d.Of(m)))
		if m.Verified == nil {
			found = append(found, outOfStep(r, m, d.Of(m))...)
		}
		for _, f := range found {
			add(f, m, nil)
		}
		for _, a := range m.Accepted {
			add(a.Problem, m, &a)
		}
	}
	slices.SortStableFunc(issues, func(a, b issue) int {
		return cmp.Or(collect.TrueFirst(a.accepted == nil, b.accepted == nil), cmp.Compare(a.Severity, b.Severity))
	})
	return issues, notices
}

// outOfStep are findings of a check that are not about wrong hashes: pending
// changes of a lock file, and platforms that it cannot cover.
func outOfStep(r report.Report, m report.Module, d outline.Vocabulary) []problem.Problem {
	var all []problem.Problem
	for _, s := range d.StaleIn(r, m) {
		if len(s.Details) > 0 {
			s.Message += " (" + safe.Join("; ", s.Details...).Plain() + ")"
		}
		all = append(all, s.Problem)
	}
	for _, k := range m.Facts() {
		if len(k.Missing) > 0 {
			all = append(all, problem.Problem{
				Severity: problem.SeverityNote, Code: problem.CodePlatformMissing, Message: d.Missing(k).Plain(),
				Subject: problem.Subject{Addr: k.Addr, Version: k.Version, Versioned: true},
			})
		}
	}
	return all
}

// unfollowed are findings for the module calls that were not followed, unless a
// problem of the root module reports the call.
func unfollowed(m report.Module, d outline.Vocabulary) []problem.Problem {
	var all []problem.Problem
	for _, u := range m.Unread {
		told := slices.ContainsFunc(m.Diagnostics, func(p problem.Problem) bool { return p.Place == u.Place })
		if told || u.Module == "" && !u.OfEntry() {
			continue
		}
		code := problem.CodeUnreadModule
		if u.OfEntry() {
			code = problem.CodeUnknownEntry
		}
		all = append(all, problem.Problem{
			Severity: problem.SeverityWarning, Code: code, Place: u.Place,
			Message: d.UnreadCall(u).Plain(), Hint: u.Hint, About: u.Module,
		})
	}
	return all
}

// placed gives a finding its path in the repository. A finding without a file, or
// in a module package, gets the lock file of the root module; lines of a package
// are dropped. It returns false for a finding in another repository.
func (o SARIFOptions) placed(f problem.Problem, m report.Module) (issue, bool) {
	i := issue{Problem: f, names: m.Names}
	name := cmp.Or(m.LockPath, m.Dir)
	named := m.Names.Place(f.Place)
	if f.Place.Path != "" && named.Package == "" {
		name = named.Path
	}
	path, ok := o.Path(name)
	i.path = path
	switch {
	case named.Package != "":
		i.Place = problem.Place{Path: f.Place.Path, Package: f.Place.Package}
	case f.Place.Path == "" || m.Dir == "": // of the lock file, or of no root module
		i.Place.Path = path
	}
	return i, ok
}

// fitting are the issues that code scanning shows. If it would not show all, the
// last one says so.
func fitting(issues []issue) []issue {
	if len(issues) <= mostResults {
		return issues
	}
	shown, cut := issues[:mostResults-1], issues[mostResults-1:]
	return append(slices.Clip(shown), issue{path: cut[0].path, Problem: problem.Problem{
		Code: problem.CodeLeftOut, Severity: problem.SeverityWarning, Place: problem.Place{Path: cut[0].path},
		Message: fmt.Sprintf("%s left out, since code scanning shows %d of a run", collect.Count(len(cut), "more result is", "more results are"), mostResults),
	}})
}

// result is the issue in SARIF. Code scanning recognises it by the fingerprint,
// which has a key of our own.
func (i issue) result(fingerprint string) *sarif.Result {
	result := sarif.NewRuleResult(string(i.Code)).WithLevel(i.Severity.String()).WithMessage(sarif.NewMessage().WithText(i.text()))
	result.WithPartialFingerprints(map[string]string{"primaryLocationLineHash": fingerprint, "relock/v1": fingerprint})
	region := sarif.NewRegion().WithStartLine(max(i.Place.Line, 1))
	if i.Place.From > 0 {
		region.WithStartColumn(i.Place.From).WithEndColumn(i.Place.To)
	}
	file := sarif.NewArtifactLocation().WithURI(uriOf(i.path)).WithURIBaseID(rootID)
	result.AddLocation(sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().WithArtifactLocation(file).WithRegion(region)))
	if a := i.accepted; a != nil {
		why := linkless(a.Reason) + " (until " + provider.Day(a.Until).String()
		if a.By != "" {
			why += ", accepted by " + linkless(a.By)
		}
		result.AddSuppression(sarif.NewSuppression().WithKind("external").WithStatus("accepted").WithJustification(why + ")"))
	}
	return result
}

func (i issue) text() string {
	text := linkless(i.Message)
	if i.Hint != "" {
		text += "\nNext: " + linkless(i.Hint)
	}
	return text
}

// notice is the message with its place.
func (i issue) notice() string {
	p := i.Problem
	p.Place = i.names.Place(p.Place)
	return p.String()
}

// linkless makes outside text harmless in a message of SARIF. Plain texts there
// may hold links in the form of Markdown (SARIF 3.11.6).
func linkless(s string) string { return strings.ReplaceAll(safe.Plain(s), "](", "] (") }

// rootID is the usual SARIF name of the repository's root.
const rootID = "%SRCROOT%"

// uriOf is the URI reference of a file in the repository. It escapes all
// characters that RFC 3986 reserves: text before a colon would be read as a
// scheme.
func uriOf(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// sarifInvocation says whether the run did all its work. It has the problems that
// are in no file of the repository.
func sarifInvocation(r report.Report, notices []issue) *sarif.Invocation {
	run := sarif.NewInvocation().WithExecutionSuccessful(!r.Failed())
	for _, n := range notices {
		run.AddToolExecutionNotification(sarif.NewNotification().WithLevel(n.Severity.String()).WithMessage(
			sarif.NewMessage().WithText(string(n.Code) + ": " + linkless(n.notice()))))
	}
	return run
}
