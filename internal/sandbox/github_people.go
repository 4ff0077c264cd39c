package sandbox

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// Push is a commit that a person pushes.
type Push struct {
	// Branch is created from the default branch if it does not exist.
	Branch string
	// Files are written, by slash-separated path; Remove are removed.
	Files  map[string]File
	Remove []string
	// Message is "Change files" if empty. Author is a login, monalisa if empty.
	Message string
	Author  string
	// Amend replaces the branch's last commit, as push --force does.
	Amend bool
}

// PullRequest is a pull request as people see it. The caller owns it.
type PullRequest struct {
	Number       int
	Title, Body  string
	State        string // open or closed
	Merged       bool
	Author       string // logins
	ClosedBy     string
	Head, Base   string // branches
	HeadOwner    string // differs from the repository's owner for a fork
	HeadSHA      string
	Labels       []string
	Assignees    []string
	Reviewers    []string // logins of those who were asked
	Teams        []string // slugs of those that were asked
	Milestone    string
	Draft        bool
	Locked       bool
	AutoMerge    string // squash, merge or rebase, if GitHub will merge it
	ApprovedBy   []string
	Queued       bool // in the merge queue of its base
	Ejections    int  // number of pushes that took it out of the queue
	Modifiable   bool // maintainers may push to it, if it is from a fork
	Comments     []Comment
	ChangedFiles []string // paths that differ from the commit where the head left the base
}

// Comment is a comment of a pull request.
type Comment struct {
	ID     int64
	Author string
	Body   string
	// Reactions are "eyes by LOGIN", in order.
	Reactions []string
}

// Commit is a commit of a branch.
type Commit struct {
	SHA      string
	Message  string
	Author   string // the name in the commit
	Parents  []string
	Verified bool // GitHub signed it
}

// Refs returns the full names of a repository's refs, with their SHAs.
func (g *GitHub) Refs(repo string) (map[string]string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.catchUp()
	r, err := g.repository(repo)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for name, ref := range r.git.ReferenceStorage {
		refs[name.String()] = ref.Hash().String()
	}
	return refs, nil
}

// Files returns the files at a branch, tag or full SHA by their paths.
func (g *GitHub) Files(repo, ref string) (map[string]File, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.catchUp()
	r, err := g.repository(repo)
	if err != nil {
		return nil, err
	}
	commit, ok := r.commitAt(ref)
	if !ok {
		return nil, fmt.Errorf("no commit %s in %s", ref, repo)
	}
	list, err := r.readTree(commit.TreeHash)
	if err != nil {
		return nil, err
	}
	files := map[string]File{}
	for name, e := range list {
		content := []byte(e.hash.String())
		if e.mode != filemode.Submodule {
			content, err = r.readBlob(e.hash)
			if err != nil {
				return nil, err
			}
		}
		files[name] = File{Mode: modeText(e.mode), Content: content}
	}
	return files, nil
}

// Commits returns the commits of a branch, tag or full SHA, newest first.
func (g *GitHub) Commits(repo, ref string) ([]Commit, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.catchUp()
	r, err := g.repository(repo)
	if err != nil {
		return nil, err
	}
	from, ok := r.commitAt(ref)
	if !ok {
		return nil, fmt.Errorf("no commit %s in %s", ref, repo)
	}
	log, err := r.log(from, nil)
	if err != nil {
		return nil, err
	}
	var commits []Commit
	for _, c := range log {
		one := Commit{SHA: c.Hash.String(), Message: c.Message, Author: c.Author.Name, Verified: r.signed[c.Hash]}
		for _, p := range c.ParentHashes {
			one.Parents = append(one.Parents, p.String())
		}
		commits = append(commits, one)
	}
	return commits, nil
}

// Pulls returns the pull requests of a repository by number.
func (g *GitHub) Pulls(repo string) ([]PullRequest, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.catchUp()
	r, err := g.repository(repo)
	if err != nil {
		return nil, err
	}
	var pulls []PullRequest
	for _, p := range r.pulls() {
		view, err := r.view(p)
		if err != nil {
			return nil, err
		}
		pulls = append(pulls, view)
	}
	return pulls, nil
}

// view is a copy of a pull request for people.
func (r *gitRepository) view(p *pullRequest) (PullRequest, error) {
	v := PullRequest{
		Number: p.number, Title: p.title, Body: p.body, State: p.state(), Merged: p.merged(),
		Author: p.author, ClosedBy: p.closedBy,
		Head: p.head, HeadOwner: p.headRepo.owner, HeadSHA: p.headSHA.String(), Base: p.base,
		Labels: slices.Clone(p.labels), Assignees: slices.Clone(p.assignees),
		Reviewers: slices.Clone(p.reviewers), Teams: slices.Clone(p.teamReviewers),
		Draft: p.draft, Locked: p.locked, Modifiable: p.modifiable, Queued: p.queued != "", Ejections: p.ejections,
	}
	if p.milestone > 0 {
		v.Milestone = r.settings.Milestones[p.milestone-1]
	}
	for _, o := range p.opinions {
		if !o.against {
			v.ApprovedBy = append(v.ApprovedBy, o.login)
		}
	}
	if p.autoMerge != nil {
		v.AutoMerge = strings.ToLower(p.autoMerge.method)
	}
	for _, m := range p.comments {
		one := Comment{ID: m.id, Author: m.author, Body: m.body}
		for _, made := range m.reactions {
			one.Reactions = append(one.Reactions, made.content+" by "+made.login)
		}
		v.Comments = append(v.Comments, one)
	}
	_, fork, err := r.proposed(p)
	if err != nil {
		return v, err
	}
	old, err := r.readTree(fork.TreeHash)
	if err != nil {
		return v, err
	}
	head, err := r.commit(p.headSHA)
	if err != nil {
		return v, err
	}
	now, err := r.readTree(head.TreeHash)
	if err != nil {
		return v, err
	}
	v.ChangedFiles = old.differing(now)
	return v, nil
}

// differing returns the paths at which two trees differ, sorted.
func (l listing) differing(m listing) []string {
	paths := map[string]bool{}
	for name, e := range l {
		if m[name] != e {
			paths[name] = true
		}
	}
	for name, e := range m {
		if l[name] != e {
			paths[name] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// Push commits and pushes as a person does, and returns the commit's SHA.
func (g *GitHub) Push(repo string, p Push) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.repository(repo)
	if err != nil {
		return "", err
	}
	if p.Message == "" {
		p.Message = "Change files"
	}
	if p.Author == "" {
		p.Author = firstUser
	}
	at := r.branch(p.Branch)
	if at.IsZero() {
		at = r.branch(r.defaultBranch)
	}
	tip, err := r.commit(at)
	if err != nil {
		return "", err
	}
	list, err := r.readTree(tip.TreeHash)
	if err != nil {
		return "", err
	}
	for _, name := range p.Remove {
		if !list.remove(name) {
			return "", fmt.Errorf("no file %s on %s", name, p.Branch)
		}
	}
	for name, f := range p.Files {
		if err := r.put(list, name, f); err != nil {
			return "", err
		}
	}
	parents := []plumbing.Hash{at}
	if p.Amend {
		parents = tip.ParentHashes
	}
	who := g.signature(p.Author)
	hash := r.writeCommit(object.Commit{
		Author: who, Committer: who, Message: p.Message, TreeHash: r.writeTree(list), ParentHashes: parents,
	})
	name := plumbing.NewBranchReferenceName(p.Branch)
	return hash.String(), g.updateRefs(r, p.Author, refUpdate{name: name, after: hash, force: p.Amend})
}

// DeleteBranch deletes a branch.
func (g *GitHub) DeleteBranch(repo, branch string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.repository(repo)
	if err != nil {
		return err
	}
	return g.updateRefs(r, firstUser, refUpdate{name: plumbing.NewBranchReferenceName(branch)})
}

// Fork gives the owner a copy of a repository. Both share objects, as on GitHub.
func (g *GitHub) Fork(repo, owner string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.repository(repo)
	if err != nil {
		return err
	}
	key := repoKey(owner, r.name)
	if g.repos[key] != nil {
		return fmt.Errorf("%s/%s exists", owner, r.name)
	}
	fork := g.newRepository(owner, r.name, r.defaultBranch)
	fork.parent, fork.signed = r, r.signed
	fork.git.ObjectStorage = r.git.ObjectStorage
	for name, ref := range r.git.ReferenceStorage {
		if name.IsBranch() || name.IsTag() {
			fork.git.ReferenceStorage[name] = ref
		}
	}
	g.repos[key] = fork
	return nil
}

// Open opens a pull request and returns its number. The head is a branch, or
// OWNER:BRANCH of a fork; maintainers may then push to it.
func (g *GitHub) Open(repo, head, base, title, by string) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.repository(repo)
	if err != nil {
		return 0, err
	}
	p, err := g.openPull(r, newPull{Title: title, Head: head, Base: base, MaintainerCanModify: true}, by)
	if err != nil {
		return 0, err
	}
	return p.number, nil
}

// find returns an issue or pull request and its repository.
func (g *GitHub) find(repo string, number int) (*gitRepository, *pullRequest, error) {
	r, err := g.repository(repo)
	if err != nil {
		return nil, nil, err
	}
	if number < 1 || number > len(r.issues) || r.issues[number-1].gone == deletedIssue {
		return nil, nil, fmt.Errorf("no issue or pull request %d in %s", number, repo)
	}
	return r, r.issues[number-1], nil
}

// Edit replaces a pull request's title and body, as its author does. An empty one
// keeps the old text.
func (g *GitHub) Edit(repo string, number int, title, body string) error {
	return g.EditAs(repo, number, firstUser, title, body)
}

// EditAs is Edit by a given person.
func (g *GitHub) EditAs(repo string, number int, by, title, body string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, p, err := g.find(repo, number)
	if err != nil {
		return err
	}
	if title != "" {
		p.title = title
	}
	if body != "" {
		g.edited(p, by, body)
	}
	p.updated = g.now()
	return nil
}

// Merge merges an open pull request with a merge commit, and returns its SHA. The
// branch remains unless the settings say otherwise. A file that both sides
// changed is a conflict.
func (g *GitHub) Merge(repo string, number int, by string) (string, error) {
	return g.mergeAs(repo, number, by, "merge")
}

// Squash merges an open pull request with a commit that is not a descendant of
// its branch.
func (g *GitHub) Squash(repo string, number int, by string) (string, error) {
	return g.mergeAs(repo, number, by, "squash")
}

func (g *GitHub) mergeAs(repo string, number int, by, method string) (sha string, err error) {
	err = g.change(repo, number, func(r *gitRepository, p *pullRequest) error {
		if rules := r.protection(p.base); rules != nil && (rules.Queue || r.mergeState(p) != "CLEAN") {
			return fmt.Errorf("pull request %d cannot be merged: it is %s", number, strings.ToLower(r.mergeState(p)))
		}
		sha, err = g.merge(r, p, by, method)
		return err
	})
	return sha, err
}

// mergeCommit is the commit that merges a pull request. For merge it has two
// parents. For squash and rebase it has the changes only, which suits our single
// commits.
func (g *GitHub) mergeCommit(r *gitRepository, p *pullRequest, by, method string) (plumbing.Hash, error) {
	base := r.branch(p.base)
	tree, err := r.mergeTrees(base, p.headSHA)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("merging pull request %d: %w", p.number, err)
	}
	who := g.signature(by)
	c := object.Commit{
		Author: who, Committer: object.Signature{Name: "GitHub", Email: "noreply@github.com", When: who.When},
		Message:  fmt.Sprintf("Merge pull request #%d from %s\n\n%s", p.number, strings.Replace(p.label(), ":", "/", 1), p.title),
		TreeHash: tree, ParentHashes: []plumbing.Hash{base, p.headSHA},
	}
	if method != "merge" {
		c.Message, c.ParentHashes = fmt.Sprintf("%s (#%d)", p.title, p.number), c.ParentHashes[:1]
	}
	hash := r.writeCommit(c)
	r.signed[hash] = true
	return hash, nil
}

// merge puts a pull request into its base.
func (g *GitHub) merge(r *gitRepository, p *pullRequest, by, method string) (string, error) {
	hash, err := g.mergeCommit(r, p, by, method)
	if err != nil {
		return "", err
	}
	if err := g.updateRefs(r, by, refUpdate{name: plumbing.NewBranchReferenceName(p.base), after: hash}); err != nil {
		return "", err
	}
	if p.open { // the base does not contain the head itself
		g.close(r, p, by)
		p.mergeSHA = hash
	}
	if !r.settings.DeleteMerged || p.headRepo != r {
		return hash.String(), nil
	}
	return hash.String(), g.updateRefs(r, by, refUpdate{name: plumbing.NewBranchReferenceName(p.head)})
}

// mergeTrees merges two commits file by file and returns the tree.
func (r *gitRepository) mergeTrees(ours, theirs plumbing.Hash) (plumbing.Hash, error) {
	a, err := r.commit(ours)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	b, err := r.commit(theirs)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	fork, ok := r.mergeBase(a, b)
	if !ok {
		return plumbing.ZeroHash, fmt.Errorf("no common ancestor")
	}
	return r.mergeOver(fork.TreeHash, a.TreeHash, b.TreeHash)
}

// mergeOver applies the changes between two trees to a third.
func (r *gitRepository) mergeOver(from, into, to plumbing.Hash) (plumbing.Hash, error) {
	var lists [3]listing
	for i, tree := range []plumbing.Hash{from, into, to} {
		var err error
		lists[i], err = r.readTree(tree)
		if err != nil {
			return plumbing.ZeroHash, err
		}
	}
	old, merged, other := lists[0], lists[1], lists[2]
	for _, name := range old.differing(other) {
		if merged[name] != old[name] && merged[name] != other[name] {
			return plumbing.ZeroHash, fmt.Errorf("conflict in %s", name)
		}
		merged.remove(name)
		if e, ok := other[name]; ok {
			merged.set(name, e)
		}
	}
	return r.writeTree(merged), nil
}

// Clone makes a working tree of a branch, or of pull/NUMBER/merge, with its history, in a
// new directory. HEAD is the commit on GitHub, whose SHA it returns.
func (g *GitHub) Clone(repo, branch, dir string) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.repository(repo)
	if err != nil {
		return "", err
	}
	head := r.branch(branch)
	if head.IsZero() {
		head = r.ref(plumbing.ReferenceName("refs/" + branch))
	}
	if head.IsZero() {
		return "", fmt.Errorf("no branch %s in %s", branch, repo)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	clone, err := git.PlainInitWithOptions(filepath.Clean(dir), &git.PlainInitOptions{
		InitOptions: git.InitOptions{DefaultBranch: plumbing.NewBranchReferenceName(branch)},
	})
	if err != nil {
		return "", err
	}
	if err := copyObjects(clone, r); err != nil {
		return "", err
	}
	return head.String(), checkOut(clone, r, branch, head)
}

// copyObjects gives a clone all objects in one pack, as from a server.
func copyObjects(clone *git.Repository, r *gitRepository) error {
	objects := slices.SortedFunc(maps.Keys(r.git.Objects), func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) })
	w, err := clone.Storer.(storer.PackfileWriter).PackfileWriter()
	if err != nil {
		return err
	}
	if _, err := packfile.NewEncoder(w, r.git, false).Encode(objects, 0); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}

// checkOut sets up refs, the remote and the working tree of a new clone.
func checkOut(clone *git.Repository, r *gitRepository, branch string, head plumbing.Hash) error {
	for _, name := range []plumbing.ReferenceName{
		plumbing.NewBranchReferenceName(branch), plumbing.NewRemoteReferenceName("origin", branch),
	} {
		if err := clone.Storer.SetReference(plumbing.NewHashReference(name, head)); err != nil {
			return err
		}
	}
	origin := "https://github.com/" + r.fullName() + ".git"
	if _, err := clone.CreateRemote(&config.RemoteConfig{Name: "origin", URLs: []string{origin}}); err != nil {
		return err
	}
	tree, err := clone.Worktree()
	if err != nil {
		return err
	}
	return tree.Reset(&git.ResetOptions{Commit: head, Mode: git.HardReset})
}
