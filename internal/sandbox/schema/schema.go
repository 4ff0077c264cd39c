// Package schema is GitHub's own schema of GraphQL, for the parts that relock
// uses. By it the sandbox refuses what GitHub would refuse. Package described
// compares the answers with it.
//
// github.graphql is an extract of GitHub's publication, with the used fields and
// types. described/README.md names its source and how to make it.
package schema

import (
	_ "embed"
	"sync"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

//go:embed github.graphql
var text string

var read = sync.OnceValue(func() *ast.Schema {
	return gqlparser.MustLoadSchema(&ast.Source{Name: "github.graphql", Input: text})
})

// GitHub returns the schema. It is read once and shared: nobody may change it.
func GitHub() *ast.Schema { return read() }
