package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// source is one source of providers: a registry or a mirror.
type source interface {
	// releases lists the provider's releases. CodeUnknownProvider means that the source has
	// none, and the next one is asked. Every other error is final.
	releases(ctx context.Context, tool provider.Tool, addr provider.Addr) ([]provider.Release, error)
	// hashes finds, verifies and hashes one package. It downloads at most limit bytes; 0 is
	// no limit. On CodeUnknownProvider and CodeNoPackage the next source is asked.
	hashes(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (provider.Hashes, error)
	// size is how many bytes hashes downloads: provider.AtHand if none, 0 if not known.
	// Errors are those of hashes.
	size(ctx context.Context, tool provider.Tool, want provider.Want) (int64, error)
	// host is the host to name in errors. It is empty for a directory.
	host(addr provider.Addr) svchost.Hostname
	// name says in messages where the provider is searched.
	name(addr provider.Addr) string
}

// placeQuery is a question to a registry or a mirror. Tools that ask the same question in
// the same place with the same credentials share the answer.
type placeQuery struct {
	service string // the URL of the registry, or the name of the mirror
	token   string
	want    provider.Want // version and platform are empty if they do not matter
	tool    provider.Tool // if the answer depends on it
	first   bool          // the package of the release that was asked about first
}

// answers are the answers of all registries and mirrors in a run. A question that does not
// depend on the tool is asked once. So is a question to a mirror in both configurations.
type answers struct {
	listed    memo.Memo[placeQuery, versionList]
	described memo.Memo[placeQuery, *description]    // by package, and by release for its first package
	archives  memo.Memo[placeQuery, *mirrorArchives] // by release
	details   memo.Memo[placeQuery, provider.Repository]
	files     memo.Memo[reference, []byte]
	proven    memo.Memo[placeQuery, provenPackage] // by release and tool
	signers   memo.Memo[signerQuery, provider.Signer]
	trust     func() trust
	warned    sync.Map // releases whose key has expired, and packages of network mirrors
}

// once asks a question unless the answer is known. in adds the place and the token to the
// question.
func once[T any](ctx context.Context, known *memo.Memo[placeQuery, T], in func(context.Context, placeQuery) (placeQuery, error),
	about placeQuery, ask func(placeQuery) (T, error)) (answer T, err error) {
	q, err := in(ctx, about)
	if err != nil {
		return answer, err
	}
	return known.Do(ctx, q, func() (T, error) { return ask(q) })
}

// refused returns an error unless there is an answer or a 404. The meaning of a 404 depends
// on the query. host is the host with the credentials.
func (q placeQuery) refused(resp *transport.Response, err error, attempt string, host svchost.Hostname) error {
	names := provider.Want{Addr: q.want.Addr}
	if err != nil {
		return failed(names, attempt, err)
	}
	switch resp.Status {
	case http.StatusOK, http.StatusNotFound:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return cliconfig.Unauthorized(host, q.token != "")
	}
	return naming(names, statusError(attempt, resp.URL, resp.Status))
}

// installation has the sources of one tool's CLI configuration.
type installation struct {
	origin  *direct
	methods []method
	// implied says that there is no provider_installation block. The sources are then the
	// plugin directories, and the origin for providers that none of them has.
	implied bool
}

type method struct {
	source
	serves func(provider.Addr) bool
}

// plugins is the plugin directory of a root module.
type plugins struct {
	*directoryMirror
	usable bool
}

// sharedAnswers are the values that all sources of a run share.
type sharedAnswers struct {
	fetch   *fetcher
	answers *answers
	stated  *reportedHashes
}

func (s sharedAnswers) installation(config *cliconfig.Config) installation {
	discovery := cliconfig.NewDiscovery(config, s.fetch.transport, s.fetch.opts.Documents)
	registry := func(retries int) *direct {
		return &direct{s.fetch, s.answers, config, discovery, s.stated, retries}
	}
	in := installation{origin: registry(config.Limits().DownloadRetries)}
	var configured []cliconfig.Method
	configured, in.implied = config.Methods()
	for _, m := range configured {
		var from source
		switch m.Kind {
		case cliconfig.Filesystem:
			from = openDirectory(s.fetch, m.Path)
		case cliconfig.Network:
			from = network{fetch: s.fetch, answers: s.answers, config: config, base: m.URL, retries: m.DownloadRetries, trustAll: m.TrustAllHashes}
		case cliconfig.OCI:
			from = &ociMirror{fetch: s.fetch, answers: s.answers, config: config, addressOf: m.Repository}
		default:
			from = registry(m.DownloadRetries)
		}
		in.methods = append(in.methods, method{from, m.Serves})
	}
	return in
}

// sources are the sources to ask about a provider, in order. Without configured methods
// they are the plugin directories, first the root module's own. If no directory has the
// provider in any version, its registry follows.
func (in installation) sources(tool provider.Tool, addr provider.Addr, own *plugins) ([]source, error) {
	var sources []source
	found := false
	if in.implied && own != nil {
		found = own.has(addr)
		if found && !own.usable {
			return nil, &problem.Error{
				Problem: problem.Problem{
					Code: problem.CodeCLIConfig, Subject: problem.Subject{Addr: addr},
					Message: fmt.Sprintf("%s would take %s from %s, and what a repository keeps there is not used on GitHub",
						tool.Name.Title(), addr, own.shown),
					Hint: "name the directory in a filesystem_mirror of the runner's CLI configuration, or remove the provider from it",
				},
			}
		}
		sources = append(sources, own.directoryMirror)
	}
	for _, m := range in.methods {
		directory, isDirectory := m.source.(*directoryMirror)
		switch {
		case in.implied && isDirectory:
			found = found || directory.has(addr)
			sources = append(sources, directory)
		case !in.implied && m.serves(addr):
			sources = append(sources, m.source)
		}
	}
	if in.implied && !found {
		sources = append(sources, in.origin)
	}
	return sources, nil
}

// joinedReleases has the releases of several sources. It is nil until one has answered,
// even with an empty list.
type joinedReleases map[provider.Version]provider.Release

// add adds releases. The earlier source's facts about a version stay, but the platforms are
// joined: each package is taken from the first source that has it. If one of the sources
// lists no platforms, the joined list is open.
func (u *joinedReleases) add(releases ...provider.Release) {
	if *u == nil {
		*u = joinedReleases{}
	}
	for _, r := range releases {
		known, ok := (*u)[r.Version]
		if ok {
			known.Open = known.Open || r.Open || (len(known.Platforms) == 0) != (len(r.Platforms) == 0)
			known.Platforms = sortedPlatforms(append(slices.Clone(known.Platforms), r.Platforms...))
			known.Warnings = append(slices.Clone(known.Warnings), r.Warnings...)
			r = known
		}
		(*u)[r.Version] = r
	}
}

// openBut marks releases as open that only directories list. Call it if other sources are
// asked, too. A directory may have only some packages. Another source may still serve the
// others, although it no longer lists the release.
func (u joinedReleases) openBut(listed joinedReleases) {
	for v, r := range u {
		if _, ok := listed[v]; !ok {
			r.Open = true
			u[v] = r
		}
	}
}

func (u joinedReleases) sorted() []provider.Release {
	return slices.SortedFunc(maps.Values(u), func(a, b provider.Release) int { return a.Version.Compare(b.Version) })
}

// releasesOf makes releases of version strings. It skips invalid ones, as both tools do for
// a mirror [terraform 1.11 internal/getproviders/http_mirror_source.go].
func releasesOf(versions []string) []provider.Release {
	var all joinedReleases
	for _, text := range versions {
		if v, err := provider.ParseVersion(text); err == nil {
			all.add(provider.Release{Version: v})
		}
	}
	return all.sorted()
}

func sortedPlatforms(platforms []provider.Platform) []provider.Platform {
	slices.SortFunc(platforms, provider.Platform.Compare)
	return slices.Compact(platforms)
}

func notInRegistry(sources []source, addr provider.Addr) error {
	if len(sources) == 0 {
		return &problem.Error{
			Problem: problem.Problem{
				Code: problem.CodeUnknownProvider, Subject: problem.Subject{Addr: addr},
				Message: fmt.Sprintf("no installation method of the CLI configuration is for %s", addr),
				Hint:    "check include and exclude in provider_installation",
			},
		}
	}
	names := collect.Mapped(sources, func(s source) string { return s.name(addr) })
	return &problem.Error{
		Problem: problem.Problem{
			Code: problem.CodeUnknownProvider, Subject: problem.Subject{Addr: addr},
			Message: fmt.Sprintf("provider %s was not found in any of the search locations: %s", addr, strings.Join(names, ", ")),
			Hint:    unknownHint(addr),
		},
	}
}

// unknownHint names the usual mistakes: no source, which means a provider of HashiCorp's, and
// no credentials, without which registries answer 404.
func unknownHint(addr provider.Addr) string {
	if addr.Namespace == "hashicorp" {
		return "check the source in required_providers; a provider without one is taken to be in the namespace hashicorp"
	}
	return "check the source in required_providers; for a private provider, check the credentials for " + addr.Host.ForDisplay()
}

func noPackage(want provider.Want) error { return unavailable(want, nil) }

var errGone = errors.New("the registry answers 410 Gone")

// unavailable is noPackage with the reason.
func unavailable(want provider.Want, why error) error {
	return naming(want, &problem.Error{
		Problem: problem.Problem{
			Code:    problem.CodeNoPackage,
			Message: fmt.Sprintf("provider %s %s is not available for %s", want.Addr, want.Version, want.Platform),
		}, Err: why,
	})
}
