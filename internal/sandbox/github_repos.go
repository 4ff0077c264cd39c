package sandbox

import (
	"bytes"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/utils/merkletrie"
)

// repositoryRoutes are what GitHub tells of the caller, of a repository, its
// commits and its files.
var repositoryRoutes = []route{
	{"GET", "/user", http.StatusOK, (*apiCall).getUser},
	{"GET", "/rate_limit", http.StatusOK, (*apiCall).getRateLimit},
	{"GET", "/repos/{owner}/{repo}", http.StatusOK, (*apiCall).getRepository},
	{"GET", "/repos/{owner}/{repo}/commits", http.StatusOK, (*apiCall).listCommits},
	{"GET", "/repos/{owner}/{repo}/commits/{ref...}", http.StatusOK, (*apiCall).getRepositoryCommit},
	{"GET", "/repos/{owner}/{repo}/compare/{basehead...}", http.StatusOK, (*apiCall).compare},
	{"GET", "/repos/{owner}/{repo}/contents", http.StatusOK, (*apiCall).getContents},
	{"GET", "/repos/{owner}/{repo}/contents/{path...}", http.StatusOK, (*apiCall).getContents},
	{"GET", "/repos/{owner}/{repo}/tarball", http.StatusOK, (*apiCall).tarball},
	{"GET", "/repos/{owner}/{repo}/tarball/{ref...}", http.StatusOK, (*apiCall).tarball},
	{"GET", "/repos/{owner}/{repo}/zipball", http.StatusOK, (*apiCall).zipball},
	{"GET", "/repos/{owner}/{repo}/zipball/{ref...}", http.StatusOK, (*apiCall).zipball},
}

// Limits of GitHub's lists of commits and files.
const (
	maxCompareCommits = 250
	maxCompareFiles   = 300
	// maxInline is how large a file may be, in bytes, to be answered in JSON.
	maxInline = 1 << 20
)

func (c *apiCall) getUser() (any, error) {
	switch {
	case c.who.Login == "":
		return nil, refusal(http.StatusUnauthorized, "Requires authentication")
	case c.who.Bot:
		return nil, refusal(http.StatusForbidden, "Resource not accessible by integration")
	}
	return c.userDoc(c.who.Login), nil
}

func (c *apiCall) getRateLimit() (any, error) {
	token := bearer(c.Header.Get("Authorization"))
	render := func(r *rate) doc {
		return doc{"limit": r.limit, "remaining": r.left, "used": r.limit - r.left, "reset": r.reset.Unix(), "resource": r.resource}
	}
	core := render(c.hub.rate(token, http.MethodGet))
	return doc{"resources": doc{"core": core, "graphql": render(c.hub.rate(token, graphQL))}, "rate": core}, nil
}

func (c *apiCall) getRepository() (any, error) { return c.repositoryDoc(c.repo), nil }

func (c *apiCall) repositoryDoc(r *gitRepository) doc {
	d := doc{
		"id": r.id, "node_id": r.nodeID(), "name": r.name, "full_name": r.fullName(),
		"owner": c.userDoc(r.owner), "private": false, "visibility": "public", "fork": r.parent != nil,
		"default_branch": r.defaultBranch, "archived": false, "disabled": false,
		"url": c.api(r, ""), "html_url": c.web(r, ""), "clone_url": c.web(r, ".git"),
		"allow_merge_commit": true, "allow_squash_merge": true, "allow_rebase_merge": true,
		"allow_auto_merge": false, "delete_branch_on_merge": false,
		"has_issues": true, "open_issues_count": len(r.open()),
		"permissions": doc{"admin": false, "maintain": false, "push": c.who.Write, "triage": c.who.Write, "pull": true},
	}
	if r.parent != nil {
		d["parent"] = doc{"full_name": r.parent.fullName(), "id": r.parent.id, "url": c.api(r.parent, "")}
	}
	return d
}

// nodeID is the repository's name in GraphQL.
func (r *gitRepository) nodeID() string { return fmt.Sprintf("R_kgDO%06d", r.id) }

func (c *apiCall) listCommits() (any, error) {
	query := c.URL.Query()
	from, ok := c.repo.commitAt(query.Get("sha"))
	if !ok {
		return nil, errNotFound
	}
	commits, err := c.repo.log(from, nil)
	if err != nil {
		return nil, err
	}
	if file := query.Get("path"); file != "" {
		commits = slices.DeleteFunc(commits, func(commit *object.Commit) bool { return !c.repo.touches(commit, file) })
	}
	return each(page(c, commits), c.repositoryCommitDoc), nil
}

// touches reports whether a path differs from that in every parent.
func (r *gitRepository) touches(commit *object.Commit, file string) bool {
	now := r.entryAt(commit.Hash, file)
	if len(commit.ParentHashes) == 0 {
		return !now.IsZero()
	}
	return !slices.ContainsFunc(commit.ParentHashes, func(p plumbing.Hash) bool { return r.entryAt(p, file) == now })
}

// entryAt returns the blob or tree at a path of a commit, or the zero hash.
func (r *gitRepository) entryAt(commit plumbing.Hash, file string) plumbing.Hash {
	c, err := r.commit(commit)
	if err != nil {
		return plumbing.ZeroHash
	}
	tree, err := c.Tree()
	if err != nil {
		return plumbing.ZeroHash
	}
	e, err := tree.FindEntry(strings.Trim(file, "/"))
	if err != nil {
		return plumbing.ZeroHash
	}
	return e.Hash
}

func (c *apiCall) getRepositoryCommit() (any, error) {
	commit, ok := c.repo.commitAt(c.PathValue("ref"))
	if !ok {
		return nil, unprocessable("No commit found for SHA: %s", c.PathValue("ref"))
	}
	if c.accepts("sha") {
		c.header.Set("ETag", `"`+commit.Hash.String()+`"`)
		return rawAnswer{http.StatusOK, "application/vnd.github.sha; charset=utf-8", []byte(commit.Hash.String())}, nil
	}
	var before plumbing.Hash
	if len(commit.ParentHashes) > 0 {
		before = commit.ParentHashes[0]
	}
	files, err := c.fileDocs(before, commit.Hash)
	if err != nil {
		return nil, err
	}
	d := c.repositoryCommitDoc(commit)
	d["files"], d["stats"] = files, statsDoc(files)
	return d, nil
}

func statsDoc(files []doc) doc {
	additions, deletions := 0, 0
	for _, f := range files {
		additions += f["additions"].(int)
		deletions += f["deletions"].(int)
	}
	return doc{"additions": additions, "deletions": deletions, "total": additions + deletions}
}

// repositoryCommitDoc is a commit as GitHub knows it: with users.
func (c *apiCall) repositoryCommitDoc(commit *object.Commit) doc {
	return doc{
		"sha": commit.Hash.String(), "node_id": "C_" + commit.Hash.String(),
		"url":      c.api(c.repo, "/commits/%s", commit.Hash),
		"html_url": c.web(c.repo, "/commit/%s", commit.Hash),
		"commit": doc{
			"url":          c.api(c.repo, "/git/commits/%s", commit.Hash),
			"author":       signatureDoc(commit.Author),
			"committer":    signatureDoc(commit.Committer),
			"message":      commit.Message,
			"tree":         doc{"sha": commit.TreeHash.String(), "url": c.api(c.repo, "/git/trees/%s", commit.TreeHash)},
			"verification": c.verificationDoc(commit),
		},
		"author":    c.knownUser(commit.Author.Email),
		"committer": c.knownUser(commit.Committer.Email),
		"parents":   c.parentDocs(commit, "/commits/%s"),
	}
}

// knownUser is the user with the address, or null.
func (c *apiCall) knownUser(email string) any {
	login := loginOf(email)
	if login == "" {
		return nil
	}
	return c.userDoc(login)
}

// compare answers what the head has that the base has not, from where their
// histories part.
func (c *apiCall) compare() (any, error) {
	baseName, headName, ok := strings.Cut(c.PathValue("basehead"), "...")
	if !ok {
		return nil, errNotFound
	}
	base, foundBase := c.ownedCommit(baseName)
	head, foundHead := c.ownedCommit(headName)
	if !foundBase || !foundHead {
		return nil, errNotFound
	}
	fork, ok := c.repo.mergeBase(base, head)
	if !ok {
		return nil, refusal(http.StatusNotFound, fmt.Sprintf("No common ancestor between %s and %s.", baseName, headName))
	}
	ahead, err := c.repo.log(head, base)
	if err != nil {
		return nil, err
	}
	behind, err := c.repo.log(base, head)
	if err != nil {
		return nil, err
	}
	files, err := c.fileDocs(fork.Hash, head.Hash)
	if err != nil {
		return nil, err
	}
	slices.Reverse(ahead)
	return doc{
		"url":         c.api(c.repo, "/compare/%s...%s", baseName, headName),
		"html_url":    c.web(c.repo, "/compare/%s...%s", baseName, headName),
		"base_commit": c.repositoryCommitDoc(base), "merge_base_commit": c.repositoryCommitDoc(fork),
		"status": compareStatus(len(ahead), len(behind)), "ahead_by": len(ahead), "behind_by": len(behind),
		"total_commits": len(ahead),
		"commits":       each(ahead[:min(len(ahead), maxCompareCommits)], c.repositoryCommitDoc),
		"files":         files[:min(len(files), maxCompareFiles)],
	}, nil
}

func compareStatus(ahead, behind int) string {
	switch {
	case ahead > 0 && behind > 0:
		return "diverged"
	case ahead > 0:
		return "ahead"
	case behind > 0:
		return "behind"
	}
	return "identical"
}

// ownedCommit finds a commit by a name that may begin with the owner of a
// repository in this one's network.
func (c *apiCall) ownedCommit(name string) (*object.Commit, bool) {
	owner, branch, ok := strings.Cut(name, ":")
	if !ok {
		return c.repo.commitAt(name)
	}
	if r := c.hub.inNetwork(c.repo, owner); r != nil {
		return r.commitAt(branch)
	}
	return nil, false
}

// fileDocs lists the files that differ between two commits. The zero hash
// stands for an empty tree. Renames are a removal and an addition: unlike
// GitHub, the sandbox looks for none.
func (c *apiCall) fileDocs(before, after plumbing.Hash) ([]doc, error) {
	var from *object.Tree
	if !before.IsZero() {
		var err error
		if from, err = c.repo.treeOf(before); err != nil {
			return nil, err
		}
	}
	to, err := c.repo.treeOf(after)
	if err != nil {
		return nil, err
	}
	changes, err := object.DiffTree(from, to)
	if err != nil {
		return nil, err
	}
	docs := make([]doc, 0, len(changes))
	for _, change := range changes {
		d, err := c.fileDoc(change, after)
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(a, b doc) int { return strings.Compare(a["filename"].(string), b["filename"].(string)) })
	return docs, nil
}

func (r *gitRepository) treeOf(commit plumbing.Hash) (*object.Tree, error) {
	c, err := r.commit(commit)
	if err != nil {
		return nil, err
	}
	return c.Tree()
}

func (c *apiCall) fileDoc(change *object.Change, commit plumbing.Hash) (doc, error) {
	action, err := change.Action()
	if err != nil {
		return nil, err
	}
	status, entry := "modified", change.To
	switch action {
	case merkletrie.Insert:
		status = "added"
	case merkletrie.Delete:
		status, entry = "removed", change.From
	}
	patch, err := change.Patch()
	if err != nil {
		return nil, err
	}
	additions, deletions := 0, 0
	for _, s := range patch.Stats() {
		additions += s.Addition
		deletions += s.Deletion
	}
	d := doc{
		"sha": entry.TreeEntry.Hash.String(), "filename": entry.Name, "status": status,
		"additions": additions, "deletions": deletions, "changes": additions + deletions,
		"blob_url":     c.web(c.repo, "/blob/%s/%s", commit, entry.Name),
		"contents_url": c.api(c.repo, "/contents/%s?ref=%s", entry.Name, commit),
	}
	var text bytes.Buffer
	if err := patch.Encode(&text); err != nil {
		return nil, err
	}
	if _, hunks, ok := strings.Cut(text.String(), "\n@@"); ok {
		d["patch"] = "@@" + strings.TrimSuffix(hunks, "\n")
	}
	return d, nil
}

func (c *apiCall) getContents() (any, error) {
	ref := c.URL.Query().Get("ref")
	commit, ok := c.repo.commitAt(ref)
	if !ok {
		return nil, refusal(http.StatusNotFound, "No commit found for the ref "+ref)
	}
	name := strings.Trim(c.PathValue("path"), "/")
	if name == "" {
		return c.directoryDocs("", commit.TreeHash, ref)
	}
	tree, err := commit.Tree()
	if err != nil {
		return nil, err
	}
	e, err := tree.FindEntry(name)
	if err != nil {
		return nil, errNotFound
	}
	if e.Mode == filemode.Dir {
		return c.directoryDocs(name, e.Hash, ref)
	}
	return c.contentAnswer(name, gitEntry{e.Mode, e.Hash}, ref)
}

func (c *apiCall) directoryDocs(dir string, tree plumbing.Hash, ref string) (any, error) {
	docs := []doc{}
	err := c.repo.walkTree(tree, false, func(name string, e gitEntry) error {
		docs = append(docs, c.contentDoc(path.Join(dir, name), e, ref))
		return nil
	})
	return docs, err
}

// contentAnswer is one file with its content. Links are told of, not
// followed.
func (c *apiCall) contentAnswer(name string, e gitEntry, ref string) (any, error) {
	d := c.contentDoc(name, e, ref)
	if e.mode == filemode.Submodule {
		return d, nil
	}
	content, err := c.repo.readBlob(e.hash)
	if err != nil {
		return nil, err
	}
	switch {
	case c.accepts("raw") || c.accepts("raw+json"):
		return rawAnswer{http.StatusOK, "application/vnd.github.raw; charset=utf-8", content}, nil
	case e.mode == filemode.Symlink:
		d["target"] = string(content)
	case len(content) > maxInline:
		d["content"], d["encoding"] = "", "none"
	default:
		d["content"], d["encoding"] = base64Lines(content), "base64"
	}
	return d, nil
}

// contentDoc is an entry without its content.
func (c *apiCall) contentDoc(name string, e gitEntry, ref string) doc {
	d := doc{
		"type": "file", "name": path.Base(name), "path": name, "sha": e.hash.String(), "size": 0,
		"url":      c.api(c.repo, "/contents/%s?ref=%s", name, ref),
		"git_url":  c.api(c.repo, "/git/blobs/%s", e.hash),
		"html_url": c.web(c.repo, "/blob/%s/%s", ref, name),
	}
	switch e.mode {
	case filemode.Dir:
		d["type"], d["git_url"] = "dir", c.api(c.repo, "/git/trees/%s", e.hash)
	case filemode.Symlink:
		d["type"] = "symlink"
	case filemode.Submodule:
		d["type"], d["git_url"] = "submodule", nil
	}
	if size, err := c.repo.git.EncodedObjectSize(e.hash); err == nil && e.mode != filemode.Dir {
		d["size"] = size
	}
	return d
}
