package module

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/problem"
)

// fakeGoogle serves the bucket "modules" like Google Cloud Storage, two names on a page,
// and exchanges credentials for the token that it wants.
type fakeGoogle struct {
	objects map[string]string
	form    func(path string, form url.Values) bool

	mu    sync.Mutex
	asked []string
}

func (f *fakeGoogle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.Method+" "+r.URL.EscapedPath())
	f.mu.Unlock()
	answer := func(value any) { json.NewEncoder(w).Encode(value) }
	const objects = "/storage/v1/b/modules/o"
	switch path := r.URL.Path; {
	case path == "/subject":
		if r.Header.Get("Metadata") != "yes" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		answer(map[string]string{"value": "subject"})
	case path == "/token" || path == "/sts":
		if r.ParseForm() != nil || f.form == nil || !f.form(path, r.PostForm) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant","error_description":"s3cret"}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer(map[string]any{"access_token": "t0ken", "token_type": "Bearer", "expires_in": 3600, "issued_token_type": "x"})
	case path == "/impersonate":
		answer(map[string]string{"accessToken": "t0ken", "expireTime": "2100-01-01T00:00:00Z"})
	case r.Header.Get("Authorization") != "Bearer t0ken":
		w.WriteHeader(http.StatusUnauthorized)
	case path == objects:
		f.list(w, r.URL.Query())
	default:
		name, err := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), objects+"/"))
		data, ok := f.objects[name]
		if err != nil || !ok || r.URL.Query().Get("alt") != "media" || r.URL.Query().Get("generation") == "1" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprint(w, data)
	}
}

func (f *fakeGoogle) list(w http.ResponseWriter, query url.Values) {
	type item struct {
		Name string `json:"name"`
	}
	items := []item{}
	for _, name := range slices.Sorted(maps.Keys(f.objects)) {
		if strings.HasPrefix(name, query.Get("prefix")) && name > strings.TrimPrefix(query.Get("pageToken"), "after ") {
			items = append(items, item{name})
		}
	}
	answer := map[string]any{"items": items[:min(2, len(items))]}
	if len(items) > 2 {
		answer["nextPageToken"] = "after " + items[1].Name
	}
	json.NewEncoder(w).Encode(answer)
}

// withGoogle is a client that uses a test server as Google.
func withGoogle(t *testing.T, s *httptest.Server, environ ...string) *Client {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Options{Env: cliconfig.Env{Environ: append([]string{}, environ...)}}, s)
	c.stores.clouds.gcs, c.stores.clouds.googleToken = u, s.URL+"/token"
	return c
}

const ownToken = "GOOGLE_OAUTH_ACCESS_TOKEN=t0ken"

func newFakeGoogle(t *testing.T) *fakeGoogle {
	t.Helper()
	return &fakeGoogle{objects: map[string]string{
		"a.zip":       string(zipOf(t, member{name: "main.tf", data: "# zip"})),
		"dir/main.tf": "# dir", "dir/sub/main.tf": "# sub", "dir/sub/": "", "dir/README.md": "text", "dir/odd %2F?#&+ é/main.tf": "# odd",
		"dir2/main.tf": "# beside",
	}}
}

func TestGCS(t *testing.T) {
	t.Parallel()
	f := newFakeGoogle(t)
	s := serve(t, f.ServeHTTP)
	c := withGoogle(t, s, ownToken)
	const base = "www.googleapis.com/storage/v1/modules/"
	for source, want := range map[string]string{
		base + "dir": "# dir", base + "dir//sub": "# sub", base + "a.zip": "# zip",
		"gcs::https://" + base + "dir/": "# dir", "gcs::https://" + base + "a.zip#2": "# zip",
	} {
		if got := mainOf(t, fetch(t, c, source)); got != want {
			t.Errorf("main.tf of %s = %q, want %q", source, got, want)
		}
	}
	p := fetch(t, c, base+"dir")
	if diff := cmp.Diff([]string{"main.tf", "odd %2F?#&+ é/", "odd %2F?#&+ é/main.tf", "sub/", "sub/main.tf"}, names(t, p.FS)); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
	for _, asked := range f.asked {
		if strings.Contains(asked, "README") || strings.Contains(asked, "dir2") {
			t.Errorf("the store was asked for %s", asked)
		}
	}
	for source, code := range map[string]problem.Code{
		base + "none.zip": problem.CodeUnreadModule, base + "none": problem.CodeUnreadModule,
		"gcs::https://" + base + "a.zip#1":                         problem.CodeUnreadModule,
		"www.googleapis.com/storage/v1/other/a.zip":                problem.CodeUnreadModule,
		"gcs::http://" + base + "a.zip":                            problem.CodeInvalidConfig,
		"gcs::https://googleapis.com.example/storage/v1/modules/a": problem.CodeInvalidConfig,
		"gcs::https://example.com/storage/v1/modules/a.zip":        problem.CodeInvalidConfig,
	} {
		failing(t, c, source, code)
	}
	failing(t, withGoogle(t, s, "GOOGLE_OAUTH_ACCESS_TOKEN=other"), base+"dir", problem.CodeUnauthorized)
}

func TestGCSThatLies(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]string{
		"the_same_page_again": `{"items":[{"name":"mod/a.md"}],"nextPageToken":"x"}`,
		"half":                `{"items":[{"name":"mod/a.tf"}`,
		"no_JSON":             "<html>",
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, list) })
		if e := failing(t, withGoogle(t, s, ownToken), "www.googleapis.com/storage/v1/modules/mod", problem.CodeBadAnswer); e.Problem.Message == "" {
			t.Errorf("%s: %v", name, e)
		}
	}
}

func TestGCSTokenStaysWithGoogle(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization"), true)
		w.Write(zipOf(t, member{name: "main.tf", data: "# elsewhere"}))
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/a.zip", http.StatusFound)
	})
	if got := mainOf(t, fetch(t, withGoogle(t, s, ownToken), "www.googleapis.com/storage/v1/modules/a.zip")); got != "# elsewhere" {
		t.Errorf("main.tf = %q", got)
	}
	if _, ok := seen.Load(""); !ok {
		t.Error("the other host saw the token")
	}
}

// credentialsFile writes a file of credentials and returns the variable that
// names it.
func credentialsFile(t *testing.T, content any) string {
	t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "credentials.json")
	writeFile(t, name, string(text), 0o600)
	return "GOOGLE_APPLICATION_CREDENTIALS=" + name
}

func TestGoogleServiceAccount(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	f := newFakeGoogle(t)
	f.form = func(_ string, form url.Values) bool {
		head, signature, _ := strings.Cut(form.Get("assertion"), ".")
		claims, signature, _ := strings.Cut(signature, ".")
		sum := sha256.Sum256([]byte(head + "." + claims))
		raw, err := base64.RawURLEncoding.DecodeString(signature)
		text, claimsErr := base64.RawURLEncoding.DecodeString(claims)
		return err == nil && claimsErr == nil && rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], raw) == nil &&
			strings.Contains(string(text), `"scope":"`+readOnly+`"`) && strings.Contains(string(text), `"iss":"me@example.com"`)
	}
	s := serve(t, f.ServeHTTP)
	file := map[string]string{"type": "service_account", "client_email": "me@example.com", "private_key": string(private), "private_key_id": "1"}
	const source = "www.googleapis.com/storage/v1/modules/a.zip"
	for _, uri := range []string{"", s.URL + "/token"} {
		file["token_uri"] = uri
		if got := mainOf(t, fetch(t, withGoogle(t, s, credentialsFile(t, file)), source)); got != "# zip" {
			t.Errorf("main.tf = %q", got)
		}
	}
	file["client_email"] = "other@example.com"
	if e := failing(t, withGoogle(t, s, credentialsFile(t, file)), source, problem.CodeUnauthorized); !strings.Contains(e.Error(), "400 Bad Request") || strings.Contains(e.Error(), "s3cret") {
		t.Errorf("error = %v", e)
	}
	file["private_key"] = "s3cret"
	if e := failing(t, withGoogle(t, s, credentialsFile(t, file)), source, problem.CodeUnauthorized); strings.Contains(e.Error(), "s3cret") {
		t.Errorf("error = %v", e)
	}
}

func TestGooglePerson(t *testing.T) {
	t.Parallel()
	f := newFakeGoogle(t)
	f.form = func(_ string, form url.Values) bool {
		return form.Get("refresh_token") == "refresh" && form.Get("client_id") == "id" && form.Get("client_secret") == "word"
	}
	s := serve(t, f.ServeHTTP)
	home := t.TempDir()
	c := withGoogle(t, s)
	c.stores.opts.Env.Home = home
	file := filepath.Join(home, ".config", "gcloud", "application_default_credentials.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, `{"type":"authorized_user","client_id":"id","client_secret":"word","refresh_token":"refresh"}`, 0o600)
	if got := mainOf(t, fetch(t, c, "www.googleapis.com/storage/v1/modules/a.zip")); got != "# zip" {
		t.Errorf("main.tf = %q", got)
	}
}

// TestGoogleWorkload is not parallel: the library would run programs if a variable of the
// process allowed it.
func TestGoogleWorkload(t *testing.T) {
	t.Setenv("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1")
	f := newFakeGoogle(t)
	f.form = func(path string, form url.Values) bool {
		return path == "/sts" && form.Get("subject_token") == "subject" && form.Get("audience") == "pool"
	}
	s := serve(t, f.ServeHTTP)
	subject := filepath.Join(t.TempDir(), "subject")
	writeFile(t, subject, "subject", 0o600)
	remote := map[string]any{
		"url": s.URL + "/subject", "headers": map[string]string{"Metadata": "yes"},
		"format": map[string]string{"type": "json", "subject_token_field_name": "value"},
	}
	file := func(source any, more ...string) string {
		content := map[string]any{
			"type": "external_account", "audience": "pool", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
			"token_url": s.URL + "/sts", "credential_source": source,
		}
		if len(more) > 0 {
			content["service_account_impersonation_url"] = more[0]
		}
		return credentialsFile(t, content)
	}
	const source = "www.googleapis.com/storage/v1/modules/a.zip"
	for name, environ := range map[string]string{
		"url": file(remote), "file": file(map[string]string{"file": subject}), "impersonation": file(remote, s.URL+"/impersonate"),
	} {
		if got := mainOf(t, fetch(t, withGoogle(t, s, environ), source)); got != "# zip" {
			t.Errorf("%s: main.tf = %q", name, got)
		}
	}
	mark := filepath.Join(t.TempDir(), "mark")
	for _, tt := range []struct{ says, environ string }{
		{"executable", file(map[string]any{"executable": map[string]string{"command": "/bin/touch " + mark}})},
		{"environment of AWS", file(map[string]any{"environment_id": "aws1", "url": "http://169.254.169.254/x"})},
		{"does not succeed", file(map[string]any{"url": "http://169.254.169.254/s3cret?s3cret"})},
		{"does not succeed", file(map[string]any{"url": s.URL + "/subject"})}, // the server answers 403
		{"no credential_source", file(nil)},
		{"impersonated_type", credentialsFile(t, map[string]string{"type": "impersonated_type"})},
		{"not valid JSON", credentialsFile(t, "s3cret")},
		{"no file has any", "GOOGLE_APPLICATION_CREDENTIALS=" + filepath.Join(t.TempDir(), "none")},
		{"metadata of a machine", "UNRELATED=1"},
	} {
		e := failing(t, withGoogle(t, s, tt.environ), source, problem.CodeUnauthorized)
		if !strings.Contains(e.Error(), tt.says) || strings.Contains(e.Error(), "s3cret") || e.Problem.Hint != googleHint {
			t.Errorf("error = %v, hint %q; want it to say %q", e, e.Problem.Hint, tt.says)
		}
	}
	if found := filesBelow(t, filepath.Dir(mark)); len(found) > 0 {
		t.Error("the executable was run")
	}
}
