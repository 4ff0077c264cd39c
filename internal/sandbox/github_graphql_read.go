package sandbox

import (
	"fmt"
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// readGraphQL reads a document of one operation, and the values of its variables,
// by GitHub's schema. It refuses everything that GitHub would refuse. It also
// refuses requests that only GitHub can answer.
func readGraphQL(schema *ast.Schema, text string, given map[string]any) (op *ast.OperationDefinition, values map[string]any, refused []*gqlError) {
	document, wrong := gqlparser.LoadQueryWithRules(schema, text, gqlRules)
	for _, w := range wrong {
		refused = append(refused, gqlInvalid(w))
	}
	if len(refused) > 0 {
		return nil, nil, refused
	}
	if len(document.Operations) != 1 {
		return nil, nil, []*gqlError{{message: fmt.Sprintf("the sandbox reads one operation, and not %d", len(document.Operations))}}
	}
	op = document.Operations[0]
	values, err := validator.VariableValues(schema, op, given)
	if err != nil {
		return nil, nil, []*gqlError{{message: err.Error()}}
	}
	return op, values, gqlUnserved(op.SelectionSet)
}

// gqlInvalid is the library's error about a document.
func gqlInvalid(e *gqlerror.Error) *gqlError {
	refused := &gqlError{message: e.Message}
	if len(e.Locations) > 0 {
		refused.line, refused.column = e.Locations[0].Line, e.Locations[0].Column
	}
	return refused
}

// gqlRules are the rules of the specification. The error about a missing field is
// in GitHub's words, by which clients recognise an old server.
var gqlRules = func() *rules.Rules {
	all := rules.NewDefaultRules()
	all.ReplaceRule(rules.FieldsOnCorrectTypeRule.Name, func(events *core.Events, add core.AddErrFunc) {
		events.OnField(func(_ *core.Walker, f *ast.Field) {
			if f.ObjectDefinition != nil && f.Definition == nil {
				add(core.Message("Field '%s' doesn't exist on type '%s'", f.Name, f.ObjectDefinition.Name), core.At(f.Position))
			}
		})
	})
	return all
}()

// ignoredArguments are arguments that the sandbox ignores, unlike GitHub:
// "argument", or "field" and "argument".
var ignoredArguments = []string{
	"affiliations", "before", "direction", "followRenames", "hasIssuesEnabled", "isLocked", "privacy", "visibility",
	"refs.orderBy", "refs.query", "labels.orderBy",
	"associatedPullRequests.baseRefName", "associatedPullRequests.headRefName",
}

// gqlUnserved refuses arguments that the sandbox would have to follow but
// ignores.
func gqlUnserved(selected ast.SelectionSet) []*gqlError {
	var refused []*gqlError
	for _, s := range selected {
		switch s := s.(type) {
		case *ast.Field:
			for _, a := range s.Arguments {
				if slices.Contains(ignoredArguments, a.Name) || slices.Contains(ignoredArguments, s.Name+"."+a.Name) {
					refused = append(refused, gqlAt(s, fmt.Sprintf("the sandbox does not obey the argument %s of %s", a.Name, s.Name)))
				}
			}
			if len(s.Directives) > 0 {
				refused = append(refused, gqlAt(s, "the sandbox does not obey directives"))
			}
			refused = append(refused, gqlUnserved(s.SelectionSet)...)
		case *ast.InlineFragment:
			refused = append(refused, gqlUnserved(s.SelectionSet)...)
		case *ast.FragmentSpread:
			refused = append(refused, gqlUnserved(s.Definition.SelectionSet)...)
		}
	}
	return refused
}

// gqlAt is an error at a field.
func gqlAt(f *ast.Field, message string) *gqlError {
	return &gqlError{message: message, line: f.Position.Line, column: f.Position.Column}
}

// without is a schema without a field of a type, as on old servers.
func without(schema *ast.Schema, typ, field string) *ast.Schema {
	changed := *schema
	def := *schema.Types[typ]
	def.Fields = slices.DeleteFunc(slices.Clone(def.Fields), func(f *ast.FieldDefinition) bool { return f.Name == field })
	changed.Types = maps.Clone(schema.Types)
	changed.Types[typ] = &def
	if schema.Mutation.Name == typ {
		changed.Mutation = &def
	}
	return &changed
}
