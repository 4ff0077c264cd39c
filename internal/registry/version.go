package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// versionList is the answer to "which versions are there".
type versionList struct {
	Versions []struct {
		Version   string   `json:"version"`
		Protocols []string `json:"protocols"`
		// The tools do not read the platforms, so nothing that stands there may
		// make an answer unusable.
		Platforms json.RawMessage `json:"platforms"`
	} `json:"versions"`
	Warnings []string `json:"warnings"`
}

func (d direct) releases(ctx context.Context, tool provider.Tool, addr provider.Addr) ([]provider.Release, error) {
	list, err := d.versionList(ctx, tool, addr)
	if err != nil {
		return nil, err
	}
	return list.releases(tool.Has(provider.LenientVersions))
}

func (d direct) versionList(ctx context.Context, tool provider.Tool, addr provider.Addr) (versionList, error) {
	q, err := d.query(ctx, provider.Want{Addr: addr})
	if err != nil {
		return versionList{}, err
	}
	return d.versions.Do(ctx, q, func() (versionList, error) { return d.askVersions(ctx, tool, q) })
}

// serves reports whether the version is listed, in its canonical form, for the
// platform.
func (l versionList) serves(version provider.Version, platform provider.Platform) bool {
	served, _ := l.platforms(version)
	return served[platform]
}

// platforms are those that the version is listed for, and whether it is listed,
// in its canonical form.
func (l versionList) platforms(version provider.Version) (served map[provider.Platform]bool, listed bool) {
	text := version.String()
	for _, v := range l.Versions {
		if v.Version == text { // the last wins
			served, listed = map[provider.Platform]bool{}, true
			for _, p := range platforms(v.Platforms) {
				served[p] = true
			}
		}
	}
	return served, listed
}

func (d direct) askVersions(ctx context.Context, tool provider.Tool, q query) (versionList, error) {
	addr := q.want.Addr
	attempt := "could not query provider registry for " + addr.String()
	resp, err := d.get(ctx, tool, q, maxVersions, addr.Namespace, addr.Type, "versions")
	if err != nil {
		return versionList{}, failed(q.want, attempt, err)
	}
	switch resp.Status {
	case http.StatusOK:
	case http.StatusNotFound:
		return versionList{}, &provider.Error{
			Code: provider.CodeUnknownProvider, Addr: addr,
			Message: fmt.Sprintf("provider registry %s does not have a provider named %s", addr.Host.ForDisplay(), addr),
			Hint:    d.advise(ctx, tool, q),
		}
	case http.StatusUnauthorized, http.StatusForbidden:
		return versionList{}, cliconfig.Unauthorized(addr.Host, q.token != "")
	default:
		return versionList{}, naming(q.want, statusError(attempt, resp.Status))
	}
	var list versionList
	if err := transport.DecodeJSON(resp.Body, &list); err != nil {
		return versionList{}, naming(q.want, badAnswer("for the versions of %s is not valid: %v", addr, err))
	}
	return list, nil
}

// releases reads the version strings. Where two are the same version, the last
// wins.
func (l versionList) releases(lenient bool) ([]provider.Release, error) {
	all := union{}
	for _, v := range l.Versions {
		version, err := provider.ParseVersion(v.Version)
		if err != nil && lenient {
			continue
		}
		if err != nil {
			return nil, badAnswer("includes invalid version string %q", v.Version)
		}
		all[version] = provider.Release{
			Version: version, Protocols: slices.Clone(v.Protocols),
			Platforms: platforms(v.Platforms), Warnings: slices.Clone(l.Warnings),
		}
	}
	return all.sorted(), nil
}

// platforms reads what it can of a release's platforms, sorted.
func platforms(raw json.RawMessage) []provider.Platform {
	var list []struct{ OS, Arch string }
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var known []provider.Platform
	for _, p := range list {
		if platform, err := provider.ParsePlatform(p.OS + "_" + p.Arch); err == nil {
			known = append(known, platform)
		}
	}
	return sortedPlatforms(known)
}
