package module

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
)

// The limits on object stores. Kept files are bounded as in any package. These limits bound
// how long a store may occupy a run.
const (
	storeTimeout = 15 * time.Minute
	maxPages     = 1_000    // of a list of objects; a full page has a thousand
	maxObjects   = 10_000   // objects of a directory; each needs a request
	maxPageParts = 20_000   // lists, objects and values of a page in JSON
	maxPageTags  = 100_000  // tags of a page in XML; a thousand objects have some 20,000
	maxStorePage = 16 << 20 // bytes of a page of a list: a thousand long names take four
)

type bucket interface {
	// list returns a page of the objects whose names have a prefix. from is "" for the
	// first page, and the previous next for any other. next is "" on the last page.
	list(ctx context.Context, prefix, from string) (names []string, next string, err error)
	// open starts to read an object. If it is larger than an archive may be, reading fails.
	open(ctx context.Context, name string) (io.ReadCloser, error)
}

// stores fetches from object stores. Nothing names a version of a directory there, so the
// ID of a package is made from its kept files.
type stores struct {
	means
	clouds clouds
}

// clouds has the addresses of the clouds' services.
type clouds struct {
	s3          func(region string) *url.URL
	gcs         *url.URL
	googleToken string // the server that exchanges Google credentials that name none
}

var publicClouds = clouds{
	s3: amazon, gcs: &url.URL{Scheme: "https", Host: "storage.googleapis.com"}, googleToken: "https://oauth2.googleapis.com/token",
}

// fetch fetches from S3 or Google Cloud Storage, as the tools do: the objects below
// a directory, or an archive [go-getter 1.7 get_s3.go, get_gcs.go].
func (s stores) fetch(ctx context.Context, a moduleaddr.Package, from *url.URL, form archiveForm) (contents, error) {
	a, kind := archiveFormat(a)
	form.kind = kind
	u, sum, err := withoutChecksum(a.URL)
	if err != nil {
		return contents{}, err
	}
	if sum.hash != nil {
		return contents{}, invalidAddress("invalid module source address: checksums of archives are read for http and https alone")
	}
	var got unpacked
	err = inTime(ctx, u, storeTimeout, func(ctx context.Context) error {
		var in bucket
		var name string
		switch {
		case u.Host == "":
			err = invalidAddress("invalid module source address: it is no URL with a host")
		case a.Getter == "s3" && (u.Scheme == "https" || u.Scheme == "http"):
			in, name, err = openS3(s, u, from)
		case a.Getter == "gcs" && u.Scheme == "https":
			in, name, err = openGCS(ctx, s, u)
		default:
			err = invalidAddress("invalid module source address: %s fetches nothing from a URL with the scheme %q", a.Getter, u.Scheme)
		}
		switch {
		case err != nil:
			return err
		case kind == "":
			got, err = readObjects(ctx, in, name, form)
			return err
		}
		got, err = unpackCopy(ctx, form, func(ctx context.Context, archive io.Writer) error {
			body, err := in.open(ctx, name)
			if err != nil {
				return err
			}
			defer body.Close()
			if _, err := io.Copy(archive, body); err != nil {
				return attempting("downloading the archive", err)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return contents{}, err
	}
	if form.whole != nil {
		return s.cache.save(contents{hash: got.h1}, ""), nil // it is kept with all files
	}
	t, sum256 := got.tree, sha256.New()
	for _, name := range t.Names() {
		info, _ := t.Lstat(name)      // Names has listed it,
		target, _ := t.ReadLink(name) // empty: it is no link
		var data []byte
		if info.Mode().IsRegular() {
			data, _ = fs.ReadFile(t, name) // a file that is too large has no content
		}
		fmt.Fprintf(sum256, "%q %v %q %d\n", name, info.Mode(), target, len(data))
		sum256.Write(data)
	}
	return s.cache.save(contents{fs: t, id: "content+sha256:" + hex.EncodeToString(sum256.Sum(nil)), hash: got.h1}, got.h1), nil
}

func bucketRefused(u *url.URL, place string) error {
	return unauthorized(u, "", "the cloud credentials of this machine are not used for %s here", place)
}

// inTime calls do. It ends do's context after more time than any package needs.
func inTime(ctx context.Context, u *url.URL, limit time.Duration, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return unreachable(u, "fetching from %s took longer than %v", redact(u), limit)
	}
	return err
}

// readObjects reads the kept objects below a directory, and for a hash all of them. Their
// names are as untrusted as those in an archive. A name that ends in a slash is a directory.
// The tools also fetch objects whose names only begin like the directory, to places where no
// module looks [go-getter 1.7 get_s3.go, get_gcs.go].
func readObjects(ctx context.Context, in bucket, dir string, form archiveForm) (unpacked, error) {
	prefix := strings.TrimRight(dir, "/")
	if prefix != "" {
		prefix += "/"
	}
	into, opened := newFilling(form), 0
	add := func(name string) error {
		place, below := strings.CutPrefix(name, prefix)
		if !below {
			return badAnswer("the store lists an object that is not in the directory")
		}
		e := packed{name: place, size: -1, open: func() (io.ReadCloser, error) {
			opened++
			if opened > maxObjects {
				return nil, fmt.Errorf("it has more than %d files that must be read", maxObjects)
			}
			return in.open(ctx, name)
		}}
		if strings.HasSuffix(place, "/") {
			e.mode = fs.ModeDir
		}
		return into.entry(e)
	}
	from := ""
	for range maxPages {
		names, next, err := in.list(ctx, prefix, from)
		if err != nil {
			return unpacked{}, err
		}
		for _, name := range names {
			if err := add(name); err != nil {
				return unpacked{}, attempting("reading the objects of the module package", err)
			}
		}
		switch {
		case next == "" && into.entries == 0:
			return unpacked{}, unread("there is no object below %q in the bucket", dir)
		case next == "":
			return unpacked{tree: into.Tree(), h1: into.sums.h1()}, nil
		case next == from:
			return unpacked{}, badAnswer("the store lists the same objects again and again")
		}
		from = next
	}
	return unpacked{}, unread("the list of its objects has more than %d pages", maxPages)
}

// answerError completes an error of reading an answer.
func answerError(u *url.URL, err error) error {
	if _, ok := errors.AsType[*problem.Error](err); ok {
		return err
	}
	return badAnswer("the answer of %s is no list of objects", redact(u))
}
