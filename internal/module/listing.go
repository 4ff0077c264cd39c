package module

import (
	"encoding/json"
	"slices"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/transport"
)

// moduleList is what a registry lists of a module.
type moduleList struct {
	numbers  []string // of all versions, in the registry's order and spelling
	versions *scan.ModuleVersions
}

// The bounds of what is kept of a list beside its numbers. A text that is longer is no
// constraint or address that anybody has written; a release with one, or behind what is
// kept in all, is listed by its version alone.
const (
	maxListedText = 256
	maxDetail     = 1 << 20 // bytes, with what a structure takes
	listedSize    = 64      // of an entry without its texts
)

// listedVersion is a version in a registry's answer. What it requires is read apart, so
// that a mistake in there costs nobody the list [protocol: module registry]
// [opentofu 1.12 internal/registry/response/module_versions.go].
type listedVersion struct {
	Version    string
	Root       json.RawMessage
	Submodules json.RawMessage
}

// listedDetail is what a registry says of a module in a package.
type listedDetail struct {
	Path      string
	Providers []struct{ Name, Source, Version string }
}

// readListing reads a registry's answer for the versions of a module.
func readListing(body []byte) (moduleList, error) {
	var answer struct {
		Modules []struct{ Versions []listedVersion }
	}
	if err := transport.DecodeJSON(body, &answer); err != nil {
		return moduleList{}, badAnswer("the registry's answer for its versions is not valid: %v", err)
	}
	if len(answer.Modules) == 0 {
		return moduleList{}, badAnswer("the registry's answer for its versions names no module")
	}
	versions := answer.Modules[0].Versions // the others are what it depends on
	var l moduleList
	for _, v := range versions {
		l.numbers = append(l.numbers, v.Version)
	}
	l.versions = versionsOf(versions)
	return l, nil
}

// versionsOf are the releases of a list, oldest first. Of equal versions the first listed
// counts, as for choose. The newest are the last that maxDetail leaves without detail.
func versionsOf(listed []listedVersion) *scan.ModuleVersions {
	type release struct {
		number *goversion.Version
		listedVersion
	}
	var all []release
	for _, v := range listed {
		number, err := goversion.NewVersion(v.Version)
		if err == nil && number.Prerelease() == "" {
			all = append(all, release{number, v})
		}
	}
	slices.SortStableFunc(all, func(a, b release) int { return a.number.Compare(b.number) })
	all = slices.CompactFunc(all, func(a, b release) bool { return a.number.Equal(b.number) })
	releases := make([]scan.ModuleRelease, len(all))
	kept := details{bySource: map[string][]scan.ListedModule{}, byContent: map[string][]scan.ListedModule{}, texts: map[string]string{}}
	for i, r := range slices.Backward(all) {
		releases[i] = scan.ModuleRelease{Version: strings.Clone(r.number.String()), Modules: kept.of(r.listedVersion)}
	}
	return &scan.ModuleVersions{Releases: releases}
}

// details are those of a list. Registries repeat them in version after version, so equal
// ones are kept once.
type details struct {
	bySource, byContent map[string][]scan.ListedModule
	texts               map[string]string
	size                int
}

// of is what a version says of the modules in its package; nil if it says nothing, or
// what is not valid or too long.
func (d *details) of(v listedVersion) []scan.ListedModule {
	if len(v.Root)+len(v.Submodules) == 0 {
		return nil
	}
	source := string(v.Root) + "\x00" + string(v.Submodules)
	if known, ok := d.bySource[source]; ok {
		return known
	}
	modules := detailOf(v)
	content := spelled(modules)
	if known, ok := d.byContent[content]; ok {
		modules = known
	} else {
		modules = d.kept(modules)
		d.byContent[content] = modules
	}
	d.bySource[source] = modules
	return modules
}

// detailOf reads the detail of a version.
func detailOf(v listedVersion) []scan.ListedModule {
	var all []listedDetail
	var root *listedDetail
	if len(v.Root) > 0 && json.Unmarshal(v.Root, &root) != nil || len(v.Submodules) > 0 && json.Unmarshal(v.Submodules, &all) != nil {
		return nil
	}
	if root != nil {
		root.Path = ""
		all = append([]listedDetail{*root}, slices.DeleteFunc(all, func(d listedDetail) bool { return d.Path == "" })...)
	}
	var modules []scan.ListedModule
	for _, detail := range all {
		m := scan.ListedModule{Path: detail.Path}
		for _, p := range detail.Providers {
			if max(len(detail.Path), len(p.Name), len(p.Source), len(p.Version)) > maxListedText {
				return nil
			}
			m.Providers = append(m.Providers, scan.ListedProvider{Name: p.Name, Source: p.Source, Constraint: p.Version})
		}
		modules = append(modules, m)
	}
	return modules
}

// spelled is equal for equal details.
func spelled(modules []scan.ListedModule) string {
	text, _ := json.Marshal(modules) // it has nothing but texts
	return string(text)
}

// kept are the modules with texts that are kept once, or nil where there is no room.
func (d *details) kept(modules []scan.ListedModule) []scan.ListedModule {
	if d.size > maxDetail {
		return nil
	}
	for i := range modules {
		m := &modules[i]
		d.size += listedSize
		m.Path = d.text(m.Path)
		for j, p := range m.Providers {
			d.size += listedSize
			m.Providers[j] = scan.ListedProvider{Name: d.text(p.Name), Source: d.text(p.Source), Constraint: d.text(p.Constraint)}
		}
	}
	if d.size > maxDetail {
		return nil
	}
	return modules
}

func (d *details) text(s string) string {
	if known, ok := d.texts[s]; ok {
		return known
	}
	s = strings.Clone(s)
	d.size += len(s)
	d.texts[s] = s
	return s
}
