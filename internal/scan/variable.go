package scan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/hclfile"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// variableValues are the values that the variable files of a root module set.
type variableValues struct {
	exprs map[string]hcl.Expression
	// bad is the name of an unreadable file; its values are unknown. Empty: all were read.
	bad string
}

// variableFile reports whether a file sets variables of a root module.
func variableFile(name string) bool {
	name = strings.TrimSuffix(name, ".json")
	return name == "terraform.tfvars" || strings.HasSuffix(name, ".auto.tfvars")
}

// readVariables reads the variable files of a root module in the tools' order. A later file
// overrides an earlier one: terraform.tfvars, terraform.tfvars.json, and then *.auto.tfvars
// and *.auto.tfvars.json in the order of their names.
func readVariables(at tfconfig.Directory) variableValues {
	turn := func(name string) int { // of the names that count, only two do not end in .auto.tfvars[.json]
		if strings.TrimSuffix(name, ".json") == "terraform.tfvars" {
			return 0
		}
		return 1
	}
	var names []string
	entries, _ := at.Entries()
	for _, e := range entries {
		if !e.IsDir() && variableFile(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(turn(a), turn(b)), strings.Compare(a, b)) })
	return readFiles(at, names)
}

// readFiles reads variable files. A later file overrides an earlier one.
func readFiles(at tfconfig.Directory, names []string) variableValues {
	found := variableValues{exprs: map[string]hcl.Expression{}}
	for _, name := range names {
		src, err := at.Read(name)
		f, _ := hclfile.Parse(src, at.Place(name))
		if err != nil || f == nil {
			found.bad = at.Place(name).File()
			return found
		}
		attrs, diags := f.Body.JustAttributes()
		if diags.HasErrors() {
			found.bad = at.Place(name).File()
			return found
		}
		for _, attr := range attrs {
			found.exprs[attr.Name] = attr.Expr
		}
	}
	return found
}
