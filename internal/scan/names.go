package scan

import (
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
