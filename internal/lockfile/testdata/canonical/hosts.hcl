# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "app.example.com:8443/acme/z-a" {
  version = "1.0.0-beta.1+build.7"
  hashes = [
    "h1:AAAA",
  ]
}

provider "app.example.com:8443/acme/z9" {
  version = "1.0.0"
  hashes = [
    "h1:AAAA",
  ]
}

provider "registry.terraform.io/acme/zeta" {
  version = "1.0.0"
  hashes = [
    "h1:AAAA",
  ]
}

provider "bücher.example/acme/alpha" {
  version = "1.0.0"
  hashes = [
    "h1:AAAA",
  ]
}

provider "zzz.example/acme/alpha" {
  version = "1.0.0"
  hashes = [
    "h1:AAAA",
  ]
}
