package run

import (
	"slices"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
)

// Head says whether the file tree is the head of a pull request, and whose. A head selects
// no credentials. A head from a fork selects no hosts either.
type Head int

const (
	NoHead   Head = iota
	OwnHead       // of a branch of the repository itself
	ForkHead      // of somebody else's repository
)

// contact reports which hosts relock may contact because a file names them; nil: all. The
// author of a fork must not choose hosts for the runner. These hosts remain: the public
// registries, GitHub's own host, the hosts in the operator's configuration, and the known
// hosts of the base branch. Answers and redirects of registries may name other hosts. For
// those only the addresses are checked: see client.
func (j job) contact() func(host string) bool {
	if j.ask.head != ForkHead {
		return nil
	}
	return func(host string) bool {
		return host == j.env.Server || givenToken(j.env, j.settings, host) != "" || slices.Contains(j.named, svchost.Hostname(host)) || j.ask.ofBase(host)
	}
}

// ambient reports for which places relock may use credentials that it finds on the machine;
// nil: all. For the head of a pull request these are only the hosts for which the operator
// gave a token.
func (j job) ambient() func(place string) bool {
	if j.ask.head == NoHead {
		return nil
	}
	return func(place string) bool { return givenToken(j.env, j.settings, place) != "" }
}

// markUncontacted adds problems to a root module for the providers whose registry relock
// may not contact.
func markUncontacted(j job, m scan.RootModule) scan.RootModule {
	admitted := j.contact()
	if admitted == nil || j.ask.verb == verbs.Verify { // verify reports that for each hash
		return m
	}
	wanted := m.All().Requirements
	if j.plan.Preserve {
		wanted = slices.Concat(wanted, scan.Recorded(m.Lock)) // their registries may be allowed
	}
	for _, r := range wanted {
		host := r.Addr.Host
		if admitted(string(host)) {
			continue
		}
		m.Tree.Diagnostics = append(m.Tree.Diagnostics, problem.Problem{
			Code: problem.CodeUnreachable, Subject: problem.Subject{Addr: r.Addr}, Host: host, Place: r.Terms[0].Place,
			Message: "the registry " + host.ForDisplay() + " is not contacted for a pull request from a fork",
			Hint:    "name it in a host block of the runner's CLI configuration, if such pull requests may use it",
		})
	}
	return m
}
