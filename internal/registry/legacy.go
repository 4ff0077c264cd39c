package registry

import (
	"context"
	"fmt"
	"net/http"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// legacyList is what a default registry says of a provider's name alone, for
// configurations of Terraform 0.12 that named no namespaces.
type legacyList struct {
	ID      string `json:"id"`       // NAMESPACE/TYPE
	MovedTo string `json:"moved_to"` // NAMESPACE/TYPE
}

// advise is the hint about a provider that its registry does not have. A name
// without a namespace is taken for one of HashiCorp's, which most providers are
// not: a default registry knows which provider the name stood for before
// namespaces. As in the tools this is advice only, and never what is locked.
func (d direct) advise(ctx context.Context, tool provider.Tool, q query) string {
	addr := q.want.Addr
	if addr.Namespace != "hashicorp" || addr.Host != provider.Terraform.DefaultHost() && addr.Host != provider.OpenTofu.DefaultHost() {
		return unknownHint
	}
	resp, err := d.get(ctx, tool, q, maxVersions, "-", addr.Type, "versions")
	if err != nil || resp.Status != http.StatusOK {
		return unknownHint
	}
	var list legacyList
	if err := transport.DecodeJSON(resp.Body, &list); err != nil {
		return unknownHint
	}
	for _, name := range []string{list.MovedTo, list.ID} {
		// The name is the registry's: only a valid address is repeated.
		meant, err := provider.ParseAddr(name, tool.Name)
		if err == nil && meant.Lockable() && meant.Namespace != addr.Namespace {
			return fmt.Sprintf("did you mean %s/%s? write it as the source of %q in required_providers", meant.Namespace, meant.Type, addr.Type)
		}
	}
	return unknownHint
}
