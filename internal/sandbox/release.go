package sandbox

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
)

// providerText is a provider in a world text.
type providerText struct {
	Common        commonText `yaml:",inline"`
	Also          []string
	Source        string
	Warnings      []string
	ExtraVersions []string `yaml:"extra_versions"`
	Versions      versionTexts
}

// commonText has the fields that a provider may set for all its versions.
type commonText struct {
	Platforms []string
	Protocols []string
	Sign      string
	Keys      []string
	Packages  bool
}

// releaseText has the fields of a version.
type releaseText struct {
	Common       commonText `yaml:",inline"`
	Published    time.Time
	Modified     time.Time
	Tag          string
	Files        map[string][]entry
	NoKeys       bool `yaml:"no_keys"`
	NoPlatforms  bool `yaml:"no_platforms"`
	ListOnly     bool `yaml:"list_only"`
	Unlisted     bool `yaml:"unlisted"`
	Manifest     []string
	ShasumsExtra []string                `yaml:"shasums_extra"`
	ShasumsRaw   string                  `yaml:"shasums_raw"`
	ServeOther   map[string]string       `yaml:"serve_other"`
	PackagesEdit map[string]statedHashes `yaml:"packages_edit"`
	MirrorHashes map[string][]string     `yaml:"mirror_hashes"`
}

// versionText is a version whose body is not read yet: the body overrides the
// provider's fields.
type versionText struct {
	name string
	line int
	body ast.Node // nil if the version is named in a list
}

// special reports whether the version has fields of its own.
func (v versionText) special() bool { return v.body != nil && v.body.Type() != ast.NullType }

// versionTexts keeps the order of the text, which is the order of the registry's
// answer.
type versionTexts []versionText

// UnmarshalYAML reads a list of versions or a map of them.
func (v *versionTexts) UnmarshalYAML(node ast.Node) error {
	add := func(key, body ast.Node) {
		token := key.GetToken()
		*v = append(*v, versionText{name: token.Value, line: token.Position.Line, body: body})
	}
	switch n := node.(type) {
	case ast.ArrayNode:
		for i := n.ArrayRange(); i.Next(); {
			add(i.Value(), nil)
		}
	case ast.MapNode:
		for i := n.MapRange(); i.Next(); {
			add(i.Key(), i.Value())
		}
	default:
		return &lineError{node.GetToken().Position.Line, fmt.Errorf("versions must be a list or a map")}
	}
	return nil
}

// packer makes the zip of one package from the files in its text, if any.
type packer func(v provider.Version, p provider.Platform, files []entry) ([]byte, error)

// packFiles is the packer of world texts. A package without files gets a licence
// and a program that names the package, so that all packages differ.
func packFiles(addr provider.Addr) packer {
	return func(v provider.Version, p provider.Platform, files []entry) ([]byte, error) {
		if files == nil {
			program := fmt.Sprintf("terraform-provider-%s_v%s", addr.Type, v)
			if p.OS == "windows" {
				program += ".exe"
			}
			files = []entry{
				{Name: "LICENSE.txt", Content: "A package of relock's sandbox.\n"},
				{Name: program, Content: fmt.Sprintf("#!/bin/sh\necho %s %s for %s >&2\nexit 1\n", addr, v, p)},
			}
		}
		return pack(files)
	}
}

// offer is a provider in a registry.
type offer struct {
	warnings []string
	extra    []string // version strings that are listed unchanged
	releases []*release
}

// release is one version in a registry.
type release struct {
	typ          string // of the provider, for file names
	version      provider.Version
	published    time.Time
	modified     time.Time // the Last-Modified of its files; zero for none
	source, tag  string    // in the public registry's answer
	protocols    []string
	listed       bool // it is in the list of versions
	silent       bool // the list does not have its platforms
	described    bool // there is metadata of its packages
	packages     []*pkg
	keys         []publicKey
	stated       map[string]statedHashes
	mirrorHashes map[string][]string
	files        map[string][]byte // downloads, by name
}

// pkg is the metadata of a release's package for one platform.
type pkg struct {
	platform provider.Platform
	filename string
	sha256   string
	zip      []byte // the hashed bytes; files may hold other bytes
}

// statedHashes is an element of OpenTofu's packages property.
type statedHashes struct {
	Hashes      []string `json:"hashes"`
	PackageSize int64    `json:"package_size" yaml:"package_size"`
}

// offer makes all answers and files of the provider.
func (t *providerText) offer(addr provider.Addr, keys keyring, pack packer) (*offer, error) {
	o := &offer{warnings: t.Warnings, extra: t.ExtraVersions}
	for _, v := range t.Versions {
		text := releaseText{Common: t.Common}
		if v.special() {
			if err := yaml.NodeToValue(v.body, &text, yaml.DisallowUnknownField()); err != nil {
				return nil, err
			}
		}
		r, err := newRelease(addr.Type, v.name, text, keys, pack)
		if err != nil {
			return nil, &lineError{v.line, err}
		}
		r.source = t.Source
		o.releases = append(o.releases, r)
	}
	return o, nil
}

func newRelease(typ, version string, text releaseText, keys keyring, pack packer) (*release, error) {
	v, err := provider.ParseVersion(version)
	if err != nil {
		return nil, err
	}
	r := &release{
		typ: typ, version: v, published: text.Published, modified: text.Modified, tag: text.Tag, protocols: text.Common.Protocols,
		listed: !text.Unlisted, silent: text.NoPlatforms, described: !text.ListOnly,
		mirrorHashes: text.MirrorHashes, files: map[string][]byte{},
	}
	if r.protocols == nil {
		r.protocols = []string{"5.0"}
	}
	return r, cmp.Or(r.addPackages(text, pack), r.swap(text.ServeOther), r.addList(text, keys), r.addStated(text))
}

func (r *release) addPackages(text releaseText, pack packer) error {
	platforms, err := text.Common.platforms()
	if err != nil {
		return err
	}
	for _, platform := range platforms {
		files := text.Files[platform.String()]
		if files == nil {
			files = text.Files["*"]
		}
		zip, err := pack(r.version, platform, files)
		if err != nil {
			return err
		}
		p := &pkg{
			platform: platform, filename: r.filename(platform.String() + ".zip"),
			sha256: fmt.Sprintf("%x", sha256.Sum256(zip)), zip: zip,
		}
		r.packages = append(r.packages, p)
		r.files[p.filename] = zip
	}
	return nil
}

func (t commonText) platforms() ([]provider.Platform, error) {
	if t.Platforms == nil {
		return provider.DefaultPlatforms, nil
	}
	platforms := make([]provider.Platform, len(t.Platforms))
	for i, name := range t.Platforms {
		p, err := provider.ParsePlatform(name)
		if err != nil {
			return nil, err
		}
		platforms[i] = p
	}
	return platforms, nil
}

// filename returns the name of a file in public registries.
func (r *release) filename(rest string) string {
	return fmt.Sprintf("terraform-provider-%s_%s_%s", r.typ, r.version, rest)
}

func (r *release) listName() string      { return r.filename("SHA256SUMS") }
func (r *release) signatureName() string { return r.filename("SHA256SUMS.sig") }

func (r *release) manifestName() string { return r.filename("manifest.json") }

// addManifest adds the file with the protocols of a release [protocol: publishing
// providers].
func (r *release) addManifest(protocols []string) {
	if protocols != nil {
		r.files[r.manifestName()] = fmt.Appendf(nil, `{"version": 1, "metadata": {"protocol_versions": ["%s"]}}`, strings.Join(protocols, `", "`))
	}
}

func (r *release) pkg(platform string) (*pkg, error) {
	for _, p := range r.packages {
		if p.platform.String() == platform {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s %s has no package for %q", r.typ, r.version, platform)
}

// swap serves the bytes of another platform's package.
func (r *release) swap(others map[string]string) error {
	for platform, other := range others {
		p, err := r.pkg(platform)
		if err != nil {
			return err
		}
		served, err := r.pkg(other)
		if err != nil {
			return err
		}
		r.files[p.filename] = served.zip
	}
	return nil
}

// addList adds the checksum list, its signature, and the keys to verify it.
func (r *release) addList(text releaseText, keys keyring) error {
	signer, err := keys.key(cmp.Or(text.Common.Sign, defaultKey))
	if err != nil {
		return err
	}
	r.addManifest(text.Manifest)
	list := []byte(r.list(text))
	signature, err := signer.sign(list)
	if err != nil {
		return err
	}
	r.files[r.listName()] = list
	r.files[r.signatureName()] = signature
	return r.announce(signer, text, keys)
}

func (r *release) list(text releaseText) string {
	var lines strings.Builder
	var sums []string
	for _, p := range r.packages {
		lines.WriteString(p.sha256 + "  " + p.filename + "\n")
		sums = append(sums, "{{"+p.platform.String()+"}}", p.sha256)
	}
	if text.ShasumsRaw != "" {
		return strings.NewReplacer(sums...).Replace(text.ShasumsRaw)
	}
	if manifest, ok := r.files[r.manifestName()]; ok {
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(manifest), r.manifestName())
	}
	for _, line := range text.ShasumsExtra {
		lines.WriteString(line + "\n")
	}
	return lines.String()
}

func (r *release) announce(signer *signingKey, text releaseText, keys keyring) error {
	r.keys = []publicKey{} // JSON must not say null
	if text.NoKeys {
		return nil
	}
	if text.Common.Keys == nil {
		r.keys = append(r.keys, signer.public)
	}
	for _, name := range text.Common.Keys {
		key, err := keys.key(name)
		if err != nil {
			return err
		}
		r.keys = append(r.keys, key.public)
	}
	return nil
}

// addStated adds the registry's statements about all packages, true or not.
func (r *release) addStated(text releaseText) error {
	if !text.Common.Packages {
		return nil
	}
	r.stated = map[string]statedHashes{}
	for _, p := range r.packages {
		hashed, err := hash.Package(bytes.NewReader(p.zip))
		if err != nil {
			return fmt.Errorf("hashing %s: %w", p.filename, err)
		}
		r.stated[p.platform.String()] = statedHashes{
			Hashes:      []string{string(hashed.Sum.ZH), string(hashed.Sum.H1)},
			PackageSize: hashed.Sum.Size,
		}
	}
	maps.Copy(r.stated, text.PackagesEdit)
	return nil
}
