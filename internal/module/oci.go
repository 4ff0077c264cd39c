package module

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/oci"
	"github.com/relock-dev/relock/internal/problem"
)

const (
	// packageType is OpenTofu's type of an OCI artifact with a module package.
	packageType = "application/vnd.opentofu.modulepkg"
	// layerType is the only type of layer that OpenTofu reads [opentofu 1.12
	// internal/getmodules/oci_getter.go].
	layerType = "archive/zip"
	// ociHash is before the digest of a manifest in a lock file of modules. The digest
	// determines the package.
	ociHash = "oci:"
)

// fromOCI fetches the module package of an OCI repository, by tag or digest.
func fromOCI(ctx context.Context, asking oci.Client, config *cliconfig.Config, kept *cache, a moduleaddr.Package, form archiveForm) (contents, error) {
	of := cliconfig.Repository{Registry: a.URL.Host, Name: strings.TrimPrefix(a.URL.Path, "/")}
	repository, err := asking.Repository(config, of)
	if err != nil || a.URL.Scheme != "oci" {
		return contents{}, invalidAddress("invalid module source address: it is no address of an OCI repository")
	}
	reference, err := ociReference(a.URL)
	if err != nil {
		return contents{}, err
	}
	saved := func(digest string) (contents, bool) {
		p, ok := kept.load(ociID(of, digest))
		p.hash = ociHash + digest
		return p, ok && form.whole == nil
	}
	if p, ok := saved(reference); ok { // it is a digest
		return p, nil
	}
	named, err := repository.Resolve(ctx, reference)
	if err != nil {
		return contents{}, ociError(ctx, a.URL, "resolving the reference", err)
	}
	if p, ok := saved(named.Digest.String()); ok {
		return p, nil
	}
	if named.MediaType != ocispec.MediaTypeImageManifest {
		return contents{}, unread("%s is no OCI image manifest", redact(a.URL))
	}
	manifest, err := repository.Manifest(ctx, named)
	if err != nil {
		return contents{}, ociError(ctx, a.URL, "reading the manifest", err)
	}
	layers := slices.DeleteFunc(manifest.Layers, func(d ocispec.Descriptor) bool { return d.MediaType != layerType })
	switch {
	case manifest.MediaType != ocispec.MediaTypeImageManifest || manifest.ArtifactType != packageType:
		return contents{}, unread("%s is no module package", redact(a.URL))
	case len(layers) != 1:
		return contents{}, unread("%s has %s of the type %s, where a module package has one", redact(a.URL), collect.Count(len(layers), "layer", "layers"), layerType)
	case layers[0].Size > maxArchive:
		return contents{}, unread("the package %s is larger than %d bytes", redact(a.URL), int64(maxArchive))
	}
	got, err := unpackCopy(ctx, archiveForm{kind: "zip", whole: form.whole}, func(ctx context.Context, archive io.Writer) error {
		err := repository.Copy(ctx, archive, layers[0])
		if said, ok := errors.AsType[*oci.Error](err); ok && said.Code == problem.CodeBadChecksum {
			return coded(said.Code, "the package %s is not the one that its manifest names", redact(a.URL))
		}
		if err != nil {
			return ociError(ctx, a.URL, "downloading the module package", err)
		}
		return nil
	})
	if err != nil {
		return contents{}, err
	}
	id := ociID(of, named.Digest.String())
	p := contents{fs: got.tree, id: id, hash: ociHash + named.Digest.String()}
	if form.whole != nil {
		return kept.save(p, ""), nil // it is kept with all files
	}
	return kept.save(p, id), nil
}

func ociID(of cliconfig.Repository, digest string) string { return "oci+" + of.String() + "@" + digest }

// ociReference is the tag or digest in oci://HOST/REPOSITORY[?tag=TAG|?digest=DIGEST].
func ociReference(u *url.URL) (string, error) {
	reference, query := "latest", u.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if name != "tag" && name != "digest" || len(query[name]) > 1 || len(query) > 1 {
			return "", invalidAddress("invalid module source address: an OCI repository has a tag or a digest, and no other argument")
		}
		reference = query.Get(name)
		valid := oci.IsTag(reference)
		if name == "digest" {
			valid = digest.Digest(reference).Validate() == nil
		}
		if !valid {
			return "", invalidAddress("invalid module source address: its %s is not valid", name)
		}
	}
	return reference, nil
}

// ociError adds the attempt to an error of a registry.
func ociError(ctx context.Context, u *url.URL, attempt string, err error) error {
	if over := ended(ctx); over != nil {
		return over
	}
	attempt += " of " + redact(u)
	said, ok := errors.AsType[*oci.Error](err)
	switch {
	case !ok:
		return attempting(attempt, err)
	case said.Status != 0:
		return statusError(u, said.Status, cliconfig.OCICredentialsHint(u.Host))
	case said.Code == problem.CodeUnreachable:
		e := unreachable(u, "%s", attempt)
		e.Err = said.Err
		return e
	}
	return badAnswer("%s: %v", attempt, said)
}
