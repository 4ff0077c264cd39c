package sandbox

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault spoils the answers to the requests that it matches. If several faults
// match, the last injected one is used.
type Fault struct {
	// Method is an HTTP method, or "*" for all of them.
	Method string
	// Path is a pattern of path.Match; a final "..." matches any rest. Paths
	// begin with the host of the registry in its ASCII form.
	Path string
	// Asking is a text that the body of the request must contain, if not empty.
	Asking string
	// Times is the number of spoilt requests; 0 means all.
	Times int

	// Status, Header and Body replace the real answer. Without a Status, Header
	// is added to the real answer.
	Status int
	Header http.Header
	Body   string
	// Delay passes before the answer begins, unless the client leaves earlier.
	Delay time.Duration
	// Truncate cuts the connection after so many bytes of the body.
	Truncate int64
	// Corrupt alters the first byte of the body.
	Corrupt bool
	// Drop closes the connection without an answer.
	Drop bool
	// Done carries the request out first; only its answer is lost.
	Done bool
	// Stale carries a write to GitHub out. The next read with another answer
	// because of the write gets the old answer.
	Stale bool
	// Errors is the path of a node in an answer of GraphQL, in the form of
	// errors=. The node is null, and an error names it. Empty means no node.
	Errors string
	// Wild is a fault that has only a word; see ParseFault.
	Wild string
}

// fault is a Fault in use: Times counts down.
type fault struct{ Fault }

// ParseFault reads a line of a world's faults: a method, a path pattern, and what
// goes wrong, each in its own word:
//
//	503  header=NAME:VALUE  delay=50ms  truncate=100  corrupt  drop  times=2
//
// With done before a status, drop or errors, the request is carried out, and its
// answer is lost. Without done, a mutation with errors is not carried out:
//
//	errors=PATH        an answer of GraphQL with status 200, in which the node at the
//	                   path (repository.b0.nodes.2) is null for an error that names it:
//	                   "Something went wrong"; errors=PATH:TYPE gives the error a type, such
//	                   as FORBIDDEN, which an IP allow list is
//	stale              a write to GitHub is carried out and answered; the next question whose
//	                   answer it has changed is answered as before
//
// asking=TEXT selects requests whose body contains the text.
//
// GitHub's two limits have words of their own. Retry-After is one second, unless
// header=Retry-After:SECONDS precedes the word:
//
//	primary  secondary
//
// The limit for the creation of content gives no time:
//
//	creation
//
// Other faults are more than a status:
//
//	reset            the connection, without an answer; hang waits for ever
//	short  long      the announced length is less or more than the body has
//	stall  slow      the body stops in the middle, or comes in pieces
//	trickle          the body comes byte by byte and never ends
//	loop             a redirect to itself; elsewhere: to the same on another
//	                 server; forbidden: to a metadata service; lower: to http, or
//	                 to what is no HTTP; refused: to where nobody listens; notls:
//	                 to where nobody speaks TLS
//	html             the page of a network that wants a login
//	empty  garbage   in place of the body; nested is JSON half a million levels
//	                 deep, huge a gigabyte of it, bomb a gigabyte in a megabyte
//	headers          16 MiB of them
func ParseFault(line string) (Fault, error) {
	words := strings.Fields(line)
	if len(words) < 3 {
		return Fault{}, fmt.Errorf("a fault must be a method, a path and what goes wrong, as in GET /registry.terraform.io/... 503")
	}
	f := Fault{Method: words[0], Path: words[1]}
	if _, err := path.Match(f.Path, ""); err != nil || !strings.HasPrefix(f.Path, "/") {
		return Fault{}, fmt.Errorf("invalid path pattern %q: it must begin with a slash", f.Path)
	}
	for _, word := range words[2:] {
		if err := f.set(word); err != nil {
			return Fault{}, err
		}
	}
	return f, nil
}

func (f *Fault) set(word string) (err error) {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "times":
		f.Times, err = positive(value)
	case "truncate":
		var n int
		n, err = positive(value)
		f.Truncate = int64(n)
	case "delay":
		f.Delay, err = time.ParseDuration(value)
	case "header":
		key, text, _ := strings.Cut(value, ":")
		if f.Header == nil {
			f.Header = http.Header{}
		}
		f.Header.Add(key, text)
	case "asking":
		f.Asking = value
	case "corrupt":
		f.Corrupt = true
	case "drop":
		f.Drop = true
	case "done":
		f.Done = true
	case "stale":
		f.Stale = true
	case "errors":
		f.Errors = value
		_, err = parsePartial(value)
	case "primary":
		f.limit("API rate limit exceeded for installation ID 1.", "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api")
		f.Header.Set("X-RateLimit-Limit", "5000")
		f.Header.Set("X-RateLimit-Remaining", "0")
	case "creation":
		f.limit("You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later.",
			"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits")
		delete(f.Header, "Retry-After")
	case "secondary":
		f.limit("You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
			"https://docs.github.com/free-pro-team@latest/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits")
		if f.Header.Get("Retry-After") == "" {
			f.Header.Set("Retry-After", "1")
		}
	default:
		if _, ok := wild[word]; ok {
			f.Wild = word
			return nil
		}
		f.Status, err = strconv.Atoi(word)
		if err != nil || f.Status < 200 || f.Status > 599 {
			return fmt.Errorf("unknown fault %q: it must be a status, header=, delay=, truncate=, times=, asking=, errors=, corrupt, drop, done, stale, primary, secondary, creation or one of %s", word, wildWords())
		}
	}
	if err != nil {
		return fmt.Errorf("invalid fault %q: %w", word, err)
	}
	return nil
}

// limit makes the fault a refusal of GitHub for too many requests.
func (f *Fault) limit(message, documentation string) {
	f.Status = http.StatusForbidden
	f.Body = fmt.Sprintf(`{"message": %q, "documentation_url": %q}`, message, documentation)
	if f.Header == nil {
		f.Header = http.Header{}
	}
	f.Header.Set("Content-Type", "application/json; charset=utf-8")
}

func positive(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is not a positive number", s)
	}
	return n, nil
}

func (f Fault) matches(r *http.Request) bool {
	if f.Method != "*" && f.Method != r.Method || f.Asking != "" && !bytes.Contains(peek(r), []byte(f.Asking)) {
		return false
	}
	if prefix, ok := strings.CutSuffix(f.Path, "..."); ok {
		return strings.HasPrefix(r.URL.Path, prefix)
	}
	ok, _ := path.Match(f.Path, r.URL.Path) // a bad pattern matches nothing
	return ok
}

// Inject adds a fault to those of the world text.
func (s *Sandbox) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{f})
}

// Mend removes all faults, also those of the world text, and all stale reads.
func (s *Sandbox) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.stale = nil, nil
}

// spoils finds the fault for a request and counts the use.
func (s *Sandbox) spoils(r *http.Request) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range slices.Backward(s.faults) {
		if !f.matches(r) {
			continue
		}
		if f.Times == 1 {
			s.faults = slices.Delete(s.faults, i, i+1)
		} else if f.Times > 1 {
			f.Times--
		}
		return f.Fault, true
	}
	return Fault{}, false
}

// spoil puts the faults between clients and servers.
func (s *Sandbox) spoil(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := s.spoils(r)
		if !ok {
			if !answersStale(s, w, r) {
				next.ServeHTTP(w, r)
			}
			return
		}
		f.serve(s, w, r, next)
	})
}

func (f Fault) serve(s *Sandbox, w http.ResponseWriter, r *http.Request, next http.Handler) {
	select {
	case <-time.After(f.Delay):
	case <-r.Context().Done():
		return
	}
	query := f.Errors != "" && isQuery(r)
	if f.Done && !query {
		next.ServeHTTP(unheard{http.Header{}}, r)
	}
	if f.Drop {
		panic(http.ErrAbortHandler)
	}
	if f.Stale {
		writeStale(s, w, r, next)
		return
	}
	if lost, err := parsePartial(f.Errors); f.Errors != "" && err == nil {
		lost.serve(w, r, query, next)
		return
	}
	if f.Wild != "" {
		wild[f.Wild](s, w, r, next)
		return
	}
	if f.Status != 0 {
		next = f.answer()
	} else {
		maps.Copy(w.Header(), f.Header)
	}
	spoilt := &spoiltWriter{ResponseWriter: w, fault: f}
	next.ServeHTTP(spoilt, r)
	if spoilt.cut {
		// The written bytes must reach the client before the connection ends.
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// unheard is an answer that nobody receives.
type unheard struct{ header http.Header }

func (w unheard) Header() http.Header         { return w.header }
func (w unheard) Write(p []byte) (int, error) { return len(p), nil }
func (w unheard) WriteHeader(int)             {}

func (f Fault) answer() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for key, values := range f.Header {
			w.Header()[key] = values
		}
		if f.Header.Get("X-RateLimit-Remaining") == "0" && f.Header.Get("X-RateLimit-Reset") == "" {
			w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Second).Unix(), 10))
		}
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, cmp.Or(f.Body, `{"errors":["a fault of the sandbox"]}`))
	})
}

// spoiltWriter alters a body on its way out. The length that the header
// announces stays that of the whole body.
type spoiltWriter struct {
	http.ResponseWriter
	fault Fault
	sent  int64
	cut   bool
}

func (w *spoiltWriter) Write(p []byte) (int, error) {
	out := p
	if w.fault.Corrupt && w.sent == 0 && len(out) > 0 {
		out = slices.Clone(out)
		out[0] ^= 0xff
	}
	if left := w.fault.Truncate - w.sent; w.fault.Truncate > 0 && int64(len(out)) > left {
		w.cut = true
		out = out[:left]
	}
	n, err := w.ResponseWriter.Write(out)
	w.sent += int64(n)
	if err != nil {
		return n, err
	}
	return len(p), nil // the handler must not notice
}
