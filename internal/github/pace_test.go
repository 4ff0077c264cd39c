package github

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// refusing is a server that answers after some time, and refuses at first.
type refusing struct {
	takes    time.Duration
	refusals int           // that are left
	after    time.Duration // what a refusal asks to wait; 0: it does not say

	mu      sync.Mutex
	arrived []time.Time // of requests
	points  []int       // of them
}

func (s *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived, s.points = append(s.arrived, time.Now()), append(s.points, pointsOf(req))
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: req}
	if s.refusals > 0 {
		s.refusals--
		resp.StatusCode, resp.Body = http.StatusForbidden, io.NopCloser(strings.NewReader(`{"message": "You have exceeded a secondary rate limit."}`))
		if s.after > 0 {
			resp.Header.Set("Retry-After", fmt.Sprint(int(s.after.Seconds())))
		}
	}
	s.mu.Unlock()
	time.Sleep(s.takes)
	s.mu.Lock()
	return resp, nil
}

// most is the number of points of the minute that has most of them.
func (s *refusing) most() (most int) {
	for i, from := range s.arrived {
		sum := 0
		for n, at := range s.arrived[i:] {
			if at.Sub(from) < time.Minute {
				sum += s.points[i+n]
			}
		}
		most = max(most, sum)
	}
	return most
}

// asking sends requests, so many at once, each with the method that its number has.
func asking(t *testing.T, l *limits, requests, atOnce int, method func(int) string) {
	t.Helper()
	var all sync.WaitGroup
	numbers := make(chan int)
	for range atOnce {
		all.Go(func() {
			for n := range numbers {
				req, err := http.NewRequestWithContext(t.Context(), method(n), "https://api.github.example/repos/acme/a", nil)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := l.RoundTrip(req)
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("request %d = %v, %v, want an answer", n, resp, err)
					return
				}
				resp.Body.Close()
			}
		})
	}
	for n := range requests {
		numbers <- n
	}
	close(numbers)
	all.Wait()
}

func reads(int) string { return http.MethodGet }

// TestPaceOfPoints holds that no minute has more points than the pace, whatever is asked at
// once, that the first minute's points are not waited for, and that a share has its own pace.
func TestPaceOfPoints(t *testing.T) {
	for name, tt := range map[string]struct {
		requests, atOnce int
		share            Ration
		method           func(int) string
		pace             int
		least, most      time.Duration
	}{
		"a_run_in_one_repository": {requests: 200, atOnce: 1, method: reads, pace: PointsAMinute, most: 50 * time.Second},
		"many_readers":            {requests: 2000, atOnce: 8, method: reads, pace: PointsAMinute, least: 2 * time.Minute, most: 3 * time.Minute},
		"a_share_of_eight":        {requests: 250, atOnce: 8, share: Ration{Points: 100}, method: reads, pace: 100, least: 2 * time.Minute, most: 3 * time.Minute},
		"writes_among_reads": {
			requests: 900, atOnce: 8, pace: PointsAMinute, least: time.Minute, most: 3 * time.Minute,
			method: func(n int) string { return []string{http.MethodGet, http.MethodPatch}[min(1, n%10/9)] },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &refusing{takes: 250 * time.Millisecond}
				l := &limits{next: s, clock: Clock{}.orReal(), log: slog.New(slog.DiscardHandler), rates: &rates{share: tt.share}}
				began := time.Now()
				asking(t, l, tt.requests, tt.atOnce, tt.method)
				if most := s.most(); most > tt.pace {
					t.Errorf("a minute has %d points, want at most %d", most, tt.pace)
				}
				if took := time.Since(began); took < tt.least || took > tt.most {
					t.Errorf("%d requests took %v, want from %v to %v", tt.requests, took, tt.least, tt.most)
				}
			})
		})
	}
}

// TestSecondaryLimitHoldsAll holds that a secondary limit that several requests meet at once is
// one, is announced once, and is waited for once: nothing is sent before it is over.
func TestSecondaryLimitHoldsAll(t *testing.T) {
	for _, after := range []time.Duration{0, 75 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &refusing{takes: 250 * time.Millisecond, refusals: 3, after: after}
				var said strings.Builder
				l := &limits{next: s, clock: Clock{}.orReal(), log: slog.New(slog.NewTextHandler(&said, nil)), rates: &rates{}}
				began := time.Now()
				asking(t, l, 20, 8, reads)
				for _, at := range s.arrived {
					since := at.Sub(began)
					if held := max(after, unannouncedPause); since > time.Second && since < held {
						t.Errorf("a request is sent after %v, while all wait for %v", since, held)
					}
				}
				if took := time.Since(began); took > max(after, unannouncedPause)+5*time.Second {
					t.Errorf("it took %v, want one wait", took)
				}
				if n := (shares{rates: l.rates}).Secondary(); n != 1 || strings.Count(said.String(), "waiting for a rate limit") != 1 {
					t.Errorf("%d limits, want one that is announced once:\n%s", n, said.String())
				}
				s.refusals = 1
				asking(t, l, 1, 1, reads)
				if n := (shares{rates: l.rates}).Secondary(); n != 2 {
					t.Errorf("%d limits after another one, want two", n)
				}
			})
		})
	}
}

// TestReadyForgetsWhatIsAhead holds that the requests that were sent ahead of a turn change
// nothing about whether the turn may begin.
func TestReadyForgetsWhatIsAhead(t *testing.T) {
	now := time.Now()
	l := &limits{clock: Clock{}.orReal(), log: slog.New(slog.DiscardHandler), rates: &rates{share: Ration{Requests: 100}}}
	s := shares{rates: l.rates, clock: l.clock}
	left := 60
	l.next = answering(func(req *http.Request) *http.Response {
		left--
		h := http.Header{"X-Ratelimit-Remaining": {fmt.Sprint(left)}, "X-Ratelimit-Reset": {fmt.Sprint(now.Add(time.Hour).Unix())}}
		return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(strings.NewReader("{}")), Request: req}
	})
	ask := func(ctx context.Context, n int) {
		t.Helper()
		for range n {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.github.example/repos/acme/a", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := l.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
	}
	ask(t.Context(), 25)
	tally := s.NewTally()
	ask(tally.In(t.Context()), 8)
	if w := s.Ready(35, 0); !w.Needed() {
		t.Error("35 requests may begin of which 27 are left")
	}
	if w := s.Ready(35, 0, tally); w.Needed() || tally.Requests() != 8 || !tally.Good() {
		t.Errorf("35 requests of which 8 were sent ahead = %v, want none to wait for where 27 are left", w)
	}
	if w := s.Ready(36, 0, tally); !w.Needed() {
		t.Error("36 requests may begin of which 8 were sent ahead and 27 are left")
	}
}

// answering is a server in a function.
type answering func(*http.Request) *http.Response

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) { return a(req), nil }
