// Package oci asks OCI registries, by the distribution protocol, for OpenTofu's
// packages of providers and of modules. No other package uses the library for it.
//
// A registry has repositories. A tag or a digest names a manifest, or an index of
// manifests; these name blobs. Everything but tags is named by its digest, which
// is checked here when content is read as a whole. Callers decide what a tag, an
// artifact type, a layer or missing content means.
package oci

import (
	"cmp"
	"context"
	"io"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// The limits on answers.
const (
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

// Client asks registries by the rules of a transport.
type Client struct {
	Transport *transport.Client
	// Ambient reports whether the operator's credentials may be used for a
	// registry; nil admits all.
	Ambient func(registry string) bool
}

// Repository is one repository of a registry. It keeps the tokens that the
// registry gives out, and is safe for concurrent use.
type Repository struct {
	remote  *remote.Repository
	timeout time.Duration
}

// Repository returns a repository, which is asked with what config holds for it.
// It fails if the address is not valid.
func (c Client) Repository(config *cliconfig.Config, of cliconfig.Repository) (*Repository, error) {
	reference := registry.Reference{Registry: of.Registry, Repository: of.Name}
	if err := reference.Validate(); err != nil {
		return nil, err
	}
	return &Repository{
		timeout: cmp.Or(config.Limits().Timeout, transport.DefaultTimeout),
		remote: &remote.Repository{Reference: reference, TagListMaxPages: maxTagPages, Client: &auth.Client{
			Client: c.Transport.Streaming(),
			Cache:  auth.NewCache(),
			Credential: func(ctx context.Context, hostport string) (auth.Credential, error) {
				// The operator has named this registry, and nothing it refers to.
				if hostport != reference.Host() || c.Ambient != nil && !c.Ambient(of.Registry) {
					return auth.EmptyCredential, nil
				}
				found, err := config.OCICredential(ctx, of)
				return auth.Credential{
					Username: found.Username, Password: found.Password,
					AccessToken: found.AccessToken, RefreshToken: found.RefreshToken,
				}, err
			},
		}},
	}, nil
}

// IsTag reports whether text may be a tag.
func IsTag(text string) bool {
	return registry.Reference{Reference: text}.ValidateReferenceAsTag() == nil
}

// Tags lists the tags of the repository. Its errors, and those of all methods,
// are *Error, or *problem.Error where transport or the credentials failed.
func (r *Repository) Tags(ctx context.Context) ([]string, error) {
	var all []string
	err := r.ask(ctx, func(ctx context.Context) error {
		return r.remote.Tags(ctx, "", func(tags []string) error {
			all = append(all, tags...)
			if len(all) > maxTags {
				return broken("it has more than %d tags", maxTags)
			}
			return nil
		})
	})
	return all, err
}

// Resolve describes what a tag or a digest names.
func (r *Repository) Resolve(ctx context.Context, reference string) (d ocispec.Descriptor, err error) {
	err = r.ask(ctx, func(ctx context.Context) (err error) {
		d, err = r.remote.Resolve(ctx, reference)
		return err
	})
	return d, err
}

// Index fetches an index of manifests, which is what its descriptor says.
func (r *Repository) Index(ctx context.Context, d ocispec.Descriptor) (index ocispec.Index, err error) {
	return index, r.manifest(ctx, d, &index)
}

// Manifest fetches a manifest, which is what its descriptor says.
func (r *Repository) Manifest(ctx context.Context, d ocispec.Descriptor) (manifest ocispec.Manifest, err error) {
	return manifest, r.manifest(ctx, d, &manifest)
}

func (r *Repository) manifest(ctx context.Context, d ocispec.Descriptor, into any) error {
	if d.Size > maxManifest {
		return broken("the manifest %s is longer than %d bytes", d.Digest, maxManifest)
	}
	return r.ask(ctx, func(ctx context.Context) error {
		src, err := content.FetchAll(ctx, r.remote, d)
		if err != nil {
			return err
		}
		if transport.UnmarshalJSON(src, into) != nil {
			return broken("the manifest %s is not valid", d.Digest)
		}
		return nil
	})
}

// ask bounds a question by the operator's timeout, and says why it failed.
func (r *Repository) ask(ctx context.Context, question func(context.Context) error) error {
	asking, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return explain(ctx, question(asking))
}

// Blob begins to read a blob, whose digest nobody has checked. Reading fails with
// the errors of methods, too.
func (r *Repository) Blob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	body, err := r.remote.Blobs().Fetch(ctx, d)
	if err != nil {
		return nil, explain(ctx, err)
	}
	return blob{ctx, body}, nil
}

// Copy writes a blob whole. The error is one with CodeBadChecksum if what was
// written is not what the descriptor says.
func (r *Repository) Copy(ctx context.Context, to io.Writer, d ocispec.Descriptor) error {
	body, err := r.Blob(ctx, d)
	if err != nil {
		return err
	}
	defer body.Close()
	verified := content.NewVerifyReader(body, d)
	if _, err := io.Copy(to, verified); err != nil {
		return explain(ctx, err)
	}
	if verified.Verify() != nil {
		return &Error{Code: problem.CodeBadChecksum, Err: content.ErrMismatchedDigest}
	}
	return nil
}

// blob is the body of an answer to the one call that has the context.
type blob struct {
	ctx context.Context
	io.ReadCloser
}

func (b blob) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = explain(b.ctx, err)
	}
	return n, err
}
