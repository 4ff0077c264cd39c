package units

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/staticeval"
)

// repositoryTop replaces the absolute path of the repository, which differs between
// machines. A value made from it is not known, unless it is a path into the repository.
const repositoryTop = "/relock-top-of-the-repository"

// The strategies by which included files are merged.
const (
	noMerge = "no_merge"
	shallow = "shallow"
	deep    = "deep"
)

// Evaluator evaluates the expressions of one configuration file, for a unit.
type Evaluator struct {
	reading *Reading
	File    *ConfigFile
	dir     string // the result of get_terragrunt_dir: of the unit, or of a file that is read
	// parent is the block that includes the file. The block is in a file of the directory
	// dir. It is nil if no block includes it.
	parent *include
	scope  *staticeval.Scope
	table  []staticeval.Function // the functions that the file can call
	// Named are further values that expressions may refer to, by root and name: in a stack
	// file, unit.NAME and stack.NAME. written says that a stack writes the file into
	// the unit's directory.
	Named   map[string]map[string]cty.Value
	written bool
	// inclusion is the result of includes; nil before the first call.
	inclusion *inclusion
}

// inclusion has the files that a file includes, as far as they can be read. why and place
// say why and where the others cannot.
type inclusion struct {
	files []*include
	why   *staticeval.Unknown
	place problem.Place
}

// include is a block that includes a file.
type include struct {
	label     string
	path      string // of the file
	strategy  string
	expose    bool
	evaluator *Evaluator
	line      int
	assumed   []cty.Value // the values that it depends on
}

// Value evaluates an expression. An unknown value is marked with the reason.
func (e *Evaluator) Value(expr hcl.Expression) (cty.Value, *staticeval.Unknown) {
	v, why := e.scope.Value(expr)
	if why != nil && staticeval.ReasonFor(v) == nil {
		v = cty.DynamicVal.Mark(why)
	}
	return v, why
}

// refer evaluates a reference.
func (e *Evaluator) refer(root, name string) (cty.Value, *staticeval.Unknown) {
	switch {
	case root == "local" && name != "":
		if attr := e.File.locals[name]; attr != nil {
			return e.Value(attr.Expr)
		}
		return notAllowed("local.%s is not declared", name)
	case root == "local":
		return e.object(e.File.locals), nil
	case root == "include":
		return e.exposed(name)
	case root == "feature" && name != "":
		return e.feature(name)
	case root == "values":
		return e.stackValue(name)
	case root == "dependency":
		return NotStatic(e.reading.outputs)
	case e.Named[root] != nil:
		return e.further(root, name)
	}
	return notAllowed("%s is not known in a configuration of Terragrunt", root)
}

func notAllowed(format string, args ...any) (cty.Value, *staticeval.Unknown) {
	return NotStatic(&staticeval.Unknown{Refused: true, Reason: fmt.Sprintf(format, args...)})
}

// notThere is the result of a reference to nothing. The function try catches it [case
// stack-values-try].
func notThere(format string, args ...any) (cty.Value, *staticeval.Unknown) {
	return cty.NilVal, &staticeval.Unknown{Refused: true, Reason: fmt.Sprintf(format, args...)}
}

// NotStatic returns an unknown value that is marked with its reason.
func NotStatic(why *staticeval.Unknown) (cty.Value, *staticeval.Unknown) {
	return cty.DynamicVal.Mark(why), why
}

// object evaluates attributes, each by itself. An unknown value does not affect the others.
func (e *Evaluator) object(attrs map[string]*hcl.Attribute) cty.Value {
	values := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		values[name], _ = e.Value(attrs[name].Expr)
	}
	return cty.ObjectVal(values)
}

// exposed is the value of include.NAME. If the block has no label, it is the part NAME of
// its configuration.
func (e *Evaluator) exposed(name string) (cty.Value, *staticeval.Unknown) {
	includes, why, _ := e.includes()
	if why != nil {
		return NotStatic(why)
	}
	for _, in := range includes {
		bare := in.label == "" && len(includes) == 1
		if in.label != name && !bare {
			continue
		}
		if !in.expose {
			return notAllowed("include.%s is not exposed", name)
		}
		whole := in.evaluator.whole()
		if in.label == name {
			return whole, staticeval.ReasonFor(whole)
		}
		if !whole.Type().HasAttribute(name) {
			return notAllowed("include.%s is not there", name)
		}
		part := whole.GetAttr(name)
		return part, staticeval.ReasonFor(part)
	}
	return notAllowed("there is no include %s", name)
}

// feature is the value of a feature flag: from the set of values, or else its default. The
// person who runs Terragrunt may set another value.
func (e *Evaluator) feature(name string) (cty.Value, *staticeval.Unknown) {
	files := []*Evaluator{e}
	if e.parent == nil {
		includes, _, _ := e.includes()
		for _, in := range slices.Backward(includes) {
			if in.strategy != noMerge {
				files = append(files, in.evaluator)
			}
		}
	}
	for _, f := range files {
		b, ok := f.File.features[name]
		if !ok {
			continue
		}
		attr := b.Body.Attribute("default")
		if attr == nil {
			return notAllowed("feature.%s has no default", name)
		}
		v, why := f.Value(attr.Expr)
		given, ok, refused := e.reading.flag(name, v)
		if ok {
			return cty.ObjectVal(map[string]cty.Value{"value": given}), refused
		}
		return cty.ObjectVal(map[string]cty.Value{"value": v.Mark(assume("the feature %s has its default", name))}), why
	}
	return NotStatic(&staticeval.Unknown{Reason: "feature." + name + " is not declared here"})
}

// stackValue is a value from a stack. Each file has those in its own directory [terragrunt
// 1.1 pkg/config/config.go].
func (e *Evaluator) stackValue(name string) (cty.Value, *staticeval.Unknown) {
	if v, ok := e.reading.Tree.valuesAt(path.Dir(e.File.Name)); ok {
		return partOf(v, name)
	}
	from := path.Join(path.Dir(e.File.Name), valuesName)
	if !e.reading.IsFile(from) {
		e.reading.template = e.reading.template || path.Dir(e.File.Name) == e.reading.unit
		if e.reading.values.Refused { // [case stack-values-missing]
			return cty.NilVal, e.reading.values
		}
		return NotStatic(e.reading.values)
	}
	f, why := e.reading.Parse(from)
	if why != nil {
		return NotStatic(why)
	}
	literals := &Evaluator{reading: e.reading, File: f, scope: &staticeval.Scope{Bound: &e.reading.Bound}}
	if name == "" {
		v := literals.object(f.Body.Attributes())
		return v, staticeval.ReasonFor(v)
	}
	attr := f.Body.Attribute(name)
	if attr == nil {
		return notThere("values.%s is not there", name)
	}
	return literals.Value(attr.Expr)
}

// partOf is the named part of the values from a stack, or all of them without a name.
func partOf(v cty.Value, name string) (cty.Value, *staticeval.Unknown) {
	plain, marks := v.Unmark()
	switch {
	case name == "" || !plain.IsKnown():
		return v, staticeval.ReasonFor(v)
	case !plain.Type().HasAttribute(name):
		return notThere("values.%s is not there", name)
	}
	part := plain.GetAttr(name).WithMarks(marks)
	return part, staticeval.ReasonFor(part)
}

// further evaluates a reference to Named. Without a name it returns all values of the root.
func (e *Evaluator) further(root, name string) (cty.Value, *staticeval.Unknown) {
	if name == "" {
		v := cty.ObjectVal(e.Named[root])
		return v, staticeval.ReasonFor(v)
	}
	v, ok := e.Named[root][name]
	if !ok {
		return notAllowed(root+".%s is not declared", name)
	}
	return v, staticeval.ReasonFor(v)
}

// assumption marks a value for which the repository has a default and somebody may set another.
type assumption struct{ text string }

// plainName is a name that is safe in a message.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

// assume formats an assumption. A name that is not safe in a message is left out.
func assume(format, name string) assumption {
	if !plainName.MatchString(name) {
		name = "of another name"
	}
	return assumption{fmt.Sprintf(format, name)}
}

// PathIn returns the path in the repository for a text of a configuration. A relative text
// is relative to dir.
func PathIn(dir, text string) (string, *staticeval.Unknown) {
	name := path.Join(dir, text)
	if path.IsAbs(text) {
		rest, ok := cutTop(text)
		if !ok {
			return "", &staticeval.Unknown{Reason: "it leads out of the repository"}
		}
		name = path.Join(".", rest)
	}
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", &staticeval.Unknown{Reason: "it leads out of the repository"}
	}
	return name, nil
}

// cutTop returns the part of an absolute path after the top of the repository. It is false
// for a path that leaves the repository, even if it returns.
func cutTop(text string) (string, bool) {
	rest, ok := strings.CutPrefix(path.Clean(text), repositoryTop)
	return strings.TrimPrefix(rest, "/"), ok && (rest == "" || rest[0] == '/')
}

// AsSeen is the absolute path that expressions get for a path in the repository.
func AsSeen(name string) string { return path.Join(repositoryTop, name) }

// includes reads the files that the configuration includes. They are known before the
// locals.
func (e *Evaluator) includes() ([]*include, *staticeval.Unknown, problem.Place) {
	if in := e.inclusion; in != nil {
		return in.files, in.why, in.place
	}
	e.inclusion = &inclusion{} // for references in an include block itself
	early := &staticeval.Scope{Functions: e.table, Holes: &e.reading.Holes, Bound: &e.reading.Bound}
	early.Refer = func(root, name string) (cty.Value, *staticeval.Unknown) {
		switch root {
		case "values": // flags are read after the includes
			return e.refer(root, name)
		}
		return notAllowed("%s is not known in an include block", root)
	}
	var known inclusion
	bare := 0
	for _, b := range e.File.Includes {
		in, why := e.include(b, early)
		if b.Label == "" {
			bare++
		}
		if why == nil && bare > 1 {
			why = &staticeval.Unknown{Refused: true, Reason: "there are several includes without a name"}
		}
		if why != nil {
			known.why, known.place = why, e.File.At(b.Line)
			break
		}
		known.files = append(known.files, in)
	}
	e.inclusion = &known
	return known.files, known.why, known.place
}

// include reads the file that one block includes.
func (e *Evaluator) include(b Block, early *staticeval.Scope) (*include, *staticeval.Unknown) {
	in := &include{label: b.Label, line: b.Line}
	if e.parent != nil {
		return nil, &staticeval.Unknown{Refused: true, Reason: "a file that is included includes another one"}
	}
	text := func(name, fallback string) (string, *staticeval.Unknown) {
		attr := b.Body.Attribute(name)
		if attr == nil {
			return fallback, nil
		}
		v, why := early.Value(attr.Expr)
		if why != nil {
			return "", why
		}
		in.assumed = append(in.assumed, v)
		return e.reading.Text(v, fallback)
	}
	expose, why := text("expose", "false")
	in.expose = expose == "true"
	if why != nil {
		return nil, why
	}
	in.strategy, why = text("merge_strategy", shallow)
	if why != nil {
		return nil, why
	}
	if !slices.Contains([]string{noMerge, shallow, deep}, in.strategy) {
		return nil, &staticeval.Unknown{Refused: true, Reason: "there is no such merge_strategy"}
	}
	name, why := text("path", "")
	if why != nil {
		return nil, why
	}
	if name == "" {
		return nil, &staticeval.Unknown{Refused: true, Reason: "the include has no path"}
	}
	in.path, why = PathIn(e.dir, name)
	if why != nil {
		return nil, why
	}
	in.evaluator, why = e.reading.Open(in.path, e.dir, in)
	return in, why
}

// whole is the configuration as an object, the value of include.NAME and of
// read_terragrunt_config. Unknown parts are marked with the reason.
func (e *Evaluator) whole() cty.Value {
	attrs := e.File.Body.Attributes()
	for _, name := range []string{"locals", "generate", "remote_state", "inputs"} {
		delete(attrs, name)
	}
	object := e.object(attrs).AsValueMap()
	if object == nil {
		object = map[string]cty.Value{}
	}
	object["locals"] = e.object(e.File.locals)
	object["inputs"] = cty.EmptyObjectVal
	if attr := e.File.Body.Attribute("inputs"); attr != nil {
		object["inputs"], _ = e.Value(attr.Expr)
	}
	for _, b := range e.File.Body.Blocks("terraform", 0) {
		object["terraform"] = e.object(b.Body.Attributes())
	}
	object["generate"] = e.generateObject()
	for _, b := range e.File.Body.Blocks("remote_state", 0) {
		object["remote_state"] = e.object(b.Body.Attributes())
	}
	if attr := e.File.Body.Attribute("remote_state"); attr != nil {
		object["remote_state"], _ = e.Value(attr.Expr)
	}
	object["dependency"], _ = NotStatic(e.reading.outputs)
	features := map[string]cty.Value{}
	for name := range e.File.features {
		features[name], _ = e.feature(name)
	}
	object["feature"] = cty.ObjectVal(features)
	return cty.ObjectVal(object)
}

// generateObject is the attribute generate of the object that whole returns.
func (e *Evaluator) generateObject() cty.Value {
	if attr := e.File.Body.Attribute("generate"); attr != nil {
		v, _ := e.Value(attr.Expr)
		return v
	}
	labels := map[string]cty.Value{}
	for _, b := range e.File.Body.Blocks("generate", 1) {
		labels[b.Label] = e.object(b.Body.Attributes())
	}
	return cty.ObjectVal(labels)
}

// merged is whole with the included files merged into it, for read_terragrunt_config. The
// locals of included files are left out.
func (e *Evaluator) merged() (cty.Value, *staticeval.Unknown) {
	includes, why, _ := e.includes()
	if why != nil {
		return NotStatic(why)
	}
	object := e.whole().AsValueMap()
	for _, in := range slices.Backward(includes) {
		if in.strategy == noMerge {
			continue
		}
		for name, from := range in.evaluator.whole().AsValueMap() {
			own, ok := object[name]
			switch {
			case name == "locals" || name == "dependency":
			case !ok:
				object[name] = from
			default:
				object[name] = over(from, own)
			}
		}
	}
	return cty.ObjectVal(object), nil
}

// partOfStack is why units and stacks of a stack file are not known in other files.
var partOfStack = &staticeval.Unknown{Reason: "it depends on what a stack file says of a unit or a stack"}

// asRead is the value of read_terragrunt_config for a file, which may be a stack file [case
// stack-unit-reads-stack].
func (e *Evaluator) asRead() (cty.Value, *staticeval.Unknown) {
	if path.Base(e.File.Name) != StackName {
		return e.merged()
	}
	unit, _ := NotStatic(partOfStack)
	return cty.ObjectVal(map[string]cty.Value{"local": e.object(e.File.locals), "unit": unit, "stack": unit}), nil
}

// over merges two objects. The second one wins, and it is the result if one of them is no
// object.
func over(from, own cty.Value) cty.Value {
	a, b := from.Type(), own.Type()
	if !a.IsObjectType() || !b.IsObjectType() || from.IsMarked() || own.IsMarked() || !from.IsKnown() || !own.IsKnown() || from.IsNull() || own.IsNull() {
		return own
	}
	joined := map[string]cty.Value{}
	maps.Copy(joined, from.AsValueMap())
	maps.Copy(joined, own.AsValueMap())
	return cty.ObjectVal(joined)
}
