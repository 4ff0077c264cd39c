package module

import (
	"bufio"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/bgentry/go-netrc/netrc"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// maxPage bounds a page in which a reference is searched.
const maxPage = 4 << 20

const credentialsHint = "put a login for the host into the netrc file"

// web fetches archives, and asks servers for the places of packages.
type web struct {
	means
	netrc func() (*netrc.Netrc, error)
}

// ask asks a server for the place of a package with go-getter's protocol: the question has
// the query argument terraform-get, and the answer a header or a meta element.
func (w web) ask(ctx context.Context, a moduleaddr.Package, from *url.URL) (location, error) {
	a, _ = archiveFormat(a)
	query := a.URL.Query()
	if query.Has("checksum") {
		return location{}, invalidAddress("invalid module source address: only an archive has a checksum")
	}
	query.Add("terraform-get", "1")
	u := *a.URL
	u.RawQuery = query.Encode()
	with, err := w.login(&u)
	if err != nil {
		return location{}, err
	}
	resp, body, err := w.transport.Stream(ctx, transport.Request{URL: with, Referrer: from, Limit: maxPage})
	if err != nil {
		return location{}, err
	}
	defer body.Close()
	if resp.Status < 200 || resp.Status > 299 {
		return location{}, statusError(&u, resp.Status, credentialsHint)
	}
	source := resp.Header.Get(getHeader)
	if source == "" {
		source = metaSource(body)
	}
	if source == "" {
		return location{}, unread("%s is neither an archive nor does it say where the package is", redact(&u))
	}
	next, err := moduleaddr.ParseURL(source)
	if err != nil {
		return location{}, badAnswer("%s refers to no module package: %v", redact(&u), err)
	}
	return location{address: next, from: resp.URL}, nil
}

// getHeader is the header in which registries and servers name the place of a package.
const getHeader = "X-Terraform-Get"

// metaSource returns the content of the first meta element terraform-get in the head of a
// page, or "".
func metaSource(page io.Reader) string {
	d := xml.NewDecoder(bufio.NewReader(page))
	d.Strict = false
	d.CharsetReader = func(charset string, r io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "ascii") {
			return r, nil
		}
		return nil, fmt.Errorf("unknown charset %q", charset)
	}
	for {
		token, err := d.RawToken()
		if err != nil {
			return ""
		}
		switch e := token.(type) {
		case xml.EndElement:
			if strings.EqualFold(e.Name.Local, "head") {
				return ""
			}
		case xml.StartElement:
			if strings.EqualFold(e.Name.Local, "body") {
				return ""
			}
			content := attribute(e, "content")
			if strings.EqualFold(e.Name.Local, "meta") && attribute(e, "name") == "terraform-get" && content != "" {
				return content
			}
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if strings.EqualFold(a.Name.Local, name) {
			return a.Value
		}
	}
	return ""
}

// fetch downloads and unpacks an archive.
func (w web) fetch(ctx context.Context, a moduleaddr.Package, from *url.URL, form archiveForm) (contents, error) {
	a, kind := archiveFormat(a)
	form.kind = kind
	u, sum, err := withoutChecksum(a.URL)
	if err != nil {
		return contents{}, err
	}
	if sum.kind == "sha256" && form.whole == nil {
		if p, ok := w.cache.load(archiveID(kind, sum.want)); ok && (p.hash != "" || !form.hashed) {
			return p, nil
		}
	}
	with, err := w.login(u)
	if err != nil {
		return contents{}, err
	}
	return w.download(ctx, transport.Request{URL: with, Referrer: from}, form, sum)
}

func archiveID(kind, sha256 string) string { return kind + "+sha256:" + sha256 }

// download requests an archive and unpacks it. Without a kind, its first bytes decide.
func (w web) download(ctx context.Context, r transport.Request, form archiveForm, sum checksum) (contents, error) {
	r.Limit = maxArchive
	digest := sha256.New()
	got, err := unpackCopy(ctx, form, func(ctx context.Context, archive io.Writer) error {
		digest.Reset()
		resp, body, err := w.transport.Stream(ctx, r)
		if err != nil {
			return err
		}
		defer body.Close()
		if resp.Status != http.StatusOK {
			return statusError(r.URL, resp.Status, credentialsHint)
		}
		into := []io.Writer{archive, digest}
		if sum.hash != nil {
			sum.hash.Reset()
			into = append(into, sum.hash)
		}
		if _, err := io.Copy(io.MultiWriter(into...), body); err != nil {
			return attempting("downloading "+redact(r.URL), err)
		}
		if sum.hash != nil && hex.EncodeToString(sum.hash.Sum(nil)) != sum.want {
			return coded(problem.CodeBadChecksum, "the archive is not the one that the checksum in the source address was made of")
		}
		return nil
	})
	if err != nil {
		return contents{}, err
	}
	p := contents{fs: got.tree, id: archiveID(got.kind, hex.EncodeToString(digest.Sum(nil))), hash: got.h1}
	key := p.hash
	switch {
	case form.whole != nil:
		key = "" // it is kept with all files
	case sum.kind == "sha256":
		key = p.id
	}
	return w.cache.save(p, key), nil
}

// checksum is the checksum that a source demands of an archive. The zero value demands
// none.
type checksum struct {
	kind, want string // want in lower-case hexadecimal digits
	hash       hash.Hash
}

// checksumKinds are the checksums that a source may demand, by the number of hexadecimal
// digits. That number decides if the source names no kind.
var checksumKinds = map[int]struct {
	name string
	new  func() hash.Hash
}{32: {"md5", md5.New}, 40: {"sha1", sha1.New}, 64: {"sha256", sha256.New}, 128: {"sha512", sha512.New}}

// withoutChecksum removes the query argument checksum, [KIND:]DIGITS, which is for
// go-getter. The rest of the query is sorted, as in go-getter.
func withoutChecksum(u *url.URL) (*url.URL, checksum, error) {
	query := u.Query()
	value := query.Get("checksum")
	query.Del("checksum")
	plain := *u
	plain.RawQuery = query.Encode()
	if value == "" {
		return &plain, checksum{}, nil
	}
	kind, digits, named := strings.Cut(value, ":")
	if !named {
		digits = value
	}
	if known, ok := checksumKinds[len(digits)]; ok && (kind == known.name || !named) {
		return &plain, checksum{known.name, strings.ToLower(digits), known.new()}, nil
	}
	return nil, checksum{}, invalidAddress("invalid module source address: its checksum is not md5, sha1, sha256 or sha512 in hexadecimal digits")
}
