package module

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/problem"
)

// TestStoresThatLie holds that the answers of a store are checked and bounded.
func TestStoresThatLie(t *testing.T) {
	t.Parallel()
	result := func(inner string) string { return "<ListBucketResult>" + inner + "</ListBucketResult>" }
	contents := func(names ...string) string {
		return "<Contents><Key>" + strings.Join(names, "</Key></Contents><Contents><Key>") + "</Key></Contents>"
	}
	one := result(contents("mod/a.tf"))
	many := make([]string, maxObjects+1)
	for i := range many {
		many[i] = fmt.Sprintf("mod/%05d.tf", i)
	}
	for name, tt := range map[string]struct {
		list   string
		object http.HandlerFunc
		code   problem.Code
		says   string
	}{
		"the_same_page_again":  {list: result("<IsTruncated>true</IsTruncated>" + contents("mod/a.md")), code: problem.CodeBadAnswer, says: "again and again"},
		"more_without_names":   {list: result("<IsTruncated>true</IsTruncated>"), code: problem.CodeBadAnswer, says: "no list"},
		"escape_that_is_none":  {list: result("<EncodingType>url</EncodingType>" + contents("mod/%zz")), code: problem.CodeBadAnswer, says: "no list"},
		"file_and_directory":   {list: result(contents("mod/a.tf", "mod/a.tf/b.tf")), code: problem.CodeUnreadModule, says: "same name"},
		"too_many_files":       {list: result(contents(many...)), code: problem.CodeUnreadModule, says: "more than 10000"},
		"list_that_is_cut_off": {list: "<ListBucketResult>" + contents("mod/a.tf"), code: problem.CodeBadAnswer, says: "no list"},
		"page_that_is_no_list": {list: "<html><body>login</body></html>", code: problem.CodeBadAnswer, says: "no list"},
		"object_that_is_gone": {list: one, code: problem.CodeUnreadModule, says: "404",
			object: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }},
		"object_that_is_denied": {list: one, code: problem.CodeUnauthorized, says: "access is denied",
			object: func(w http.ResponseWriter, _ *http.Request) { failS3(w, http.StatusForbidden, "AccessDenied", "") }},
		"object_that_breaks_off": {list: one, code: problem.CodeUnreachable, says: "the server ended the connection",
			object: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				fmt.Fprint(w, "half")
			}},
		"failure_that_is_no_XML": {list: one, code: problem.CodeUnauthorized, says: "403 Forbidden",
			object: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, "<Error><Code>s3cret")
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("prefix") {
					fmt.Fprint(w, tt.list)
				} else if tt.object != nil {
					tt.object(w, r)
				}
			})
			e := failing(t, newClient(t, Options{}, s), "s3::"+s.URL+"/bucket/mod"+keysInURL, tt.code)
			if !strings.Contains(e.Error(), tt.says) || strings.Contains(e.Error(), "s3cret") {
				t.Errorf("error = %v, want it to say %q", e, tt.says)
			}
		})
	}
}

// A store with endless pages is left after a thousand.
func TestListWithoutEnd(t *testing.T) {
	t.Parallel()
	var pages atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>mod/%d</Key></Contents></ListBucketResult>", pages.Add(1))
	})
	c := newClient(t, Options{}, s)
	failing(t, c, "s3::"+s.URL+"/bucket/mod"+keysInURL, problem.CodeUnreadModule)
	if got := c.transport.Stats().Requests; got > maxPages {
		t.Errorf("%d requests, want at most %d", got, maxPages)
	}
}

// An object that is too large is not read, like a file of an archive. The others are.
func TestLargeObject(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Has("prefix"):
			fmt.Fprint(w, "<ListBucketResult><Contents><Key>mod/large.tf</Key></Contents><Contents><Key>mod/main.tf</Key></Contents></ListBucketResult>")
		case strings.HasSuffix(r.URL.Path, "large.tf"):
			w.Write(make([]byte, maxFile+1))
		default:
			fmt.Fprint(w, "# main")
		}
	})
	p := fetch(t, newClient(t, Options{}, s), "s3::"+s.URL+"/bucket/mod"+keysInURL)
	if got := mainOf(t, p); got != "# main" {
		t.Errorf("main.tf = %q", got)
	}
	if _, err := p.FS.Open("large.tf"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("Open = %v, want that the file is too large", err)
	}
}

func TestInTime(t *testing.T) {
	t.Parallel()
	u := &url.URL{Scheme: "https", Host: "store.example.com", Path: "/bucket", RawQuery: "s3cret"}
	waiting := func(ctx context.Context) error {
		<-ctx.Done()
		return ended(ctx)
	}
	if e := wantCode(t, "inTime", inTime(t.Context(), u, time.Nanosecond, waiting), problem.CodeUnreachable); strings.Contains(e.Error(), "s3cret") {
		t.Errorf("error = %v", e)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	wantCode(t, "inTime", inTime(over, u, time.Hour, waiting), problem.CodeCancelled)
}

func TestMercurialIsNotRead(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	for _, source := range []string{"hg::https://hg.example.com/r", "hg::ssh://hg@hg.example.com/r//sub?rev=v1"} {
		if e := failing(t, c, source, problem.CodeUnreadModule); e.Problem.Hint == "" || !strings.Contains(e.Error(), "Mercurial") {
			t.Errorf("Fetch(%q) = %v, hint %q", source, e, e.Problem.Hint)
		}
	}
}
