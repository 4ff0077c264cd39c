//go:build ignore

// Extract makes testdata/openapi.json and ../schema/github.graphql from GitHub's
// publications. Its arguments are the directories of two unpacked npm packages,
// of the versions in README.md:
//
//	npm pack @octokit/openapi @octokit/graphql-schema
//	go run extract.go OPENAPI-DIR GRAPHQL-DIR
//
// It keeps the operations and fields that are listed here, and everything that
// they refer to, without texts for people. To let relock use another part of the
// API, name it here and run this again.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
)

// operations are those of REST, by path.
var operations = map[string]string{
	"/app":               "get",
	"/app/installations": "get",
	"/app/installations/{installation_id}/access_tokens":                         "post",
	"/installation/repositories":                                                 "get",
	"/orgs/{org}/installation":                                                   "get",
	"/orgs/{org}/properties/values":                                              "get",
	"/users/{username}/installation":                                             "get",
	"/rate_limit":                                                                "get",
	"/user":                                                                      "get",
	"/repos/{owner}/{repo}":                                                      "get",
	"/repos/{owner}/{repo}/assignees/{assignee}":                                 "get",
	"/repos/{owner}/{repo}/collaborators/{username}/permission":                  "get",
	"/repos/{owner}/{repo}/commits":                                              "get",
	"/repos/{owner}/{repo}/commits/{ref}":                                        "get",
	"/repos/{owner}/{repo}/compare/{basehead}":                                   "get",
	"/repos/{owner}/{repo}/contents/{path}":                                      "get",
	"/repos/{owner}/{repo}/git/blobs":                                            "post",
	"/repos/{owner}/{repo}/git/blobs/{file_sha}":                                 "get",
	"/repos/{owner}/{repo}/git/commits":                                          "post",
	"/repos/{owner}/{repo}/git/commits/{commit_sha}":                             "get",
	"/repos/{owner}/{repo}/git/matching-refs/{ref}":                              "get",
	"/repos/{owner}/{repo}/git/ref/{ref}":                                        "get",
	"/repos/{owner}/{repo}/git/refs":                                             "post",
	"/repos/{owner}/{repo}/git/refs/{ref}":                                       "patch delete",
	"/repos/{owner}/{repo}/git/trees":                                            "post",
	"/repos/{owner}/{repo}/git/trees/{tree_sha}":                                 "get",
	"/repos/{owner}/{repo}/installation":                                         "get",
	"/repos/{owner}/{repo}/merges":                                               "post",
	"/repos/{owner}/{repo}/issues":                                               "post",
	"/repos/{owner}/{repo}/issues/comments/{comment_id}":                         "get patch delete",
	"/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions":               "get post",
	"/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions/{reaction_id}": "delete",
	"/repos/{owner}/{repo}/issues/{issue_number}":                                "get patch",
	"/repos/{owner}/{repo}/issues/{issue_number}/assignees":                      "post",
	"/repos/{owner}/{repo}/issues/{issue_number}/comments":                       "get post",
	"/repos/{owner}/{repo}/issues/{issue_number}/labels":                         "get post",
	"/repos/{owner}/{repo}/issues/{issue_number}/lock":                           "put delete",
	"/repos/{owner}/{repo}/milestones":                                           "get",
	"/repos/{owner}/{repo}/pulls":                                                "get post",
	"/repos/{owner}/{repo}/pulls/{pull_number}":                                  "get patch",
	"/repos/{owner}/{repo}/pulls/{pull_number}/commits":                          "get",
	"/repos/{owner}/{repo}/pulls/{pull_number}/files":                            "get",
	"/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers":              "get post delete",
	"/repos/{owner}/{repo}/branches/{branch}":                                    "get",
	"/repos/{owner}/{repo}/labels/{name}":                                        "get",
	"/repos/{owner}/{repo}/pulls/{pull_number}/update-branch":                    "put",
	"/repos/{owner}/{repo}/rules/branches/{branch}":                              "get",
	"/repos/{owner}/{repo}/tarball/{ref}":                                        "get",
	"/repos/{owner}/{repo}/zipball/{ref}":                                        "get",
}

// fields are the fields of GraphQL, by type. The extract has their arguments,
// too, with all fields of the needed inputs and all values of the needed enums.
var fields = map[string]string{
	"Query":                              "repository repositoryOwner viewer",
	"Mutation":                           "updateRefs enablePullRequestAutoMerge disablePullRequestAutoMerge",
	"UpdateRefsPayload":                  "clientMutationId",
	"EnablePullRequestAutoMergePayload":  "actor clientMutationId pullRequest",
	"DisablePullRequestAutoMergePayload": "actor clientMutationId pullRequest",
	"Actor":                              "login",
	"User":                               "id login repositories",
	"Repository":                         "autoMergeAllowed databaseId defaultBranchRef diskUsage hasIssuesEnabled id isArchived isDisabled isFork isPrivate issues label languages milestones name nameWithOwner object pullRequest pullRequests ref refs release repositoryTopics viewerPermission visibility",
	"RepositoryOwner":                    "id login repositories",
	"Organization":                       "id login repositories",
	"RepositoryConnection":               "nodes pageInfo totalCount",
	"RepositoryTopicConnection":          "nodes totalCount",
	"LanguageConnection":                 "nodes totalCount",
	"Language":                           "name",
	"RepositoryTopic":                    "topic",
	"Topic":                              "name",
	"RefConnection":                      "nodes pageInfo totalCount",
	"Ref":                                "associatedPullRequests id name prefix target",
	"GitObject":                          "id oid",
	"Blob":                               "byteSize id isTruncated oid text",
	"Commit":                             "id oid tree",
	"Tree":                               "id oid",
	"Tag":                                "id oid",
	"Release":                            "description publishedAt tagName url",
	"PageInfo":                           "endCursor hasNextPage",
	"PullRequestConnection":              "nodes pageInfo totalCount",
	"MilestoneConnection":                "nodes totalCount",
	"Milestone":                          "id number state title",
	"IssueConnection":                    "nodes pageInfo totalCount",
	"Issue":                              "author body createdAt editor id lastEditedAt locked number state title updatedAt url",
	"Bot":                                "login",
	"LabelConnection":                    "nodes totalCount",
	"Label":                              "name",
	"PullRequestReviewConnection":        "nodes totalCount",
	"PullRequestReview":                  "author state",
	"AutoMergeRequest":                   "enabledAt enabledBy mergeMethod",
	"PullRequest":                        "author autoMergeRequest baseRefName baseRefOid body closed closedAt createdAt headRefName headRefOid headRepository id isCrossRepository isDraft isInMergeQueue labels latestOpinionatedReviews locked maintainerCanModify mergeStateStatus merged number reviewDecision state title updatedAt url",
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: go run extract.go OPENAPI-DIR GRAPHQL-DIR")
	}
	write("testdata/openapi.json", openAPI(read(os.Args[1], "generated", "api.github.com.json")))
	write("../schema/github.graphql", graphQL(read(os.Args[2], "schema.graphql")))
}

func read(elem ...string) []byte {
	src, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		log.Fatal(err)
	}
	return src
}

func write(name string, content []byte) {
	if err := os.WriteFile(filepath.FromSlash(name), content, 0o644); err != nil {
		log.Fatal(err)
	}
}

type object = map[string]any

// openAPI is the extract of the description of REST.
func openAPI(src []byte) []byte {
	var all object
	if err := json.Unmarshal(src, &all); err != nil {
		log.Fatal(err)
	}
	paths := object{}
	for path, methods := range operations {
		item, ok := all["paths"].(object)[path].(object)
		if !ok {
			log.Fatalf("no path %s", path)
		}
		kept := object{}
		for _, method := range strings.Fields(methods) {
			if item[method] == nil {
				log.Fatalf("no %s %s", method, path)
			}
			kept[method] = stripped(item[method])
		}
		paths[path] = kept
	}
	info := all["info"].(object)
	extract := object{
		"openapi": all["openapi"], "paths": paths,
		"info": object{"title": info["title"], "version": info["version"], "license": info["license"]},
	}
	extract["components"] = referred(paths, all["components"].(object))
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(extract); err != nil {
		log.Fatal(err)
	}
	return out.Bytes()
}

// forPeople are keys of texts and of notes to other tools.
var forPeople = []string{"description", "summary", "title", "tags", "example", "examples", "externalDocs", "deprecated", "operationId"}

// stripped removes texts for people. Properties may have the same names.
func stripped(v any) any {
	switch v := v.(type) {
	case object:
		kept := object{}
		for key, value := range v {
			if slices.Contains(forPeople, key) || strings.HasPrefix(key, "x-") {
				continue
			}
			if named, ok := value.(object); ok && key == "properties" {
				properties := object{}
				for name, schema := range named {
					properties[name] = stripped(schema)
				}
				kept[key] = properties
				continue
			}
			kept[key] = stripped(value)
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = stripped(v[i])
		}
		return kept
	}
	return v
}

// referred returns the components that from refers to, directly or indirectly.
func referred(from any, components object) object {
	kept := object{}
	var follow func(v any)
	follow = func(v any) {
		switch v := v.(type) {
		case object:
			if ref, ok := v["$ref"].(string); ok {
				kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
				if kept[kind] == nil {
					kept[kind] = object{}
				}
				if of := kept[kind].(object); of[name] == nil {
					of[name] = stripped(components[kind].(object)[name])
					follow(of[name])
				}
			}
			for _, value := range v {
				follow(value)
			}
		case []any:
			for _, value := range v {
				follow(value)
			}
		}
	}
	follow(from)
	return kept
}

// types are the types of a schema, by name, without the built-in scalars.
type types map[string]*ast.Definition

// graphQL is the extract of the schema of GraphQL. The whole schema is only
// parsed: GitHub has published it with a duplicate field.
func graphQL(src []byte) []byte {
	schema, err := parser.ParseSchema(&ast.Source{Name: "schema.graphql", Input: string(src)})
	if err != nil {
		log.Fatal(err)
	}
	all, kept := types{}, types{}
	for _, def := range schema.Definitions {
		all[def.Name] = def
	}
	for name, wanted := range fields {
		kept[name] = all.narrowed(name, strings.Fields(wanted))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, f := range kept[name].Fields {
			result := f.Type.Name()
			if def := all[result]; def != nil && (def.Kind == ast.Scalar || def.Kind == ast.Enum) {
				all.keep(result, kept)
			} else if def != nil && kept[result] == nil {
				log.Fatalf("no fields of %s, the type of %s.%s, are named", result, name, f.Name)
			}
			for _, arg := range f.Arguments {
				all.keep(arg.Type.Name(), kept)
			}
		}
	}
	for _, def := range kept {
		def.Interfaces = slices.DeleteFunc(def.Interfaces, func(name string) bool { return kept[name] == nil })
		def.Directives = nil
	}
	var out bytes.Buffer
	list := slices.SortedFunc(maps.Values(kept), func(a, b *ast.Definition) int { return cmp.Compare(a.Name, b.Name) })
	formatter.NewFormatter(&out, formatter.WithIndent("  "), formatter.WithoutDescription()).
		FormatSchemaDocument(&ast.SchemaDocument{Definitions: list})
	return out.Bytes()
}

// narrowed is a type with the wanted fields alone.
func (t types) narrowed(name string, wanted []string) *ast.Definition {
	def := t[name]
	if def == nil {
		log.Fatalf("no type %s", name)
	}
	out := *def
	out.Fields = nil
	for _, name := range wanted {
		f := def.Fields.ForName(name)
		if f == nil {
			log.Fatalf("no field %s.%s", def.Name, name)
		}
		f.Directives = nil
		for _, arg := range f.Arguments {
			arg.Directives = nil
		}
		out.Fields = append(out.Fields, f)
	}
	return &out
}

// keep adds a scalar, an enum or an input, with the types of its fields.
func (t types) keep(name string, kept types) {
	def := t[name]
	if def == nil || kept[name] != nil {
		return
	}
	kept[name] = def
	for _, f := range def.Fields {
		f.Directives = nil
		t.keep(f.Type.Name(), kept)
	}
	for _, v := range def.EnumValues {
		v.Directives = nil
	}
}
