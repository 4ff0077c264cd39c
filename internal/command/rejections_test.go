package command

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/sandbox"
)

// TestRejectedRepositories holds that what GitHub says of the whole installation, about three
// repositories in a row, ends a run in one line; that a good answer in between shows that
// others may be read; and that what it says of one repository ends none, and is one line for
// all of which it says that.
func TestRejectedRepositories(t *testing.T) {
	every := func(int) bool { return true }
	pairs := func(i int) bool { return i%3 > 0 } // which begin anywhere, and none of which are three
	for name, tt := range map[string]struct {
		status  int
		message string
		denied  func(int) bool
		ends    bool
		app     bool // asks, and not a person
	}{
		"suspended":             {http.StatusForbidden, "This installation has been suspended", every, true, false},
		"single_sign_on":        {http.StatusForbidden, "Resource protected by organization SAML enforcement. You must grant your OAuth token access to this organization.", every, true, false},
		"ip_allow_list":         {http.StatusForbidden, "Although you appear to have the correct authorization credentials, the `acme` organization has an IP allow list enabled, and your IP address is not permitted to access this resource.", every, true, false},
		"token_revoked":         {http.StatusUnauthorized, "Bad credentials", every, true, false},
		"no_token_of_the_app":   {http.StatusUnauthorized, "Bad credentials", every, true, true},
		"the_app_has_no_right":  {http.StatusForbidden, "Resource not accessible by integration", every, false, true},
		"good_ones_in_between":  {http.StatusForbidden, "This installation has been suspended", pairs, false, false},
		"each_for_itself":       {http.StatusForbidden, "Resource not accessible by integration", every, false, false},
		"hidden":                {http.StatusNotFound, "Not Found", every, false, false},
		"taken_down":            {http.StatusUnavailableForLegalReasons, "Repository access blocked", pairs, false, false},
		"away_and_not_answered": {http.StatusBadGateway, "", every, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBusy(t, 9)
			if tt.app {
				b.asApp(t)
			}
			denied := 0
			for i := range b.repositories {
				if tt.denied(i) {
					denied++
					b.Inject(sandbox.Fault{
						Method: "*", Path: fmt.Sprintf("/github/api/v3/repos/acme/r%02d/...", i), Status: tt.status, Body: fmt.Sprintf(`{"message": %q}`, tt.message),
					})
				}
			}
			status, said := b.relock(t, "pr", "--org", "acme")
			if status != ExitFailed || b.proposed(t) != b.repositories-denied {
				t.Errorf("the run = %d with %d pull requests, want 1 and %d\n%s", status, b.proposed(t), b.repositories-denied, said)
			}
			ended := "6 repositories have not been looked at, from acme/r"
			if strings.Contains(said, ended) != tt.ends || strings.Contains(said, "6 not reached") != tt.ends {
				t.Errorf("the run has ended: %t, want %t\n%s", !tt.ends, tt.ends, said)
			}
			if tt.message == "" {
				return // GitHub has said nothing that could be one line
			}
			if n := strings.Count(said, tt.message); n != 1 {
				t.Errorf("the cause is said %d times, want once\n%s", n, said)
			}
			if all := fmt.Sprintf("about %d repositories: acme/r", denied); !tt.ends && !strings.Contains(said, all) {
				t.Errorf("the line does not count %d repositories\n%s", denied, said)
			}
			if more := fmt.Sprintf("acme/r04 and %d more", denied-mostInLine); !tt.ends && denied == b.repositories && !strings.Contains(said, more) {
				t.Errorf("the line does not name the first five\n%s", said)
			}
		})
	}
}

// asApp lets relock speak for an App that is installed in the organisation.
func (b *busy) asApp(t *testing.T) {
	t.Helper()
	var all []string
	for i := range b.repositories {
		all = append(all, fmt.Sprintf("acme/r%02d", i))
	}
	app, err := b.GitHub().Register(sandbox.App{Slug: "relock", ID: 12, Repositories: all, Permissions: map[string]string{"metadata": "read", "contents": "write", "pull_requests": "write"}})
	if err != nil {
		t.Fatal(err)
	}
	delete(b.session.env, "GITHUB_TOKEN")
	b.session.env["RELOCK_APP_ID"], b.session.env["RELOCK_APP_PRIVATE_KEY"] = "12", string(app.Key)
}

// mostInLine is how many repositories such a line names.
const mostInLine = 5
