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
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/oci"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// The form of OpenTofu's packages in an OCI registry. A tag is a version and names an
// index. The index names one manifest for each platform. The manifest has one zip [opentofu
// 1.12 internal/getproviders/oci_registry_mirror_source.go].
const (
	indexType    = "application/vnd.opentofu.provider"
	manifestType = "application/vnd.opentofu.provider-target"
	zipType      = "archive/zip"
)

// ociMirror has the packages of each provider in a repository of an OCI registry. A tag
// proves nothing. Below it, every object is named by its SHA-256, and the SHA-256 of the
// package is its zh.
type ociMirror struct {
	fetch        *fetcher
	answers      *answers
	config       *cliconfig.Config
	addressOf    func(provider.Addr) (cliconfig.Repository, error)
	repositories memo.Memo[cliconfig.Repository, *ociRepository]
}

// ociRepository is a repository and its answers so far.
type ociRepository struct {
	*oci.Repository
	address cliconfig.Repository
	indexes memo.Memo[string, ocispec.Index] // by tag
}

func (o *ociMirror) host(addr provider.Addr) svchost.Hostname {
	address, err := o.addressOf(addr)
	if err != nil {
		return ""
	}
	host, err := svchost.ForComparison(address.Registry)
	if err != nil {
		return ""
	}
	return host
}

func (o *ociMirror) name(addr provider.Addr) string {
	address, err := o.addressOf(addr)
	if err != nil {
		return "OCI mirror"
	}
	return "OCI mirror " + address.String()
}

// open returns the repository that has the provider.
func (o *ociMirror) open(ctx context.Context, addr provider.Addr) (*ociRepository, error) {
	address, err := o.addressOf(addr)
	if err != nil {
		return nil, &problem.Error{
			Problem: problem.Problem{
				Code: problem.CodeCLIConfig, Subject: problem.Subject{Addr: addr}, Message: "finding the OCI repository of " + addr.String(),
				Hint: "check the repository_template of oci_mirror, or exclude the provider from it",
			}, Err: err,
		}
	}
	return o.repositories.Do(ctx, address, func() (*ociRepository, error) {
		opened, err := oci.Client{Transport: o.fetch.transport}.Repository(o.config, address) // cliconfig has checked the address
		return &ociRepository{Repository: opened, address: address}, err
	})
}

// releases lists the versions that have tags. A tag has an underscore instead of the plus
// sign. Tags do not name platforms.
func (o *ociMirror) releases(ctx context.Context, _ provider.Tool, addr provider.Addr) ([]provider.Release, error) {
	r, err := o.open(ctx, addr)
	if err != nil {
		return nil, err
	}
	list, err := o.answers.listed.Do(ctx, placeQuery{service: o.name(addr)}, func() (versionList, error) {
		tags, err := r.Tags(ctx)
		for i, tag := range tags {
			tags[i] = strings.ReplaceAll(tag, "_", "+")
		}
		return mirrorVersions(tags), r.failed("listing the tags of "+r.address.String(), err)
	})
	if err != nil {
		return nil, err
	}
	return list.releases()
}

func (o *ociMirror) size(ctx context.Context, _ provider.Tool, want provider.Want) (int64, error) {
	_, zip, err := o.find(ctx, want)
	if err != nil {
		return 0, err
	}
	if _, err := o.fetch.known(ctx, provider.ZH(zip.Digest.Encoded())); err == nil {
		return provider.AtHand, nil
	}
	return zip.Size, nil
}

// find finds the zip for the platform in the repository of the provider.
func (o *ociMirror) find(ctx context.Context, want provider.Want) (*ociRepository, ocispec.Descriptor, error) {
	r, err := o.open(ctx, want.Addr)
	if err != nil {
		return nil, ocispec.Descriptor{}, err
	}
	zip, err := r.find(ctx, want)
	return r, zip, err
}

func (o *ociMirror) hashes(ctx context.Context, _ provider.Tool, want provider.Want, limit int64) (provider.Hashes, error) {
	r, zip, err := o.find(ctx, want)
	if err != nil {
		return provider.Hashes{}, err
	}
	if limit > 0 && zip.Size > limit {
		return provider.Hashes{}, r.bad("the package for %s has %s, and %d may be downloaded", want.Platform, collect.Count(zip.Size, "byte", "bytes"), limit)
	}
	// The zh is the name of the package, so it is as sure as the mirror.
	zh := provider.ZH(zip.Digest.Encoded())
	hashed, err := o.fetch.sum(ctx, zh, func() (hash.Hashed, error) {
		turn := o.fetch.queue.turn(r.address.Registry, zip.Size)
		hashed, err := o.fetch.read(ctx, turn, archiveLink{name: zip.Digest.String(), zh: zh}, func(ctx context.Context) (io.ReadCloser, error) {
			body, err := r.Blob(ctx, zip)
			if err != nil {
				return nil, err
			}
			said := struct { // the caller with a limit has asked for the size
				io.Reader
				io.Closer
			}{io.LimitReader(body, zip.Size), body}
			return o.fetch.opts.watch(path.Base(r.address.String())+"@"+zip.Digest.Encoded()[:12], zip.Size, said), nil
		})
		return hashed, r.failed("downloading "+r.address.String()+"@"+zip.Digest.String(), err)
	})
	if err != nil {
		return provider.Hashes{}, err
	}
	h, err := hashesOf(hashed, want)
	h.Verified, h.Mirror = []provider.Hash{zh}, o.name(want.Addr)
	return h, err
}

// find follows the tag of the version to the zip for the platform.
func (r *ociRepository) find(ctx context.Context, want provider.Want) (none ocispec.Descriptor, err error) {
	tag := strings.ReplaceAll(want.Version.String(), "+", "_")
	index, err := r.indexes.Do(ctx, tag, func() (ocispec.Index, error) { return r.index(ctx, tag) })
	if err != nil {
		return none, err
	}
	chosen, err := r.chooseManifest(index.Manifests, want)
	if err != nil {
		return none, err
	}
	manifest, err := r.Manifest(ctx, chosen)
	if err != nil {
		return none, r.failed("fetching a manifest of "+r.address.String(), err)
	}
	if manifest.MediaType != ocispec.MediaTypeImageManifest || manifest.ArtifactType != manifestType {
		return none, r.bad("the manifest for %s is not that of a provider package", want.Platform)
	}
	return r.chooseZip(manifest.Layers, want.Platform)
}

func (r *ociRepository) index(ctx context.Context, tag string) (none ocispec.Index, err error) {
	tagged, err := r.Resolve(ctx, tag)
	if err != nil {
		return none, r.failed("looking up the tag "+tag+" of "+r.address.String(), err)
	}
	if tagged.MediaType != ocispec.MediaTypeImageIndex {
		return none, r.bad("the tag %s is not an index of platforms", tag)
	}
	index, err := r.Index(ctx, tagged)
	if err != nil {
		return none, r.failed("fetching a manifest of "+r.address.String(), err)
	}
	if index.MediaType != ocispec.MediaTypeImageIndex || index.ArtifactType != indexType {
		return none, r.bad("the tag %s is not an OpenTofu provider", tag)
	}
	return index, nil
}

// chooseManifest selects the one manifest for the platform among those of packages. A
// manifest for a version of the operating system is for a later OpenTofu [opentofu 1.12
// internal/getproviders/oci_registry_mirror_source.go].
func (r *ociRepository) chooseManifest(manifests []ocispec.Descriptor, want provider.Want) (none ocispec.Descriptor, err error) {
	var found []ocispec.Descriptor
	packages := 0
	for _, d := range manifests {
		if d.ArtifactType != manifestType {
			continue
		}
		if d.MediaType != ocispec.MediaTypeImageManifest || d.Platform == nil {
			return none, r.bad("the index of %s names a package without a platform", want.Version)
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
		return none, r.bad("the index of %s names several packages for %s", want.Version, want.Platform)
	case packages > 0:
		return none, noPackage(want)
	}
	return none, r.bad("the index of %s names no provider package", want.Version)
}

func (r *ociRepository) chooseZip(layers []ocispec.Descriptor, platform provider.Platform) (none ocispec.Descriptor, err error) {
	zips := slices.DeleteFunc(slices.Clone(layers), func(d ocispec.Descriptor) bool { return d.MediaType != zipType })
	if len(zips) != 1 {
		return none, r.bad("the manifest for %s has %s of type %s, not one", platform, collect.Count(len(zips), "layer", "layers"), zipType)
	}
	zip := zips[0]
	switch p := zip.Platform; {
	case p != nil && (p.OS != platform.OS || p.Architecture != platform.Arch):
		return none, r.bad("the package for %s is said to be for %s_%s", platform, p.OS, p.Architecture)
	case zip.Digest.Validate() != nil || zip.Digest.Algorithm() != digest.SHA256:
		return none, r.bad("the package for %s is not named by a SHA-256", platform)
	case zip.Size <= 0: // it would mean "at hand" or "not known"
		return none, r.bad("the package for %s is said to have %s", platform, collect.Count(zip.Size, "byte", "bytes"))
	case zip.Size > hash.MaxSize:
		return none, r.bad("the package for %s is larger than %d bytes", platform, int64(hash.MaxSize))
	}
	return zip, nil
}

func (r *ociRepository) bad(format string, args ...any) error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeBadAnswer, Message: "OCI repository " + r.address.String() + ": " + fmt.Sprintf(format, args...)}}
}

// failed adds the attempt to an error of the registry; nil stays nil.
func (r *ociRepository) failed(attempt string, err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*problem.Error](err); ok {
		return known
	}
	said, ok := errors.AsType[*oci.Error](err)
	if !ok {
		return failed(provider.Want{}, attempt, err)
	}
	e := &problem.Error{Problem: problem.Problem{Code: said.Code, Message: attempt}, Err: said.Err}
	switch {
	case said.Code == problem.CodeUnauthorized:
		e.Problem.Hint = cliconfig.OCICredentialsHint(r.address.Registry)
	case said.Absent == oci.NoRepository:
		e.Problem.Code = problem.CodeUnknownProvider
	case said.Absent == "" && said.Status != 0:
		return statusError(attempt, nil, said.Status)
	}
	return e
}
