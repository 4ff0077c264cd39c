package staticeval

import (
	"errors"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

type evaluation struct {
	bound   *Bound
	of      expression
	holes   *Holes
	left    int      // of maxEvaluation
	unknown *Unknown // the first reason why a function has no result
}

// take reports whether the budget allows a cost at each level of the expression.
func (e *evaluation) take(cost int) bool {
	cost *= max(e.of.levels, 1)
	e.left = max(e.left-cost, -1)
	return e.bound.Take(cost) && e.left >= 0
}

// call returns a function that is not called if it would cost too much. Then, and
// if it returns an Unknown, its result is unknown.
func (e *evaluation) call(f Function) function.Function {
	nothing := func(why *Unknown, typ cty.Type) (cty.Value, error) { return e.without(why, typ), nil }
	return function.New(&function.Spec{
		Params:   f.Call.Params(),
		VarParam: f.Call.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			args = e.solid(f.Name, args)
			if !e.take(f.cost(args)) {
				return cty.DynamicPseudoType, nil
			}
			return f.Call.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, typ cty.Type) (cty.Value, error) {
			if e.left < 0 || e.bound.spent > maxTotal {
				return nothing(Costly, typ)
			}
			value, err := f.Call.Call(e.solid(f.Name, args))
			if why, ok := errors.AsType[*Unknown](err); ok {
				return nothing(why, typ)
			}
			if err == nil && !e.take(cost(value, e.of.arithmetic)) {
				return nothing(Costly, value.Type())
			}
			return value, err
		},
	})
}

// without is the placeholder of a missing value, with the reason.
func (e *evaluation) without(why *Unknown, typ cty.Type) cty.Value {
	if e.unknown == nil {
		e.unknown = why
	}
	if e.holes != nil {
		return cty.UnknownVal(typ).Mark(why)
	}
	return cty.UnknownVal(typ)
}

// solid are the arguments of a function. It removes values with holes, unless the
// function takes them.
func (e *evaluation) solid(name string, args []cty.Value) []cty.Value {
	if e.holes == nil || slices.Contains(e.holes.Through, name) {
		return args
	}
	whole := slices.Clone(args)
	for i, arg := range args {
		if !arg.Type().IsCapsuleType() { // an expression
			whole[i], _ = e.decided(arg).UnmarkDeep()
		}
	}
	return whole
}

// decided is a value that a decision depends on.
func (e *evaluation) decided(v cty.Value) cty.Value {
	whole := e.holes.Whole(v)
	if e.unknown == nil {
		e.unknown = ReasonFor(whole)
	}
	return whole
}
