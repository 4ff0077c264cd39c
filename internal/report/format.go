package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/versionfile"
)

// formatVersion is that of the JSON output. Keys may be added under it; what is
// there keeps its name and meaning.
const formatVersion = 1

// JSON writes the report for programs. Arrays are never null; what is not
// there is null or, for a text, empty. Outside text is as it was, but
// characters that a terminal would act on are escaped. The error is the
// writer's.
func JSON(w io.Writer, r Report) error { return encode(w, document(r), "  ") }

func encode(w io.Writer, document any, indent string) error {
	escaped := &escaper{w: bufio.NewWriterSize(w, 64<<10)}
	e := json.NewEncoder(escaped)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(document); err != nil && escaped.err == nil {
		panic("report: a report cannot be encoded: " + err.Error())
	}
	return cmp.Or(escaped.err, escaped.w.Flush())
}

// escaper writes invisible characters as JSON escapes. encoding/json does so below
// U+0020 only. Outside strings its output has none but newlines. It stands between
// the encoder and the writer, since each further copy of the text of thousands of
// root modules takes as much memory as all of them.
type escaper struct {
	w   *bufio.Writer
	cut []byte // the beginning of a character whose end comes next
	err error  // the writer's
}

func (e *escaper) Write(text []byte) (int, error) {
	written := len(text)
	if len(e.cut) > 0 {
		text, e.cut = slices.Concat(e.cut, text), nil
	}
	for len(text) > 0 && e.err == nil {
		if !utf8.FullRune(text) {
			e.cut = slices.Clone(text)
			break
		}
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		switch {
		case r > unicode.MaxASCII && safe.Visible(r) != r && r > 0xFFFF:
			high, low := 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF
			_, e.err = fmt.Fprintf(e.w, `\u%04x\u%04x`, high, low)
		case r >= 0x7F && safe.Visible(r) != r:
			_, e.err = fmt.Fprintf(e.w, `\u%04x`, r)
		default:
			_, e.err = e.w.WriteRune(r)
		}
	}
	return written, e.err
}

func document(r Report) any {
	errors, warnings := problemsJSON(r.Diagnostics)
	if r.Verb == VerbDiff {
		return diffDocument(r, errors, warnings)
	}
	doc := runJSON{FormatVersion: formatVersion, Modules: []any{}, Unlocked: []string{}, Excluded: []string{}, Consistency: array(spreadsOf(r)), Errors: errors, Warnings: warnings, Stats: r.Stats}
	doc.Stats.Stages = array(doc.Stats.Stages)
	for _, m := range r.Modules {
		switch {
		case m.Scan != nil:
			doc.Modules = append(doc.Modules, scanModule(m))
		case m.Verified != nil:
			doc.Modules = append(doc.Modules, verifiedModule(m))
		default:
			plan := planModule(m)
			if r.Fleet != nil { // whose reports are joined
				plan.InUse = m.InUse
			}
			doc.Modules = append(doc.Modules, plan)
		}
	}
	doc.Unlocked, doc.Excluded = append(doc.Unlocked, r.Unlocked...), append(doc.Excluded, r.Excluded...)
	doc.PassedOver = r.PassedOver
	doc.Answer, doc.Fleet = r.Answer, fleetOf(r)
	if r.Verb == VerbPR || len(r.PullRequests) > 0 { // a command may have led to some
		said := list(sortedNotes(r), notesOf)
		doc.Notes = &said
		pulls := list(r.PullRequests, func(p PullRequest) PullRequest {
			p.Directories = array(p.Directories)
			return p
		})
		doc.PullRequests = &pulls
	}
	if r.Verb == VerbVerify {
		doc.Summary = r.Counts().String()
	}
	return doc
}

type runJSON struct {
	FormatVersion int            `json:"format_version"`
	Modules       []any          `json:"modules"`
	Unlocked      []string       `json:"unlocked"`
	PassedOver    []string       `json:"passed_over,omitempty"`
	Excluded      []string       `json:"excluded"`
	Consistency   []spread       `json:"consistency"`
	Notes         *[]notesJSON   `json:"release_notes,omitempty"`
	PullRequests  *[]PullRequest `json:"pull_requests,omitempty"`
	Answer        string         `json:"answer,omitempty"`
	Fleet         *fleetJSON     `json:"fleet,omitempty"`
	Summary       string         `json:"summary,omitempty"`
	Errors        []problemJSON  `json:"errors"`
	Warnings      []problemJSON  `json:"warnings"`
	Stats         Stats          `json:"stats"`
}

type diffJSON struct {
	FormatVersion int           `json:"format_version"`
	Changes       []changeJSON  `json:"changes"`
	Errors        []problemJSON `json:"errors"`
	Warnings      []problemJSON `json:"warnings"`
}

func diffDocument(r Report, errors, warnings []problemJSON) diffJSON {
	doc := diffJSON{FormatVersion: formatVersion, Changes: []changeJSON{}, Errors: errors, Warnings: warnings}
	for _, m := range r.Modules {
		doc.Changes = append(doc.Changes, list(m.Changes, changeOf)...)
		errors, warnings := problemsJSON(m.Diagnostics)
		doc.Errors, doc.Warnings = append(doc.Errors, errors...), append(doc.Warnings, warnings...)
	}
	return doc
}

type problemJSON struct {
	Code     problem.Code `json:"code"`
	Message  string       `json:"message"`
	File     string       `json:"file,omitempty"`
	Line     int          `json:"line,omitempty"`
	Provider string       `json:"provider,omitempty"`
	Host     string       `json:"host,omitempty"`
	Hint     string       `json:"hint,omitempty"`
}

// problemsJSON splits diagnostics into failures and warnings.
func problemsJSON(diagnostics []problem.Diagnostic) (errors, warnings []problemJSON) {
	errors, warnings = []problemJSON{}, []problemJSON{}
	for _, d := range diagnostics {
		p := problemJSON{
			Code: d.Code, Message: d.Message, File: d.Place.File(), Line: d.Place.Line,
			Provider: d.Addr.String(), Host: hostText(d), Hint: d.Hint,
		}
		if d.Severity == problem.SeverityWarning {
			warnings = append(warnings, p)
			continue
		}
		errors = append(errors, p)
	}
	return errors, warnings
}

func hostText(d problem.Diagnostic) string {
	if d.Host == "" {
		return ""
	}
	return d.Host.ForDisplay()
}

type scanJSON struct {
	Dir          string            `json:"dir"`
	Tool         provider.ToolName `json:"tool"`
	ToolVersion  string            `json:"tool_version"`
	Assumed      bool              `json:"tool_version_assumed"`
	Pin          *pinJSON          `json:"version_file"`
	Kind         string            `json:"kind"`
	Origin       string            `json:"origin"`
	Holes        []holeJSON        `json:"holes"`
	Assumptions  []string          `json:"assumptions"`
	Partial      bool              `json:"partial"`
	Terragrunt   *pinJSON          `json:"terragrunt_version_file,omitempty"`
	Lock         *lockJSON         `json:"lock"`
	Requirements []requirementJSON `json:"requirements"`
	Unread       []unreadJSON      `json:"unread"`
	Errors       []problemJSON     `json:"errors"`
	Warnings     []problemJSON     `json:"warnings"`
	Notes        []problemJSON     `json:"notes"`
}

type pinJSON struct {
	Text string           `json:"text"`
	File string           `json:"file"`
	Line int              `json:"line"`
	Pins versionfile.Kind `json:"pins,omitempty"`
}

type holeJSON struct {
	Path  string `json:"path"`
	Parts int    `json:"parts"`
	File  string `json:"file"`
	Line  int    `json:"line"`
}

type lockJSON struct {
	Path      string          `json:"path"`
	Providers []lockfile.Lock `json:"providers"`
}

type requirementJSON struct {
	Provider    string     `json:"provider"`
	Constraints string     `json:"constraints"`
	Terms       []termJSON `json:"terms"`
}

type termJSON struct {
	Text   string `json:"text"`
	Module string `json:"module"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	// What the address and the text were evaluated from.
	Source     string `json:"source_expression,omitempty"`
	Expression string `json:"expression,omitempty"`
}

type unreadJSON struct {
	Module string `json:"module"`
	Source string `json:"source"`
	Reason string `json:"reason"`
	Cause  string `json:"cause,omitempty"`
	// Of an entry of required_providers: its local name and what has no value.
	Provider   string `json:"provider,omitempty"`
	Expression string `json:"expression,omitempty"`
	File       string `json:"file"`
	Line       int    `json:"line"`
}

func scanModule(m Module) scanJSON {
	errors, warnings := problemsJSON(m.Diagnostics)
	notes, _ := problemsJSON(m.Scan.Tree.Notes)
	return scanJSON{
		Dir: m.Dir, Tool: m.Tool.Name, ToolVersion: m.Tool.Version.String(), Assumed: m.Assumed, Pin: pinOf(m.Scan.Pin), Terragrunt: pinOf(m.Scan.Terragrunt), Lock: lockOf(m),
		Kind: string(cmp.Or(m.Scan.Kind, "ordinary")), Origin: m.Scan.Origin, Holes: list(m.Scan.Holes, holeOf),
		Assumptions: append([]string{}, m.Scan.Assumptions...), Partial: m.Scan.Partial(),
		Requirements: list(m.Scan.Tree.Requirements, requirementOf), Unread: list(m.Unread, unreadOf),
		Errors: errors, Warnings: warnings, Notes: notes,
	}
}

func pinOf(p *versionfile.Pin) *pinJSON {
	if p == nil {
		return nil
	}
	return &pinJSON{Text: p.Text, File: p.Place.File(), Line: p.Place.Line, Pins: p.Kind}
}

func holeOf(h scan.Hole) holeJSON {
	return holeJSON{Path: h.Path, Parts: h.Parts, File: h.Place.File(), Line: h.Place.Line}
}

func lockOf(m Module) *lockJSON {
	if m.Scan.Lock == nil {
		return nil
	}
	return &lockJSON{Path: m.LockPath, Providers: list(m.Scan.Lock.Locks, entryOf)}
}

func entryOf(l lockfile.Lock) lockfile.Lock {
	l.Hashes = array(l.Hashes)
	return l
}

func requirementOf(q scan.Requirement) requirementJSON {
	return requirementJSON{
		Provider: q.Addr.String(), Constraints: q.Constraints().String(), Terms: list(q.Terms, termOf),
	}
}

func termOf(t scan.Term) termJSON {
	return termJSON{Text: termText(t), Module: t.Module, File: t.Place.File(), Line: t.Place.Line, Source: t.Source, Expression: t.Expression}
}

// termText is empty for a place that needs a provider in any version.
func termText(t scan.Term) string {
	if t.Constraint.Op == 0 {
		return ""
	}
	return t.Constraint.String()
}

func unreadOf(u scan.Unread) unreadJSON {
	read := unreadJSON{Module: u.Module, Source: u.Source, Reason: u.Reason, Cause: u.Cause, File: u.Place.File(), Line: u.Place.Line}
	if u.Entry != nil {
		read.Provider, read.Expression = u.Entry.Name, u.Entry.Expression
	}
	return read
}

type planJSON struct {
	Dir         string            `json:"dir"`
	Tool        provider.ToolName `json:"tool"`
	ToolVersion string            `json:"tool_version"`
	Assumed     bool              `json:"tool_version_assumed"`
	Pending     bool              `json:"pending"`
	Written     bool              `json:"written"`
	Partial     bool              `json:"partial"`
	Left        bool              `json:"left"`
	HashesOnly  bool              `json:"hashes_only"`
	InUse       []Use             `json:"in_use,omitempty"`
	Changes     []changeJSON      `json:"changes"`
	Held        []moduleHeldJSON  `json:"held"`
	Missing     []missingJSON     `json:"missing_platforms"`
	Unread      []unreadJSON      `json:"unread"`
	Findings    []findingJSON     `json:"findings"`
	Errors      []problemJSON     `json:"errors"`
	Warnings    []problemJSON     `json:"warnings"`
}

type changeJSON struct {
	Provider       string              `json:"provider"`
	ProviderFrom   string              `json:"provider_from,omitempty"`
	Kind           string              `json:"kind"`
	Bump           provider.Bump       `json:"bump"`
	From           *string             `json:"from"`
	To             *string             `json:"to"`
	Constraints    string              `json:"constraints"`
	ConstraintFrom string              `json:"constraints_from"`
	Platforms      []provider.Platform `json:"platforms"`
	Completed      []provider.Platform `json:"completed_platforms"`
	HashesAdded    []provider.Hash     `json:"hashes_added"`
	HashesRemoved  []provider.Hash     `json:"hashes_removed"`
	Released       *string             `json:"released"`
	Signer         *provider.Signer    `json:"signer"`
	SignerFrom     *provider.Signer    `json:"signer_from"`
	Marks          []provider.Mark     `json:"marks"`
	Held           []heldJSON          `json:"held"`
}

type heldJSON struct {
	Version    string        `json:"version"`
	Released   *string       `json:"released"`
	Reason     policy.Reason `json:"reason"`
	Constraint string        `json:"constraint"`
	Module     string        `json:"module"`
	File       string        `json:"file"`
	Line       int           `json:"line"`
	Also       []termJSON    `json:"also"`
	Rule       string        `json:"rule"`
	Eligible   *string       `json:"eligible"`
}

// moduleHeldJSON names the provider and the version at which it is held, since
// it stands outside a change.
type moduleHeldJSON struct {
	Provider string `json:"provider"`
	At       string `json:"at"`
	heldJSON
}

type missingJSON struct {
	Provider  string              `json:"provider"`
	Version   string              `json:"version"`
	Platforms []provider.Platform `json:"platforms"`
	ServedBy  *string             `json:"served_by"`
}

func planModule(m Module) planJSON {
	errors, warnings := problemsJSON(m.Diagnostics)
	return planJSON{
		Dir: m.Dir, Tool: m.Tool.Name, ToolVersion: m.Tool.Version.String(), Assumed: m.Assumed,
		Pending: m.Pending, Written: m.Written, Partial: m.Partial, Left: m.Left, HashesOnly: m.HashesOnly,
		Changes: list(m.Changes, changeOf), Held: heldOf(m), Missing: missingOf(m), Unread: list(m.Unread, unreadOf),
		Findings: list(m.Findings, findingOf), Errors: errors, Warnings: append(warnings, registryWarnings(m)...),
	}
}

func changeOf(c Change) changeJSON {
	return changeJSON{
		Provider: c.Addr.String(), ProviderFrom: c.AddrFrom.String(), Kind: string(c.Kind), Bump: c.Bump,
		From: onlyOf(c.olds()), To: onlyOf(c.news()),
		Constraints: c.ConstraintsTo.String(), ConstraintFrom: c.ConstraintsFrom.String(),
		Platforms: append([]provider.Platform{}, c.Coverage...), Completed: append([]provider.Platform{}, c.Platforms...),
		HashesAdded: append([]provider.Hash{}, c.HashesAdded...), HashesRemoved: append([]provider.Hash{}, c.HashesRemoved...),
		Released: dayOf(c.Published), Signer: signerOf(c.Signer), SignerFrom: signerOf(c.SignerFrom),
		Marks: append([]provider.Mark{}, c.Marks...), Held: list(c.Held, heldBackOf),
	}
}

// onlyOf is nil for no version, of which there is at most one.
func onlyOf(versions []provider.Version) *string {
	if len(versions) == 0 {
		return nil
	}
	text := versions[0].String()
	return &text
}

// versionOf is nil for no version.
func versionOf(v provider.Version) *string {
	if v.IsZero() {
		return nil
	}
	text := v.String()
	return &text
}

// dayOf is nil for a time that is not known.
func dayOf(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	text := day(at)
	return &text
}

// signerOf is nil for a signer that is not known.
func signerOf(s provider.Signer) *provider.Signer {
	if s == (provider.Signer{}) {
		return nil
	}
	return &s
}

func heldBackOf(h upgrade.Held) heldJSON {
	return heldJSON{
		Version: h.Version.String(), Released: dayOf(h.Published), Reason: h.Reason, Constraint: termText(h.Term),
		Module: h.Term.Module, File: h.Term.Place.File(), Line: h.Term.Place.Line,
		Also: list(h.Others, termOf), Rule: h.Rule, Eligible: dayOf(h.Eligible),
	}
}

// heldOf lists every provider of the module that is held back, changed or not.
func heldOf(m Module) []moduleHeldJSON {
	held := []moduleHeldJSON{}
	for _, k := range m.held() {
		for _, h := range k.Held {
			held = append(held, moduleHeldJSON{k.Addr.String(), k.Version.String(), heldBackOf(h)})
		}
	}
	return held
}

func missingOf(m Module) []missingJSON {
	missing := []missingJSON{}
	for _, k := range m.facts() {
		if len(k.Missing) > 0 {
			missing = append(missing, missingJSON{k.Addr.String(), k.Version.String(), k.Missing, versionOf(k.Serving)})
		}
	}
	return missing
}

// registryWarnings are what registries tell the users of the module's providers.
func registryWarnings(m Module) []problemJSON {
	var warnings []problemJSON
	for _, k := range m.facts() {
		for _, text := range k.Warnings {
			warnings = append(warnings, problemJSON{
				Code: problem.CodeRegistryWarning, Message: text,
				Provider: k.Addr.String(), Host: k.Addr.Host.ForDisplay(),
			})
		}
	}
	return warnings
}

// list applies f to each element; the result is never nil.
func list[T, U any](in []T, f func(T) U) []U {
	out := make([]U, len(in))
	for i, e := range in {
		out[i] = f(e)
	}
	return out
}

// array is a list that is never null.
func array[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
