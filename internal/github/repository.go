package github

import (
	"context"
	"sync"
	"time"

	"github.com/google/go-github/v60/github"
)

// Repository makes requests about one repository with the token of a Client.
type Repository struct {
	client      *Client
	owner, name string

	mu sync.Mutex
	id string // GraphQL's node id, learnt from any answer that has it
}

// String returns OWNER/NAME.
func (r *Repository) String() string { return r.owner + "/" + r.name }

// Pause waits, on the client's clock. A caller that lost a race waits before reading
// again.
func (r *Repository) Pause(ctx context.Context, d time.Duration) error {
	return r.client.clock.Sleep(ctx, d)
}

// Now is the time on the client's clock, which tests may set.
func (r *Repository) Now() time.Time { return r.client.clock.Now() }

// DefaultBranch returns the name of the default branch. It asks GitHub each time.
func (r *Repository) DefaultBranch(ctx context.Context) (string, error) {
	repo, err := r.read(ctx)
	if err != nil {
		return "", err
	}
	return repo.GetDefaultBranch(), nil
}

func (r *Repository) read(ctx context.Context) (*github.Repository, error) {
	repo, _, err := r.client.rest.Repositories.Get(ctx, r.owner, r.name)
	if err != nil {
		return nil, r.explain(ctx, "reading the repository", readContents, err)
	}
	r.learn(repo.GetNodeID())
	return repo, nil
}

// learn keeps the node id of this repository.
func (r *Repository) learn(id string) {
	if id != "" {
		r.mu.Lock()
		r.id = id
		r.mu.Unlock()
	}
}

// nodeID returns the name of the repository in GraphQL. It costs a request if
// no pull request has been read yet.
func (r *Repository) nodeID(ctx context.Context) (string, error) {
	r.mu.Lock()
	id := r.id
	r.mu.Unlock()
	if id != "" {
		return id, nil
	}
	repo, err := r.read(ctx)
	if err != nil {
		return "", err
	}
	return repo.GetNodeID(), nil
}
