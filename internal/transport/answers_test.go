package transport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// library is a server of answers that can be kept. Tests change what it says
// before they ask.
type library struct {
	*httptest.Server
	header http.Header
	body   string
	status int
	asked  atomic.Int64
	last   http.Header // of the last question; for tests that ask one at a time
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{header: http.Header{}, body: "the answer", status: http.StatusOK}
	l.Server = serve(t, func(w http.ResponseWriter, r *http.Request) {
		l.asked.Add(1)
		l.last = r.Header
		for name, values := range l.header {
			w.Header()[name] = values
		}
		etag, modified := l.header.Get("Etag"), l.header.Get("Last-Modified")
		if etag != "" && r.Header.Get("If-None-Match") == etag || modified != "" && r.Header.Get("If-Modified-Since") == modified {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.WriteHeader(l.status)
		io.WriteString(w, l.body)
	})
	return l
}

func (l *library) request(t *testing.T) Request {
	t.Helper()
	return Request{URL: parse(t, l.URL+"/versions?sig=s3cret"), Keep: true, Validity: 5 * time.Minute}
}

// run is a client as a run has it that begins so long after the first one.
func (l *library) run(t *testing.T, dir string, later time.Duration, opts Options) *Client {
	t.Helper()
	answers, err := OpenAnswers(dir)
	if err != nil {
		t.Fatal(err)
	}
	answers.now = func() time.Time { return time.Now().Add(later) }
	opts.Answers = answers
	c := New(opts)
	c.Admit(l.Listener.Addr().String())
	return c
}

// ask expects an answer with this body after so many questions in all.
func (l *library) ask(t *testing.T, c *Client, r Request, body string, asked int64) *Response {
	t.Helper()
	got, err := c.Do(t.Context(), r)
	if err != nil || got.Status != l.status || string(got.Body) != body {
		t.Fatalf("Do = %+v, %v; want status %d and %q", got, err, l.status, body)
	}
	if l.asked.Load() != asked {
		t.Errorf("the server was asked %d times, want %d", l.asked.Load(), asked)
	}
	return got
}

func TestKeptAnswerIsGivenToTheNextRun(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), filepath.Join(t.TempDir(), "new", "answers")
	l.header.Set("Content-Type", "application/json; charset=utf-8")
	first := l.ask(t, l.run(t, dir, 0, Options{}), l.request(t), "the answer", 1)
	second := l.run(t, dir, 0, Options{})
	again := l.ask(t, second, l.request(t), "the answer", 1)
	if first.Kept || !again.Kept || again.Header.Get("Content-Type") != first.Header.Get("Content-Type") || again.Size != first.Size {
		t.Errorf("answers = %+v and %+v, want the same, and the second one kept", first, again)
	}
	if got := again.URL.String(); got != l.URL+"/versions" {
		t.Errorf("URL of the kept answer = %s, want it without its query", got)
	}
	if want := (Stats{Recalled: 1}); second.Stats() != want {
		t.Errorf("Stats() = %+v, want %+v", second.Stats(), want)
	}
}

func TestKeptAnswerIsValidAsTheServerSays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		header http.Header
		later  time.Duration
		asked  int64
	}{
		{"silent_and_young", nil, 4 * time.Minute, 1},
		{"silent_and_old", nil, 6 * time.Minute, 2},
		{"of_the_future", nil, -time.Minute, 2},
		{"max_age", http.Header{"Cache-Control": {"public, max-age=60"}}, 50 * time.Second, 1},
		{"max_age_is_over", http.Header{"Cache-Control": {"max-age=60"}}, 70 * time.Second, 2},
		{"max_age_counts_from_the_origin", http.Header{"Cache-Control": {"max-age=60"}, "Age": {"50"}}, 20 * time.Second, 2},
		{"max_age_is_above_the_default", http.Header{"Cache-Control": {"max-age=1800"}}, 20 * time.Minute, 1},
		{"max_age_is_bounded", http.Header{"Cache-Control": {"max-age=31536000"}}, 61 * time.Minute, 2},
		{"max_age_is_no_number", http.Header{"Cache-Control": {"max-age=soon"}}, 0, 2},
		{"no_store", http.Header{"Cache-Control": {"No-Store"}}, 0, 2},
		{"no_cache", http.Header{"Cache-Control": {"no-cache, max-age=60"}, "Etag": {`"v1"`}}, 0, 2},
		{"must_not_be_reused", http.Header{"Vary": {"Accept-Encoding, *"}}, 0, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, dir := newLibrary(t), t.TempDir()
			for name, values := range tt.header {
				l.header[name] = values
			}
			l.ask(t, l.run(t, dir, 0, Options{}), l.request(t), "the answer", 1)
			l.ask(t, l.run(t, dir, tt.later, Options{}), l.request(t), "the answer", tt.asked)
		})
	}
}

func TestOldAnswerIsConfirmed(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]http.Header{
		"by_entity_tag": {"Etag": {`W/"v1"`}, "Content-Type": {"application/json"}},
		"by_date":       {"Last-Modified": {"Mon, 02 Jan 2006 15:04:05 GMT"}, "Content-Type": {"application/json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, dir := newLibrary(t), t.TempDir()
			l.header = header
			l.ask(t, l.run(t, dir, 0, Options{}), l.request(t), "the answer", 1)
			second := l.run(t, dir, time.Hour, Options{})
			got := l.ask(t, second, l.request(t), "the answer", 2)
			if !got.Kept || got.Header.Get("Content-Type") != "application/json" || second.Stats().Bytes != 0 {
				t.Errorf("answer = %+v with %d bytes of bodies, want the kept one and none", got, second.Stats().Bytes)
			}
			// It is young again.
			l.ask(t, l.run(t, dir, time.Hour+time.Minute, Options{}), l.request(t), "the answer", 2)
			// And it gives way to another one.
			l.header, l.body = http.Header{"Etag": {`W/"v2"`}}, "another"
			got = l.ask(t, l.run(t, dir, 2*time.Hour, Options{}), l.request(t), "another", 3)
			if got.Kept {
				t.Error("the new answer is said to be kept")
			}
			l.ask(t, l.run(t, dir, 2*time.Hour, Options{}), l.request(t), "another", 3)
		})
	}
}

func TestYoungAnswerIsAskedForWhereSomebodyWantsIt(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), t.TempDir()
	l.header.Set("Etag", `"v1"`)
	l.ask(t, l.run(t, dir, 0, Options{}), l.request(t), "the answer", 1)
	got := l.ask(t, l.run(t, dir, 0, Options{Confirm: true}), l.request(t), "the answer", 2)
	if !got.Kept || l.last.Get("If-None-Match") != `"v1"` {
		t.Errorf("with Confirm: kept %v, asked with %v; want the kept answer, confirmed", got.Kept, l.last)
	}
	fresh := l.request(t)
	fresh.Fresh = true
	got = l.ask(t, l.run(t, dir, 0, Options{}), fresh, "the answer", 3)
	if got.Kept || l.last.Get("If-None-Match") != "" {
		t.Errorf("with Fresh: kept %v, asked with %v; want a new answer", got.Kept, l.last)
	}
}

func TestOnlyAnswersOfStatus200AreKept(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), t.TempDir()
	for i, status := range []int{http.StatusNotFound, http.StatusUnauthorized, http.StatusPartialContent} {
		l.status = status
		l.ask(t, l.run(t, dir, 0, Options{}), l.request(t), "the answer", int64(i+1))
	}
	post := l.request(t)
	post.Method, l.status = http.MethodPost, http.StatusOK
	l.ask(t, l.run(t, dir, 0, Options{}), post, "the answer", 4)
	silent := l.request(t)
	silent.Keep = false
	l.ask(t, l.run(t, dir, 0, Options{}), silent, "the answer", 5)
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("files = %v, %v; want none", files, err)
	}
}

func TestAnswerIsForWhoAsksWithTheSameToken(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), t.TempDir()
	l.header.Set("Etag", `"v1"`)
	mine := l.request(t)
	mine.Token = "my-t0ken"
	l.ask(t, l.run(t, dir, 0, Options{}), mine, "the answer", 1)
	l.ask(t, l.run(t, dir, 0, Options{}), mine, "the answer", 1)
	yours, nobodys := l.request(t), l.request(t)
	yours.Token = "y0ur-token"
	for i, r := range []Request{yours, nobodys} {
		got := l.ask(t, l.run(t, dir, 0, Options{}), r, "the answer", int64(i+2))
		if got.Kept || l.last.Get("If-None-Match") != "" {
			t.Errorf("token %q: the answer to another one was used", r.Token)
		}
	}
}

// TestFilesOfAnswersSayNothing is about those who can read the directory, such
// as everybody who can make a pull request, where it lies in a shared cache.
func TestFilesOfAnswersSayNothing(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), t.TempDir()
	r := l.request(t)
	r.Token = "my-t0ken"
	l.ask(t, l.run(t, dir, 0, Options{}), r, "the answer", 1)
	for name, data := range filesIn(t, dir) {
		for _, secret := range []string{"my-t0ken", "s3cret", "the answer", "versions"} {
			if bytes.Contains(data, []byte(secret)) || strings.Contains(name, secret) {
				t.Errorf("%s holds %q", name, secret)
			}
		}
	}
}

func filesIn(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestDamagedAnswerIsAskedForAgain(t *testing.T) {
	t.Parallel()
	damages := map[string]func([]byte) []byte{
		"a_bit":          func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"the_header":     func(b []byte) []byte { b[0] ^= 1; return b },
		"cut":            func(b []byte) []byte { return b[:len(b)-1] },
		"cut_early":      func(b []byte) []byte { return b[:len(answerHeader)+3] },
		"empty":          func([]byte) []byte { return nil },
		"longer":         func(b []byte) []byte { return append(b, 0) },
		"far_too_long":   func(b []byte) []byte { return append(b, make([]byte, DefaultLimit+answerExtra)...) },
		"something_else": func([]byte) []byte { return []byte("<html>") },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, dir := newLibrary(t), t.TempDir()
			l.ask(t, l.run(t, dir, 0, Options{}), l.request(t), "the answer", 1)
			for name, data := range filesIn(t, dir) {
				if err := os.WriteFile(filepath.Join(dir, name), damage(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l.ask(t, l.run(t, dir, 0, Options{}), l.request(t), "the answer", 2)
			l.ask(t, l.run(t, dir, 0, Options{}), l.request(t), "the answer", 2)
		})
	}
	t.Run("no_file", func(t *testing.T) {
		t.Parallel()
		l, dir := newLibrary(t), t.TempDir()
		name, _ := l.request(t).seal()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		l.ask(t, l.run(t, dir, 0, Options{}), l.request(t), "the answer", 1)
	})
}

// TestAnswerIsOfItsOwnQuestion moves one answer to where another one is kept.
func TestAnswerIsOfItsOwnQuestion(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), t.TempDir()
	one, other := l.request(t), l.request(t)
	other.URL = parse(t, l.URL+"/other")
	l.ask(t, l.run(t, dir, 0, Options{}), one, "the answer", 1)
	from, _ := one.seal()
	to, _ := other.seal()
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		t.Fatal(err)
	}
	l.body = "the other answer"
	l.ask(t, l.run(t, dir, 0, Options{}), other, "the other answer", 2)
}

func TestKeptAnswerObeysTheLimit(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), t.TempDir()
	l.ask(t, l.run(t, dir, 0, Options{}), l.request(t), "the answer", 1)
	r := l.request(t)
	r.Limit, l.body = 3, "new"
	l.ask(t, l.run(t, dir, 0, Options{}), r, "new", 2)
}

func TestAnswerThatVariesIsForTheSameHeaders(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), t.TempDir()
	l.header.Set("Vary", "X-Tool, accept-encoding")
	r := l.request(t)
	r.Header = http.Header{"X-Tool": {"1"}, "X-Other": {"1"}}
	l.ask(t, l.run(t, dir, 0, Options{}), r, "the answer", 1)
	r.Header = http.Header{"X-Tool": {"1"}, "X-Other": {"2"}}
	l.ask(t, l.run(t, dir, 0, Options{}), r, "the answer", 1)
	r.Header = http.Header{"X-Tool": {"2"}}
	l.ask(t, l.run(t, dir, 0, Options{}), r, "the answer", 2)
}

func TestReadOnlyAnswersChangeNothing(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), t.TempDir()
	l.ask(t, l.run(t, dir, 0, Options{}), l.request(t), "the answer", 1)
	before := filesIn(t, dir)
	c := New(Options{Answers: OpenReadOnlyAnswers(dir)})
	c.Admit(l.Listener.Addr().String())
	l.ask(t, c, l.request(t), "the answer", 1)
	other := l.request(t)
	other.URL = parse(t, l.URL+"/other")
	l.ask(t, c, other, "the answer", 2)
	fresh := l.request(t)
	fresh.Fresh = true
	l.ask(t, c, fresh, "the answer", 3)
	if diff := cmp.Diff(before, filesIn(t, dir)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
	missing := filepath.Join(dir, "missing")
	c = New(Options{Answers: OpenReadOnlyAnswers(missing)})
	c.Admit(l.Listener.Addr().String())
	l.ask(t, c, l.request(t), "the answer", 4)
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Errorf("the missing directory: %v, want it missing", err)
	}
}

// TestRunsShareAnswers lets several runs ask and keep the same at once, with
// every answer confirmed and so written again.
func TestRunsShareAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var asked atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Etag", `"`+r.URL.Path+`"`)
		if r.Header.Get("If-None-Match") == `"`+r.URL.Path+`"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, strings.Repeat(r.URL.Path, 1000))
	})
	var wg sync.WaitGroup
	for range 3 {
		answers, err := OpenAnswers(dir)
		if err != nil {
			t.Fatal(err)
		}
		c := New(Options{Answers: answers, Confirm: true})
		c.Admit(s.Listener.Addr().String())
		for i := range 40 {
			path := fmt.Sprintf("/%d", i%10)
			u := &url.URL{Scheme: "http", Host: s.Listener.Addr().String(), Path: path}
			wg.Go(func() {
				got, err := c.Do(t.Context(), Request{URL: u, Keep: true, Validity: time.Minute})
				if err != nil || got.Status != http.StatusOK || string(got.Body) != strings.Repeat(path, 1000) {
					t.Errorf("Do(%s) = %+v, %v; want its answer", path, got, err)
				}
			})
		}
	}
	wg.Wait()
	last, err := OpenAnswers(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, before := New(Options{Answers: last}), asked.Load()
	for i := range 10 {
		if _, err := c.Do(t.Context(), Request{URL: parse(t, fmt.Sprintf("%s/%d", s.URL, i)), Keep: true, Validity: time.Minute}); err != nil {
			t.Errorf("Do = %v, want the kept answer", err)
		}
	}
	if asked.Load() != before || len(filesIn(t, dir)) != 10 {
		t.Errorf("%d more questions and %d files, want none and 10", asked.Load()-before, len(filesIn(t, dir)))
	}
}

func TestOldAndSurplusAnswersGo(t *testing.T) {
	t.Parallel()
	now := time.Now()
	fill := func(dir string) {
		for i, age := range []time.Duration{time.Hour, 2 * time.Hour, 3 * time.Hour, maxIdle + time.Hour} {
			path := filepath.Join(dir, fmt.Sprintf("answer-%d", i))
			if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, now, now.Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
		mine := filepath.Join(dir, "mine")
		if err := os.WriteFile(mine, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(mine, now, now.Add(-2*maxIdle)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name   string
		number int
		size   int64
		want   []string
	}{
		{"by_age", maxAnswers, maxAnswerBytes, []string{"answer-0", "answer-1", "answer-2", "mine"}},
		{"by_number", 2, maxAnswerBytes, []string{"answer-0", "answer-1", "mine"}},
		{"by_size", maxAnswers, 150, []string{"answer-0", "mine"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			fill(dir)
			a := &Answers{dir: dir, now: func() time.Time { return now }}
			if err := a.prune(tt.number, tt.size); err != nil {
				t.Fatal(err)
			}
			var got []string
			entries, err := os.ReadDir(dir)
			for _, e := range entries {
				got = append(got, e.Name())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("files: %v (-want +got):\n%s", err, diff)
			}
		})
	}
	dir := t.TempDir()
	fill(dir)
	if _, err := OpenAnswers(dir); err != nil || len(filesIn(t, dir)) != 4 {
		t.Errorf("OpenAnswers = %v and left %d files, want 4", err, len(filesIn(t, dir)))
	}
}

func TestRunKeepsNoMoreThanFits(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), t.TempDir()
	c := l.run(t, dir, 0, Options{})
	c.opts.Answers.left.Store(10)
	l.ask(t, c, l.request(t), "the answer", 1)
	if files := filesIn(t, dir); len(files) > 0 {
		t.Errorf("files = %v, want none", files)
	}
}

func TestAnswersThatCannotBeKeptAreGivenAllTheSame(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), filepath.Join(t.TempDir(), "answers")
	c := l.run(t, dir, 0, Options{})
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	l.ask(t, c, l.request(t), "the answer", 1)
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAnswers(dir); err == nil {
		t.Error("OpenAnswers of a file = nil, want an error")
	}
}

// TestKeptAnswerRefersToThisMachine is the rule for referrals, where the server
// that refers was asked by an earlier run alone.
func TestKeptAnswerRefersToThisMachine(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), t.TempDir()
	l.ask(t, l.run(t, dir, 0, Options{}), l.request(t), "the answer", 1)
	files := serve(t, answer("a file"))
	second := l.run(t, dir, 0, Options{})
	got := l.ask(t, second, l.request(t), "the answer", 1)
	if _, err := second.Do(t.Context(), Request{URL: parse(t, files.URL), Referrer: got.URL}); err != nil {
		t.Errorf("Do of what the kept answer refers to = %v, want it allowed", err)
	}
	// The same answer of a server that the operator has not named admits nothing.
	stranger := New(Options{Answers: OpenReadOnlyAnswers(dir)})
	got = l.ask(t, stranger, l.request(t), "the answer", 1)
	if _, err := stranger.Do(t.Context(), Request{URL: parse(t, files.URL), Referrer: got.URL}); err == nil {
		t.Error("Do of what a stranger's answer refers to = nil, want it refused")
	}
}
