package sandbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// gqlSchema is types and their fields.
type gqlSchema map[string]map[string]gqlDefinition

// gqlDefinition is a field of a type. A scalar has no type here. An argument
// that is required ends in an exclamation mark, and so does a type that is never
// null.
type gqlDefinition struct {
	typ  string
	args []string
}

// newGQLSchema is the part of GitHub's schema that the sandbox serves.
func newGQLSchema() gqlSchema {
	input := []string{"input!"}
	page := []string{"first", "last", "after"}
	return gqlSchema{
		"Query": {
			"repository":      {typ: "Repository", args: []string{"owner!", "name!"}},
			"repositoryOwner": {typ: "RepositoryOwner", args: []string{"login!"}},
			"viewer":          {typ: "User"},
		},
		"Mutation": {
			"updateRefs":                  {typ: "UpdateRefsPayload", args: input},
			"enablePullRequestAutoMerge":  {typ: "EnablePullRequestAutoMergePayload", args: input},
			"disablePullRequestAutoMerge": {typ: "DisablePullRequestAutoMergePayload", args: input},
		},
		"UpdateRefsPayload":                  {"clientMutationId": {}},
		"EnablePullRequestAutoMergePayload":  {"clientMutationId": {}, "actor": {typ: "Actor"}, "pullRequest": {typ: "PullRequest"}},
		"DisablePullRequestAutoMergePayload": {"clientMutationId": {}, "actor": {typ: "Actor"}, "pullRequest": {typ: "PullRequest"}},
		"User":                               {"login": {}},
		"Actor":                              {"login": {}},
		"RepositoryOwner": {
			"id": {}, "login": {},
			"repositories": {typ: "RepositoryConnection!", args: append([]string{"ownerAffiliations", "isArchived", "isFork", "orderBy"}, page...)},
		},
		"RepositoryConnection":      {"totalCount": {}, "nodes": {typ: "Repository"}, "pageInfo": {typ: "PageInfo"}},
		"RepositoryTopicConnection": {"totalCount": {}, "nodes": {typ: "RepositoryTopic"}},
		"LanguageConnection":        {"totalCount": {}, "nodes": {typ: "Language"}},
		"Language":                  {"name": {}},
		"RepositoryTopic":           {"topic": {typ: "Topic"}},
		"Topic":                     {"name": {}},
		"RefConnection":             {"totalCount": {}, "nodes": {typ: "Ref"}, "pageInfo": {typ: "PageInfo"}},
		"Repository": {
			"databaseId": {}, "isArchived": {}, "isDisabled": {}, "visibility": {}, "diskUsage": {},
			"refs":             {typ: "RefConnection", args: append([]string{"refPrefix!"}, page...)},
			"repositoryTopics": {typ: "RepositoryTopicConnection", args: page},
			"languages":        {typ: "LanguageConnection", args: append([]string{"orderBy"}, page...)},
			"id":               {}, "name": {}, "nameWithOwner": {}, "isFork": {}, "isPrivate": {}, "viewerPermission": {}, "autoMergeAllowed": {},
			"defaultBranchRef": {typ: "Ref"},
			"ref":              {typ: "Ref", args: []string{"qualifiedName!"}},
			"release":          {typ: "Release", args: []string{"tagName!"}},
			"object":           {typ: "GitObject", args: []string{"expression", "oid"}},
			"pullRequest":      {typ: "PullRequest", args: []string{"number!"}},
			"pullRequests": {typ: "PullRequestConnection!", args: append([]string{
				"states", "labels", "headRefName", "baseRefName", "orderBy"}, page...)},
			"label":      {typ: "Label", args: []string{"name!"}},
			"milestones": {typ: "MilestoneConnection", args: append([]string{"states", "query", "orderBy"}, page...)},
		},
		"Ref": {
			"id": {}, "name": {}, "prefix": {}, "target": {typ: "GitObject"},
			"associatedPullRequests": {typ: "PullRequestConnection!", args: append([]string{"states"}, page...)},
		},
		"GitObject":             {"id": {}, "oid": {}},
		"Commit":                {"tree": {typ: "Tree"}},
		"Tree":                  {"id": {}, "oid": {}},
		"Blob":                  {"byteSize": {}, "isTruncated": {}, "text": {}},
		"Release":               {"tagName": {}, "url": {}, "description": {}, "publishedAt": {}},
		"PageInfo":              {"hasNextPage": {}, "endCursor": {}},
		"PullRequestConnection": {"totalCount": {}, "nodes": {typ: "PullRequest"}, "pageInfo": {typ: "PageInfo"}},
		"MilestoneConnection":   {"totalCount": {}, "nodes": {typ: "Milestone"}},
		"Milestone":             {"id": {}, "number": {}, "title": {}, "state": {}},
		"LabelConnection":       {"totalCount": {}, "nodes": {typ: "Label"}},
		"Label":                 {"name": {}},
		"AutoMergeRequest":      {"mergeMethod": {}, "enabledAt": {}, "enabledBy": {typ: "Actor"}},
		"PullRequest": {
			"id": {}, "number": {}, "title": {}, "body": {}, "url": {}, "state": {}, "closed": {}, "merged": {},
			"isDraft": {}, "locked": {}, "createdAt": {}, "updatedAt": {}, "closedAt": {},
			"baseRefName": {}, "baseRefOid": {}, "headRefName": {}, "headRefOid": {}, "isCrossRepository": {}, "maintainerCanModify": {},
			"headRepository": {typ: "Repository"}, "author": {typ: "Actor"},
			"labels": {typ: "LabelConnection", args: page}, "autoMergeRequest": {typ: "AutoMergeRequest"},
			"mergeStateStatus": {}, "isInMergeQueue": {},
		},
	}
}

// WithoutUpdateRefs takes the mutation updateRefs away, which old GitHub
// Enterprise Servers lack.
func (g *GitHub) WithoutUpdateRefs() {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.schema["Mutation"], "updateRefs")
}

// gqlObject is a value of a type: how to find each of its fields.
type gqlObject map[string]func(args map[string]any) (any, error)

// failing is the field of an object that is null as a whole, with an error.
const failing = ""

// gqlError is one element of an answer's errors.
type gqlError struct {
	kind    string // GitHub's type, of errors at execution
	message string
	field   gqlField
	path    []any // of names and indexes
}

func (e *gqlError) Error() string { return e.message }

func (e *gqlError) doc() doc {
	d := doc{"message": e.message, "locations": []doc{{"line": e.field.line, "column": e.field.column}}}
	if e.kind != "" {
		d["type"] = e.kind
	}
	if len(e.path) > 0 {
		d["path"] = e.path
	}
	return d
}

// graphql answers a POST. What is wrong with a document or refused by a
// resolver is an answer of status 200 with errors in it; nothing is executed
// unless all of the document is valid.
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
	op, bad := parseGraphQL(in.Query)
	if bad == nil {
		bad = op.check(c.hub.schema, in.Variables)
	}
	if bad != nil {
		return nil, bad
	}
	root := c.gqlQuery()
	if op.kind == "mutation" {
		root = c.gqlMutation()
	}
	data, errs := execute(root, op.fields, nil)
	answer := doc{"data": data}
	if len(errs) > 0 {
		answer["errors"] = each(errs, (*gqlError).doc)
	}
	return answer, nil
}

// gqlChecker validates selections against a schema and puts the values of
// variables in.
type gqlChecker struct {
	schema    gqlSchema
	variables map[string]any
}

func (op *gqlOperation) check(schema gqlSchema, given map[string]any) *gqlError {
	values := map[string]any{}
	for _, v := range op.variables {
		value, ok := given[v.name]
		if !ok {
			value = v.otherwise
		}
		if value == nil && v.required {
			return &gqlError{message: fmt.Sprintf("Variable $%s of type %s was provided invalid value", v.name, v.typ)}
		}
		values[v.name] = value
	}
	root := "Query"
	if op.kind == "mutation" {
		root = "Mutation"
	}
	return gqlChecker{schema, values}.fields(op.fields, root)
}

func (k gqlChecker) fields(fields []gqlField, typ string) *gqlError {
	for i, f := range fields {
		on := cmp.Or(f.on, typ)
		def, ok := k.schema[on][f.name]
		def.typ, fields[i].notNull = strings.CutSuffix(def.typ, "!")
		switch {
		case !ok:
			return &gqlError{message: fmt.Sprintf("Field '%s' doesn't exist on type '%s'", f.name, on), field: f}
		case def.typ == "" && len(f.fields) > 0:
			return &gqlError{message: fmt.Sprintf("Selections can't be made on scalars (field '%s')", f.name), field: f}
		case def.typ != "" && len(f.fields) == 0:
			return &gqlError{message: fmt.Sprintf("Field must have selections (field '%s' returns %s but has no selections)", f.name, def.typ), field: f}
		}
		if err := k.arguments(&fields[i], def); err != nil {
			return err
		}
		if err := k.fields(f.fields, def.typ); err != nil {
			return err
		}
	}
	return nil
}

func (k gqlChecker) arguments(f *gqlField, def gqlDefinition) *gqlError {
	for _, name := range slices.Sorted(maps.Keys(f.args)) {
		if !slices.Contains(def.args, name) && !slices.Contains(def.args, name+"!") {
			return &gqlError{message: fmt.Sprintf("Field '%s' doesn't accept argument '%s'", f.name, name), field: *f}
		}
		value, err := k.value(f.args[name])
		if err != nil {
			err.field = *f
			return err
		}
		f.args[name] = value
	}
	for _, arg := range def.args {
		name, required := strings.CutSuffix(arg, "!")
		if required && f.args[name] == nil {
			return &gqlError{message: fmt.Sprintf("Field '%s' is missing required arguments: %s", f.name, name), field: *f}
		}
	}
	return nil
}

// value replaces the variables within a value.
func (k gqlChecker) value(value any) (any, *gqlError) {
	var err *gqlError
	switch v := value.(type) {
	case gqlVariableRef:
		known, ok := k.variables[string(v)]
		if !ok {
			return nil, &gqlError{message: fmt.Sprintf("Variable $%s is used but not declared", string(v))}
		}
		return known, nil
	case map[string]any:
		for name := range v {
			if v[name], err = k.value(v[name]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = k.value(v[i]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// execute selects fields of an object in their order. A field that fails is
// null beside an error; if it must not be null, the object is.
func execute(object gqlObject, fields []gqlField, path []any) (doc, []*gqlError) {
	data := doc{}
	var errs []*gqlError
	for _, f := range fields {
		if object[f.name] == nil && f.on != "" {
			continue // the object is of another type than the fragment
		}
		here := append(slices.Clone(path), f.alias)
		value, err := object[f.name](f.args)
		if err != nil {
			errs = append(errs, gqlFailure(err, f, here))
			if f.notNull {
				return nil, errs
			}
			data[f.alias] = nil
			continue
		}
		value, below := selected(value, f.fields, here)
		errs = append(errs, below...)
		data[f.alias] = value
	}
	return data, errs
}

// selected is the value of a field with what was selected of its objects.
func selected(value any, fields []gqlField, path []any) (any, []*gqlError) {
	switch v := value.(type) {
	case gqlObject:
		if v == nil {
			return nil, nil
		}
		return execute(v, fields, path)
	case []gqlObject:
		list := make([]doc, len(v))
		var errs []*gqlError
		for i, object := range v {
			here := append(slices.Clone(path), i)
			if fails := object[failing]; fails != nil {
				_, err := fails(nil)
				errs = append(errs, gqlFailure(err, fields[0], here))
			} else if object != nil {
				var below []*gqlError
				list[i], below = execute(object, fields, here)
				errs = append(errs, below...)
			}
		}
		return list, errs
	}
	return value, nil
}

func gqlFailure(err error, f gqlField, path []any) *gqlError {
	var e *gqlError
	if !errors.As(err, &e) {
		e = &gqlError{kind: "UNPROCESSABLE", message: err.Error()}
	}
	e.field, e.path = f, path
	return e
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

// gqlUpdateRefs makes all of the changes or none. A zero afterOid deletes, a
// zero beforeOid demands that the ref does not exist, another one that it
// stands there; without one nothing is compared.
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
		// What it does about workflows is not documented. Reported is of updateRef that it
		// names none [russellbanks/Komac#1726, vedantmgoyal9/winget-releaser#341].
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

// strictly decodes a value into a struct that must know all its fields.
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
