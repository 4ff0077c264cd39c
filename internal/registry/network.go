package registry

import (
	"context"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// maxMirrorRedirects is the tools' own limit.
const maxMirrorRedirects = 5

// network is a server of the provider mirror protocol:
// https://developer.hashicorp.com/terraform/internals/provider-network-mirror-protocol
//
// It may name hashes of its packages. They prove nothing but that the mirror
// serves what it says, so each package must match one of them, and what is
// recorded is what was computed.
type network struct {
	*core
	config    *cliconfig.Config
	base      *url.URL
	downloads int // retries, as in cliconfig.Limits
	trustAll  bool
}

func newNetwork(c *core, config *cliconfig.Config, m cliconfig.Method) network {
	return network{core: c, config: config, base: m.URL, downloads: m.Downloads, trustAll: m.TrustAllHashes}
}

// host is that of the mirror's URL, as credentials are set for it: with the
// port, and in ASCII.
func (n network) host(provider.Addr) svchost.Hostname {
	host, err := svchost.ForComparison(svchost.ForDisplay(n.base.Host))
	if err != nil {
		return ""
	}
	return host
}

func (n network) name(provider.Addr) string { return "network mirror " + transport.Redact(n.base) }

// question is one to the mirror, with the token of its host.
func (n network) question(ctx context.Context, want provider.Want) (question, error) {
	token, err := n.config.Token(ctx, n.host(want.Addr))
	return question{n.base.String(), token, want}, err
}

// get asks for one of the mirror's two kinds of documents. An answer with
// another status than 200 has no body.
func (n network) get(ctx context.Context, tool provider.Tool, q question, document string) (*transport.Response, error) {
	addr, limits := q.want.Addr, n.config.Limits()
	ref := &url.URL{Path: path.Join(addr.Host.String(), addr.Namespace, addr.Type, document)}
	attempt := "could not query " + n.name(addr) + " for " + addr.String()
	resp, err := n.transport.Do(ctx, transport.Request{
		URL:          n.base.ResolveReference(ref),
		Header:       http.Header{"X-Terraform-Version": {tool.Version.String()}},
		Token:        q.token,
		Limit:        maxMetadata,
		MaxRedirects: maxMirrorRedirects,
		Retries:      limits.Retries,
		Timeout:      limits.Timeout,
	})
	if err != nil {
		return nil, failed(attempt, err)
	}
	switch resp.Status {
	case http.StatusNotFound:
		return resp, nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, cliconfig.Unauthorized(n.host(addr), q.token != "")
	case http.StatusOK:
	default:
		return nil, statusError(attempt, resp.Status)
	}
	if media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, failed(attempt, n.badAnswer("its content type is not application/json"))
	}
	return resp, nil
}

func (n network) badAnswer(format string, args ...any) error {
	return &provider.Error{Code: provider.CodeBadAnswer, Message: n.name(provider.Addr{}) + ": " + fmt.Sprintf(format, args...)}
}

// releases lists the versions. The mirror says nothing of platforms here.
func (n network) releases(ctx context.Context, tool provider.Tool, addr provider.Addr) ([]provider.Release, error) {
	q, err := n.question(ctx, provider.Want{Addr: addr})
	if err != nil {
		return nil, err
	}
	versions, err := n.indexes.Do(ctx, q, func() ([]provider.Version, error) { return n.askVersions(ctx, tool, q) })
	if err != nil {
		return nil, err
	}
	releases := make([]provider.Release, len(versions))
	for i, v := range versions {
		releases[i].Version = v
	}
	return releases, nil
}

// askVersions passes over what is no version, with either tool.
func (n network) askVersions(ctx context.Context, tool provider.Tool, q question) ([]provider.Version, error) {
	resp, err := n.get(ctx, tool, q, "index.json")
	if err != nil {
		return nil, err
	}
	if resp.Status == http.StatusNotFound {
		return nil, &provider.Error{
			Code:    provider.CodeUnknownProvider,
			Message: fmt.Sprintf("provider %s was not found in the %s", q.want.Addr, n.name(q.want.Addr)),
			Hint:    "add it to the mirror, or allow another installation method in the CLI configuration",
		}
	}
	var answer struct {
		Versions map[string]struct{} `json:"versions"`
	}
	if err := transport.DecodeJSON(resp.Body, &answer); err != nil {
		return nil, n.badAnswer("the versions of %s are not valid: %v", q.want.Addr, err)
	}
	var versions []provider.Version
	for text := range answer.Versions {
		if v, err := provider.ParseVersion(text); err == nil {
			versions = append(versions, v)
		}
	}
	slices.SortFunc(versions, provider.Version.Compare)
	return slices.Compact(versions), nil
}

// mirrorRelease is what a mirror says of one version.
type mirrorRelease struct {
	from     *url.URL // what was answered: other URLs are relative to it
	archives map[string]*mirrorArchive
}

type mirrorArchive struct {
	URL    string   `json:"url"`
	Hashes []string `json:"hashes"`
}

func (n network) hashes(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Hashes, error) {
	q, err := n.question(ctx, provider.Want{Addr: want.Addr, Version: want.Version})
	if err != nil {
		return provider.Hashes{}, err
	}
	r, err := n.mirrored.Do(ctx, q, func() (*mirrorRelease, error) { return n.askRelease(ctx, tool, q) })
	if err != nil {
		return provider.Hashes{}, err
	}
	zip, err := n.link(r, want)
	if err != nil {
		return provider.Hashes{}, err
	}
	named, err := n.named(r, want.Platform, n.trustAll && tool.Has(provider.TrustedMirrors))
	if err != nil {
		return provider.Hashes{}, err
	}
	sum, err := n.fetch.archive(ctx, zip)
	if err != nil {
		return provider.Hashes{}, failed(subject(want), err)
	}
	verified, err := n.verify(sum, named)
	if err == nil {
		err = checkProgram(sum, want)
	}
	if err != nil {
		return provider.Hashes{}, err
	}
	n.warn(want, named[want.Platform], verified)
	h := provider.Hashes{
		Package: provider.Package{Platform: want.Platform, Filename: zip.name, ZH: sum.ZH, Size: sum.Size},
		H1:      sum.H1,
		H1Zip:   sum.H1Zip,
		Mirror:  n.name(want.Addr),
	}
	if tool.Has(provider.VerifiedHashes) {
		h.Verified = verified
	}
	if n.trustAll && n.lax(tool, want.Addr) && tool.Has(provider.TrustedMirrors) && len(verified) > 0 {
		h.Reported = named
	}
	return h, nil
}

func (n network) askRelease(ctx context.Context, tool provider.Tool, q question) (*mirrorRelease, error) {
	addr, version := q.want.Addr, q.want.Version
	resp, err := n.get(ctx, tool, q, version.String()+".json")
	if err != nil {
		return nil, err
	}
	if resp.Status == http.StatusNotFound {
		// The tools do not go on to another method here.
		e := n.badAnswer("it has no archives of %s %s", addr, version).(*provider.Error)
		e.Hint = "add the version to the mirror, or exclude the provider from the mirror in the CLI configuration"
		return nil, e
	}
	var answer struct {
		Archives map[string]*mirrorArchive `json:"archives"`
	}
	if err := transport.DecodeJSON(resp.Body, &answer); err != nil {
		return nil, n.badAnswer("the archives of %s %s are not valid: %v", addr, version, err)
	}
	return &mirrorRelease{resp.URL, answer.Archives}, nil
}

// link finds the archive for the platform.
func (n network) link(r *mirrorRelease, want provider.Want) (link, error) {
	a, ok := r.archives[want.Platform.String()]
	if !ok {
		return link{}, noPackage(want)
	}
	if a == nil || a.URL == "" {
		return link{}, n.badAnswer("the archive for %s has no URL", want.Platform)
	}
	u, err := r.from.Parse(a.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return link{}, n.badAnswer("the archive for %s has no valid URL", want.Platform)
	}
	return link{url: u, from: r.from, name: path.Base(u.Path), retries: n.downloads}, nil
}

// named returns the hashes that the package may match, by the platform that the
// mirror names them for: those for its own platform, or all of them. A hash
// without a scheme makes the answer invalid; none of a known scheme, where there
// are any, makes the package unusable.
func (n network) named(r *mirrorRelease, platform provider.Platform, all bool) (map[provider.Platform][]provider.Hash, error) {
	named := map[provider.Platform][]provider.Hash{}
	unknown := false
	for _, key := range slices.Sorted(maps.Keys(r.archives)) {
		p, err := provider.ParsePlatform(key)
		if a := r.archives[key]; err == nil && a != nil && (all || p == platform) {
			for _, text := range a.Hashes {
				h, err := provider.ParseHash(text)
				if err != nil {
					return nil, n.badAnswer("an archive has the hash %q, which is none", text)
				}
				if unknown = unknown || !h.Known(); h.Known() {
					named[p] = append(named[p], h)
				}
			}
		}
	}
	if unknown && len(named) == 0 {
		return nil, badChecksum("%s names no hash of a scheme that is known", n.name(provider.Addr{}))
	}
	return named, nil
}

// verify returns those of the named hashes that the package has. It must have
// one, as with the tools, unless none is named.
func (n network) verify(sum hash.Sum, named map[provider.Platform][]provider.Hash) ([]provider.Hash, error) {
	all := provider.Sorted(slices.Concat(slices.Collect(maps.Values(named))...))
	own := []provider.Hash{sum.H1Zip, sum.ZH}
	verified := slices.DeleteFunc(slices.Clone(all), func(h provider.Hash) bool { return !slices.Contains(own, h) })
	switch {
	case len(verified) > 0 || len(all) == 0:
		return verified, nil
	case len(all) == 1:
		return nil, badChecksum("provider package doesn't match the expected checksum %q of the %s (it has %s)", all[0], n.name(provider.Addr{}), sum.ZH)
	}
	return nil, badChecksum("provider package doesn't match any of the expected checksums of the %s (it has %s)", n.name(provider.Addr{}), sum.ZH)
}

// warn tells of hashes that the mirror names for the package and that it does
// not have. They are not recorded, but something is wrong with the mirror.
func (n network) warn(want provider.Want, named, verified []provider.Hash) {
	for _, h := range named {
		if slices.Contains(verified, h) {
			continue
		}
		if _, said := n.warned.LoadOrStore(want, true); !said {
			n.opts.Log.Warn("the mirror names a hash that its package does not have",
				"mirror", n.name(want.Addr), "provider", want.Addr, "version", want.Version, "platform", want.Platform, "hash", h)
		}
	}
}
