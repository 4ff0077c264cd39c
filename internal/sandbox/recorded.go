package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/provider"
)

// recordedFile lists the offers of a recorded registry; recordedPackages is the
// directory of its zips.
const recordedFile, recordedPackages = "registry.json", "packages"

// caseFiles are the files of a recorded case. Files that it lacks come from the
// case that it is the same as.
type caseFiles struct{ own, same fs.FS }

// RecordedCase returns the files of a case in a directory. Its case.json may name
// another case beside it ("same_as"). Files that the directory lacks then come
// from that case: the configuration, the registry, the packages and their hashes.
func RecordedCase(dir string) (fs.FS, error) {
	own := os.DirFS(dir)
	src, err := fs.ReadFile(own, "case.json")
	if err != nil {
		return nil, err
	}
	var text struct {
		SameAs string `json:"same_as"`
	}
	if err := json.Unmarshal(src, &text); err != nil {
		return nil, inFile("case.json", err)
	}
	if text.SameAs == "" {
		return own, nil
	}
	same := filepath.Join(filepath.Dir(dir), text.SameAs)
	if _, err := os.Stat(same); err != nil {
		return nil, err
	}
	return caseFiles{own, os.DirFS(same)}, nil
}

// Open implements fs.FS.
func (c caseFiles) Open(name string) (fs.File, error) {
	top, _, _ := strings.Cut(name, "/")
	if slices.Contains([]string{"config", recordedFile, recordedPackages, "hashes.json"}, top) {
		if _, err := fs.Stat(c.own, top); errors.Is(err, fs.ErrNotExist) {
			return c.same.Open(name)
		}
	}
	return c.own.Open(name)
}

// ParseRecorded reads the registry of a case that was recorded from the real
// tools. recordedFile is JSON with "providers": a map of addresses to the fields
// of a world's YAML. The zips in packages are named
// HOST_NAMESPACE_TYPE_VERSION_PLATFORM.zip. A port follows the host after "-",
// since a file of a Go module must not have a colon in its name.
//
// The cases of both tools share one registry: each provider of
// registry.terraform.io is also in registry.opentofu.org.
func ParseRecorded(files fs.FS) (*World, error) {
	registryJSON, err := fs.ReadFile(files, recordedFile)
	if err != nil {
		return nil, err
	}
	packages, err := fs.Sub(files, recordedPackages)
	if err != nil {
		return nil, err
	}
	var text struct {
		Providers map[string]*providerText
	}
	if err := decode(txtar.File{Name: recordedFile, Data: registryJSON}, &text); err != nil {
		return nil, err
	}
	keys, err := newKeyring(nil)
	if err != nil {
		return nil, err
	}
	w := newWorld()
	for name, p := range text.Providers {
		addr, err := provider.ParseFullAddr(name)
		if err != nil {
			return nil, inFile(recordedFile, err)
		}
		o, err := p.offer(addr, keys, readPackage(packages, name))
		if err != nil {
			return nil, inFile(recordedFile, err)
		}
		if addr.Host == provider.Terraform.DefaultHost() {
			p.Also = append(p.Also, string(provider.OpenTofu.DefaultHost()))
		}
		if err := w.offer(addr, p.Also, o); err != nil {
			return nil, inFile(recordedFile, err)
		}
	}
	return w, nil
}

// readPackage is the packer of recorded registries: it returns the recorded zips.
// File names hold the address as written, except for forbidden characters.
func readPackage(packages fs.FS, addr string) packer {
	prefix := strings.NewReplacer("/", "_", ":", "-").Replace(addr)
	return func(v provider.Version, p provider.Platform, _ []entry) ([]byte, error) {
		zip, err := fs.ReadFile(packages, fmt.Sprintf("%s_%s_%s.zip", prefix, v, p))
		if err != nil {
			return nil, fmt.Errorf("reading a recorded package: %w", err)
		}
		return zip, nil
	}
}
