package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/content"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// Content says what is wrong with what a package holds, and with what its publisher
// says of it. It needs Options.Content. A package that this run has not downloaded is,
// if it has at most limit bytes. Errors are those of Hashes.
func (c *Client) Content(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (provider.Content, error) {
	d := c.held(tool, want)
	if d == nil {
		return provider.Content{}, nil
	}
	p, err := d.ask(ctx, tool, want)
	if err != nil {
		return provider.Content{}, about(d.unserved(ctx, tool, want, err), want, d.host(want.Addr))
	}
	l := d.link(p)
	l.size, l.limit = limit, limit
	known, there := c.fetch.contents.Load(p.zh)
	var said provider.Content
	if !there {
		sum, err := c.fetch.download(ctx, l)
		// What nobody can unpack was looked into all the same.
		if known, there = c.fetch.contents.Load(p.zh); !there {
			return said, about(failed(want, subject(want), err), want, d.host(want.Addr))
		}
		if said.Size = sum.Size; err != nil {
			said.Size = limit // nobody knows what was read of it
		}
	}
	said.Problems = known.(content.Inside).Problems(want.Addr.Type, want.Platform)
	if problem := d.protocolProblem(ctx, want, p); problem != "" {
		said.Problems = append(said.Problems, problem)
	}
	return said, nil
}

// maxReleaseManifest bounds the manifest of a release, which has some hundred bytes.
const maxReleaseManifest = 64 << 10

// protocolProblem holds the plugin protocols that the registry announces against those
// of the manifest that the checksum list names [protocol: publishing providers]. It
// stands beside the list, where releases are published as files; elsewhere nothing is
// known.
func (d *direct) protocolProblem(ctx context.Context, want provider.Want, p provenPackage) string {
	name := fmt.Sprintf("terraform-provider-%s_%s_manifest.json", want.Addr.Type, want.Version)
	zh, listed := lineHash(p.sums.line(name))
	if !listed || len(p.protocols) == 0 {
		return ""
	}
	src, err := d.file(ctx, p.list.ResolveReference(&url.URL{Path: name}), p.from, maxReleaseManifest)
	if err != nil {
		d.fetch.opts.Log.Debug("the manifest of a release is not beside its list", "provider", want.Addr, "version", want.Version, "error", err)
		return ""
	}
	digest := sha256.Sum256(src)
	if provider.ZH(hex.EncodeToString(digest[:])) != zh {
		return "the manifest of the release is not the one that the checksum list names"
	}
	var manifest struct {
		Metadata struct {
			Protocols []string `json:"protocol_versions"`
		}
	}
	if err := transport.DecodeJSON(src, &manifest); err != nil {
		return "the manifest of the release cannot be read: " + err.Error()
	}
	announced, said := slices.Sorted(slices.Values(p.protocols)), slices.Sorted(slices.Values(manifest.Metadata.Protocols))
	if slices.Equal(slices.Compact(announced), slices.Compact(said)) {
		return ""
	}
	return fmt.Sprintf("the registry announces plugin protocol %q, and the manifest of the release says %q", strings.Join(announced, ", "), strings.Join(said, ", "))
}
