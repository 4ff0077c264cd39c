// Package cliconfig reads the CLI configuration of Terraform and OpenTofu: the
// .terraformrc and .tofurc files, their directory, and the TF_TOKEN_ variables.
// It says which services a registry host offers, by the operator's word or by
// the host's own (service discovery), and which token a host gets.
//
// Settings that would change what is locked and that relock does not honour
// are errors, never ignored: provider_installation with anything but one plain
// direct method, and credentials helpers. Settings that only change how the
// tools run, such as plugin_cache_dir, are left alone.
package cliconfig
