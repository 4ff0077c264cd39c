package described

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// checkGraphQL compares a document and its variables. If they are right, it
// compares the answer, too.
func (d *published) checkGraphQL(e exchange) verdict {
	operation, err := d.operation(e.body)
	if err != nil {
		return verdict{asked: []error{fmt.Errorf("request: %w", err)}}
	}
	if err := d.checkData(operation, e); err != nil {
		return verdict{answered: []error{fmt.Errorf("answer: %w", err)}}
	}
	return verdict{}
}

// operation reads the one operation of a request.
func (d *published) operation(body []byte) (*ast.OperationDefinition, error) {
	var request struct {
		Query     string
		Variables map[string]any
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	document, errs := gqlparser.LoadQueryWithRules(d.graphql, request.Query, rules.NewDefaultRules())
	if len(errs) > 0 {
		return nil, errs
	}
	if len(document.Operations) != 1 {
		return nil, fmt.Errorf("%d operations, want one", len(document.Operations))
	}
	_, err := validator.VariableValues(d.graphql, document.Operations[0], request.Variables)
	return document.Operations[0], err
}

// checkData compares the data of an answer. A refusal of GraphQL has status 200
// and may have no data. No schema describes answers of other statuses.
func (d *published) checkData(operation *ast.OperationDefinition, e exchange) error {
	if e.status != http.StatusOK {
		return nil
	}
	var answer struct {
		Data   any
		Errors []struct{ Message string }
	}
	decoder := json.NewDecoder(bytes.NewReader(e.answer))
	decoder.UseNumber()
	if err := decoder.Decode(&answer); err != nil {
		return err
	}
	if answer.Data == nil && len(answer.Errors) > 0 {
		return nil
	}
	return d.checkObject(operation.SelectionSet, answer.Data, "data")
}

// checkObject compares an object with its selected fields.
func (d *published) checkObject(selected ast.SelectionSet, value any, at string) error {
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is no object", at)
	}
	known := map[string]*ast.Field{}
	var errs []error
	for f, certain := range fieldsOf(selected, true) {
		known[f.Alias] = f
		if _, ok := object[f.Alias]; !ok && certain {
			errs = append(errs, fmt.Errorf("%s.%s is missing", at, f.Alias))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		f := known[name]
		if f == nil {
			errs = append(errs, fmt.Errorf("%s.%s was not selected", at, name))
			continue
		}
		errs = append(errs, d.checkValue(f.Definition.Type, f.SelectionSet, object[name], at+"."+name))
	}
	return errors.Join(errs...)
}

// fieldsOf returns the fields of a selection. The fields of a fragment are
// certain only if the object has the fragment's type, which the answer does not
// say.
func fieldsOf(selected ast.SelectionSet, certain bool) map[*ast.Field]bool {
	fields := map[*ast.Field]bool{}
	for _, s := range selected {
		switch s := s.(type) {
		case *ast.Field:
			fields[s] = certain
		case *ast.InlineFragment:
			maps.Copy(fields, fieldsOf(s.SelectionSet, false))
		case *ast.FragmentSpread:
			maps.Copy(fields, fieldsOf(s.Definition.SelectionSet, false))
		}
	}
	return fields
}

func (d *published) checkValue(typ *ast.Type, selected ast.SelectionSet, value any, at string) error {
	switch {
	case value == nil && typ.NonNull:
		return fmt.Errorf("%s is null", at)
	case value == nil:
		return nil
	case typ.Elem != nil:
		list, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%s is no list", at)
		}
		var errs []error
		for i, one := range list {
			errs = append(errs, d.checkValue(typ.Elem, selected, one, fmt.Sprintf("%s[%d]", at, i)))
		}
		return errors.Join(errs...)
	case len(selected) > 0:
		return d.checkObject(selected, value, at)
	case !d.isLeaf(typ.NamedType, value):
		return fmt.Errorf("%s is %v, no %s", at, value, typ.NamedType)
	}
	return nil
}

var objectID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// isLeaf reports whether a value is of a scalar type or an enum.
func (d *published) isLeaf(name string, value any) bool {
	text, isText := value.(string)
	switch name {
	case "Int":
		n, ok := value.(json.Number)
		_, err := n.Int64()
		return ok && err == nil
	case "Float":
		_, ok := value.(json.Number)
		return ok
	case "Boolean":
		_, ok := value.(bool)
		return ok
	case "DateTime":
		_, err := time.Parse(time.RFC3339, text)
		return isText && err == nil
	case "GitObjectID":
		return objectID.MatchString(text)
	}
	if def := d.graphql.Types[name]; def.Kind == ast.Enum {
		return def.EnumValues.ForName(text) != nil
	}
	return isText // the other scalars are texts of some form
}
