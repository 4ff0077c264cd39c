package module

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/problem"
)

// fakeS3 serves the bucket "modules" like S3: two names on a page, and nothing without a
// valid signature.
type fakeS3 struct {
	objects map[string]string
	region  string
	token   string // the token that a request needs

	mu    sync.Mutex
	asked []string // path and query of the requests
}

const secret = "wJalrXUtnFEMI/K7MDENG+s3cret"

func (f *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.URL.RequestURI())
	f.mu.Unlock()
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if code, status := f.refusal(r); code != "" {
		w.Header().Set("X-Amz-Bucket-Region", f.region)
		failS3(w, status, code, "<Message>s3cret</Message>")
		return
	}
	data, ok := f.objects[key]
	switch {
	case name != "modules":
		failS3(w, http.StatusNotFound, "NoSuchBucket", "")
	case key == "":
		f.list(w, r.URL.Query())
	case !ok || r.URL.Query().Get("versionId") == "old":
		failS3(w, http.StatusNotFound, "NoSuchKey", "")
	default:
		fmt.Fprint(w, data)
	}
}

func failS3(w http.ResponseWriter, status int, code, more string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code>%s</Error>", code, more)
}

func (f *fakeS3) list(w http.ResponseWriter, query url.Values) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(f.objects)) {
		if strings.HasPrefix(name, query.Get("prefix")) && name > query.Get("marker") {
			names = append(names, name)
		}
	}
	encoding := query.Get("encoding-type")
	fmt.Fprintf(w, "<ListBucketResult><EncodingType>%s</EncodingType><IsTruncated>%t</IsTruncated>", encoding, len(names) > 2)
	for _, name := range names[:min(2, len(names))] {
		if encoding == "url" {
			name = url.QueryEscape(name)
		}
		fmt.Fprint(w, "<Contents><Key>")
		xml.EscapeText(w, []byte(name))
		fmt.Fprint(w, "</Key></Contents>")
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

// refusal is the reason why S3 refuses a request, by the rules for signatures in headers,
// version 4: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
func (f *fakeS3) refusal(r *http.Request) (code string, status int) {
	fields := map[string]string{}
	algorithm, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	for field := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		fields[key] = value
	}
	id, scope, _ := strings.Cut(fields["Credential"], "/")
	signed := strings.Split(fields["SignedHeaders"], ";")
	date := r.Header.Get("X-Amz-Date")
	switch parts := strings.Split(scope, "/"); {
	case algorithm != "AWS4-HMAC-SHA256" || len(parts) != 4 || len(date) < 8:
		return "AccessDenied", http.StatusForbidden
	case id != "AKID":
		return "InvalidAccessKeyId", http.StatusForbidden
	case r.Header.Get("X-Amz-Security-Token") != f.token:
		return "ExpiredToken", http.StatusBadRequest
	case parts[1] != f.region:
		return "PermanentRedirect", http.StatusMovedPermanently
	case parts[0] != date[:8] || parts[2] != "s3" || !slices.Contains(signed, "host") || !slices.Contains(signed, "x-amz-content-sha256"):
		return "AccessDenied", http.StatusForbidden
	case f.token != "" && !slices.Contains(signed, "x-amz-security-token"):
		return "AccessDenied", http.StatusForbidden
	}
	var canonical strings.Builder
	fmt.Fprintf(&canonical, "%s\n%s\n%s\n", r.Method, strictly(r.URL.Path, "/"), canonicalQuery(r.URL.Query()))
	for _, name := range signed {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		fmt.Fprintf(&canonical, "%s:%s\n", name, value)
	}
	fmt.Fprintf(&canonical, "\n%s\n%s", fields["SignedHeaders"], r.Header.Get("X-Amz-Content-Sha256"))
	digest := sha256.Sum256([]byte(canonical.String()))
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	want := mac(key, fmt.Sprintf("%s\n%s\n%s\n%x", algorithm, date, scope, digest))
	if hex.EncodeToString(want) != fields["Signature"] {
		return "SignatureDoesNotMatch", http.StatusForbidden
	}
	return "", 0
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// strictly escapes everything but unreserved characters and those in but.
func strictly(text, but string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~"+but, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func canonicalQuery(query url.Values) string {
	var pairs []string
	for key := range query {
		pairs = append(pairs, strictly(key, "")+"="+strictly(query.Get(key), ""))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

const keysInURL = "?aws_access_key_id=AKID&aws_access_key_secret=" + "wJalrXUtnFEMI%2FK7MDENG%2Bs3cret" + "&region=eu-west-1"

func newFakeS3(t *testing.T) *fakeS3 {
	t.Helper()
	return &fakeS3{region: "eu-west-1", objects: map[string]string{
		"a.zip":       string(zipOf(t, member{name: "top/main.tf", data: "# zip"})),
		"dir/main.tf": "# dir", "dir/sub/main.tf": "# sub", "dir/sub/": "", "dir/README.md": "text", "dir/empty/": "",
		"dir/odd $&+,:;=?@ é%2F/main.tf": "# odd", "dir2/main.tf": "# beside", "single.tf": "# single",
	}}
}

func TestS3(t *testing.T) {
	t.Parallel()
	f := newFakeS3(t)
	s := serve(t, f.ServeHTTP)
	c := newClient(t, Options{}, s)
	base := "s3::" + s.URL + "/modules/"
	for source, want := range map[string]string{
		"a.zip//top" + keysInURL: "# zip", "dir" + keysInURL: "# dir", "dir/" + keysInURL: "# dir", "dir//sub" + keysInURL: "# sub",
		"a.zip//top" + keysInURL + "&version=new": "# zip",
	} {
		if got := mainOf(t, fetch(t, c, base+source)); got != want {
			t.Errorf("main.tf of %s = %q, want %q", source, got, want)
		}
	}
	p := fetch(t, c, base+"dir"+keysInURL)
	want := []string{"empty/", "main.tf", "odd $&+,:;=?@ é%2F/", "odd $&+,:;=?@ é%2F/main.tf", "sub/", "sub/main.tf"}
	if diff := cmp.Diff(want, names(t, p.FS)); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
	if text, err := fs.ReadFile(p.FS, "odd $&+,:;=?@ é%2F/main.tf"); string(text) != "# odd" {
		t.Errorf("file with an odd name = %q, %v", text, err)
	}
	if other := fetch(t, newClient(t, Options{}, s), base+"dir"+keysInURL); other.ID != p.ID || !strings.HasPrefix(p.ID, "content+sha256:") {
		t.Errorf("ID = %q and %q for the same content", p.ID, other.ID)
	}
	for _, asked := range f.asked {
		if strings.Contains(asked, "README") || strings.Contains(asked, "dir2") || strings.Contains(asked, "s3cret") {
			t.Errorf("the store was asked for %s", asked)
		}
	}
}

// TestS3AsTerraform lets Terraform judge the store of the other tests, and compares relock
// with it.
func TestS3AsTerraform(t *testing.T) {
	t.Parallel()
	terraform := program(t, "terraform")
	f := newFakeS3(t)
	s := serve(t, f.ServeHTTP)
	base := "s3::" + s.URL + "/modules/"
	sources := map[string]string{"dir": base + "dir" + keysInURL, "sub": base + "dir//sub" + keysInURL, "zip": base + "a.zip//top" + keysInURL}
	var config strings.Builder
	for name, source := range sources {
		fmt.Fprintf(&config, "module %q {\n  source = %q\n}\n", name, source)
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "main.tf"), config.String(), 0o600)
	cmd := exec.CommandContext(t.Context(), terraform, "get", "-no-color")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "AWS_EC2_METADATA_DISABLED=true")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("terraform get: %v\n%s", err, out)
	}
	c := newClient(t, Options{}, s)
	for name, source := range sources {
		p := fetch(t, c, source)
		root := filepath.Join(dir, ".terraform", "modules", name)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !kept(path) {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			want, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if got, err := fs.ReadFile(p.FS, filepath.ToSlash(rel)); string(got) != string(want) {
				t.Errorf("%s of %s = %q, %v; Terraform has %q", rel, name, got, err, want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestS3Errors(t *testing.T) {
	t.Parallel()
	s := serve(t, newFakeS3(t).ServeHTTP)
	expired := newFakeS3(t)
	expired.token = "t0ken"
	withToken := serve(t, expired.ServeHTTP)
	c := newClient(t, Options{}, s, withToken)
	base := "s3::" + s.URL + "/modules/"
	for source, want := range map[string]struct {
		code problem.Code
		says string
	}{
		base + "none.zip" + keysInURL:                                            {problem.CodeUnreadModule, "no such object"},
		base + "none" + keysInURL:                                                {problem.CodeUnreadModule, "no object below"},
		base + "single.tf" + keysInURL:                                           {problem.CodeUnreadModule, "no object below"}, // as for the tools, this is no directory
		base + "a.zip" + keysInURL + "&version=old":                              {problem.CodeUnreadModule, "no such object"},
		"s3::" + s.URL + "/other/a.zip" + keysInURL:                              {problem.CodeUnreadModule, "no such bucket"},
		base + "a.zip?aws_access_key_id=X&region=s3cret":                         {problem.CodeUnauthorized, "incomplete"},
		base + "a.zip?aws_access_key_id=X&aws_access_key_secret=s3cret":          {problem.CodeUnauthorized, "access key is not known"},
		base + "a.zip?aws_access_key_id=AKID&aws_access_key_secret=x-s3cret":     {problem.CodeUnauthorized, "secret does not belong"},
		"s3::" + withToken.URL + "/modules/a.zip" + keysInURL:                    {problem.CodeUnauthorized, "token has expired"},
		base + "a.zip" + keysInURL + "&checksum=md5:" + strings.Repeat("0", 32):  {problem.CodeInvalidConfig, "checksum"},
		base + "a.zip?aws_access_key_id=AKID&aws_access_key_secret=x&region=a/b": {problem.CodeInvalidConfig, "no object"},
		"s3::" + s.URL + "/modules" + keysInURL:                                  {problem.CodeInvalidConfig, "no object"},
		"s3::http://169.254.169.254/modules/a.zip" + keysInURL:                   {problem.CodeUnreachable, "metadata service"},
		"s3::ftp://example.com/modules/a.zip" + keysInURL:                        {problem.CodeInvalidConfig, "scheme"},
		"s3::https://s3.example.amazonaws.com.s3cret.example/modules/a.zip":      {problem.CodeUnauthorized, "are for AWS"},
		"s3::https://ec2.eu-west-1.amazonaws.com/modules/a.zip" + keysInURL:      {problem.CodeInvalidConfig, "not one of S3"},
	} {
		e := failing(t, c, source, want.code)
		if text := strings.ReplaceAll(e.Error(), "s3cret.example", ""); strings.Contains(text, "s3cret") || strings.Contains(text, "AKID") || !strings.Contains(text, want.says) {
			t.Errorf("error of %s = %v, want it to say %q", source, e, want.says)
		}
	}
	failing(t, newClient(t, Options{}), base+"a.zip"+keysInURL, problem.CodeUnreachable) // a server on this machine
}

// withAWS is a client that uses a test server as S3 of each region.
func withAWS(t *testing.T, opts Options, regions map[string]*httptest.Server) *Client {
	t.Helper()
	c := newClient(t, opts, slices.Collect(maps.Values(regions))...)
	c.stores.clouds.s3 = func(region string) *url.URL {
		if s := regions[region]; s != nil {
			u, err := url.Parse(s.URL)
			if err == nil {
				return u
			}
		}
		return &url.URL{Scheme: "https", Host: region + ".invalid"}
	}
	return c
}

var ownKeys = []string{"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=" + secret}

func TestAmazon(t *testing.T) {
	t.Parallel()
	if got := amazon("eu-west-1").String(); got != "https://s3.eu-west-1.amazonaws.com" {
		t.Errorf("amazon = %s", got)
	}
	f := newFakeS3(t)
	f.token = "t0ken/+="
	s := serve(t, f.ServeHTTP)
	env := cliconfig.Env{Environ: append([]string{"AWS_SESSION_TOKEN=t0ken/+="}, ownKeys...)}
	for _, source := range []string{
		"s3::https://s3-eu-west-1.amazonaws.com/modules/dir", "s3::https://s3.eu-west-1.amazonaws.com/modules/dir",
		"modules.s3.eu-west-1.amazonaws.com/dir", "modules.s3-eu-west-1.amazonaws.com/dir", "s3-eu-west-1.amazonaws.com/modules/dir",
		"s3::https://modules.s3.eu-west-1.amazonaws.com/dir",
	} {
		c := withAWS(t, Options{Env: env}, map[string]*httptest.Server{"eu-west-1": s})
		if got := mainOf(t, fetch(t, c, source)); got != "# dir" {
			t.Errorf("main.tf of %s = %q", source, got)
		}
	}
}

// A store names a bucket's region in three ways. The request there has a signature of its
// own.
func TestAmazonRegion(t *testing.T) {
	t.Parallel()
	f := newFakeS3(t)
	there := serve(t, f.ServeHTTP)
	for name, answer := range map[string]http.HandlerFunc{
		"header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Bucket-Region", "eu-west-1")
			failS3(w, http.StatusMovedPermanently, "PermanentRedirect", "")
		},
		"header_beside_location": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Amz-Bucket-Region", "eu-west-1")
			http.Redirect(w, r, "https://modules.s3.eu-west-1.amazonaws.invalid/", http.StatusTemporaryRedirect)
		},
		"body": func(w http.ResponseWriter, _ *http.Request) {
			failS3(w, http.StatusBadRequest, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := serve(t, answer)
			c := withAWS(t, Options{Env: cliconfig.Env{Environ: ownKeys}}, map[string]*httptest.Server{"us-east-1": here, "eu-west-1": there})
			if got := mainOf(t, fetch(t, c, "s3::https://s3.amazonaws.com/modules/dir")); got != "# dir" {
				t.Errorf("main.tf = %q", got)
			}
		})
	}
}

func TestS3RegionOfOtherStore(t *testing.T) {
	t.Parallel()
	f := newFakeS3(t)
	s := serve(t, f.ServeHTTP)
	source := "s3::" + s.URL + "/modules/dir" + strings.ReplaceAll(keysInURL, "&region=eu-west-1", "")
	if got := mainOf(t, fetch(t, newClient(t, Options{}, s), source)); got != "# dir" {
		t.Errorf("main.tf = %q", got)
	}
	if want := 1 + 3 + 3; len(f.asked) != want { // one in the wrong region, three pages, three files
		t.Errorf("%d requests, want %d: %q", len(f.asked), want, f.asked)
	}
}

// The regions that a store names lead only to hosts of S3, and not for ever.
func TestAmazonRegionThatLies(t *testing.T) {
	t.Parallel()
	for _, region := range []string{"evil.example/", "a.b", "x@evil", "us-east-1", "eu-west-1", strings.Repeat("a", 64)} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Bucket-Region", region)
			failS3(w, http.StatusMovedPermanently, "PermanentRedirect", "<Region>"+region+"</Region>")
		})
		c := withAWS(t, Options{Env: cliconfig.Env{Environ: ownKeys}}, map[string]*httptest.Server{"us-east-1": s, "eu-west-1": s})
		failing(t, c, "s3::https://s3.amazonaws.com/modules/dir", problem.CodeUnreadModule)
		if got := c.transport.Stats().Requests; got > 2 {
			t.Errorf("region %q: %d requests, want at most 2", region, got)
		}
	}
}

func TestS3RedirectToOtherHost(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization")+r.Header.Get("X-Amz-Security-Token"), true)
		w.Write(zipOf(t, member{name: "main.tf", data: "# elsewhere"}))
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/a.zip", http.StatusTemporaryRedirect)
	})
	source := "s3::" + s.URL + "/modules/a.zip" + keysInURL + "&aws_access_token=t0ken"
	if got := mainOf(t, fetch(t, newClient(t, Options{}, s), source)); got != "# elsewhere" {
		t.Errorf("main.tf = %q", got)
	}
	if _, ok := seen.Load(""); !ok {
		t.Error("the other host saw credentials")
	}
}

// A pull request's head has no keys of its own. It may use the machine's keys only for
// buckets that the operator lists.
func TestStoresForHeads(t *testing.T) {
	t.Parallel()
	var places []string
	admit := func(listed bool) Options {
		return Options{Head: true, Env: cliconfig.Env{Environ: ownKeys}, Ambient: func(place string) bool {
			places = append(places, place)
			return listed
		}}
	}
	c := newClient(t, admit(false))
	sources := []string{
		"s3::https://s3-eu-west-1.amazonaws.com/modules/a.zip", "modules.s3.eu-west-1.amazonaws.com/a.zip",
		"s3::https://store.example.com/b/a.zip?aws_access_key_id=x&aws_profile=admin", "s3::https://store.example.com/b/a.zip" + keysInURL,
		"www.googleapis.com/storage/v1/bucket/a.zip",
	}
	for _, source := range sources {
		failing(t, c, source, problem.CodeUnauthorized)
	}
	want := []string{"s3.amazonaws.com/modules", "s3.amazonaws.com/modules", "store.example.com/b", "store.example.com/b", "www.googleapis.com/bucket"}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	if e := failing(t, c, sources[3], problem.CodeUnauthorized); !strings.Contains(e.Error(), "do not count") {
		t.Errorf("error = %v", e)
	}
	if e := failing(t, newClient(t, admit(true)), sources[3], problem.CodeUnauthorized); !strings.Contains(e.Error(), "are for AWS") {
		t.Errorf("error of a listed place = %v, want that the keys of AWS do not go there", e)
	}
	if got := c.transport.Stats().Requests; got != 0 {
		t.Errorf("%d requests, want none", got)
	}
}
