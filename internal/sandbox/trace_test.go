package sandbox

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequestsTellWhatWasAsked(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	const path = "/registry.terraform.io/v1/providers/hashicorp/plain/versions"
	size := int64(len(get(t, s.URL()+path).body))
	request(t, http.MethodGet, s.URL()+path+"?secret=1", http.Header{"Authorization": {"Bearer x"}})
	get(t, s.URL()+"/nowhere")
	want := []Request{
		{Method: "GET", Path: path, Status: 200, Bytes: size},
		{Method: "GET", Path: path, Status: 200, Bytes: size, Authorized: true},
		{Method: "GET", Path: "/nowhere", Status: 404, Bytes: int64(len("404 page not found\n"))},
	}
	if diff := cmp.Diff(want, s.Requests()); diff != "" {
		t.Errorf("Requests (-want +got):\n%s", diff)
	}
	if got := s.Requests()[0].String(); got != "GET "+path {
		t.Errorf("String = %q", got)
	}
	s.ResetRequests()
	if got := s.Requests(); len(got) != 0 {
		t.Errorf("Requests after ResetRequests = %v", got)
	}
}

func TestRequestsTellWhichOfThemWrite(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/nowhere", ""},
		{"HEAD", "/nowhere", ""},
		{"POST", graphqlPath, `{"query": "{ viewer { login } }"}`},
		{"POST", graphqlPath, `{"query": "query($x: Int) { viewer { login } }"}`},
		{"POST", graphqlPath, `{"query": "mutation { updateRefs(input: {}) { clientMutationId } }"}`},
		{"POST", graphqlPath, `nonsense`},
		{"PATCH", "/nowhere", `{"query": "{ viewer { login } }"}`},
	} {
		req, err := http.NewRequest(r.method, s.URL()+r.path, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	var writes []bool
	for _, r := range s.Requests() {
		writes = append(writes, r.Writes())
	}
	if diff := cmp.Diff([]bool{false, false, false, false, true, true, true}, writes); diff != "" {
		t.Errorf("which write (-want +got):\n%s", diff)
	}
}

func TestDownloadsCountPackagesOnly(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	m := metadata(t, s, "registry.terraform.io/hashicorp/plain", "1.0.0", "linux_amd64")
	size := len(fetch(t, m.DownloadURL))
	fetch(t, m.DownloadURL)
	fetch(t, m.ShasumsURL)
	request(t, http.MethodHead, m.DownloadURL, nil)
	if packages, bytes := s.Downloads(); packages != 2 || bytes != int64(2*size) {
		t.Errorf("Downloads = %d, %d, want 2, %d", packages, bytes, 2*size)
	}
}

func TestHooksRunAroundEachRequest(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	var seen []string
	s.Before(func(r *http.Request) { seen = append(seen, "before "+r.URL.Path) })
	s.After(func(r *http.Request) { seen = append(seen, "after "+r.URL.Path) })
	get(t, s.URL()+"/a")
	s.Inject(Fault{Method: "*", Path: "/b", Truncate: 1})
	get(t, s.URL()+"/b")
	s.Close() // waits for the last hook
	// The second answer is cut short, which must not cost its hook.
	want := []string{"before /a", "after /a", "before /b", "after /b"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}
