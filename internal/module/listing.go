package module

import (
	"encoding/json"
	"slices"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/transport"
)

// moduleList is a registry's list of a module's versions.
type moduleList struct {
	numbers  []string // all versions, in the registry's order and spelling
	versions *scan.ModuleVersions
}

// The bounds on the details of a list. No real constraint or address is longer than
// maxListedText. A release with a longer text has only its version, and so have those after
// the bound for all.
const (
	maxListedText = 256
	maxDetails    = 1 << 20 // bytes, with the size of the structures
	listedSize    = 64      // of an entry without its texts
)

// listedVersion is a version in a registry's answer. Its details are parsed separately, so
// that a mistake in them does not spoil the list [protocol: module registry] [opentofu 1.12
// internal/registry/response/module_versions.go].
type listedVersion struct {
	Version    string
	Root       json.RawMessage
	Submodules json.RawMessage
}

// listedDetail is a registry's detail about a module in a package.
type listedDetail struct {
	Path      string
	Providers []struct{ Name, Source, Version string }
}

// readListing reads a registry's answer with the versions of a module.
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
	versions := answer.Modules[0].Versions // the other modules are its dependencies
	var l moduleList
	for _, v := range versions {
		l.numbers = append(l.numbers, v.Version)
	}
	l.versions = releasedIn(versions)
	return l, nil
}

// releasedIn are the releases of a list, oldest first. Of equal versions the first in the
// list counts, as in choose. If maxDetails is reached, the oldest releases have no details.
func releasedIn(listed []listedVersion) *scan.ModuleVersions {
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
	kept := details{
		bySource: map[string][]scan.ListedModule{}, byContent: map[string][]scan.ListedModule{},
		texts: map[string]string{}, constraints: map[string]scan.ListedProvider{},
	}
	for i, r := range slices.Backward(all) {
		releases[i] = scan.ModuleRelease{Version: strings.Clone(r.number.String()), Modules: kept.of(r.listedVersion)}
	}
	return &scan.ModuleVersions{Releases: releases}
}

// details are the details of a list. Registries repeat them in many versions, so equal ones
// are kept once.
type details struct {
	bySource, byContent map[string][]scan.ListedModule
	texts               map[string]string
	constraints         map[string]scan.ListedProvider // providers with only constraints
	size                int
}

// of is a version's detail about the modules in its package. It is nil if there is none, if
// it is invalid or too long, or if there is no room.
func (d *details) of(v listedVersion) []scan.ListedModule {
	if len(v.Root)+len(v.Submodules) == 0 {
		return nil
	}
	source := string(v.Root) + "\x00" + string(v.Submodules)
	if known, ok := d.bySource[source]; ok {
		return known
	}
	read := detailOf(v)
	content := spelled(read)
	modules, ok := d.byContent[content]
	if !ok && d.size <= maxDetails {
		modules = d.kept(read)
		d.byContent[content] = modules
	}
	d.bySource[source] = modules
	return modules
}

// detailOf reads the detail of a version; nil if it is invalid or too long.
func detailOf(v listedVersion) []listedDetail {
	var all []listedDetail
	var root *listedDetail
	if len(v.Root) > 0 && json.Unmarshal(v.Root, &root) != nil || len(v.Submodules) > 0 && json.Unmarshal(v.Submodules, &all) != nil {
		return nil
	}
	if root != nil {
		root.Path = "."
		all = append([]listedDetail{*root}, slices.DeleteFunc(all, func(d listedDetail) bool { return d.Path == "." })...)
	}
	for _, detail := range all {
		for _, p := range detail.Providers {
			if max(len(detail.Path), len(p.Name), len(p.Source), len(p.Version)) > maxListedText {
				return nil
			}
		}
	}
	return all
}

// spelled is a text that is equal for equal details.
func spelled(all []listedDetail) string {
	text, _ := json.Marshal(all) // it has only texts
	return string(text)
}

// kept are the modules of a detail, made of the shared values.
func (d *details) kept(all []listedDetail) []scan.ListedModule {
	var modules []scan.ListedModule
	for _, detail := range all {
		d.size += listedSize
		m := scan.ListedModule{Path: d.text(detail.Path)}
		for _, p := range detail.Providers {
			d.size += listedSize
			required := d.required(p.Version)
			required.Name, required.Source = d.text(p.Name), d.text(p.Source)
			m.Providers = append(m.Providers, required)
		}
		modules = append(modules, m)
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

// required is a provider without a name and with constraints, which are shared.
func (d *details) required(text string) scan.ListedProvider {
	if known, ok := d.constraints[text]; ok {
		return known
	}
	p := scan.ListedProvider{Valid: true}
	if text != "" {
		c, err := provider.ParseConstraints(strings.Clone(text)) // the result may keep parts of the text
		p.Constraints, p.Valid = c, err == nil
	}
	d.size += len(text) + listedSize*len(p.Constraints.Terms())
	d.constraints[strings.Clone(text)] = p
	return p
}
