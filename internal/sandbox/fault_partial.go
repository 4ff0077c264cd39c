package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

// partial says which part of an answer of GraphQL is missing, and why.
type partial struct {
	path []string // of names and indexes
	kind string   // GitHub's type of the error; empty: it has none
}

// parsePartial reads the path of a node, with dots between names and indexes, and
// the type of the error.
func parsePartial(s string) (partial, error) {
	where, kind, _ := strings.Cut(s, ":")
	p := partial{strings.Split(where, "."), kind}
	for _, name := range p.path {
		if name == "" {
			return partial{}, fmt.Errorf("%q is no path of an answer", where)
		}
	}
	return p, nil
}

// The messages of GitHub's errors beside data, from public reports:
// linuxfoundation/crowd.dev#4656 and refined-github#1956.
const (
	messageOfFailure = "Something went wrong while executing your query. Please include `SAND:0001` when reporting this issue."
	messageOfList    = "Although you appear to have the correct authorization credentials, the `acme` organization has an IP allow list enabled, " +
		"and your IP address is not permitted to access this resource."
)

// serve answers with status 200, the data without the node, and an error. It does
// not carry a mutation out.
func (p partial) serve(w http.ResponseWriter, r *http.Request, query bool, next http.Handler) {
	answer := struct {
		Data   any   `json:"data"`
		Errors []doc `json:"errors"`
	}{}
	if query {
		rec := whole(r, next)
		maps.Copy(w.Header(), rec.Header())
		if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	} else {
		answer.Data = doc{p.path[0]: nil}
	}
	path := empty(answer.Data, p.path)
	lost := doc{"message": messageOfFailure, "path": path, "locations": []doc{{"line": 1, "column": 1}}}
	if p.kind != "" {
		lost["type"] = p.kind
	}
	if p.kind == "FORBIDDEN" {
		lost["message"] = messageOfList
	}
	answer.Errors = append(answer.Errors, lost)
	writeJSON(w, answer)
}

// empty makes a node of a value null, and returns its path as GraphQL has it.
func empty(value any, path []string) []any {
	name, rest := path[0], path[1:]
	switch in := value.(type) {
	case map[string]any:
		if len(rest) == 0 {
			in[name] = nil
			return []any{name}
		}
		return append([]any{name}, empty(in[name], rest)...)
	case []any:
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(in) {
			return []any{name}
		}
		if len(rest) == 0 {
			in[i] = nil
			return []any{i}
		}
		return append([]any{i}, empty(in[i], rest)...)
	}
	return []any{name}
}
