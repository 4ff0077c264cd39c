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

// repositoryRoutes are the routes of the caller, and of a repository, its commits
// and its files.
var repositoryRoutes = []route{
	{"GET", "/user", http.StatusOK, (*apiCall).getUser, right{}},
	{"GET", "/rate_limit", http.StatusOK, (*apiCall).getRateLimit, right{}},
	{"GET", "/repos/{owner}/{repo}", http.StatusOK, (*apiCall).getRepository, seeRepository},
	{"GET", "/repos/{owner}/{repo}/collaborators/{login}/permission", http.StatusOK, (*apiCall).getPermission, seeRepository},
	{"GET", "/repos/{owner}/{repo}/commits", http.StatusOK, (*apiCall).listCommits, readContents},
	{"GET", "/repos/{owner}/{repo}/commits/{ref...}", http.StatusOK, (*apiCall).getRepositoryCommit, readContents},
	{"POST", "/repos/{owner}/{repo}/merges", http.StatusCreated, (*apiCall).mergeBranch, writeContents},
	{"GET", "/repos/{owner}/{repo}/compare/{basehead...}", http.StatusOK, (*apiCall).compare, readContents},
	{"GET", "/repos/{owner}/{repo}/contents", http.StatusOK, (*apiCall).getContents, readContents},
	{"GET", "/repos/{owner}/{repo}/contents/{path...}", http.StatusOK, (*apiCall).getContents, readContents},
	{"GET", "/repos/{owner}/{repo}/tarball", http.StatusOK, (*apiCall).tarball, readContents},
	{"GET", "/repos/{owner}/{repo}/tarball/{ref...}", http.StatusOK, (*apiCall).tarball, readContents},
	{"GET", "/repos/{owner}/{repo}/zipball", http.StatusOK, (*apiCall).zipball, readContents},
	{"GET", "/repos/{owner}/{repo}/zipball/{ref...}", http.StatusOK, (*apiCall).zipball, readContents},
}

// Limits of GitHub's lists of commits and files.
const (
	maxCompareCommits = 250
	maxCompareFiles   = 300
	// maxInline is the highest size of a file, in bytes, that is answered in
	// JSON.
	maxInline = 1 << 20
)

func (c *apiCall) getUser() (any, error) {
	switch {
	case c.who.Login == "":
		return nil, refusal(http.StatusUnauthorized, "Requires authentication")
	case c.who.Bot:
		return nil, refusal(http.StatusForbidden, "Resource not accessible by integration")
	}
	d := c.userDoc(c.who.Login)
	for _, unsaid := range []string{"name", "company", "location", "email", "hireable", "bio"} {
		d[unsaid] = nil
	}
	d["blog"], d["public_repos"], d["public_gists"], d["followers"], d["following"] = "", 0, 0, 0, 0
	d["created_at"], d["updated_at"] = timestamp(c.hub.clock), timestamp(c.hub.clock)
	return d, nil
}

func (c *apiCall) getRateLimit() (any, error) {
	token := bearer(c.Header.Get("Authorization"))
	render := func(r *rate) doc {
		return doc{"limit": r.limit, "remaining": r.left, "used": r.limit - r.left, "reset": r.reset.Unix(), "resource": r.resource}
	}
	core := render(c.hub.rate(token, http.MethodGet))
	search := render(&rate{resource: "search", limit: 30, left: 30, reset: c.hub.rate(token, http.MethodGet).reset})
	return doc{"resources": doc{"core": core, "graphql": render(c.hub.rate(token, graphQL)), "search": search}, "rate": core}, nil
}

// getRepository is the only answer with the parent of a fork.
func (c *apiCall) getRepository() (any, error) {
	d := c.repositoryDoc(c.repo)
	d["network_count"], d["subscribers_count"] = 0, 0
	if c.repo.parent != nil {
		d["parent"] = c.repositoryDoc(c.repo.parent)
		d["source"] = d["parent"]
	}
	return d, nil
}

// below are the URLs below a repository: the name of each, and its path as a
// template.
var below = map[string]string{
	"archive_url": "/{archive_format}{/ref}", "assignees_url": "/assignees{/user}", "blobs_url": "/git/blobs{/sha}",
	"branches_url": "/branches{/branch}", "collaborators_url": "/collaborators{/collaborator}", "comments_url": "/comments{/number}",
	"commits_url": "/commits{/sha}", "compare_url": "/compare/{base}...{head}", "contents_url": "/contents/{+path}",
	"contributors_url": "/contributors", "deployments_url": "/deployments", "downloads_url": "/downloads", "events_url": "/events",
	"forks_url": "/forks", "git_commits_url": "/git/commits{/sha}", "git_refs_url": "/git/refs{/sha}", "git_tags_url": "/git/tags{/sha}",
	"hooks_url": "/hooks", "issue_comment_url": "/issues/comments{/number}", "issue_events_url": "/issues/events{/number}",
	"issues_url": "/issues{/number}", "keys_url": "/keys{/key_id}", "labels_url": "/labels{/name}", "languages_url": "/languages",
	"merges_url": "/merges", "milestones_url": "/milestones{/number}", "notifications_url": "/notifications{?since,all,participating}",
	"pulls_url": "/pulls{/number}", "releases_url": "/releases{/id}", "stargazers_url": "/stargazers", "statuses_url": "/statuses/{sha}",
	"subscribers_url": "/subscribers", "subscription_url": "/subscription", "tags_url": "/tags", "teams_url": "/teams",
	"trees_url": "/git/trees{/sha}",
}

func (c *apiCall) repositoryDoc(r *gitRepository) doc {
	forks := c.hub.forks(r)
	d := doc{
		"id": r.id, "node_id": r.nodeID(), "name": r.name, "full_name": r.fullName(), "description": nil,
		"owner": c.userDoc(r.owner), "private": r.settings.Private, "visibility": r.settings.visibility(), "fork": r.parent != nil,
		"default_branch": r.defaultBranch, "archived": r.settings.Archived, "disabled": false,
		"url": c.api(r, ""), "html_url": c.web(r, ""), "clone_url": c.web(r, ".git"), "svn_url": c.web(r, ""),
		"git_url": "git://" + c.Host + "/" + r.fullName() + ".git", "ssh_url": "git@" + c.Host + ":" + r.fullName() + ".git",
		"mirror_url": nil, "homepage": nil, "language": nil, "license": nil, "topics": append([]string{}, r.settings.Topics...), "size": 0,
		"allow_merge_commit": true, "allow_squash_merge": true, "allow_rebase_merge": true,
		"allow_auto_merge": r.settings.AutoMerge, "delete_branch_on_merge": r.settings.DeleteMerged,
		"has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false, "has_downloads": false, "has_discussions": false,
		"open_issues": len(r.open()), "open_issues_count": len(r.open()), "forks": forks, "forks_count": forks,
		"stargazers_count": 0, "watchers": 0, "watchers_count": 0,
		"created_at": timestamp(r.created), "pushed_at": timestamp(r.created), "updated_at": timestamp(r.created),
		"permissions": permissionsDoc(c.roleOf(r)),
	}
	for name, rest := range below {
		d[name] = c.api(r, "") + rest
	}
	return d
}

func (g *GitHub) forks(r *gitRepository) int {
	count := 0
	for _, other := range g.repos {
		if other.parent == r {
			count++
		}
	}
	return count
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

// touches reports whether a path differs from every parent's.
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

// repositoryCommitDoc is a commit in GitHub's form, with users.
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
			"verification": c.verificationDoc(commit), "comment_count": 0,
		},
		"comments_url": c.api(c.repo, "/commits/%s/comments", commit.Hash),
		"author":       c.knownUser(commit.Author.Email),
		"committer":    c.knownUser(commit.Committer.Email),
		"parents":      c.parentDocs(commit, "/commits/%s"),
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

// compare returns the commits of the head that the base lacks.
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
	commits := ahead[:min(len(ahead), maxCompareCommits)]
	if query := c.URL.Query(); query.Has("page") || query.Has("per_page") {
		commits = page(c, ahead)
		if number(query.Get("page"), 1) > 1 {
			files = nil // the first page has all of them
		}
	}
	web := c.web(c.repo, "/compare/%s...%s", baseName, headName)
	return doc{
		"url":      c.api(c.repo, "/compare/%s...%s", baseName, headName),
		"html_url": web, "permalink_url": web, "diff_url": web + ".diff", "patch_url": web + ".patch",
		"base_commit": c.repositoryCommitDoc(base), "merge_base_commit": c.repositoryCommitDoc(fork),
		"status": compareStatus(len(ahead), len(behind)), "ahead_by": len(ahead), "behind_by": len(behind),
		"total_commits": len(ahead),
		"commits":       each(commits, c.repositoryCommitDoc),
		"files":         append([]doc{}, files[:min(len(files), maxCompareFiles)]...),
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

// ownedCommit finds a commit by name. The name may begin with an owner in the
// repository's network.
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

// fileDocs lists the files that differ between two commits. The zero hash means
// an empty tree. A rename is a removal and an addition; GitHub detects renames.
func (c *apiCall) fileDocs(before, after plumbing.Hash) ([]doc, error) {
	var from *object.Tree
	if !before.IsZero() {
		var err error
		from, err = c.repo.treeOf(before)
		if err != nil {
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
		"raw_url":      c.web(c.repo, "/raw/%s/%s", commit, entry.Name),
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

// contentAnswer is one file with its content. It describes links, but does not
// follow them.
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
	d["_links"] = doc{"self": d["url"], "git": d["git_url"], "html": d["html_url"]}
	d["download_url"] = c.web(c.repo, "/raw/%s/%s", ref, name)
	switch e.mode {
	case filemode.Dir:
		d["type"], d["download_url"], d["git_url"] = "dir", nil, c.api(c.repo, "/git/trees/%s", e.hash)
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
