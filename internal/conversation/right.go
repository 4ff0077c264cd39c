package conversation

import (
	"context"
	"log/slog"
	"time"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
)

// rightLasts is how old an answer about a right may be before a change is made.
const rightLasts = time.Minute

// right is the right of the comment's author to write to the repository, which may be
// withdrawn while the command is carried out.
type right struct {
	repo  *github.Repository
	login string
	log   *slog.Logger

	asked      time.Time // when GitHub was asked last and has answered
	permission string    // what it answered
	lost       error     // the *comment.Refusal, once the right is gone
}

// now returns what the author may do, as comment.Source.Permission. It asks GitHub unless
// the last answer holds.
func (r *right) now(ctx context.Context) (string, error) {
	if r.holds() {
		return r.permission, nil
	}
	return r.ask(ctx)
}

// holds reports whether GitHub has answered, and not long ago.
func (r *right) holds() bool { return !r.asked.IsZero() && r.repo.Now().Sub(r.asked) <= rightLasts }

// ask asks GitHub what the author may do.
func (r *right) ask(ctx context.Context) (string, error) {
	at := r.repo.Now() // the answer may be as old as the question
	permission, role, err := r.repo.Permission(ctx, r.login)
	if err != nil {
		return "", err
	}
	r.asked, r.permission = at, permission
	r.log.Info("a command was given", "by", r.login, "permission", permission, "role", role)
	return permission, nil
}

// confirm is called just before a change. It asks GitHub again if the last answer is older
// than rightLasts. The error is a *comment.Refusal if the right is gone. It is another one
// if GitHub gives no answer.
func (r *right) confirm(ctx context.Context) error {
	if r.holds() {
		return nil
	}
	permission, err := r.ask(ctx)
	if err != nil {
		wrong := problem.Of(err)
		wrong.Hint = "give the command again: nothing was pushed"
		return &problem.Error{Problem: wrong} // a lost race is tried again, but not for this
	}
	if !comment.MayCommand(permission) {
		r.lost = comment.Refuse(safe.Format("%s may not write to this repository any more, and nothing was pushed", safe.Code(r.login)))
	}
	return r.lost
}
