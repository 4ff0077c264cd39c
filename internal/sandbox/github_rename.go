package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

var branchRoutes = []route{
	{"GET", "/repos/{owner}/{repo}/branches/{branch...}", http.StatusOK, (*apiCall).getBranch, readContents},
}

// getBranch answers with a branch. Only this endpoint knows the new name of a
// renamed branch; no other one has the old name [google/go-github#1895]. A
// missing branch named master redirects to the default branch, renamed or not
// [github/rest-api-description#7096].
func (c *apiCall) getBranch() (any, error) {
	name := c.PathValue("branch")
	head, err := c.repo.commit(c.repo.branch(name))
	if err == nil {
		url := c.api(c.repo, "/branches/%s", name)
		return doc{
			"name": name, "commit": c.repositoryCommitDoc(head), "protected": c.repo.protection(name) != nil,
			"protection_url": url + "/protection", "protection": doc{},
			"_links": doc{"self": url, "html": c.web(c.repo, "/tree/%s", name)},
		}, nil
	}
	now := c.repo.renamed[name]
	if now == "" && name == "master" {
		now = c.repo.defaultBranch
	}
	if now == "" {
		return nil, refusal(http.StatusNotFound, "Branch not found")
	}
	return c.redirect(http.StatusMovedPermanently, c.api(c.repo, "/branches/%s", now)), nil
}

// redirect leads to another address, in GitHub's words.
func (c *apiCall) redirect(status int, to string) rawAnswer {
	c.header.Set("Location", to)
	return encode(doc{"message": "Moved Permanently", "url": to, "documentation_url": "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api#follow-redirects"}, status)
}

// moved answers for the former name of a repository, with its address by ID. A
// client must repeat a write there unchanged.
// https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#follow-redirects
func (c *apiCall) moved(r *gitRepository) rawAnswer {
	status := http.StatusTemporaryRedirect
	if c.Method == http.MethodGet {
		status = http.StatusMovedPermanently
	}
	_, rest, _ := strings.Cut(c.URL.EscapedPath(), "/repos/"+c.PathValue("owner")+"/"+c.PathValue("repo"))
	to := c.origin() + restPath + "/repositories/" + strconv.FormatInt(r.id, 10) + rest
	if c.URL.RawQuery != "" {
		to += "?" + c.URL.RawQuery
	}
	return c.redirect(status, to)
}

// byID turns a request for a repository's ID into one for its name.
func (g *GitHub) byID(r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, restPath+"/repositories/")
	if !ok {
		return
	}
	id, rest, _ := strings.Cut(rest, "/")
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, repo := range g.repos {
		if strconv.FormatInt(repo.id, 10) == id {
			r.URL.Path, r.URL.RawPath = path.Join(restPath, "repos", repo.fullName(), rest), ""
		}
	}
}

// RenameBranch renames a branch. Open pull requests to it get the new name; one
// from it is closed.
// https://docs.github.com/en/repositories/configuring-branches-and-merges-in-your-repository/managing-branches-in-your-repository/renaming-a-branch
func (g *GitHub) RenameBranch(repo, old, now string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.catchUp()
	r, err := g.repository(repo)
	if err != nil {
		return err
	}
	from, to := plumbing.NewBranchReferenceName(old), plumbing.NewBranchReferenceName(now)
	head := r.ref(from)
	if head.IsZero() || !r.ref(to).IsZero() {
		return fmt.Errorf("%s cannot be renamed to %s", old, now)
	}
	for _, p := range r.open() {
		switch {
		case p.headRepo == r && p.head == old:
			g.close(r, p, firstUser)
		case p.base == old:
			r.dequeue(p)
			p.base = now
		}
	}
	delete(r.git.ReferenceStorage, from)
	r.git.ReferenceStorage[to] = plumbing.NewHashReference(to, head)
	if r.defaultBranch == old {
		r.defaultBranch = now
	}
	if rules, ok := r.settings.Protect[old]; ok {
		delete(r.settings.Protect, old)
		r.settings.Protect[now] = rules
	}
	r.renamed[old] = now
	delete(r.renamed, now)
	return nil
}

// Move gives a repository another owner or name; its old address leads to the new
// one.
func (g *GitHub) Move(repo, to string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.repository(repo)
	if err != nil {
		return err
	}
	owner, name, ok := strings.Cut(to, "/")
	if !ok || g.repos[repoKey(owner, name)] != nil {
		return fmt.Errorf("%s cannot be moved to %s", repo, to)
	}
	g.reinstall(r, owner, name)
	delete(g.repos, repoKey(r.owner, r.name))
	g.moved[repoKey(r.owner, r.name)] = r
	r.owner, r.name = owner, name
	g.repos[repoKey(owner, name)] = r
	return nil
}

// reinstall keeps installations of a repository after a new name. After a new
// owner, neither an installation nor a token of the former owner reaches it
// [docs:
// docs.github.com/en/repositories/creating-and-managing-repositories/transferring-a-repository].
func (g *GitHub) reinstall(r *gitRepository, owner, name string) {
	follow := func(names []string) []string {
		i := slices.Index(names, r.fullName())
		if i < 0 {
			return names
		}
		names = slices.Clone(names)
		if owner != r.owner {
			return slices.Delete(names, i, i+1)
		}
		names[i] = owner + "/" + name
		return names
	}
	for _, app := range g.apps {
		for _, in := range app.installations {
			in.repositories = follow(in.repositories)
		}
	}
	for token, who := range g.tokens {
		if who.app != nil {
			who.Repositories = follow(who.Repositories)
			g.tokens[token] = who
		}
	}
}

// Suspend keeps an App from acting in its installations, or lets it act again.
func (g *GitHub) Suspend(slug string, suspended bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, app := range g.apps {
		if app.Slug == slug {
			app.suspended = suspended
			return nil
		}
	}
	return fmt.Errorf("no App %s", slug)
}

var (
	errSuspended = refusal(http.StatusForbidden, "This installation has been suspended")
	errArchived  = refusal(http.StatusForbidden, "Repository was archived so is read-only.")
)

// BranchRule is a ruleset about the names of branches.
type BranchRule struct {
	// Branches is a pattern of path.Match; a final "**" matches any rest.
	Branches string
	// NoCreation, NoForce and NoDeletion forbid these updates. Signed demands
	// signed commits.
	NoCreation bool `yaml:"no_creation"`
	NoForce    bool `yaml:"no_force"`
	NoDeletion bool `yaml:"no_deletion"`
	Signed     bool
	// Message is the demanded beginning of every commit's message. Path is a path
	// that no commit may change.
	Message, Path string
}

// obeys returns the first rule that an update of a branch breaks. GitHub reports
// all of them.
func (r *gitRepository) obeys(u refUpdate) error {
	now := r.ref(u.name)
	if now.IsZero() && !u.after.IsZero() && r.besideBranch(u.name) {
		return unprocessable("Reference update failed")
	}
	broken := func(what string) error {
		return unprocessable("Repository rule violations found\n\n%s\n\n", what)
	}
	for _, rule := range r.settings.Rules {
		if !u.name.IsBranch() || !rule.about(u.name.Short()) {
			continue
		}
		switch {
		case now.IsZero() && !u.after.IsZero() && rule.NoCreation:
			return broken("Cannot create ref due to creations being restricted.")
		case u.after.IsZero() && rule.NoDeletion:
			return broken("Cannot delete this branch")
		case !u.after.IsZero() && !now.IsZero() && rule.NoForce && !r.contains(u.after, now):
			return broken("Cannot force-push to this branch")
		case !u.after.IsZero() && !strings.HasPrefix(r.message(u.after), rule.Message):
			return broken("Commit message must start with a matching pattern: " + rule.Message)
		case !u.after.IsZero() && rule.Path != "" && r.changesPath(u.after, rule.Path):
			return broken("File path is restricted: " + rule.Path)
		case !u.after.IsZero() && rule.Signed && !r.allSigned(u.after, now):
			return broken("Commits must have verified signatures.")
		}
	}
	return nil
}

// besideBranch reports whether a branch needs the name as a directory. git cannot
// have a reference of that name then.
func (r *gitRepository) besideBranch(name plumbing.ReferenceName) bool {
	for dir := path.Dir(name.String()); strings.Count(dir, "/") >= 2; dir = path.Dir(dir) {
		if !r.ref(plumbing.ReferenceName(dir)).IsZero() {
			return true
		}
	}
	return false
}

// message is the message of a commit; empty without a commit.
func (r *gitRepository) message(commit plumbing.Hash) string {
	c, err := object.GetCommit(r.git, commit)
	if err != nil {
		return ""
	}
	return c.Message
}

// changesPath reports whether a commit and its first parent differ at a path.
func (r *gitRepository) changesPath(commit plumbing.Hash, name string) bool {
	c, err := object.GetCommit(r.git, commit)
	if err != nil || c.NumParents() == 0 {
		return false
	}
	parent, err := c.Parent(0)
	if err != nil {
		return false
	}
	now, gone := c.File(name)
	before, none := parent.File(name)
	return (gone == nil) != (none == nil) || gone == nil && now.Hash != before.Hash
}

func (b BranchRule) about(branch string) bool {
	if prefix, ok := strings.CutSuffix(b.Branches, "**"); ok {
		return strings.HasPrefix(branch, prefix)
	}
	ok, err := path.Match(b.Branches, branch)
	return ok && err == nil
}

// allSigned reports whether GitHub has signed every commit that is new to a
// branch. New commits of its base count, too: one unsigned commit there blocks
// every branch that takes it [peanutprotocol/peanut-ui#2487].
func (r *gitRepository) allSigned(after, before plumbing.Hash) bool {
	if before.IsZero() {
		before = r.branch(r.defaultBranch)
	}
	head, err := r.commit(after)
	if err != nil {
		return false
	}
	had, err := r.commit(before)
	if err != nil {
		return false
	}
	log, err := r.log(head, had)
	for _, c := range log {
		if !r.signed[c.Hash] {
			return false
		}
	}
	return err == nil
}

// workflowTouched is a workflow in which a commit differs from its first parent.
// To put such a commit on a branch, a token needs the permission for workflows. A
// merge of a base that changed a workflow is such a commit [chdsbd/kodiak#853].
// The sandbox does not refuse a branch on such a base that touches no workflow:
// no document or report says that GitHub does.
func (c *apiCall) workflowTouched(r *gitRepository, after, before plumbing.Hash) string {
	if c.who.Permissions == nil || c.who.Permissions["workflows"] == "write" || after.IsZero() {
		return ""
	}
	head, err := r.commit(after)
	if err != nil || len(head.ParentHashes) == 0 || after == before {
		return ""
	}
	parent, err := r.commit(head.ParentHashes[0])
	if err != nil {
		return ""
	}
	old, err := r.readTree(parent.TreeHash)
	if err != nil {
		return ""
	}
	now, err := r.readTree(head.TreeHash)
	if err != nil {
		return ""
	}
	touched := old.differing(now)
	i := slices.IndexFunc(touched, func(name string) bool { return strings.HasPrefix(name, ".github/workflows/") })
	if i < 0 {
		return ""
	}
	return touched[i]
}

// mayHold says why the caller's token may not put a commit on a branch.
func (c *apiCall) mayHold(r *gitRepository, u refUpdate) error {
	if r.settings.Archived {
		return errArchived
	}
	if name := c.workflowTouched(r, u.after, r.ref(u.name)); name != "" {
		return refusal(http.StatusForbidden, fmt.Sprintf("refusing to allow a GitHub App to create or update workflow `%s` without `workflows` permission", name))
	}
	return nil
}

// asGraphQL is a refusal of REST in GraphQL's form.
func asGraphQL(err error) error {
	var e *apiError
	if !errors.As(err, &e) {
		return err
	}
	kind := "UNPROCESSABLE"
	if e.status == http.StatusForbidden {
		kind = "FORBIDDEN"
	}
	return &gqlError{kind: kind, message: e.message}
}

// WithoutGraphQL removes GraphQL, as a proxy does that only passes REST.
func (g *GitHub) WithoutGraphQL() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.schema = nil
}

// WithoutMergeQueues removes the fields that servers without merge queues lack.
func (g *GitHub) WithoutMergeQueues() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.schema = without(g.schema, "PullRequest", "isInMergeQueue")
}
