package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"sync"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// service is the name of the provider registry protocol in service discovery.
const service = "providers.v1"

// The limits on answers. The tools have none. Each limit is far above the largest known
// answer. A list of versions has about a megabyte. A description of a version has as much,
// with the documentation of the largest provider.
const (
	maxVersions  = 8 << 20
	maxDetail    = 8 << 20
	maxMetadata  = 4 << 20
	maxList      = 256 << 10
	maxSignature = 64 << 10
	// The manifest of a release has some hundred bytes.
	maxReleaseManifest = 64 << 10
)

// direct is the registry of each provider's own host.
type direct struct {
	fetch     *fetcher
	answers   *answers
	config    *cliconfig.Config
	discovery *cliconfig.Discovery
	stated    *reportedHashes // nil if no reported hashes are accepted
	retries   int             // of downloads, as in cliconfig.Limits
}

// signerQuery asks who signed a checksum list. Usually all packages of a release share the
// answer, which takes time for every key.
type signerQuery struct {
	release         provider.Want
	tool            provider.ToolName
	list, signature reference
	keys            [sha256.Size]byte // a digest
}

// provenPackage is a registry's answer about a package, verified as far as possible without
// the package itself.
type provenPackage struct {
	*description // without the archive's address if its hashes are known
	reported     reports
	sums         checksums
	signer       provider.Signer
}

func (d *direct) host(addr provider.Addr) svchost.Hostname { return addr.Host }
func (d *direct) name(addr provider.Addr) string           { return "registry " + addr.Host.ForDisplay() }

func (d *direct) releases(ctx context.Context, tool provider.Tool, addr provider.Addr) ([]provider.Release, error) {
	list, err := d.versions(ctx, tool, addr)
	if err != nil {
		return nil, err
	}
	releases, invalid := list.releases()
	if invalid != nil && !tool.Has(provider.LenientVersions) {
		return nil, invalid
	}
	return releases, nil
}

func (d *direct) versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (versionList, error) {
	all := placeQuery{want: provider.Want{Addr: addr}}
	return once(ctx, &d.answers.listed, d.place, all, func(q placeQuery) (list versionList, err error) {
		resp, err := d.get(ctx, tool, q, maxVersions, addr.Namespace, addr.Type, "versions")
		if err := q.refused(resp, err, "could not query provider registry for "+q.want.Addr.String(), q.want.Addr.Host); err != nil {
			return list, err
		}
		if resp.Status == http.StatusNotFound {
			return list, &problem.Error{
				Problem: problem.Problem{
					Code: problem.CodeUnknownProvider, Subject: problem.Subject{Addr: addr},
					Message: fmt.Sprintf("provider registry %s does not have a provider named %s", addr.Host.ForDisplay(), addr),
					Hint:    d.advise(ctx, tool, q),
				},
			}
		}
		if err := transport.DecodeJSON(resp.Body, &list); err != nil {
			return list, naming(q.want, badAnswer("for the versions of %s is not valid: %v", addr, err))
		}
		list.releases = sync.OnceValues(list.read)
		return list, nil
	})
}

// describe asks the registry about the package and checks the answer.
func (d *direct) describe(ctx context.Context, tool provider.Tool, want provider.Want) (*description, reports, error) {
	about, err := d.description(ctx, tool, want)
	if err != nil {
		return nil, nil, err
	}
	if err := about.checkProtocol(tool, want); err != nil {
		return nil, nil, d.suggest(ctx, tool, want.Addr, err)
	}
	if !tool.Has(provider.RegistryHashes) {
		return about, nil, nil
	}
	reported, err := about.reports()
	if err != nil || len(reported) == 0 {
		return about, nil, err
	}
	return about, reported, reported.check(want.Platform, about.zh)
}

// description asks the registry about the package. The answer does not depend on the tool.
func (d *direct) description(ctx context.Context, tool provider.Tool, want provider.Want) (*description, error) {
	return once(ctx, &d.answers.described, d.place, placeQuery{want: want}, func(q placeQuery) (*description, error) {
		addr := want.Addr
		resp, err := d.get(ctx, tool, q, maxMetadata,
			addr.Namespace, addr.Type, want.Version.String(), "download", want.Platform.OS, want.Platform.Arch)
		if err == nil && resp.Status == http.StatusGone { // gone forever
			return nil, unavailable(want, errGone)
		}
		if err := q.refused(resp, err, "could not query provider registry for "+q.want.Addr.String(), q.want.Addr.Host); err != nil {
			return nil, err
		}
		if resp.Status == http.StatusNotFound {
			return nil, noPackage(want)
		}
		return parseDescription(resp.Body, resp.URL, want)
	})
}

// prove asks about the package itself. It verifies the checksum list of its release and the
// list's signature.
func (d *direct) prove(ctx context.Context, tool provider.Tool, want provider.Want) (provenPackage, error) {
	about, reported, err := d.describe(ctx, tool, want)
	if err != nil {
		return provenPackage{}, err
	}
	p, release := provenPackage{description: about, reported: reported}, provider.Want{Addr: want.Addr, Version: want.Version}
	var signature []byte
	var unsigned error
	var both sync.WaitGroup
	both.Go(func() { signature, unsigned = d.file(ctx, about.signature, about.from, maxSignature) })
	p.sums, err = d.file(ctx, about.list, about.from, maxList)
	both.Wait()
	if err != nil {
		return provenPackage{}, failed(release, fmt.Sprintf("checksum list of %s %s", want.Addr, want.Version), err)
	}
	if unsigned != nil {
		return provenPackage{}, failed(release, fmt.Sprintf("signature of %s %s", want.Addr, want.Version), unsigned)
	}
	if err := p.sums.check(about.filename, about.zh); err != nil {
		return provenPackage{}, err
	}
	list, sign := referenceTo(about.list, about.from), referenceTo(about.signature, about.from)
	q := signerQuery{release, tool.Name, list, sign, digestOfKeys(about.keys)}
	p.signer, err = d.answers.signers.Do(ctx, q, func() (provider.Signer, error) {
		return d.signer(tool, release, signed{list: p.sums, signature: signature, keys: about.keys})
	})
	return p, err
}

// signer verifies the checksum list of a release by the tool's rules.
func (d *direct) signer(tool provider.Tool, release provider.Want, s signed) (provider.Signer, error) {
	if err := checkKeys(s.keys); err != nil {
		return provider.Signer{}, err
	}
	switch {
	case tool.Name == provider.Terraform:
		return s.byTerraform(d.answers.trust())
	case len(s.keys) == 0 && trustsUnsigned(tool, release.Addr, d.fetch.opts):
		return provider.Signer{Label: labelUnsigned}, nil
	}
	signer, err := s.byOpenTofu(d.fetch.opts.EnforceExpiration)
	if signer.Expired {
		d.warnExpired(release, signer)
	}
	return signer, err
}

// warnExpired warns once about a release whose signature is valid but expired.
func (d *direct) warnExpired(release provider.Want, signer provider.Signer) {
	if _, warned := d.answers.warned.LoadOrStore(release, true); warned {
		return
	}
	message := "the signing key has expired, which a future version of OpenTofu will refuse"
	if signer.Ahead {
		message = "the signature is from the future by the clock of this machine, which a future version of OpenTofu will refuse"
	}
	d.fetch.opts.Log.Warn(message, "provider", release.Addr, "version", release.Version, "key", signer.KeyID)
}

func (d *direct) hashes(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (provider.Hashes, error) {
	p, err := d.proveShort(ctx, tool, want)
	if err != nil {
		return provider.Hashes{}, d.unserved(ctx, tool, want, err)
	}
	h, stated := d.stated.hashes(ctx, want, p)
	if !stated {
		hashed, err := d.fetch.archive(ctx, d.link(p, p.reported[want.Platform].size, limit))
		if err != nil {
			return provider.Hashes{}, failed(want, subject(want), err)
		}
		h, err = hashesOf(hashed, want)
		if err != nil {
			return provider.Hashes{}, err
		}
	}
	h.Listed, h.Signer = p.sums.recorded(p.zh), p.signer
	if tool.Has(provider.VerifiedHashes) {
		h.Verified = []provider.Hash{p.zh}
	}
	if len(p.reported) == 0 {
		return h, nil
	}
	if size := p.reported[want.Platform].size; size != h.Sum.Size && !stated {
		return provider.Hashes{}, badChecksum("registry reports a package of size %d for %s, and the package has size %d", size, want.Platform, h.Sum.Size)
	}
	if trustsUnsigned(tool, want.Addr, d.fetch.opts) {
		h.Reported, err = p.reported.recorded(p.sums, h)
	}
	return h, err
}

// size asks the package's server if the registry does not say the size. Some stores do not
// answer HEAD at addresses that are signed for GET.
func (d *direct) size(ctx context.Context, tool provider.Tool, want provider.Want) (int64, error) {
	p, reported, err := d.describe(ctx, tool, want)
	if err != nil {
		return 0, d.unserved(ctx, tool, want, err)
	}
	if size := reported[want.Platform].size; size > 0 {
		return size, nil
	}
	return d.fetch.size(ctx, p.archive, p.from), nil
}

// listed makes a listing of a proven package.
func (d *direct) listed(ctx context.Context, tool provider.Tool, addr provider.Addr, p provenPackage) provider.Listing {
	l := provider.Listing{Signer: p.signer}
	for line := range bytes.Lines(p.sums) {
		fields := bytes.Fields(line)
		zh, ok := lineHash(fields)
		if !ok {
			continue
		}
		f := provider.ListedFile{Name: string(fields[1]), Sum: provider.Sum{ZH: zh}}
		if f.Name == p.filename {
			f.Platform = p.platform
		} else {
			f.Platform = platformOf(f.Name)
		}
		if hashed, err := d.fetch.known(ctx, zh); err == nil {
			f.Sum = hashed.Sum
			_, f.Fresh = d.fetch.fresh.Load(zh)
		}
		l.Reported = append(l.Reported, d.stated.before(zh, p.signer)...)
		l.Files = append(l.Files, f)
	}
	if trustsUnsigned(tool, addr, d.fetch.opts) {
		l.Reported = append(l.Reported, p.reported.contents(p.sums)...)
	}
	return l
}

// link is where the archive of a package is.
func (d *direct) link(p provenPackage, size, limit int64) archiveLink {
	return archiveLink{url: p.archive, from: p.from, name: p.filename, zh: p.zh, retries: d.retries, size: size, limit: limit}
}

// unserved decides what the 404 of a package means. A server that has lost a document, or
// cannot reach it, also answers 404. Only the list of versions says that a release does not
// serve a platform or, if it lists no platforms, the signed checksum list. Then the result
// is missing. If they list the platform, the registry contradicts itself. A version that is
// no longer listed may still be served: it is gone if no package is there. Any other error
// is returned unchanged.
func (d *direct) unserved(ctx context.Context, tool provider.Tool, want provider.Want, missing error) error {
	if !problem.Coded(missing, problem.CodeNoPackage) {
		return missing
	}
	withheld := func(why string) error {
		return naming(want, &problem.Error{
			Problem: problem.Problem{
				Code:    problem.CodeBadAnswer,
				Message: "the registry answers 404 for the " + subject(want) + ", and " + why,
				Hint:    "report it to the provider's publisher, or name the platforms to lock without this one",
			},
		})
	}
	versions, err := d.versions(ctx, tool, want.Addr)
	if err != nil {
		return err
	}
	served, listed := versions.platforms(want.Version)
	switch {
	case slices.Contains(served, want.Platform):
		return withheld("its list of versions names that platform")
	case len(served) > 0:
		return missing
	}
	list, gone := d.listBeside(ctx, tool, want)
	switch {
	case list.line(archiveName(want, want.Platform)) != nil:
		return withheld("the checksum list of the release names it")
	case list != nil || gone && !listed:
		return missing
	}
	return withheld("nothing says whether there is one")
}

// listBeside returns the checksum list of the first default platform whose package can be
// proven, or nil. gone says that the answer for each of them was a 404.
func (d *direct) listBeside(ctx context.Context, tool provider.Tool, want provider.Want) (list checksums, gone bool) {
	gone = true
	for _, p := range provider.DefaultPlatforms {
		other := want
		other.Platform = p
		sibling, err := d.prove(ctx, tool, other)
		if err == nil && sibling.filename == archiveName(want, p) {
			return sibling.sums, false
		}
		gone = gone && problem.Coded(err, problem.CodeNoPackage)
	}
	return nil, gone
}

// suggest adds the newest release that the tool can run to an error about protocols, as the
// tools do. Neither the tools nor relock select that release instead [terraform 1.11
// internal/getproviders/registry_client.go].
func (d *direct) suggest(ctx context.Context, tool provider.Tool, addr provider.Addr, err error) error {
	releases, listErr := d.releases(ctx, tool, addr)
	e, ok := err.(*problem.Error)
	if listErr != nil || !ok {
		return err
	}
	for _, r := range releases {
		if spoken(r.Protocols) {
			e.Problem.Hint = fmt.Sprintf("add a version constraint that selects %s, the newest release that %s can run", r.Version, tool)
		}
	}
	return e
}

// manifest is the manifest of a release, and its zh in the checksum list [protocol:
// publishing providers]. Releases that are published as files have it next to the list. For
// other releases there is no manifest and no zh.
func (d *direct) manifest(ctx context.Context, want provider.Want, p provenPackage) ([]byte, provider.Hash) {
	name := fmt.Sprintf("terraform-provider-%s_%s_manifest.json", want.Addr.Type, want.Version)
	zh, listed := lineHash(p.sums.line(name))
	if !listed || len(p.protocols) == 0 {
		return nil, ""
	}
	src, err := d.file(ctx, p.list.ResolveReference(&url.URL{Path: name}), p.from, maxReleaseManifest)
	if err != nil {
		d.fetch.opts.Log.Debug("the manifest of a release is not beside its list", "provider", want.Addr, "version", want.Version, "error", err)
		return nil, ""
	}
	return src, zh
}

// detail asks for facts that are no part of the protocol. So any unknown answer means that
// there are none, unless the server is in trouble: then another day may bring an answer.
func (d *direct) detail(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Repository, error) {
	release := placeQuery{want: provider.Want{Addr: want.Addr, Version: want.Version}}
	return once(ctx, &d.answers.details, d.place, release, func(q placeQuery) (provider.Repository, error) {
		resp, err := d.get(ctx, tool, q, maxDetail, want.Addr.Namespace, want.Addr.Type, want.Version.String())
		if err != nil {
			return provider.Repository{}, err
		}
		if inTrouble(resp.Status) {
			return provider.Repository{}, naming(q.want, statusError(fmt.Sprintf("asking when %s %s was published", want.Addr, want.Version), resp.URL, resp.Status))
		}
		if resp.Status != http.StatusOK {
			return provider.Repository{}, nil
		}
		return parseDetail(resp.Body), nil
	})
}

// advise is the hint about a provider that its registry does not have. A name without a
// namespace is taken as one of HashiCorp's, although most providers are not. A default
// registry knows which provider such a name meant in configurations of Terraform 0.12,
// before namespaces. As in the tools, this is only a hint: relock never locks that provider
// [terraform 1.11 internal/getproviders/didyoumean.go].
func (d *direct) advise(ctx context.Context, tool provider.Tool, q placeQuery) string {
	addr := q.want.Addr
	if addr.Namespace != "hashicorp" || addr.Host != provider.Terraform.DefaultHost() && addr.Host != provider.OpenTofu.DefaultHost() {
		return unknownHint(addr)
	}
	resp, err := d.get(ctx, tool, q, maxVersions, "-", addr.Type, "versions")
	var list struct {
		ID      string `json:"id"`       // NAMESPACE/TYPE
		MovedTo string `json:"moved_to"` // NAMESPACE/TYPE
	}
	if err != nil || resp.Status != http.StatusOK || transport.DecodeJSON(resp.Body, &list) != nil {
		return unknownHint(addr)
	}
	for _, name := range []string{list.MovedTo, list.ID} {
		// The registry chose the name: repeat it only if it is a valid address.
		meant, err := provider.ParseAddr(name, tool.Name)
		if err == nil && meant.Lockable() && meant.Namespace != addr.Namespace {
			return fmt.Sprintf("did you mean %s/%s? write it as the source of %q in required_providers", meant.Namespace, meant.Type, addr.Type)
		}
	}
	return unknownHint(addr)
}

// place finds the registry of the provider.
func (d *direct) place(ctx context.Context, q placeQuery) (placeQuery, error) {
	q.want.Origin = false // its questions are the same
	base, err := d.discovery.Service(ctx, q.want.Addr.Host, service)
	if err != nil {
		return q, err
	}
	q.service = base.String()
	q.token, err = d.config.Token(ctx, q.want.Addr.Host)
	return q, err
}

// get sends a request with the headers of the tools [terraform 1.11
// internal/getproviders/registry_client.go]. The path is relative to the service's URL
// according to RFC 3986. If that URL does not end in a slash, its last segment is replaced.
func (d *direct) get(ctx context.Context, tool provider.Tool, q placeQuery, limit int64, segments ...string) (*transport.Response, error) {
	base, err := url.Parse(q.service)
	if err != nil {
		return nil, err
	}
	limits := d.config.Limits()
	return d.fetch.transport.Do(ctx, transport.Request{
		URL:     base.ResolveReference(&url.URL{Path: path.Join(segments...)}),
		Header:  http.Header{"X-Terraform-Version": {tool.Version.String()}},
		Token:   q.token,
		Limit:   limit,
		Retries: limits.Retries,
		Timeout: limits.Timeout,
	})
}

// file fetches a checksum list or a signature, without the token: they may be on any host.
func (d *direct) file(ctx context.Context, u, referrer *url.URL, limit int64) ([]byte, error) {
	return d.answers.files.Do(ctx, referenceTo(u, referrer), func() ([]byte, error) {
		limits := d.config.Limits()
		resp, err := d.fetch.transport.Do(ctx, transport.Request{
			URL: u, Referrer: referrer, Limit: limit, Retries: limits.Retries, Timeout: limits.Timeout,
		})
		if err != nil {
			return nil, err
		}
		if resp.Status != http.StatusOK {
			err := statusError("requesting "+transport.Redact(u), resp.URL, resp.Status)
			if resp.Status == http.StatusNotFound || resp.Status == http.StatusGone {
				err.Finding = problem.CodeListGone
			}
			return nil, err
		}
		return resp.Body, nil
	})
}
