package provider

import (
	"fmt"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
)

// ToolName is the tool whose rules apply: Terraform or OpenTofu.
type ToolName string

// The two tools.
const (
	Terraform ToolName = "terraform"
	OpenTofu  ToolName = "opentofu"
)

// DefaultHost is the registry host of an address without a host.
func (n ToolName) DefaultHost() svchost.Hostname {
	if n == OpenTofu {
		return opentofuHost
	}
	return terraformHost
}

// Command is the program's name, as in lock file headers.
func (n ToolName) Command() string {
	if n == OpenTofu {
		return "tofu"
	}
	return "terraform"
}

// Title is the product's name as people write it.
func (n ToolName) Title() string {
	if n == OpenTofu {
		return "OpenTofu"
	}
	return "Terraform"
}

// Tool is one release of a tool. Rules change by release: ask Has.
type Tool struct {
	Name    ToolName `json:"tool"`
	Version Version  `json:"tool_version"`
}

// newest is the last release of each tool whose rules the feature table knows.
var newest = map[ToolName]Version{
	Terraform: {Major: 1, Minor: 17},
	OpenTofu:  {Major: 1, Minor: 13},
}

// earlier are the last releases of the minor versions before the newest one, oldest
// first. Each began with patch 0 and left none out
// [docs: github.com/hashicorp/terraform/releases, github.com/opentofu/opentofu/releases].
var earlier = map[ToolName][]Version{
	Terraform: {
		{Minor: 12, Patch: 31}, {Minor: 13, Patch: 7}, {Minor: 14, Patch: 11}, {Minor: 15, Patch: 5},
		{Major: 1, Minor: 0, Patch: 11}, {Major: 1, Minor: 1, Patch: 9}, {Major: 1, Minor: 2, Patch: 9},
		{Major: 1, Minor: 3, Patch: 10}, {Major: 1, Minor: 4, Patch: 7}, {Major: 1, Minor: 5, Patch: 7},
		{Major: 1, Minor: 6, Patch: 6}, {Major: 1, Minor: 7, Patch: 5}, {Major: 1, Minor: 8, Patch: 5},
		{Major: 1, Minor: 9, Patch: 8}, {Major: 1, Minor: 10, Patch: 5}, {Major: 1, Minor: 11, Patch: 4},
		{Major: 1, Minor: 12, Patch: 2}, {Major: 1, Minor: 13, Patch: 5}, {Major: 1, Minor: 14, Patch: 9},
		{Major: 1, Minor: 15, Patch: 9}, {Major: 1, Minor: 16},
	},
	OpenTofu: {
		{Major: 1, Minor: 6, Patch: 3}, {Major: 1, Minor: 7, Patch: 10}, {Major: 1, Minor: 8, Patch: 11},
		{Major: 1, Minor: 9, Patch: 4}, {Major: 1, Minor: 10, Patch: 10}, {Major: 1, Minor: 11, Patch: 14},
		{Major: 1, Minor: 12, Patch: 6},
	},
}

// first is the first release of each tool that matters: OpenTofu has none before
// 1.6.0 (https://github.com/opentofu/opentofu/releases/tag/v1.6.0).
var first = map[ToolName]Version{
	OpenTofu: {Major: 1, Minor: 6},
}

// First returns the oldest release of the tool.
func First(name ToolName) Tool { return Tool{Name: name, Version: first[name]} }

// Newest returns the newest release of the tool with known rules.
func Newest(name ToolName) Tool { return Tool{Name: name, Version: newest[name]} }

// Lasts returns the last known release of each minor version, oldest first.
func (n ToolName) Lasts() []Version { return append(slices.Clone(earlier[n]), newest[n]) }

// String returns "Terraform 1.11.4".
func (t Tool) String() string { return t.Name.Title() + " " + t.Version.String() }

// Feature is a rule that not every release of both tools has.
type Feature int

// The features. Each name says what a release with the feature does.
const (
	// TestFiles loads test files of the root module at init.
	TestFiles Feature = iota
	// TestProviders counts the provider blocks of test files.
	TestProviders
	// TestFilesInLock loads test files in providers lock, too.
	TestFilesInLock
	// HiddenTestFiles no longer skips hidden names in the tests directory.
	HiddenTestFiles
	// ImportBlocks has import blocks, which imply a provider.
	ImportBlocks
	// ImportAlways lets every import block imply a provider, whatever its target.
	// The names are those of the module with the block.
	ImportAlways
	// Ephemeral has ephemeral resources.
	Ephemeral
	// Actions has action blocks.
	Actions
	// TofuFiles reads .tofu files, which shadow .tf files of the same name.
	TofuFiles
	// EarlyEvaluation evaluates variables and locals in module sources.
	EarlyEvaluation
	// ConstEvaluation evaluates only variables declared const there.
	ConstEvaluation
	// LenientVersions skips a registry's invalid version strings. Other releases
	// fail for the provider.
	LenientVersions
	// RegistryHashes records the hashes of all platforms that the registry
	// reports in the packages property.
	RegistryHashes
	// VerifiedHashes records the hashes that a source names and that a package
	// has.
	VerifiedHashes
	// TrustedMirrors follows trust_all_hashes of a network mirror.
	TrustedMirrors
	// PredecessorLocks takes hashicorp entries of registry.terraform.io over.
	PredecessorLocks
	// ProviderInstances lets a reference to a provider configuration end in an
	// instance key, and provider blocks repeat with for_each.
	ProviderInstances
	// LanguageBlocks has language blocks, and follows required_version in .tofu
	// files only.
	LanguageBlocks
	// ModuleLocations reads the location of a registry module from the body of
	// the registry's answer, too.
	ModuleLocations
	// PrefixedPrereleases finds a prerelease of a module by a constraint that
	// begins with a v.
	PrefixedPrereleases
	// OCIModules has module packages in OCI repositories.
	OCIModules
	// RegistryPackages downloads module packages from the registry itself, with
	// its credentials, if its answer says so.
	RegistryPackages
	// UnderscoreNamespaces reads provider addresses with inner underscores in the
	// namespace, in configuration and in lock files.
	UnderscoreNamespaces
	// ImportInModules admits import blocks in called modules.
	ImportInModules
	// SkippedOverrides does not install a provider that the CLI configuration
	// overrides, so init leaves its entry alone.
	SkippedOverrides
	// SymbolLibraries has symbols blocks, as an experiment.
	SymbolLibraries
	// UnorderedModules installs the modules that one module calls in any order.
	UnorderedModules
	// ConstRequirements evaluates constant variables and locals in the source and the
	// version of required_providers.
	ConstRequirements
	// NoExperiments refuses the argument experiments of a terraform block, whatever its
	// value. Only alpha releases admit it. OpenTofu ignores it from 1.12 on, which has its
	// own in language blocks [opentofu 1.12 internal/configs/parser_config.go].
	NoExperiments
)

// span is a half-open range of releases; a zero until has no end.
type span struct{ since, until Version }

// features is the table of the releases with each rule. A tool without an entry
// never has the rule. docs/releases.md names the case or the source of each row;
// a test compares both tables.
var features = map[Feature]map[ToolName]span{
	TestFiles:           {Terraform: {since: release(1, 6)}, OpenTofu: {since: release(1, 6)}},
	TestProviders:       {Terraform: {since: release(1, 6), until: release(1, 9)}, OpenTofu: {since: release(1, 6)}},
	TestFilesInLock:     {Terraform: {since: release(1, 14)}},
	HiddenTestFiles:     {Terraform: {since: release(1, 13)}},
	ImportBlocks:        {Terraform: {since: release(1, 5)}, OpenTofu: {since: release(1, 6)}},
	ImportAlways:        {OpenTofu: {since: release(1, 7)}},
	Ephemeral:           {Terraform: {since: release(1, 10)}, OpenTofu: {since: release(1, 11)}},
	Actions:             {Terraform: {since: release(1, 14)}},
	TofuFiles:           {OpenTofu: {since: release(1, 8)}},
	EarlyEvaluation:     {OpenTofu: {since: release(1, 8)}},
	ConstEvaluation:     {Terraform: {since: release(1, 15)}},
	LenientVersions:     {Terraform: {since: release(1, 13)}},
	RegistryHashes:      {OpenTofu: {since: release(1, 12)}},
	VerifiedHashes:      {OpenTofu: {since: release(1, 10)}},
	TrustedMirrors:      {OpenTofu: {since: release(1, 12)}},
	PredecessorLocks:    {OpenTofu: {since: release(1, 10)}},
	ProviderInstances:   {OpenTofu: {since: release(1, 9)}},
	LanguageBlocks:      {OpenTofu: {since: release(1, 12)}},
	ModuleLocations:     {OpenTofu: {since: release(1, 6)}},
	PrefixedPrereleases: {OpenTofu: {since: release(1, 9)}},
	OCIModules:          {OpenTofu: {since: release(1, 10)}},
	RegistryPackages:    {OpenTofu: {since: release(1, 12)}},

	UnderscoreNamespaces: {Terraform: {since: release(1, 16)}},
	ImportInModules:      {Terraform: {since: release(1, 16)}},
	SkippedOverrides:     {Terraform: {since: release(1, 15)}},
	SymbolLibraries:      {OpenTofu: {since: release(1, 13)}},
	UnorderedModules:     {Terraform: {since: release(1, 15)}},
	ConstRequirements:    {Terraform: {since: release(1, 17)}},
	NoExperiments:        {Terraform: {since: release(1, 3)}, OpenTofu: {since: release(1, 6), until: release(1, 12)}},
}

func release(major, minor int64) Version { return Version{Major: major, Minor: minor} }

// Has reports whether this release of the tool has the rule.
func (t Tool) Has(f Feature) bool {
	s, ok := features[f][t.Name]
	if !ok || t.Version.Core().Compare(s.since) < 0 {
		return false
	}
	return s.until == (Version{}) || t.Version.Core().Compare(s.until) < 0
}

// Refusal says why this release does not read an address that others read; empty
// if it reads it.
func (t Tool) Refusal(a Addr) string {
	if !strings.Contains(a.Namespace, "_") || t.Has(UnderscoreNamespaces) {
		return ""
	}
	since, some := t.Name.Since(UnderscoreNamespaces)
	if !some {
		return fmt.Sprintf("the namespace of %s has an underscore, which no release of %s reads", a, t.Name.Title())
	}
	return fmt.Sprintf("the namespace of %s has an underscore, which %s reads from %s on", a, t.Name.Title(), since)
}

// Since returns the first release of the tool with a rule; ok is false if none
// has it.
func (n ToolName) Since(f Feature) (since Version, ok bool) {
	s, ok := features[f][n]
	return s.since, ok
}

// Boundaries returns the releases of the tool that change a rule.
func (n ToolName) Boundaries() []Version {
	var releases []Version
	for _, spans := range features {
		for _, v := range []Version{spans[n].since, spans[n].until} {
			if v != (Version{}) && !slices.Contains(releases, v) {
				releases = append(releases, v)
			}
		}
	}
	slices.SortFunc(releases, Version.Compare)
	return releases
}

// Rules returns the oldest release of the tool with the same rules. Releases with
// equal Rules behave the same.
func (t Tool) Rules() Tool {
	var oldest Version
	for _, spans := range features {
		for _, edge := range []Version{spans[t.Name].since, spans[t.Name].until} {
			if edge.Compare(t.Version.Core()) <= 0 && edge.Compare(oldest) > 0 {
				oldest = edge
			}
		}
	}
	return Tool{Name: t.Name, Version: oldest}
}
