package sandbox

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox/trusted"
)

func TestMain(m *testing.M) { os.Exit(trusted.Main(m)) }

// startWorld serves testdata/world.txtar.
func startWorld(t *testing.T) *Sandbox {
	t.Helper()
	ar, err := txtar.ParseFile("testdata/world.txtar")
	if err != nil {
		t.Fatal(err)
	}
	w, err := ParseWorld(ar)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, w)
}

func start(t *testing.T, w *World) *Sandbox {
	t.Helper()
	s, err := Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// keyID is the ID of the first key in a provider's answers.
func (w *World) keyID(t *testing.T, addr string) string {
	t.Helper()
	a, err := provider.ParseFullAddr(addr)
	if err != nil {
		t.Fatal(err)
	}
	return w.providers[a].releases[0].keys[0].ID
}

// answer is the result of a request.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // of the request, or of reading the body
}

func get(t *testing.T, url string) answer {
	t.Helper()
	return request(t, http.MethodGet, url, nil)
}

func request(t *testing.T, method, url string, header http.Header) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, body, err}
}

// getJSON reads an answer that must be a success.
func getJSON[T any](t *testing.T, url string) T {
	t.Helper()
	a := get(t, url)
	if a.err != nil || a.status != http.StatusOK {
		t.Fatalf("GET %s = %d, %v", url, a.status, a.err)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("GET %s has the content type %q", url, got)
	}
	var v T
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("GET %s: %v in %s", url, err, a.body)
	}
	return v
}

func TestGitHubIsServedBesideTheRegistries(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	token := http.Header{"Authorization": {"Bearer " + ActionsToken}}
	if a := request(t, http.MethodGet, s.GitHubAPI()+"repos/acme/infra", token); a.status != http.StatusOK {
		t.Errorf("GET repository = %d, %v, want 200", a.status, a.err)
	}
	if a := request(t, http.MethodPost, s.GraphQL(), token); a.status == http.StatusNotFound {
		t.Error("POST to GraphQL finds nothing there")
	}
	if s.GitHub() == nil {
		t.Error("GitHub returns nothing")
	}
}
