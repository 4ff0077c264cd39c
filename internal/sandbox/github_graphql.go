package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/vektah/gqlparser/v2/ast"
)

// WithoutUpdateRefs removes the mutation updateRefs, which old GitHub Enterprise
// Servers lack.
func (g *GitHub) WithoutUpdateRefs() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.schema = without(g.schema, "Mutation", "updateRefs")
}

// gqlObject is a value of a type: a function for each of its fields.
type gqlObject map[string]func(args map[string]any) (any, error)

// failing is the field of an object that is null as a whole, with an error.
const failing = ""

// gqlError is one element of an answer's errors.
type gqlError struct {
	kind         string // GitHub's type, if the error is of the execution
	message      string
	line, column int
	path         []any // of names and indexes
}

func (e *gqlError) Error() string { return e.message }

func (e *gqlError) doc() doc {
	d := doc{"message": e.message, "locations": []doc{{"line": e.line, "column": e.column}}}
	if e.kind != "" {
		d["type"] = e.kind
	}
	if len(e.path) > 0 {
		d["path"] = e.path
	}
	return d
}

// graphql answers a POST. An invalid document, or a refusal by a resolver, gives
// status 200 with errors. Nothing is executed unless the whole document is valid.
func (c *apiCall) graphql() (any, error) {
	var in struct {
		Query     string
		Variables map[string]any
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if c.hub.schema == nil {
		return nil, errNotFound
	}
	if in.Query == "" {
		return nil, refusal(http.StatusBadRequest, "A query attribute must be specified and must be a string.")
	}
	op, values, refused := readGraphQL(c.hub.schema, in.Query, in.Variables)
	if len(refused) > 0 {
		return doc{"errors": each(refused, (*gqlError).doc)}, nil
	}
	root := c.gqlQuery()
	if op.Operation == ast.Mutation {
		root = c.gqlMutation()
	}
	root = c.hub.doubts.graphql(c, root)
	x := gqlRun{values: values}
	answer := doc{"data": x.object(root, op.SelectionSet, nil)}
	if len(x.errs) > 0 {
		answer["errors"] = each(x.errs, (*gqlError).doc)
	}
	return answer, nil
}

// gqlRun is the execution of an operation.
type gqlRun struct {
	values map[string]any // of variables
	errs   []*gqlError
}

// object selects fields of an object in order. A field that fails is null and has
// an error. If the field must not be null, the object is null instead.
func (x *gqlRun) object(of gqlObject, selected ast.SelectionSet, path []any) any {
	data := doc{}
	for _, f := range fieldsOf(of, selected) {
		here := append(slices.Clone(path), f.Alias)
		value, err := of.field(f, x.values)
		if err != nil {
			x.fail(err, f, here)
		} else {
			value = x.value(value, f, here)
		}
		if value == nil && f.Definition.Type.NonNull {
			return nil
		}
		data[f.Alias] = value
	}
	return data
}

// field finds a field of an object.
func (o gqlObject) field(f *ast.Field, values map[string]any) (any, error) {
	find := o[f.Name]
	if find == nil {
		return nil, fmt.Errorf("the sandbox has no %s of %s", f.Name, f.ObjectDefinition.Name)
	}
	return find(f.ArgumentMap(values))
}

// fieldsOf are the selected fields of an object. If the object lacks the field of
// a fragment, it is of another type than the fragment.
func fieldsOf(of gqlObject, selected ast.SelectionSet) []*ast.Field {
	var fields []*ast.Field
	for _, s := range selected {
		var below ast.SelectionSet
		switch s := s.(type) {
		case *ast.Field:
			fields = append(fields, s)
		case *ast.InlineFragment:
			below = s.SelectionSet
		case *ast.FragmentSpread:
			below = s.Definition.SelectionSet
		}
		for _, f := range fieldsOf(of, below) {
			if of[f.Name] != nil {
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// value is the value of a field, with the selected fields of its objects.
func (x *gqlRun) value(value any, f *ast.Field, path []any) any {
	switch v := value.(type) {
	case gqlObject:
		if v == nil {
			return nil
		}
		return x.object(v, f.SelectionSet, path)
	case []gqlObject:
		list := make([]any, len(v))
		for i, one := range v {
			here := append(slices.Clone(path), i)
			if fails := one[failing]; fails != nil {
				_, err := fails(nil)
				x.fail(err, f, here)
			} else {
				list[i] = x.value(one, f, here)
			}
		}
		return list
	}
	return value
}

// fail records that a field could not be found.
func (x *gqlRun) fail(err error, f *ast.Field, path []any) {
	var e *gqlError
	if !errors.As(err, &e) {
		e = &gqlError{kind: "UNPROCESSABLE", message: err.Error()}
	}
	e.line, e.column, e.path = f.Position.Line, f.Position.Column, path
	x.errs = append(x.errs, e)
}

// scalar is a field without arguments.
func scalar(v any) func(map[string]any) (any, error) {
	return func(map[string]any) (any, error) { return v, nil }
}

func (c *apiCall) gqlQuery() gqlObject {
	return gqlObject{
		"viewer":          scalar(gqlObject{"login": scalar(c.who.Login)}),
		"repository":      c.gqlRepository,
		"repositoryOwner": c.gqlOwner,
	}
}

func (c *apiCall) gqlRepository(args map[string]any) (any, error) {
	name := fmt.Sprintf("%v/%v", args["owner"], args["name"])
	r, err := c.hub.repository(name)
	if old := c.hub.moved[strings.ToLower(name)]; err != nil && old != nil {
		r, err = old, nil
	}
	if err != nil || !c.sees(r) {
		return nil, &gqlError{kind: "NOT_FOUND", message: fmt.Sprintf("Could not resolve to a Repository with the name '%s'.", name)}
	}
	return c.gqlOf(r), nil
}

// gqlOf is a repository that the caller sees.
func (c *apiCall) gqlOf(r *gitRepository) gqlObject {
	return gqlObject{
		"databaseId": scalar(r.id), "isArchived": scalar(r.settings.Archived), "isDisabled": scalar(false), "diskUsage": scalar(r.settings.DiskUsage),
		"visibility":       scalar(strings.ToUpper(r.settings.visibility())),
		"refs":             func(args map[string]any) (any, error) { return c.gqlRefs(r, args) },
		"repositoryTopics": func(args map[string]any) (any, error) { return gqlTopics(r, args) },
		"languages":        func(args map[string]any) (any, error) { return gqlLanguages(r, args) },
		"id":               scalar(r.nodeID()), "name": scalar(r.name), "nameWithOwner": scalar(r.fullName()),
		"isFork": scalar(r.parent != nil), "isPrivate": scalar(r.settings.Private),
		"viewerPermission": scalar(strings.ToUpper(string(c.roleOf(r)))), "autoMergeAllowed": scalar(r.settings.AutoMerge),
		"hasIssuesEnabled": scalar(!r.settings.NoIssues),
		"issues":           func(args map[string]any) (any, error) { return c.gqlIssues(r, args) },
		"defaultBranchRef": scalar(c.gqlRef(r, "refs/heads/"+r.defaultBranch)),
		"ref": func(args map[string]any) (any, error) {
			return c.gqlRef(r, fmt.Sprint(args["qualifiedName"])), nil
		},
		"release": func(args map[string]any) (any, error) {
			return c.gqlRelease(r, fmt.Sprint(args["tagName"])), nil
		},
		"object": func(args map[string]any) (any, error) {
			return gqlFile(r, fmt.Sprint(args["expression"])), nil
		},
		"pullRequest": func(args map[string]any) (any, error) {
			for _, p := range r.pulls() {
				if fmt.Sprint(p.number) == fmt.Sprint(args["number"]) {
					return c.gqlPull(r, p), nil
				}
			}
			return nil, &gqlError{kind: "NOT_FOUND", message: fmt.Sprintf("Could not resolve to a PullRequest with the number of %v.", args["number"])}
		},
		"pullRequests": func(args map[string]any) (any, error) { return c.gqlPullRequests(r, args) },
		"milestones":   func(args map[string]any) (any, error) { return gqlMilestones(r, args) },
		"label": func(args map[string]any) (any, error) {
			name, known := r.knownLabel(fmt.Sprint(args["name"]))
			if !known {
				return gqlObject(nil), nil
			}
			return gqlObject{"name": scalar(name)}, nil
		},
	}
}

// gqlRelease is a release by its tag; nil if there is none.
func (c *apiCall) gqlRelease(r *gitRepository, tag string) gqlObject {
	rel, ok := r.releases[tag]
	if !ok {
		return nil
	}
	return gqlObject{
		"tagName": scalar(tag), "description": scalar(rel.Text), "publishedAt": scalar(rel.Published),
		"url": scalar(fmt.Sprintf("https://github.com/%s/releases/tag/%s", r.fullName(), tag)),
	}
}

// gqlFile is the file that HEAD:PATH names; nil if there is none.
func gqlFile(r *gitRepository, expression string) gqlObject {
	name, ok := strings.CutPrefix(expression, "HEAD:")
	if !ok {
		return nil
	}
	commit := r.branch(r.defaultBranch)
	hash := r.entryAt(commit, name)
	content, err := r.readBlob(hash)
	if hash.IsZero() || err != nil {
		return nil
	}
	return gqlObject{
		"id": scalar("B_" + hash.String()), "oid": scalar(hash.String()),
		"byteSize": scalar(len(content)), "isTruncated": scalar(false), "text": scalar(string(content)),
	}
}

// gqlRef is a ref by its full name, or a branch or tag by its short one; nil
// if there is none.
func (c *apiCall) gqlRef(r *gitRepository, name string) gqlObject {
	for _, prefix := range []string{"", "refs/heads/", "refs/tags/"} {
		full := plumbing.ReferenceName(prefix + name)
		hash := r.ref(full)
		if hash.IsZero() {
			continue
		}
		return gqlObject{
			"id": scalar(refID(r, full)), "name": scalar(full.Short()), "prefix": scalar(strings.TrimSuffix(full.String(), full.Short())),
			"target": scalar(gqlTarget(r, hash)),
			"associatedPullRequests": func(args map[string]any) (any, error) {
				args["headRefName"] = full.Short()
				return c.gqlPullRequests(r, args)
			},
		}
	}
	return nil
}

func (c *apiCall) gqlMutation() gqlObject {
	return gqlObject{
		"updateRefs":                  func(args map[string]any) (any, error) { return c.gqlUpdateRefs(args["input"]) },
		"enablePullRequestAutoMerge":  func(args map[string]any) (any, error) { return c.gqlEnableAutoMerge(args["input"]) },
		"disablePullRequestAutoMerge": func(args map[string]any) (any, error) { return c.gqlDisableAutoMerge(args["input"]) },
	}
}

// refUpdatesInput is GitHub's UpdateRefsInput.
type refUpdatesInput struct {
	ClientMutationID any    `json:"clientMutationId"`
	RepositoryID     string `json:"repositoryId"`
	RefUpdates       []struct {
		Name      string  `json:"name"`
		AfterOID  string  `json:"afterOid"`
		BeforeOID *string `json:"beforeOid"`
		Force     bool    `json:"force"`
	} `json:"refUpdates"`
}

// gqlUpdateRefs makes all of the changes or none. A zero afterOid deletes. A zero
// beforeOid demands that the ref does not exist; another one demands that value;
// without one nothing is compared.
func (c *apiCall) gqlUpdateRefs(input any) (any, error) {
	var in refUpdatesInput
	if err := strictly(input, &in); err != nil {
		return nil, &gqlError{message: "Argument 'input' has an invalid value: " + err.Error()}
	}
	r := c.hub.byNodeID(in.RepositoryID)
	if r == nil || !c.sees(r) {
		return nil, unresolved(in.RepositoryID)
	}
	if !c.may(r, writeContents) {
		return nil, c.gqlRefusal()
	}
	var updates []refUpdate
	for _, u := range in.RefUpdates {
		if !c.mayMove(r, plumbing.ReferenceName(u.Name)) {
			return nil, c.gqlRefusal()
		}
		after, err := parseOID(u.AfterOID)
		if err != nil {
			return nil, err
		}
		update := refUpdate{name: plumbing.ReferenceName(u.Name), after: after, force: u.Force}
		if u.BeforeOID != nil {
			before, err := parseOID(*u.BeforeOID)
			if err != nil {
				return nil, err
			}
			update.before = &before
		}
		// GitHub does not document what updateRefs does about workflows.
		// updateRef names none, according to reports [russellbanks/Komac#1726,
		// vedantmgoyal9/winget-releaser#341].
		if c.workflowTouched(r, after, r.ref(update.name)) != "" {
			return nil, &gqlError{kind: "FORBIDDEN", message: c.who.Login + " does not have the correct permissions to execute `UpdateRefs`"}
		}
		if err := c.mayHold(r, update); err != nil {
			return nil, asGraphQL(err)
		}
		updates = append(updates, update)
	}
	if err := c.hub.updateRefs(r, c.who.Login, updates...); err != nil {
		return nil, err
	}
	return gqlObject{"clientMutationId": scalar(in.ClientMutationID)}, nil
}

// strictly decodes a value into a struct that must have all its fields.
func strictly(value, into any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func parseOID(s string) (plumbing.Hash, error) {
	if !fullSHA.MatchString(s) {
		return plumbing.ZeroHash, &gqlError{message: fmt.Sprintf("%q is not a valid GitObjectID", strings.ToValidUTF8(s, "?"))}
	}
	return plumbing.NewHash(s), nil
}

func (g *GitHub) byNodeID(id string) *gitRepository {
	for _, r := range g.repos {
		if r.nodeID() == id {
			return r
		}
	}
	return nil
}
