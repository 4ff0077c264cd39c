// Package schema is GitHub's own schema of GraphQL, as far as relock asks for it: the
// sandbox refuses by it what GitHub would refuse, and package described compares the
// answers with it.
//
// github.graphql is an extract of what GitHub publishes, with the fields and types that
// are used. described/README.md says where it is from and how it is made.
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
