package transport

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
)

// content is what the servers of these tests send, in parts that break off.
var content = strings.Repeat("0123456789", 10_000)

// part is one answer of a breaking server.
type part struct {
	status int // 200 by default
	header http.Header
	body   string
	whole  bool // the body does not break off
}

// breaking answers with one part after the other, each with what the test says
// or, if that is nothing, with a correct answer to the question.
type breaking struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // Range and If-Range
}

const entityTag = `"v1"`

func newBreaking(t *testing.T, parts ...part) *breaking {
	t.Helper()
	b := &breaking{}
	b.Server = serve(t, func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		n := len(b.asked)
		b.asked = append(b.asked, strings.TrimSpace(r.Header.Get("Range")+" "+r.Header.Get("If-Range")))
		b.mu.Unlock()
		p := parts[min(n, len(parts)-1)]
		for name, values := range p.header {
			w.Header()[name] = values
		}
		if p.status != 0 {
			w.WriteHeader(p.status)
		}
		io.WriteString(w, p.body)
		if !p.whole {
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	return b
}

func (b *breaking) questions() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.asked)
}

// begin is the first part: all but what is behind the first n bytes.
func begin(n int, header ...string) part {
	p := part{header: http.Header{"Content-Length": {fmt.Sprint(len(content))}}, body: content[:n]}
	for i := 0; i < len(header); i += 2 {
		p.header.Set(header[i], header[i+1])
	}
	return p
}

// rest is the correct answer to a question for what is behind the first n bytes,
// which breaks off before the end unless that is the end of the content.
func rest(n, end int, header ...string) part {
	p := part{status: http.StatusPartialContent, header: http.Header{
		"Content-Length": {fmt.Sprint(len(content) - n)},
		"Content-Range":  {fmt.Sprintf("bytes %d-%d/%d", n, len(content)-1, len(content))},
		"Etag":           {entityTag},
	}, body: content[n:end], whole: end == len(content)}
	for i := 0; i < len(header); i += 2 {
		p.header.Set(header[i], header[i+1])
	}
	return p
}

func (b *breaking) stream(t *testing.T, r Request) (string, error) {
	t.Helper()
	r.URL, r.Limit = parse(t, b.URL+"/package"), int64(len(content))
	_, body, err := newClient(b.Server).Stream(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	got, err := io.ReadAll(body)
	return string(got), err
}

func TestBrokenTransferGoesOn(t *testing.T) {
	t.Parallel()
	const old = "Mon, 02 Jan 2006 15:04:05 GMT"
	tests := []struct {
		name  string
		parts []part
		asked []string
	}{
		{"by_entity_tag",
			[]part{begin(10, "Etag", entityTag), rest(10, 99_000), rest(99_000, len(content))},
			[]string{"", `bytes=10- "v1"`, `bytes=99000- "v1"`}},
		{"by_date",
			[]part{begin(70_000, "Last-Modified", old), rest(70_000, len(content), "Etag", `"first seen"`)},
			[]string{"", "bytes=70000- " + old}},
		{"from_the_beginning",
			[]part{begin(0, "Etag", entityTag), rest(0, len(content))},
			[]string{"", `bytes=0- "v1"`}},
		{"where_the_server_knows_no_ranges",
			[]part{begin(500, "Etag", entityTag), {header: begin(0, "Etag", entityTag).header, body: content, whole: true}},
			[]string{"", `bytes=500- "v1"`}},
		{"by_the_same_beginning_of_another_tag",
			[]part{begin(500, "Etag", entityTag), {header: begin(0, "Etag", `"v2"`).header, body: content, whole: true}},
			[]string{"", `bytes=500- "v1"`}},
		{"by_the_same_beginning_of_a_weak_tag",
			[]part{begin(500, "Etag", `W/"v1"`), {header: begin(0).header, body: content, whole: true}},
			[]string{"", ""}},
		{"by_the_same_beginning_alone",
			[]part{begin(500), begin(300), begin(99_000), {header: begin(0).header, body: content, whole: true}},
			[]string{"", "", "", ""}},
		{"by_the_same_beginning_without_a_length",
			[]part{{body: content[:500]}, {body: content, whole: true}},
			[]string{"", ""}},
		{"after_a_server_error",
			[]part{begin(500, "Etag", entityTag), {status: 503, whole: true}, rest(500, len(content))},
			[]string{"", `bytes=500- "v1"`, `bytes=500- "v1"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBreaking(t, tt.parts...)
			if got, err := b.stream(t, Request{}); got != content || err != nil {
				t.Errorf("read %d bytes, %v; want all %d", len(got), err, len(content))
			}
			if diff := cmp.Diff(tt.asked, b.questions()); diff != "" {
				t.Errorf("Range and If-Range (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrokenTransferFailsWhereTheRestIsNotSure(t *testing.T) {
	t.Parallel()
	tagged := begin(500, "Etag", entityTag)
	other := part{header: begin(0, "Etag", `"v2"`).header, body: strings.Replace(content, "9", "8", 1), whole: true}
	longer := part{header: http.Header{"Content-Length": {fmt.Sprint(len(content) - 1)}}, body: content[1:], whole: true}
	more := part{header: http.Header{"Content-Length": {fmt.Sprint(len(content) + 1)}}, body: content + "!", whole: true}
	fewer := part{header: http.Header{"Content-Length": {fmt.Sprint(len(content) - 1)}}, body: content[:len(content)-1], whole: true}
	now := time.Now().UTC().Format(http.TimeFormat)
	tests := []struct {
		name    string
		first   part
		second  part
		request Request
		asked   int
	}{
		{"another_body", tagged, other, Request{}, 2},
		{"a_rest_of_another_body", tagged, rest(500, len(content), "Etag", `"v2"`), Request{}, 2},
		{"another_range", tagged, rest(500, len(content), "Content-Range", "bytes 501-99999/100000"), Request{}, 2},
		{"another_total", tagged, rest(500, len(content), "Content-Range", "bytes 500-99999/100001"), Request{}, 2},
		{"another_length", tagged, part{status: 206, header: http.Header{
			"Content-Range": {"bytes 500-99999/100000"}, "Content-Length": {"3"},
		}, body: "abc", whole: true}, Request{}, 2},
		{"not_there_any_more", tagged, part{status: 404, whole: true}, Request{}, 2},
		{"weak_tag", begin(500, "Etag", `W/"v1"`), other, Request{}, 2},
		{"nothing_to_know_it_by", begin(500), other, Request{}, 2},
		{"changed_this_second", begin(500, "Last-Modified", now, "Date", now), other, Request{}, 2},
		{"of_another_length", begin(500), longer, Request{}, 2},
		{"more_after_the_same_beginning", begin(500), more, Request{}, 2},
		{"less_after_the_same_beginning", begin(500), fewer, Request{}, 2},
		{"the_rest_of_what_changed_this_second", begin(500, "Last-Modified", now, "Date", now), rest(500, len(content), "Etag", ""), Request{}, 2},
		{"no_retries", tagged, rest(500, len(content)), Request{NoRetry: true}, 1},
		{"retries_turned_off", tagged, rest(500, len(content)), Request{Retries: -1}, 1},
		{"no_get", tagged, rest(500, len(content)), Request{Method: http.MethodPost}, 1},
		{"part_of_a_body", tagged, rest(500, len(content)), Request{Header: http.Header{"Range": {"bytes=0-"}}}, 1},
		{"no_length", part{header: http.Header{"Etag": {entityTag}}, body: content[:500]}, rest(500, len(content)), Request{}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBreaking(t, tt.first, tt.second)
			got, err := b.stream(t, tt.request)
			wantCode(t, err, problem.CodeUnreachable)
			if got != content[:500] || len(b.questions()) != tt.asked {
				t.Errorf("read %d bytes with %d questions, want 500 and %d", len(got), len(b.questions()), tt.asked)
			}
		})
	}
}

// turns counts who leaves and enters.
type turns struct{ left, entered int }

func (t *turns) Leave()                      { t.left++ }
func (t *turns) Enter(context.Context) error { t.entered++; return nil }

func TestBrokenTransferGivesItsTurnToOthers(t *testing.T) {
	t.Parallel()
	b := newBreaking(t, begin(10, "Etag", entityTag), rest(10, 99_000), rest(99_000, len(content)))
	var seen turns
	if got, err := b.stream(t, Request{Turn: &seen}); got != content || err != nil {
		t.Errorf("read %d bytes, %v; want all %d", len(got), err, len(content))
	}
	if seen != (turns{2, 2}) {
		t.Errorf("left and entered %+v, want 2 times each", seen)
	}
}

func TestTransferThatBreaksTooOftenFails(t *testing.T) {
	t.Parallel()
	parts := []part{begin(10, "Etag", entityTag)}
	for i := range maxResumes + 1 {
		parts = append(parts, rest(10*(i+1), 10*(i+2)))
	}
	b := newBreaking(t, parts...)
	got, err := b.stream(t, Request{})
	wantCode(t, err, problem.CodeUnreachable)
	if want := 10 * (maxResumes + 1); len(got) != want || len(b.questions()) != maxResumes+1 {
		t.Errorf("read %d bytes with %d questions, want %d and %d", len(got), len(b.questions()), want, maxResumes+1)
	}
}

func TestCancelledTransferDoesNotGoOn(t *testing.T) {
	t.Parallel()
	b := newBreaking(t, begin(500, "Etag", entityTag), rest(500, len(content)))
	ctx, cancel := context.WithCancel(t.Context())
	c := New(Options{RetryWait: time.Hour})
	c.Admit(b.Listener.Addr().String())
	_, body, err := c.Stream(ctx, Request{URL: parse(t, b.URL), Limit: int64(len(content))})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if _, err := io.ReadFull(body, make([]byte, 500)); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = body.Read(make([]byte, 1))
	wantCode(t, err, problem.CodeCancelled)
	if len(b.questions()) != 1 {
		t.Errorf("asked %d times, want once", len(b.questions()))
	}
}

// TestStandingTransferGoesOn is for lines that die without a word.
func TestStandingTransferGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := inMemory(t, nil, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				p := rest(500, len(content))
				maps.Copy(w.Header(), p.header)
				w.WriteHeader(p.status)
				io.WriteString(w, p.body)
				return
			}
			w.Header().Set("Etag", entityTag)
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			io.WriteString(w, content[:500])
			w.(http.Flusher).Flush()
			hang(w, r)
		})
		began := time.Now()
		_, body, err := c.Stream(t.Context(), Request{URL: parse(t, "http://registry.test/zip"), Limit: int64(len(content))})
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		if got, err := io.ReadAll(body); string(got) != content || err != nil {
			t.Errorf("read %d bytes, %v; want all %d", len(got), err, len(content))
		}
		if took, want := time.Since(began), standTime+time.Second; took != want {
			t.Errorf("it took %s, want %s", took, want)
		}
	})
}
