package run

import (
	"slices"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/provider"
)

// Head says whether the file tree is the head of a pull request, and whose. A
// head chooses nothing: neither credentials nor, from a fork, hosts.
type Head int

const (
	NoHead   Head = iota
	OwnHead       // of a branch of the repository itself
	ForkHead      // of somebody else's repository
)

// contact says which hosts may be contacted because a file names them; nil
// admits all. Whoever proposes changes from a fork must not be able to make a
// runner speak to hosts of their choice: only the public registries, GitHub's
// own host and those that the operator's configuration names remain.
func (c *corridor) contact() func(host string) bool {
	if c.req.Head != ForkHead {
		return nil
	}
	return func(host string) bool {
		public := host == string(provider.Terraform.DefaultHost()) || host == string(provider.OpenTofu.DefaultHost())
		return public || host == c.env.Server || c.req.ModuleTokens[host] != "" || slices.Contains(c.named, svchost.Hostname(host))
	}
}

// ambient says for which places credentials that lie about on the machine may
// be used; nil admits all. For the head of a pull request these are only the
// hosts that the operator gave a token for.
func (c *corridor) ambient() func(place string) bool {
	if c.req.Head == NoHead {
		return nil
	}
	return func(place string) bool { return c.req.ModuleTokens[place] != "" }
}

// refuse notes the providers of a root module whose registry may not be
// contacted.
func (c *corridor) refuse(f *found) {
	admitted := c.contact()
	if admitted == nil {
		return
	}
	for _, r := range f.module.Requirements {
		host := r.Addr.Host
		if admitted(string(host)) {
			continue
		}
		f.module.Diagnostics = append(f.module.Diagnostics, provider.Diagnostic{
			Code: provider.CodeUnreachable, Addr: r.Addr, Host: host, File: r.Terms[0].File, Line: r.Terms[0].Line,
			Message: "the registry " + host.ForDisplay() + " is not contacted for a pull request from a fork",
			Hint:    "name it in a host block of the runner's CLI configuration, if such pull requests may use it",
		})
	}
}
