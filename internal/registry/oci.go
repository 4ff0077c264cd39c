package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// What OpenTofu's packages look like in an OCI registry. A tag is a version and
// names an index; the index names one manifest for each platform, and that has
// one zip.
const (
	indexType    = "application/vnd.opentofu.provider"
	manifestType = "application/vnd.opentofu.provider-target"
	zipType      = "archive/zip"

	// maxManifest is what the distribution specification asks registries to
	// take, and OpenTofu's own limit.
	maxManifest = 4 << 20
	// maxTagPages bounds a list of tags that never ends. Registries give a
	// hundred tags or more at once.
	maxTagPages = 1000
	// maxTags bounds the tags of a repository. A provider has a thousand versions
	// after ten years.
	maxTags = 200_000
)

// ociMirror has the packages of each provider in a repository of an OCI
// registry. Everything below a tag is named by its SHA-256, and that of the
// package is its zh; a tag proves nothing.
type ociMirror struct {
	*core
	config       *cliconfig.Config
	repositoryOf func(provider.Addr) (cliconfig.Repository, error)

	repositories memo.Memo[cliconfig.Repository, *remote.Repository]
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
func (o *ociMirror) open(ctx context.Context, addr provider.Addr) (cliconfig.Repository, *remote.Repository, error) {
	r, err := o.repositoryOf(addr)
	if err != nil {
		return r, nil, &provider.Error{
			Code: provider.CodeCLIConfig, Message: "finding the OCI repository of " + addr.String(), Err: err,
			Hint: "check the repository_template of oci_mirror, or exclude the provider from it",
		}
	}
	opened, err := o.repositories.Do(ctx, r, func() (*remote.Repository, error) { return o.connect(r) })
	return r, opened, err
}

func (o *ociMirror) connect(r cliconfig.Repository) (*remote.Repository, error) {
	repository, err := remote.NewRepository(r.String())
	if err != nil {
		return nil, err // checked by cliconfig
	}
	repository.TagListMaxPages = maxTagPages
	repository.Client = &auth.Client{
		Client: o.transport.Streaming(),
		Cache:  auth.NewCache(),
		Credential: func(ctx context.Context, hostport string) (auth.Credential, error) {
			if hostport != repository.Reference.Host() {
				return auth.EmptyCredential, nil // the operator named another one
			}
			c, err := o.config.OCICredential(ctx, r)
			return auth.Credential{
				Username: c.Username, Password: c.Password, AccessToken: c.AccessToken, RefreshToken: c.RefreshToken,
			}, err
		},
	}
	return repository, nil
}

// ask bounds a question to a registry by the operator's timeout.
func (o *ociMirror) ask(ctx context.Context, r cliconfig.Repository, attempt string, question func(context.Context) error) error {
	asking, cancel := context.WithTimeout(ctx, cmp.Or(o.config.Limits().Timeout, transport.DefaultTimeout))
	defer cancel()
	err := question(asking)
	if err == nil {
		return nil
	}
	return ociFailed(ctx, r, attempt, err)
}

// releases lists the versions that there are tags for, in which an underscore
// stands for the plus sign. Nothing is said of platforms here.
func (o *ociMirror) releases(ctx context.Context, _ provider.Tool, addr provider.Addr) ([]provider.Release, error) {
	r, repository, err := o.open(ctx, addr)
	if err != nil {
		return nil, err
	}
	versions, err := o.tags.Do(ctx, r, func() ([]provider.Version, error) { return o.askTags(ctx, r, repository) })
	if err != nil {
		return nil, err
	}
	releases := make([]provider.Release, len(versions))
	for i, v := range versions {
		releases[i].Version = v
	}
	return releases, nil
}

func (o *ociMirror) askTags(ctx context.Context, r cliconfig.Repository, repository *remote.Repository) ([]provider.Version, error) {
	var versions []provider.Version
	seen := 0
	err := o.ask(ctx, r, "listing the tags of "+r.String(), func(ctx context.Context) error {
		return repository.Tags(ctx, "", func(tags []string) error {
			if seen += len(tags); seen > maxTags {
				return badArtifact(r, "it has more than %d tags", maxTags)
			}
			for _, tag := range tags {
				if v, err := provider.ParseVersion(strings.ReplaceAll(tag, "_", "+")); err == nil {
					versions = append(versions, v)
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
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
	sum, err := o.sums.Do(ctx, zh, func() (hash.Sum, error) {
		if sum, ok := o.known(zh); ok {
			return sum, nil
		}
		return o.fetch(ctx, r, repository, zip)
	})
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
func (o *ociMirror) find(ctx context.Context, r cliconfig.Repository, repository *remote.Repository, want provider.Want) (ocispec.Descriptor, error) {
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
	var manifest ocispec.Manifest
	if err := o.askManifest(ctx, r, repository, chosen, &manifest); err != nil {
		return ocispec.Descriptor{}, err
	}
	if manifest.MediaType != ocispec.MediaTypeImageManifest || manifest.ArtifactType != manifestType {
		return ocispec.Descriptor{}, badArtifact(r, "the manifest for %s is not that of a provider package", want.Platform)
	}
	return chooseZip(r, manifest.Layers, want.Platform)
}

func (o *ociMirror) askIndex(ctx context.Context, r cliconfig.Repository, repository *remote.Repository, version provider.Version) (*ocispec.Index, error) {
	tag := strings.ReplaceAll(version.String(), "+", "_")
	var tagged ocispec.Descriptor
	err := o.ask(ctx, r, "looking up the tag "+tag+" of "+r.String(), func(ctx context.Context) (err error) {
		tagged, err = repository.Resolve(ctx, tag)
		return err
	})
	if err != nil {
		return nil, err
	}
	if tagged.MediaType != ocispec.MediaTypeImageIndex {
		return nil, badArtifact(r, "the tag %s is not an index of platforms", tag)
	}
	var index ocispec.Index
	if err := o.askManifest(ctx, r, repository, tagged, &index); err != nil {
		return nil, err
	}
	if index.MediaType != ocispec.MediaTypeImageIndex || index.ArtifactType != indexType {
		return nil, badArtifact(r, "the tag %s is not an OpenTofu provider", tag)
	}
	return &index, nil
}

// askManifest fetches a manifest, whose size and digest are those that were
// announced, and decodes it.
func (o *ociMirror) askManifest(ctx context.Context, r cliconfig.Repository, repository *remote.Repository, d ocispec.Descriptor, into any) error {
	if d.Size > maxManifest {
		return badArtifact(r, "the manifest %s is longer than %d bytes", d.Digest, maxManifest)
	}
	return o.ask(ctx, r, "fetching a manifest of "+r.String(), func(ctx context.Context) error {
		src, err := content.FetchAll(ctx, repository, d)
		if err != nil {
			return err
		}
		if transport.UnmarshalJSON(src, into) != nil {
			return badArtifact(r, "the manifest %s is not valid", d.Digest)
		}
		return nil
	})
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

// fetch downloads and hashes the package.
func (o *ociMirror) fetch(ctx context.Context, r cliconfig.Repository, repository *remote.Repository, zip ocispec.Descriptor) (hash.Sum, error) {
	leave, err := o.queue.enter(ctx, r.Registry, zip.Size)
	if err != nil {
		return hash.Sum{}, err
	}
	defer leave()
	name, zh := path.Base(r.String())+"@"+zip.Digest.Encoded()[:12], provider.ZH(zip.Digest.Encoded())
	sum, err := hash.Stream(func() (io.ReadCloser, error) {
		body, err := repository.Blobs().Fetch(ctx, zip)
		if err != nil {
			return nil, err
		}
		return o.watch(name, zip.Size, body), nil
	}, zh)
	switch {
	case sum.ZH != "" && sum.ZH != zh:
		return hash.Sum{}, badChecksum("archive has incorrect checksum %s (expected %s)", sum.ZH, zh)
	case errors.Is(err, hash.ErrUnpack):
		return hash.Sum{}, &provider.Error{Code: provider.CodeBadPackage, Message: "archive " + zip.Digest.String(), Err: err}
	case err != nil:
		return hash.Sum{}, ociFailed(ctx, r, "downloading "+r.String()+"@"+zip.Digest.String(), err)
	}
	o.downloaded.Add(1)
	o.remember(name, hash.Entry{Sum: sum, Origin: hash.FromPackage})
	return sum, nil
}

func badArtifact(r cliconfig.Repository, format string, args ...any) error {
	return &provider.Error{Code: provider.CodeBadAnswer, Message: "OCI repository " + r.String() + ": " + fmt.Sprintf(format, args...)}
}

// ociFailed turns an error of the library into one of ours, without its words
// about URLs, which may hold signatures.
func ociFailed(ctx context.Context, r cliconfig.Repository, attempt string, err error) error {
	if known, ok := errors.AsType[*provider.Error](err); ok {
		return known
	}
	e := &provider.Error{Code: provider.CodeUnreachable, Message: attempt, Err: err}
	refused, isRefused := errors.AsType[*errcode.ErrorResponse](err)
	_, isUnreached := errors.AsType[*url.Error](err)
	switch {
	case ctx.Err() != nil:
		e.Code, e.Err = provider.CodeCancelled, ctx.Err()
	case errors.Is(err, auth.ErrBasicCredentialNotFound), isRefused && unauthorized(refused):
		e.Code, e.Err = provider.CodeUnauthorized, errors.New("the registry requires other credentials, or any")
		e.Hint = cliconfig.OCICredentialsHint(r.Registry)
	case isRefused && nameUnknown(refused):
		e.Code, e.Err = provider.CodeUnknownProvider, errors.New("there is no such repository")
	case isRefused:
		return statusError(attempt, refused.StatusCode)
	case errors.Is(err, errdef.ErrNotFound):
		e.Code, e.Err = provider.CodeBadAnswer, errors.New("not found")
	case errors.Is(err, content.ErrMismatchedDigest):
		e.Code, e.Err = provider.CodeBadChecksum, content.ErrMismatchedDigest
	case errors.Is(err, context.DeadlineExceeded):
		e.Err = context.DeadlineExceeded
	case isUnreached:
		e.Err = belowURLs(err)
	default:
		e.Code, e.Err = provider.CodeBadAnswer, errors.New("the answer breaks the protocol of OCI registries")
	}
	return e
}

// belowURLs returns what is below the errors that quote whole URLs.
func belowURLs(err error) error {
	for {
		u, ok := errors.AsType[*url.Error](err)
		if !ok {
			return err
		}
		err = u.Err
	}
}

func unauthorized(r *errcode.ErrorResponse) bool {
	return r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden
}

// nameUnknown reports whether the answer means that there is no repository. A
// registry may say so in its own words, or by the status alone.
func nameUnknown(r *errcode.ErrorResponse) bool {
	if len(r.Errors) == 0 {
		return r.StatusCode == http.StatusNotFound
	}
	return slices.ContainsFunc(r.Errors, func(e errcode.Error) bool {
		return e.Code == errcode.ErrorCodeNameUnknown || e.Code == errcode.ErrorCodeNameInvalid
	})
}
