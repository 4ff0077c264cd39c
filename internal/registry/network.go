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
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// maxMirrorRedirects is the tools' own limit [terraform 1.11 internal/getproviders/http_mirror_source.go].
const maxMirrorRedirects = 5

// network is a server that mirrors providers [protocol: provider network mirror].
//
// It may name hashes of its packages. They prove only that the mirror serves the packages
// that it names. So each package must match one of them, and only computed hashes are
// recorded.
type network struct {
	fetch    *fetcher
	answers  *answers
	config   *cliconfig.Config
	base     *url.URL
	retries  int  // of downloads, as in cliconfig.Limits
	trustAll bool // TrustAllHashes of the method
}

// mirrorArchives is a mirror's answer about one version.
type mirrorArchives struct {
	from     *url.URL // the URL of the answer: other URLs are relative to it
	Archives map[string]*struct {
		URL    string   `json:"url"`
		Hashes []string `json:"hashes"`
	} `json:"archives"`
}

// host is the host of the mirror's URL in the form of credentials: with the port, and in
// ASCII.
func (n network) host(provider.Addr) svchost.Hostname { return transport.Hostname(n.base) }

func (n network) name(provider.Addr) string { return "network mirror " + transport.Redact(n.base) }

// releases lists the versions. This document of the mirror has no platforms.
func (n network) releases(ctx context.Context, tool provider.Tool, addr provider.Addr) ([]provider.Release, error) {
	list, err := once(ctx, &n.answers.listed, n.place, placeQuery{want: provider.Want{Addr: addr}}, func(q placeQuery) (versionList, error) {
		var answer struct {
			Versions map[string]struct{} `json:"versions"`
		}
		_, err := n.get(ctx, tool, q, mirrorDocument{"index.json", &answer, &problem.Error{
			Problem: problem.Problem{
				Code: problem.CodeUnknownProvider, Subject: problem.Subject{Addr: addr},
				Message: fmt.Sprintf("provider %s was not found in the %s", addr, n.name(addr)),
				Hint:    "add it to the mirror, or allow another installation method in the CLI configuration",
			},
		}})
		return mirrorVersions(slices.Collect(maps.Keys(answer.Versions))), err
	})
	if err != nil {
		return nil, err
	}
	return list.releases()
}

// find asks for the archives of the version and selects the one for the platform.
func (n network) find(ctx context.Context, tool provider.Tool, want provider.Want) (*mirrorArchives, archiveLink, error) {
	release := placeQuery{want: provider.Want{Addr: want.Addr, Version: want.Version}}
	all, err := once(ctx, &n.answers.archives, n.place, release, func(q placeQuery) (all *mirrorArchives, err error) {
		all = &mirrorArchives{}
		all.from, err = n.get(ctx, tool, q, mirrorDocument{want.Version.String() + ".json", all, &problem.Error{
			Problem: problem.Problem{
				Code: problem.CodeBadAnswer, Subject: problem.Subject{Addr: want.Addr, Version: want.Version, Versioned: true},
				Message: fmt.Sprintf("%s: it has no archives of %s %s", n.name(want.Addr), want.Addr, want.Version),
				Hint:    "add the version to the mirror, or exclude the provider from the mirror in the CLI configuration",
			},
		}})
		return all, err
	})
	if err != nil {
		return nil, archiveLink{}, err
	}
	zip, err := n.link(all, want)
	return all, zip, err
}

func (n network) size(ctx context.Context, tool provider.Tool, want provider.Want) (int64, error) {
	_, zip, err := n.find(ctx, tool, want)
	if err != nil {
		return 0, err
	}
	if _, had := n.fetch.had.Load(zip.reference()); had {
		return provider.AtHand, nil
	}
	return n.fetch.size(ctx, zip.url, zip.from), nil
}

func (n network) hashes(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (provider.Hashes, error) {
	all, zip, err := n.find(ctx, tool, want)
	if err != nil {
		return provider.Hashes{}, err
	}
	named, err := n.named(all, want.Platform, n.trustAll && tool.Has(provider.TrustedMirrors))
	if err != nil {
		return provider.Hashes{}, err
	}
	zip.limit = limit
	zip.fits = func(sum provider.Sum) bool {
		_, err := n.verify(sum, named)
		return err == nil
	}
	hashed, err := n.fetch.archive(ctx, zip)
	if err != nil {
		return provider.Hashes{}, failed(want, subject(want), err)
	}
	verified, err := n.verify(hashed.Sum, named)
	if err != nil {
		return provider.Hashes{}, err
	}
	h, err := hashesOf(hashed, want)
	if err != nil {
		return provider.Hashes{}, err
	}
	h.Mirror = n.name(want.Addr)
	for _, h := range named[want.Platform] {
		if slices.Contains(verified, h) {
			continue
		}
		// The hash is not recorded, but it shows that the mirror has a fault.
		if _, told := n.answers.warned.LoadOrStore(want, true); !told {
			n.fetch.opts.Log.Warn("the mirror names a hash that its package does not have",
				"mirror", n.name(want.Addr), "provider", want.Addr, "version", want.Version, "platform", want.Platform, "hash", h)
		}
	}
	if tool.Has(provider.VerifiedHashes) {
		h.Verified = verified
	}
	if n.trustAll && trustsUnsigned(tool, want.Addr, n.fetch.opts) && tool.Has(provider.TrustedMirrors) && len(verified) > 0 {
		h.Reported = named
	}
	return h, nil
}

// place is the mirror, with the token of its host.
func (n network) place(ctx context.Context, q placeQuery) (_ placeQuery, err error) {
	q.service = "network mirror " + n.base.String() // the same URL may be a registry's
	q.token, err = n.config.Token(ctx, n.host(q.want.Addr))
	return q, err
}

// mirrorDocument is one of the mirror's two kinds of documents: the value to read it into,
// and the error if it is missing.
type mirrorDocument struct {
	name    string
	into    any
	missing *problem.Error
}

// get asks for a document and returns the URL of the answer.
func (n network) get(ctx context.Context, tool provider.Tool, q placeQuery, d mirrorDocument) (from *url.URL, err error) {
	addr, limits := q.want.Addr, n.config.Limits()
	ref := &url.URL{Path: path.Join(addr.Host.String(), addr.Namespace, addr.Type, d.name)}
	about, attempt := provider.Want{Addr: addr}, "could not query "+n.name(addr)+" for "+addr.String()
	resp, err := n.fetch.transport.Do(ctx, transport.Request{
		URL:          n.base.ResolveReference(ref),
		Header:       http.Header{"X-Terraform-Version": {tool.Version.String()}},
		Token:        q.token,
		Limit:        maxMetadata,
		MaxRedirects: maxMirrorRedirects,
		Retries:      limits.Retries,
		Timeout:      limits.Timeout,
	})
	if err := q.refused(resp, err, attempt, n.host(addr)); err != nil {
		return nil, err
	}
	if resp.Status == http.StatusNotFound {
		return nil, d.missing
	}
	if media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, failed(about, attempt, n.badAnswer("its content type is not application/json"))
	}
	if err := transport.DecodeJSON(resp.Body, d.into); err != nil {
		if q.want.Version.IsZero() {
			return nil, naming(q.want, n.badAnswer("the versions of %s are not valid: %v", addr, err))
		}
		return nil, naming(q.want, n.badAnswer("the archives of %s %s are not valid: %v", addr, q.want.Version, err))
	}
	return resp.URL, nil
}

func (n network) badAnswer(format string, args ...any) *problem.Error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeBadAnswer, Message: n.name(provider.Addr{}) + ": " + fmt.Sprintf(format, args...)}}
}

// link selects the archive for the platform.
func (n network) link(all *mirrorArchives, want provider.Want) (archiveLink, error) {
	a, ok := all.Archives[want.Platform.String()]
	if !ok {
		return archiveLink{}, noPackage(want)
	}
	if a == nil || a.URL == "" {
		return archiveLink{}, n.badAnswer("the archive for %s has no URL", want.Platform)
	}
	u, err := all.from.Parse(a.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return archiveLink{}, n.badAnswer("the archive for %s has no valid URL", want.Platform)
	}
	return archiveLink{url: u, from: all.from, name: path.Base(u.Path), retries: n.retries}, nil
}

// named returns the hashes that the package may match, by platform: those for its own
// platform or, with others, for all of them. A hash without a scheme makes the answer
// invalid. If all hashes have unknown schemes, the package is unusable.
func (n network) named(all *mirrorArchives, platform provider.Platform, others bool) (map[provider.Platform][]provider.Hash, error) {
	named := map[provider.Platform][]provider.Hash{}
	unknown := false
	for _, key := range slices.Sorted(maps.Keys(all.Archives)) {
		p, err := provider.ParsePlatform(key)
		a := all.Archives[key]
		if err != nil || a == nil || p != platform && !others {
			continue
		}
		for _, text := range a.Hashes {
			h, err := provider.ParseHash(text)
			if err != nil {
				return nil, n.badAnswer("an archive has the hash %q, which is none", text)
			}
			if h.Known() {
				named[p] = append(named[p], h)
			} else {
				unknown = true
			}
		}
	}
	if unknown && len(named) == 0 {
		return nil, badChecksum("%s names no hash of a scheme that is known", n.name(provider.Addr{}))
	}
	return named, nil
}

// verify returns the named hashes that the package has. It must have one, as in the tools,
// unless none is named [terraform 1.11 internal/getproviders/package_authentication.go].
func (n network) verify(sum provider.Sum, named map[provider.Platform][]provider.Hash) ([]provider.Hash, error) {
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
