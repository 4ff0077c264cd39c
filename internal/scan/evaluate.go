package scan

import (
	"cmp"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/relock-dev/relock/internal/provider"
)

// evaluatesEarly reports whether the tool evaluates the sources and versions of
// module calls before it installs the modules: with what is known before a plan.
func evaluatesEarly(tool provider.Tool) bool {
	return tool.Has(provider.EarlyEvaluation) || tool.Has(provider.ConstEvaluation)
}

// evaluation is all early evaluation for one root module.
type evaluation struct {
	tool  provider.Tool
	root  *config
	opts  *Options
	files variableValues // of the root module
	// effort is what has been spent, chain how many references are being
	// followed, noted why something is not known.
	effort, chain int
	noted         *failure
}

func newEvaluation(root *config, opts *Options) *evaluation {
	return &evaluation{tool: root.tool, root: root, opts: opts}
}

// scope is what the expressions of one module in a tree can refer to.
type scope struct {
	*evaluation
	config *config
	caller *scope // nil for the root module
	args   map[string]*hcl.Attribute
	test   bool // the caller is a run of a test, which may leave variables out
	// dir is path.module: where the tool has the module, seen from the root
	// module. top is where it has the module's package, if that is fetched.
	dir, top string
	known    map[string]known
}

func (e *evaluation) scope() *scope { return &scope{evaluation: e, config: e.root, dir: "."} }

// known is the value of a reference; why is nil if it is wholly known.
type known struct {
	value cty.Value
	why   *failure
}

// failure says why an expression has no value.
type failure struct {
	why  string
	hint string
	// wrong says that the tool refuses it. If not, it may have a value where the
	// tool runs.
	wrong bool
}

// Reasons that are used in many places.
const (
	complexity = "it is too large or too complex"
	unset      = "its value is not known here"
)

// spend takes effort from what all evaluations may take.
func (e *evaluation) spend(effort int) bool {
	e.effort = min(e.effort+effort, maxEffort+1)
	return !e.exhausted()
}

// exhausted notes and reports that evaluations have taken too much.
func (e *evaluation) exhausted() bool {
	if e.effort <= maxEffort {
		return false
	}
	e.note(failure{why: complexity})
	return true
}

// note keeps the first reason of an evaluation.
func (e *evaluation) note(f failure) {
	if e.noted == nil {
		e.noted = &f
	}
}

// text evaluates an argument of a module call, which must be a string.
func (s *scope) text(expr hcl.Expression) (argument, *failure) {
	value, why := s.value(expr)
	if why != nil {
		return argument{}, why
	}
	value, marks := value.Unmark()
	if len(marks) > 0 {
		return argument{}, &failure{wrong: true, why: "it comes from a value that is sensitive or ephemeral"}
	}
	value, err := convert.Convert(value, cty.String)
	switch {
	case err != nil:
		return argument{}, &failure{wrong: true, why: "it must be a string"}
	case value.IsNull():
		return argument{known: true}, nil
	}
	return argument{text: value.AsString(), set: true, known: true}, nil
}

// value evaluates an expression. If it is not wholly known there is a failure,
// the first one met. What an expression refers to is evaluated before it, so
// that only this is.
func (s *scope) value(expr hcl.Expression) (cty.Value, *failure) {
	s.chain++
	defer func() { s.chain-- }()
	looked := surveyOf(expr)
	switch {
	case looked.huge, looked.loops > maxLoops, s.chain > maxChain:
		return cty.DynamicVal, &failure{why: complexity}
	case looked.expr == nil:
		return cty.DynamicVal, refusal(looked.diags)
	}
	ctx, values, why := s.context(looked)
	if !s.spend(looked.effort(values)) {
		return cty.DynamicVal, &failure{why: complexity}
	}
	s.noted = nil
	value, diags := looked.expr.Value(ctx)
	switch {
	case diags.HasErrors():
		return cty.DynamicVal, cmp.Or(why, s.noted, refusal(diags))
	case sizeOf(value) > maxValue:
		return cty.DynamicVal, &failure{why: complexity}
	case value.IsWhollyKnown():
		return value, nil
	}
	return value, cmp.Or(why, s.noted, &failure{why: unset})
}

// refusal says why HCL refuses an expression. The details that it has to tell
// repeat values, which may be any text.
func refusal(diags hcl.Diagnostics) *failure {
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			return &failure{wrong: true, why: strings.ToLower(d.Summary[:1]) + d.Summary[1:]}
		}
	}
	return &failure{wrong: true, why: "it is no expression"}
}

// context holds the functions that an expression calls and the values that it
// refers to. The values are returned once for each reference, and the reason of
// the first that is not wholly known.
func (s *scope) context(looked survey) (*hcl.EvalContext, []cty.Value, *failure) {
	var why *failure
	var values []cty.Value
	objects := map[string]map[string]cty.Value{}
	for _, traversal := range looked.expr.Variables() {
		root, name := traversal.RootName(), attributeOf(traversal)
		value, failed := s.refer(root, name)
		why = cmp.Or(why, failed)
		values = append(values, value)
		if objects[root] == nil {
			objects[root] = map[string]cty.Value{}
		}
		objects[root][name] = value
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: map[string]function.Function{}}
	for root, attrs := range objects {
		ctx.Variables[root] = cty.DynamicVal
		if _, anonymous := attrs[""]; !anonymous {
			ctx.Variables[root] = cty.ObjectVal(attrs)
		}
	}
	for _, name := range looked.functions {
		ctx.Functions[name] = s.function(name)
	}
	return ctx, values, why
}

// attributeOf is the second part of a reference like var.name.
func attributeOf(traversal hcl.Traversal) string {
	if len(traversal) > 1 {
		if attr, ok := traversal[1].(hcl.TraverseAttr); ok {
			return attr.Name
		}
	}
	return ""
}

// function returns a function by its name, which may be one of the namespace
// that both tools have for those of their own.
func (s *scope) function(name string) function.Function {
	switch own := strings.TrimPrefix(name, "core::"); own {
	case "file":
		return s.bounded(own, s.fileFunc(s.readFile))
	case "fileexists":
		return s.bounded(own, s.fileFunc(s.fileExists))
	default:
		if f, ok := functions[own]; ok {
			return s.bounded(own, f)
		}
		return s.unsupported(name)
	}
}

// refer evaluates a reference. Each is evaluated once.
func (s *scope) refer(root, name string) (cty.Value, *failure) {
	ref := root + "." + name
	if k, ok := s.known[ref]; ok {
		return k.value, k.why
	}
	if s.known == nil {
		s.known = map[string]known{}
	}
	// This stands for the reference while it is evaluated: who meets it then
	// goes round in circles.
	s.known[ref] = known{cty.DynamicVal, &failure{wrong: true, why: ref + " refers to itself"}}
	value, why := s.resolve(root, name)
	s.known[ref] = known{value, why}
	return value, why
}

func (s *scope) resolve(root, name string) (cty.Value, *failure) {
	switch root + "." + name {
	case "path.module":
		return cty.StringVal(s.dir), nil
	case "path.root":
		return cty.StringVal("."), nil
	case "path.cwd":
		if s.opts.Path == "" {
			return cty.UnknownVal(cty.String), &failure{why: "path.cwd depends on where the tool runs"}
		}
		return cty.StringVal(path.Join(s.opts.Path, s.root.at.dir)), nil
	case "terraform.workspace":
		return cty.StringVal(s.workspace()), nil
	}
	switch {
	case root == "var" && name != "":
		return s.variable(name)
	case root == "local" && name != "":
		return s.local(name)
	}
	return cty.DynamicVal, &failure{wrong: true, why: root + " is not known before a plan"}
}

// workspace is the selected workspace, as the tools leave it in their directory
// beside the root module.
func (s *scope) workspace() string {
	at := s.root.at
	selected, _ := at.tree.read(at.path(".terraform/environment"))
	return cmp.Or(s.opts.Workspace, strings.TrimSpace(string(selected)), "default")
}

func (s *scope) local(name string) (cty.Value, *failure) {
	attr, ok := s.config.locals[name]
	if !ok {
		return cty.DynamicVal, &failure{wrong: true, why: "local." + name + " is not declared"}
	}
	return s.value(attr.Expr)
}

// variable is the value of a variable as the module's expressions see it:
// converted to its type, and marked.
func (s *scope) variable(name string) (cty.Value, *failure) {
	decl, ok := s.config.variables[name]
	if !ok {
		return cty.DynamicVal, &failure{wrong: true, why: "var." + name + " is not declared"}
	}
	if why := s.admits(decl); why != nil {
		return cty.DynamicVal, why
	}
	given, why := s.given(decl)
	typ, defaults := decl.constraint()
	if defaults != nil && !given.IsNull() {
		given = defaults.Apply(given)
	}
	value, err := convert.Convert(given, typ)
	if err != nil {
		return cty.DynamicVal, &failure{wrong: true, why: "the value of var." + name + " is not of its type"}
	}
	if value.IsNull() && !decl.nullable() {
		if value, ok = decl.fallback(); !ok {
			return cty.DynamicVal, &failure{wrong: true, why: "var." + name + " must not be null"}
		}
	}
	if decl.is("sensitive") {
		value = value.Mark(sensitive)
	}
	if decl.is("ephemeral") {
		value = value.Mark(ephemeral)
	}
	return value, why
}

// admits reports why a variable cannot be used before a plan: Terraform takes
// only those that are declared constant, OpenTofu all but those that are
// declared not to be.
func (s *scope) admits(decl variable) *failure {
	switch constant, set := decl.claim("const"); {
	case s.tool.Has(provider.ConstEvaluation) && !constant:
		return &failure{wrong: true, why: "var." + decl.name + " is not declared with const = true"}
	case s.tool.Has(provider.LanguageBlocks) && set && !constant:
		return &failure{wrong: true, why: "var." + decl.name + " is declared with const = false"}
	}
	return nil
}

// given is what is passed to a variable, or its default.
func (s *scope) given(decl variable) (cty.Value, *failure) {
	if s.caller == nil {
		return s.givenToRoot(decl)
	}
	if attr, ok := s.args[decl.name]; ok {
		return s.caller.value(attr.Expr)
	}
	value, ok := decl.fallback()
	switch {
	case ok:
		return s.sure(decl, value)
	case s.test:
		return cty.DynamicVal, &failure{why: "the test passes no value to var." + decl.name}
	}
	return cty.DynamicVal, &failure{wrong: true, why: "no value is passed to var." + decl.name}
}

// givenToRoot finds the value of a root module's variable: on the command line,
// in a variable file, in the environment, else the default.
func (s *scope) givenToRoot(decl variable) (cty.Value, *failure) {
	if text, ok := s.opts.Variables[decl.name]; ok {
		return s.parsed(decl, text)
	}
	if s.files.exprs == nil {
		s.files = readVariables(s.root.at)
	}
	if s.files.bad != "" {
		return cty.DynamicVal, &failure{wrong: true, why: s.files.bad + " could not be read"}
	}
	if expr, ok := s.files.exprs[decl.name]; ok {
		return s.sure(decl, literal(expr))
	}
	if text, ok := s.opts.Environment[decl.name]; ok {
		return s.parsed(decl, text)
	}
	if value, ok := decl.fallback(); ok {
		return s.sure(decl, value)
	}
	return cty.DynamicVal, &failure{
		why:  "var." + decl.name + " has no value",
		hint: "set it in terraform.tfvars, or set module-vars",
	}
}

func (s *scope) parsed(decl variable, text string) (cty.Value, *failure) {
	value, ok := decl.parse(text)
	if !ok {
		return cty.DynamicVal, &failure{wrong: true, why: "the value that is set for var." + decl.name + " is no literal"}
	}
	return value, nil
}

// sure returns a literal, and why it is not known.
func (s *scope) sure(decl variable, value cty.Value) (cty.Value, *failure) {
	if value.IsWhollyKnown() {
		return value, nil
	}
	return cty.DynamicVal, &failure{why: "the value of var." + decl.name + " is no literal, or too large"}
}

// fileFunc makes a function of what reads a file by its path, which is relative
// to where the tool runs: the root module. What a read file says is known only
// if it is a file of the scanned tree, and that may lack files which the tool
// has.
func (s *scope) fileFunc(read func(name string) (cty.Value, bool)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			// In the tool's own directory may be what another run left there.
			if !path.IsAbs(name) && !strings.HasPrefix(path.Clean(name), dataDir) {
				if value, ok := read(s.root.at.path(name)); ok {
					return value, nil
				}
			}
			s.note(failure{why: "it reads a file that is not there"})
			return cty.DynamicVal, nil
		},
	})
}

func (s *scope) readFile(name string) (cty.Value, bool) {
	src, err := s.root.at.tree.read(name)
	if err != nil || len(src) > maxValue {
		return cty.DynamicVal, false
	}
	return cty.StringVal(string(src)), true
}

func (s *scope) fileExists(name string) (cty.Value, bool) {
	_, err := s.root.at.tree.read(name)
	return cty.True, err == nil
}

// below is the scope of a called module.
func (s *scope) below(c call, to *visit) *scope {
	called := &scope{evaluation: s.evaluation, config: to.config, caller: s, args: c.args, test: to.test && to.depth == 1, top: s.top}
	switch at := to.config.at; {
	case at.tree == s.root.at.tree, at.tree.inner == s.root.at.tree:
		called.dir = relative(s.root.at.whole(), at.whole())
	case c.module.kind != localSource:
		called.top = path.Join(modulesDir, to.path)
		called.dir = path.Join(called.top, to.base)
	default:
		called.dir = path.Join(s.top, at.dir)
	}
	return called
}

// relative is the path that leads from one directory of a tree to another.
func relative(from, to string) string {
	up := ""
	for ; from != "." && to != from && !strings.HasPrefix(to, from+"/"); from = path.Dir(from) {
		up += "../"
	}
	if from != "." {
		to = strings.TrimPrefix(strings.TrimPrefix(to, from), "/")
	}
	return path.Clean(up + to)
}
