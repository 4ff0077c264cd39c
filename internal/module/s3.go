package module

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// s3Bucket is a bucket of AWS, or of another store with the protocol of S3.
type s3Bucket struct {
	transport *transport.Client
	// endpoint is the address of the store in a region. Stores other than AWS have only
	// one.
	endpoint func(region string) *url.URL
	from     *url.URL // the server that named the store; nil if a configuration did
	name     string
	version  string // of the object to open; "" is the newest
	region   string
	moved    bool // the store has named the bucket's region
	keys     aws.Credentials
}

// awsHost are the hosts of S3: with the region after a dot, after a hyphen, or without one,
// and perhaps with the bucket in front.
var awsHost = regexp.MustCompile(`^(?:(.+)\.)?s3(?:[.-]([a-z0-9-]+))?\.amazonaws\.com$`)

// awsRegion is the form of a region in a host's name. Stores choose the text.
var awsRegion = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// amazon is the address of S3 in a region. With the bucket in the path, one certificate
// fits all names of buckets, also those with dots.
func amazon(region string) *url.URL {
	return &url.URL{Scheme: "https", Host: "s3." + region + ".amazonaws.com"}
}

// openS3 reads the URL of an object or directory in S3. The machine's keys for AWS are used
// only for AWS. Another store needs its own keys in the URL. The tools send a request
// without keys to AWS, whatever its host [go-getter 1.7 get_s3.go].
func openS3(s stores, u, from *url.URL) (bucket, string, error) {
	query := u.Query()
	b := &s3Bucket{transport: s.transport, from: from, version: query.Get("version"), region: query.Get("region")}
	path, place, isAWS := u.Path, u.Host, strings.HasSuffix(u.Hostname(), ".amazonaws.com")
	defaultPort := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	b.endpoint = func(string) *url.URL {
		return &url.URL{Scheme: u.Scheme, Host: strings.TrimSuffix(u.Host, defaultPort)}
	}
	if isAWS {
		m := awsHost.FindStringSubmatch(u.Hostname())
		if m == nil {
			return nil, "", invalidAddress("invalid module source address: the host is not one of S3")
		}
		if m[1] != "" {
			path = "/" + m[1] + path
		}
		b.region, b.endpoint, place, b.from = m[2], s.clouds.s3, "s3.amazonaws.com", nil
	}
	if b.region == "" {
		b.region = "us-east-1" // as for the tools [go-getter 1.7 get_s3.go]
	}
	name, object, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !ok || name == "" || !awsRegion.MatchString(b.region) {
		return nil, "", invalidAddress("invalid module source address: it is no object of S3")
	}
	b.name = name
	var err error
	b.keys, err = s3Keys(s.opts, u, place+"/"+name, isAWS)
	return b, object, err
}

// s3Keys are the keys in the URL, or else those of the machine, perhaps of a profile that
// the URL names. A pull request's head must not choose keys.
func s3Keys(opts Options, u *url.URL, place string, isAWS bool) (aws.Credentials, error) {
	query := u.Query()
	profile := query.Get("aws_profile")
	own := profile == "" && (query.Has("aws_access_key_id") || query.Has("aws_access_key_secret") || query.Has("aws_access_token"))
	switch {
	case own && !opts.Head:
		keys := aws.Credentials{
			AccessKeyID: query.Get("aws_access_key_id"), SecretAccessKey: query.Get("aws_access_key_secret"),
			SessionToken: query.Get("aws_access_token"),
		}
		if !keys.HasKeys() {
			return keys, unauthorized(u, "", "the keys in the source address are incomplete")
		}
		return keys, nil
	case own && !opts.ambient(place):
		return aws.Credentials{}, unauthorized(u, "", "keys in a source address do not count for the head of a pull request")
	case !opts.ambient(place):
		return aws.Credentials{}, bucketRefused(u, place)
	case !isAWS:
		return aws.Credentials{}, unauthorized(u, "add aws_access_key_id and aws_access_key_secret to the source address",
			"the cloud credentials of this machine are for AWS, and not for %s", u.Hostname())
	}
	keys, err := awsKeys(opts.Env, profile)
	if err != nil {
		return keys, unauthorized(u, awsHint, "there are no credentials for %s: %v", place, err)
	}
	return keys, nil
}

// noBody is the signed SHA-256 of a request without a body.
const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

const regionHeader = "X-Amz-Bucket-Region"

// get requests an object or, without a name, a list of objects. If the store names another
// region for the bucket, get asks there again. The caller closes the body.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
func (b *s3Bucket) get(ctx context.Context, object string, query url.Values, limit int64) (*url.URL, io.ReadCloser, error) {
	u := *b.endpoint(b.region)
	u.Path = "/" + b.name
	if object != "" {
		u.Path += "/" + object
	}
	u.RawPath = httpbinding.EscapePath(u.Path, false) // the signed form; net/url would escape less
	u.RawQuery = query.Encode()
	signed, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, errors.New("it is not a valid URL")
	}
	signed.Header.Set("X-Amz-Content-Sha256", noBody)
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	if err := signer.SignHTTP(ctx, b.keys, signed, noBody, "s3", b.region, time.Now()); err != nil {
		return nil, nil, unread("signing the request to %s: %v", redact(&u), err)
	}
	namesRegion := func(redirect http.Header) bool { return redirect.Get(regionHeader) != "" }
	resp, body, err := b.transport.Stream(ctx, transport.Request{
		URL: signed.URL, Header: signed.Header, Referrer: b.from, Final: namesRegion, Limit: limit,
	})
	if err != nil {
		return nil, nil, err
	}
	if resp.Status == http.StatusOK {
		return signed.URL, body, nil
	}
	var said struct{ Code, Region string } // only known codes are shown
	if xml.NewDecoder(io.LimitReader(body, maxFailure)).Decode(&said) != nil {
		said.Code, said.Region = "", ""
	}
	body.Close()
	region := cmp.Or(resp.Header.Get(regionHeader), said.Region)
	if region != b.region && awsRegion.MatchString(region) && !b.moved {
		b.region, b.moved = region, true
		return b.get(ctx, object, query, limit)
	}
	known, ok := s3Reasons[said.Code]
	if !ok {
		return nil, nil, statusError(signed.URL, resp.Status, awsHint)
	}
	e := unread("requesting %s: %d %s, %s", redact(signed.URL), resp.Status, http.StatusText(resp.Status), known.reason)
	if known.code == problem.CodeUnauthorized {
		e = unauthorized(signed.URL, awsHint, "%s", e.Problem.Message)
	}
	return nil, nil, e
}

// list implements bucket with version 1 of the request, which every store supports. The
// last name of a page is where the next one starts.
func (b *s3Bucket) list(ctx context.Context, prefix, from string) (names []string, next string, err error) {
	query := url.Values{"prefix": {prefix}, "encoding-type": {"url"}}
	if from != "" {
		query.Set("marker", from)
	}
	u, body, err := b.get(ctx, "", query, maxStorePage)
	if err != nil {
		return nil, "", err
	}
	defer body.Close()
	var answer struct {
		XMLName      xml.Name `xml:"ListBucketResult"`
		IsTruncated  bool
		EncodingType string
		Contents     []struct{ Key string }
	}
	if err := xml.NewDecoder(&tagReader{body, maxPageTags}).Decode(&answer); err != nil {
		return nil, "", answerError(u, err)
	}
	for _, object := range answer.Contents {
		name := object.Key
		if answer.EncodingType == "url" {
			name, err = url.QueryUnescape(name)
			if err != nil {
				return nil, "", answerError(u, err)
			}
		}
		names = append(names, name)
	}
	switch {
	case answer.IsTruncated && len(names) == 0:
		return nil, "", answerError(u, nil)
	case answer.IsTruncated:
		next = names[len(names)-1]
	}
	return names, next, nil
}

// tagReader reads XML, and fails as soon as more than left tags have come. The library
// remembers every open element, and is slow at closing many.
type tagReader struct {
	io.Reader
	left int
}

// Read implements io.Reader.
func (r *tagReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.left -= bytes.Count(p[:n], []byte("<"))
	if r.left < 0 {
		return 0, fmt.Errorf("it has more than %d tags", maxPageTags)
	}
	return n, err
}

// open implements bucket.
func (b *s3Bucket) open(ctx context.Context, name string) (io.ReadCloser, error) {
	query := url.Values{}
	if b.version != "" {
		query.Set("versionId", b.version)
	}
	_, body, err := b.get(ctx, name, query, maxArchive)
	return body, err
}

const maxFailure = 64 << 10 // bytes of a store's error document

// s3Reasons are the failures that a person can fix.
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
var s3Reasons = map[string]struct {
	code   problem.Code
	reason string
}{
	"AccessDenied":                 {problem.CodeUnauthorized, "access is denied"},
	"AuthorizationHeaderMalformed": {problem.CodeUnauthorized, "the credentials or the region are not valid"},
	"ExpiredToken":                 {problem.CodeUnauthorized, "the session token has expired"},
	"InvalidAccessKeyId":           {problem.CodeUnauthorized, "the access key is not known"},
	"InvalidToken":                 {problem.CodeUnauthorized, "the session token is not valid"},
	"RequestTimeTooSkewed":         {problem.CodeUnauthorized, "the clock of this machine is wrong"},
	"SignatureDoesNotMatch":        {problem.CodeUnauthorized, "the signature is wrong, so the secret does not belong to the access key"},
	"NoSuchBucket":                 {problem.CodeUnreadModule, "there is no such bucket"},
	"NoSuchKey":                    {problem.CodeUnreadModule, "there is no such object"},
	"NoSuchVersion":                {problem.CodeUnreadModule, "the object has no such version"},
	"InvalidObjectState":           {problem.CodeUnreadModule, "the object lies in an archive"},
	"PermanentRedirect":            {problem.CodeUnreadModule, "the bucket is elsewhere"},
}
