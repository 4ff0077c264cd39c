package scan

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are those that early evaluation has: of what both tools offer, the
// ones whose result depends on nothing but their arguments. Most are cty's own;
// where the tools differ from cty, so do these. What is missing (times, random
// values, YAML, networks, templates, most of what reads files) is not
// statically known here.
var functions = map[string]function.Function{
	"abs":             stdlib.AbsoluteFunc,
	"alltrue":         quantifier(cty.True),
	"anytrue":         quantifier(cty.False),
	"base64decode":    textual(decodeBase64),
	"base64encode":    textual(func(s string) (string, error) { return base64.StdEncoding.EncodeToString([]byte(s)), nil }),
	"basename":        textual(func(s string) (string, error) { return path.Base(s), nil }),
	"can":             tryfunc.CanFunc,
	"ceil":            stdlib.CeilFunc,
	"chomp":           stdlib.ChompFunc,
	"chunklist":       stdlib.ChunklistFunc,
	"coalesce":        coalesceFunc,
	"coalescelist":    stdlib.CoalesceListFunc,
	"compact":         stdlib.CompactFunc,
	"concat":          stdlib.ConcatFunc,
	"contains":        stdlib.ContainsFunc,
	"csvdecode":       stdlib.CSVDecodeFunc,
	"dirname":         textual(func(s string) (string, error) { return path.Dir(s), nil }),
	"distinct":        stdlib.DistinctFunc,
	"element":         stdlib.ElementFunc,
	"endswith":        textTest(strings.HasSuffix),
	"flatten":         stdlib.FlattenFunc,
	"floor":           stdlib.FloorFunc,
	"format":          stdlib.FormatFunc,
	"formatlist":      stdlib.FormatListFunc,
	"indent":          stdlib.IndentFunc,
	"index":           indexFunc,
	"issensitive":     isSensitiveFunc,
	"join":            stdlib.JoinFunc,
	"jsondecode":      stdlib.JSONDecodeFunc,
	"jsonencode":      stdlib.JSONEncodeFunc,
	"keys":            stdlib.KeysFunc,
	"length":          lengthFunc,
	"log":             stdlib.LogFunc,
	"lookup":          lookupFunc,
	"lower":           stdlib.LowerFunc,
	"max":             stdlib.MaxFunc,
	"md5":             digest(func(b []byte) []byte { sum := md5.Sum(b); return sum[:] }),
	"merge":           stdlib.MergeFunc,
	"min":             stdlib.MinFunc,
	"nonsensitive":    marking(func(v cty.Value) cty.Value { return without(v, sensitive) }),
	"one":             oneFunc,
	"parseint":        stdlib.ParseIntFunc,
	"pow":             stdlib.PowFunc,
	"range":           stdlib.RangeFunc,
	"regex":           stdlib.RegexFunc,
	"regexall":        stdlib.RegexAllFunc,
	"replace":         replaceFunc,
	"reverse":         stdlib.ReverseListFunc,
	"sensitive":       marking(func(v cty.Value) cty.Value { return v.Mark(sensitive) }),
	"setintersection": stdlib.SetIntersectionFunc,
	"setproduct":      stdlib.SetProductFunc,
	"setsubtract":     stdlib.SetSubtractFunc,
	"setunion":        stdlib.SetUnionFunc,
	"sha1":            digest(func(b []byte) []byte { sum := sha1.Sum(b); return sum[:] }),
	"sha256":          digest(func(b []byte) []byte { sum := sha256.Sum256(b); return sum[:] }),
	"sha512":          digest(func(b []byte) []byte { sum := sha512.Sum512(b); return sum[:] }),
	"signum":          stdlib.SignumFunc,
	"slice":           stdlib.SliceFunc,
	"sort":            stdlib.SortFunc,
	"split":           stdlib.SplitFunc,
	"startswith":      textTest(strings.HasPrefix),
	"strcontains":     textTest(strings.Contains),
	"strrev":          stdlib.ReverseFunc,
	"substr":          stdlib.SubstrFunc,
	"title":           stdlib.TitleFunc,
	"tobool":          stdlib.MakeToFunc(cty.Bool),
	"tolist":          stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
	"tomap":           stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
	"tonumber":        stdlib.MakeToFunc(cty.Number),
	"toset":           stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
	"tostring":        stdlib.MakeToFunc(cty.String),
	"trim":            stdlib.TrimFunc,
	"trimprefix":      stdlib.TrimPrefixFunc,
	"trimspace":       stdlib.TrimSpaceFunc,
	"trimsuffix":      stdlib.TrimSuffixFunc,
	"try":             tryfunc.TryFunc,
	"upper":           stdlib.UpperFunc,
	"urlencode":       textual(func(s string) (string, error) { return url.QueryEscape(s), nil }),
	"values":          stdlib.ValuesFunc,
	"zipmap":          stdlib.ZipmapFunc,
}

// expanding are the functions that can return more elements than they get.
var expanding = []string{"csvdecode", "jsondecode", "range", "regexall", "setproduct", "split"}

// multiplying are those whose work, and result, can be as large as the product
// of their first argument and the others.
var multiplying = []string{"format", "formatlist", "join", "replace", "trim"}

// sensitivity marks values as the tools do.
type sensitivity string

const (
	sensitive sensitivity = "sensitive"
	ephemeral sensitivity = "ephemeral"
)

func textual(do func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			text, err := do(args[0].AsString())
			return cty.StringVal(text), err
		},
	})
}

func digest(sum func([]byte) []byte) function.Function {
	return textual(func(s string) (string, error) { return hex.EncodeToString(sum([]byte(s))), nil })
}

func decodeBase64(s string) (string, error) {
	decoded, err := base64.StdEncoding.DecodeString(s)
	if err != nil || !utf8.Valid(decoded) {
		return "", errors.New("it is not UTF-8 in Base64")
	}
	return string(decoded), nil
}

func textTest(holds func(s, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: "part", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(holds(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

// quantifier makes alltrue and anytrue: the result is the given one unless an
// element differs.
func quantifier(unless cty.Value) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			result := unless
			for _, v := range args[0].AsValueSlice() {
				switch {
				case !v.IsKnown():
					result = cty.UnknownVal(cty.Bool)
				case !v.IsNull() && v.True() != unless.True(), v.IsNull() && unless.True():
					return unless.Not(), nil
				}
			}
			return result, nil
		},
	})
}

// marking makes a function that returns its argument with other marks.
func marking(do func(cty.Value) cty.Value) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{anything("value")},
		Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return do(args[0]), nil },
	})
}

func without(v cty.Value, mark sensitivity) cty.Value {
	v, marks := v.Unmark()
	delete(marks, mark)
	return v.WithMarks(marks)
}

// anything is a parameter that takes every value as it is.
func anything(name string) function.Parameter {
	return function.Parameter{
		Name: name, Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true,
	}
}

var isSensitiveFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("value")},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if !args[0].IsKnown() && !args[0].HasMark(sensitive) {
			return cty.UnknownVal(cty.Bool), nil
		}
		return cty.BoolVal(args[0].HasMark(sensitive)), nil
	},
})

// coalesceFunc returns the first argument that is neither null nor an empty
// string, which cty's own would return.
var coalesceFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "vals", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true, AllowNull: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		types := make([]cty.Type, len(args))
		for i, arg := range args {
			types[i] = arg.Type()
		}
		typ, _ := convert.UnifyUnsafe(types)
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

// lengthFunc measures strings too.
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

// lookupFunc takes objects too, and needs no default for a key that is there.
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

// indexFunc returns where a value is in a list, which cty's own tells of a key.
var indexFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}, {Name: "value", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if typ := args[0].Type(); !typ.IsListType() && !typ.IsTupleType() {
			return cty.NilVal, errors.New("it needs a list")
		}
		for i, v := range args[0].AsValueSlice() {
			equal, err := stdlib.Equal(v, args[1])
			switch {
			case err != nil:
				return cty.NilVal, err
			case !equal.IsKnown():
				return cty.UnknownVal(cty.Number), nil
			case equal.True():
				return cty.NumberIntVal(int64(i)), nil
			}
		}
		return cty.NilVal, errors.New("there is no such element")
	},
})

// oneFunc returns the only element of a collection, or null if it is empty.
var oneFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type: func(args []cty.Value) (cty.Type, error) {
		switch typ := args[0].Type(); {
		case typ.IsListType() || typ.IsSetType():
			return typ.ElementType(), nil
		case typ.IsTupleType() && typ.Length() == 1:
			return typ.TupleElementType(0), nil
		case typ.IsTupleType() && typ.Length() == 0:
			return cty.DynamicPseudoType, nil
		}
		return cty.NilType, errors.New("it needs a list, set or tuple of at most one element")
	},
	Impl: func(args []cty.Value, typ cty.Type) (cty.Value, error) {
		switch elements := args[0].AsValueSlice(); len(elements) {
		case 0:
			return cty.NullVal(typ), nil
		case 1:
			return elements[0], nil
		}
		return cty.NilVal, errors.New("it needs a list, set or tuple of at most one element")
	},
})

// replaceFunc takes what stands between slashes as a regular expression.
var replaceFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: "substr", Type: cty.String}, {Name: "replace", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		s, old, with := args[0].AsString(), args[1].AsString(), args[2].AsString()
		if len(old) < 2 || old[0] != '/' || old[len(old)-1] != '/' {
			return cty.StringVal(strings.ReplaceAll(s, old, with)), nil
		}
		re, err := regexp.Compile(old[1 : len(old)-1])
		if err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(re.ReplaceAllString(s, with)), nil
	},
})

// bounded returns the function as one that is not called where its work would
// exceed what evaluations may take: then its result is not known.
func (e *evaluation) bounded(name string, f function.Function) function.Function {
	return function.New(&function.Spec{
		Params:   f.Params(),
		VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if !e.spend(callEffort(name, args)) {
				return cty.DynamicPseudoType, nil
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, typ cty.Type) (cty.Value, error) {
			if e.exhausted() {
				return cty.UnknownVal(typ), nil
			}
			v, err := f.Call(args)
			if err == nil && sizeOf(v) > maxValue {
				e.note(failure{why: complexity})
				return cty.UnknownVal(v.Type()), nil
			}
			return v, err
		},
	})
}

// callEffort estimates the work of a call. It is more than all evaluations may
// take if an argument is too large, or if the result would be.
func callEffort(name string, args []cty.Value) int {
	const perCall = 64
	sizes, sum, product := make([]int, len(args)), perCall, 1
	for i, arg := range args {
		sizes[i] = 1
		if !arg.Type().IsCapsuleType() { // those are the arguments of try and can
			sizes[i] = sizeOf(arg)
		}
		sum += sizes[i]
		product = min(product*sizes[i], maxEffort)
		if sizes[i] > maxValue {
			return maxEffort + 1
		}
	}
	switch {
	case pads(name, args):
		return maxEffort + 1
	case name == "setproduct":
		return sum + product
	case slices.Contains(multiplying, name) && len(args) > 0:
		return sum + sizes[0]*(sum-sizes[0])
	}
	return sum
}

// manyDigits is a number in a format that pads the result to an absurd size.
var manyDigits = regexp.MustCompile(`[0-9]{4,}`)

// pads reports whether a function would pad its result to an absurd size.
func pads(name string, args []cty.Value) bool {
	const most = 200 // spaces
	if len(args) == 0 || !args[0].IsKnown() || args[0].IsNull() {
		return false
	}
	first := plain(args[0])
	switch {
	case strings.HasPrefix(name, "format") && first.Type() == cty.String:
		return manyDigits.MatchString(first.AsString())
	case name == "indent" && first.Type() == cty.Number:
		return first.GreaterThan(cty.NumberIntVal(most)).True()
	}
	return false
}

// unsupported stands for a function that is not evaluated here.
func (e *evaluation) unsupported(name string) function.Function {
	any := anything("args")
	return function.New(&function.Spec{
		VarParam: &any,
		Type:     function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			e.note(failure{why: fmt.Sprintf("it calls %s, which is not evaluated here", name)})
			return cty.DynamicVal, nil
		},
	})
}
