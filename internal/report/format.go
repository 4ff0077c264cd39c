package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/lockfile"
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

// This file defines the JSON of a report. Types have the tags of their keys. A type
// of this file adds what is computed for JSON, or has keys for the fields of several
// types. written then names all files, for every type.

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

// document is a report, with the facts that its verb has. A diff has changes and
// problems alone.
type document struct {
	FormatVersion int                    `json:"format_version"`
	Rows          []planJSON             `json:"modules,omitzero"` // empty to write: JSON writes them
	Changes       []changeJSON           `json:"changes,omitzero"`
	LockedModules []upgrade.ModuleChange `json:"locked_modules,omitempty"` // of diff
	Report
	Consistency []VersionSkew      `json:"consistency,omitzero"`
	Texts       []notesJSON        `json:"release_notes,omitzero"`
	Dry         bool               `json:"dry_run,omitempty"`   // of a run that no organisation has, which says so itself
	Providers   []provider.Pattern `json:"providers,omitempty"` // to which the run was restricted
	Next        string             `json:"next,omitempty"`
	Owned       *fleetJSON         `json:"fleet,omitempty"`
	Summary     string             `json:"summary,omitempty"`
	problemsJSON
}

func documentOf(r Report) document {
	doc := document{FormatVersion: formatVersion, problemsJSON: problemsOf(r.Diagnostics, problem.Naming{})}
	if r.Verb == verbs.Diff {
		doc.Changes = []changeJSON{}
		for _, m := range r.Modules {
			problems := problemsOf(m.Diagnostics, m.Names)
			doc.Errors, doc.Warnings = append(doc.Errors, problems.Errors...), append(doc.Warnings, problems.Warnings...)
			doc.Changes = append(doc.Changes, written(collect.Mapped(m.Changes, changeOf), m.Names)...)
			doc.LockedModules = append(doc.LockedModules, m.LockedModules...)
		}
		return doc
	}
	doc.Report, doc.Rows, doc.Consistency = written(r, problem.Naming{}), []planJSON{}, written(Skews(r), problem.Naming{})
	if r.Verb == verbs.PR || len(r.PullRequests) > 0 { // a command may have led to pull requests
		doc.Texts = written(collect.Mapped(SortedNotes(r), notesOf), problem.Naming{})
		doc.Dry, doc.Providers = r.DryRun && r.Fleet == nil, r.Asked.Providers
	} else {
		doc.PullRequests, doc.Dashboards = nil, nil
	}
	if r.Fleet != nil {
		doc.Owned = &fleetJSON{*r.Fleet, r.DryRun}
	}
	if r.Fails() {
		doc.Next = r.Mending.Command(r.FailingDirs())
	}
	if r.Verb == verbs.Verify {
		doc.Summary = r.Counts().String()
	}
	return doc
}

// rowOf is the row of a root module.
func rowOf(m Module, r Report) any {
	switch {
	case m.Scan != nil:
		row := scanOf(m)
		if r.Verb == verbs.Why {
			row.Modules = ModuleUses(*m.Scan)
		}
		return written(row, m.Names)
	case m.Verified != nil:
		return written(verifiedOf(m), m.Names)
	}
	return written(planOf(m, r), m.Names)
}

// written is a copy of a value for JSON: each place has the name that people use
// for its file, and each list that is nil is empty.
func written[T any](value T, names problem.Naming) T {
	complete(reflect.ValueOf(&value).Elem(), names)
	return value
}

// complete changes a value as written says. What other values share with it, behind
// pointers and in lists, is copied first.
func complete(v reflect.Value, names problem.Naming) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			complete(own.Elem(), names)
			v.Set(own)
		}
	case reflect.Slice:
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		for i := 0; i < own.Len() && own.Index(i).Kind() == reflect.Struct; i++ {
			complete(own.Index(i), names)
		}
		v.Set(own)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[problem.Place]() {
			v.Set(reflect.ValueOf(names.Place(v.Interface().(problem.Place)).Named()))
			return
		}
		for f, field := range v.Fields() {
			if (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" {
				complete(field, names)
			}
		}
	}
}

// problemsJSON are problems, divided into failures and warnings.
type problemsJSON struct {
	Errors   []problemJSON `json:"errors"`
	Warnings []problemJSON `json:"warnings"`
}

type problemJSON struct {
	problem.Problem
	File     string        `json:"file,omitempty"`
	Line     int           `json:"line,omitempty"`
	Provider provider.Addr `json:"provider,omitzero"`
	Asked    string        `json:"host,omitempty"` // in the form that people write
	All      problem.Dirs  `json:"dirs,omitzero"`
	// Silence is the same for all problems of one server that did not answer.
	Silence problem.Outage `json:"outage,omitzero"`
}

func problemsOf(diagnostics []problem.Problem, names problem.Naming) problemsJSON {
	split := problemsJSON{[]problemJSON{}, []problemJSON{}}
	for _, d := range diagnostics {
		p := problemJSON{d, names.Place(d.Place).File(), d.Place.Line, d.Subject.Addr, d.Host.ForDisplay(), d.Dirs.Named(names), d.Outage}
		if d.Severity == problem.SeverityWarning {
			split.Warnings = append(split.Warnings, p)
			continue
		}
		split.Errors = append(split.Errors, p)
	}
	return split
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
	Modules      []LockedUse       `json:"locked_modules,omitempty"`
	Requirements []requirementJSON `json:"requirements"`
	Held         []heldJSON        `json:"held,omitempty"` // of why
	Unread       []scan.Unread     `json:"unread"`
	problemsJSON
	Notes []problemJSON `json:"notes"`
}

func scanOf(m Module) scanJSON {
	made := m.Scan.Made
	j := scanJSON{
		Dir: m.Dir, Tool: m.Tool, Assumed: m.Assumed, Pin: m.Scan.Pin, Kind: cmp.Or(m.Scan.Kind, "ordinary"), Origin: made.Origin,
		Holes: made.Holes, Assumptions: made.Assumptions, Partial: m.Scan.Partial(), Units: made.Units, Terragrunt: made.Terragrunt,
		Requirements: collect.Mapped(m.Scan.Tree.Requirements, requirementOf), Held: heldIn(m), Unread: m.Unread, Modules: LockedUses(*m.Scan),
		problemsJSON: problemsOf(m.Diagnostics, m.Names), Notes: problemsOf(m.Scan.Tree.Notes, m.Names).Errors,
	}
	if m.Scan.Lock != nil {
		j.Lock = &lockfile.File{Path: m.LockPath, Locks: m.Scan.Lock.Locks}
	}
	return j
}

type requirementJSON struct {
	Provider    provider.Addr        `json:"provider"`
	Constraints provider.Constraints `json:"constraints"`
	Terms       []scan.Term          `json:"terms"`
}

func requirementOf(q scan.Requirement) requirementJSON {
	return requirementJSON{q.Addr, q.Constraints(), q.Terms}
}

// planJSON is a root module whose lock file is compared with the right one.
type planJSON struct {
	Module
	Next      string           `json:"next,omitempty"`
	Unchanged []keptJSON       `json:"kept,omitempty"`
	Entries   []changeJSON     `json:"changes"`
	Newer     []heldJSON       `json:"held"`
	Modules   []heldModuleJSON `json:"held_modules,omitempty"`
	Missing   []missingJSON    `json:"missing_platforms"`
	Judged    []findingJSON    `json:"findings"`
	Admitted  []findingJSON    `json:"accepted,omitempty"`
	problemsJSON
}

// planOf has all versions in use, and unchanged providers, only in a run over an
// organisation.
func planOf(m Module, r Report) planJSON {
	j := planJSON{Module: m, Entries: collect.Mapped(m.Changes, changeOf), Newer: heldIn(m), Modules: collect.Mapped(m.HeldModules, heldModuleOf), Judged: findingsOf(m)}
	problems := slices.Clone(m.Diagnostics)
	for _, k := range m.Facts() {
		if len(k.Missing) > 0 {
			j.Missing = append(j.Missing, missingJSON{Use{k.Addr, k.Version}, k.Missing, k.Since, orNil(k.Serving)})
		}
		for _, text := range k.Warnings { // registries write them for users of the provider
			problems = append(problems, problem.Problem{Code: problem.CodeRegistryWarning, Severity: problem.SeverityWarning, Message: text, Subject: problem.Subject{Addr: k.Addr}, Host: k.Addr.Host})
		}
	}
	j.problemsJSON = problemsOf(problems, m.Names)
	if m.Pending || m.NeedsUpgrade() {
		j.Next = r.Mending.Command([]string{m.Dir})
	}
	if r.Verb == verbs.Check { // a baseline accepts its findings
		j.Admitted = acceptedIn(m)
	} else {
		for i := range j.Judged {
			j.Judged[i].Fingerprint = ""
		}
	}
	if r.Fleet == nil || len(j.Newer) == 0 {
		j.Origins = nil
	}
	if r.Fleet == nil {
		j.InUse = nil
	} else {
		j.Unchanged = collect.Mapped(m.Kept, func(k Kept) keptJSON { return keptJSON{Use{k.Addr, k.Version}, k.Coverage, orNil(k.Signer)} })
	}
	return j
}

// changeJSON is the change of an entry. A version or a signer is null if there is
// none.
type changeJSON struct {
	diff.Change
	upgrade.Facts
	Old       *provider.Version `json:"from"`
	New       *provider.Version `json:"to"`
	Released  provider.Day      `json:"released"`
	Key       *provider.Signer  `json:"signer"`
	FormerKey *provider.Signer  `json:"signer_from"`
	Kept      []heldJSON        `json:"held"`
	Carried   bool              `json:"carried,omitempty"`
}

func changeOf(c Change) changeJSON {
	j := changeJSON{
		Change: c.Change, Facts: c.Facts, Released: provider.Day(c.Published), Key: orNil(c.Signer), FormerKey: orNil(c.SignerFrom),
		Kept: collect.Mapped(c.Held, heldOf), Carried: c.FromPull && !c.Unasked,
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
func heldIn(m Module) []heldJSON {
	var all []heldJSON
	for _, k := range m.Held() {
		for _, h := range k.Held {
			held := heldOf(h)
			held.Provider, held.Stays = k.Addr, &k.Version
			all = append(all, held)
		}
	}
	return all
}

func heldOf(h upgrade.Held) heldJSON {
	return heldJSON{
		Version: h.Version, Released: provider.Day(h.Published), Reason: h.By.Reason, decidingTerm: decidingTerm(h.Term),
		Also: h.Others, Rule: h.By.Rule, Eligible: provider.Day(h.By.Eligible), Help: h.Help.Measures, HelpTo: orNil(h.Help.Version),
	}
}

// heldModuleJSON says why a newer version or commit of a locked module was not taken.
type heldModuleJSON struct {
	Module   string        `json:"module"`
	Stays    string        `json:"at"`
	Version  string        `json:"version"`
	Hash     string        `json:"hash"`
	Released provider.Day  `json:"released"`
	Reason   policy.Reason `json:"reason"`
	Rule     string        `json:"rule"`
	Eligible provider.Day  `json:"eligible"`
}

func heldModuleOf(h scan.HeldModule) heldModuleJSON {
	return heldModuleJSON{h.Address, h.At, h.Version, h.Hash, provider.Day(h.Published), h.By.Reason, h.By.Rule, provider.Day(h.By.Eligible)}
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

func findingOf(f problem.Problem, names problem.Naming) findingJSON {
	return findingJSON{
		Code: f.Code, Severity: f.Severity, Provider: f.Subject.Addr, Version: f.Subject.VersionText(), Hash: f.Subject.Hash,
		File: names.Place(f.Place).File(), Line: f.Place.Line, Column: f.Place.From, Platform: f.Subject.Platform,
		ProvenBy: f.ProvenBy, Message: f.Message, Hint: f.Hint, Fingerprint: f.Fingerprint(),
	}
}

func findingsOf(m Module) []findingJSON {
	return collect.Mapped(m.Findings, func(f problem.Problem) findingJSON { return findingOf(f, m.Names) })
}

func acceptedIn(m Module) []findingJSON {
	return collect.Mapped(m.Accepted, func(a ledger.Acceptance) findingJSON {
		j := findingOf(a.Problem, m.Names)
		j.Reason, j.AcceptedBy, j.Until = &a.Reason, &a.By, new(provider.Day(a.Until).String())
		return j
	})
}

// verifiedJSON is the verification of a root module.
type verifiedJSON struct {
	Dir string `json:"dir"`
	provider.Tool
	Path       string `json:"path"`
	HashesOnly bool   `json:"hashes_only"`
	Verified
	Findings []findingJSON `json:"findings"`
	Accepted []findingJSON `json:"accepted"`
	problemsJSON
}

func verifiedOf(m Module) verifiedJSON {
	return verifiedJSON{m.Dir, m.Tool, m.LockPath, m.HashesOnly, *m.Verified, findingsOf(m), acceptedIn(m), problemsOf(m.Diagnostics, m.Names)}
}

// notesJSON are the release notes of an upgrade.
type notesJSON struct {
	notes.Notes
	Address string `json:"repository"`    // empty if it is not known
	Tag     string `json:"tag,omitempty"` // of the release that the upgrade comes to
}

func notesOf(n notes.Notes) notesJSON {
	if !n.Repository.Known() {
		return notesJSON{Notes: n}
	}
	return notesJSON{n, n.Repository.URL(), n.Repository.Tag}
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
	return Encode(w, settingsJSON{formatVersion, shown, problemsOf(shown.Warnings, problem.Naming{}).Warnings}, "  ")
}

// orNil points to a value; nil for the zero value.
func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
