package module

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	ociregistry "oras.land/oras-go/v2/registry"
	ociremote "oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

const (
	// packageType is what OpenTofu calls an OCI artifact that is a module package.
	packageType = "application/vnd.opentofu.modulepkg"
	// layerType is the one kind of layer that OpenTofu reads.
	layerType = "archive/zip"
	// maxManifest is the size that a registry must accept at least, and
	// OpenTofu at most.
	maxManifest = 4 << 20
)

// fromOCI fetches the module package of an OCI repository, by tag or digest.
func (c *Client) fromOCI(ctx context.Context, tool provider.Tool, a address) (contents, error) {
	reference, err := ociReference(a.url)
	if err != nil {
		return contents{}, err
	}
	repository := &ociremote.Repository{Reference: reference, Client: c.ociClient(c.tools[tool.Name].config, reference)}
	manifest, err := repository.Resolve(ctx, reference.Reference)
	if err != nil {
		return contents{}, ociError(ctx, a.url, "resolving the reference", err)
	}
	id := "oci+" + reference.Registry + "/" + reference.Repository + "@" + manifest.Digest.String()
	if p, ok := c.cache.load(id); ok {
		return p, nil
	}
	layer, err := packageLayer(ctx, a.url, repository, manifest)
	if err != nil {
		return contents{}, err
	}
	t, err := unpackLayer(ctx, a.url, repository, layer)
	if err != nil {
		return contents{}, err
	}
	c.fetched.Add(1)
	p := contents{t, id}
	c.cache.save(p)
	return p, nil
}

// ociReference reads oci://HOST/REPOSITORY[?tag=TAG|?digest=DIGEST].
func ociReference(u *url.URL) (ociregistry.Reference, error) {
	reference := ociregistry.Reference{Registry: u.Host, Repository: strings.TrimPrefix(u.Path, "/"), Reference: "latest"}
	if u.Scheme != "oci" || reference.Validate() != nil {
		return reference, invalid("invalid module source address: it is no address of an OCI repository")
	}
	query := u.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if name != "tag" && name != "digest" || len(query[name]) > 1 || len(query) > 1 {
			return reference, invalid("invalid module source address: an OCI repository has a tag or a digest, and no other argument")
		}
		reference.Reference = query.Get(name)
		var err error
		if name == "digest" {
			_, err = digest.Parse(reference.Reference)
		} else {
			err = reference.ValidateReferenceAsTag()
		}
		if err != nil {
			return reference, invalid("invalid module source address: its %s is not valid", name)
		}
	}
	return reference, nil
}

// ociClient asks by the rules of transport, with what the operator's
// configuration holds for this repository.
func (c *Client) ociClient(config *cliconfig.Config, reference ociregistry.Reference) *auth.Client {
	return &auth.Client{
		Client: c.transport.Streaming(),
		Cache:  auth.NewCache(),
		Credential: func(ctx context.Context, hostport string) (auth.Credential, error) {
			if hostport != reference.Host() || !c.ambient(reference.Registry) {
				return auth.EmptyCredential, nil
			}
			found, err := config.OCICredential(ctx, cliconfig.Repository{Registry: reference.Registry, Name: reference.Repository})
			return auth.Credential{
				Username: found.Username, Password: found.Password,
				AccessToken: found.AccessToken, RefreshToken: found.RefreshToken,
			}, err
		},
	}
}

// packageLayer reads the manifest of a module package and finds the archive.
func packageLayer(ctx context.Context, u *url.URL, from content.Fetcher, desc ocispec.Descriptor) (ocispec.Descriptor, error) {
	const attempt = "reading the manifest"
	switch {
	case desc.MediaType != ocispec.MediaTypeImageManifest:
		return desc, unread("%s is no OCI image manifest", redact(u))
	case desc.Size > maxManifest:
		return desc, unread("the manifest of %s is larger than %d bytes", redact(u), maxManifest)
	}
	text, err := content.FetchAll(ctx, from, desc)
	if err != nil {
		return desc, ociError(ctx, u, attempt, err)
	}
	var manifest ocispec.Manifest
	if err := transport.UnmarshalJSON(text, &manifest); err != nil {
		return desc, badAnswer("the manifest of %s is not valid: %v", redact(u), err)
	}
	if manifest.MediaType != ocispec.MediaTypeImageManifest || manifest.ArtifactType != packageType {
		return desc, unread("%s is no module package", redact(u))
	}
	var layers []ocispec.Descriptor
	for _, layer := range manifest.Layers {
		if layer.MediaType == layerType {
			layers = append(layers, layer)
		}
	}
	if len(layers) != 1 {
		return desc, unread("%s has %d layers of the type %s, where a module package has one", redact(u), len(layers), layerType)
	}
	return layers[0], nil
}

// unpackLayer downloads an archive, checks its digest and unpacks it.
func unpackLayer(ctx context.Context, u *url.URL, from content.Fetcher, layer ocispec.Descriptor) (*tree, error) {
	const attempt = "downloading the module package"
	if layer.Size > maxArchive {
		return nil, unread("the package %s is larger than %d bytes", redact(u), int64(maxArchive))
	}
	archive, err := file.NewTemporary()
	if err != nil {
		return nil, unread("making a temporary file: %v", err)
	}
	defer archive.Close() // nothing of it is needed any more
	body, err := from.Fetch(ctx, layer)
	if err != nil {
		return nil, ociError(ctx, u, attempt, err)
	}
	defer body.Close()
	verified := content.NewVerifyReader(body, layer)
	if _, err := io.Copy(archive, verified); err != nil {
		return nil, ociError(ctx, u, attempt, err)
	}
	if err := verified.Verify(); err != nil {
		return nil, badAnswer("the package %s is not the one that its manifest names", redact(u))
	}
	return unpackFile(ctx, archive.File, "zip")
}

// ociError says what a registry answered. The library's words may quote signed
// URLs; those of transport below it do not.
func ociError(ctx context.Context, u *url.URL, attempt string, err error) error {
	if over := ended(ctx); over != nil {
		return over
	}
	if known, ok := errors.AsType[*provider.Error](err); ok {
		return during(attempt+" of "+redact(u), known)
	}
	if answer, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		return statusError(u, answer.StatusCode, cliconfig.OCICredentialsHint(u.Host))
	}
	if errors.Is(err, auth.ErrBasicCredentialNotFound) {
		return statusError(u, http.StatusUnauthorized, cliconfig.OCICredentialsHint(u.Host))
	}
	if errors.Is(err, errdef.ErrNotFound) {
		return statusError(u, http.StatusNotFound, "")
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		e := unreachable(u, "%s of %s", attempt, redact(u))
		e.Err = request.Err
		return e
	}
	return badAnswer("%s of %s: the answer breaks the protocol of OCI registries", attempt, redact(u))
}
