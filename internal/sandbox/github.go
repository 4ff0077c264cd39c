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

// Identity is whom a token speaks for.
type Identity struct {
	Login string
	// Bot says that the token is an App's or a workflow's: GitHub signs its
	// commits and has no user to tell of. What it may do follows from its
	// permissions alone, what a person's may from the person's roles.
	Bot bool
	// Permissions are the token's, by GitHub's names, as in "contents":
	// "write". Nil leaves a person's token all that the person may do.
	Permissions map[string]string
	// Repositories are those that the token is for, OWNER/NAME; nil: all.
	Repositories []string
	// Expires is when the token ends, by the machine's clock; zero: never.
	Expires time.Time

	app          *registeredApp // of a token that an App was given
	installation int64          // that the token is of; 0: none
	given        time.Time      // when the App was, by the machine's clock
}

// GitHub is GitHub's API over real git objects, as an http.Handler. REST is
// below /github/api/v3/ and GraphQL at /github/api/graphql, as on GitHub
// Enterprise Server.
//
// Its exported methods are what people do with a web browser or git, and what
// a test wants to see. Repositories are named OWNER/NAME. All methods may be
// called at any time, also while requests are served.
//
// Time in it is a counter, so that the same acts give the same commits. Only
// the hours of limits and the lives of tokens are the machine's, or a test's.
type GitHub struct {
	mu      sync.Mutex   // held for the whole of a request or method
	handler http.Handler // the routes and what wraps them
	repos   map[string]*gitRepository
	moved   map[string]*gitRepository // by the names that they had
	tokens  map[string]Identity
	apps    map[int64]*registeredApp
	rates   map[string]*rate
	clock   time.Time
	lastID  int64    // of what was made
	later   []func() // what GitHub does after it has answered
	asked   int64    // requests
	// treeLimit is how many entries of a recursive tree are listed.
	treeLimit int
	tokenLife time.Duration // of installations
	doubts    doubts        // about their tokens
	machine   func() time.Time
	contents  contentLimit
	points    pointLimit
	listing   int         // the most repositories that GraphQL lists at once; 0: any number
	schema    *ast.Schema // of GraphQL; nil: there is none
	host      string      // under which events name it
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

// workflowPermissions are those of a GITHUB_TOKEN that relock can use.
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

// Admit makes a token valid, or changes whom it speaks for.
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

// now advances the counter that stands for the clock.
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

// noReply is the address that GitHub gives a user who keeps theirs private.
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

// userID is GitHub's own for the Actions bot and made up for others.
func userID(login string) int64 {
	if login == actionsBot {
		return 41898282
	}
	return int64(crc32.ChecksumIEEE([]byte(strings.ToLower(login))))
}

// repoKey is how repositories are found: GitHub ignores case in their names.
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
