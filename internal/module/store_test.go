package module

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
)

// bucket serves objects as S3 does.
func bucket(t *testing.T, objects map[string]string) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch data, ok := objects[key]; {
		case !strings.Contains(r.Header.Get("Authorization"), "Credential=AKID/"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>AccessDenied</Code><Message>s3cret</Message></Error>")
		case name != "modules":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<Error><Code>NoSuchBucket</Code></Error>")
		case key == "":
			fmt.Fprint(w, "<ListBucketResult><IsTruncated>false</IsTruncated>")
			for key := range objects {
				if strings.HasPrefix(key, r.URL.Query().Get("prefix")) {
					fmt.Fprintf(w, "<Contents><Key>%s</Key></Contents>", key)
				}
			}
			fmt.Fprint(w, "</ListBucketResult>")
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
		default:
			fmt.Fprint(w, data)
		}
	}
}

func TestS3(t *testing.T) {
	t.Parallel()
	s := serve(t, bucket(t, map[string]string{
		"a.zip": string(zipOf(t, member{name: "top/main.tf", data: "# zip"})), "dir/main.tf": "# dir", "dir/sub/x.tf": "#", "dir/README.md": "text",
	}))
	c := newClient(t, Options{}, s)
	base, keys := "s3::"+s.URL+"/modules/", "?aws_access_key_id=AKID&aws_access_key_secret=s3cret&region=eu-west-1"
	if got := mainOf(t, fetch(t, c, base+"a.zip//top"+keys)); got != "# zip" {
		t.Errorf("main.tf = %q", got)
	}
	p := fetch(t, c, base+"dir"+keys)
	if diff := cmp.Diff([]string{"main.tf", "sub/", "sub/x.tf"}, names(t, p.FS)); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
	if other := fetch(t, newClient(t, Options{}, s), base+"dir"+keys); other.ID != p.ID || !strings.HasPrefix(p.ID, "content+sha256:") {
		t.Errorf("ID = %q and %q for the same content", p.ID, other.ID)
	}
	for source, code := range map[string]provider.Code{
		base + "none.zip" + keys:                                        provider.CodeUnreadModule,
		"s3::" + s.URL + "/other/a.zip" + keys:                          provider.CodeUnreadModule,
		base + "a.zip?aws_access_key_id=X&region=s3cret":                provider.CodeUnauthorized,
		base + "a.zip?aws_access_key_id=X&aws_access_key_secret=s3cret": provider.CodeUnauthorized,
		"s3::http://169.254.169.254/modules/a.zip" + keys:               provider.CodeUnreachable,
		"s3::ftp://example.com/modules/a.zip" + keys:                    provider.CodeInvalidConfig,
		base + "a.zip" + keys + "&checksum=md5:" + zeros32:              provider.CodeInvalidConfig,
	} {
		if e := failing(t, c, source, code); strings.Contains(e.Error(), "s3cret") || strings.Contains(e.Error(), "AKID") {
			t.Errorf("error = %v", e)
		}
	}
	failing(t, newClient(t, Options{}), base+"a.zip"+keys, provider.CodeUnreachable) // this machine
}

const zeros32 = "00000000000000000000000000000000"

func TestBucketsNeedAdmission(t *testing.T) {
	t.Parallel()
	var asked []string
	c := newClient(t, Options{Ambient: func(place string) bool { asked = append(asked, place); return false }})
	for _, source := range []string{"s3::https://s3-eu-west-1.amazonaws.com/modules/a.zip", "modules.s3.eu-west-1.amazonaws.com/a.zip", "s3::https://store.example.com/b/a.zip?aws_access_key_id=x&aws_profile=admin", "www.googleapis.com/storage/v1/bucket/a.zip"} {
		failing(t, c, source, provider.CodeUnauthorized)
	}
	want := []string{"s3-eu-west-1.amazonaws.com/modules", "s3-eu-west-1.amazonaws.com/modules", "store.example.com/b", "www.googleapis.com/bucket"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func TestPathStyle(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://s3.amazonaws.com/bucket/a.zip":                       "https://s3.amazonaws.com/bucket/a.zip",
		"https://s3-eu-west-1.amazonaws.com/bucket/a.zip":             "https://s3-eu-west-1.amazonaws.com/bucket/a.zip",
		"https://s3.eu-west-1.amazonaws.com/bucket/a.zip":             "https://s3-eu-west-1.amazonaws.com/bucket/a.zip",
		"https://bucket.s3.eu-west-1.amazonaws.com/a/b.zip?version=1": "https://s3-eu-west-1.amazonaws.com/bucket/a/b.zip?version=1",
		"https://my.bucket.s3-eu-west-1.amazonaws.com/a.zip":          "https://s3-eu-west-1.amazonaws.com/my.bucket/a.zip",
		"https://store.example.com/bucket/a.zip":                      "https://store.example.com/bucket/a.zip",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := pathStyle(u).String(); got != want {
			t.Errorf("pathStyle(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestGCS is not parallel: the library finds its emulator by a variable.
func TestGCS(t *testing.T) {
	objects := map[string]string{"dir/main.tf": "# dir", "dir/sub/x.tf": "#", "a.zip": string(zipOf(t, member{name: "main.tf", data: "# zip"}))}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch _, object, _ := strings.Cut(r.URL.Path, "/modules/"); {
		case strings.HasSuffix(r.URL.Path, "/b/modules/o"):
			type item struct {
				Name   string `json:"name"`
				Bucket string `json:"bucket"`
			}
			var items []item
			for name := range objects {
				if strings.HasPrefix(name, r.URL.Query().Get("prefix")) {
					items = append(items, item{name, "modules"})
				}
			}
			json.NewEncoder(w).Encode(map[string]any{"items": items})
		case objects[object] != "":
			fmt.Fprint(w, objects[object])
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	t.Setenv("STORAGE_EMULATOR_HOST", s.Listener.Addr().String())
	c := newClient(t, Options{})
	base := "www.googleapis.com/storage/v1/modules/"
	p := fetch(t, c, base+"dir")
	if diff := cmp.Diff([]string{"main.tf", "sub/", "sub/x.tf"}, names(t, p.FS)); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
	if got := mainOf(t, fetch(t, c, "gcs::https://"+base+"a.zip")); got != "# zip" {
		t.Errorf("main.tf = %q", got)
	}
	failing(t, c, base+"none.zip", provider.CodeUnreadModule)
	failing(t, c, "gcs::http://"+base+"a.zip", provider.CodeInvalidConfig)
}

func TestMercurialIsNotRead(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	for _, source := range []string{"hg::https://hg.example.com/r", "hg::ssh://hg@hg.example.com/r//sub?rev=v1"} {
		if e := failing(t, c, source, provider.CodeUnreadModule); e.Hint == "" || !strings.Contains(e.Error(), "Mercurial") {
			t.Errorf("Fetch(%q) = %v, hint %q", source, e, e.Hint)
		}
	}
}
