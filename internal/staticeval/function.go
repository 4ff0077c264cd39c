package staticeval

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/relock-dev/relock/internal/collect"
)

// Function is a function that expressions can call.
type Function struct {
	Name    string
	Meaning string // its result, in a few words
	Source  string // the source of its rule
	// Call evaluates it. An Unknown as error means that it has no value here. Any
	// other error is a mistake in the expression.
	Call function.Function
	// Cost is an upper bound of the size of the result and of the work, beyond
	// the total size of the arguments. Some arguments may be unknown. Nil means
	// 0.
	Cost func(args []cty.Value) int
}

// The sources of the rules.
const (
	library     = "cty 1.19 function/stdlib"
	tries       = "hcl 2.24 ext/tryfunc/tryfunc.go"
	texts       = "terraform 1.11 internal/lang/funcs/string.go"
	collections = "terraform 1.11 internal/lang/funcs/collection.go"
	markers     = "terraform 1.11 internal/lang/funcs/sensitive.go"
)

// Tools are the functions of Terraform and OpenTofu that have a value here: those
// of both, whose arguments limit the result. There are no regular expressions,
// whose work has no limit, and no functions of time, chance or a network.
var Tools = []Function{
	{"can", "whether an expression has a value", tries, canFunc, nil},
	{"coalesce", "the first argument that is neither null nor an empty string", collections, coalesceFunc, costOfTypes},
	{"concat", "lists one after the other", library, stdlib.ConcatFunc, nil},
	{"element", "an element of a list, counted round", library, stdlib.ElementFunc, nil},
	{"format", "a text with values in it", library, stdlib.FormatFunc, costOfFormat},
	{"join", "texts with another between them", library, stdlib.JoinFunc, costOfJoin},
	{"jsondecode", "the value of a JSON text", library, stdlib.JSONDecodeFunc, costOfJSON},
	{"length", "how many elements or characters there are", collections, lengthFunc, nil},
	{"lookup", "an element of a map or object, or a default", collections, lookupFunc, nil},
	{"lower", "a text in lower case", library, stdlib.LowerFunc, nil},
	{"merge", "maps or objects in one", library, stdlib.MergeFunc, nil},
	{"nonsensitive", "a value that may be shown", markers, marking(func(v cty.Value) cty.Value { return without(v, Sensitive) }), nil},
	{"replace", "a text with parts replaced", texts, replaceFunc(false), costOfReplace},
	{"sensitive", "a value that must not be shown", markers, marking(func(v cty.Value) cty.Value { return v.Mark(Sensitive) }), nil},
	{"split", "the parts of a text between separators", library, stdlib.SplitFunc, costOfSplit},
	{"startswith", "whether a text begins with another", texts, textTest(strings.HasPrefix), nil},
	{"tolist", "a value as a list", library, stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), nil},
	{"tostring", "a value as a text", library, stdlib.MakeToFunc(cty.String), nil},
	{"trim", "a text without some characters at its ends", library, stdlib.TrimFunc, costOfTrim},
	{"trimprefix", "a text without what it begins with", library, stdlib.TrimPrefixFunc, nil},
	{"trimspace", "a text without spaces at its ends", library, stdlib.TrimSpaceFunc, nil},
	{"trimsuffix", "a text without what it ends with", library, stdlib.TrimSuffixFunc, nil},
	{"try", "the first expression that has a value", tries, tryFunc, nil},
	{"upper", "a text in upper case", library, stdlib.UpperFunc, nil},
}

// Mark is a mark on values [terraform 1.11 internal/lang/marks/marks.go].
type Mark string

// The marks.
const (
	Sensitive Mark = "sensitive"
	Ephemeral Mark = "ephemeral"
)

// functionOf makes a function of known arguments, whose result has one type.
func functionOf(result cty.Type, do func(args []cty.Value) (cty.Value, error), params ...cty.Type) function.Function {
	spec := &function.Spec{
		Type: function.StaticReturnType(result),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return do(args) },
	}
	for _, typ := range params {
		spec.Params = append(spec.Params, function.Parameter{Name: "arg", Type: typ})
	}
	return function.New(spec)
}

// Text makes a function of a text, such as a path.
func Text(do func(text string) (cty.Value, error)) function.Function {
	return functionOf(cty.DynamicPseudoType, func(args []cty.Value) (cty.Value, error) { return do(args[0].AsString()) }, cty.String)
}

// Pair makes a function of two texts.
func Pair(do func(first, second string) (cty.Value, error)) function.Function {
	return functionOf(cty.DynamicPseudoType, func(args []cty.Value) (cty.Value, error) {
		return do(args[0].AsString(), args[1].AsString())
	}, cty.String, cty.String)
}

// unsupported is used for a function that is not in the table.
func unsupported(name string) Function {
	args := anything("args")
	return Function{Name: name, Call: function.New(&function.Spec{
		VarParam: &args,
		Type:     function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			return cty.DynamicVal, notEvaluated(name)
		},
	})}
}

func notEvaluated(name string) *Unknown {
	return &Unknown{Reason: fmt.Sprintf("it calls %s, which is not evaluated here", name)}
}

// anything is a parameter that accepts every value unchanged.
func anything(name string) function.Parameter {
	return function.Parameter{
		Name: name, Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true,
	}
}

// tryFunc evaluates its arguments once, unlike the library's: nested calls would
// double the work at each level.
var tryFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "expressions", Type: customdecode.ExpressionClosureType},
	Type:     function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		for _, arg := range args {
			value, diags := customdecode.ExpressionClosureFromVal(arg).Value()
			switch {
			case diags.HasErrors():
			case !value.IsWhollyKnown(): // once it is known, it may be an error
				return cty.DynamicVal, nil
			default:
				return value, nil
			}
		}
		return cty.NilVal, errors.New("no expression has a value")
	},
})

var canFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "expression", Type: customdecode.ExpressionClosureType}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		value, diags := customdecode.ExpressionClosureFromVal(args[0]).Value()
		if !diags.HasErrors() && !value.IsWhollyKnown() {
			return cty.UnknownVal(cty.Bool), nil
		}
		return cty.BoolVal(!diags.HasErrors()), nil
	},
})

// marking makes a function that changes the marks of its argument.
func marking(do func(cty.Value) cty.Value) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{anything("value")},
		Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return do(args[0]), nil },
	})
}

func without(v cty.Value, mark Mark) cty.Value {
	v, marks := v.Unmark()
	delete(marks, mark)
	return v.WithMarks(marks)
}

// coalesceFunc skips empty strings; cty's own would return them.
var coalesceFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "vals", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true, AllowNull: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		typ, _ := convert.UnifyUnsafe(collect.Mapped(args, cty.Value.Type))
		if typ == cty.NilType {
			return cty.NilType, errors.New("all arguments must have the same type")
		}
		return typ, nil
	},
	Impl: func(args []cty.Value, typ cty.Type) (cty.Value, error) {
		for _, arg := range args {
			arg, err := convert.Convert(arg, typ)
			switch {
			case err != nil:
				return cty.NilVal, err
			case !arg.IsKnown():
				return cty.UnknownVal(typ), nil
			case !arg.IsNull() && (typ != cty.String || arg.AsString() != ""):
				return arg, nil
			}
		}
		return cty.NilVal, errors.New("no non-null, non-empty-string arguments")
	},
})

// lengthFunc measures strings, too.
var lengthFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch v := args[0]; {
		case v.Type() == cty.DynamicPseudoType:
			return cty.UnknownVal(cty.Number), nil
		case v.Type() == cty.String:
			return stdlib.Strlen(v)
		case v.Type().IsObjectType():
			return cty.NumberIntVal(int64(len(v.Type().AttributeTypes()))), nil
		case v.CanIterateElements() || !v.IsKnown():
			return v.Length(), nil
		}
		return cty.NilVal, errors.New("it has no length")
	},
})

// lookupFunc accepts objects, too, and needs no default for a present key.
var lookupFunc = function.New(&function.Spec{
	Params:   []function.Parameter{{Name: "inputMap", Type: cty.DynamicPseudoType}, {Name: "key", Type: cty.String}},
	VarParam: &function.Parameter{Name: "default", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true, AllowNull: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		if !args[0].IsWhollyKnown() || !args[1].IsKnown() {
			return cty.DynamicPseudoType, nil
		}
		v, err := lookup(args)
		return v.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return lookup(args) },
})

func lookup(args []cty.Value) (cty.Value, error) {
	in, key := args[0], args[1].AsString()
	switch typ := in.Type(); {
	case len(args) > 3:
		return cty.DynamicVal, errors.New("it takes two or three arguments")
	case typ.IsObjectType() && typ.HasAttribute(key):
		return in.GetAttr(key), nil
	case typ.IsMapType() && in.HasIndex(args[1]).True():
		return in.Index(args[1]), nil
	case !typ.IsObjectType() && !typ.IsMapType():
		return cty.DynamicVal, errors.New("it needs a map or an object")
	case len(args) < 3:
		return cty.DynamicVal, errors.New("there is no such key")
	case typ.IsMapType():
		v, err := convert.Convert(args[2], typ.ElementType())
		if err != nil {
			return cty.DynamicVal, err
		}
		return v, nil
	}
	return args[2], nil
}

// replaceFunc treats a text between slashes as a regular expression, or refuses
// it: the length of an expression does not limit its work.
func replaceFunc(regular bool) function.Function {
	return functionOf(cty.String, func(args []cty.Value) (cty.Value, error) {
		pattern, ok := betweenSlashes(args[1].AsString())
		switch {
		case ok && !regular:
			return cty.NilVal, notEvaluated("replace with a regular expression")
		case ok:
			return stdlib.RegexReplace(args[0], cty.StringVal(pattern), args[2])
		}
		return stdlib.Replace(args[0], args[1], args[2])
	}, cty.String, cty.String, cty.String)
}

func betweenSlashes(text string) (string, bool) {
	if len(text) > 1 && strings.HasPrefix(text, "/") && strings.HasSuffix(text, "/") {
		return text[1 : len(text)-1], true
	}
	return "", false
}

func textTest(holds func(text, part string) bool) function.Function {
	return functionOf(cty.Bool, func(args []cty.Value) (cty.Value, error) {
		return cty.BoolVal(holds(args[0].AsString(), args[1].AsString())), nil
	}, cty.String, cty.String)
}

// text is a known string, else empty.
func text(v cty.Value) string {
	v, _ = v.Unmark()
	if v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		return ""
	}
	return v.AsString()
}

// times is the cost of a result of up to n times the size of the arguments.
func times(n int) func([]cty.Value) int {
	return func(args []cty.Value) int { return (n - 1) * costs(args) }
}

// costOfTypes counts the unification of the arguments' types.
func costOfTypes(args []cty.Value) int { return pairs(len(args)) }

func costOfReplace(args []cty.Value) int {
	return strings.Count(text(args[0]), text(args[1])) * len(text(args[2]))
}

// costOfTrim counts every comparison of two characters.
func costOfTrim(args []cty.Value) int {
	return len(text(args[0])) * utf8.RuneCountInString(text(args[1]))
}

func costOfJoin(args []cty.Value) int {
	sum := 0
	for _, list := range args[1:] {
		sum += elements(list) * len(text(args[0]))
	}
	return sum
}

func costOfSplit(args []cty.Value) int { return perValue * strings.Count(text(args[1]), text(args[0])) }

// costOfJSON counts an element for each sign that can begin one. The library
// reads each element again for each list or object around it [cty 1.19
// cty/json/unmarshal.go].
func costOfJSON(args []cty.Value) int {
	src := text(args[0])
	return perValue*signsIn(args[0], "{", "[", ",", ":") + len(src)*depthOfJSON(src)/4
}

// depthOfJSON is the depth of nested lists and objects.
func depthOfJSON(src string) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}

// signsIn counts signs in a text.
func signsIn(src cty.Value, signs ...string) int {
	n := 0
	for _, sign := range signs {
		n += strings.Count(text(src), sign)
	}
	return n
}

// longWidth matches a format's number that pads the result to an absurd size.
var longWidth = regexp.MustCompile(`[0-9]{4,}`)

// costOfFormat assumes that each verb writes all arguments, pads them, and
// escapes every character as in JSON.
func costOfFormat(args []cty.Value) int {
	const escaped, padding = 6, 1000
	format := text(args[0])
	if longWidth.MatchString(format) {
		return maxEvaluation + 1
	}
	return strings.Count(format, "%") * (escaped*costs(args[1:]) + padding)
}
