package registry

import (
	"context"
	"net/http"
	"time"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// Modified returns when the server of a package says that the package was last
// changed: for want of anything better, the day of its release. It is zero if
// the server does not say, or if there is no registry to ask.
//
// Errors are those of Hashes.
func (c *Client) Modified(ctx context.Context, tool provider.Tool, want provider.Want) (time.Time, error) {
	d, ok, err := c.registry(tool, want)
	switch {
	case err != nil:
		return time.Time{}, about(err, want, "")
	case !ok:
		return time.Time{}, nil
	}
	m, _, err := d.describe(ctx, tool, want)
	if err != nil {
		return time.Time{}, about(err, want, d.host(want.Addr))
	}
	resp, err := c.transport.Do(ctx, transport.Request{Method: http.MethodHead, URL: m.archive, Referrer: m.from, Limit: hash.MaxSize})
	if err != nil {
		return time.Time{}, about(err, want, d.host(want.Addr))
	}
	at, err := http.ParseTime(resp.Header.Get("Last-Modified"))
	if resp.Status != http.StatusOK || err != nil {
		return time.Time{}, nil
	}
	return at, nil
}
