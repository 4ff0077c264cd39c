package upgrade

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// hanging is a source of answers and dates that never answers. It notes how long the plan
// waited.
type hanging struct {
	Source
	waited *time.Duration
}

func (h hanging) hang(ctx context.Context) error {
	began := time.Now()
	<-ctx.Done()
	*h.waited = time.Since(began)
	return problem.Ended(ctx)
}

func (h hanging) Versions(ctx context.Context, _ provider.Tool, _ provider.Addr) (provider.Offer, error) {
	return provider.Offer{}, h.hang(ctx)
}

func (h hanging) Hashes(ctx context.Context, _ provider.Tool, _ provider.Want) (provider.Hashes, error) {
	return provider.Hashes{}, h.hang(ctx)
}

func (h hanging) Published(ctx context.Context, _ provider.Tool, _ provider.Want) (time.Time, error) {
	return time.Time{}, h.hang(ctx)
}

// TestHalfLeavesTimeForWhatFollows asks a source that gives no answer.
func TestHalfLeavesTimeForWhatFollows(t *testing.T) {
	const time20 = 20 * time.Second
	for name, bounded := range map[string]bool{"with_a_time": true, "until_an_interrupt": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var waited time.Duration
				source := hanging{waited: &waited}
				ctx, stop := context.WithTimeout(t.Context(), time20)
				if !bounded {
					ctx, stop = context.WithCancel(t.Context())
					time.AfterFunc(time20, stop)
				}
				defer stop()
				a := asker{ctx, source, Options{Dates: source}, nil}
				steps := []struct {
					name string
					ask  func() error
					want time.Duration
					code problem.Code
				}{
					{"versions", func() error { return a.versions([]ask.Question{{}})[ask.Question{}].err }, time20 / 2, problem.CodeUnreachable},
					{"dates", func() error { return a.published([]ask.Question{{}})[ask.Question{}].err }, time20 / 4, problem.CodeUnreachable},
					{"packages", func() error { return a.packages([]ask.Question{{}}, nil)[ask.Question{}].Err }, time20 / 4, problem.CodeCancelled},
				}
				if !bounded {
					steps = steps[:1]
					steps[0].want, steps[0].code = time20, problem.CodeCancelled
				}
				for _, step := range steps {
					if err := step.ask(); waited != step.want || !problem.Coded(err, step.code) {
						t.Errorf("%s were waited for for %s, and failed by %v; want %s and %q", step.name, waited, err, step.want, step.code)
					}
				}
			})
		})
	}
}
