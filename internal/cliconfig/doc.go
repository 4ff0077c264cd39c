// Package cliconfig reads the CLI configuration of Terraform and OpenTofu: the .terraformrc
// and .tofurc files, their directory, and the environment variables for the same settings.
// It answers four questions. Where does the tool look for providers (installation methods)?
// Which services does a registry host offer, by the operator or by the host itself (service
// discovery)? Which credentials are for a host or an OCI registry? How long may requests
// take? [terraform 1.11 internal/command/cliconfig/cliconfig.go].
//
// Package registry finds out what a mirror holds. This package runs the credentials helpers
// that the configuration names.
//
// It ignores settings that only change how the tools run, such as plugin_cache_dir. An
// unpacked package cannot be compared with a checksum list, which is about zips. So such a
// directory could prove nothing.
package cliconfig
