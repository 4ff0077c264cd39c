package scan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// earlyEvaluation is what all scopes of one root module share.
type earlyEvaluation struct {
	root      *tfconfig.Configuration
	opts      *Options
	files     func() variableValues        // of the root module
	functions func() []staticeval.Function // which read its files, too
	bound     staticeval.Bound
}

const filesystem = "terraform 1.11 internal/lang/funcs/filesystem.go"

// moduleScope is what the expressions of one module in a tree can refer to.
type moduleScope struct {
	*earlyEvaluation
	static *staticeval.Scope // nil as long as nothing is evaluated
	config *tfconfig.Configuration
	caller *moduleScope // nil for the root module
	args   map[string]*hcl.Attribute
	test   bool // the caller is a run of a test, which may leave variables out
	// dir is path.module: where the tool has the module, seen from the root
	// module. top is where it has the module's package, if that is fetched.
	dir, top string
}

// rootScope is the scope of a root module.
func rootScope(root *tfconfig.Configuration, opts *Options) *moduleScope {
	e := &earlyEvaluation{root: root, opts: opts}
	e.files = sync.OnceValue(func() variableValues { return readVariables(root.Directory) })
	e.functions = sync.OnceValue(func() []staticeval.Function {
		return slices.Concat(staticeval.Tools, []staticeval.Function{
			{Name: "file", Meaning: "the content of a file", Source: filesystem, Call: staticeval.Text(e.file)},
			{Name: "fileexists", Meaning: "whether there is a file", Source: filesystem, Call: staticeval.Text(func(name string) (cty.Value, error) {
				_, err := e.file(name)
				return cty.True, err
			})},
		})
	})
	return &moduleScope{earlyEvaluation: e, config: root, dir: "."}
}

// value evaluates an expression of the module.
func (s *moduleScope) value(expr hcl.Expression) (cty.Value, *staticeval.Unknown) {
	if s.static == nil {
		s.static = &staticeval.Scope{Functions: s.functions(), Refer: s.refer, Bound: &s.bound}
	}
	return s.static.Value(expr)
}

// refer evaluates a reference.
func (s *moduleScope) refer(root, name string) (cty.Value, *staticeval.Unknown) {
	switch root + "." + name {
	case "path.module":
		return cty.StringVal(s.dir), nil
	case "path.root":
		return cty.StringVal("."), nil
	case "path.cwd":
		if s.opts.Path == "" {
			return cty.UnknownVal(cty.String), &staticeval.Unknown{Reason: "path.cwd depends on where the tool runs"}
		}
		return cty.StringVal(path.Join(s.opts.Path, s.root.Directory.Path)), nil
	case "terraform.workspace":
		// the selected one, as the tools leave it in their directory beside the root module
		// [terraform 1.11 internal/command/meta.go]
		selected, _ := s.root.Directory.Read(".terraform/environment")
		return cty.StringVal(cmp.Or(s.opts.Workspace, strings.TrimSpace(string(selected)), "default")), nil
	}
	switch {
	case root == "var" && name != "":
		return s.variable(name)
	case root == "local" && name != "":
		return s.local(name)
	}
	return refusedValue("%s is not known before a plan", root)
}

// refusedValue is what has no value, since it is an error in the configuration.
func refusedValue(format string, args ...any) (cty.Value, *staticeval.Unknown) {
	return cty.DynamicVal, &staticeval.Unknown{Refused: true, Reason: fmt.Sprintf(format, args...)}
}

// unknownValue is what has no value here.
func unknownValue(reason string) (cty.Value, *staticeval.Unknown) {
	return cty.DynamicVal, &staticeval.Unknown{Reason: reason}
}

func (s *moduleScope) local(name string) (cty.Value, *staticeval.Unknown) {
	attr, ok := s.config.Locals[name]
	if !ok {
		return refusedValue("local.%s is not declared", name)
	}
	return s.value(attr.Expr)
}

// variable is the value of a variable as the module's expressions see it: converted
// to its type, and marked. Before a plan Terraform takes only those that are declared
// constant, OpenTofu all but those that are declared not to be
// [case 220] [terraform 1.15 internal/configs/named_values.go] [opentofu 1.12 internal/configs/named_values.go].
func (s *moduleScope) variable(name string) (cty.Value, *staticeval.Unknown) {
	decl, ok := s.config.Variables[name]
	if !ok {
		return refusedValue("var.%s is not declared", name)
	}
	switch constant, set := decl.Claim("const"); {
	case s.root.Tool.Has(provider.ConstEvaluation) && !constant:
		return refusedValue("var.%s is not declared with const = true", name)
	case s.root.Tool.Has(provider.LanguageBlocks) && set && !constant:
		return refusedValue("var.%s is declared with const = false", name)
	}
	given, why := s.given(decl)
	typ, defaults := decl.Constraint()
	if defaults != nil && !given.IsNull() {
		given = defaults.Apply(given)
	}
	value, err := convert.Convert(given, typ)
	if err != nil {
		return refusedValue("the value of var.%s is not of its type", name)
	}
	if nullable, set := decl.Claim("nullable"); value.IsNull() && set && !nullable { // a null stands for the default
		if value, ok = decl.Fallback(); !ok {
			return refusedValue("var.%s must not be null", name)
		}
	}
	if decl.Is("sensitive") {
		value = value.Mark(staticeval.Sensitive)
	}
	if decl.Is("ephemeral") {
		value = value.Mark(staticeval.Ephemeral)
	}
	return value, why
}

// given is what is passed to a variable, or its default.
func (s *moduleScope) given(decl tfconfig.Variable) (cty.Value, *staticeval.Unknown) {
	if s.caller == nil {
		return s.givenToRoot(decl)
	}
	if attr, ok := s.args[decl.Name]; ok {
		return s.caller.value(attr.Expr)
	}
	value, ok := decl.Fallback()
	switch {
	case ok:
		return s.sure(decl, value)
	case s.test:
		return unknownValue("the test passes no value to var." + decl.Name)
	}
	return refusedValue("no value is passed to var.%s", decl.Name)
}

// givenToRoot finds the value of a root module's variable: on the command line,
// in a variable file, in the environment, else the default.
func (s *moduleScope) givenToRoot(decl tfconfig.Variable) (cty.Value, *staticeval.Unknown) {
	if text, ok := s.opts.Variables[decl.Name]; ok {
		return s.parsed(decl, text)
	}
	files := s.files()
	if bad := files.bad; bad != "" {
		return refusedValue("%s could not be read", bad)
	}
	if expr, ok := files.exprs[decl.Name]; ok {
		return s.sure(decl, staticeval.Literal(expr))
	}
	if text, ok := s.opts.Environment[decl.Name]; ok {
		return s.parsed(decl, text)
	}
	if value, ok := decl.Fallback(); ok {
		return s.sure(decl, value)
	}
	return cty.DynamicVal, &staticeval.Unknown{
		Reason: "var." + decl.Name + " has no value",
		Hint:   "set it in terraform.tfvars, or set module-vars",
	}
}

func (s *moduleScope) parsed(decl tfconfig.Variable, text string) (cty.Value, *staticeval.Unknown) {
	value, ok := decl.Parse(text)
	if !ok {
		return refusedValue("the value that is set for var.%s is no literal", decl.Name)
	}
	return value, nil
}

// sure returns a literal, and why it is not known.
func (s *moduleScope) sure(decl tfconfig.Variable, value cty.Value) (cty.Value, *staticeval.Unknown) {
	if value.IsWhollyKnown() {
		return value, nil
	}
	return unknownValue("the value of var." + decl.Name + " is no literal, or too large")
}

// file reads a file by its path, which is relative to where the tool runs: the
// root module. What it says is known only if it is a file of the scanned tree,
// and that may lack files which the tool has.
func (e *earlyEvaluation) file(name string) (cty.Value, error) {
	// In the tool's own directory may be what another run left there.
	if !path.IsAbs(name) && !strings.HasPrefix(path.Clean(name), dataDir) {
		if src, err := e.root.Directory.Read(name); err == nil {
			return cty.StringVal(string(src)), nil
		}
	}
	return cty.DynamicVal, &staticeval.Unknown{Reason: "it reads a file that is not there"}
}

// below is the scope of a called module.
func (s *moduleScope) below(c tfconfig.ModuleCall, to *visit) *moduleScope {
	called := &moduleScope{earlyEvaluation: s.earlyEvaluation, config: to.config, caller: s, args: c.Args, test: to.test, top: s.top}
	at := to.config.Directory
	switch dir, reached := at.From(s.root.Directory); {
	case reached:
		called.dir = dir
	case c.Module.Kind != tfconfig.LocalSource:
		called.top = path.Join(modulesDir, to.path)
		called.dir = path.Join(called.top, to.base)
	default:
		called.dir = path.Join(s.top, at.Path)
	}
	return called
}
