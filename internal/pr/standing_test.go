package pr_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/sandbox"
)

// standing is what stands for the group of all changes on main.
func (s *scene) standing() pr.Standing {
	s.Helper()
	survey, err := pr.Look(context.Background(), s.repo, "main", "", "all")
	s.must(err)
	found, err := survey.Standing(context.Background(), s.repo, "all", "main", "")
	s.must(err)
	return found
}

// forge is somebody's commit in place of ours that passes for one of ours: its
// trailers name its own tree.
func (s *scene) forge(branch, path, content string) {
	s.Helper()
	p := sandbox.Push{
		Branch: branch, Amend: true, Message: s.commits(branch)[0].Message,
		Files: map[string]sandbox.File{path: {Mode: sandbox.ModeFile, Content: []byte(content)}},
	}
	made, err := s.repo.Commit(context.Background(), s.push(p))
	s.must(err)
	text, _, ok := strings.Cut(p.Message, "Relock-Tree: ")
	if !ok {
		s.Fatalf("the message is %q", p.Message)
	}
	p.Message = text + "Relock-Tree: " + made.Tree + "\n"
	s.push(p)
}

func TestStandingIsWhatIsProposed(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	if got := s.standing(); got.Head != "" {
		t.Errorf("without a pull request stands %+v", got)
	}
	s.one(p)
	s.pushTo("main", "README.md", "newer") // the base goes on
	got := s.standing()
	want := pr.Standing{Head: s.head(p.Branch), Files: slices.Clone(p.Files)}
	for i := range want.Files {
		if want.Files[i].Mode == "" {
			want.Files[i].Mode = "100644"
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what stands (-want +got):\n%s", diff)
	}
}

func TestStandingIsOursAlone(t *testing.T) {
	lock := "prod/.terraform.lock.hcl"
	for _, tt := range []struct {
		name   string
		do     func(*scene, pr.Proposal)
		stands bool
		// stranger says that something stands and is not ours as a whole.
		stranger bool
	}{
		{"as it was", func(*scene, pr.Proposal) {}, true, false},
		{"closed by a person", func(s *scene, _ pr.Proposal) { s.must(s.hub.Close(repoName, 1, "monalisa")) }, true, false},
		{"and without its branch", func(s *scene, p pr.Proposal) {
			s.must(s.hub.Close(repoName, 1, "monalisa"))
			s.must(s.hub.DeleteBranch(repoName, p.Branch))
		}, true, false},
		{"closed by relock", func(s *scene, _ pr.Proposal) { s.propose() }, false, false},
		{"merged", func(s *scene, _ pr.Proposal) { s.merge(1) }, false, false},
		{"for another base", func(s *scene, _ pr.Proposal) { s.must(s.hub.Retarget(repoName, 1, "release")) }, false, false},
		{"with a person's commit", func(s *scene, p pr.Proposal) { s.pushTo(p.Branch, lock, "# evil\n") }, false, true},
		{"with a person's commit of something else", func(s *scene, p pr.Proposal) { s.pushTo(p.Branch, "main.tf", "") }, false, true},
		{"amended", func(s *scene, p pr.Proposal) { s.amend(p.Branch) }, false, true},
		{"forged", func(s *scene, p pr.Proposal) { s.forge(p.Branch, lock, "# evil\n") }, false, true},
		{"forged, with a file more", func(s *scene, p pr.Proposal) { s.forge(p.Branch, "main.tf", "evil") }, false, true},
		{"forged, with a file less", func(s *scene, p pr.Proposal) { s.forge(p.Branch, lock, oldLock) }, false, true},
		{"under somebody else's words", func(s *scene, p pr.Proposal) {
			s.push(sandbox.Push{Branch: p.Branch, Amend: true, Message: "Mine", Files: map[string]sandbox.File{
				lock: {Mode: sandbox.ModeFile, Content: []byte("# evil\n")}}})
		}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			p := proposal(newLock)
			s.one(p)
			tt.do(s, p)
			got := s.standing()
			if (len(got.Files) > 0) != tt.stands {
				t.Errorf("what stands is %+v, want something: %t", got, tt.stands)
			}
			if (got.Head != "") != (tt.stands || tt.stranger) {
				t.Errorf("what stands is at %q, want something: %t", got.Head, tt.stands || tt.stranger)
			}
		})
	}
}

func TestStandingThatCannotBeReadIsAnError(t *testing.T) {
	for _, path := range []string{"/compare/", "/git/trees/", "/git/blobs/"} {
		t.Run(path, func(t *testing.T) {
			s := newScene(t)
			s.one(proposal(newLock))
			survey, err := pr.Look(context.Background(), s.repo, "main", "", "all")
			s.must(err)
			broken := s.as(sandbox.ActionsToken, func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if strings.Contains(r.URL.Path, path) {
						return &http.Response{StatusCode: 403, Status: "403 Forbidden", Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
					}
					return next.RoundTrip(r)
				})
			})
			if got, err := survey.Standing(context.Background(), broken, "all", "main", ""); err == nil {
				t.Errorf("Standing() = %+v, want an error", got)
			}
		})
	}
}

func TestNothingIsDoneWhereWhatWasCarriedOverHasMoved(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(*scene, pr.Proposal)
	}{
		{"the branch has moved on", func(s *scene, _ pr.Proposal) { s.one(proposal(nextLock)) }},
		{"the branch is gone", func(s *scene, p pr.Proposal) {
			s.must(s.hub.Close(repoName, 1, "monalisa"))
			s.must(s.hub.DeleteBranch(repoName, p.Branch))
			s.one(proposal(nextLock)) // another run has opened one since
		}},
		{"somebody has pushed", func(s *scene, p pr.Proposal) {
			s.pushTo(p.Branch, "main.tf", "")
			s.propose(p) // says so
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			p := proposal(newLock)
			s.one(p)
			stood := s.standing()
			tt.do(s, p)
			p = proposal("# version 2 and more\n")
			p.From = &stood
			if o := s.one(p); o.Operation != pr.None || o.Reason == "" {
				t.Errorf("outcome = %+v, want none with a reason", o)
			}
			s.wantNoWrites()
		})
	}
}

func TestCarriedOverWhereItStood(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	p := proposal("# version 2 and more\n")
	stood := s.standing()
	p.From = &stood
	s.want(s.one(p), pr.Updated, 1)
	s.want(s.one(p), pr.None, 1) // the same again, though its own head is another by now
}
