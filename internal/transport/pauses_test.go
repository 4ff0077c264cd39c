package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relock-dev/relock/internal/problem"
)

// busy answers that it wants to be asked again: after so many seconds, or at that
// date.
func busy(w http.ResponseWriter, after string) {
	w.Header().Set("Retry-After", after)
	w.WriteHeader(http.StatusServiceUnavailable)
}

const aWeek = "604800"

// TestRetryAfterOfOnePath has one path that says when it wants to be asked again, and
// neighbours that are well.
func TestRetryAfterOfOnePath(t *testing.T) {
	date := func(after time.Duration) func() string {
		return func() string { return time.Now().Add(after).UTC().Format(http.TimeFormat) }
	}
	tests := map[string]struct {
		after func() string
		busy  time.Duration // for so long; the zero value is for ever
		took  time.Duration
		well  bool
	}{
		"thirty_seconds":                {after: func() string { return "30" }, busy: 30 * time.Second, took: 30 * time.Second, well: true},
		"thirty_seconds_again":          {after: func() string { return "30" }, took: 30 * time.Second},
		"a_week":                        {after: func() string { return aWeek }},
		"more_than_a_number_holds":      {after: func() string { return "99999999999999999999" }},
		"the_time_of_a_question":        {after: func() string { return "60" }},
		"a_date_in_thirty_seconds":      {after: date(30 * time.Second), busy: 30 * time.Second, took: 30 * time.Second, well: true},
		"a_date_in_a_week":              {after: date(7 * 24 * time.Hour)},
		"nothing_that_anybody_can_read": {after: func() string { return "soon" }, busy: time.Second, took: time.Second, well: true},
	}
	for name, tt := range tests {
		for _, behind := range []string{"", "_behind_a_redirect"} {
			t.Run(name+behind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					c := inMemory(t, nil, func(w http.ResponseWriter, r *http.Request) {
						switch {
						case behind != "" && r.Host == "registry.test":
							http.Redirect(w, r, "http://cdn.test"+r.URL.Path, http.StatusFound)
						case r.URL.Path == "/1" && (tt.busy == 0 || time.Since(began) < tt.busy):
							busy(w, tt.after())
						default:
							io.WriteString(w, "here")
						}
					})
					replies := ask(t, c, paths(1, 20)...)
					r := replies["registry.test/1"]
					if r.well() != tt.well || r.took != tt.took || r.err != nil {
						t.Errorf("status %d, %v after %s; want well %v after %s", r.status, r.err, r.took, tt.well, tt.took)
					}
					delete(replies, "registry.test/1")
					wantWell(t, replies, 0)
					wantWell(t, ask(t, c, paths(21, 40)...), 0)
				})
			})
		}
	}
}

// TestRetryAfterOfTwoPaths has paths that ask for a pause, and others that are well.
func TestRetryAfterOfTwoPaths(t *testing.T) {
	tests := map[string]struct {
		after map[string]string // by URL; the others are well
		took  time.Duration     // of those that are asked afterwards
	}{
		"one_is_not_believed":          {map[string]string{"registry.test/1": "30"}, 0},
		"both_say_thirty_seconds":      {map[string]string{"registry.test/1": "30", "registry.test/2": "30"}, 30 * time.Second},
		"they_differ":                  {map[string]string{"registry.test/1": aWeek, "registry.test/2": "20"}, 20 * time.Second},
		"a_third_says_less":            {map[string]string{"registry.test/1": "30", "registry.test/2": "40", "registry.test/3": "2"}, 30 * time.Second},
		"both_say_a_week":              {map[string]string{"registry.test/1": aWeek, "registry.test/2": aWeek}, 0}, // one question is the probe
		"both_say_a_week_on_two_hosts": {map[string]string{"registry.test/1": aWeek, "other.test/2": aWeek}, 0},
	}
	for name, tt := range tests {
		for _, behind := range []string{"", "_behind_a_redirect"} {
			t.Run(name+behind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := inMemory(t, nil, func(w http.ResponseWriter, r *http.Request) {
						if host, first := strings.CutSuffix(r.Host, ".front"); first {
							http.Redirect(w, r, "http://"+host+r.URL.Path, http.StatusFound)
						} else if after := tt.after[r.Host+r.URL.Path]; after != "" {
							time.Sleep(time.Second) // until all are asked
							busy(w, after)
						} else {
							io.WriteString(w, "here")
						}
					})
					front := func(url string) string {
						if behind == "" {
							return url
						}
						return strings.Replace(url, "/", ".front/", 1)
					}
					var all sync.WaitGroup
					for url := range tt.after {
						all.Go(func() { c.Do(t.Context(), Request{URL: parse(t, "http://"+front(url)), NoRetry: true}) })
					}
					all.Wait()
					for i, took := range []time.Duration{tt.took, 0} {
						var urls []string
						for _, url := range paths(10*i+11, 10*i+20) {
							urls = append(urls, front(url))
						}
						wantWell(t, ask(t, c, urls...), took)
					}
				})
			})
		}
	}
}

// TestRetryAfterOfAllPaths has a host that is busy for every question.
func TestRetryAfterOfAllPaths(t *testing.T) {
	t.Run("for_thirty_seconds", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var early atomic.Int64
			c := inMemory(t, nil, func(w http.ResponseWriter, _ *http.Request) {
				if left := 30*time.Second - time.Since(began); left > 0 {
					early.Add(1)
					busy(w, fmt.Sprint(int(left.Seconds())))
					return
				}
				io.WriteString(w, "here")
			})
			wantWell(t, ask(t, c, paths(1, 2)...), 30*time.Second)
			began = time.Now()
			ask(t, c, paths(3, 4)...)
			if early.Load() != 4 {
				t.Errorf("%d requests came early, want 4", early.Load())
			}
			began = time.Now()
			for _, path := range []string{"/5", "/6"} {
				if _, err := c.Do(t.Context(), Request{URL: parse(t, "http://registry.test"+path), NoRetry: true}); err != nil {
					t.Fatal(err)
				}
			}
			wantWell(t, ask(t, c, paths(7, 20)...), 30*time.Second)
			if early.Load() != 6 {
				t.Errorf("%d requests came early, want none but those of the first two paths", early.Load())
			}
		})
	})
	t.Run("for_a_week", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := inMemory(t, nil, func(w http.ResponseWriter, _ *http.Request) { busy(w, aWeek) })
			ask(t, c, paths(1, 2)...)
			before, outages := c.Stats().Requests, 0
			for url, r := range ask(t, c, paths(3, 10)...) {
				if r.took > 0 || r.well() {
					t.Errorf("%s: %v after %s, want a failure at once", url, r, r.took)
				}
				if r.err != nil {
					outages++
					if e := wantCode(t, r.err, problem.CodeUnreachable); !strings.Contains(e.Error(), "registry.test:80 asks to come back later") {
						t.Errorf("%s: %v, want that the host asks to come back later", url, e)
					}
				}
			}
			if asked := c.Stats().Requests - before; asked != 1 || outages != 7 {
				t.Errorf("%d requests were sent and %d questions were not, want 1 probe and 7", asked, outages)
			}
		})
	})
}

// TestAnswersClearAPause asks in an order, a second apart.
func TestAnswersClearAPause(t *testing.T) {
	tests := map[string]struct {
		asked []string
		took  time.Duration // of the question at the end
	}{
		"to_a_question_after_the_first":  {[]string{"busy1", "well", "busy2"}, 0},
		"to_a_question_before":           {[]string{"well", "busy1", "busy2"}, 27 * time.Second},
		"to_one_in_flight_meanwhile":     {[]string{"late", "busy1", "busy2"}, 27 * time.Second},
		"to_one_in_flight_in_between":    {[]string{"busy1", "late", "busy2"}, 0},
		"but_not_one_that_is_no_success": {[]string{"busy1", "fails", "busy2"}, 26 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := inMemory(t, nil, func(w http.ResponseWriter, r *http.Request) {
					switch path := r.URL.Path; {
					case strings.HasPrefix(path, "/busy"):
						busy(w, "30")
					case path == "/fails":
						w.WriteHeader(http.StatusInternalServerError)
					default:
						if path == "/late" {
							time.Sleep(2500 * time.Millisecond)
						}
						io.WriteString(w, "here")
					}
				})
				for _, path := range tt.asked {
					go c.Do(t.Context(), Request{URL: parse(t, "http://registry.test/"+path), NoRetry: true})
					time.Sleep(time.Second)
				}
				time.Sleep(time.Second) // the late answer has come
				began := time.Now()
				if _, err := c.Do(t.Context(), Request{URL: parse(t, "http://registry.test/last")}); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took.Round(time.Second) != tt.took {
					t.Errorf("a question took %s, want %s", took, tt.took)
				}
			})
		})
	}
}

// TestNobodyWaitsBeyondTheRun has a run that ends before its host wants to be asked.
func TestNobodyWaitsBeyondTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := inMemory(t, nil, func(w http.ResponseWriter, _ *http.Request) { busy(w, "20") })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		for _, path := range []string{"/1", "/2", "/3", "/4"} {
			resp, err := c.Do(ctx, Request{URL: parse(t, "http://registry.test"+path)})
			if time.Since(began) > 0 {
				t.Fatalf("%s: %v, %v after %s, want a failure at once", path, resp, err, time.Since(began))
			}
		}
		_, err := c.Do(ctx, Request{URL: parse(t, "http://registry.test/5")})
		if e := wantCode(t, err, problem.CodeUnreachable); !strings.Contains(e.Error(), "asks to come back later") {
			t.Errorf("Do = %v, want that the host asks to come back later", e)
		}
	})
}
