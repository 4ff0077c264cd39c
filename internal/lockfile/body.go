package lockfile

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/relock-dev/relock/internal/hclfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/staticeval"
)

// Body parses a lock file of any kind as HCL in the native syntax, whatever its name.
// Markers of a merge conflict are a problem of their own.
func Body(src []byte, path string) (*hclsyntax.Body, []problem.Problem) {
	f, errors := hclfile.Parse(src, problem.Place{Path: Name})
	if f != nil {
		return f.Body.(*hclsyntax.Body), nil
	}
	if line := markerLine(src); line > 0 {
		return nil, []problem.Problem{ConflictAt(path, line)}
	}
	for i := range errors {
		errors[i].Place.Path = path
	}
	return nil, errors
}

// Text evaluates an argument of a lock file that must be a string or convert to one. of
// names the entry in errors.
func Text(expr hcl.Expression, of, path string) (string, []problem.Problem) {
	wrong := func(format string, args ...any) (string, []problem.Problem) {
		return "", []problem.Problem{{
			Code: problem.CodeInvalidLock, Place: problem.Place{Path: path, Line: expr.Range().Start.Line},
			Message: "unsuitable value: what is locked for " + of + fmt.Sprintf(format, args...),
		}}
	}
	value, why, diags := staticeval.Constant(expr)
	switch why {
	case nil:
	case staticeval.Long:
		return wrong(" must not take more than %d bytes", staticeval.MaxConstant)
	case staticeval.Loop:
		return wrong(" must not be computed by a for expression")
	case staticeval.Splat:
		return wrong(" must not be computed by a splat expression")
	default:
		return wrong(" must not hold a number that is so large or small")
	}
	if diags.HasErrors() {
		return "", hclfile.ErrorsIn(diags, problem.CodeInvalidLock, problem.Place{Path: path})
	}
	value, err := convert.Convert(value, cty.String)
	if err != nil || value.IsNull() || !value.IsKnown() {
		return wrong(" must be a string")
	}
	return value.AsString(), nil
}
