package cliconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/file"
)

// entries are all that is known, in the order in which it counts.
func (p ociPolicy) entries() ([]ociEntry, error) {
	all := slices.Clone(p.blocks)
	preset := ociPreset{}
	if p.preset != nil {
		preset = *p.preset
	}
	if preset.Helper != nil {
		all = append(all, ociEntry{helper: *preset.Helper})
	}
	if preset.Ambient != nil && !*preset.Ambient {
		return all, nil
	}
	if preset.Files != nil {
		for _, name := range *preset.Files {
			entries, err := readDockerFile(name)
			if err != nil {
				return nil, err
			}
			all = append(all, entries...)
		}
		return all, nil
	}
	for _, name := range slices.Compact(p.env.dockerFiles()) {
		// The usual files are not for OpenTofu alone: what is wrong with one
		// must not be in its way.
		entries, _ := readDockerFile(name)
		all = append(all, entries...)
	}
	return all, nil
}

// readDockerFile reads the credentials, the helpers of registries, and the
// helper of all others. Entries without a credential are what tools leave that
// put it into a helper.
func readDockerFile(name string) ([]ociEntry, error) {
	src, err := file.Read(name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read", filepath.ToSlash(name))
	}
	var file struct {
		Auths map[string]*struct {
			Auth []byte `json:"auth"` // base64 of USER:PASSWORD
		} `json:"auths"`
		Helpers map[string]string `json:"credHelpers"`
		Store   string            `json:"credsStore"`
	}
	if err := json.Unmarshal(src, &file); err != nil {
		return nil, fmt.Errorf("%s is not valid", filepath.ToSlash(name)) // and its words may be secrets
	}
	var entries []ociEntry
	for _, label := range slices.Sorted(maps.Keys(file.Auths)) {
		prefix, err := parsePrefix(label)
		if auth := file.Auths[label]; err == nil && auth != nil {
			if user, password, ok := strings.Cut(string(auth.Auth), ":"); ok {
				entries = append(entries, ociEntry{prefix: prefix, credential: OCICredential{Username: user, Password: password}})
			}
		}
	}
	for _, host := range slices.Sorted(maps.Keys(file.Helpers)) {
		if isHelperName(file.Helpers[host]) {
			entries = append(entries, ociEntry{prefix: Repository{Registry: host}, helper: file.Helpers[host]})
		}
	}
	if isHelperName(file.Store) {
		entries = append(entries, ociEntry{helper: file.Store})
	}
	return entries, nil
}
