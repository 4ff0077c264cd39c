package module

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/provider"
)

// The limits on object stores. What is kept of a directory is bounded as that of
// any package; these bound how long a store may keep a run busy with it.
const (
	storeTimeout = 15 * time.Minute
	maxPages     = 1_000    // of a list of objects; a full page has a thousand
	maxObjects   = 10_000   // of a directory that are read, one request each
	maxPageParts = 20_000   // lists, objects and values of a page in JSON
	maxStorePage = 16 << 20 // bytes of a page of a list: a thousand long names take four
)

// bucket is a bucket of an object store.
type bucket interface {
	// list returns a page of the objects whose names begin with a prefix. The first
	// page is from "", any other from what the page before says, "" at the end.
	list(ctx context.Context, prefix, from string) (page, error)
	// open begins to read an object, which is longer than limit only if reading fails.
	open(ctx context.Context, name string, limit int64) (io.ReadCloser, error)
}

type page struct {
	names []string
	next  string
}

// fromStore fetches from S3 or Google Cloud Storage, as the tools do: the objects
// below a directory, or an archive. Nothing names a version of that, so its ID is
// made of what is kept of it.
func (c *Client) fromStore(ctx context.Context, a address, from *url.URL) (contents, error) {
	a, kind := archiveFormat(a)
	u, sum, err := withoutChecksum(a.url)
	if err != nil {
		return contents{}, err
	}
	if sum.hash != nil {
		return contents{}, invalid("invalid module source address: checksums of archives are read for http and https alone")
	}
	var t *filetree.Tree
	err = inTime(ctx, u, storeTimeout, func(ctx context.Context) error {
		in, name, err := c.bucketOf(ctx, a.getter, u, from)
		switch {
		case err != nil:
			return err
		case kind != "":
			t, err = readArchive(ctx, in, name, kind)
		default:
			t, err = readObjects(ctx, in, name)
		}
		return err
	})
	if err != nil {
		return contents{}, err
	}
	c.fetched.Add(1)
	return contents{t, "content+sha256:" + digestOf(t)}, nil
}

// bucketOf returns the bucket that a URL is in, and the name of what it is of there.
func (c *Client) bucketOf(ctx context.Context, getter string, u, from *url.URL) (bucket, string, error) {
	switch {
	case u.Host == "":
		return nil, "", invalid("invalid module source address: it is no URL with a host")
	case getter == "s3" && (u.Scheme == "https" || u.Scheme == "http"):
		return c.s3Bucket(u, from)
	case getter == "gcs" && u.Scheme == "https":
		return c.gcsBucket(ctx, u)
	}
	return nil, "", invalid("invalid module source address: %s fetches nothing from a URL with the scheme %q", getter, u.Scheme)
}

func bucketRefused(u *url.URL, place string) error {
	return unauthorized(u, "", "the cloud credentials of this machine are not used for %s here", place)
}

// inTime calls do, and ends its context after a time that no package needs.
func inTime(ctx context.Context, u *url.URL, limit time.Duration, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return unreachable(u, "fetching from %s took longer than %v", redact(u), limit)
	}
	return err
}

// readArchive reads an archive by way of a temporary file, since the table of a
// zip archive stands at its end.
func readArchive(ctx context.Context, in bucket, name, kind string) (*filetree.Tree, error) {
	body, err := in.open(ctx, name, maxArchive)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	archive, err := file.NewTemporary()
	if err != nil {
		return nil, unread("making a temporary file: %v", err)
	}
	defer archive.Close() // nothing of it is needed any more
	if _, err := io.Copy(archive, body); err != nil {
		return nil, during("downloading the archive", err)
	}
	return unpackFile(ctx, archive.File, kind)
}

// readObjects reads what is kept of the objects below a directory. Their names
// are those of entries of an archive, and as little to be trusted; those that end
// in a slash stand for directories. The tools also fetch objects beside the
// directory whose names begin alike, to where no module looks.
func readObjects(ctx context.Context, in bucket, dir string) (*filetree.Tree, error) {
	prefix := strings.TrimRight(dir, "/")
	if prefix != "" {
		prefix += "/"
	}
	into, opened := newFilling(), 0
	add := func(name string) error {
		place, below := strings.CutPrefix(name, prefix)
		if !below {
			return badAnswer("the store lists an object that is not in the directory")
		}
		return into.entry(place, strings.HasSuffix(place, "/"), func() (io.ReadCloser, error) {
			if opened++; opened > maxObjects {
				return nil, fmt.Errorf("it has more than %d configuration files", maxObjects)
			}
			return in.open(ctx, name, maxArchive)
		})
	}
	from := ""
	for range maxPages {
		p, err := in.list(ctx, prefix, from)
		if err != nil {
			return nil, err
		}
		for _, name := range p.names {
			if err := add(name); err != nil {
				return nil, during("reading the objects of the module package", err)
			}
		}
		switch {
		case p.next == "" && into.entries == 0:
			return nil, unread("there is no object below %q in the bucket", dir)
		case p.next == "":
			return into.Tree(), nil
		case p.next == from:
			return nil, badAnswer("the store lists the same objects again and again")
		}
		from = p.next
	}
	return nil, unread("the list of its objects has more than %d pages", maxPages)
}

// answerError keeps what is known of an error of reading an answer, which may not
// be what it should.
func answerError(u *url.URL, err error) error {
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	return badAnswer("the answer of %s is no list of objects", redact(u))
}

// digestOf is a checksum of what is kept.
func digestOf(t *filetree.Tree) string {
	sum := sha256.New()
	for _, name := range t.Names() {
		n, _ := nodeAt(t, name) // a file that is too large has no content
		fmt.Fprintf(sum, "%q %v %q %d\n", name, n.mode, n.target, len(n.data))
		sum.Write(n.data)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
