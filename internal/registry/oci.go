package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/oci"
	"github.com/relock-dev/relock/internal/provider"
)

// What OpenTofu's packages look like in an OCI registry. A tag is a version and
// names an index; the index names one manifest for each platform, and that has
// one zip.
const (
	indexType    = "application/vnd.opentofu.provider"
	manifestType = "application/vnd.opentofu.provider-target"
	zipType      = "archive/zip"
)

// ociMirror has the packages of each provider in a repository of an OCI
// registry. Everything below a tag is named by its SHA-256, and that of the
// package is its zh; a tag proves nothing.
type ociMirror struct {
	*core
	config       *cliconfig.Config
	repositoryOf func(provider.Addr) (cliconfig.Repository, error)

	repositories memo.Memo[cliconfig.Repository, *oci.Repository]
	tags         memo.Memo[cliconfig.Repository, []provider.Version]
	releasesOf   memo.Memo[ociRelease, *ocispec.Index]
}

type ociRelease struct {
	repository cliconfig.Repository
	version    provider.Version
}

func newOCI(c *core, config *cliconfig.Config, m cliconfig.Method) *ociMirror {
	return &ociMirror{core: c, config: config, repositoryOf: m.Repository}
}

func (o *ociMirror) host(addr provider.Addr) svchost.Hostname {
	r, err := o.repositoryOf(addr)
	if err != nil {
		return ""
	}
	host, err := svchost.ForComparison(r.Registry)
	if err != nil {
		return ""
	}
	return host
}

func (o *ociMirror) name(addr provider.Addr) string {
	r, err := o.repositoryOf(addr)
	if err != nil {
		return "OCI mirror"
	}
	return "OCI mirror " + r.String()
}

// open returns the repository that has the provider.
func (o *ociMirror) open(ctx context.Context, addr provider.Addr) (cliconfig.Repository, *oci.Repository, error) {
	r, err := o.repositoryOf(addr)
	if err != nil {
		return r, nil, &provider.Error{
			Code: provider.CodeCLIConfig, Message: "finding the OCI repository of " + addr.String(), Err: err,
			Hint: "check the repository_template of oci_mirror, or exclude the provider from it",
		}
	}
	opened, err := o.repositories.Do(ctx, r, func() (*oci.Repository, error) {
		return oci.Client{Transport: o.transport}.Repository(o.config, r) // cliconfig has checked the address
	})
	return r, opened, err
}

// releases lists the versions that there are tags for, in which an underscore
// stands for the plus sign. Nothing is said of platforms here.
func (o *ociMirror) releases(ctx context.Context, _ provider.Tool, addr provider.Addr) ([]provider.Release, error) {
	r, repository, err := o.open(ctx, addr)
	if err != nil {
		return nil, err
	}
	versions, err := o.tags.Do(ctx, r, func() ([]provider.Version, error) { return o.askTags(ctx, r, repository) })
	return unplaced(versions), err
}

func (o *ociMirror) askTags(ctx context.Context, r cliconfig.Repository, repository *oci.Repository) ([]provider.Version, error) {
	tags, err := repository.Tags(ctx)
	if err != nil {
		return nil, ociFailed(r, "listing the tags of "+r.String(), err)
	}
	var versions []provider.Version
	for _, tag := range tags {
		if v, err := provider.ParseVersion(strings.ReplaceAll(tag, "_", "+")); err == nil {
			versions = append(versions, v)
		}
	}
	slices.SortFunc(versions, provider.Version.Compare)
	return slices.Compact(versions), nil
}

func (o *ociMirror) hashes(ctx context.Context, _ provider.Tool, want provider.Want) (provider.Hashes, error) {
	r, repository, err := o.open(ctx, want.Addr)
	if err != nil {
		return provider.Hashes{}, err
	}
	zip, err := o.find(ctx, r, repository, want)
	if err != nil {
		return provider.Hashes{}, err
	}
	zh := provider.ZH(zip.Digest.Encoded())
	// The zh is the name of the package, so that it is as sure as the mirror is.
	sum, err := o.fetch.sum(ctx, zh, func() (hash.Sum, error) { return o.download(ctx, r, repository, zip) })
	if err == nil {
		err = checkProgram(sum, want)
	}
	if err != nil {
		return provider.Hashes{}, err
	}
	return provider.Hashes{
		Package:  provider.Package{Platform: want.Platform, ZH: zh, Size: sum.Size},
		H1:       sum.H1,
		H1Zip:    sum.H1Zip,
		Verified: []provider.Hash{zh},
		Mirror:   o.name(want.Addr),
	}, nil
}

// find goes from the tag of the version to the zip for the platform.
func (o *ociMirror) find(ctx context.Context, r cliconfig.Repository, repository *oci.Repository, want provider.Want) (ocispec.Descriptor, error) {
	index, err := o.releasesOf.Do(ctx, ociRelease{r, want.Version}, func() (*ocispec.Index, error) {
		return o.askIndex(ctx, r, repository, want.Version)
	})
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	chosen, err := chooseManifest(r, index.Manifests, want)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	manifest, err := repository.Manifest(ctx, chosen)
	if err != nil {
		return ocispec.Descriptor{}, ociFailed(r, "fetching a manifest of "+r.String(), err)
	}
	if manifest.MediaType != ocispec.MediaTypeImageManifest || manifest.ArtifactType != manifestType {
		return ocispec.Descriptor{}, badArtifact(r, "the manifest for %s is not that of a provider package", want.Platform)
	}
	return chooseZip(r, manifest.Layers, want.Platform)
}

func (o *ociMirror) askIndex(ctx context.Context, r cliconfig.Repository, repository *oci.Repository, version provider.Version) (*ocispec.Index, error) {
	tag := strings.ReplaceAll(version.String(), "+", "_")
	tagged, err := repository.Resolve(ctx, tag)
	if err != nil {
		return nil, ociFailed(r, "looking up the tag "+tag+" of "+r.String(), err)
	}
	if tagged.MediaType != ocispec.MediaTypeImageIndex {
		return nil, badArtifact(r, "the tag %s is not an index of platforms", tag)
	}
	index, err := repository.Index(ctx, tagged)
	if err != nil {
		return nil, ociFailed(r, "fetching a manifest of "+r.String(), err)
	}
	if index.MediaType != ocispec.MediaTypeImageIndex || index.ArtifactType != indexType {
		return nil, badArtifact(r, "the tag %s is not an OpenTofu provider", tag)
	}
	return &index, nil
}

// chooseManifest finds the one manifest for the platform among those of
// packages. One for a version of the operating system is for a later OpenTofu.
func chooseManifest(r cliconfig.Repository, manifests []ocispec.Descriptor, want provider.Want) (ocispec.Descriptor, error) {
	var found []ocispec.Descriptor
	packages := 0
	for _, d := range manifests {
		if d.ArtifactType != manifestType {
			continue
		}
		if d.MediaType != ocispec.MediaTypeImageManifest || d.Platform == nil {
			return d, badArtifact(r, "the index of %s names a package without a platform", want.Version)
		}
		packages++
		if p := d.Platform; p.OSVersion == "" && p.OS == want.Platform.OS && p.Architecture == want.Platform.Arch {
			found = append(found, d)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return ocispec.Descriptor{}, badArtifact(r, "the index of %s names several packages for %s", want.Version, want.Platform)
	case packages > 0:
		return ocispec.Descriptor{}, noPackage(want)
	}
	return ocispec.Descriptor{}, badArtifact(r, "the index of %s names no provider package", want.Version)
}

func chooseZip(r cliconfig.Repository, layers []ocispec.Descriptor, platform provider.Platform) (ocispec.Descriptor, error) {
	zips := slices.DeleteFunc(slices.Clone(layers), func(d ocispec.Descriptor) bool { return d.MediaType != zipType })
	if len(zips) != 1 {
		return ocispec.Descriptor{}, badArtifact(r, "the manifest for %s has %d layers of type %s, not one", platform, len(zips), zipType)
	}
	zip := zips[0]
	switch p := zip.Platform; {
	case p != nil && (p.OS != platform.OS || p.Architecture != platform.Arch):
		return zip, badArtifact(r, "the package for %s is said to be for %s_%s", platform, p.OS, p.Architecture)
	case zip.Digest.Validate() != nil || zip.Digest.Algorithm() != digest.SHA256:
		return zip, badArtifact(r, "the package for %s is not named by a SHA-256", platform)
	case zip.Size > hash.MaxSize:
		return zip, badArtifact(r, "the package for %s is larger than %d bytes", platform, int64(hash.MaxSize))
	}
	return zip, nil
}

// download downloads and hashes the package.
func (o *ociMirror) download(ctx context.Context, r cliconfig.Repository, repository *oci.Repository, zip ocispec.Descriptor) (hash.Sum, error) {
	leave, err := o.fetch.queue.enter(ctx, r.Registry, zip.Size)
	if err != nil {
		return hash.Sum{}, err
	}
	defer leave()
	name, zh := path.Base(r.String())+"@"+zip.Digest.Encoded()[:12], provider.ZH(zip.Digest.Encoded())
	sum, err := hash.Stream(func() (io.ReadCloser, error) {
		body, err := repository.Blob(ctx, zip)
		if err != nil {
			return nil, err
		}
		return watch(o.opts.Watch, name, zip.Size, body), nil
	}, zh)
	switch {
	case sum.ZH != "" && sum.ZH != zh:
		return hash.Sum{}, badChecksum("archive has incorrect checksum %s (expected %s)", sum.ZH, zh)
	case errors.Is(err, hash.ErrUnpack):
		return hash.Sum{}, &provider.Error{Code: provider.CodeBadPackage, Message: "archive " + zip.Digest.String(), Err: err}
	case err != nil:
		return hash.Sum{}, ociFailed(r, "downloading "+r.String()+"@"+zip.Digest.String(), err)
	}
	o.fetch.downloaded.Add(1)
	o.fetch.remember(name, hash.Entry{Sum: sum, Origin: hash.FromPackage})
	return sum, nil
}

func badArtifact(r cliconfig.Repository, format string, args ...any) error {
	return &provider.Error{Code: provider.CodeBadAnswer, Message: "OCI repository " + r.String() + ": " + fmt.Sprintf(format, args...)}
}

// ociFailed says what was asked of a registry that failed.
func ociFailed(r cliconfig.Repository, attempt string, err error) error {
	if known, ok := errors.AsType[*provider.Error](err); ok {
		return known
	}
	said, ok := errors.AsType[*oci.Error](err)
	if !ok {
		return failed(attempt, err)
	}
	e := &provider.Error{Code: said.Code, Message: attempt, Err: said.Err}
	switch {
	case said.Code == provider.CodeUnauthorized:
		e.Hint = cliconfig.OCICredentialsHint(r.Registry)
	case said.Absent == oci.NoRepository:
		e.Code = provider.CodeUnknownProvider
	case said.Absent == "" && said.Status != 0:
		return statusError(attempt, said.Status)
	}
	return e
}
