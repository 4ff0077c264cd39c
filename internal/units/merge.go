package units

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/staticeval"
)

// remoteLabel is used as the label of the file that remote_state generates.
const remoteLabel = "remote_state"

// Hindrance is a reason why a unit is not statically known or, with Refused, an error.
type Hindrance struct {
	staticeval.Unknown
	Place problem.Place
}

// result is the value of an expression, with its place.
type result struct {
	value cty.Value
	why   *staticeval.Unknown
	place problem.Place
	// ways are the further values of a template whose directives depend on unknown values;
	// nil if there are none. open is the first such directive.
	ways []cty.Value
	open *Hindrance
}

// unitSettings are the used parts of configuration files. Their values are evaluated. An
// unknown value is a problem only if it is used.
type unitSettings struct {
	terraform bool // there is a terraform block
	// said has the statements of the files, by part of merging and then by label. A part
	// without labels has an empty one.
	said     map[string]map[string]statement
	problems []Hindrance
}

// statement is an attribute or a block in the files.
type statement struct {
	label  string
	place  problem.Place
	values []result          // of an attribute; joined lists have several
	fields map[string]result // of a generated file
	early  bool              // of a hook: it can change what init sees
	block  Block             // of exclude; file evaluates it
	file   *Evaluator
}

// rule says how the statements of two files about one part and label become one.
type rule int

const (
	replace rule = iota // the winner's statement counts
	join                // both count, first the other one
	refuse              // two statements are an error
	yield               // the winner's statement is lost if the other file has a terraform block
)

// merging lists the used parts of a configuration. It says how the statement of an included
// file and that of the winner become one, for each strategy [terragrunt 1.1
// pkg/config/include.go].
var merging = []struct {
	part          string // an attribute, or a kind of block
	shallow, deep rule
}{
	{"terraform_binary", replace, replace},
	{"download_dir", replace, replace},
	{"terraform_version_constraint", replace, replace},
	{"source", replace, replace},
	{"version", replace, replace},
	{"copy_terraform_lock_file", replace, replace},
	{"include_in_copy", yield, join},
	{"exclude_from_copy", yield, join}, // [case merge-shallow-copy-lists]
	{"after_hook", replace, replace},
	{"before_hook", replace, replace},
	{"generate", refuse, replace}, // [cases merge-shallow-same-generate, merge-deep-same-generate]
	{"exclude", replace, replace},
	{"remote_state", replace, replace},
}

// put stores a statement. It replaces an earlier one of the same part and label.
func (s *unitSettings) put(part, label string, said statement) {
	if s.said[part] == nil {
		s.said[part] = map[string]statement{}
	}
	s.said[part][label] = said
}

// attribute is the value of an attribute; false if no file has it.
func (s *unitSettings) attribute(name string) (result, bool) {
	said, ok := s.said[name][""]
	if !ok {
		return result{}, false
	}
	return said.values[0], true
}

// initialises reports whether init runs in spite of an exclude block. It does unless the
// block is known to be on and to be about init.
func (x statement) initialises() bool {
	on, actions := x.block.Body.Attribute("if"), x.block.Body.Attribute("actions")
	if on == nil || actions == nil {
		return true
	}
	v, why := x.file.Value(on.Expr)
	if why != nil {
		return true
	}
	text, _ := x.file.reading.Text(v, "false")
	list, why := x.file.Value(actions.Expr)
	names, notList := x.file.reading.strings(list)
	return text != "true" || why != nil || notList != nil ||
		!slices.ContainsFunc(names, func(name string) bool { return slices.Contains([]string{"init", "all", "all_except_output"}, name) })
}

// topAttributes are the used attributes at the top of a file.
var topAttributes = []string{"terraform_binary", "download_dir", "terraform_version_constraint"}

// own collects the statements of one file.
func (e *Evaluator) own() *unitSettings {
	s := &unitSettings{said: map[string]map[string]statement{}}
	for _, name := range topAttributes {
		s.set(e, name, e.File.Body.Attribute(name))
	}
	for _, b := range e.File.Body.Blocks("terraform", 0) {
		s.terraform = true
		attrs := b.Body.Attributes()
		if attr := attrs["source"]; attr != nil && slices.ContainsFunc(attr.Expr.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "dependency" }) {
			s.refuse(e.place(attr), "the source must not depend on outputs of another unit")
		}
		for _, name := range []string{"source", "version", "copy_terraform_lock_file"} {
			s.set(e, name, attrs[name])
		}
		for _, name := range []string{"include_in_copy", "exclude_from_copy"} {
			if attr := attrs[name]; attr != nil {
				s.put(name, "", statement{values: append(s.said[name][""].values, e.result(attr.Expr))})
			}
		}
		e.hooks(b, s)
	}
	for _, b := range e.File.Body.Blocks("exclude", 0) {
		s.put("exclude", "", statement{file: e, block: b})
	}
	for _, name := range slices.Sorted(maps.Keys(e.File.features)) {
		if b := e.File.features[name]; b.Body.Attribute("default") == nil {
			s.refuse(e.File.At(b.Line), "feature %q has no default", PlainLabel(name))
		}
	}
	e.generations(s)
	e.remoteState(s)
	return s
}

func (e *Evaluator) place(attr *hcl.Attribute) problem.Place {
	return e.File.At(attr.Range.Start.Line)
}

// set stores an attribute, unless it is null.
func (s *unitSettings) set(e *Evaluator, name string, attr *hcl.Attribute) {
	if attr == nil {
		return
	}
	if r := e.result(attr.Expr); r.why != nil || !r.value.IsNull() {
		s.put(name, "", statement{values: []result{r}})
	}
}

func (e *Evaluator) result(expr hcl.Expression) result {
	v, why := e.Value(expr)
	return result{value: v, why: why, place: e.File.At(expr.Range().Start.Line)}
}

// waysOf evaluates the contents of a generated file, once for each way through its
// directives.
func (e *Evaluator) waysOf(expr hcl.Expression) result {
	r := result{place: e.File.At(expr.Range().Start.Line)}
	values, open, why := e.scope.Ways(expr, maxWays)
	if len(open) > 0 {
		at := open[0].Place
		r.open = &Hindrance{*open[0].Why, problem.Place{Path: at.Filename, Line: at.Start.Line}}
	}
	if why == nil {
		r.value, r.ways = values[0], values[1:]
		return r
	}
	if r.open != nil {
		r.place = r.open.Place
	}
	r.value, r.why = cty.DynamicVal, why
	if len(values) > 0 {
		r.value = values[0]
	}
	if staticeval.ReasonFor(r.value) == nil {
		r.value = cty.DynamicVal.Mark(why)
	}
	return r
}

// early are the commands whose hooks run before init, by Terragrunt's names. They run after
// the configuration is read, and after the module is fetched [terragrunt 1.1
// internal/runner/run/run.go].
var early = []string{"terragrunt-read-config", "init-from-module"}

// hooks collects the hooks and notes which can change the files that init sees. The last
// hook of a name counts.
func (e *Evaluator) hooks(terraform Block, s *unitSettings) {
	commands := map[string][]string{"after_hook": early, "before_hook": append([]string{"init"}, early...)}
	for _, kind := range slices.Sorted(maps.Keys(commands)) {
		for _, b := range terraform.Body.Blocks(kind, 1) {
			s.put(kind, b.Label, statement{label: b.Label, early: e.changes(b, commands[kind]), place: e.File.At(b.Line)})
		}
	}
}

// changes reports whether a hook may run with one of these commands.
func (e *Evaluator) changes(b Block, commands []string) bool {
	if attr := b.Body.Attribute("if"); attr != nil {
		if v, why := e.Value(attr.Expr); why == nil {
			if text, why := e.reading.Text(v, "true"); why == nil && text == "false" {
				return false
			}
		}
	}
	attr := b.Body.Attribute("commands")
	if attr == nil {
		return false
	}
	v, why := e.Value(attr.Expr)
	listed, _ := e.reading.strings(v)
	return why != nil || slices.ContainsFunc(listed, func(name string) bool { return slices.Contains(commands, name) })
}

// generations collects the files to generate, from both forms.
func (e *Evaluator) generations(s *unitSettings) {
	for _, b := range e.File.Body.Blocks("generate", 1) {
		g := statement{label: b.Label, fields: map[string]result{}, place: e.File.At(b.Line)}
		for _, attr := range InOrder(b.Body.Attributes()) {
			if attr.Name == "contents" {
				g.fields[attr.Name] = e.waysOf(attr.Expr)
			} else {
				g.fields[attr.Name] = e.result(attr.Expr)
			}
		}
		s.generate(g)
	}
	if attr := e.File.Body.Attribute("generate"); attr != nil {
		if !e.File.Body.native() {
			delete(s.said, "generate") // in JSON the blocks are this attribute
		}
		r := e.result(attr.Expr)
		objects, why := FieldsOf(r.value)
		if why != nil {
			s.problem(*why, r.place, "what is generated is not statically known")
		}
		for _, label := range slices.Sorted(maps.Keys(objects)) {
			g := statement{label: label, fields: map[string]result{}, place: r.place}
			s.fill(g, objects[label], "what is generated is not statically known")
			s.generate(g)
		}
	}
}

// generate stores a file to generate, of which each label has one.
func (s *unitSettings) generate(g statement) {
	if _, twice := s.said["generate"][g.label]; twice {
		s.refuse(g.place, "the generate block %q is there twice", g.label)
	}
	s.put("generate", g.label, g)
}

// fill sets the fields of a file to generate from an object, and returns how many it has.
func (s *unitSettings) fill(g statement, object cty.Value, about string) int {
	values, why := FieldsOf(object)
	if why != nil {
		s.problem(*why, g.place, about)
	}
	for name, v := range values {
		g.fields[name] = result{value: v, why: staticeval.ReasonFor(v), place: g.place}
	}
	return len(values)
}

// InOrder sorts attributes as in the file. If they exceed a bound together, the error then
// always names the same one.
func InOrder(attrs map[string]*hcl.Attribute) []*hcl.Attribute {
	return slices.SortedFunc(maps.Values(attrs), func(x, y *hcl.Attribute) int {
		return cmp.Compare(x.Range.Start.Byte, y.Range.Start.Byte)
	})
}

// FieldsOf are the attributes of an object or the elements of a map. Each gets the marks of
// the whole. They are nil for null.
func FieldsOf(v cty.Value) (map[string]cty.Value, *staticeval.Unknown) {
	plain, marks := v.Unmark()
	switch typ := plain.Type(); {
	case plain.IsNull():
		return nil, nil
	case !plain.IsKnown():
		why := cmp.Or(staticeval.ReasonFor(v), &staticeval.Unknown{Reason: "its value is not known here"})
		return nil, why
	case !typ.IsObjectType() && !typ.IsMapType():
		return nil, &staticeval.Unknown{Refused: true, Reason: "it must be an object"}
	}
	parts := plain.AsValueMap()
	for name := range parts {
		parts[name] = parts[name].WithMarks(marks)
	}
	return parts, nil
}

// remoteState stores the file that remote_state generates.
func (e *Evaluator) remoteState(s *unitSettings) {
	var r result
	if attr := e.File.Body.Attribute("remote_state"); attr != nil {
		whole := e.result(attr.Expr)
		parts, why := FieldsOf(whole.value)
		r = result{value: parts["generate"], why: why, place: whole.place}
		if parts["generate"] == cty.NilVal {
			r.value = cty.NullVal(cty.DynamicPseudoType)
		}
	} else if blocks := e.File.Body.Blocks("remote_state", 0); len(blocks) > 0 {
		r = result{value: cty.NullVal(cty.DynamicPseudoType), place: e.File.At(blocks[0].Line)}
		if attr := blocks[0].Body.Attribute("generate"); attr != nil {
			r = e.result(attr.Expr)
		}
	} else {
		return
	}
	remote := statement{label: remoteLabel, fields: map[string]result{}, place: r.place}
	if s.fill(remote, r.value, "what remote_state generates is not statically known") > 0 {
		contents := cty.StringVal("terraform {\n  backend \"local\" {}\n}\n") // the kind of backend does not matter
		remote.fields["contents"] = result{value: contents, place: r.place}
	}
	s.put("remote_state", "", remote)
}

func (s *unitSettings) refuse(at problem.Place, format string, args ...any) {
	s.problem(staticeval.Unknown{Refused: true, Reason: fmt.Sprintf(format, args...)}, at, "")
}

// problem stores the reason for an unknown value, and what it is about.
func (s *unitSettings) problem(why staticeval.Unknown, at problem.Place, about string) {
	if about != "" {
		why.Reason = about + ": " + why.Reason
	}
	s.problems = append(s.problems, Hindrance{why, at})
}

// all merges the statements of a file and of the files that it includes. A later included
// file wins over an earlier one, and the file itself wins over all.
func (e *Evaluator) all() *unitSettings {
	s := e.beside()
	includes, why, at := e.includes()
	if why != nil {
		s.problem(*why, at, "what it includes is not known")
	}
	for _, in := range slices.Backward(includes) {
		if in.strategy == noMerge {
			continue
		}
		base := in.evaluator.beside()
		if _, why, at := in.evaluator.includes(); why != nil {
			s.problem(*why, at, "")
		}
		base.under(s, in.strategy, e.File.At(in.line))
		s = base
	}
	return s
}

// beside merges the statements of a file and of the file that a stack writes next to it,
// which wins [terragrunt 1.1 pkg/config/config.go].
func (e *Evaluator) beside() *unitSettings {
	s := e.own()
	name := path.Join(path.Dir(e.File.Name), autoName)
	if e.written || path.Base(e.File.Name) == autoName {
		return s
	}
	if g := e.reading.Tree.GeneratedAt(path.Dir(e.File.Name)); g != nil && g.OfUnit && g.Auto != nil {
		auto, why := e.reading.autoinclude(g.Auto)
		if why != nil {
			s.problem(*why, g.Auto.Place(), "")
			return s
		}
		s.under(auto.all(), shallow, g.Auto.Place())
		return s
	}
	if !e.reading.IsFile(name) {
		return s
	}
	first := e.reading.Tree.Place(name)
	first.Line = 1
	auto, why := e.reading.Open(name, e.dir, nil)
	if why != nil {
		s.problem(*why, first, "")
		return s
	}
	s.under(auto.all(), shallow, first)
	return s
}

// under merges the winner's settings into these.
func (s *unitSettings) under(winner *unitSettings, strategy string, at problem.Place) {
	for _, row := range merging {
		how := row.shallow
		if strategy == deep {
			how = row.deep
		}
		for _, label := range slices.Sorted(maps.Keys(winner.said[row.part])) {
			s.merge(row.part, label, winner.said[row.part][label], how, at)
		}
	}
	s.terraform = s.terraform || winner.terraform
	s.problems = append(s.problems, winner.problems...)
}

// merge merges the winner's statement about one part.
func (s *unitSettings) merge(part, label string, won statement, how rule, at problem.Place) {
	said, both := s.said[part][label]
	switch {
	case how == yield && s.terraform:
		return
	case how == refuse && both:
		s.refuse(at, "the %s block %q is there twice, here and in an included file", part, label)
	case how == join:
		won.values = slices.Concat(said.values, won.values)
	}
	s.put(part, label, won)
}
