package provider

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func tool(t testing.TB, name ToolName, v string) Tool {
	t.Helper()
	return Tool{Name: name, Version: version(t, v)}
}

func TestToolNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[ToolName]string{
		Terraform: "terraform Terraform registry.terraform.io",
		OpenTofu:  "tofu OpenTofu registry.opentofu.org",
		"":        "terraform Terraform registry.terraform.io",
	} {
		if got := fmt.Sprint(name.Command(), " ", name.Title(), " ", name.DefaultHost()); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	if got := tool(t, OpenTofu, "1.12.6").String(); got != "OpenTofu 1.12.6" {
		t.Errorf("String() = %q, want OpenTofu 1.12.6", got)
	}
}

// TestHas names for each rule the last release without it, the first with it
// and, where it was dropped, the last with it and the first without it again.
func TestHas(t *testing.T) {
	t.Parallel()
	never := map[string]bool{"0.12.0": false, "1.0.0": false, "2.0.0": false}
	for _, tt := range []struct {
		name                string
		feature             Feature
		terraform, opentofu map[string]bool
	}{
		{"TestFiles", TestFiles, map[string]bool{"1.5.7": false, "1.6.0": true}, map[string]bool{"1.6.0": true}},
		{"TestProviders", TestProviders, map[string]bool{"1.5.7": false, "1.6.0": true, "1.8.5": true, "1.9.0": false}, map[string]bool{"1.6.0": true, "1.12.6": true}},
		{"TestFilesInLock", TestFilesInLock, map[string]bool{"1.13.5": false, "1.14.0": true}, never},
		{"HiddenTestFiles", HiddenTestFiles, map[string]bool{"1.12.2": false, "1.13.0": true}, never},
		{"ImportBlocks", ImportBlocks, map[string]bool{"1.4.7": false, "1.5.0": true}, map[string]bool{"1.6.0": true}},
		{"ImportAlways", ImportAlways, never, map[string]bool{"1.6.3": false, "1.7.0": true}},
		{"Ephemeral", Ephemeral, map[string]bool{"1.9.8": false, "1.10.0": true}, map[string]bool{"1.10.9": false, "1.11.0": true}},
		{"Actions", Actions, map[string]bool{"1.13.5": false, "1.14.0": true}, never},
		{"TofuFiles", TofuFiles, never, map[string]bool{"1.7.9": false, "1.8.0": true}},
		{"EarlyEvaluation", EarlyEvaluation, never, map[string]bool{"1.7.9": false, "1.8.0": true}},
		{"ConstEvaluation", ConstEvaluation, map[string]bool{"1.14.9": false, "1.15.0": true}, never},
		{"LenientVersions", LenientVersions, map[string]bool{"1.12.2": false, "1.13.0": true}, never},
		{"RegistryHashes", RegistryHashes, never, map[string]bool{"1.11.9": false, "1.12.0": true}},
		{"PredecessorLocks", PredecessorLocks, never, map[string]bool{"1.9.9": false, "1.10.0": true}},
		{"ProviderInstances", ProviderInstances, never, map[string]bool{"1.8.9": false, "1.9.0": true}},
		{"LanguageBlocks", LanguageBlocks, never, map[string]bool{"1.11.9": false, "1.12.0": true}},
		{"ModuleLocations", ModuleLocations, never, map[string]bool{"1.6.0": true}},
		{"PrefixedPrereleases", PrefixedPrereleases, never, map[string]bool{"1.8.9": false, "1.9.0": true}},
		{"OCIModules", OCIModules, never, map[string]bool{"1.9.9": false, "1.10.0": true}},
		{"RegistryPackages", RegistryPackages, never, map[string]bool{"1.11.9": false, "1.12.0": true}},
		{"UnderscoreNamespaces", UnderscoreNamespaces, map[string]bool{"1.15.9": false, "1.16.0": true}, never},
		{"ImportInModules", ImportInModules, map[string]bool{"1.15.9": false, "1.16.0": true}, never},
		{"SkippedOverrides", SkippedOverrides, map[string]bool{"1.14.9": false, "1.15.0": true}, never},
		{"SymbolLibraries", SymbolLibraries, never, map[string]bool{"1.12.6": false, "1.13.0": true}},
		{"UnorderedModules", UnorderedModules, map[string]bool{"1.14.9": false, "1.15.0": true}, never},
		{"ConstRequirements", ConstRequirements, map[string]bool{"1.16.0": false, "1.17.0": true}, never},
		{"NoExperiments", NoExperiments, map[string]bool{"1.2.9": false, "1.3.0": true, "1.17.0": true}, map[string]bool{"1.6.0": true, "1.11.9": true, "1.12.0": false}},
	} {
		for name, releases := range map[ToolName]map[string]bool{Terraform: tt.terraform, OpenTofu: tt.opentofu} {
			for v, want := range releases {
				if got := tool(t, name, v).Has(tt.feature); got != want {
					t.Errorf("%s %s has %s: %v, want %v", name.Title(), v, tt.name, got, want)
				}
			}
		}
	}
}

// What a release does not read is said with the first one that does, if any does.
func TestRefusal(t *testing.T) {
	t.Parallel()
	under := Addr{Host: "registry.example.com", Namespace: "my_org", Type: "thing"}
	for _, tt := range []struct {
		name    ToolName
		version string
		want    string
	}{
		{Terraform, "1.15.9", "the namespace of registry.example.com/my_org/thing has an underscore, which Terraform reads from 1.16.0 on"},
		{Terraform, "1.16.0", ""},
		{OpenTofu, "1.13.0", "the namespace of registry.example.com/my_org/thing has an underscore, which no release of OpenTofu reads"},
	} {
		if got := tool(t, tt.name, tt.version).Refusal(under); got != tt.want {
			t.Errorf("%s %s: Refusal = %q, want %q", tt.name, tt.version, got, tt.want)
		}
		if got := tool(t, tt.name, tt.version).Refusal(Addr{Host: "a.example", Namespace: "my-org", Type: "thing"}); got != "" {
			t.Errorf("%s %s: Refusal of a dash = %q", tt.name, tt.version, got)
		}
	}
}

func TestHasCountsPrereleasesAsTheirRelease(t *testing.T) {
	t.Parallel()
	if !tool(t, OpenTofu, "1.12.0-beta1").Has(RegistryHashes) {
		t.Error("OpenTofu 1.12.0-beta1 does not have RegistryHashes")
	}
	if tool(t, Terraform, "1.9.0-rc1").Has(TestProviders) {
		t.Error("Terraform 1.9.0-rc1 has TestProviders")
	}
}

func TestNewestKnowsEveryRule(t *testing.T) {
	t.Parallel()
	for _, name := range []ToolName{Terraform, OpenTofu} {
		newest := Newest(name)
		if newest.Name != name || newest.Version.IsZero() {
			t.Errorf("Newest(%q) = %v", name, newest)
		}
		for f, tools := range features {
			if s, ok := tools[name]; ok && newest.Version.Compare(s.since) < 0 {
				t.Errorf("feature %d begins with %s, after %s", f, s.since, newest)
			}
		}
	}
}

// TestReleasesDocument holds that the table in the documents says of each rule which
// releases have it, in the order of the features.
func TestReleasesDocument(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/releases.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(strings.Trim(line, "| \n"), " | "); len(cells) == 4 && cells[0] != "rule" {
			rows = append(rows, cells)
		}
	}
	if len(rows) != len(features) {
		t.Fatalf("docs/releases.md has %d rules, want %d", len(rows), len(features))
	}
	for i, row := range rows {
		for cell, name := range map[int]ToolName{1: Terraform, 2: OpenTofu} {
			if want := inWords(features[Feature(i)][name]); row[cell] != want {
				t.Errorf("docs/releases.md says of %q in %s: %s, want %s", row[0], name.Title(), row[cell], want)
			}
		}
		if row[3] == "" {
			t.Errorf("docs/releases.md names no case and no source for %q", row[0])
		}
	}
	for _, name := range []ToolName{Terraform, OpenTofu} {
		if want := fmt.Sprintf("%s up to %s", name.Title(), Newest(name).Version); !strings.Contains(string(page), want) {
			t.Errorf("docs/releases.md does not say %q", want)
		}
	}
}

// inWords says which releases a span has.
func inWords(s span) string {
	switch {
	case s == span{}:
		return "no"
	case s.until == Version{}:
		return fmt.Sprintf("%d.%d on", s.since.Major, s.since.Minor)
	}
	return fmt.Sprintf("%d.%d to %d.%d", s.since.Major, s.since.Minor, s.until.Major, s.until.Minor-1)
}

// A release that is taken in becomes the newest one, and the one before it the last of
// its minor version.
func TestLastsLeaveNoMinorOut(t *testing.T) {
	t.Parallel()
	for _, name := range []ToolName{Terraform, OpenTofu} {
		lasts := name.Lasts()
		for i, v := range lasts[1:] {
			if before := lasts[i]; v.Major == before.Major && v.Minor != before.Minor+1 || v.Major != before.Major && (v.Major != before.Major+1 || v.Minor != 0) {
				t.Errorf("%s: %s comes after %s", name, v, before)
			}
		}
		for _, v := range name.Boundaries() {
			if !slices.ContainsFunc(lasts, func(last Version) bool {
				return v.Major == last.Major && v.Minor == last.Minor && v.Patch <= last.Patch
			}) {
				t.Errorf("%s: rules differ from %s on, which is no known release", name, v)
			}
		}
	}
}
