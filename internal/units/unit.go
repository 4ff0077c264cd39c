package units

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/staticeval"
)

// Unit is the part of a unit's configuration that decides which files init sees.
type Unit struct {
	Dir  string // slash-separated, relative to the top of the file tree
	File string // the path of the configuration
	// Place is the first line of that file, for messages.
	Place problem.Place
	// Source is the place of the module. It is empty for the unit's own directory.
	Source Source
	// Generated are the files to generate, in the order of their labels. The one of
	// remote_state is the last.
	Generated []Generated
	// Hooks are the hooks that run before init and may change anything.
	Hooks []Hook
	// LeavesLock says that the lock file is not copied back to the unit. A lock file in the
	// unit then belongs to its owner [case lock-copy-false].
	LeavesLock bool
	// Excluded says that init does not run in the unit [case exclude-init].
	Excluded bool
	// Tool is the tool that the unit names, or empty. Tools are the releases of it that the
	// unit allows.
	Tool  provider.ToolName
	Tools provider.Constraints
	// Assumed are the assumptions that nothing in the repository contradicts: for example,
	// that a variable of the environment is not set.
	Assumed []string
	// Problems are the reasons why the unit is not statically known, or refused.
	Problems []Hindrance
	// Unproven are the reasons why it may differ where Terragrunt runs.
	Unproven []Hindrance
	// Template says that it depends on values from a stack that are not there: stacks make
	// units from it.
	Template bool
	// Includes are the files that the unit includes.
	Includes []string
	// Files are the files of the file tree that the configuration depends on: those that
	// were read or looked for, also those that do not exist, sorted.
	Files []string

	// AnyChange is as in scan.Root.
	AnyChange bool
	// Sets are the sets of values that give this Unit; zero: it was read without one.
	Sets scan.SetNames

	asked AskedNames
	Tree  *Files // the tree of the unit

	Spent int         // the cost of evaluating it
	Quota *scan.Quota // as in scan.Made

	// lists are the globs of the unit's hidden files that are copied, and of its files that
	// are not copied.
	lists copyList
}

// Hook is a hook that runs before init.
type Hook struct {
	Name  string
	Place problem.Place
}

// Generated is a file that the unit generates.
type Generated struct {
	Label    string
	Path     string // relative to the working directory
	Contents string
	// Holes is the number of unknown parts in the contents. They change no requirement.
	Holes int
	// Ways are the contents for the other ways through directives that depend on unknown
	// values. Open is the first such directive.
	Ways       []string
	Open       Hindrance
	Disabled   bool
	IfExists   string
	IfDisabled string
	Place      problem.Place
}

// readUnit reads the unit of a directory with a set of values; nil: without one.
func readUnit(files *Files, dir string, set *EnvironmentSet) Unit {
	u := Unit{Dir: dir, File: UnitConfig(dir, files.IsFile), Tree: files}
	u.Place = files.Place(u.File)
	u.Place.Line = 1
	if u.File == "" {
		u.Problems = []Hindrance{{staticeval.Unknown{Reason: "there is no configuration of Terragrunt"}, problem.Place{Path: dir}}}
		return u
	}
	reading := NewReading(files, dir, set)
	u.asked = reading.Asked
	file, why := reading.Open(u.File, dir, nil)
	if why != nil {
		u.Problems = []Hindrance{{*why, u.Place}}
		return u
	}
	b := builder{file: file, settings: file.all(), unit: &u}
	b.build()
	u.Template = reading.template
	for _, in := range file.inclusion.files {
		u.Includes = append(u.Includes, in.path)
	}
	u.Files = files.allSources(slices.Sorted(maps.Keys(reading.Looked)))
	u.AnyChange = files.anyLinked(u.Files) || strings.Contains(u.Source.Full, repositoryTop)
	u.Spent = reading.Bound.Spent()
	u.Assumed = slices.Sorted(maps.Keys(reading.Assumed))
	return u
}

// builder makes a unit from its settings.
type builder struct {
	file     *Evaluator
	settings *unitSettings
	unit     *Unit
}

func (b *builder) build() {
	u := b.unit
	includes, _, _ := b.file.includes()
	for _, in := range includes {
		for _, v := range in.assumed {
			b.file.reading.Use(v)
		}
	}
	u.Source = b.source()
	u.lists = copyList{b.globs("include_in_copy"), b.globs("exclude_from_copy")}
	if text := b.attribute("copy_terraform_lock_file", "whether the lock file is copied", true); text == "false" {
		u.LeavesLock = true
	}
	u.Tool = b.tool()
	u.Tools, _ = provider.ParseConstraints(b.attribute("terraform_version_constraint", "", false))
	if x, ok := b.settings.said["exclude"][""]; ok {
		u.Excluded = !x.initialises()
	}
	for _, kind := range []string{"after_hook", "before_hook"} {
		for _, h := range inLabelOrder(b.settings.said[kind]) {
			if h.early {
				u.Hooks = append(u.Hooks, Hook{h.label, h.place})
			}
		}
	}
	for _, g := range inLabelOrder(b.settings.said["generate"]) {
		b.add(g)
	}
	if remote, ok := b.settings.said["remote_state"][""]; ok && remote.fields["path"].value != cty.NilVal {
		b.add(remote)
	}
	b.unordered()
	u.Problems = b.settings.problems
}

// inLabelOrder are the blocks of one kind, sorted by label.
func inLabelOrder(byLabel map[string]statement) []statement {
	return collect.Mapped(slices.Sorted(maps.Keys(byLabel)), func(label string) statement { return byLabel[label] })
}

// known returns the text of a result. If the text is not known, it notes the reason and
// returns "".
func (b *builder) known(r result, about, fallback string) string {
	if r.value == cty.NilVal {
		return fallback
	}
	b.file.reading.Use(r.value)
	why := r.why
	text := ""
	if why == nil {
		text, why = b.file.reading.Text(r.value, fallback)
	}
	if why != nil {
		b.settings.problem(*why, r.place, about+" is not statically known")
		return ""
	}
	return text
}

// attribute is the text of an attribute; empty if no file has it, or if it is not known.
func (b *builder) attribute(name, about string, needed bool) string {
	r, ok := b.settings.attribute(name)
	if !ok || !needed && r.why != nil {
		return ""
	}
	return b.known(r, about, "")
}

// tool is the tool that terraform_binary names.
func (b *builder) tool() provider.ToolName {
	switch path.Base(b.attribute("terraform_binary", "", false)) {
	case "terraform", "terraform.exe":
		return provider.Terraform
	case "tofu", "tofu.exe":
		return provider.OpenTofu
	}
	return ""
}

// globs are the patterns of one of the copy lists.
func (b *builder) globs(name string) []pathPattern {
	var all []pathPattern
	for _, r := range b.settings.said[name][""].values {
		b.file.reading.Use(r.value)
		list, why := b.file.reading.strings(r.value)
		why = cmp.Or(r.why, why)
		if why != nil {
			b.settings.problem(*why, r.place, name+" is not statically known")
		}
		for _, glob := range list {
			p, err := patternOf(glob)
			if err != nil || len(glob) > maxGlob {
				b.settings.problem(staticeval.Unknown{Refused: err != nil, Reason: "it is no pattern, or a very long one"}, r.place, name)
				return nil
			}
			all = append(all, p)
		}
		if len(all) > maxGlobs {
			b.settings.problem(staticeval.Unknown{Reason: fmt.Sprintf("it has more than %d globs", maxGlobs)}, r.place, name)
			return nil
		}
	}
	return all
}

// maxGlobs bounds the globs that are compared with every file.
const maxGlobs = 100

// maxGlob bounds the length of a glob.
const maxGlob = 1000

// source reads the place of the module. A source that depends on other units is refused.
func (b *builder) source() Source {
	r, ok := b.settings.attribute("source")
	if !ok {
		return Source{}
	}
	if r.why == b.file.reading.outputs || staticeval.ReasonFor(b.file.reading.Holes.Whole(r.value)) == b.file.reading.outputs {
		b.settings.refuse(r.place, "the source must not depend on outputs of another unit")
		return Source{}
	}
	before := len(b.settings.problems)
	text := b.known(r, "the source", "")
	version := b.attribute("version", "the version of the module", true)
	if len(b.settings.problems) > before {
		return Source{}
	}
	if _, ok := b.settings.attribute("version"); ok {
		b.file.reading.Assumed["the experiment version-attribute is on"] = true
	}
	s, why := b.sourceFrom(text, version)
	if why != nil {
		b.settings.problem(*why, r.place, "the source is not statically known")
	}
	s.Place = r.place
	return s
}

// sourceFrom reads a source. A relative one is relative to the unit. With
// update_source_with_cas in the unit's own file, it is relative to the directory from which
// a stack has copied that file [cases stack-cas-local, stack-unit-relative-module].
func (b *builder) sourceFrom(text, version string) (Source, *staticeval.Unknown) {
	g := b.file.reading.Tree.GeneratedAt(b.file.dir)
	for _, terraform := range b.file.File.Body.Blocks("terraform", 0) {
		attrs := terraform.Body.Attributes()
		if g == nil || attrs["update_source_with_cas"] == nil || attrs["source"] == nil {
			continue
		}
		v, why := b.file.Value(attrs["update_source_with_cas"].Expr)
		if why != nil {
			return Source{}, why
		}
		switch within, why := b.file.reading.Text(v, "false"); {
		case why != nil:
			return Source{}, why
		case within == "true":
			return g.From.Within(attrs["source"], text)
		}
	}
	return ParseSource(text, version, b.file.dir)
}

// ifExistsWords and disabled are the values for a file that exists already.
var (
	ifExistsWords = []string{"overwrite", "overwrite_terragrunt", "skip", "error"}
	disabled      = []string{"skip", "remove", "remove_terragrunt"}
)

// add reads a file to generate.
func (b *builder) add(g statement) {
	before := len(b.settings.problems)
	text := func(name, fallback string) string {
		return b.known(g.fields[name], fmt.Sprintf("%s of the generated file %q", name, PlainLabel(g.label)), fallback)
	}
	f := Generated{Label: g.label, Place: g.place}
	f.Path = text("path", "")
	f.Disabled = text("disable", "false") == "true"
	f.IfExists, f.IfDisabled = text("if_exists", ""), text("if_disabled", "skip")
	unsigned := text("disable_signature", "false") == "true"
	prefix := text("comment_prefix", "# ")
	switch {
	case len(b.settings.problems) > before:
		return
	case f.Path == "" || f.IfExists == "" && g.fields["if_exists"].value == cty.NilVal:
		b.settings.refuse(g.place, "the generated file %q has no path or no if_exists", PlainLabel(g.label))
		return
	case !slices.Contains(ifExistsWords, f.IfExists) || !slices.Contains(disabled, f.IfDisabled):
		b.settings.refuse(g.place, "the generated file %q has no such if_exists or if_disabled", PlainLabel(g.label))
		return
	case path.IsAbs(f.Path):
		b.settings.problem(staticeval.Unknown{Reason: "it is written outside of the working directory"}, g.place, fmt.Sprintf("what the generated file %q changes is not statically known", PlainLabel(g.label)))
		return
	}
	f.Path = path.Clean(f.Path)
	if !f.Disabled {
		contents, ok := b.contents(g)
		if !ok {
			return
		}
		f.Contents, f.Holes = contents, staticeval.HolesIn(contents)
		if r := g.fields["contents"]; r.open != nil {
			f.Open = *r.open
			f.Ways, ok = r.further()
		}
		if !ok {
			b.settings.refuse(g.place, "the contents of the generated file %q must be a string", PlainLabel(g.label))
			return
		}
		if !unsigned {
			f.Contents = prefix + signature + "\n" + f.Contents
			for i, way := range f.Ways {
				f.Ways[i] = prefix + signature + "\n" + way
			}
		}
	}
	b.unit.Generated = append(b.unit.Generated, f)
}

// contents are the contents of a generated file. They may have holes.
func (b *builder) contents(g statement) (string, bool) {
	about := fmt.Sprintf("the contents of the generated file %q are not statically known", PlainLabel(g.label))
	r := g.fields["contents"]
	if r.value == cty.NilVal {
		b.settings.refuse(g.place, "the generated file %q has no contents", PlainLabel(g.label))
		return "", false
	}
	b.file.reading.Use(r.value)
	if why := cmp.Or(r.why, staticeval.ReasonFor(r.value)); why != nil {
		b.settings.problem(*why, r.place, about)
		return "", false
	}
	text, ok := textOf(r.value)
	if !ok {
		b.settings.refuse(r.place, "the contents of the generated file %q must be a string", PlainLabel(g.label))
	}
	return text, ok
}

// unordered notes files that two blocks generate. Terragrunt generates them in random order.
func (b *builder) unordered() {
	seen := map[string]bool{}
	for _, f := range b.unit.Generated {
		if f.Label == remoteLabel { // it is generated after the others
			continue
		}
		if seen[f.Path] {
			b.settings.problem(staticeval.Unknown{Reason: "two blocks generate the same file, in no order"}, f.Place, "")
		}
		seen[f.Path] = true
	}
}

// PlainLabel is a label for messages. One that is not safe there is replaced by "…".
func PlainLabel(name string) string {
	if !plainName.MatchString(name) {
		return "…"
	}
	return name
}

// Empty reports whether the unit names no module and generates nothing. Unless such a unit
// has configuration of its own, it is a file for others to include.
func (u Unit) Empty() bool { return u.Source.own() && len(u.Generated) == 0 && u.Known() }

// Known reports whether the files that init sees are known. Hooks may still change them.
func (u Unit) Known() bool { return len(u.Problems) == 0 }

// Refused returns the problems that are errors.
func (u Unit) Refused() []Hindrance {
	return slices.DeleteFunc(slices.Clone(u.Problems), func(p Hindrance) bool { return !p.Refused })
}
