package units

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/hclfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/staticeval"
)

// fileFunctions are the functions that read files, and those that make the text of a file.
func (t functionTable) fileFunctions() []staticeval.Function {
	var all []staticeval.Function
	for name, encode := range staticeval.Encodings {
		all = append(all, textFunction("file"+name, "the content of a file, encoded", fileRules, func(text string) (cty.Value, error) {
			src, err := t.content(text, path.Dir(t.caller.File.Name))
			if err != nil {
				return cty.NilVal, err
			}
			return cty.StringVal(encode(src)), nil
		}))
	}
	return append(all, []staticeval.Function{
		textFunction("read_tfvars_file", "the values of variables as JSON", helpers, t.readVariables),
		textFunction("file", "the content of a file", fileRules, func(text string) (cty.Value, error) {
			src, err := t.content(text, path.Dir(t.caller.File.Name))
			return cty.StringVal(string(src)), err
		}),
		textFunction("fileexists", "whether there is a file", fileRules, func(text string) (cty.Value, error) {
			name, why := PathIn(path.Dir(t.caller.File.Name), text)
			if why != nil {
				return cty.NilVal, why
			}
			there := t.reading.IsFile(name)
			if why := t.reading.Tree.notHeld(name); !there && why != nil {
				return cty.NilVal, why
			}
			return cty.BoolVal(there), nil
		}),
		{Name: "read_terragrunt_config", Meaning: "another configuration as an object", Source: helpers, Call: t.readConfigFunc()},
		{Name: "templatefile", Meaning: "a file that is a template, with values", Source: fileRules, Call: t.templateFunc()},
		{Name: "jsonencode", Meaning: "a value as JSON", Source: "cty 1.19 function/stdlib", Call: t.encodeFunc()},
		{Name: "deep_merge", Meaning: "maps in one, with what nests in them", Source: helpers, Call: deepMergeFunc},
		{Name: "fileset", Meaning: "the files below a directory that a pattern matches", Source: fileRules, Call: staticeval.Pair(t.fileSet)},
	}...)
}

// maxFound bounds the entries that fileset looks at.
const maxFound = 10_000

// fileSet is the function fileset. It also finds files through links.
func (t functionTable) fileSet(dir, pattern string) (cty.Value, error) {
	dir, why := PathIn(path.Dir(t.caller.File.Name), dir)
	if why != nil {
		return cty.NilVal, why
	}
	if rel := path.Clean("/" + pattern); rel != "/"+path.Clean(pattern) {
		return cty.NilVal, &staticeval.Unknown{Reason: "the pattern of fileset leads out of its directory"}
	}
	patterns := braced(path.Clean(pattern), maxGlobs)
	if patterns == nil {
		return cty.NilVal, &staticeval.Unknown{Reason: "the pattern of fileset is too large"}
	}
	var names []cty.Value
	looked := 0
	var notHeld *staticeval.Unknown
	var walk func(rel string) bool
	walk = func(rel string) bool {
		at := path.Join(dir, rel)
		t.reading.Looked[at+"/"] = true
		notHeld = cmp.Or(notHeld, t.reading.Tree.notHeld(path.Join(at, "file")))
		real, _, err := t.reading.stat(at)
		if err != nil {
			return true
		}
		entries, _ := t.reading.Tree.ReadDir(real)
		for _, e := range entries {
			looked++
			if looked > maxFound || !t.reading.Bound.Take(perLooked) || strings.Count(rel, "/") > maxNestedDirs {
				return false
			}
			name := path.Join(rel, e.Name())
			switch {
			case t.reading.isDir(path.Join(dir, name)):
				if !walk(name) {
					return false
				}
			case slices.ContainsFunc(patterns, func(p string) bool { return globs.MatchesElements(strings.Split(p, "/"), strings.Split(name, "/")) }):
				names = append(names, cty.StringVal(name))
			}
		}
		return true
	}
	switch {
	case !walk("."):
		return cty.NilVal, &staticeval.Unknown{Reason: "fileset looks at too many files"}
	case notHeld != nil:
		return cty.NilVal, notHeld
	case len(names) == 0:
		return cty.SetValEmpty(cty.String), nil
	}
	return cty.SetVal(names), nil
}

// maxNestedDirs bounds the depth of the directories that fileset looks at.
const maxNestedDirs = 50

// braced are the patterns that a pattern with braces means. It is nil if there are more
// than most.
func braced(pattern string, most int) []string {
	before, rest, ok := strings.Cut(pattern, "{")
	inner, after, closed := strings.Cut(rest, "}")
	if !ok || !closed || strings.Contains(inner, "{") {
		return []string{pattern}
	}
	var all []string
	for alternative := range strings.SplitSeq(inner, ",") {
		more := braced(before+alternative+after, most)
		all = append(all, more...)
		if more == nil || len(all) > most {
			return nil
		}
	}
	return all
}

// content reads a file. The path may be relative to a directory.
func (t functionTable) content(text, dir string) ([]byte, error) {
	name, why := PathIn(dir, text)
	if why != nil {
		return nil, why
	}
	_, _, _ = t.reading.stat(name)
	src, err := t.reading.Tree.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &staticeval.Unknown{Reason: "it reads a file that is not there"}
	case err != nil:
		return nil, &staticeval.Unknown{Reason: "it reads a file that could not be read: " + file.Cause(err).Error()}
	case !t.reading.Bound.Take(len(src)):
		return nil, staticeval.Costly
	}
	return src, nil
}

// The costs of parsing a byte of a file, and of looking at an entry of a directory, in
// bytes of an evaluation.
const (
	perParsed = 24
	perLooked = 32
)

// readVariables is the function read_tfvars_file.
func (t functionTable) readVariables(text string) (cty.Value, error) {
	src, err := t.content(text, t.caller.dir)
	if err != nil {
		return cty.NilVal, err
	}
	if strings.HasSuffix(text, "json") {
		var object map[string]any
		if err := json.Unmarshal(src, &object); err != nil {
			return cty.NilVal, errors.New("the file is no JSON object")
		}
		return cty.StringVal(string(src)), nil
	}
	if !t.reading.Bound.Take(perParsed * len(src)) {
		return cty.NilVal, staticeval.Costly
	}
	f, diags := hclfile.Parse(src, problem.Place{Path: "variables.tfvars"})
	if len(diags) > 0 {
		return cty.NilVal, errors.New("the file is no valid HCL")
	}
	literals := &Evaluator{reading: t.reading, scope: &staticeval.Scope{Bound: &t.reading.Bound}}
	v := literals.object(Body{f.Body}.Attributes())
	if why := staticeval.ReasonFor(v); why != nil {
		return cty.NilVal, why
	}
	encoded, err := ctyjson.Marshal(v, v.Type())
	return cty.StringVal(string(encoded)), err
}

// readConfigFunc is the function read_terragrunt_config.
func (t functionTable) readConfigFunc() function.Function {
	return function.New(&function.Spec{
		Params:   []function.Parameter{{Name: "path", Type: cty.String}},
		VarParam: &function.Parameter{Name: "default", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true, AllowMarked: true},
		Type:     function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name, why := PathIn(t.caller.dir, args[0].AsString())
			if why != nil {
				return cty.NilVal, why
			}
			if t.reading.isDir(name) {
				name = t.reading.config(name)
			}
			if _, _, err := t.reading.stat(name); err != nil && len(args) == 2 {
				return args[1], nil
			}
			return t.readConfig(name)
		},
	})
}

// readConfig reads another configuration and evaluates it by itself.
func (t functionTable) readConfig(name string) (cty.Value, error) {
	if v, ok := t.reading.objects[name]; ok {
		return v, nil
	}
	// This value is used during the reading. A reference to it then means that the
	// configuration reads itself.
	t.reading.objects[name], _ = notAllowed("a configuration reads itself")
	other, why := t.reading.Open(name, path.Dir(name), nil)
	if why != nil {
		delete(t.reading.objects, name)
		return cty.NilVal, why
	}
	v, why := other.asRead()
	if why != nil {
		delete(t.reading.objects, name)
		return cty.NilVal, why
	}
	t.reading.objects[name] = v
	return v, nil
}

// templateFunc is the function templatefile. A template must not call it
// [terraform 1.11 internal/lang/funcs/filesystem.go].
func (t functionTable) templateFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "path", Type: cty.String},
			{Name: "vars", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true, AllowMarked: true},
		},
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			src, err := t.content(args[0].AsString(), path.Dir(t.caller.File.Name))
			if err != nil {
				return cty.NilVal, err
			}
			if len(src) > staticeval.MaxExpression || !t.reading.Bound.Take(perParsed*len(src)) {
				return cty.NilVal, staticeval.Costly
			}
			expr, diags := hclfile.ParseTemplate(src, problem.Place{Path: t.template(args[0].AsString())})
			if len(diags) > 0 {
				return cty.NilVal, &staticeval.Unknown{Refused: true, Reason: "the file that it reads is no valid template"}
			}
			vars, marks := args[1].Unmark()
			functions := slices.Clone(t.caller.table)
			for i, f := range functions {
				if f.Name == "templatefile" {
					functions[i].Call = notInTemplates
				}
			}
			s := &staticeval.Scope{Functions: functions, Holes: &t.reading.Holes, Bound: &t.reading.Bound}
			s.Refer = func(root, name string) (cty.Value, *staticeval.Unknown) { return templateValue(vars, root, name) }
			v, why := s.Value(expr)
			if why != nil {
				return cty.NilVal, why
			}
			return v.WithMarks(marks), nil
		},
	})
}

// template is the path of a template in messages.
func (t functionTable) template(text string) string {
	name, why := PathIn(path.Dir(t.caller.File.Name), text)
	if why != nil {
		return "template"
	}
	return name
}

// notInTemplates is a function that templates must not call.
var notInTemplates = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "args", Type: cty.DynamicPseudoType},
	Type:     function.StaticReturnType(cty.DynamicPseudoType),
	Impl:     func([]cty.Value, cty.Type) (cty.Value, error) { return notAllowed("a template calls templatefile") },
})

// templateValue is a value that a template refers to.
func templateValue(vars cty.Value, names ...string) (cty.Value, *staticeval.Unknown) {
	for _, name := range names {
		typ := vars.Type()
		switch {
		case name == "":
			continue
		case !vars.IsKnown() && !typ.IsObjectType(), typ == cty.DynamicPseudoType:
			why := staticeval.ReasonFor(vars)
			if why == nil {
				why = &staticeval.Unknown{Reason: "the values of a template are not known"}
			}
			return NotStatic(why)
		case typ.IsObjectType() && typ.HasAttribute(name):
			vars = vars.GetAttr(name)
		case typ.IsMapType() && !vars.IsNull():
			v, diags := hcl.Index(vars, cty.StringVal(name), nil)
			if diags.HasErrors() {
				return notAllowed("a template refers to %s, which is not given", name)
			}
			vars = v
		default:
			return notAllowed("a template refers to %s, which is not given", name)
		}
	}
	return vars, staticeval.ReasonFor(vars)
}

// encodeFunc is the function jsonencode. An unknown value becomes a hole.
func (t functionTable) encodeFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "val", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true, AllowNull: true, AllowMarked: true}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			plain, marks := args[0].UnmarkDeep()
			filled := plain
			if !plain.IsWhollyKnown() {
				why := staticeval.ReasonFor(args[0])
				if why == nil {
					why = &staticeval.Unknown{Reason: "a part of it is not known"}
				}
				if !plain.IsKnown() {
					return cty.NilVal, why
				}
				var err error
				filled, err = cty.Transform(plain, func(_ cty.Path, v cty.Value) (cty.Value, error) {
					if v.IsKnown() {
						return v, nil
					}
					return cty.StringVal(t.reading.Holes.Text(why)), nil
				})
				if err != nil {
					return cty.NilVal, why
				}
			}
			v, err := stdlib.JSONEncode(filled)
			if err != nil {
				return cty.NilVal, err
			}
			return v.WithMarks(marks), nil
		},
	})
}

// deepMergeFunc is the function deep_merge. The last map wins. Nested maps are merged, and
// lists are concatenated
// [terragrunt 1.1 pkg/config/config_helpers.go].
var deepMergeFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "maps", Type: cty.DynamicPseudoType},
	Type:     function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		merged := map[string]any{}
		for _, arg := range args {
			encoded, err := ctyjson.Marshal(arg, arg.Type())
			if err != nil {
				return cty.NilVal, err
			}
			var object map[string]any
			if err := json.Unmarshal(encoded, &object); err != nil {
				return cty.NilVal, errors.New("it takes maps")
			}
			deepMerge(merged, object)
		}
		encoded, err := json.Marshal(merged)
		if err != nil {
			return cty.NilVal, err
		}
		return stdlib.JSONDecode(cty.StringVal(string(encoded)))
	},
})

func deepMerge(into, from map[string]any) {
	for name, v := range from {
		switch own := into[name].(type) {
		case map[string]any:
			if object, ok := v.(map[string]any); ok {
				deepMerge(own, object)
				continue
			}
		case []any:
			if list, ok := v.([]any); ok {
				into[name] = slices.Concat(own, list)
				continue
			}
		}
		into[name] = v
	}
}
