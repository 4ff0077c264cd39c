package sandbox

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// wild are the faults that are more than a status, by their word in a world's
// text. A fault gets the real answer from next.
var wild = map[string]func(s *Sandbox, w http.ResponseWriter, r *http.Request, next http.Handler){
	// The connection.
	"reset": func(_ *Sandbox, w http.ResponseWriter, _ *http.Request, _ http.Handler) { reset(w) },
	"hang":  func(s *Sandbox, _ http.ResponseWriter, r *http.Request, _ http.Handler) { s.wait(r) },
	// The body: its announced length is too short or too long; it stops in the
	// middle, comes in pieces, or never ends.
	"short":   short,
	"long":    long,
	"stall":   stall,
	"slow":    slow,
	"trickle": trickle,
	// A redirect: to itself, to the same path on another server, to a forbidden
	// server, to a lower scheme, to a port without a listener, and to a server
	// without TLS.
	"loop":      redirect(func(s *Sandbox, r *http.Request) string { return origin(r) }),
	"elsewhere": redirect(func(s *Sandbox, r *http.Request) string { return s.other.URL }),
	"forbidden": redirect(func(s *Sandbox, r *http.Request) string { return "http://169.254.169.254" }),
	"lower":     redirect(lower),
	"refused":   redirect(func(s *Sandbox, r *http.Request) string { return scheme(r) + "://" + s.closed }),
	"notls":     redirect(func(s *Sandbox, r *http.Request) string { return "https://" + s.plain.Listener.Addr().String() }),
	// The content.
	"html":    html,
	"empty":   filled("application/json", func() []byte { return nil }),
	"garbage": filled("application/json", func() []byte { return bytes.Repeat([]byte{0x00, 0xff, 0x7f, '<'}, 1000) }),
	"nested":  filled("application/json", func() []byte { return bytes.Repeat([]byte("["), 1<<19) }),
	"huge":    huge,
	"bomb":    bomb,
	"headers": func(_ *Sandbox, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("X-Huge", strings.Repeat("x", 16<<20))
		writeJSON(w, struct{}{})
	},
}

// wildWords are the words of wild, for messages.
func wildWords() string { return strings.Join(slices.Sorted(maps.Keys(wild)), ", ") }

// most is the length of an endless body: a gigabyte, which nobody reads.
const most = 1 << 30

// reset ends the connection as a crash does, without a FIN.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the connection ends all the same
	}
	below := conn
	if t, ok := conn.(*tls.Conn); ok {
		below = t.NetConn()
	}
	if t, ok := below.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // else it is closed with a FIN
	}
	_ = below.Close()
}

// whole is the real answer, unsent.
func whole(r *http.Request, next http.Handler) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	next.ServeHTTP(rec, r)
	return rec
}

// begin sends status and header of an answer, with another length of its body.
func begin(w http.ResponseWriter, rec *httptest.ResponseRecorder, length int) {
	maps.Copy(w.Header(), rec.Header())
	w.Header().Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(rec.Code)
}

func short(_ *Sandbox, w http.ResponseWriter, r *http.Request, next http.Handler) {
	rec := whole(r, next)
	body := rec.Body.Bytes()
	body = body[:len(body)/2]
	begin(w, rec, len(body))
	_, _ = w.Write(body)
}

func long(_ *Sandbox, w http.ResponseWriter, r *http.Request, next http.Handler) {
	rec := whole(r, next)
	begin(w, rec, rec.Body.Len()+1000)
	_, _ = w.Write(rec.Body.Bytes())
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler) // the rest does not come
}

func stall(s *Sandbox, w http.ResponseWriter, r *http.Request, next http.Handler) {
	rec := whole(r, next)
	begin(w, rec, rec.Body.Len())
	_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
	_ = http.NewResponseController(w).Flush()
	s.wait(r)
}

func slow(s *Sandbox, w http.ResponseWriter, r *http.Request, next http.Handler) {
	rec := whole(r, next)
	begin(w, rec, rec.Body.Len())
	for piece := range slices.Chunk(rec.Body.Bytes(), rec.Body.Len()/8+1) {
		if !s.pause(r, 20*time.Millisecond) {
			return
		}
		_, _ = w.Write(piece)
		_ = http.NewResponseController(w).Flush()
	}
}

func trickle(s *Sandbox, w http.ResponseWriter, r *http.Request, next http.Handler) {
	rec := whole(r, next)
	begin(w, rec, 1<<20)
	for s.pause(r, 100*time.Millisecond) {
		_, _ = w.Write([]byte(" "))
		_ = http.NewResponseController(w).Flush()
	}
}

// wait ends with the client, or with the sandbox. After an answer without a body,
// a client may already have sent its next request. Then net/http does not notice
// that it left.
func (s *Sandbox) wait(r *http.Request) {
	select {
	case <-s.ended:
	case <-r.Context().Done():
	}
}

// pause reports whether the client is still there after the duration.
func (s *Sandbox) pause(r *http.Request, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.ended:
	case <-r.Context().Done():
	}
	return false
}

// redirect leads to the same path and query of another server.
func redirect(to func(s *Sandbox, r *http.Request) string) func(*Sandbox, http.ResponseWriter, *http.Request, http.Handler) {
	return func(s *Sandbox, w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Location", to(s, r)+r.URL.RequestURI())
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
}

func scheme(r *http.Request) string {
	name, _, _ := strings.Cut(origin(r), ":")
	return name
}

// lower is the server without TLS. Below it there are only other protocols.
func lower(s *Sandbox, r *http.Request) string {
	if r.TLS != nil {
		return s.plain.URL
	}
	return "ftp://" + r.Host
}

// html is the login page of a network.
func html(_ *Sandbox, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!doctype html><title>Welcome</title><p>Please log in.</p>")
}

func filled(contentType string, body func() []byte) func(*Sandbox, http.ResponseWriter, *http.Request, http.Handler) {
	return func(_ *Sandbox, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body())
	}
}

// huge is JSON that never ends.
func huge(_ *Sandbox, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/json")
	_, err := io.WriteString(w, `{"versions":[`)
	piece := bytes.Repeat([]byte(`{"version":"1.0.0"},`), 1000)
	for sent := 0; err == nil && sent < most; sent += len(piece) {
		_, err = w.Write(piece)
	}
}

// bomb is a gigabyte of white space in a megabyte.
func bomb(_ *Sandbox, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	member := spaces()
	var err error
	for sent := 0; err == nil && sent < most; sent += 1 << 20 {
		_, err = w.Write(member)
	}
}

// spaces is a mebibyte of white space as a member of a gzip stream.
var spaces = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(bytes.Repeat([]byte(" "), 1<<20)) // a buffer takes all
	_ = z.Close()
	return b.Bytes()
})
