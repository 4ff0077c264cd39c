package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"runtime/debug"
	"testing"

	"golang.org/x/tools/txtar"
)

// top is where the repository is for the tests of this package.
const top = "../.."

// repository is what the tests read. Names in it are slash-separated, from the root.
var repository = os.DirFS(top)

// TestMain collects garbage less often than programs do: most of what the tests read
// they keep.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// read is the content of a file of the repository.
func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := fs.ReadFile(repository, name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// glob are the files of the repository that match a pattern.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := fs.Glob(repository, pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// parse reads a file of Go.
func parse(fset *token.FileSet, name string, mode parser.Mode) (*ast.File, error) {
	text, err := fs.ReadFile(repository, name)
	if err != nil {
		return nil, err
	}
	return parser.ParseFile(fset, name, text, mode)
}

// archive reads a file that holds others.
func archive(t *testing.T, name string) *txtar.Archive {
	t.Helper()
	return txtar.Parse(read(t, name))
}
