package module

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
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
	for _, source := range []string{"s3::https://s3-eu-west-1.amazonaws.com/modules/a.zip", "modules.s3.eu-west-1.amazonaws.com/a.zip", "s3::https://store.example.com/b/a.zip?aws_access_key_id=x&aws_profile=admin", "www.googleapis.com/storage/v1/bucket/a.zip", "hg::https://example.com/r"} {
		failing(t, c, source, provider.CodeUnauthorized)
	}
	want := []string{"s3-eu-west-1.amazonaws.com/modules", "s3-eu-west-1.amazonaws.com/modules", "store.example.com/b", "www.googleapis.com/bucket", "example.com"}
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

// TestMercurial runs a program in place of hg. It is not parallel: go-getter
// finds hg by the process's PATH.
func TestMercurial(t *testing.T) {
	c := newClient(t, Options{})
	source := "hg::https://hg.example.com/r"
	bin := t.TempDir()
	path := os.Getenv("PATH")
	t.Setenv("PATH", bin)
	if e := failing(t, c, source+"?rev=none", provider.CodeUnreadModule); e.Hint != "install Mercurial" {
		t.Errorf("without hg: %v, hint %q", e, e.Hint)
	}
	writeFile(t, filepath.Join(bin, "hg"), `#!/bin/sh
PATH=`+path+`
echo "$@" >>`+bin+`/log
case $1 in
clone) mkdir -p "$5/.hg" "$5/sub"; echo x >"$5/.hg/x.tf"; ln -s sub/main.tf "$5/link.tf";;
update) test "$3" = bad && { echo "abort: unknown revision 'bad' s3cret" >&2; exit 255; }; echo "# $3" >sub/main.tf;;
esac
`, 0o755)
	p := fetch(t, c, source+"//sub?rev=v1")
	if got := mainOf(t, p); got != "# v1\n" {
		t.Errorf("main.tf = %q", got)
	}
	if diff := cmp.Diff([]string{"link.tf -> sub/main.tf", "sub/", "sub/main.tf"}, names(t, p.FS)); diff != "" {
		t.Errorf("package (-want +got):\n%s", diff)
	}
	if e := failing(t, c, source+"?rev=bad", provider.CodeUnreadModule); strings.Contains(e.Error(), "s3cret") {
		t.Errorf("error = %v", e)
	}
	for _, hostile := range []string{"hg::-x://example.com/r", "hg::ssh://-oProxyCommand=x/r", "hg::file:///srv/r", "hg::http://169.254.169.254/r"} {
		if p, err := c.Fetch(t.Context(), terraform, call(hostile)); err == nil {
			t.Errorf("Fetch(%q) = %v", hostile, p)
		}
	}
	log, err := os.ReadFile(filepath.Join(bin, "log"))
	if err != nil {
		t.Fatal(err)
	}
	calls := strings.Split(strings.TrimSpace(string(log)), "\n")
	if len(calls) != 6 || !strings.HasPrefix(calls[0], "clone -U -- https://hg.example.com/r ") || !slices.Equal(calls[1:3], []string{"pull", "update -- v1"}) {
		t.Errorf("hg was called with %q", calls)
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	want := errors.New("own")
	if err := within(t.Context(), t.TempDir(), func(context.Context) error { return want }); err != want {
		t.Errorf("within = %v, want the error of what it calls", err)
	}
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(maxDirectory + 1); err != nil { // takes no room on the disk
		t.Skip(err)
	}
	err = within(t.Context(), dir, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, errDirectory) {
		t.Errorf("within = %v, want that the directory is too large", err)
	}
}
