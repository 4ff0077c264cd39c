package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

var pullRoutes = []route{
	{"GET", "/repos/{owner}/{repo}/pulls", http.StatusOK, (*apiCall).listPulls, readPulls},
	{"POST", "/repos/{owner}/{repo}/pulls", http.StatusCreated, (*apiCall).createPull, proposeChanges},
	{"GET", "/repos/{owner}/{repo}/pulls/{number}", http.StatusOK, (*apiCall).getPull, readPulls},
	{"PATCH", "/repos/{owner}/{repo}/pulls/{number}", http.StatusOK, (*apiCall).editPull, proposeChanges},
	{"GET", "/repos/{owner}/{repo}/pulls/{number}/commits", http.StatusOK, (*apiCall).pullCommits, readPulls},
	{"GET", "/repos/{owner}/{repo}/pulls/{number}/files", http.StatusOK, (*apiCall).pullFiles, readPulls},
}

// Limits of a pull request's texts, in characters.
const (
	maxTitle = 256
	maxBody  = 65_536
)

// pullRequest is a pull request, with the issue of the same number. An issue
// alone has no head.
type pullRequest struct {
	id          int64
	number      int
	title, body string
	author      string
	draft       bool
	modifiable  bool // maintainers may push, if it is from a fork

	headRepo   *gitRepository
	head, base string // branches
	headSHA    plumbing.Hash
	// baseSHA is the commit of the base when the head last moved. GitHub does not
	// move it with the base.
	baseSHA plumbing.Hash

	open     bool
	mergeSHA plumbing.Hash // not zero if merged
	// tested is the test merge of the head into the base. It lags behind a base that moves,
	// and stays where both conflict.
	tested                   plumbing.Hash
	closedBy                 string
	created, updated, closed time.Time

	labels, assignees        []string
	reviewers, teamReviewers []string // people and teams asked for a review
	milestone                int      // its number; 0 is none
	locked                   bool
	autoMerge                *autoMerge
	refusals                 int // of auto-merge that came too soon
	opinions                 []opinion
	checked                  plumbing.Hash          // the head whose checks have passed
	queued                   plumbing.ReferenceName // its ref in the merge queue; empty if it is not queued
	ejections                int                    // from the queue, by a push
	computed                 string                 // the heads for which the state of the merge was computed
	computedAs               string                 // the last computed state
	comments                 []*issueComment
	before, editor           string // the body before the last edit, and its editor
	editedAt                 time.Time
	gone                     gone // of an issue; empty if it is there
}

// isPull separates pull requests from issues.
func (p *pullRequest) isPull() bool { return p.headRepo != nil }

// page is the word in the address of an issue's page.
func (p *pullRequest) page() string {
	if p.isPull() {
		return "pull"
	}
	return "issues"
}

func (p *pullRequest) state() string {
	if p.open {
		return "open"
	}
	return "closed"
}

func (p *pullRequest) merged() bool { return !p.mergeSHA.IsZero() }

// label is the head in GitHub's form: owner:branch.
func (p *pullRequest) label() string { return p.headRepo.owner + ":" + p.head }

// pulls returns the pull requests by number.
func (r *gitRepository) pulls() []*pullRequest {
	return slices.DeleteFunc(slices.Clone(r.issues), func(p *pullRequest) bool { return !p.isPull() })
}

func (r *gitRepository) open() []*pullRequest {
	return slices.DeleteFunc(r.pulls(), func(p *pullRequest) bool { return !p.open })
}

// inNetwork finds the owner's repository among this one and its forks.
func (g *GitHub) inNetwork(r *gitRepository, owner string) *gitRepository {
	for _, other := range g.sorted() {
		if strings.EqualFold(other.owner, owner) && (other == r || other.parent == r || r.parent == other) {
			return other
		}
	}
	return nil
}

// updateRefs moves refs and lets pull requests follow.
func (g *GitHub) updateRefs(r *gitRepository, by string, updates ...refUpdate) error {
	if err := r.update(updates...); err != nil {
		return err
	}
	for _, u := range updates {
		for _, repo := range g.sorted() {
			for _, p := range repo.open() {
				g.follow(repo, p, refMove{u, r, by})
			}
		}
	}
	return nil
}

// refMove is a completed update of a ref.
type refMove struct {
	refUpdate
	at *gitRepository
	by string
}

// follow applies a moved ref to a pull request. The head follows its branch. A
// deleted head or base closes it, and so does a head without new commits. A base
// that contains the head has merged it.
func (g *GitHub) follow(r *gitRepository, p *pullRequest, m refMove) {
	isHead := m.at == p.headRepo && m.name == plumbing.NewBranchReferenceName(p.head)
	isBase := m.at == r && m.name == plumbing.NewBranchReferenceName(p.base)
	switch {
	case !isHead && !isBase:
		return
	case m.after.IsZero():
		g.close(r, p, m.by)
	case isHead:
		before := p.headSHA
		p.headSHA, p.baseSHA, p.updated = m.after, r.branch(p.base), g.now()
		r.setPullRefs(p)
		r.dismiss(p, before)
		if p.queued != "" { // any push [renovatebot/renovate#45252]
			r.dequeue(p)
			p.ejections++
		}
		if r.contains(p.baseSHA, p.headSHA) {
			g.close(r, p, m.by)
		}
	case r.contains(m.after, p.headSHA):
		g.close(r, p, m.by)
		p.mergeSHA = m.after
	}
}

// setPullRefs updates refs/pull/N/head, under which GitHub shows heads of forks, and
// refs/pull/N/merge.
func (r *gitRepository) setPullRefs(p *pullRequest) {
	r.setPullRef(p, "head", p.headSHA)
	r.testMerge(p)
}

func (r *gitRepository) setPullRef(p *pullRequest, which string, to plumbing.Hash) {
	name := plumbing.ReferenceName(fmt.Sprintf("refs/pull/%d/%s", p.number, which))
	r.git.ReferenceStorage[name] = plumbing.NewHashReference(name, to)
}

// testMerge merges the head into the base as it is now, for a test. If they conflict, the
// last test merge stays.
// https://docs.github.com/en/rest/guides/using-the-rest-api-to-interact-with-your-git-database#checking-mergeability-of-pull-requests
func (r *gitRepository) testMerge(p *pullRequest) {
	base := r.branch(p.base)
	tree, err := r.mergeTrees(base, p.headSHA)
	if err != nil || r.settings.MergeStates == neverComputed {
		return
	}
	who := object.Signature{Name: p.author, Email: noReply(p.author), When: p.updated}
	p.tested = r.writeCommit(object.Commit{
		Author: who, Committer: object.Signature{Name: "GitHub", Email: "noreply@github.com", When: who.When},
		Message:  fmt.Sprintf("Merge %s into %s", p.headSHA, base),
		TreeHash: tree, ParentHashes: []plumbing.Hash{base, p.headSHA},
	})
	r.setPullRef(p, "merge", p.tested)
}

func (g *GitHub) close(r *gitRepository, p *pullRequest, by string) {
	r.dequeue(p)
	p.open, p.closedBy, p.closed = false, by, g.now()
	p.updated, p.autoMerge = p.closed, nil
}

func (c *apiCall) listPulls() (any, error) {
	query := c.URL.Query()
	state := cmp.Or(query.Get("state"), "open")
	pulls := slices.DeleteFunc(c.repo.pulls(), func(p *pullRequest) bool {
		return state != "all" && p.state() != state ||
			!matchesHead(p, query.Get("head")) ||
			query.Get("base") != "" && p.base != query.Get("base")
	})
	sortPulls(pulls, query.Get("sort"), query.Get("direction"))
	return each(page(c, pulls), c.pullDoc), nil
}

// matchesHead filters by owner:branch. GitHub ignores a filter without an owner,
// and returns all pull requests.
func matchesHead(p *pullRequest, filter string) bool {
	owner, branch, ok := strings.Cut(filter, ":")
	return !ok || strings.EqualFold(owner, p.headRepo.owner) && branch == p.head
}

// sortPulls sorts by an order: newest first by default, else the lowest first.
func sortPulls(pulls []*pullRequest, by, direction string) {
	compare := func(a, b *pullRequest) int { return a.created.Compare(b.created) }
	switch by {
	case "updated":
		compare = func(a, b *pullRequest) int { return a.updated.Compare(b.updated) }
	case "popularity":
		compare = func(a, b *pullRequest) int { return cmp.Compare(len(a.comments), len(b.comments)) }
	case "long-running":
		compare = func(a, b *pullRequest) int { return b.created.Compare(a.created) }
	}
	slices.SortStableFunc(pulls, compare)
	if direction == "desc" || direction == "" && (by == "" || by == "created") {
		slices.Reverse(pulls)
	}
}

// newPull is a request to open a pull request.
type newPull struct {
	Title, Body, Head, Base string
	Draft                   bool
	MaintainerCanModify     bool `json:"maintainer_can_modify"`
}

func (c *apiCall) createPull() (any, error) {
	var in newPull
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if c.who.workflow() && c.repo.settings.ForbidActionsPulls {
		return nil, refusal(http.StatusForbidden, "GitHub Actions is not permitted to create or approve pull requests.")
	}
	p, err := c.hub.openPull(c.repo, in, c.who.Login)
	if err != nil {
		return nil, err
	}
	return c.fullPullDoc(p)
}

func (g *GitHub) openPull(r *gitRepository, in newPull, by string) (*pullRequest, error) {
	if err := checkTexts("PullRequest", &in.Title, &in.Body); err != nil {
		return nil, err
	}
	headRepo, head := r, in.Head
	if owner, branch, ok := strings.Cut(in.Head, ":"); ok {
		headRepo, head = g.inNetwork(r, owner), branch
	}
	if headRepo == nil || headRepo.branch(head).IsZero() {
		return nil, invalid("PullRequest", "head", "invalid", "")
	}
	if r.branch(in.Base).IsZero() {
		return nil, invalid("PullRequest", "base", "invalid", "")
	}
	p := &pullRequest{
		number: len(r.issues) + 1, title: in.Title, body: in.Body, author: by,
		draft: in.Draft, modifiable: in.MaintainerCanModify && headRepo != r,
		headRepo: headRepo, head: head, base: in.Base,
		headSHA: headRepo.branch(head), baseSHA: r.branch(in.Base), open: true,
	}
	if err := r.mayOpen(p); err != nil {
		return nil, err
	}
	p.id, p.created = g.nextID(), g.now()
	p.updated = p.created
	r.issues = append(r.issues, p)
	r.setPullRefs(p)
	return p, nil
}

// mayOpen refuses a second open pull request of the same branches, and one
// without changes.
func (r *gitRepository) mayOpen(p *pullRequest) error {
	for _, other := range r.open() {
		if other != p && other.headRepo == p.headRepo && other.head == p.head && other.base == p.base {
			return invalid("PullRequest", "", "custom", "A pull request already exists for "+p.label()+".")
		}
	}
	head, err := r.commit(p.headSHA)
	if err != nil {
		return err
	}
	base, err := r.commit(r.branch(p.base))
	if err != nil {
		return err
	}
	if _, ok := r.mergeBase(head, base); !ok {
		return invalid("PullRequest", "", "custom", fmt.Sprintf("The %s branch has no history in common with %s", p.head, p.base))
	}
	if r.contains(base.Hash, head.Hash) {
		return invalid("PullRequest", "", "custom", fmt.Sprintf("No commits between %s and %s", p.base, p.head))
	}
	return nil
}

// checkTexts refuses missing texts and texts that are too long. Nil means not
// given.
func checkTexts(resource string, title, body *string) error {
	switch {
	case title != nil && strings.TrimSpace(*title) == "":
		return invalid(resource, "title", "missing_field", "")
	case title != nil && utf8.RuneCountInString(*title) > maxTitle:
		return invalid(resource, "title", "custom", fmt.Sprintf("title is too long (maximum is %d characters)", maxTitle))
	case body != nil && utf8.RuneCountInString(*body) > maxBody:
		return invalid(resource, "body", "custom", fmt.Sprintf("body is too long (maximum is %d characters)", maxBody))
	}
	return nil
}

// pull returns the pull request that the path names.
func (c *apiCall) pull() (*pullRequest, error) {
	p, err := c.issue()
	if err != nil || !p.isPull() {
		return nil, errNotFound
	}
	return p, nil
}

func (c *apiCall) getPull() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	return c.fullPullDoc(p)
}

func (c *apiCall) editPull() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	if p.author != c.who.Login && !c.roleOf(c.repo).includes(RoleWrite) && !c.who.Bot {
		return nil, c.refuse()
	}
	var in struct {
		Title, Body, State, Base *string
		MaintainerCanModify      *bool `json:"maintainer_can_modify"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := checkTexts("PullRequest", in.Title, in.Body); err != nil {
		return nil, err
	}
	if err := c.repo.retarget(p, deref(in.Base, p.base)); err != nil {
		return nil, err
	}
	if err := c.setState(p, in.State); err != nil {
		return nil, err
	}
	p.title, p.body = deref(in.Title, p.title), deref(in.Body, p.body)
	p.modifiable = deref(in.MaintainerCanModify, p.modifiable)
	p.updated = c.hub.now()
	return c.fullPullDoc(p)
}

func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// retarget changes the base branch of an open pull request.
func (r *gitRepository) retarget(p *pullRequest, base string) error {
	if base == p.base {
		return nil
	}
	if !p.open {
		return invalid("PullRequest", "base", "invalid", "Cannot change base branch of closed pull request")
	}
	if r.branch(base).IsZero() {
		return invalid("PullRequest", "base", "invalid", fmt.Sprintf("Proposed base branch '%s' was not found", base))
	}
	moved := *p
	moved.base = base
	if err := r.mayOpen(&moved); err != nil {
		return err
	}
	p.base, p.baseSHA = base, r.branch(base)
	r.testMerge(p)
	if rules := r.protection(base); rules != nil && rules.DismissStale {
		p.opinions = nil // "The base branch was changed" [orgs/community#45921]
	}
	return nil
}

// setState closes or reopens.
func (c *apiCall) setState(p *pullRequest, state *string) error {
	if state == nil || *state == p.state() {
		return nil
	}
	switch *state {
	case "closed":
		c.hub.close(c.repo, p, c.who.Login)
		return nil
	case "open":
		return c.repo.reopen(p)
	}
	return invalid("PullRequest", "state", "invalid", "")
}

// reopen opens a closed issue or pull request again. It refuses a merged one, and
// one whose branch is deleted or rewritten.
func (r *gitRepository) reopen(p *pullRequest) error {
	if !p.isPull() {
		p.open, p.closedBy, p.closed = true, "", time.Time{}
		return nil
	}
	head := p.headRepo.branch(p.head)
	switch {
	case p.merged():
		return invalid("PullRequest", "state", "invalid", "state cannot be changed. The pull request cannot be reopened.")
	case head.IsZero():
		return invalid("PullRequest", "state", "invalid", fmt.Sprintf("state cannot be changed. The %s branch has been deleted.", p.head))
	case !r.contains(head, p.headSHA):
		return invalid("PullRequest", "state", "invalid", fmt.Sprintf("state cannot be changed. The %s branch was force-pushed or recreated.", p.head))
	}
	again := *p
	again.headSHA = head
	if err := r.mayOpen(&again); err != nil {
		return err
	}
	p.open, p.closedBy, p.closed = true, "", time.Time{}
	p.headSHA, p.baseSHA = head, r.branch(p.base)
	r.setPullRefs(p)
	return nil
}

// proposed returns the commits of a pull request, oldest first, and the commit
// where they leave the base.
func (r *gitRepository) proposed(p *pullRequest) ([]*object.Commit, *object.Commit, error) {
	head, err := r.commit(p.headSHA)
	if err != nil {
		return nil, nil, err
	}
	base, err := r.commit(p.baseSHA)
	if err != nil {
		return nil, nil, err
	}
	commits, err := r.log(head, base)
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(commits)
	fork, ok := r.mergeBase(base, head)
	if !ok {
		fork = base
	}
	return commits, fork, nil
}

func (c *apiCall) pullCommits() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	commits, _, err := c.repo.proposed(p)
	if err != nil {
		return nil, err
	}
	return each(page(c, commits[:min(len(commits), maxCompareCommits)]), c.repositoryCommitDoc), nil
}

func (c *apiCall) pullFiles() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	_, fork, err := c.repo.proposed(p)
	if err != nil {
		return nil, err
	}
	files, err := c.fileDocs(fork.Hash, p.headSHA)
	if err != nil {
		return nil, err
	}
	return page(c, files), nil
}

// pullDoc is a pull request as lists show it.
func (c *apiCall) pullDoc(p *pullRequest) doc {
	d := doc{
		"id": p.id, "node_id": fmt.Sprintf("PR_%d", p.id), "number": p.number,
		"state": p.state(), "locked": p.locked, "active_lock_reason": nil, "draft": p.draft,
		"title": p.title, "body": emptyIsNull(p.body), "user": c.userDoc(p.author),
		"labels": each(p.labels, c.labelDoc), "assignee": nil, "assignees": each(p.assignees, c.userDoc),
		"requested_reviewers": each(p.reviewers, c.userDoc), "requested_teams": each(p.teamReviewers, c.teamDoc),
		"milestone": c.milestoneDoc(p.milestone), "auto_merge": c.autoMergeDoc(p),
		"created_at": timestamp(p.created), "updated_at": timestamp(p.updated),
		"closed_at": maybeTime(p.closed), "merged_at": nil, "merge_commit_sha": nil,
		"author_association": c.repo.association(p.author),
		"head":               c.branchDoc(p.headRepo, p.head, p.headSHA),
		"base":               c.branchDoc(c.repo, p.base, p.baseSHA),
	}
	if len(p.assignees) > 0 {
		d["assignee"] = c.userDoc(p.assignees[0])
	}
	maps.Copy(d, c.pullAddresses(p))
	switch {
	case p.merged():
		d["merged_at"], d["merge_commit_sha"] = maybeTime(p.closed), p.mergeSHA.String()
	case !p.tested.IsZero():
		d["merge_commit_sha"] = p.tested.String()
	}
	return d
}

// pullAddresses are the URLs of a pull request.
func (c *apiCall) pullAddresses(p *pullRequest) doc {
	page, pull, issue := c.web(c.repo, "/pull/%d", p.number), c.api(c.repo, "/pulls/%d", p.number), c.api(c.repo, "/issues/%d", p.number)
	comments, statuses := c.api(c.repo, "/pulls/comments{/number}"), c.api(c.repo, "/statuses/%s", p.headSHA)
	link := func(url string) doc { return doc{"href": url} }
	return doc{
		"url": pull, "html_url": page, "diff_url": page + ".diff", "patch_url": page + ".patch", "issue_url": issue,
		"commits_url": pull + "/commits", "review_comments_url": pull + "/comments", "review_comment_url": comments,
		"comments_url": issue + "/comments", "statuses_url": statuses,
		"_links": doc{
			"self": link(pull), "html": link(page), "issue": link(issue), "comments": link(issue + "/comments"),
			"review_comments": link(pull + "/comments"), "review_comment": link(comments),
			"commits": link(pull + "/commits"), "statuses": link(statuses),
		},
	}
}

// fullPullDoc is a single pull request. mergeable is null: GitHub computes it at
// any time, so no client may depend on it. The state is computed when a client
// asks.
func (c *apiCall) fullPullDoc(p *pullRequest) (doc, error) {
	commits, fork, err := c.repo.proposed(p)
	if err != nil {
		return nil, err
	}
	files, err := c.fileDocs(fork.Hash, p.headSHA)
	if err != nil {
		return nil, err
	}
	d := c.pullDoc(p)
	stats := statsDoc(files)
	d["merged"], d["merged_by"] = p.merged(), nil
	if p.merged() {
		d["merged_by"] = c.userDoc(p.closedBy)
	}
	d["mergeable"], d["rebaseable"], d["mergeable_state"] = nil, nil, strings.ToLower(c.repo.computedState(p))
	d["maintainer_can_modify"] = p.modifiable
	d["comments"], d["review_comments"] = len(p.comments), 0
	d["commits"], d["changed_files"] = len(commits), len(files)
	d["additions"], d["deletions"] = stats["additions"], stats["deletions"]
	return d, nil
}

func (c *apiCall) branchDoc(r *gitRepository, branch string, sha plumbing.Hash) doc {
	return doc{
		"label": r.owner + ":" + branch, "ref": branch, "sha": sha.String(),
		"user": c.userDoc(r.owner), "repo": c.repositoryDoc(r),
	}
}

func emptyIsNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
