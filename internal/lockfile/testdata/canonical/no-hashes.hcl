# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/aws" {
  version     = "5.0.0"
  constraints = "~> 5.0"
}

provider "registry.opentofu.org/hashicorp/tls" {
  version = "4.0.0"
}
