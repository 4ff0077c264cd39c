package terragrunt

import (
	"fmt"
	"testing/fstest"

	"golang.org/x/tools/txtar"
)

// tree is a file tree from a text in the form of txtar.
func tree(text string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for _, f := range txtar.Parse([]byte(text)).Files {
		fsys[f.Name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
	}
	return fsys
}

// module is a module that requires a provider.
func module(dir, name, constraints string) string {
	return fmt.Sprintf("-- %s/main.tf --\nterraform {\n  required_providers {\n    %s = {\n      source = \"hashicorp/%s\"\n      version = %q\n    }\n  }\n}\n", dir, name, name, constraints)
}

// generated is a generate block of a provider.
func generated(label, file, exists, text string) string {
	return fmt.Sprintf("generate %q {\n  path = %q\n  if_exists = %q\n  contents = <<-EOT\n%s\nEOT\n}\n", label, file, exists, text)
}

const root = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n"
