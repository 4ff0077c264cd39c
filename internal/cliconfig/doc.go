// Package cliconfig reads the CLI configuration of Terraform and OpenTofu: the
// .terraformrc and .tofurc files, their directory, and the variables that stand
// beside them. It says where the tool looks for providers (installation
// methods), which services a registry host offers, by the operator's word or by
// the host's own (service discovery), which credentials a host or an OCI
// registry gets, and how patient the operator wants us to be
// [terraform 1.11 internal/command/cliconfig/cliconfig.go].
//
// It only says so: what a mirror holds is for package registry to find out. It
// runs programs, as no package above it does: the credentials helpers that the
// configuration names.
//
// Settings that only change how the tools run are left alone. plugin_cache_dir
// is one of them: an unpacked package cannot be compared with a checksum list,
// which is about zips, so there is nothing that such a directory could prove.
package cliconfig
