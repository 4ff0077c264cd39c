package registry

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// TestModifiedOfALargePackage holds that the limit on answers does not apply to the size in
// the answer to a HEAD: it has no body.
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

// A server without a date has none on any day. A server in trouble may have one tomorrow,
// so that is an error.
func TestModifiedSaysWhoCouldNotBeAsked(t *testing.T) {
	t.Parallel()
	const day = "Mon, 06 May 2024 07:08:09 GMT"
	for name, tt := range map[string]struct {
		path   string // suffix of the path with this answer
		status int    // 0: the connection ends
		date   string
		want   string // the day, empty for none, or the code of the error
	}{
		"a date":                        {"/files/linux_amd64", http.StatusOK, day, "2024-05-06"},
		"no date":                       {"/files/linux_amd64", http.StatusOK, "", ""},
		"a date that is none":           {"/files/linux_amd64", http.StatusOK, "yesterday", ""},
		"no package any more":           {"/files/linux_amd64", http.StatusNotFound, day, ""},
		"no HEAD at such addresses":     {"/files/linux_amd64", http.StatusForbidden, day, ""},
		"a server in trouble":           {"/files/linux_amd64", http.StatusServiceUnavailable, day, "unreachable"},
		"a server with too much to do":  {"/files/linux_amd64", http.StatusTooManyRequests, "", "unreachable"},
		"a server that hangs up":        {"/files/linux_amd64", 0, "", "unreachable"},
		"nothing known of the package":  {"/download/linux/amd64", http.StatusNotFound, "", ""},
		"a registry in trouble":         {"/download/linux/amd64", http.StatusBadGateway, "", "unreachable"},
		"nothing known of the provider": {"/versions", http.StatusNotFound, "", ""},
		"credentials that are refused":  {"/download/linux/amd64", http.StatusUnauthorized, "", "unauthorized"},
		"a list of versions in trouble": {"/versions", http.StatusBadGateway, "", "unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.hook = func(w http.ResponseWriter, r *http.Request) bool {
				spoilt := strings.HasSuffix(r.URL.Path, tt.path)
				if spoilt && tt.status == 0 {
					panic(http.ErrAbortHandler)
				}
				if spoilt {
					w.Header().Set("Last-Modified", tt.date)
					w.WriteHeader(tt.status)
				}
				return spoilt
			}
			at, err := f.client(t, Options{}, "").Modified(t.Context(), terraform, want(privateHost, provider.Platform{}))
			got := ""
			if err != nil {
				got = string(problem.Of(err).Code)
			} else if !at.IsZero() {
				got = at.Format(time.DateOnly)
			}
			if got != tt.want {
				t.Errorf("Modified = %v, error %v, want %q", at, err, tt.want)
			}
		})
	}
}

// The package whose date is asked for is the first one of the run, or else one that the
// registry lists.
func TestModifiedAsksAboutOnePackage(t *testing.T) {
	t.Parallel()
	const versions, head = "/registry.example.com/v1/providers/hashicorp/alpha/versions", "/files/darwin_arm64"
	const described = "/registry.example.com/v1/providers/hashicorp/alpha/1.1.0/download/darwin/arm64"
	for name, tt := range map[string]struct {
		list   string
		before *provider.Platform
		want   []string
	}{
		"of those that are listed": {`{"versions": [{"version": "1.1.0", "platforms": [{"os": "darwin", "arch": "arm64"}]}]}`, nil, []string{head, described, versions}},
		"of one that was asked about": {
			`{"versions": [{"version": "1.1.0", "platforms": [{"os": "linux", "arch": "amd64"}]}]}`, &darwin,
			[]string{"/files/SHA256SUMS", "/files/SHA256SUMS.sig", head, described},
		},
		"none of a release that has none": {`{"versions": [{"version": "1.1.0", "platforms": [{"os": "plan9", "arch": "mips"}]}]}`, nil,
			[]string{strings.Replace(described, "darwin/arm64", "plan9/mips", 1), versions}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.versions = tt.list
			c := f.client(t, Options{}, "")
			if tt.before != nil {
				if _, err := c.Listing(t.Context(), terraform, want(privateHost, *tt.before)); err != nil {
					t.Fatal(err)
				}
			}
			_, err := c.Modified(t.Context(), terraform, want(privateHost, provider.Platform{}))
			if got := f.requests(); err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("Modified: error %v, asked %q, want %q", err, got, tt.want)
			}
		})
	}
}
