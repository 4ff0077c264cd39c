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

	asked time.Time // when GitHub was asked last and has answered
	lost  error     // the *comment.Refusal, once the right is gone
}

// ask returns what the author may do now, as comment.Source.Permission.
func (r *right) ask(ctx context.Context) (string, error) {
	at := r.repo.Now() // the answer may be as old as the question
	permission, role, err := r.repo.Permission(ctx, r.login)
	if err != nil {
		return "", err
	}
	r.asked = at
	r.log.Info("a command was given", "by", r.login, "permission", permission, "role", role)
	return permission, nil
}

// confirm is called just before a change. It asks GitHub again if the last answer is older
// than rightLasts. The error is a *comment.Refusal if the right is gone. It is another one
// if GitHub gives no answer.
func (r *right) confirm(ctx context.Context) error {
	if r.repo.Now().Sub(r.asked) <= rightLasts {
		return nil
	}
	permission, err := r.ask(ctx)
	if err != nil {
		wrong := problem.Of(err)
		wrong.Hint = "nothing was pushed; give the command again"
		return &problem.Error{Problem: wrong} // a lost race is tried again, but not for this
	}
	if !comment.MayCommand(permission) {
		r.lost = comment.Refuse(safe.Format("%s may not write to this repository any more, and nothing was pushed", safe.Code(r.login)))
	}
	return r.lost
}
