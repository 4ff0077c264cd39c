package sandbox

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFaultOfWorldHoldsItsTimes(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	url := s.URL() + "/registry.terraform.io/v1/providers/hashicorp/moody/versions"
	for i, want := range []int{503, 503, 200, 200} {
		if a := get(t, url); a.status != want {
			t.Errorf("answer %d = %d, want %d", i+1, a.status, want)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	const path = "/registry.terraform.io/v1/providers/hashicorp/plain/versions"
	plain := startWorld(t)
	whole := fetch(t, plain.URL()+path)
	tests := []struct {
		name, fault string
		spoilt      func(a answer) bool
	}{
		{"status_with_header", "GET " + path + " 429 header=Retry-After:0", func(a answer) bool {
			return a.status == 429 && a.header.Get("Retry-After") == "0"
		}},
		{"header_of_the_real_answer", "GET " + path + " header=Cache-Control:max-age=60", func(a answer) bool {
			return a.status == 200 && a.header.Get("Cache-Control") == "max-age=60" && string(a.body) == string(whole)
		}},
		{"truncated_body", "GET " + path + " truncate=10", func(a answer) bool {
			return a.status == 200 && errors.Is(a.err, io.ErrUnexpectedEOF) && string(a.body) == string(whole[:10])
		}},
		{"corrupt_body", "GET " + path + " corrupt", func(a answer) bool {
			return len(a.body) == len(whole) && a.body[0] != whole[0] && string(a.body[1:]) == string(whole[1:])
		}},
		{"dropped_connection", "GET " + path + " drop", func(a answer) bool { return a.status == 0 && a.err != nil }},
		{"any_method_and_prefix", "* /registry.terraform.io/v1/... 500", func(a answer) bool { return a.status == 500 }},
		{"wildcard", "GET /*/v1/providers/*/plain/versions 500", func(a answer) bool { return a.status == 500 }},
		{"primary_limit", "GET " + path + " primary", func(a answer) bool {
			reset, err := strconv.ParseInt(a.header.Get("X-RateLimit-Reset"), 10, 64)
			return a.status == 403 && a.header.Get("X-RateLimit-Remaining") == "0" && err == nil && reset > 0 &&
				strings.Contains(string(a.body), "API rate limit exceeded")
		}},
		{"secondary_limit", "GET " + path + " secondary", func(a answer) bool {
			return a.status == 403 && a.header.Get("Retry-After") == "1" && strings.Contains(string(a.body), "secondary rate limit")
		}},
		{"secondary_limit_for_longer", "GET " + path + " header=Retry-After:60 secondary", func(a answer) bool {
			return a.header.Get("Retry-After") == "60"
		}},
		{"other_method", "POST " + path + " 500", func(a answer) bool { return string(a.body) == string(whole) }},
		{"other_path", "GET " + path + "x 500", func(a answer) bool { return string(a.body) == string(whole) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := startWorld(t)
			f, err := ParseFault(test.fault)
			if err != nil {
				t.Fatal(err)
			}
			s.Inject(f)
			if a := get(t, s.URL()+path); !test.spoilt(a) {
				t.Errorf("with %q: %d, %v, %q", test.fault, a.status, a.err, a.body)
			}
			s.Mend()
			if a := get(t, s.URL()+path); string(a.body) != string(whole) {
				t.Errorf("mended: %d, %v, %q", a.status, a.err, a.body)
			}
		})
	}
}

func TestFaultOfWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	f, err := ParseFault("POST " + graphqlPath + " 502 asking=release")
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(f)
	for body, want := range map[string]int{`{"query": "{ release }"}`: 502, `{"query": "{ viewer { login } }"}`: 401} {
		resp, err := http.Post(s.GraphQL(), "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("answer to %s = %d, want %d", body, resp.StatusCode, want)
		}
	}
}

func TestFaultDelayEndsWithTheClient(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	s.Inject(Fault{Method: "*", Path: "/...", Delay: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	s.Before(func(*http.Request) { cancel() })
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		resp.Body.Close()
		t.Fatal("a delayed answer came at once")
	}
	// Close, which the test's cleanup calls, waits for handlers: it would hang.
}

func TestParseFault(t *testing.T) {
	t.Parallel()
	got, err := ParseFault("GET /a/... 503 header=Retry-After:1 header=X:y delay=50ms truncate=100 corrupt drop times=2")
	want := Fault{
		Method: "GET", Path: "/a/...", Status: 503, Times: 2, Delay: 50 * time.Millisecond, Truncate: 100, Corrupt: true, Drop: true,
		Header: http.Header{"Retry-After": {"1"}, "X": {"y"}},
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("ParseFault = %+v, %v, want %+v", got, err, want)
	}
}

func TestParseFaultRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range [][2]string{
		{"GET /a", "a method, a path and what goes wrong"},
		{"GET a 500", "must begin with a slash"},
		{"GET /[ 500", "invalid path pattern"},
		{"GET /a 99", `unknown fault "99"`},
		{"GET /a explode", `unknown fault "explode"`},
		{"GET /a hangs", "forbidden, garbage, hang,"},
		{"GET /a times=0", "not a positive number"},
		{"GET /a truncate=-1", "not a positive number"},
		{"GET /a delay=soon", "invalid fault"},
	} {
		if _, err := ParseFault(test[0]); err == nil || !strings.Contains(err.Error(), test[1]) {
			t.Errorf("ParseFault(%q) = %v, want an error with %q", test[0], err, test[1])
		}
	}
}
