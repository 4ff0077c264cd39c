package staticeval

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

const (
	encodings = "terraform 1.11 internal/lang/funcs/encoding.go"
	numbers   = "terraform 1.11 internal/lang/funcs/number.go"
)

// Wide are further functions of Terraform and OpenTofu, for callers that evaluate
// more than the sources of modules. The size of their arguments does not limit
// their result or work, but the cost can be computed from the arguments.
var Wide = []Function{
	{"abs", "a number without its sign", library, stdlib.AbsoluteFunc, nil},
	{"alltrue", "whether all elements are true", collections, allFunc(true), nil},
	{"anytrue", "whether an element is true", collections, allFunc(false), nil},
	{"base64decode", "the text that is written in base64", encodings, base64DecodeFunc, nil},
	{"base64encode", "a text in base64", encodings, encoded("base64"), times(3)},
	{"base64sha256", "a digest of a text", digests, encoded("base64sha256"), nil},
	{"base64sha512", "a digest of a text", digests, encoded("base64sha512"), nil},
	{"ceil", "the next integer above", library, stdlib.CeilFunc, nil},
	{"chomp", "a text without line ends at its end", library, stdlib.ChompFunc, nil},
	{"chunklist", "lists of so many elements", library, stdlib.ChunklistFunc, nil},
	{"cidrhost", "the address of a host in a network", addressRules, cidrHostFunc, nil},
	{"cidrnetmask", "the netmask of a network", addressRules, cidrNetmaskFunc, nil},
	{"cidrsubnet", "a network in another", addressRules, cidrSubnetFunc, nil},
	{"cidrsubnets", "networks in another, one after the other", addressRules, cidrSubnetsFunc, costOfSubnets},
	{"coalescelist", "the first list that is not empty", library, stdlib.CoalesceListFunc, nil},
	{"compact", "a list without empty strings", library, stdlib.CompactFunc, nil},
	{"contains", "whether a list has an element", library, stdlib.ContainsFunc, nil},
	{"csvdecode", "the rows of CSV", library, stdlib.CSVDecodeFunc, costOfCSV},
	{"distinct", "a list without repetitions", library, stdlib.DistinctFunc, costOfPairs},
	{"endswith", "whether a text ends with another", texts, textTest(strings.HasSuffix), nil},
	{"flatten", "a list of what nested lists hold", library, stdlib.FlattenFunc, nil},
	{"floor", "the next integer below", library, stdlib.FloorFunc, nil},
	{"formatdate", "a time in another form", library, stdlib.FormatDateFunc, costOfDate},
	{"formatlist", "texts with values in them", library, stdlib.FormatListFunc, costOfFormatList},
	{"indent", "a text whose lines begin further right", library, stdlib.IndentFunc, costOfIndent},
	{"index", "where in a list an element is", collections, indexFunc, costOfIndex},
	{"keys", "the keys of a map or object", library, stdlib.KeysFunc, nil},
	{"log", "the logarithm of a number", numbers, stdlib.LogFunc, nil},
	{"matchkeys", "the values whose keys are among others", collections, matchKeysFunc, costOfPairs},
	{"max", "the greatest number", library, stdlib.MaxFunc, nil},
	{"md5", "a digest of a text", digests, encoded("md5"), nil},
	{"min", "the smallest number", library, stdlib.MinFunc, nil},
	{"one", "the only element, or null", collections, oneFunc, nil},
	{"parseint", "the integer that a text shows", library, stdlib.ParseIntFunc, times(8)}, // digits are converted to another base
	{"pow", "a power of a number", numbers, stdlib.PowFunc, nil},
	{"range", "a list of numbers", library, stdlib.RangeFunc, costOfRange},
	{"regex", "what a regular expression finds", library, stdlib.RegexFunc, costOfRegex},
	{"regexall", "all that a regular expression finds", library, stdlib.RegexAllFunc, costOfRegex},
	{"replace", "a text with parts replaced", texts, replaceFunc(true), costOfReplaceAll},
	{"reverse", "a list from its end", library, stdlib.ReverseListFunc, nil},
	{"setintersection", "what all sets have", library, stdlib.SetIntersectionFunc, costOfPairs},
	{"setproduct", "all combinations of elements", library, stdlib.SetProductFunc, costOfProduct},
	{"setsubtract", "what a set has and another has not", library, stdlib.SetSubtractFunc, costOfPairs},
	{"setunion", "what any set has", library, stdlib.SetUnionFunc, costOfPairs},
	{"sha1", "a digest of a text", digests, encoded("sha1"), nil},
	{"sha256", "a digest of a text", digests, encoded("sha256"), nil},
	{"sha512", "a digest of a text", digests, encoded("sha512"), nil},
	{"signum", "whether a number is positive or negative", library, stdlib.SignumFunc, nil},
	{"slice", "a part of a list", library, stdlib.SliceFunc, nil},
	{"sort", "a list of texts in order", library, stdlib.SortFunc, nil},
	{"strcontains", "whether a text has another in it", texts, textTest(strings.Contains), nil},
	{"strrev", "a text from its end", library, stdlib.ReverseFunc, nil},
	{"substr", "a part of a text", library, stdlib.SubstrFunc, nil},
	{"sum", "numbers together", collections, sumFunc, nil},
	{"timeadd", "a time, so much later", library, stdlib.TimeAddFunc, nil},
	{"title", "a text with capitals", library, stdlib.TitleFunc, nil},
	{"tobool", "a value as a boolean", library, stdlib.MakeToFunc(cty.Bool), nil},
	{"tomap", "a value as a map", library, stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)), nil},
	{"tonumber", "a value as a number", library, stdlib.MakeToFunc(cty.Number), costOfNumber},
	{"toset", "a value as a set", library, stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)), costOfPairs},
	{"transpose", "a map of lists, the other way round", collections, transposeFunc, costOfPairs},
	{"urlencode", "a text as a part of a URL", encodings, urlEncodeFunc, times(3)},
	{"values", "the values of a map or object", library, stdlib.ValuesFunc, nil},
	{"yamldecode", "the value of a YAML text", encodings, yaml.YAMLDecodeFunc, costOfYAML},
	{"yamlencode", "a value as YAML", encodings, yaml.YAMLEncodeFunc, costOfYAMLText},
	{"zipmap", "a map of keys and values", library, stdlib.ZipmapFunc, nil},
}

func allFunc(want bool) function.Function {
	return functionOf(cty.Bool, func(args []cty.Value) (cty.Value, error) {
		for _, v := range args[0].AsValueSlice() {
			switch {
			case !v.IsKnown():
				return cty.UnknownVal(cty.Bool), nil
			case (!v.IsNull() && v.True()) != want:
				return cty.BoolVal(!want), nil
			}
		}
		return cty.BoolVal(want), nil
	}, cty.List(cty.Bool))
}

var oneFunc = functionOf(cty.DynamicPseudoType, func(args []cty.Value) (cty.Value, error) {
	typ := args[0].Type()
	if !typ.IsListType() && !typ.IsSetType() && !typ.IsTupleType() {
		return cty.NilVal, errors.New("it needs a list, a set or a tuple")
	}
	switch elements := args[0].AsValueSlice(); len(elements) {
	case 0:
		return cty.NullVal(cty.DynamicPseudoType), nil
	case 1:
		return elements[0], nil
	}
	return cty.NilVal, errors.New("it has more than one element")
}, cty.DynamicPseudoType)

// regexWork is the cost of a regular expression over a text. The engine reads the
// text once. Its time grows with the expression's program, which repeats a part
// as often as the expression counts.
func regexWork(pattern, text string) int {
	program := len(pattern) + perValue
	for _, m := range repetition.FindAllStringSubmatch(pattern, -1) {
		for _, number := range m[1:] {
			if n, err := strconv.Atoi(number); err == nil {
				program *= min(max(n, 1), maxEvaluation)
			}
		}
		if program > maxEvaluation {
			break
		}
	}
	return min(program*(1+len(text)/16), maxEvaluation+1)
}

var repetition = regexp.MustCompile(`\{(\d{1,9})(?:,(\d{0,9}))?\}`)

// costOfRegex counts a match for every few characters.
func costOfRegex(args []cty.Value) int {
	return regexWork(text(args[0]), text(args[1])) + perValue*min(len(text(args[1])), maxEvaluation)
}

func costOfReplaceAll(args []cty.Value) int {
	from, with := text(args[0]), text(args[2])
	pattern, ok := betweenSlashes(text(args[1]))
	if !ok {
		return costOfReplace(args)
	}
	return regexWork(pattern, from) + (len(from)+1)*len(with) + strings.Count(with, "$")*len(from)
}

// costOfPairs counts a comparison of each element with each.
func costOfPairs(args []cty.Value) int {
	n := 0
	for _, arg := range args {
		n += elements(arg)
	}
	return pairs(n)
}

// elements is the number of elements; 1 for a value that is no collection.
func elements(v cty.Value) int {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() {
		return 1
	}
	return v.LengthInt()
}

func costOfFormatList(args []cty.Value) int {
	most := 1
	for _, arg := range args[1:] {
		most = max(most, elements(arg))
	}
	return min(most, maxEvaluation) * (len(text(args[0])) + costs(args[1:]) + costOfFormat(args))
}

func costOfIndent(args []cty.Value) int {
	spaces := 0
	if n, _ := args[0].Unmark(); n.Type() == cty.Number && n.IsKnown() && !n.IsNull() {
		f, _ := n.AsBigFloat().Float64()
		spaces = int(max(0, min(f, maxEvaluation+1)))
	}
	return spaces * (1 + strings.Count(text(args[1]), "\n"))
}

// costOfRange uses the library's limit of the length.
func costOfRange([]cty.Value) int { return 1024 * perValue }

func costOfProduct(args []cty.Value) int {
	product := 1
	for _, arg := range args {
		product = min(product*max(elements(arg), 1), maxEvaluation)
	}
	return costs(args)*(product-1) + pairs(product)
}

func costOfNumber(args []cty.Value) int { return exponent(text(args[0])) }

// costOfYAML counts an element for each sign that can begin one, and the highest
// depth of lists and objects in brackets. It also counts what aliases repeat:
// each can double the size.
func costOfYAML(args []cty.Value) int {
	elements := perValue*(1+signsIn(args[0], "\n", "{", "[", ",", ":", "- ", "? ")) + len(text(args[0]))*signsIn(args[0], "{", "[")/64
	if src := text(args[0]); strings.Contains(src, "&") {
		return (costs(args)+elements)<<min(strings.Count(src, "*"), 20) - costs(args)
	}
	return elements
}

var indexFunc = functionOf(cty.Number, func(args []cty.Value) (cty.Value, error) {
	if typ := args[0].Type(); !typ.IsListType() && !typ.IsTupleType() {
		return cty.NilVal, errors.New("it needs a list")
	}
	i := slices.IndexFunc(args[0].AsValueSlice(), equals(args[1]))
	if i < 0 {
		return cty.NilVal, errors.New("there is no such element")
	}
	return cty.NumberIntVal(int64(i)), nil
}, cty.DynamicPseudoType, cty.DynamicPseudoType)

// equals reports whether a value is known to equal another.
func equals(v cty.Value) func(cty.Value) bool {
	return func(other cty.Value) bool {
		same := other.Equals(v)
		return same.IsKnown() && same.True()
	}
}

func costOfIndex(args []cty.Value) int { return elements(args[0]) * cost(args[1], false) }

// matchKeysFunc returns the elements of a list at the places where another list
// has one of some values.
var matchKeysFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "values", Type: cty.List(cty.DynamicPseudoType)}, {Name: "keys", Type: cty.List(cty.DynamicPseudoType)}, {Name: "searchset", Type: cty.List(cty.DynamicPseudoType)},
	},
	Type: func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
	Impl: func(args []cty.Value, typ cty.Type) (cty.Value, error) {
		if args[0].LengthInt() != args[1].LengthInt() {
			return cty.NilVal, errors.New("there must be as many keys as values")
		}
		var found []cty.Value
		values, wanted := args[0].AsValueSlice(), args[2].AsValueSlice()
		for i, key := range args[1].AsValueSlice() {
			if slices.ContainsFunc(wanted, equals(key)) {
				found = append(found, values[i])
			}
		}
		if len(found) == 0 {
			return cty.ListValEmpty(typ.ElementType()), nil
		}
		return cty.ListVal(found), nil
	},
})

var sumFunc = functionOf(cty.Number, func(args []cty.Value) (cty.Value, error) {
	if args[0].LengthInt() == 0 {
		return cty.NilVal, errors.New("the list is empty")
	}
	sum := cty.Zero
	for _, v := range args[0].AsValueSlice() {
		if v.IsNull() {
			return cty.NilVal, errors.New("the list has a null")
		}
		sum = sum.Add(v)
	}
	return sum, nil
}, cty.List(cty.Number))

var transposeFunc = functionOf(cty.Map(cty.List(cty.String)), func(args []cty.Value) (cty.Value, error) {
	lists := map[string][]cty.Value{}
	for keys := args[0].ElementIterator(); keys.Next(); { // keys, and so the lists, are in order
		key, list := keys.Element()
		if list.IsNull() {
			return cty.NilVal, errors.New("the map has a null")
		}
		for _, v := range list.AsValueSlice() {
			if v.IsNull() {
				return cty.NilVal, errors.New("a list has a null")
			}
			lists[v.AsString()] = append(lists[v.AsString()], key)
		}
	}
	turned := map[string]cty.Value{}
	for name, list := range lists {
		turned[name] = cty.ListVal(list)
	}
	if len(turned) == 0 {
		return cty.MapValEmpty(cty.List(cty.String)), nil
	}
	return cty.MapVal(turned), nil
}, cty.Map(cty.List(cty.String)))

// costOfSubnets counts one address each.
func costOfSubnets(args []cty.Value) int { return 2 * perValue * len(args) }

// costOfCSV counts a value for each field, and the types of a row.
func costOfCSV(args []cty.Value) int {
	head, _, _ := strings.Cut(text(args[0]), "\n")
	return perValue*(1+signsIn(args[0], ",", "\n")) + pairs(strings.Count(head, ",")+1)
}

// costOfDate assumes the longest word for each letter.
func costOfDate(args []cty.Value) int { return 10 * len(text(args[0])) }

// costOfYAMLText assumes that every line is indented to the depth of the value.
func costOfYAMLText(args []cty.Value) int {
	return costs(args) * (3 + 2*depth(args[0].Type()))
}

// depth is the depth of nested types.
func depth(typ cty.Type) int {
	deepest := 0
	switch {
	case typ.IsCollectionType():
		deepest = depth(typ.ElementType())
	case typ.IsTupleType():
		for _, t := range typ.TupleElementTypes() {
			deepest = max(deepest, depth(t))
		}
	case typ.IsObjectType():
		for _, t := range typ.AttributeTypes() {
			deepest = max(deepest, depth(t))
		}
	}
	return deepest + 1
}
