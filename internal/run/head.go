package run

import (
	"io/fs"
	"path"
	"slices"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/worktree"
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
		return host == j.env.Server || moduleTokens(j.env, j.settings)[host] != "" || slices.Contains(j.named, svchost.Hostname(host)) || j.ask.ofBase(host)
	}
}

// ambient reports for which places relock may use credentials that it finds on the machine;
// nil: all. For the head of a pull request these are only the hosts for which the operator
// gave a token.
func (j job) ambient() func(place string) bool {
	if j.ask.head == NoHead {
		return nil
	}
	return func(place string) bool { return moduleTokens(j.env, j.settings)[place] != "" }
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

// NotCheckedOut returns those of the named files that HEAD has, if the checkout at root is
// sparse. Such a checkout may lack them on disk. It is nil for any other checkout.
func NotCheckedOut(root string, names []string) (fs.FS, error) {
	if !worktree.Sparse(root) {
		return nil, nil
	}
	head, err := tree{root: root}.at("HEAD")
	if err != nil {
		return nil, err
	}
	files, ok := filesOf(head, names)
	if !ok {
		return nil, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: "it is not known whether the sparse checkout lacks a configuration file: HEAD could not be read",
			Hint: scan.CheckOut(path.Dir(names[0])),
		}}
	}
	return files, nil
}

// Committed returns those of the named files that a commit has. It reports whether it
// could: a shallow clone may lack the commit, and a link would lead elsewhere.
func Committed(root, commit string, names []string) (fs.FS, bool) {
	at, err := tree{root: root}.at(commit)
	if err != nil {
		return nil, false
	}
	return filesOf(at, names)
}

// filesOf is a file tree with those of the named files that a revision has. It fails if one
// is a link or cannot be read.
func filesOf(at worktree.Revision, names []string) (fs.FS, bool) {
	contents, ok := at.Files(names)
	if !ok {
		return nil, false
	}
	files, err := treeOf(contents)
	return files, err == nil
}
