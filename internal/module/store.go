package module

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	gcs "github.com/hashicorp/go-getter/gcs/v2"
	s3 "github.com/hashicorp/go-getter/s3/v2"
	getter "github.com/hashicorp/go-getter/v2"

	"github.com/relock-dev/relock/internal/provider"
)

// fromStore fetches from S3 or Google Cloud Storage with go-getter, as the tools do: a directory, or an archive, which is unpacked here.
func (c *Client) fromStore(ctx context.Context, a address, from *url.URL) (contents, error) {
	a, kind := archiveFormat(a)
	u, sum, err := withoutChecksum(a.url)
	if err != nil {
		return contents{}, err
	}
	if sum.hash != nil {
		return contents{}, invalid("invalid module source address: checksums of archives are read for http and https alone")
	}
	g, u, err := c.getterOf(a.getter, u)
	if err != nil {
		return contents{}, err
	}
	if err := c.transport.CheckHost(ctx, u, from); err != nil {
		return contents{}, err
	}
	dir, err := os.MkdirTemp("", "relock-store-*")
	if err != nil {
		return contents{}, unread("making a temporary directory: %v", err)
	}
	defer os.RemoveAll(dir)
	request := &getter.Request{Src: a.getter + "::" + u.String(), Dst: filepath.Join(dir, "package"), GetMode: getter.ModeDir}
	if kind != "" {
		request.GetMode = getter.ModeFile
	}
	client := getter.Client{Getters: []getter.Getter{g}, Decompressors: map[string]getter.Decompressor{}}
	err = within(ctx, dir, func(ctx context.Context) error {
		_, err := client.Get(ctx, request)
		return err
	})
	if err != nil {
		return contents{}, storeError(ctx, u, err)
	}
	return c.stored(request.Dst, kind)
}

// stored reads what go-getter has put on the disk. Nothing names a version of
// it, so its ID is made of what is kept of it.
func (c *Client) stored(name, kind string) (contents, error) {
	t := newTree()
	if kind != "" {
		file, err := os.Open(name)
		if err != nil {
			return contents{}, unread("opening the archive: %v", pathless(err))
		}
		defer file.Close()
		if t, err = unpackFile(file, kind); err != nil {
			return contents{}, err
		}
	} else if err := t.readDir(name); err != nil {
		return contents{}, unread("the module package cannot be read: %v", pathless(err))
	}
	c.fetched.Add(1)
	return contents{t, "content+sha256:" + t.digest()}, nil
}

// getterOf returns go-getter's getter for a URL that it may have, and the URL in
// the form that the getter understands.
func (c *Client) getterOf(kind string, u *url.URL) (getter.Getter, *url.URL, error) {
	if u.Host == "" || strings.HasPrefix(u.Host, "-") {
		return nil, nil, invalid("invalid module source address: it is no URL with a host")
	}
	switch {
	case kind == "s3" && (u.Scheme == "https" || u.Scheme == "http"):
		u = pathStyle(u)
		query := u.Query()
		own := query.Has("aws_access_key_id") && !query.Has("aws_profile") // a profile is the machine's
		if !own && !c.ambient(bucketOf(u)) {
			return nil, nil, bucketRefused(u)
		}
		return new(s3.Getter), u, nil
	case kind == "gcs" && u.Scheme == "https":
		if !c.ambient(bucketOf(u)) {
			return nil, nil, bucketRefused(u)
		}
		return new(gcs.Getter), u, nil
	}
	return nil, nil, invalid("invalid module source address: %s fetches nothing from a URL with the scheme %q", kind, u.Scheme)
}

func bucketRefused(u *url.URL) error {
	return unauthorized(u, "", "the cloud credentials of this machine are not used for %s here", bucketOf(u))
}

// bucketOf is the host and the bucket of a URL of an object.
func bucketOf(u *url.URL) string {
	parts := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	if strings.HasSuffix(u.Host, "googleapis.com") && len(parts) > 2 {
		return u.Host + "/" + parts[2] // storage/VERSION/BUCKET
	}
	return u.Host + "/" + parts[0]
}

// virtualHost is S3 with the bucket in the host, or with the region behind a dot.
var virtualHost = regexp.MustCompile(`^(?:(.+)\.)?s3[.-]([a-z0-9-]+)\.amazonaws\.com$`)

// pathStyle puts the bucket into the path and the region behind a hyphen, the
// one form that go-getter's module for S3 reads. Those of the tools read all.
func pathStyle(u *url.URL) *url.URL {
	m := virtualHost.FindStringSubmatch(u.Host)
	if m == nil {
		return u
	}
	styled := *u
	styled.Host, styled.RawPath = "s3-"+m[2]+".amazonaws.com", ""
	if m[1] != "" {
		styled.Path = "/" + m[1] + u.Path
	}
	return &styled
}

// readDir adds what is kept of a directory on the disk. Links are not followed.
func (t *tree) readDir(name string) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := t.count(); err != nil {
			return err
		}
		switch {
		case d.IsDir():
			_, err = t.dir(name)
			return err
		case d.Type() == fs.ModeSymlink:
			target, err := root.Readlink(name)
			if err != nil {
				return err
			}
			return t.link(name, filepath.ToSlash(target))
		case !d.Type().IsRegular() || !kept(name):
			return nil
		}
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		return t.file(name, file)
	})
}

// digest is a checksum of what is kept.
func (t *tree) digest() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		n := t.nodes[name]
		fmt.Fprintf(sum, "%q %v %q %d\n", name, n.mode, n.target, len(n.data))
		sum.Write(n.data)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// storeSigns are what go-getter's libraries say of the reasons that a person can
// do something about: their errors have no types in common.
var storeSigns = []struct {
	code  provider.Code
	words *regexp.Regexp
}{
	{provider.CodeUnauthorized, regexp.MustCompile(`(?i)access ?denied|forbidden|NoCredentialProviders|EmptyStaticCreds|could not find default credentials|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|unauthorized`)},
	{provider.CodeUnreadModule, regexp.MustCompile(`(?i)no ?such ?(key|bucket)|not ?found|doesn't exist|does not exist|not a valid`)},
	{provider.CodeUnreachable, regexp.MustCompile(`(?i)timeout|timed out|connection|no such host|dial|status code: 5|Error 5`)},
}

// storeError says in our words what went wrong. What a library says may
// quote credentials and signed URLs, and is dropped.
func storeError(ctx context.Context, u *url.URL, err error) error {
	if over := ended(ctx); over != nil {
		return over
	}
	switch {
	case errors.Is(err, errDirectory):
		return unread("fetching from %s: %v", redact(u), err)
	case errors.Is(err, context.DeadlineExceeded):
		return unreachable(u, "fetching from %s took longer than %v", redact(u), programTimeout)
	}
	for _, sign := range storeSigns {
		switch {
		case !sign.words.MatchString(err.Error()):
		case sign.code == provider.CodeUnauthorized:
			return unauthorized(u, "give this machine credentials that may read it", "fetching from %s: credentials are missing or refused", redact(u))
		case sign.code == provider.CodeUnreachable:
			return unreachable(u, "fetching from %s: no answer", redact(u))
		default:
			return unread("fetching from %s: there is nothing", redact(u))
		}
	}
	return unread("fetching from %s did not succeed", redact(u))
}
