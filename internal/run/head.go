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

// Head says whether the file tree is the head of a pull request, and whose. A
// head chooses nothing: neither credentials nor, from a fork, hosts.
type Head int

const (
	NoHead   Head = iota
	OwnHead       // of a branch of the repository itself
	ForkHead      // of somebody else's repository
)

// contact says which hosts may be contacted because a file names them; nil
// admits all. Anyone who proposes changes from a fork must not be able to make a
// runner speak to hosts of their choice: only the public registries, GitHub's
// own host, those that the operator's configuration names and those that the
// base branch is known to use remain. What a registry says or redirects to is
// not asked about, except for its addresses: see client.
func (j job) contact() func(host string) bool {
	if j.ask.head != ForkHead {
		return nil
	}
	return func(host string) bool {
		return host == j.env.Server || moduleTokens(j.env, j.settings)[host] != "" || slices.Contains(j.named, svchost.Hostname(host)) || j.ask.ofBase(host)
	}
}

// ambient says for which places credentials that lie about on the machine may
// be used; nil admits all. For the head of a pull request these are only the
// hosts that the operator gave a token for.
func (j job) ambient() func(place string) bool {
	if j.ask.head == NoHead {
		return nil
	}
	return func(place string) bool { return moduleTokens(j.env, j.settings)[place] != "" }
}

// markUncontacted is a root module that reports the providers whose registry may not be
// contacted.
func markUncontacted(j job, m scan.RootModule) scan.RootModule {
	admitted := j.contact()
	if admitted == nil || j.ask.verb == verbs.Verify { // which says so of each hash
		return m
	}
	wanted := m.All().Requirements
	if j.plan.Preserve {
		wanted = slices.Concat(wanted, scan.Recorded(m.Lock)) // which may be in
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
// a sparse one, which may lack them; nil if it is not.
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

// Committed returns those of the named files that a commit has, if the git
// repository at root has the commit. A shallow clone need not, and where one of
// the files is a link the answer is elsewhere.
func Committed(root, commit string, names []string) (fs.FS, bool) {
	at, err := tree{root: root}.at(commit)
	if err != nil {
		return nil, false
	}
	return filesOf(at, names)
}

// filesOf is a file tree of those of the named files that a revision has, unless one is a
// link or cannot be read.
func filesOf(at worktree.Revision, names []string) (fs.FS, bool) {
	contents, ok := at.Files(names)
	if !ok {
		return nil, false
	}
	files, err := treeOf(contents)
	return files, err == nil
}
