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

// earlyEvaluation is shared by the expressions of all modules of one root module.
type earlyEvaluation struct {
	root      *tfconfig.Configuration
	opts      *Options
	set       *givenValues
	files     func() variableValues        // of the root module
	functions func() []staticeval.Function // they read its files, too
	bound     staticeval.Bound
	reads     bool // a function has read a file, or has looked for one
}

const filesystem = "terraform 1.11 internal/lang/funcs/filesystem.go"

func rootVisit(root *tfconfig.Configuration, opts *Options, given *givenValues) *visit {
	e := &earlyEvaluation{root: root, opts: opts, set: given}
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
	return &visit{earlyEvaluation: e, config: root, base: root.Directory.Path, dir: "."}
}

// value evaluates an expression of the module.
func (v *visit) value(expr hcl.Expression) (cty.Value, *staticeval.Unknown) {
	if v.scope == nil {
		v.scope = &staticeval.Scope{Functions: v.functions(), Refer: v.refer, Bound: &v.bound}
	}
	return v.scope.Value(expr)
}

func (v *visit) refer(root, name string) (cty.Value, *staticeval.Unknown) {
	switch root + "." + name {
	case "path.module":
		return cty.StringVal(v.dir), nil
	case "path.root":
		return cty.StringVal("."), nil
	case "path.cwd":
		if v.opts.Path == "" {
			return cty.UnknownVal(cty.String), &staticeval.Unknown{Reason: "path.cwd depends on where the tool runs"}
		}
		return cty.StringVal(path.Join(v.opts.Path, v.root.Directory.Path)), nil
	case "terraform.workspace":
		// the workspace that the tools noted beside the root module [terraform 1.11
		// internal/command/meta.go]
		selected, _ := v.root.Directory.Read(".terraform/environment")
		return cty.StringVal(cmp.Or(v.opts.Workspace, strings.TrimSpace(string(selected)), "default")), nil
	}
	switch {
	case root == "var" && name != "":
		return v.variable(name)
	case root == "local" && name != "":
		return v.local(name)
	}
	return refusedValue("%s is not known before a plan", root)
}

// refusedValue is no value, because of an error in the configuration.
func refusedValue(format string, args ...any) (cty.Value, *staticeval.Unknown) {
	return cty.DynamicVal, &staticeval.Unknown{Refused: true, Reason: fmt.Sprintf(format, args...)}
}

// unknownValue is a value that is not known here.
func unknownValue(reason string) (cty.Value, *staticeval.Unknown) {
	return cty.DynamicVal, &staticeval.Unknown{Reason: reason}
}

func (v *visit) local(name string) (cty.Value, *staticeval.Unknown) {
	attr, ok := v.config.Locals[name]
	if !ok {
		return refusedValue("local.%s is not declared", name)
	}
	return v.value(attr.Expr)
}

// variable is the value of a variable in the module's expressions: converted to its type,
// and marked. Before a plan Terraform accepts only variables declared constant. OpenTofu
// accepts all but those declared not constant [case 220] [terraform 1.15
// internal/configs/named_values.go] [opentofu 1.12 internal/configs/named_values.go].
func (v *visit) variable(name string) (cty.Value, *staticeval.Unknown) {
	decl, ok := v.config.Variables[name]
	if !ok {
		return refusedValue("var.%s is not declared", name)
	}
	switch constant, set := decl.Claim("const"); {
	case v.root.Tool.Has(provider.ConstEvaluation) && !constant:
		return refusedValue("var.%s is not declared with const = true", name)
	case v.root.Tool.Has(provider.LanguageBlocks) && set && !constant:
		return refusedValue("var.%s is declared with const = false", name)
	}
	given, why := v.given(decl)
	typ, defaults := decl.Constraint()
	if defaults != nil && !given.IsNull() {
		given = defaults.Apply(given)
	}
	value, err := convert.Convert(given, typ)
	if err != nil {
		return refusedValue("the value of var.%s is not of its type", name)
	}
	if nullable, set := decl.Claim("nullable"); value.IsNull() && set && !nullable { // null means the default
		value, ok = decl.Fallback()
		if !ok {
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

// given is the value passed to a variable, or its default.
func (v *visit) given(decl tfconfig.Variable) (cty.Value, *staticeval.Unknown) {
	if v.caller == nil {
		return v.givenToRoot(decl)
	}
	if attr, ok := v.args[decl.Name]; ok {
		return v.caller.value(attr.Expr)
	}
	value, ok := decl.Fallback()
	switch {
	case ok:
		return v.sure(decl, value)
	case v.test:
		return unknownValue("the test passes no value to var." + decl.Name)
	}
	return refusedValue("no value is passed to var.%s", decl.Name)
}

// givenToRoot finds the value of a root module's variable: from the command line, a
// variable file or the environment, else the default.
func (v *visit) givenToRoot(decl tfconfig.Variable) (cty.Value, *staticeval.Unknown) {
	if text, ok := v.opts.Variables[decl.Name]; ok {
		return v.parsed(decl, text)
	}
	if from, ok := v.set.value(v.root.Directory, decl.Name); ok {
		switch {
		case from.bad != "":
			return refusedValue("the variable file %s of the set %s could not be read", from.bad, v.set.sets[0].Name)
		case from.expr != nil:
			return v.sure(decl, staticeval.Literal(from.expr))
		}
		return v.parsed(decl, from.text)
	}
	files := v.files()
	if bad := files.bad; bad != "" {
		return refusedValue("%s could not be read", bad)
	}
	if expr, ok := files.exprs[decl.Name]; ok {
		return v.sure(decl, staticeval.Literal(expr))
	}
	if text, ok := v.opts.Environment[decl.Name]; ok {
		return v.parsed(decl, text)
	}
	if value, ok := decl.Fallback(); ok {
		return v.sure(decl, value)
	}
	return cty.DynamicVal, &staticeval.Unknown{
		Reason: "var." + decl.Name + " has no value",
		Hint:   "set it in terraform.tfvars, or in the configuration file, as in `module-vars: {" + decl.Name + ": VALUE}`",
	}
}

func (v *visit) parsed(decl tfconfig.Variable, text string) (cty.Value, *staticeval.Unknown) {
	value, ok := decl.Parse(text)
	if !ok {
		return refusedValue("the value that is set for var.%s is no literal", decl.Name)
	}
	return value, nil
}

// sure returns a literal, or the reason why its value is unknown.
func (v *visit) sure(decl tfconfig.Variable, value cty.Value) (cty.Value, *staticeval.Unknown) {
	if value.IsWhollyKnown() {
		return value, nil
	}
	return unknownValue("the value of var." + decl.Name + " is no literal, or too large")
}

// file reads a file by its path, relative to the root module, where the tool runs. The
// content is known only if the file is in the scanned tree. Files of the tool may be
// missing there.
func (e *earlyEvaluation) file(name string) (cty.Value, error) {
	e.reads = true
	// The tool's own directory may have content of an earlier run.
	if !path.IsAbs(name) && !strings.HasPrefix(path.Clean(name), dataDir) {
		if src, err := e.root.Directory.Read(name); err == nil {
			return cty.StringVal(string(src)), nil
		}
	}
	return cty.DynamicVal, &staticeval.Unknown{Reason: "it reads a file that is not there"}
}

// locate sets the path at which the tool has a called module.
func (v *visit) locate(source tfconfig.SourceKind) {
	at := v.config.Directory
	v.top = cmp.Or(v.installed, v.caller.top)
	switch dir, reached := at.From(v.root.Directory); {
	case reached:
		v.dir = dir
	case source != tfconfig.LocalSource:
		v.top = path.Join(modulesDir, v.path)
		v.dir = path.Join(v.top, v.base)
	default:
		v.dir = path.Join(v.top, at.Path)
	}
}
