package sandbox

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/relock-dev/relock/internal/sandbox/schema"
)

// Tokens that the sandbox's GitHub knows from the start.
const (
	// ActionsToken speaks for github-actions[bot] with write permissions, as
	// GITHUB_TOKEN does in a workflow.
	ActionsToken = "ghs_sandboxActions"
	// ReadOnlyToken speaks for github-actions[bot] in a workflow whose
	// permissions say read.
	ReadOnlyToken = "ghs_sandboxReadOnly"
	// UserToken is the personal token of monalisa, who may write.
	UserToken = "ghp_sandboxUser"
)

// Identity is the owner of a token.
type Identity struct {
	Login string
	// Bot means that the token is an App's or a workflow's. GitHub signs its
	// commits, and has no user for it. Its rights come from its permissions only;
	// a person's come from the person's roles.
	Bot bool
	// Permissions are the token's, by GitHub's names, as in "contents": "write".
	// Nil gives a person's token all rights of the person.
	Permissions map[string]string
	// Repositories are the OWNER/NAMEs that the token is for; nil means all.
	Repositories []string
	// Expires is the end of the token, by the machine's clock; zero means never.
	Expires time.Time

	app          *registeredApp // if an App received the token
	installation int64          // the token is of; 0 for none
	given        time.Time      // when the App received it, by the machine's clock
}

// GitHub is GitHub's API over real git objects, as an http.Handler. REST is below
// /github/api/v3/ and GraphQL at /github/api/graphql, as on GitHub Enterprise
// Server.
//
// Its exported methods do what people do with a web browser or git, and show the
// state to tests. Repositories are named OWNER/NAME. All methods may be called at
// any time, also while requests are served.
//
// Its clock is a counter, so that the same acts give the same commits. Only the
// hours of limits and the lives of tokens use the machine's clock, or a test's.
type GitHub struct {
	mu      sync.Mutex   // held during a whole request or method
	handler http.Handler // the routes and what wraps them
	repos   map[string]*gitRepository
	moved   map[string]*gitRepository // by their former names
	tokens  map[string]Identity
	apps    map[int64]*registeredApp
	rates   map[string]*rate
	clock   time.Time
	lastID  int64    // the last ID that was given
	later   []func() // work for GitHub after its answer
	asked   int64    // requests
	// treeLimit is the highest number of entries in a recursive tree.
	treeLimit int
	tokenLife time.Duration // the life of installation tokens
	doubts    doubts        // about these tokens
	machine   func() time.Time
	contents  contentLimit
	points    pointLimit
	listing   int         // the most repositories in one list of GraphQL; 0 for any number
	schema    *ast.Schema // of GraphQL; nil for no GraphQL
	host      string      // its host in events
}

// newGitHub returns a GitHub with the repositories. Each branch of one starts
// with a commit of its own on top of the default branch's first commit.
func newGitHub(repos []Repository) (*GitHub, error) {
	g := &GitHub{
		repos:     map[string]*gitRepository{},
		moved:     map[string]*gitRepository{},
		apps:      map[int64]*registeredApp{},
		rates:     map[string]*rate{},
		clock:     time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC),
		treeLimit: maxTreeEntries,
		machine:   time.Now,
		tokenLife: installationLife,
		schema:    schema.GitHub(),
		host:      "github.test",
		tokens: map[string]Identity{
			ActionsToken:  {Login: actionsBot, Bot: true, Permissions: workflowPermissions("write")},
			ReadOnlyToken: {Login: actionsBot, Bot: true, Permissions: workflowPermissions("read")},
			UserToken:     {Login: firstUser},
		},
	}
	for _, r := range repos {
		if err := g.create(r); err != nil {
			return nil, fmt.Errorf("creating repository %s/%s: %w", r.Owner, r.Name, err)
		}
	}
	g.handler = g.routes()
	return g, nil
}

// workflowPermissions are the permissions of a GITHUB_TOKEN that relock can use.
func workflowPermissions(level string) map[string]string {
	return map[string]string{"metadata": "read", "contents": level, "pull_requests": level, "issues": level}
}

const (
	actionsBot = "github-actions[bot]"
	firstUser  = "monalisa"
)

// create makes a repository with a first commit for each branch.
func (g *GitHub) create(from Repository) error {
	files, ok := from.Branches[from.DefaultBranch]
	if !ok {
		return fmt.Errorf("no branch is named %q, its default branch", from.DefaultBranch)
	}
	key := repoKey(from.Owner, from.Name)
	if g.repos[key] != nil {
		return fmt.Errorf("it exists")
	}
	r := g.newRepository(from.Owner, from.Name, from.DefaultBranch)
	root, err := g.firstCommit(r, from.DefaultBranch, files)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(from.Branches)) {
		if name == from.DefaultBranch {
			continue
		}
		if _, err := g.firstCommit(r, name, from.Branches[name], root); err != nil {
			return err
		}
	}
	r.releases = from.Releases
	r.settings = from.Settings
	g.repos[key] = r
	return nil
}

// firstCommit commits the files and makes the branch.
func (g *GitHub) firstCommit(r *gitRepository, branch string, files map[string]File, parents ...plumbing.Hash) (plumbing.Hash, error) {
	list := listing{}
	for path, f := range files {
		if err := r.put(list, path, f); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	message := "Initial commit"
	if len(parents) > 0 {
		message = "Start " + branch
	}
	who := g.signature(firstUser)
	hash := r.writeCommit(object.Commit{
		Author: who, Committer: who, Message: message, TreeHash: r.writeTree(list), ParentHashes: parents,
	})
	return hash, r.update(refUpdate{name: plumbing.NewBranchReferenceName(branch), after: hash})
}

// ServeHTTP answers requests whose path begins with /github/.
func (g *GitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	handler := g.handler
	g.mu.Unlock()
	handler.ServeHTTP(w, r)
}

// Wrap puts a handler in front of GitHub's own, from the next request on. It
// sees what clients ask and what GitHub answers, before a fault spoils it.
func (g *GitHub) Wrap(around func(http.Handler) http.Handler) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handler = around(g.handler)
}

// Admit makes a token valid, or changes its owner.
func (g *GitHub) Admit(token string, who Identity) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tokens[token] = who
}

// TruncateTrees makes recursive trees end after that many entries, as GitHub
// does after 100,000.
func (g *GitHub) TruncateTrees(entries int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.treeLimit = entries
}

// maxTreeEntries is GitHub's limit of a recursive tree.
const maxTreeEntries = 100_000

// now advances the counter that serves as the clock.
func (g *GitHub) now() time.Time {
	g.clock = g.clock.Add(time.Second)
	return g.clock
}

func (g *GitHub) nextID() int64 {
	g.lastID++
	return g.lastID
}

func (g *GitHub) signature(login string) object.Signature {
	return object.Signature{Name: login, Email: noReply(login), When: g.now()}
}

// noReply is the address that GitHub gives a user with a private one.
func noReply(login string) string {
	return fmt.Sprintf("%d+%s%s", userID(login), login, noReplyDomain)
}

const noReplyDomain = "@users.noreply.github.com"

// loginOf returns the login in an address that noReply made, or nothing.
func loginOf(email string) string {
	local, ok := strings.CutSuffix(email, noReplyDomain)
	if !ok {
		return ""
	}
	_, login, _ := strings.Cut(local, "+")
	return login
}

// userID is the real ID of the Actions bot, and an invented one of others.
func userID(login string) int64 {
	if login == actionsBot {
		return 41898282
	}
	return int64(crc32.ChecksumIEEE([]byte(strings.ToLower(login))))
}

// repoKey is the key of a repository. GitHub ignores case in names.
func repoKey(owner, name string) string { return strings.ToLower(owner + "/" + name) }

// repository returns the repository named OWNER/NAME.
func (g *GitHub) repository(fullName string) (*gitRepository, error) {
	if r := g.repos[strings.ToLower(fullName)]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("no repository %s", fullName)
}

// sorted returns the repositories by ID, the order in which they were made.
func (g *GitHub) sorted() []*gitRepository {
	return slices.SortedFunc(maps.Values(g.repos), func(a, b *gitRepository) int { return cmp.Compare(a.id, b.id) })
}
