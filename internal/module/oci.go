package module

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/oci"
	"github.com/relock-dev/relock/internal/provider"
)

const (
	// packageType is what OpenTofu calls an OCI artifact that is a module package.
	packageType = "application/vnd.opentofu.modulepkg"
	// layerType is the one kind of layer that OpenTofu reads.
	layerType = "archive/zip"
)

// fromOCI fetches the module package of an OCI repository, by tag or digest.
func (c *Client) fromOCI(ctx context.Context, tool provider.Tool, a address) (contents, error) {
	asking := oci.Client{Transport: c.transport, Ambient: c.opts.Ambient}
	of := cliconfig.Repository{Registry: a.url.Host, Name: strings.TrimPrefix(a.url.Path, "/")}
	repository, err := asking.Repository(c.tools[tool.Name].config, of)
	if err != nil || a.url.Scheme != "oci" {
		return contents{}, invalid("invalid module source address: it is no address of an OCI repository")
	}
	reference, err := ociReference(a.url)
	if err != nil {
		return contents{}, err
	}
	manifest, err := repository.Resolve(ctx, reference)
	if err != nil {
		return contents{}, ociError(ctx, a.url, "resolving the reference", err)
	}
	id := "oci+" + of.String() + "@" + manifest.Digest.String()
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

// ociReference is the tag or digest in oci://HOST/REPOSITORY[?tag=TAG|?digest=DIGEST].
func ociReference(u *url.URL) (string, error) {
	reference, query := "latest", u.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if name != "tag" && name != "digest" || len(query[name]) > 1 || len(query) > 1 {
			return "", invalid("invalid module source address: an OCI repository has a tag or a digest, and no other argument")
		}
		reference = query.Get(name)
		valid := oci.IsTag(reference)
		if name == "digest" {
			valid = digest.Digest(reference).Validate() == nil
		}
		if !valid {
			return "", invalid("invalid module source address: its %s is not valid", name)
		}
	}
	return reference, nil
}

// packageLayer reads the manifest of a module package and finds the archive.
func packageLayer(ctx context.Context, u *url.URL, from *oci.Repository, d ocispec.Descriptor) (ocispec.Descriptor, error) {
	if d.MediaType != ocispec.MediaTypeImageManifest {
		return d, unread("%s is no OCI image manifest", redact(u))
	}
	manifest, err := from.Manifest(ctx, d)
	if err != nil {
		return d, ociError(ctx, u, "reading the manifest", err)
	}
	if manifest.MediaType != ocispec.MediaTypeImageManifest || manifest.ArtifactType != packageType {
		return d, unread("%s is no module package", redact(u))
	}
	layers := slices.DeleteFunc(manifest.Layers, func(d ocispec.Descriptor) bool { return d.MediaType != layerType })
	if len(layers) != 1 {
		return d, unread("%s has %d layers of the type %s, where a module package has one", redact(u), len(layers), layerType)
	}
	return layers[0], nil
}

// unpackLayer downloads an archive, checks its digest and unpacks it.
func unpackLayer(ctx context.Context, u *url.URL, from *oci.Repository, layer ocispec.Descriptor) (*filetree.Tree, error) {
	if layer.Size > maxArchive {
		return nil, unread("the package %s is larger than %d bytes", redact(u), int64(maxArchive))
	}
	archive, err := file.NewTemporary()
	if err != nil {
		return nil, unread("making a temporary file: %v", err)
	}
	defer archive.Close() // nothing of it is needed any more
	err = from.Copy(ctx, archive, layer)
	if said, ok := errors.AsType[*oci.Error](err); ok && said.Code == provider.CodeBadChecksum {
		return nil, badAnswer("the package %s is not the one that its manifest names", redact(u))
	}
	if err != nil {
		return nil, ociError(ctx, u, "downloading the module package", err)
	}
	return unpackFile(ctx, archive.File, "zip")
}

// ociError says what was asked of a registry that failed.
func ociError(ctx context.Context, u *url.URL, attempt string, err error) error {
	if over := ended(ctx); over != nil {
		return over
	}
	attempt += " of " + redact(u)
	said, ok := errors.AsType[*oci.Error](err)
	switch {
	case !ok:
		return during(attempt, err)
	case said.Status != 0:
		return statusError(u, said.Status, cliconfig.OCICredentialsHint(u.Host))
	case said.Code == provider.CodeUnreachable:
		e := unreachable(u, "%s", attempt)
		e.Err = said.Err
		return e
	}
	return badAnswer("%s: %v", attempt, said)
}
