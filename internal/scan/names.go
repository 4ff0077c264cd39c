package scan

import (
	"slices"
	"strings"
)

// Names that mean something to those around the tools.
const (
	terragruntFile = "terragrunt.hcl"
	// terragruntStack is where Terragrunt writes the units of a stack [case stack-unit].
	terragruntStack = ".terragrunt-stack"
	cdkFile         = "cdk.tf.json" // what CDK for Terraform generates from a program
	cdkProject      = "cdktf.json"  // and beside the program
)

// variableFile reports whether a file sets variables of a root module.
func variableFile(name string) bool {
	name = strings.TrimSuffix(name, ".json")
	return name == "terraform.tfvars" || strings.HasSuffix(name, ".auto.tfvars")
}

// inModules reports whether a directory is, by its path, more likely to be
// called or run by something else than to be a root module by itself.
func inModules(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
		return part == "modules" || part == "examples" || strings.HasPrefix(part, "test")
	})
}
