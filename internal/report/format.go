package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/versionfile"
)

// This file defines the JSON of a report. A type whose fields are the keys has the
// tags itself. Other types have a row here, since format 1 has other keys than
// they have fields, or names the files of several places.

// formatVersion is the version of the JSON output. A later relock may add keys to
// it; existing keys keep their name and meaning.
const formatVersion = 1

// JSON writes the report for programs. Arrays are never null; a missing value is
// null, and a missing text is empty. Outside text is unchanged, except that
// characters with an effect on terminals are escaped. Root modules are written
// one by one, since thousands of them take more memory in JSON than in the
// report. The error is the writer's.
func JSON(w io.Writer, r Report) error {
	s := streamTo(w)
	before, behind, found := bytes.Cut(bytes.Clone(s.encoded(documentOf(r), "", "  ")), []byte(`"modules": []`))
	s.write(before)
	if found {
		s.write([]byte(`"modules": [`))
		for i, m := range r.Modules {
			if i > 0 {
				s.write([]byte(","))
			}
			s.write([]byte("\n    "))
			s.write(s.encoded(rowOf(m, r), "    ", "  "))
		}
		if len(r.Modules) > 0 {
			s.write([]byte("\n  "))
		}
		s.write([]byte("]"))
	}
	s.write(behind)
	return s.end()
}

// Encode writes a value as JSON.
func Encode(w io.Writer, value any, indent string) error {
	s := streamTo(w)
	s.write(s.encoded(value, "", indent))
	return s.end()
}

// stream writes JSON piece by piece, and escapes invisible characters.
type stream struct {
	w       *bufio.Writer // keeps the first error
	encoder *json.Encoder // writes to piece
	piece   bytes.Buffer
}

func streamTo(w io.Writer) *stream {
	s := &stream{w: bufio.NewWriterSize(w, 64<<10)}
	s.encoder = json.NewEncoder(&s.piece)
	s.encoder.SetEscapeHTML(false)
	return s
}

// encoded returns a value as JSON. All lines but the first begin with prefix. The
// next call overwrites the result.
func (s *stream) encoded(value any, prefix, indent string) []byte {
	s.piece.Reset()
	s.encoder.SetIndent(prefix, indent)
	if err := s.encoder.Encode(value); err != nil {
		panic("report: a report cannot be encoded: " + err.Error())
	}
	return bytes.TrimSuffix(s.piece.Bytes(), []byte("\n"))
}

// write writes a piece. encoding/json escapes invisible characters below U+0020
// only. Its output outside strings has none but newlines.
func (s *stream) write(piece []byte) {
	for len(piece) > 0 {
		r, size := utf8.DecodeRune(piece)
		piece = piece[size:]
		switch {
		case r < 0x7F || safe.Visible(r) == r:
			s.w.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(s.w, `\u%04x\u%04x`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		default:
			fmt.Fprintf(s.w, `\u%04x`, r)
		}
	}
}

// end returns the error of the writer.
func (s *stream) end() error {
	s.w.WriteByte('\n')
	return s.w.Flush()
}

type document struct {
	FormatVersion int                 `json:"format_version"`
	Modules       []planJSON          `json:"modules,omitzero"`         // empty to write: JSON writes them
	Changes       []changeJSON        `json:"changes,omitzero"`         // of diff, which has nothing else but problems
	LockedModules []modulelock.Change `json:"locked_modules,omitempty"` // of diff
	Unlocked      []string            `json:"unlocked,omitzero"`
	PassedOver    []string            `json:"passed_over,omitempty"`
	Excluded      []string            `json:"excluded,omitzero"`
	Consistency   []VersionSkew       `json:"consistency,omitzero"`
	Notes         []notesJSON         `json:"release_notes,omitzero"`
	PullRequests  []PullRequest       `json:"pull_requests,omitzero"`
	Dashboards    []Dashboard         `json:"dashboards,omitempty"`
	DryRun        bool                `json:"dry_run,omitempty"`   // of a run that no organisation has, which says so itself
	Providers     []provider.Pattern  `json:"providers,omitempty"` // to which the run was restricted
	Answer        string              `json:"answer,omitempty"`
	Next          string              `json:"next,omitempty"`
	Fleet         *fleetJSON          `json:"fleet,omitempty"`
	Summary       string              `json:"summary,omitempty"`
	Errors        []problemJSON       `json:"errors"`
	Warnings      []problemJSON       `json:"warnings"`
	Stats         *Stats              `json:"stats,omitempty"`
}

func documentOf(r Report) document {
	doc := document{FormatVersion: formatVersion}
	doc.Errors, doc.Warnings = shaper{}.problemsOf(r.Diagnostics)
	if r.Verb == verbs.Diff {
		doc.Changes = []changeJSON{}
		for _, m := range r.Modules {
			w := shaper{m.Names}
			errors, warnings := w.problemsOf(m.Diagnostics)
			doc.Errors, doc.Warnings = append(doc.Errors, errors...), append(doc.Warnings, warnings...)
			doc.Changes = append(doc.Changes, collect.Mapped(m.Changes, w.changeOf)...)
			doc.LockedModules = append(doc.LockedModules, m.LockedModules...)
		}
		return doc
	}
	doc.Modules, doc.Unlocked, doc.PassedOver, doc.Excluded = []planJSON{}, array(r.Unlocked), r.PassedOver, array(r.Excluded)
	doc.Consistency, doc.Answer, doc.Stats = array(Skews(r)), r.Answer, &r.Stats
	doc.Stats.Stages = array(doc.Stats.Stages)
	if r.Fleet != nil {
		doc.Fleet = &fleetJSON{*r.Fleet, r.DryRun}
	}
	if r.Verb == verbs.PR || len(r.PullRequests) > 0 { // a command may have led to pull requests
		doc.Notes, doc.PullRequests = collect.Mapped(SortedNotes(r), notesOf), collect.Mapped(r.PullRequests, withArrays)
		doc.Dashboards = r.Dashboards
		doc.DryRun, doc.Providers = r.DryRun && r.Fleet == nil, r.Asked.Providers
	}
	if r.Fails() {
		doc.Next = r.Mending.Command(r.FailingDirs())
	}
	if r.Verb == verbs.Verify {
		doc.Summary = r.Counts().String()
	}
	return doc
}

// rowOf is the row of a root module. All versions in use, and unchanged providers,
// are written only in a run over an organisation.
func rowOf(m Module, r Report) any {
	switch {
	case m.Scan != nil:
		return scanOf(m)
	case m.Verified != nil:
		return verifiedOf(m)
	}
	if r.Fleet == nil {
		m.InUse = nil
	}
	if r.Fleet == nil || len(m.Held()) == 0 {
		m.Origins = nil
	}
	j := planOf(m)
	if m.Pending || m.NeedsUpgrade() {
		j.Next = r.Mending.Command([]string{m.Dir})
	}
	if r.Verb == verbs.Check { // a baseline accepts its findings
		w := shaper{m.Names}
		j.Judged, j.Admitted = collect.Mapped(m.Findings, w.markedOf), collect.Mapped(m.Accepted, w.acceptedOf)
	}
	if r.Fleet != nil {
		j.Unchanged = collect.Mapped(m.Kept, func(k Kept) keptJSON { return keptJSON{Use{k.Addr, k.Version}, k.Coverage, orNil(k.Signer)} })
	}
	return j
}

// withArrays is a pull request without null arrays.
func withArrays(p PullRequest) PullRequest {
	p.Directories = array(p.Directories)
	return p
}

type problemJSON struct {
	Code     problem.Code  `json:"code"`
	Message  string        `json:"message"`
	File     string        `json:"file,omitempty"`
	Line     int           `json:"line,omitempty"`
	Provider provider.Addr `json:"provider,omitzero"`
	Host     string        `json:"host,omitempty"` // in the form that people write
	Hint     string        `json:"hint,omitempty"`
	Dirs     problem.Dirs  `json:"dirs,omitzero"`
	// Outage is the same for all problems of one server that did not answer.
	Outage problem.Outage `json:"outage,omitzero"`
}

// shaper makes rows of facts with places, with the names that people use for the
// files.
type shaper struct{ names problem.Naming }

// problemsOf splits diagnostics into failures and warnings.
func (w shaper) problemsOf(diagnostics []problem.Problem) (errors, warnings []problemJSON) {
	errors, warnings = []problemJSON{}, []problemJSON{}
	for _, d := range diagnostics {
		p := problemJSON{Code: d.Code, Message: d.Message, File: w.names.Place(d.Place).File(), Line: d.Place.Line, Provider: d.Subject.Addr, Host: d.Host.ForDisplay(), Hint: d.Hint, Dirs: d.Dirs.Named(w.names), Outage: d.Outage}
		if d.Severity == problem.SeverityWarning {
			warnings = append(warnings, p)
			continue
		}
		errors = append(errors, p)
	}
	return errors, warnings
}

// scanJSON is a root module of a scan.
type scanJSON struct {
	Dir string `json:"dir"`
	provider.Tool
	Assumed      bool              `json:"tool_version_assumed"`
	Pin          *versionfile.Pin  `json:"version_file"`
	Kind         scan.Kind         `json:"kind"`
	Origin       string            `json:"origin"`
	Holes        []scan.Hole       `json:"holes"`
	Assumptions  []string          `json:"assumptions"`
	Partial      bool              `json:"partial"`
	Units        []string          `json:"units,omitempty"`
	Terragrunt   *versionfile.Pin  `json:"terragrunt_version_file,omitempty"`
	Lock         *lockfile.File    `json:"lock"`
	Requirements []requirementJSON `json:"requirements"`
	Held         []heldJSON        `json:"held,omitempty"` // of why
	Unread       []scan.Unread     `json:"unread"`
	Errors       []problemJSON     `json:"errors"`
	Warnings     []problemJSON     `json:"warnings"`
	Notes        []problemJSON     `json:"notes"`
}

func scanOf(m Module) scanJSON {
	w := shaper{m.Names}
	j := scanJSON{
		Dir: m.Dir, Tool: m.Tool, Assumed: m.Assumed, Pin: w.pin(m.Scan.Pin), Kind: cmp.Or(m.Scan.Kind, "ordinary"), Origin: m.Scan.Made.Origin,
		Holes: collect.Mapped(m.Scan.Made.Holes, w.hole), Assumptions: array(m.Scan.Made.Assumptions), Partial: m.Scan.Partial(), Units: m.Scan.Made.Units, Terragrunt: w.pin(m.Scan.Made.Terragrunt),
		Requirements: collect.Mapped(m.Scan.Tree.Requirements, w.requirementOf), Unread: collect.Mapped(m.Unread, w.call),
	}
	if m.Scan.Lock != nil {
		j.Lock = &lockfile.File{Path: m.LockPath, Locks: collect.Mapped(m.Scan.Lock.Locks, func(l lockfile.Lock) lockfile.Lock {
			l.Hashes = array(l.Hashes)
			return l
		})}
	}
	j.Held = w.heldIn(m)
	j.Errors, j.Warnings = w.problemsOf(m.Diagnostics)
	j.Notes, _ = w.problemsOf(m.Scan.Tree.Notes)
	return j
}

type requirementJSON struct {
	Provider    provider.Addr        `json:"provider"`
	Constraints provider.Constraints `json:"constraints"`
	Terms       []scan.Term          `json:"terms"`
}

func (w shaper) requirementOf(q scan.Requirement) requirementJSON {
	return requirementJSON{q.Addr, q.Constraints(), collect.Mapped(q.Terms, w.term)}
}

func (w shaper) place(p problem.Place) problem.Place { return w.names.Place(p).Named() }

func (w shaper) pin(p *versionfile.Pin) *versionfile.Pin {
	if p == nil {
		return nil
	}
	named := *p
	named.Place = w.place(p.Place)
	return &named
}

func (w shaper) hole(h scan.Hole) scan.Hole {
	h.Place = w.place(h.Place)
	return h
}

func (w shaper) term(t scan.Term) scan.Term {
	t.Place = w.place(t.Place)
	return t
}

func (w shaper) call(u scan.Unread) scan.Unread {
	u.Place = w.place(u.Place)
	return u
}

// planJSON is a root module whose lock file is compared with the right one.
type planJSON struct {
	Module
	Next      string        `json:"next,omitempty"`
	Unchanged []keptJSON    `json:"kept,omitempty"`
	Entries   []changeJSON  `json:"changes"`
	Newer     []heldJSON    `json:"held"`
	Missing   []missingJSON `json:"missing_platforms"`
	Judged    []findingJSON `json:"findings"`
	Admitted  []findingJSON `json:"accepted,omitempty"`
	Errors    []problemJSON `json:"errors"`
	Warnings  []problemJSON `json:"warnings"`
}

func planOf(m Module) planJSON {
	w := shaper{m.Names}
	m.Unread = collect.Mapped(m.Unread, w.call)
	j := planJSON{Module: m, Entries: collect.Mapped(m.Changes, w.changeOf), Newer: array(w.heldIn(m)), Missing: []missingJSON{}, Judged: collect.Mapped(m.Findings, w.findingOf)}
	problems := slices.Clone(m.Diagnostics)
	for _, k := range m.Facts() {
		if len(k.Missing) > 0 {
			j.Missing = append(j.Missing, missingJSON{Use{k.Addr, k.Version}, k.Missing, k.Since, orNil(k.Serving)})
		}
		for _, text := range k.Warnings { // registries write them for users of the provider
			problems = append(problems, problem.Problem{Code: problem.CodeRegistryWarning, Severity: problem.SeverityWarning, Message: text, Subject: problem.Subject{Addr: k.Addr}, Host: k.Addr.Host})
		}
	}
	j.Errors, j.Warnings = w.problemsOf(problems)
	return j
}

type changeJSON struct {
	diff.Change
	Old       *provider.Version   `json:"from"`
	New       *provider.Version   `json:"to"`
	Covered   []provider.Platform `json:"platforms"`
	Released  provider.Day        `json:"released"`
	Signer    *provider.Signer    `json:"signer"`
	OldSigner *provider.Signer    `json:"signer_from"`
	Marks     []provider.Mark     `json:"marks"`
	Held      []heldJSON          `json:"held"`
	Carried   bool                `json:"carried,omitempty"`
}

func (w shaper) changeOf(c Change) changeJSON {
	c.HashesAdded, c.HashesRemoved, c.Platforms = array(c.HashesAdded), array(c.HashesRemoved), array(c.Platforms)
	j := changeJSON{
		Change: c.Change, Covered: array(c.Coverage), Released: provider.Day(c.Published), Signer: orNil(c.Signer), OldSigner: orNil(c.SignerFrom),
		Marks: array(c.Marks), Held: collect.Mapped(c.Held, w.heldOf), Carried: c.FromPull && !c.Unasked,
	}
	for _, v := range c.Olds() { // one at most
		j.Old = &v
	}
	for _, v := range c.News() {
		j.New = &v
	}
	return j
}

// heldJSON says why a newer release was not taken. Outside of a change it also
// has the provider and its version.
type heldJSON struct {
	Provider provider.Addr     `json:"provider,omitzero"`
	Stays    *provider.Version `json:"at,omitempty"`
	Version  provider.Version  `json:"version"`
	Released provider.Day      `json:"released"`
	Reason   policy.Reason     `json:"reason"`
	decidingTerm
	Also     []scan.Term  `json:"also"`
	Rule     string       `json:"rule"`
	Eligible provider.Day `json:"eligible"`
	// Help is the measures that let the provider move to HelpTo, or the reasons why none
	// does.
	Help   []upgrade.Measure `json:"help,omitempty"`
	HelpTo *provider.Version `json:"help_to,omitempty"`
}

// decidingTerm is a scan.Term with another key for its constraint.
type decidingTerm struct {
	Constraint provider.Term `json:"constraint"`
	Module     string        `json:"module"`
	problem.Place
	Unit       string        `json:"unit,omitempty"`
	Sets       scan.SetNames `json:"sets,omitzero"`
	Source     string        `json:"source_expression,omitempty"`
	Expression string        `json:"expression,omitempty"`
	Written    string        `json:"-"`
}

// heldIn are the held releases of all providers of a root module.
func (w shaper) heldIn(m Module) []heldJSON {
	var all []heldJSON
	for _, k := range m.Held() {
		for _, h := range k.Held {
			held := w.heldOf(h)
			held.Provider, held.Stays = k.Addr, &k.Version
			all = append(all, held)
		}
	}
	return all
}

func (w shaper) heldOf(h upgrade.Held) heldJSON {
	return heldJSON{
		Version: h.Version, Released: provider.Day(h.Published), Reason: h.By.Reason, decidingTerm: decidingTerm(w.term(h.Term)),
		Also: collect.Mapped(h.Others, w.term), Rule: h.By.Rule, Eligible: provider.Day(h.By.Eligible),
		Help: collect.Mapped(h.Help.Measures, w.measure), HelpTo: orNil(h.Help.Version),
	}
}

// measure is a measure with its places in JSON.
func (w shaper) measure(m upgrade.Measure) upgrade.Measure {
	m.Term, m.Call.Place = w.term(m.Term), w.place(m.Call.Place)
	if m.Against != (scan.Term{}) {
		m.Against = w.term(m.Against)
	}
	return m
}

// missingJSON is a provider whose release lacks platforms.
type missingJSON struct {
	Use
	Platforms []provider.Platform                    `json:"platforms"`
	Since     map[provider.Platform]provider.Version `json:"since,omitempty"`
	ServedBy  *provider.Version                      `json:"served_by"`
}

// keptJSON is an unchanged provider that the report says something about.
type keptJSON struct {
	Use
	Platforms []provider.Platform `json:"platforms,omitempty"`
	Signer    *provider.Signer    `json:"signer,omitempty"`
}

// findingJSON is a finding, with the name that a baseline uses for it. An
// accepted finding says who accepted it, until when and why.
type findingJSON struct {
	Code        problem.Code      `json:"code"`
	Severity    problem.Severity  `json:"severity"`
	Provider    provider.Addr     `json:"provider"`
	Version     string            `json:"version"` // of the entry; empty without one
	Hash        provider.Hash     `json:"hash,omitempty"`
	File        string            `json:"file"`
	Line        int               `json:"line"`
	Column      int               `json:"column,omitempty"`
	Platform    provider.Platform `json:"platform,omitzero"`
	ProvenBy    string            `json:"proven_by,omitempty"`
	Message     string            `json:"message"`
	Hint        string            `json:"hint,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Reason      *string           `json:"reason,omitempty"`
	AcceptedBy  *string           `json:"accepted_by,omitempty"`
	Until       *string           `json:"until,omitempty"`
}

func (w shaper) findingOf(f problem.Problem) findingJSON {
	return findingJSON{
		Code: f.Code, Severity: f.Severity, Provider: f.Subject.Addr, Version: f.Subject.VersionText(), Hash: f.Subject.Hash, File: w.names.Place(f.Place).File(), Line: f.Place.Line, Column: f.Place.From,
		Platform: f.Subject.Platform, ProvenBy: f.ProvenBy, Message: f.Message, Hint: f.Hint,
	}
}

func (w shaper) markedOf(f problem.Problem) findingJSON {
	j := w.findingOf(f)
	j.Fingerprint = f.Fingerprint()
	return j
}

func (w shaper) acceptedOf(a ledger.Acceptance) findingJSON {
	j := w.markedOf(a.Problem)
	j.Reason, j.AcceptedBy, j.Until = &a.Reason, &a.By, new(provider.Day(a.Until).String())
	return j
}

// verifiedJSON is the verification of a root module.
type verifiedJSON struct {
	Dir string `json:"dir"`
	provider.Tool
	Path       string         `json:"path"`
	HashesOnly bool           `json:"hashes_only"`
	Counts     map[string]int `json:"counts"`
	Findings   []findingJSON  `json:"findings"`
	Accepted   []findingJSON  `json:"accepted"`
	Unchecked  []string       `json:"unchecked"`
	Errors     []problemJSON  `json:"errors"`
	Warnings   []problemJSON  `json:"warnings"`
}

func verifiedOf(m Module) verifiedJSON {
	w := shaper{m.Names}
	j := verifiedJSON{
		Dir: m.Dir, Tool: m.Tool, Path: m.LockPath, HashesOnly: m.HashesOnly, Counts: m.Verified.Counts.Each(),
		Findings: collect.Mapped(m.Findings, w.markedOf), Accepted: collect.Mapped(m.Accepted, w.acceptedOf), Unchecked: array(m.Verified.Unchecked),
	}
	j.Counts["hashes"] = m.Verified.Counts.Hashes()
	j.Errors, j.Warnings = w.problemsOf(m.Diagnostics)
	return j
}

// notesJSON are the release notes of an upgrade.
type notesJSON struct {
	notes.Notes
	Address string `json:"repository"`    // empty if it is not known
	Tag     string `json:"tag,omitempty"` // of the release that the upgrade comes to
}

func notesOf(n notes.Notes) notesJSON {
	n.Releases = collect.Mapped(n.Releases, func(r notes.Release) notes.Release {
		r.Sections = array(r.Sections)
		return r
	})
	j := notesJSON{Notes: n}
	if n.Repository.Known() {
		j.Address, j.Tag = n.Repository.URL(), n.Repository.Tag
	}
	return j
}

type fleetJSON struct {
	Fleet
	DryRun bool `json:"dry_run"`
}

// SettingsShown are the settings in force for a repository, with explanations.
type SettingsShown struct {
	Repository string                 `json:"repository"` // on GitHub; empty for the checkout
	Branch     string                 `json:"branch"`
	All        []settings.Explanation `json:"settings"`
	Warnings   []problem.Problem      `json:"-"`
}

// settingsJSON are the settings that are in force.
type settingsJSON struct {
	FormatVersion int `json:"format_version"`
	SettingsShown
	Problems []problemJSON `json:"warnings"`
}

// SettingsJSON writes settings for programs. The error is the writer's.
func SettingsJSON(w io.Writer, shown SettingsShown) error {
	shown.All = array(shown.All)
	_, warnings := shaper{}.problemsOf(shown.Warnings)
	return Encode(w, settingsJSON{formatVersion, shown, warnings}, "  ")
}

// orNil points to a value; nil for the zero value.
func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// array is a list that is never null.
func array[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
