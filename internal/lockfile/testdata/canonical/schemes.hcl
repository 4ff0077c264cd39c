# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.3"
  hashes = [
    "h1:+/=",
    "h1:/+=",
    "h1:09=",
    "h1:AZ=",
    "h1:az=",
    "h1:not base64",
    "h2:from the future",
    "hx:\"quoted\" \\ $${x} %%{y} \t\u00a0",
    "zh:NOT-HEX",
  ]
}
