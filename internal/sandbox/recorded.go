package sandbox

import (
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/provider"
)

// recordedFile is the name that errors about a recorded registry give it.
const recordedFile = "registry.json"

// ParseRecorded reads a registry in the form of the cases that were recorded
// from the real tools: JSON with "providers", a map of addresses to what the
// YAML of a world says, and the zips that the tools saw, in packages, each
// named HOST_NAMESPACE_TYPE_VERSION_PLATFORM.zip, with - before the port of the host: a
// file of a Go module must not have a colon in its name.
//
// The cases of both tools share one registry: what registry.terraform.io
// offers, registry.opentofu.org offers too.
func ParseRecorded(registryJSON []byte, packages fs.FS) (*World, error) {
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

// readPackage is the packer of recorded registries, which takes the zips as
// they are. The names of their files hold the address as it was written, but for what no
// file may be called.
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
