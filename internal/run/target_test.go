package run

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
)

// What is given relative to the working directory is found by the same name in a
// commit of its repository.
func TestDirectoriesOfACheckoutInACommit(t *testing.T) {
	t.Parallel()
	top := lay(t, "repo/.git/HEAD", "repo/live/a/main.tf")
	work := filepath.Join(top, "repo", "live")
	remote := &Remote{Commit: "abc"}
	for _, tt := range []struct {
		name string
		from target
		want []string
	}{
		{"all_below", target{checkout: &Checkout{}}, []string{"live/..."}},
		{"relative", target{checkout: &Checkout{}, dirs: []string{"a", "./..."}}, []string{"live/a", "live/..."}},
		{"absolute", target{checkout: &Checkout{}, dirs: []string{filepath.Join(top, "repo")}}, []string{"."}},
		{"of_a_commit", target{remote: &Remote{Commit: "before"}, dirs: []string{"a"}}, []string{"a"}},
		{"all_of_a_commit", target{remote: &Remote{Commit: "before"}}, nil},
	} {
		got := tt.from.at(work, remote)
		if diff := cmp.Diff(tt.want, got.dirs); diff != "" || got.remote.Commit != remote.Commit {
			t.Errorf("%s: at commit %v (-want +got):\n%s", tt.name, got.remote, diff)
		}
	}
}

// A target of several is named where its error is told.
func TestErrorOfOneTarget(t *testing.T) {
	t.Parallel()
	d := about("branch gone", problem.SeverityError, errors.New("it is not there"))
	if d.Message != "branch gone: it is not there" || d.Severity != problem.SeverityError {
		t.Errorf("about() = %+v", d)
	}
}
