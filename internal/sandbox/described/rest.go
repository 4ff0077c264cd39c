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

// amend corrects the description where GitHub behaves otherwise.
func amend(doc *openapi3.T) {
	// Labels can be a bare array, which go-github sends. The description says so
	// only in words.
	labels := doc.Paths.Value("/repos/{owner}/{repo}/issues/{issue_number}/labels").Post.RequestBody.Value.Content.Get("application/json").Schema.Value
	labels.OneOf = append(labels.OneOf, labels.OneOf[0].Value.Properties["labels"])

	// The label of a pull request may lack a description, in a list as well as
	// alone. The description allows that only for a single pull request.
	listed := doc.Components.Schemas["pull-request-simple"].Value.Properties["labels"].Value.Items.Value
	listed.Properties["description"].Value.Nullable = true

	// Of the two forms of a refusal, the simple one matches the other, too.
	refused := doc.Paths.Value("/repos/{owner}/{repo}/git/blobs").Post.Responses.Status(422).Value.Content.Get("application/json").Schema.Value
	refused.AnyOf, refused.OneOf = refused.OneOf, nil
}

// parameter is one in a path that regexp.QuoteMeta has quoted.
var parameter = regexp.MustCompile(`\\\{(\w+)\\\}`)

// newTemplate reads a path. Parameters for refs and files may contain slashes,
// which OpenAPI cannot express.
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

// byID matches the path in GitHub's redirects for a moved repository.
var byID = regexp.MustCompile(`^/repositories/\d+`)

// redirects are the statuses that any operation may answer for a moved
// repository. The description lists them for few.
// https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#follow-redirects
var redirects = []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect}

// find returns the operation of a request, with its parameters.
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

// checkRequest is stricter than GitHub, which ignores unknown words. An unknown
// parameter or field is a mistake of ours.
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

// unknownField returns the place of a field that no schema has; empty if all are
// known.
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

// unknownToAll is unknownField for a value with several allowed forms: one form
// that it matches must know all fields.
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

// anywhere are refusals that every operation may answer. The description lists
// them for some only.
var anywhere = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}

func (r *rest) checkAnswer(e exchange, in *openapi3filter.RequestValidationInput) error {
	if slices.Contains(anywhere, e.status) && in.Route.Operation.Responses.Status(e.status) == nil {
		return r.checkRefusal(e)
	}
	options := *in.Options
	// Raw files and the bare SHA of a commit are for clients that accept them.
	// The description covers only JSON.
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
