package terragrunt

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

// remoteLabel stands for a label where remote_state generates a file.
const remoteLabel = "remote_state"

// Hindrance is something for which a unit is not statically known or, if Refused is
// set, an error.
type Hindrance struct {
	staticeval.Unknown
	Place problem.Place
}

// result is what an expression gave, where.
type result struct {
	value cty.Value
	why   *staticeval.Unknown
	place problem.Place
}

// unitSettings are what is used of configuration files: their values are evaluated, and
// what has none is a problem only of who uses it.
type unitSettings struct {
	terraform  bool // there is such a block
	attributes map[string]result
	include    []result // include_in_copy
	exclude    []result // exclude_from_copy
	hooks      map[string]hook
	generate   map[string]generation
	remote     *generation // the file that remote_state generates, or one without path
	exclusion  *exclusion  // the exclude block
	problems   []Hindrance
}

// exclusion is an exclude block, in its file.
type exclusion struct {
	file  *evaluator
	block configBlock
}

// initialises reports whether Terragrunt runs init in spite of the block: unless it is
// known to be on and about init.
func (x *exclusion) initialises() bool {
	on, actions := x.block.body.attribute("if"), x.block.body.attribute("actions")
	if on == nil || actions == nil {
		return true
	}
	v, why := x.file.value(on.Expr)
	if why != nil {
		return true
	}
	text, _ := x.file.reading.text(v, "false")
	list, why := x.file.value(actions.Expr)
	names, notList := x.file.reading.strings(list)
	return text != "true" || why != nil || notList != nil ||
		!slices.ContainsFunc(names, func(name string) bool { return slices.Contains([]string{"init", "all", "all_except_output"}, name) })
}

// generation is a file that is generated.
type generation struct {
	label  string
	fields map[string]result
	place  problem.Place
}

// hook is a hook, and whether it runs before init.
type hook struct {
	name  string
	early bool
	place problem.Place
}

// topAttributes are the attributes that count at the top of a file.
var topAttributes = []string{"terraform_binary", "download_dir", "terraform_version_constraint"}

// own collects what one file says.
func (e *evaluator) own() *unitSettings {
	s := &unitSettings{attributes: map[string]result{}, hooks: map[string]hook{}, generate: map[string]generation{}}
	for _, name := range topAttributes {
		s.set(e, name, e.file.body.attribute(name))
	}
	for _, b := range e.file.body.blocks("terraform", 0) {
		s.terraform = true
		attrs := b.body.attributes()
		if attr := attrs["source"]; attr != nil && slices.ContainsFunc(attr.Expr.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "dependency" }) {
			s.refuse(e.place(attr), "the source must not depend on outputs of another unit")
		}
		for _, name := range []string{"source", "version", "copy_terraform_lock_file"} {
			s.set(e, name, attrs[name])
		}
		if attr := attrs["include_in_copy"]; attr != nil {
			s.include = append(s.include, e.result(attr.Expr))
		}
		if attr := attrs["exclude_from_copy"]; attr != nil {
			s.exclude = append(s.exclude, e.result(attr.Expr))
		}
		e.hooks(b, s)
	}
	for _, b := range e.file.body.blocks("exclude", 0) {
		s.exclusion = &exclusion{e, b}
	}
	for _, name := range slices.Sorted(maps.Keys(e.file.features)) {
		if b := e.file.features[name]; b.body.attribute("default") == nil {
			s.refuse(problem.Place{Path: e.file.name, Line: b.line}, "feature %q has no default", plainLabel(name))
		}
	}
	e.generations(s)
	e.remoteState(s)
	return s
}

func (e *evaluator) place(attr *hcl.Attribute) problem.Place {
	return problem.Place{Path: e.file.name, Line: attr.Range.Start.Line}
}

// set keeps an attribute, unless it is null.
func (s *unitSettings) set(e *evaluator, name string, attr *hcl.Attribute) {
	if attr == nil {
		return
	}
	if r := e.result(attr.Expr); r.why != nil || !r.value.IsNull() {
		s.attributes[name] = r
	}
}

func (e *evaluator) result(expr hcl.Expression) result {
	v, why := e.value(expr)
	return result{v, why, problem.Place{Path: e.file.name, Line: expr.Range().Start.Line}}
}

// early are the commands whose hooks run before init does, as Terragrunt names them:
// when it has read the configuration, and when it has fetched the module
// [terragrunt 1.1 internal/runner/run/run.go].
var early = []string{"terragrunt-read-config", "init-from-module"}

// hooks collects the hooks, of which the last of a name counts, and says which can
// change what init sees.
func (e *evaluator) hooks(terraform configBlock, s *unitSettings) {
	commands := map[string][]string{"after_hook": early, "before_hook": append([]string{"init"}, early...)}
	for _, kind := range slices.Sorted(maps.Keys(commands)) {
		for _, b := range terraform.body.blocks(kind, 1) {
			s.hooks[kind+" "+b.label] = hook{b.label, e.changes(b, commands[kind]), problem.Place{Path: e.file.name, Line: b.line}}
		}
	}
}

// changes reports whether a hook may run with one of these commands.
func (e *evaluator) changes(b configBlock, commands []string) bool {
	if attr := b.body.attribute("if"); attr != nil {
		if v, why := e.value(attr.Expr); why == nil {
			if text, why := e.reading.text(v, "true"); why == nil && text == "false" {
				return false
			}
		}
	}
	attr := b.body.attribute("commands")
	if attr == nil {
		return false
	}
	v, why := e.value(attr.Expr)
	listed, _ := e.reading.strings(v)
	return why != nil || slices.ContainsFunc(listed, func(name string) bool { return slices.Contains(commands, name) })
}

// generations collects the files to be generated, in either form.
func (e *evaluator) generations(s *unitSettings) {
	for _, b := range e.file.body.blocks("generate", 1) {
		g := generation{label: b.label, fields: map[string]result{}, place: problem.Place{Path: e.file.name, Line: b.line}}
		for _, attr := range inOrder(b.body.attributes()) {
			g.fields[attr.Name] = e.result(attr.Expr)
		}
		if _, twice := s.generate[b.label]; twice {
			s.refuse(g.place, "the generate block %q is there twice", b.label)
		}
		s.generate[b.label] = g
	}
	if attr := e.file.body.attribute("generate"); attr != nil {
		if !e.file.body.native() {
			clear(s.generate) // in JSON the blocks are the attribute
		}
		r := e.result(attr.Expr)
		objects, why := fieldsOf(r.value)
		if why != nil {
			s.problem(*why, r.place, "what is generated is not statically known")
		}
		for _, label := range slices.Sorted(maps.Keys(objects)) {
			object := objects[label]
			g := generation{label: label, fields: map[string]result{}, place: r.place}
			values, why := fieldsOf(object)
			if why != nil {
				s.problem(*why, r.place, "what is generated is not statically known")
			}
			for name, v := range values {
				g.fields[name] = result{v, staticeval.ReasonFor(v), r.place}
			}
			if _, twice := s.generate[label]; twice {
				s.refuse(g.place, "the generate block %q is there twice", label)
			}
			s.generate[label] = g
		}
	}
}

// inOrder are attributes as they stand in the file, so that of those that cost too
// much together the same one is always told.
func inOrder(attrs map[string]*hcl.Attribute) []*hcl.Attribute {
	return slices.SortedFunc(maps.Values(attrs), func(x, y *hcl.Attribute) int {
		return cmp.Compare(x.Range.Start.Byte, y.Range.Start.Byte)
	})
}

// fieldsOf are the parts of an object or map, with its marks.
func fieldsOf(v cty.Value) (map[string]cty.Value, *staticeval.Unknown) {
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

// remoteState keeps the file that remote_state generates.
func (e *evaluator) remoteState(s *unitSettings) {
	var r result
	if attr := e.file.body.attribute("remote_state"); attr != nil {
		whole := e.result(attr.Expr)
		parts, why := fieldsOf(whole.value)
		r = result{parts["generate"], why, whole.place}
		if parts["generate"] == cty.NilVal {
			r.value = cty.NullVal(cty.DynamicPseudoType)
		}
	} else if blocks := e.file.body.blocks("remote_state", 0); len(blocks) > 0 {
		r = result{value: cty.NullVal(cty.DynamicPseudoType), place: problem.Place{Path: e.file.name, Line: blocks[0].line}}
		if attr := blocks[0].body.attribute("generate"); attr != nil {
			r = e.result(attr.Expr)
		}
	} else {
		return
	}
	s.remote = &generation{label: remoteLabel, fields: map[string]result{}, place: r.place}
	parts, why := fieldsOf(r.value)
	if why != nil {
		s.problem(*why, r.place, "what remote_state generates is not statically known")
	}
	for name, v := range parts {
		s.remote.fields[name] = result{v, staticeval.ReasonFor(v), r.place}
	}
	if len(parts) > 0 {
		contents := cty.StringVal("terraform {\n  backend \"local\" {}\n}\n") // of whatever kind it is
		s.remote.fields["contents"] = result{value: contents, place: r.place}
	}
}

func (s *unitSettings) refuse(at problem.Place, format string, args ...any) {
	s.problem(staticeval.Unknown{Refused: true, Reason: fmt.Sprintf(format, args...)}, at, "")
}

// problem keeps what is not known, and what that is about.
func (s *unitSettings) problem(why staticeval.Unknown, at problem.Place, about string) {
	if about != "" {
		why.Reason = about + ": " + why.Reason
	}
	s.problems = append(s.problems, Hindrance{why, at})
}

// all is what a file says with the files that it includes: the last one wins over
// those before it, and the file itself over all.
func (e *evaluator) all() *unitSettings {
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
		base.under(s, in.strategy, problem.Place{Path: e.file.name, Line: in.line})
		s = base
	}
	return s
}

// beside is what a file says with the file beside it that a stack writes, which wins
// [terragrunt 1.1 pkg/config/config.go].
func (e *evaluator) beside() *unitSettings {
	s := e.own()
	name := path.Join(path.Dir(e.file.name), autoName)
	if path.Base(e.file.name) == autoName || !e.reading.isFile(name) {
		return s
	}
	auto, why := e.reading.open(name, e.dir, nil)
	if why != nil {
		s.problem(*why, problem.Place{Path: name, Line: 1}, "")
		return s
	}
	s.under(auto.all(), shallow, problem.Place{Path: name, Line: 1})
	return s
}

// under merges settings that win into these [terragrunt 1.1 pkg/config/include.go].
func (s *unitSettings) under(winner *unitSettings, strategy string, at problem.Place) {
	maps.Copy(s.attributes, winner.attributes)
	switch {
	case !winner.terraform:
	case strategy == deep:
		s.include, s.exclude = append(s.include, winner.include...), append(s.exclude, winner.exclude...)
	case !s.terraform:
		s.include, s.exclude = winner.include, winner.exclude
	}
	s.terraform = s.terraform || winner.terraform
	maps.Copy(s.hooks, winner.hooks)
	if strategy == shallow {
		for _, label := range slices.Sorted(maps.Keys(winner.generate)) {
			if _, twice := s.generate[label]; twice {
				s.refuse(at, "the generate block %q is there twice, here and in an included file", label)
			}
		}
	}
	maps.Copy(s.generate, winner.generate)
	if winner.exclusion != nil {
		s.exclusion = winner.exclusion
	}
	if winner.remote != nil {
		s.remote = winner.remote
	}
	s.problems = append(s.problems, winner.problems...)
}
