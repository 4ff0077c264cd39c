package described

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// rest is the description of REST.
type rest struct {
	doc   *openapi3.T
	paths []template // the most specific first
}

// template is a path with parameters.
type template struct {
	path       string
	pattern    *regexp.Regexp
	parameters []string
	item       *openapi3.PathItem
}

func readREST(src []byte) (*rest, error) {
	doc, err := openapi3.NewLoader().LoadFromData(src)
	if err != nil {
		return nil, err
	}
	amend(doc)
	r := &rest{doc: doc}
	for path, item := range doc.Paths.Map() {
		r.paths = append(r.paths, newTemplate(path, item))
	}
	slices.SortFunc(r.paths, func(a, b template) int {
		return cmp.Or(cmp.Compare(len(a.parameters), len(b.parameters)), strings.Compare(a.path, b.path))
	})
	return r, nil
}

// amend puts right what the description says less exactly than GitHub acts.
func amend(doc *openapi3.T) {
	// Labels can be given as a bare array, which the description says in words
	// alone. It is what go-github sends.
	labels := doc.Paths.Value("/repos/{owner}/{repo}/issues/{issue_number}/labels").Post.RequestBody.Value.Content.Get("application/json").Schema.Value
	labels.OneOf = append(labels.OneOf, labels.OneOf[0].Value.Properties["labels"])

	// The label of a pull request in a list has no description as often as that
	// of a pull request by itself, of which alone the description admits it.
	listed := doc.Components.Schemas["pull-request-simple"].Value.Properties["labels"].Value.Items.Value
	listed.Properties["description"].Value.Nullable = true

	// Of the two shapes of a refusal, the simple one is also the other.
	refused := doc.Paths.Value("/repos/{owner}/{repo}/git/blobs").Post.Responses.Status(422).Value.Content.Get("application/json").Schema.Value
	refused.AnyOf, refused.OneOf = refused.OneOf, nil
}

// parameter is one in a path that regexp.QuoteMeta has quoted.
var parameter = regexp.MustCompile(`\\\{(\w+)\\\}`)

// newTemplate reads a path. The parameters that name refs and files may hold
// slashes, which OpenAPI cannot say.
func newTemplate(path string, item *openapi3.PathItem) template {
	t := template{path: path, item: item}
	pattern := parameter.ReplaceAllStringFunc(regexp.QuoteMeta(path), func(quoted string) string {
		name := parameter.FindStringSubmatch(quoted)[1]
		t.parameters = append(t.parameters, name)
		if slices.Contains([]string{"ref", "path", "basehead", "branch"}, name) {
			return "(.+)"
		}
		return "([^/]+)"
	})
	t.pattern = regexp.MustCompile("^" + pattern + "$")
	return t
}

// byID is how GitHub addresses a repository that has moved, in its redirects.
var byID = regexp.MustCompile(`^/repositories/\d+`)

// redirects are what any operation may answer for a repository that has moved,
// which the description says of few.
// https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#follow-redirects
var redirects = []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect}

// find returns the operation that a request is for, with its parameters.
func (r *rest) find(e exchange) (*routers.Route, map[string]string) {
	for _, t := range r.paths {
		values := t.pattern.FindStringSubmatch(byID.ReplaceAllString(e.path, "/repos/-/-"))
		operation := t.item.GetOperation(e.request.Method)
		if values == nil || operation == nil {
			continue
		}
		params := map[string]string{}
		for i, name := range t.parameters {
			if value, err := url.PathUnescape(values[i+1]); err == nil { // else the server would not have read it
				params[name] = value
			}
		}
		return &routers.Route{Spec: r.doc, Path: t.path, PathItem: t.item, Method: e.request.Method, Operation: operation}, params
	}
	return nil, nil
}

// check compares a request and its answer.
func (r *rest) check(e exchange) verdict {
	route, params := r.find(e)
	if route == nil {
		return verdict{asked: []error{errors.New("the description has no such operation: see extract.go")}}
	}
	options := &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		MultiError:         true, SkipSettingDefaults: true, IncludeResponseStatus: true,
	}
	options.WithCustomSchemaErrorFunc(func(err *openapi3.SchemaError) string {
		return fmt.Sprintf("/%s: %s", strings.Join(err.JSONPointer(), "/"), err.Reason)
	})
	request := e.request.Clone(e.request.Context())
	request.Body = io.NopCloser(bytes.NewReader(e.body))
	in := &openapi3filter.RequestValidationInput{Request: request, PathParams: params, Route: route, Options: options}
	v := verdict{asked: r.checkRequest(e, in)}
	if slices.Contains(redirects, e.status) && e.header.Get("Location") != "" {
		return v
	}
	if err := r.checkAnswer(e, in); err != nil {
		v.answered = append(v.answered, fmt.Errorf("answer %d: %w", e.status, err))
	}
	return v
}

// checkRequest is stricter than GitHub, which ignores what it does not know:
// such a parameter or field is a word that we have wrong.
func (r *rest) checkRequest(e exchange, in *openapi3filter.RequestValidationInput) []error {
	var violations []error
	if err := openapi3filter.ValidateRequest(e.request.Context(), in); err != nil {
		violations = append(violations, fmt.Errorf("request: %w", err))
	}
	for _, name := range slices.Sorted(maps.Keys(e.request.URL.Query())) {
		if in.Route.Operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil {
			violations = append(violations, fmt.Errorf("request: unknown parameter %q", name))
		}
	}
	var value any
	if len(e.body) == 0 || in.Route.Operation.RequestBody == nil || json.Unmarshal(e.body, &value) != nil {
		return violations
	}
	if media := in.Route.Operation.RequestBody.Value.Content.Get("application/json"); media != nil && media.Schema != nil {
		if name := unknownField(media.Schema.Value, value, ""); name != "" {
			violations = append(violations, fmt.Errorf("request: unknown field %s", name))
		}
	}
	return violations
}

// unknownField returns the place of a field that no schema has; empty if there
// is none.
func unknownField(schema *openapi3.Schema, value any, at string) string {
	for _, choices := range []openapi3.SchemaRefs{schema.OneOf, schema.AnyOf} {
		if len(choices) > 0 {
			return unknownToAll(choices, value, at)
		}
	}
	switch v := value.(type) {
	case []any:
		for i, one := range v {
			if schema.Items == nil {
				break
			}
			if found := unknownField(schema.Items.Value, one, fmt.Sprintf("%s/%d", at, i)); found != "" {
				return found
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			s := schema.Properties[name]
			switch {
			case s == nil && len(schema.Properties) > 0 && schema.AdditionalProperties.Schema == nil && len(schema.AllOf) == 0:
				return at + "/" + name
			case s != nil:
				if found := unknownField(s.Value, v[name], at+"/"+name); found != "" {
					return found
				}
			}
		}
	}
	return ""
}

// unknownToAll is unknownField for a value that may have several shapes: one of
// those that it has must know all fields.
func unknownToAll(choices openapi3.SchemaRefs, value any, at string) (found string) {
	for _, s := range choices {
		if s.Value.VisitJSON(value) != nil {
			continue
		}
		found = unknownField(s.Value, value, at)
		if found == "" {
			return ""
		}
	}
	return found
}

// anywhere are refusals that every operation may answer, though the description
// lists them for some only.
var anywhere = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}

func (r *rest) checkAnswer(e exchange, in *openapi3filter.RequestValidationInput) error {
	if slices.Contains(anywhere, e.status) && in.Route.Operation.Responses.Status(e.status) == nil {
		return r.checkRefusal(e)
	}
	options := *in.Options
	// Files in their own bytes, and the SHA of a commit alone, are for those who
	// accept them; only JSON is described.
	options.ExcludeResponseBody = !strings.Contains(e.header.Get("Content-Type"), "json")
	return openapi3filter.ValidateResponse(e.request.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: e.status, Header: e.header,
		Body: io.NopCloser(bytes.NewReader(e.answer)), Options: &options,
	})
}

func (r *rest) checkRefusal(e exchange) error {
	var value any
	if err := json.Unmarshal(e.answer, &value); err != nil {
		return err
	}
	return r.doc.Components.Schemas["basic-error"].Value.VisitJSON(value)
}
