package scan

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/hclfile"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// variableValues are the values that the variable files of a root module set.
type variableValues struct {
	exprs map[string]hcl.Expression
	// bad is the name of a file that could not be read, if there is any: what
	// it sets is not known.
	bad string
}

// readVariables reads the variable files of a root module in the tools' order,
// in which a later one wins: terraform.tfvars, terraform.tfvars.json, and the
// *.auto.tfvars and *.auto.tfvars.json in the order of their names.
func readVariables(at tfconfig.Directory) variableValues {
	found := variableValues{exprs: map[string]hcl.Expression{}}
	entries, _ := at.Entries()
	for _, name := range variableFiles(entries) {
		src, err := at.Read(name)
		f, _ := hclfile.Parse(src, at.Name(name))
		if err != nil || f == nil {
			found.bad = at.Name(name)
			return found
		}
		attrs, diags := f.Body.JustAttributes()
		if diags.HasErrors() {
			found.bad = at.Name(name)
			return found
		}
		for _, attr := range attrs {
			found.exprs[attr.Name] = attr.Expr
		}
	}
	return found
}

func variableFiles(entries []fs.DirEntry) []string {
	const defaults = "terraform.tfvars"
	var names []string
	for _, e := range entries {
		if !e.IsDir() && variableFile(e.Name()) {
			names = append(names, e.Name())
		}
	}
	// Of the names that count, only these two do not end in .auto.tfvars[.json].
	isDefault := func(name string) bool { return strings.TrimSuffix(name, ".json") == defaults }
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case isDefault(a) == isDefault(b):
			return strings.Compare(a, b)
		case isDefault(a):
			return -1
		}
		return 1
	})
	return names
}
