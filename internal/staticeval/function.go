package staticeval

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Function is a function that expressions can call.
type Function struct {
	Name    string
	Meaning string // what it gives, in a few words
	Source  string // where its rule is from
	// Call evaluates it. An error that is an Unknown says that it has no value
	// here; any other is one for which the tools refuse the expression.
	Call function.Function
	// Cost is an upper bound of the size of what it gives and of its work; nil
	// for the size of its arguments together, some of which may be unknown.
	Cost func(args []cty.Value) int
}

// Text makes a function of a text, such as a path.
func Text(do func(text string) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}},
		Type:   function.StaticReturnType(cty.DynamicPseudoType),
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return do(args[0].AsString()) },
	})
}

// unsupported stands for a function that is not in the table.
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

// anything is a parameter that takes every value as it is.
func anything(name string) function.Parameter {
	return function.Parameter{
		Name: name, Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true,
	}
}
