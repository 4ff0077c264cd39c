package registry

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

// TestModifiedOfALargePackage holds that the size of a package, which a HEAD
// announces, is not held against the limit on answers: there is no body.
func TestModifiedOfALargePackage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	day := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	f.hook = func(w http.ResponseWriter, r *http.Request) bool {
		head := r.Method == http.MethodHead
		if head {
			w.Header().Set("Content-Length", strconv.Itoa(600<<20))
			w.Header().Set("Last-Modified", day.Format(http.TimeFormat))
		}
		return head
	}
	got, err := f.client(t, Options{}, "").Modified(t.Context(), terraform, want(privateHost, linux))
	if err != nil || !got.Equal(day) {
		t.Errorf("Modified = %v, error %v, want %v", got, err, day)
	}
}
