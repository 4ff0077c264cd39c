package module

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/relock-dev/relock/internal/transport"
)

// gcsBucket is a bucket of Google Cloud Storage, used with its JSON protocol.
// https://cloud.google.com/storage/docs/json_api/v1
type gcsBucket struct {
	transport  *transport.Client
	endpoint   *url.URL
	name       string
	generation string // of the object to open; "" is the newest
	token      string
}

var isGeneration = regexp.MustCompile(`^[0-9]{1,20}$`)

// openGCS reads a URL https://www.googleapis.com/storage/VERSION/BUCKET/OBJECT. It names an
// object; the URL itself is never requested.
func openGCS(ctx context.Context, s stores, u *url.URL) (bucket, string, error) {
	parts := strings.SplitN(strings.TrimPrefix(u.Path, "/"), "/", 4)
	host := u.Hostname()
	if !strings.HasSuffix(host, ".googleapis.com") || strings.Count(host, ".") != 2 || len(parts) != 4 || parts[2] == "" {
		return nil, "", invalidAddress("invalid module source address: it is no object of Google Cloud Storage")
	}
	name, object := parts[2], parts[3]
	if place := host + "/" + name; !s.opts.ambient(place) {
		return nil, "", bucketRefused(u, place)
	}
	token, err := google{s.opts.Env, s.transport, s.clouds.googleToken}.token(ctx)
	if err != nil {
		return nil, "", unauthorized(u, googleHint, "there are no credentials for the bucket %s: %v", name, err)
	}
	b := &gcsBucket{transport: s.transport, endpoint: s.clouds.gcs, name: name, token: token}
	if isGeneration.MatchString(u.Fragment) {
		b.generation = u.Fragment
	}
	return b, object, nil
}

// get requests an object or, without a name, a list. The caller closes the body.
func (b *gcsBucket) get(ctx context.Context, object string, query url.Values, limit int64) (*url.URL, io.ReadCloser, error) {
	u := *b.endpoint
	u.Path, u.RawPath = "/storage/v1/b/"+b.name+"/o", "/storage/v1/b/"+url.PathEscape(b.name)+"/o"
	if object != "" {
		u.Path, u.RawPath = u.Path+"/"+object, u.RawPath+"/"+url.PathEscape(object)
	}
	u.RawQuery = query.Encode()
	resp, body, err := b.transport.Stream(ctx, transport.Request{URL: &u, Token: b.token, Limit: limit})
	if err != nil {
		return nil, nil, err
	}
	if resp.Status != http.StatusOK {
		body.Close()
		return nil, nil, statusError(&u, resp.Status, "give relock credentials that may read the bucket")
	}
	return &u, body, nil
}

// list implements bucket.
func (b *gcsBucket) list(ctx context.Context, prefix, from string) (names []string, next string, err error) {
	query := url.Values{"prefix": {prefix}, "fields": {"items(name),nextPageToken"}}
	if from != "" {
		query.Set("pageToken", from)
	}
	u, body, err := b.get(ctx, "", query, maxStorePage)
	if err != nil {
		return nil, "", err
	}
	defer body.Close()
	var answer struct {
		Items []struct {
			Name string `json:"name"`
		} `json:"items"`
		Next string `json:"nextPageToken"`
	}
	if err := json.NewDecoder(transport.LimitParts(body, maxPageParts)).Decode(&answer); err != nil {
		return nil, "", answerError(u, err)
	}
	for _, item := range answer.Items {
		names = append(names, item.Name)
	}
	return names, answer.Next, nil
}

// open implements bucket.
func (b *gcsBucket) open(ctx context.Context, name string) (io.ReadCloser, error) {
	query := url.Values{"alt": {"media"}}
	if b.generation != "" {
		query.Set("generation", b.generation)
	}
	_, body, err := b.get(ctx, name, query, maxArchive)
	return body, err
}
