package pr_test

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/described"
	"github.com/relock-dev/relock/internal/sandbox/trusted"
	"github.com/relock-dev/relock/internal/transport"
)

func TestMain(m *testing.M) { os.Exit(trusted.Main(m)) }

const (
	repoName = "octo/infra"
	oldLock  = "# version 1\n"
	newLock  = "# version 2\n"
	nextLock = "# version 3\n"
)

// startWorld is a repository with two root modules, one of whose locks is
// executable.
const startWorld = `
-- github/octo/infra/main/prod/.terraform.lock.hcl --
# version 1
-- github/octo/infra/main/stage/.terraform.lock.hcl* --
# version 1
-- github/octo/infra/main/README.md --
Infrastructure.
-- settings/octo/infra --
labels: [dependencies, terraform]
-- github/octo/infra/release/README.md --
Old infrastructure.
`

// scene is a sandbox's GitHub with one repository and our view of it.
type scene struct {
	when pr.RebaseWhen
	*testing.T
	sandbox *sandbox.Sandbox
	hub     *sandbox.GitHub
	repo    *github.Repository
	waited  time.Duration
}

func newScene(t *testing.T) *scene {
	t.Helper()
	t.Parallel()
	return sceneOf(t, startWorld)
}

// sceneOf is a scene of another world.
func sceneOf(t *testing.T, text string) *scene {
	t.Helper()
	world, err := sandbox.ParseWorld(txtar.Parse([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	sb, err := sandbox.Start(world)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sb.Close)
	described.Check(t, sb.GitHub())
	s := &scene{T: t, sandbox: sb, hub: sb.GitHub()}
	s.repo = s.as(sandbox.ActionsToken, nil)
	return s
}

// as is the repository as another token sees it. wrap may stand in front of
// the connection.
func (s *scene) as(token string, wrap func(http.RoundTripper) http.RoundTripper) *github.Repository {
	s.Helper()
	conn := transport.New(transport.Options{})
	u, err := url.Parse(s.sandbox.URL())
	if err != nil {
		s.Fatal(err)
	}
	conn.Admit(transport.HostPort(u))
	client := conn.HTTP()
	if wrap != nil {
		client.Transport = wrap(client.Transport)
	}
	c, err := github.New(github.Options{Access: github.Access{API: s.sandbox.GitHubAPI(), GraphQL: s.sandbox.GraphQL(), Token: token}, HTTP: client, Clock: github.Clock{
		Now: func() time.Time { return time.Now().Add(s.waited) },
		Sleep: func(_ context.Context, d time.Duration) error {
			s.waited += d
			return nil
		},
	}})
	if err != nil {
		s.Fatal(err)
	}
	return c.Repository("octo", "infra")
}

// proposal changes both locks to the content.
func proposal(content string) pr.Proposal { return proposalFor("all", content) }

func proposalFor(group, content string) pr.Proposal {
	p := pr.New(group, "main", "", []pr.File{
		{Path: "stage/.terraform.lock.hcl", Mode: "100755", Content: []byte(content), Old: []byte(oldLock)},
		{Path: "prod/.terraform.lock.hcl", Content: []byte(content), Old: []byte(oldLock)},
	})
	p.Title = "Bump to " + strings.TrimSpace(content)
	p.Subject = p.Title
	p.Summary = "hashicorp/aws  1 -> 2"
	p.Body = safe.Const("What changes.")
	p.Labels = []string{"dependencies", "terraform"}
	return p
}

// head is where a branch stands; empty if there is none.
func (s *scene) head(branch string) string {
	s.Helper()
	refs, err := s.hub.Refs(repoName)
	if err != nil {
		s.Fatal(err)
	}
	return refs["refs/heads/"+branch]
}

// propose runs Propose on the present head of main, with fresh counters.
func (s *scene) propose(proposals ...pr.Proposal) []pr.Outcome {
	s.Helper()
	return s.proposeWith(pr.Options{}, proposals...)
}

func (s *scene) proposeWith(opts pr.Options, proposals ...pr.Proposal) []pr.Outcome {
	s.Helper()
	if opts.Base == "" {
		opts.Base = "main"
	}
	if opts.SHA == "" {
		opts.SHA = s.head(opts.Base)
	}
	opts.RebaseWhen = cmp.Or(opts.RebaseWhen, s.when)
	s.sandbox.ResetRequests()
	return pr.Propose(context.Background(), s.repo, proposals, opts)
}

// one is propose for a single outcome that must not have failed.
func (s *scene) one(proposals ...pr.Proposal) pr.Outcome {
	s.Helper()
	return s.only(s.propose(proposals...))
}

func (s *scene) only(outcomes []pr.Outcome) pr.Outcome {
	s.Helper()
	if len(outcomes) != 1 {
		s.Fatalf("Propose() = %d outcomes %+v, want 1", len(outcomes), outcomes)
	}
	if err := outcomes[0].Err; err != nil {
		s.Fatalf("Propose() failed: %v", err)
	}
	return outcomes[0]
}

func (s *scene) pulls() []sandbox.PullRequest {
	s.Helper()
	pulls, err := s.hub.Pulls(repoName)
	if err != nil {
		s.Fatal(err)
	}
	return pulls
}

// pull is the pull request of that number.
func (s *scene) pull(number int) sandbox.PullRequest {
	s.Helper()
	pulls := s.pulls()
	if number < 1 || number > len(pulls) {
		s.Fatalf("no pull request #%d among %d", number, len(pulls))
	}
	return pulls[number-1]
}

func (s *scene) commits(ref string) []sandbox.Commit {
	s.Helper()
	commits, err := s.hub.Commits(repoName, ref)
	if err != nil {
		s.Fatal(err)
	}
	return commits
}

func (s *scene) file(ref, path string) sandbox.File {
	s.Helper()
	files, err := s.hub.Files(repoName, ref)
	if err != nil {
		s.Fatal(err)
	}
	return files[path]
}

func (s *scene) push(p sandbox.Push) string {
	s.Helper()
	sha, err := s.hub.Push(repoName, p)
	if err != nil {
		s.Fatal(err)
	}
	return sha
}

// pushTo is somebody's commit on a branch.
func (s *scene) pushTo(branch, path, content string) string {
	s.Helper()
	return s.push(sandbox.Push{Branch: branch, Files: map[string]sandbox.File{path: {Mode: sandbox.ModeFile, Content: []byte(content)}}})
}

// merge merges a pull request as a person does; its branch stays.
func (s *scene) merge(number int) {
	s.Helper()
	_, err := s.hub.Merge(repoName, number, "monalisa")
	s.must(err)
}

// amend is somebody's change of our commit under its message.
func (s *scene) amend(branch string) string {
	s.Helper()
	return s.push(sandbox.Push{
		Branch: branch, Amend: true, Message: s.commits(branch)[0].Message,
		Files: map[string]sandbox.File{"prod/main.tf": {Mode: sandbox.ModeFile, Content: []byte("# fixed\n")}},
	})
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// before runs the hook once, before the first request of that kind.
func (s *scene) before(method, path string, hook func()) {
	var done atomic.Bool // the hook may send such requests itself
	s.sandbox.Before(func(r *http.Request) {
		if r.Method == method && strings.HasSuffix(r.URL.Path, path) && done.CompareAndSwap(false, true) {
			hook()
		}
	})
}

// wrote lists the requests since the last propose that could change something.
func (s *scene) wrote() []string {
	var writes []string
	for _, r := range s.sandbox.Requests() {
		if r.Method != http.MethodGet && !r.Query {
			writes = append(writes, r.String())
		}
	}
	return writes
}

// want compares an outcome's operation and number.
func (s *scene) want(o pr.Outcome, op pr.Operation, number int) {
	s.Helper()
	if o.Operation != op || o.Number != number || o.Err != nil {
		s.Errorf("outcome = %s #%d, reason %q, error %v; want %s #%d", o.Operation, o.Number, o.Reason, o.Err, op, number)
	}
}

func (s *scene) wantNoWrites() {
	s.Helper()
	if w := s.wrote(); len(w) > 0 {
		s.Errorf("requests that write: %q, want none", w)
	}
}

func (s *scene) wantRequests(atMost int) {
	s.Helper()
	if asked := s.sandbox.Requests(); len(asked) > atMost {
		s.Errorf("%d requests %v, want at most %d", len(asked), asked, atMost)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answerOf is a GraphQL answer to a request.
func answerOf(r *http.Request, body string) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)),
	}
}
