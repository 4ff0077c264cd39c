package module

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// archiveServer serves archives at every path that ends in .zip or .tgz. At /get?to=ADDRESS
// and /meta?to=ADDRESS it refers to another address.
func archiveServer(t *testing.T) http.HandlerFunc {
	t.Helper()
	members := []member{{name: "top/main.tf", data: "# top"}, {name: "top/sub/main.tf", data: "# sub"}}
	zipped, tarred := zipOf(t, members...), gzipOf(t, tarOf(t, members...))
	return func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.Query().Get("to")
		switch {
		case strings.HasSuffix(r.URL.Path, ".zip"):
			w.Write(zipped)
		case strings.HasSuffix(r.URL.Path, ".tgz") || strings.HasPrefix(r.URL.Path, "/tarball"):
			w.Write(tarred)
		case r.URL.Query().Get("terraform-get") != "1":
			w.WriteHeader(http.StatusBadRequest)
		case r.URL.Path == "/get":
			w.Header().Set("X-Terraform-Get", to)
		case r.URL.Path == "/meta":
			fmt.Fprintf(w, "<!DOCTYPE html>\n<HTML><head><title>a &nbsp; b</title><link rel=x><META NAME='terraform-get' content=%q></head><body>", to)
		case r.URL.Path == "/body":
			fmt.Fprintf(w, `<html><head></head><body><meta name="terraform-get" content=%q></body>`, to)
		case r.URL.Path == "/loop":
			w.Header().Set("X-Terraform-Get", "http://"+r.Host+"/loop")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}
}

func TestHTTPArchive(t *testing.T) {
	t.Parallel()
	s := serve(t, archiveServer(t))
	c := newClient(t, Options{}, s)
	to := func(address string) string { return "?to=" + url.QueryEscape(address) }
	for source, want := range map[string]string{
		s.URL + "/a.zip//top":                                                            "# top",
		s.URL + "/a.zip//top/sub?x=1":                                                    "# sub",
		s.URL + "/a.zip//*":                                                              "# top",
		s.URL + "/b.tgz//top/sub":                                                        "# sub",
		s.URL + "/tarball/v1//*?archive=tar.gz":                                          "# top",
		"http::" + s.URL + "/a.zip//top":                                                 "# top",
		s.URL + "/get" + to(s.URL+"/a.zip//top"):                                         "# top",
		s.URL + "/get//sub" + to(s.URL+"/a.zip//top"):                                    "# sub",
		s.URL + "/get//sub" + to(s.URL+"/get?to="+s.URL+"/a.zip"):                        "",
		s.URL + "/meta" + to(s.URL+"/a.zip//*"):                                          "# top",
		s.URL + "/get//sub" + to(s.URL+"/meta//top?to="+url.QueryEscape(s.URL+"/b.tgz")): "# sub",
	} {
		if want == "" {
			failing(t, c, source, problem.CodeUnreadModule)
			continue
		}
		if got := mainOf(t, fetch(t, c, source)); got != want {
			t.Errorf("main.tf of %s = %q, want %q", source, got, want)
		}
	}
}

// TestDamagedModuleIsAskedForOnceMore serves archives with a flipped bit from a cache, and
// whole from their server.
func TestDamagedModuleIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	files := member{name: "main.tf", data: "# " + strings.Repeat("text", 100)}
	zipped, tarred := zipOf(t, files), gzipOf(t, tarOf(t, files))
	for source, tt := range map[string]struct {
		archive []byte
		code    problem.Code
	}{
		"/a.zip": {zipped, problem.CodeUnreadModule},
		"/a.zip?checksum=" + fmt.Sprintf("%x", sha256.Sum256(zipped)): {zipped, problem.CodeBadChecksum},
		"/a.tgz": {tarred, problem.CodeUnreadModule},
	} {
		for _, heals := range []bool{true, false} {
			var asked atomic.Int64
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				answer := slices.Clone(tt.archive)
				if !heals || r.Header.Get("Cache-Control") != "no-cache" {
					answer[len(answer)/2] ^= 1
				}
				w.Write(answer)
			})
			c := newClient(t, Options{}, s)
			if !heals {
				failing(t, c, s.URL+source, tt.code)
			} else if got := mainOf(t, fetch(t, c, s.URL+source)); got != files.data {
				t.Errorf("main.tf of %s = %q, want %q", source, got, files.data)
			}
			if asked.Load() != 2 {
				t.Errorf("%s was asked for %d times, want 2", source, asked.Load())
			}
		}
	}
}

func TestHTTPPartOfPackageIsAll(t *testing.T) {
	t.Parallel()
	s := serve(t, archiveServer(t))
	c := newClient(t, Options{}, s)
	whole := fetch(t, c, s.URL+"/a.zip//top/sub")
	part := fetch(t, c, s.URL+"/get//sub?to="+url.QueryEscape(s.URL+"/a.zip//top"))
	if whole.Dir != "top/sub" || part.Dir != "sub" || part.ID != whole.ID+"//top" {
		t.Errorf("the part is %q in %q of %q", part.Dir, part.ID, whole.ID)
	}
}

func TestHTTPErrors(t *testing.T) {
	t.Parallel()
	answers := archiveServer(t)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		if n, _ := fmt.Sscanf(r.URL.Path, "/status/%d", &status); n == 1 {
			w.WriteHeader(status)
			return
		}
		if r.URL.Path == "/text.zip" {
			fmt.Fprint(w, "text")
			return
		}
		answers(w, r)
	})
	c := newClient(t, Options{}, s)
	for source, want := range map[string]struct {
		code problem.Code
		says string
	}{
		"/status/404/a.zip":                          {problem.CodeUnreadModule, "404 Not Found"},
		"/status/401/a.zip":                          {problem.CodeUnauthorized, "401"},
		"/status/403":                                {problem.CodeUnauthorized, "403"},
		"/status/500/a.zip":                          {problem.CodeUnreachable, "500"},
		"/status/204/a.zip":                          {problem.CodeUnreadModule, "204"},
		"/status/200":                                {problem.CodeUnreadModule, "neither an archive"},
		"/body?to=https://example.com/a.zip":         {problem.CodeUnreadModule, "neither an archive"},
		"/text.zip":                                  {problem.CodeUnreadModule, "not a valid zip"},
		"/a.zip//none":                               {problem.CodeUnreadModule, `no subdirectory "none"`},
		"/a.tar.xz?archive=zip&x=1":                  {problem.CodeUnreadModule, "400"},
		"/loop":                                      {problem.CodeUnreadModule, "more than 10"},
		"/get?to=../a.zip":                           {problem.CodeBadAnswer, "refers to no module package"},
		"/get?to=/etc":                               {problem.CodeBadAnswer, "refers to no module package"},
		"/get?to=github.com/o/r":                     {problem.CodeBadAnswer, "refers to no module package"},
		"/get?to=file:///etc":                        {problem.CodeUnreadModule, "disk of this machine"},
		"/get?to=git::file:///srv/r.git":             {problem.CodeUnreadModule, "disk of this machine"},
		"/get?to=git::ext::sh":                       {problem.CodeUnreadModule, "scheme"},
		"/get?to=http://169.254.169.254/x.zip":       {problem.CodeUnreachable, "a metadata service"},
		"/get?to=ftp://example.com/x.zip":            {problem.CodeInvalidConfig, `"ftp"`},
		"/get?checksum=x":                            {problem.CodeInvalidConfig, "checksum"},
		"/a.zip?checksum=file:https://x":             {problem.CodeInvalidConfig, "checksum"},
		"/a.zip?checksum=" + strings.Repeat("0", 64): {problem.CodeBadChecksum, "checksum"},
	} {
		if e := failing(t, c, s.URL+source, want.code); !strings.Contains(e.Error(), want.says) {
			t.Errorf("error of %s = %v, want it to say %q", source, e, want.says)
		}
	}
}

func TestHTTPRefusesThisMachine(t *testing.T) {
	t.Parallel()
	s := serve(t, archiveServer(t))
	c := newClient(t, Options{})
	for _, source := range []string{s.URL + "/a.zip", s.URL + "/get?to=x", "http://169.254.169.254/a.zip", "http://[fe80::1]/a.zip"} {
		failing(t, c, source, problem.CodeUnreachable)
	}
	if c.transport.Stats().Requests != 0 {
		t.Error("a server was asked")
	}
}

func TestHTTPErrorsHideSecrets(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	for _, source := range []string{"http://me:s3cret@169.254.169.254/a.zip?sig=s3cret", "s3cret://me:s3cret@x/y?s3cret", "http://me:s3cret@[/a.zip", "http://me:s3cret@169.254.169.254/a?checksum=s3cret"} {
		_, err := c.Fetch(t.Context(), terraform, call(source))
		if err == nil || strings.Contains(strings.ReplaceAll(err.Error(), "s3cret://", ""), "me:s3cret") || strings.Contains(err.Error(), "sig=") {
			t.Errorf("error = %v", err)
		}
	}
}

func TestChecksum(t *testing.T) {
	t.Parallel()
	body := zipOf(t, member{name: "main.tf", data: "# sum"})
	var queries sync.Map
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		queries.Store(r.URL.RawQuery, true)
		w.Write(body)
	})
	sum256, sum1 := sha256.Sum256(body), sha1.Sum(body)
	for _, value := range []string{hex.EncodeToString(sum256[:]), "sha256:" + strings.ToUpper(hex.EncodeToString(sum256[:])), "sha1:" + hex.EncodeToString(sum1[:]), hex.EncodeToString(sum1[:])} {
		c := newClient(t, Options{}, s)
		if got := mainOf(t, fetch(t, c, s.URL+"/a.zip?z=1&checksum="+value+"&a=2")); got != "# sum" {
			t.Errorf("main.tf = %q", got)
		}
	}
	if _, ok := queries.Load("a=2&z=1"); !ok {
		t.Error("the checksum was sent to the server")
	}
	for _, value := range []string{"sha256:" + hex.EncodeToString(sum1[:]), "crc32:00000000", "md5:"} {
		failing(t, newClient(t, Options{}, s), s.URL+"/a.zip?checksum="+value, problem.CodeInvalidConfig)
	}
}

func TestNetrc(t *testing.T) {
	t.Parallel()
	answers := archiveServer(t)
	var user atomic.Value
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		user.Store(name + ":" + password)
		answers(w, r)
	})
	home := t.TempDir()
	host := s.Listener.Addr().String()
	writeFile(t, filepath.Join(home, ".netrc"), "machine other.example login x password y\nmachine "+host+" login me password s3cret\n", 0o600)
	broken := filepath.Join(t.TempDir(), "netrc")
	writeFile(t, broken, "machine s3cret s3cret s3cret", 0o600)
	getenv := func(netrc string) func(string) string {
		return func(name string) string {
			if name == "NETRC" {
				return netrc
			}
			return ""
		}
	}
	source := s.URL + "/a.zip//top"
	tests := []struct {
		name, source, want string
		opts               Options
	}{
		{"of_home", source, "me:s3cret", Options{Env: cliconfig.Env{Home: home}}},
		{"of_variable", source, "me:s3cret", Options{Env: cliconfig.Env{Getenv: getenv(filepath.Join(home, ".netrc"))}}},
		{"of_no_home", source, ":", Options{}},
		{"of_missing_file", source, ":", Options{Env: cliconfig.Env{Home: t.TempDir()}}},
		{"below_own_login", strings.Replace(source, "http://", "http://own:word@", 1), "own:word", Options{Env: cliconfig.Env{Home: home}}},
		{"where_not_admitted", source, ":", Options{Env: cliconfig.Env{Home: home}, Ambient: func(string) bool { return false }}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			user.Store("")
			fetch(t, newClient(t, tt.opts, s), tt.source)
			if got := user.Load(); got != tt.want {
				t.Errorf("login = %q, want %q", got, tt.want)
			}
		})
	}
	e := failing(t, newClient(t, Options{Env: cliconfig.Env{Getenv: getenv(broken)}}, s), source, problem.CodeUnreadModule)
	if strings.Contains(e.Error(), "s3cret") {
		t.Errorf("error = %v", e)
	}
}

func TestPackagesAreFetchedOnce(t *testing.T) {
	t.Parallel()
	answers := archiveServer(t)
	var asked, now, most atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		answers(w, r)
	})
	c := newClient(t, Options{Jobs: 2}, s)
	var group sync.WaitGroup
	for i := range 60 {
		group.Go(func() {
			source := fmt.Sprintf("%s/%d.zip//top", s.URL, i%6)
			if i%2 == 0 {
				source += "/sub"
			}
			fetch(t, c, source)
		})
	}
	group.Wait()
	if asked.Load() != 6 || c.Packages() != 6 {
		t.Errorf("%d requests for %d packages, want 6", asked.Load(), c.Packages())
	}
	if most.Load() > 2 {
		t.Errorf("%d packages were fetched at once, want 2", most.Load())
	}
}

// TestServersElsewhereNameNoPaths has servers behind a proxy, which are not on this
// machine, and which refer to its disk.
func TestServersElsewhereNameNoPaths(t *testing.T) {
	t.Parallel()
	dir := moduletest.Repositories(t)
	writeFile(t, filepath.Join(dir, "main.tf"), "# disk", 0o600)
	answers := archiveServer(t)
	here := serve(t, answers)
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) { answers(w, r) })
	through, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	tr := transport.New(transport.Options{RetryWait: time.Nanosecond, Proxy: func(r *http.Request) (*url.URL, error) {
		if r.URL.Hostname() == "elsewhere.test" {
			return through, nil
		}
		return nil, nil
	}})
	tr.Admit(here.Listener.Addr().String())
	c := New(tr, nil, Options{AllowLocal: true, Env: testEnv(t, Options{}.Env)})
	for _, to := range []string{"file://" + dir, "git::file://" + dir + "/modrepo.git?ref=v1.0.0"} {
		for _, way := range []string{"/get?to=", "/meta?to="} {
			fetch(t, c, here.URL+way+url.QueryEscape(to))
			e := failing(t, c, "http://elsewhere.test"+way+url.QueryEscape(to), problem.CodeUnreadModule)
			if !strings.Contains(e.Error(), "elsewhere.test refers to the disk of this machine") || e.Problem.Hint == "" {
				t.Errorf("a server elsewhere that refers to %s: %v, hint %q; want the refusal", to, e, e.Problem.Hint)
			}
		}
	}
}

func TestDisk(t *testing.T) {
	t.Parallel()
	dir := moduletest.Repositories(t) // any directory would do
	writeFile(t, filepath.Join(dir, "a.zip"), string(zipOf(t, member{name: "sub/main.tf", data: "# zip"})), 0o600)
	writeFile(t, filepath.Join(dir, "main.tf"), "# disk", 0o600)
	c := newClient(t, Options{AllowLocal: true})
	for source, want := range map[string]string{
		dir: "# disk", "file://" + dir: "# disk", filepath.Dir(dir) + "//" + filepath.Base(dir): "# disk",
		dir + "/a.zip//sub": "# zip", "file://" + dir + "/a.zip//*": "# zip",
	} {
		if got := mainOf(t, fetch(t, c, source)); got != want {
			t.Errorf("main.tf of %s = %q, want %q", source, got, want)
		}
	}
	for _, source := range []string{dir + "/none", dir + "/main.tf", dir + "/none.zip", dir + "/main.tf?archive=zip"} {
		failing(t, c, source, problem.CodeUnreadModule)
	}
	for _, source := range []string{dir, "file://" + dir, "file::" + dir, "http::file://" + dir, "git::" + dir + "/modrepo.git"} {
		if e := failing(t, newClient(t, Options{}), source, problem.CodeUnreadModule); e.Problem.Hint == "" {
			t.Errorf("error of %s = %v has no hint", source, e)
		}
	}
}
