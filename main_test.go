package main

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestHurry ends a run in the middle that does not end by itself: later where it may
// write to GitHub, and at once on a second signal.
func TestHurry(t *testing.T) {
	t.Parallel()
	p := patience{local: 2500 * time.Millisecond, github: 6500 * time.Millisecond}
	tests := map[string]struct {
		github       bool
		second, want time.Duration // after the first signal; 0: there is none
	}{
		"on disk":                         {want: p.local},
		"on GitHub":                       {github: true, want: p.github},
		"on disk, a second signal":        {second: time.Second, want: time.Second},
		"on GitHub, a second signal":      {github: true, second: time.Second, want: time.Second},
		"on GitHub, a late second signal": {github: true, second: 4 * time.Second, want: 4 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal, 1)
				if tt.second > 0 {
					time.AfterFunc(tt.second, func() { signals <- os.Interrupt })
				}
				began := time.Now()
				hurry(signals, func() bool { return tt.github }, p)
				if got := time.Since(began); got != tt.want {
					t.Errorf("it ends after %s, want %s", got, tt.want)
				}
			})
		})
	}
}
