package github_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/github"
)

const listWorld = `
-- settings/acme/app --
private: true
topics: [terraform]
properties: {team: platform, stages: [test, live], none: null}
-- settings/acme/old --
archived: true
-- github/acme/app/main/.github/relock.yml --
-- github/acme/app/main/live/main.tf --
-- github/acme/old/main/a --
-- github/acme/public/main/a --
-- github/octo/infra/main/a --
`

var organizing = map[string]string{"contents": "write", "pull_requests": "write", "metadata": "read", "organization_custom_properties": "read"}

// TestReadsWithOneTokenAndWritesWithAnother holds that an organisation is read with one
// token that can write nothing, and that only a repository that is written gets one of
// its own, which is for that repository alone.
func TestReadsWithOneTokenAndWritesWithAnother(t *testing.T) {
	h := newHub(t, listWorld)
	app := h.register(t, organizing, "acme/app", "acme/old")
	app.Repositories, app.Owner = nil, "acme"
	c := h.client(t, github.Options{Access: github.Access{App: &app}})
	var written *github.Repository
	for _, name := range []string{"app", "old"} {
		narrow := c.Narrowed("acme/"+name, false, false)
		repo := narrow.Repository("acme", name)
		if _, err := repo.Head(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
		if name == "app" {
			written = repo
		}
	}
	h.wantAsked(t, "GET /orgs/acme/installation", "POST /app/installations/", "GET /repos/acme/app/git/", "GET /repos/acme/old/git/")
	if err := c.Repository("acme", "app").CreateBranch(t.Context(), "relock/y", h.headOf(t, "acme/app")); !errors.Is(err, github.ErrForbidden) {
		t.Errorf("writing with the token that reads = %v, want ErrForbidden", err)
	}
	h.asked = nil
	for _, branch := range []string{"relock/y", "relock/z"} {
		if err := written.CreateBranch(t.Context(), branch, h.headOf(t, "acme/app")); err != nil {
			t.Fatal(err)
		}
	}
	h.wantAsked(t, "POST /app/installations/", "POST /repos/acme/app/git/refs", "POST /repos/acme/app/git/refs")
	if err := written.CreateBranch(t.Context(), "relock/y", "0"); err == nil {
		t.Error("a branch that exists was made")
	}
}

// TestTokensOfAnOrganisationAreRenewed holds that none is used in its last minutes.
func TestTokensOfAnOrganisationAreRenewed(t *testing.T) {
	h := newHub(t, listWorld)
	app := h.register(t, organizing, "acme/app")
	app.Repositories, app.Owner = nil, "acme"
	now := time.Now()
	c := h.client(t, github.Options{Access: github.Access{App: &app}, Clock: github.Clock{Now: func() time.Time { return now }}})
	repo := c.Narrowed("acme/app", false, false).Repository("acme", "app")
	for range 2 {
		if err := repo.CreateBranch(t.Context(), fmt.Sprint("b", now.Unix()), h.headOf(t, "acme/app")); err != nil {
			t.Fatal(err)
		}
		if _, err := repo.Head(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
		now = now.Add(56 * time.Minute)
	}
	minted := 0
	for _, asked := range h.asked {
		if strings.HasPrefix(asked, http.MethodPost+" /app/installations/") {
			minted++
		}
	}
	if minted != 4 {
		t.Errorf("%d tokens were made in %v, want two for reading and two for writing", minted, h.asked)
	}
}
