package module

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/sandbox/trusted"
)

// text makes a commit with a text in main.tf.
func text(says string) map[string]string { return map[string]string{"main.tf": "# " + says} }

func TestGitReferences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"),
		moduletest.Commit{Tag: "v1.0.0", Files: text("one")},
		moduletest.Commit{Annotated: "v2.0.0", Files: text("two")},
		moduletest.Commit{Tag: "both", Files: text("tag")},
		moduletest.Commit{Files: text("head")},
		moduletest.Commit{Branch: "both", Files: text("branch")},
		moduletest.Commit{Branch: "release/1.x", Files: text("release")},
		moduletest.Commit{Branch: "v1", Files: text("short branch")},
		moduletest.Commit{Branch: "deadbee", Files: text("hex branch")},
	)
	// A tag with the name of the default branch does not replace the branch.
	moduletest.Git(t, filepath.Join(dir, "r.git"), nil, "tag", "main", ids[0])
	tests := []struct{ query, want string }{
		{"", "head"},
		{"?depth=1", "head"},
		{"?ref=v1.0.0", "one"},
		{"?ref=v2.0.0", "two"},
		{"?ref=v2.0.0&depth=1", "two"},
		{"?ref=main", "head"},
		{"?ref=both", "tag"},
		{"?ref=both&depth=1", "branch"},
		{"?ref=release/1.x", "release"},
		{"?ref=v1", "short branch"},
		{"?ref=deadbee", "hex branch"},
		{"?ref=" + ids[1], "two"},
		{"?ref=" + ids[1][:9], "two"},
		{"?ref=" + strings.ToUpper(ids[1]), "two"},
		{"?ref=HEAD", "head"},
		{"?ref=main~1", "tag"},
		{"?ref=v2.0.0^{}", "two"},
		{"?ref=origin/release/1.x", "release"},
		{"?ref=refs/tags/v1.0.0", "one"},
		{"?ref=tags/v1.0.0", "one"},
		{"?ref=origin/main~1", "tag"},
		{"?ref=v1.0.0&depth=none", "one"},
	}
	c := newClient(t, Options{AllowLocal: true})
	for _, tt := range tests {
		source := "git::file://" + dir + "/r.git" + strings.ReplaceAll(tt.query, "^", "%5E")
		p := fetch(t, c, source)
		if got := mainOf(t, p); got != "# "+tt.want {
			t.Errorf("main.tf of %s = %q, want %q", tt.query, got, tt.want)
		}
	}
	for _, query := range []string{
		"?ref=nope", "?ref=0000000", "?ref=" + ids[1] + "&depth=1", "?ref=" + ids[1][:9] + "&depth=1",
		"?ref=v1.0.0:main.tf", "?ref=@{upstream}", "?ref=*",
	} {
		e := failing(t, c, "git::file://"+dir+"/r.git"+query, problem.CodeUnreadModule)
		if at := "file://" + dir + "/r.git"; e.Problem.About != at || !strings.HasPrefix(e.Error(), "fetching the module package "+at+": ") {
			t.Errorf("error of %s = %v", query, e)
		}
	}
}

func TestGitPackage(t *testing.T) {
	t.Parallel()
	dir := moduletest.Repositories(t)
	c := newClient(t, Options{AllowLocal: true})
	base := "git::file://" + dir

	p := fetch(t, c, base+"/modrepo.git//modules/sub?ref=v1.1.0")
	if p.Dir != "modules/sub" || !strings.Contains(mainOf(t, p), `"!= 0.0.2"`) {
		t.Errorf("package in %q says %q", p.Dir, mainOf(t, p))
	}
	commit := moduletest.Git(t, dir+"/modrepo.git", nil, "rev-parse", "v1.1.0")
	if want := "git+file://" + dir + "/modrepo.git@" + commit; p.ID != want {
		t.Errorf("ID = %q, want %q", p.ID, want)
	}
	if diff := cmp.Diff([]string{"main.tf", "modules/", "modules/sub/", "modules/sub/main.tf"}, names(t, p.FS)); diff != "" {
		t.Errorf("package (-want +got):\n%s", diff)
	}
	if again := fetch(t, c, base+"/modrepo.git?ref=v1.1.0"); again.FS != p.FS || again.Dir != "." || c.Packages() != 1 {
		t.Errorf("a second call fetched again: %d packages", c.Packages())
	}
	if other := fetch(t, c, base+"/modrepo.git//modul*/s*b?ref=v2.0.0"); other.Dir != "modules/sub" || !strings.Contains(mainOf(t, other), `"!= 0.0.5"`) {
		t.Errorf("glob found %q", other.Dir)
	}
	failing(t, c, base+"/modrepo.git//modules/none", problem.CodeUnreadModule)
	failing(t, c, base+"/modrepo2.git//modules/*", problem.CodeUnreadModule)
	failing(t, c, base+"/modrepo2.git//modules/x/main.tf", problem.CodeUnreadModule)
}

func TestGitKeepsWhatConfigurationNeeds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"), moduletest.Commit{
		Files: map[string]string{
			"a.tf": "a", "b.tofu": "b", "c.tf.json": "{}", "d.tofu.json": "{}", "tests/e.tftest.hcl": "e", "f.auto.tfvars": "f",
			"g.tfvars.json": "{}", "README.md": "text", "docs/only.md": "text", ".gitattributes": "*.tf filter=evil export-ignore\n",
			"dir with space/ü.tf": "x", "big.tf": strings.Repeat("#\n", maxFile/2+1), "blob.bin": strings.Repeat("x", 2<<20),
		},
		Links: map[string]string{"h.tf": "modules/h.tf", "out.tf": "../../etc/passwd", "abs.tf": "/etc/passwd", "linked": "docs", "other.txt": "x"},
	})
	c := newClient(t, Options{AllowLocal: true})
	p := fetch(t, c, "git::file://"+dir+"/r.git?ref="+ids[0])
	want := []string{
		"a.tf", "abs.tf -> /etc/passwd", "b.tofu", "big.tf", "c.tf.json", "d.tofu.json", "dir with space/", "dir with space/ü.tf",
		"docs/", "f.auto.tfvars", "g.tfvars.json", "h.tf -> modules/h.tf", "linked -> docs", "other.txt -> x", "out.tf -> ../../etc/passwd",
		"tests/", "tests/e.tftest.hcl",
	}
	if diff := cmp.Diff(want, names(t, p.FS)); diff != "" {
		t.Errorf("package (-want +got):\n%s", diff)
	}
	for name, reason := range map[string]string{"abs.tf": "not exist", "out.tf": "not exist", "big.tf": "larger than 16 MiB"} {
		if _, err := p.FS.Open(name); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("Open(%q) = %v, want %q", name, err, reason)
		}
	}
}

func TestGitPassesOverNamesOfOtherEncodings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	moduletest.Repository(t, filepath.Join(dir, "r.git"), moduletest.Commit{
		Files: map[string]string{"main.tf": "# main", "caf\xe9.md": "x", "caf\xe9/a.tf": "x"},
		Links: map[string]string{"\xe9": "x"},
	})
	p := fetch(t, newClient(t, Options{AllowLocal: true}), "git::file://"+dir+"/r.git")
	if diff := cmp.Diff([]string{"main.tf"}, names(t, p.FS)); diff != "" {
		t.Errorf("package (-want +got):\n%s", diff)
	}
}

func TestGitInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := newClient(t, Options{AllowLocal: true})
	_, err := c.Fetch(ctx, terraform, call("git::file:///none"))
	wantCode(t, "an interrupted run", err, problem.CodeCancelled)
}

func TestGitOverHTTP(t *testing.T) {
	t.Parallel()
	dir := moduletest.Repositories(t)
	ids := moduletest.Git(t, dir+"/modrepo.git", nil, "rev-parse", "v1.0.0", "v1.1.0~1")
	first, _, _ := strings.Cut(ids, "\n")
	for name, server := range map[string]func(http.Handler) http.Handler{
		"protocol_2": func(h http.Handler) http.Handler { return h },
		// An old server does not give a commit without a branch or tag.
		"protocol_0": func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Header.Del("Git-Protocol")
				h.ServeHTTP(w, r)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, server(moduletest.Handler(t, dir, "uploadpack.allowFilter=true")).ServeHTTP)
			c := newClient(t, Options{}, s)
			for ref, want := range map[string]string{"": "10", "?ref=v2.0.0": "5", "?ref=" + first: "1", "?ref=" + first[:8]: "1"} {
				p := fetch(t, c, "git::"+s.URL+"/modrepo.git//modules/sub"+ref)
				if got := mainOf(t, p); !strings.Contains(got, `"!= 0.0.`+want+`"`) {
					t.Errorf("main.tf of %q = %q, want number %s", ref, got, want)
				}
			}
		})
	}
}

// A server can leave out large files. The kept ones are then requested.
func TestGitFetchesLargeFilesThatAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := strings.Repeat("# x\n", 1<<19)
	moduletest.Repository(t, filepath.Join(dir, "r.git"), moduletest.Commit{Files: map[string]string{
		"main.tf": large, "other.bin": strings.Repeat("y", 3<<20),
	}})
	s := moduletest.Serve(t, dir, "uploadpack.allowFilter=true")
	if got := mainOf(t, fetch(t, newClient(t, Options{}, s), "git::"+s.URL+"/r.git")); got != large {
		t.Errorf("main.tf has %d bytes, want %d", len(got), len(large))
	}
}

func TestGitFetchesUnadvertisedCommits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"),
		moduletest.Commit{Files: text("one")}, moduletest.Commit{Files: text("two")})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Git-Protocol")
		moduletest.Handler(t, dir).ServeHTTP(w, r)
	})
	c := newClient(t, Options{}, s)
	if got := mainOf(t, fetch(t, c, "git::"+s.URL+"/r.git?ref="+ids[0])); got != "# one" {
		t.Errorf("main.tf = %q, want that of a commit without a branch", got)
	}
}

func TestGitToken(t *testing.T) {
	t.Parallel()
	dir := moduletest.Repositories(t)
	git := moduletest.Handler(t, dir)
	var seen []string
	handler := func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("x-access-token:t0ken")) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		git.ServeHTTP(w, r)
	}
	s := serveTLS(t, handler)
	source := "git::" + s.URL + "/modrepo.git?ref=v1.0.0"

	with := newClient(t, Options{Token: tokenFor("127.0.0.1")}, s)
	if got := mainOf(t, fetch(t, with, source)); !strings.Contains(got, "0.0.1") {
		t.Errorf("main.tf = %q", got)
	}
	seen = nil
	without := newClient(t, Options{}, s)
	e := failing(t, without, source, problem.CodeUnauthorized)
	if e.Problem.Hint == "" || strings.Contains(e.Error(), "t0ken") {
		t.Errorf("error = %v, hint %q", e, e.Problem.Hint)
	}
	for _, header := range seen {
		if header != "" {
			t.Errorf("without a token the server was sent %q", header)
		}
	}
	// The credential that was refused, where it is sent, and what to do.
	other := func(context.Context, string) (string, error) { return "0ther", nil }
	for hint, o := range map[string]Options{
		"the token for 127.0.0.1 was sent to it over https: let it read the repository, or set module-token to one that may":                                      {Token: other},
		"no token was sent to 127.0.0.1, only what git finds on this machine: set module-token (RELOCK_MODULE_TOKEN), which is sent to it over https":             {TokenHost: "127.0.0.1"},
		"no token was sent to 127.0.0.1, only what git finds on this machine, and module-token is for github.com: give git a login or a key that needs no answer": {TokenHost: "github.com"},
		"no token was sent to 127.0.0.1, only what git finds on this machine: give git a login or a key that needs no answer":                                     {},
	} {
		if e := failing(t, newClient(t, o, s), source, problem.CodeUnauthorized); e.Problem.Hint != hint {
			t.Errorf("the hint is %q, want %q", e.Problem.Hint, hint)
		}
	}
	withLogin := strings.Replace(source, "https://", "https://me:s3cret@", 1)
	if e := failing(t, without, withLogin, problem.CodeUnauthorized); e.Problem.Hint != "the login in the source address was sent to 127.0.0.1: let it read the repository" {
		t.Errorf("with a login in the address the hint is %q", e.Problem.Hint)
	}
}

// Two servers have certificates that git does not trust. relock trusts one of them, as with
// SSL_CERT_FILE, which git does not read.
func TestGitSaysWhatHelpsAgainstUnknownAuthorities(t *testing.T) {
	t.Parallel()
	moduletest.Git(t, t.TempDir(), nil, "version") // skips the test without git
	environ := cliconfig.Env{Environ: moduletest.Environ(t)}
	for name, s := range map[string]*httptest.Server{
		"to git": serveTLS(t, http.NotFound), "to anybody": trusted.NobodysServer(t, http.NotFoundHandler()),
	} {
		c := newClient(t, Options{Env: environ}, s)
		e := failing(t, c, "git::"+s.URL+"/modrepo.git?ref=v1.0.0", problem.CodeUnreachable)
		for _, variable := range []string{"SSL_CERT_FILE", "GIT_SSL_CAINFO"} {
			if !strings.Contains(e.Problem.Hint, variable) {
				t.Errorf("a server unknown %s: %v with the hint %q, want one that names %s", name, e, e.Problem.Hint, variable)
			}
		}
	}
}

// The message about an unknown authority depends on curl's library. Messages about other
// faults of certificates do not count.
func TestWordsOfGitAboutCertificates(t *testing.T) {
	t.Parallel()
	const failed = "fatal: unable to access 'https://example.com/r.git/': "
	for words, want := range map[string]bool{
		"SSL certificate problem: unable to get local issuer certificate":             true,
		"SSL certificate problem: self-signed certificate in certificate chain":       true,
		"SSL certificate problem: self signed certificate":                            true,
		"server certificate verification failed. CAfile: none CRLfile: none":          true,
		"server verification failed: certificate signer not trusted. (CAfile: none)":  true,
		"schannel: SEC_E_UNTRUSTED_ROOT (0x80090325) - The certificate chain was...":  true,
		"SSL certificate problem: certificate has expired":                            false,
		"SSL: no alternative certificate subject name matches target host name 'a.b'": false,
		"Could not resolve host: example.com":                                         false,
	} {
		if got := readComplaint(failed + words); got.untrusted != want || got.code != problem.CodeUnreachable {
			t.Errorf("readComplaint(%q) = %+v, want untrusted %v", words, got, want)
		}
	}
}

// tokenFor gives t0ken only to one host.
func tokenFor(host string) func(context.Context, string) (string, error) {
	return func(_ context.Context, asked string) (string, error) {
		if asked != host {
			return "", nil
		}
		return "t0ken", nil
	}
}

func TestGitTokenThatCannotBeHadIsTold(t *testing.T) {
	t.Parallel()
	why := &problem.Error{Problem: problem.Problem{Code: problem.CodeUnauthorized, Message: "asking for a token of the GitHub App"}}
	c := newClient(t, Options{Token: func(context.Context, string) (string, error) { return "", why }})
	e := failing(t, c, "git::https://github.com/o/r.git", problem.CodeUnauthorized)
	if !strings.Contains(e.Error(), why.Problem.Message) {
		t.Errorf("error = %v, want it to tell that %s", e, why.Problem.Message)
	}
}

func TestGitTokenIsForItsHostOverHTTPS(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{Token: tokenFor("github.com")})
	tests := []struct{ source, key, url, token string }{
		{"ssh://git@github.com/o/r.git", "", "https://github.com/o/r.git", "t0ken"},
		{"ssh://git@GitHub.com:22/o/r.git", "", "https://GitHub.com/o/r.git", "t0ken"},
		{"https://github.com/o/r.git", "", "https://github.com/o/r.git", "t0ken"},
		{"https://git@github.com/o/r.git", "", "https://github.com/o/r.git", "t0ken"},
		{"https://me:own@github.com/o/r.git", "", "https://me:own@github.com/o/r.git", ""},
		{"http://github.com/o/r.git", "", "http://github.com/o/r.git", ""},
		{"git://github.com/o/r.git", "", "git://github.com/o/r.git", ""},
		{"ssh://git@example.com/o/r.git", "", "ssh://git@example.com/o/r.git", ""},
		{"https://github.com.example.com/o/r.git", "", "https://github.com.example.com/o/r.git", ""},
		{"ssh://git@github.com/o/r.git", "key", "ssh://git@github.com/o/r.git", ""}, // the source has its own credentials
	}
	for _, tt := range tests {
		u, err := url.Parse(tt.source)
		if err != nil {
			t.Fatal(err)
		}
		of := gitRemote{url: u}
		if tt.key != "" {
			of.key = []byte(tt.key)
		}
		r, err := c.opts.admitted(t.Context(), of)
		if err != nil || r.url.String() != tt.url || r.token != tt.token {
			t.Errorf("admitted(%q) = %v, token %q, %v; want %q, token %q", tt.source, r.url, r.token, err, tt.url, tt.token)
		}
	}
}

func TestGitRefusesHostileSources(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	canary := filepath.Join(t.TempDir(), "canary")
	for _, source := range []string{
		"git::ext::sh -c 'touch " + canary + "'",
		"git::ext::touch%20" + canary,
		"git::fd::17",
		"git::transport::x://example.com/r",
		"git::ftp://example.com/r.git",
		"git::file:///srv/r.git",
		"git::/srv/r.git",
		"git::https://example.com/r.git?ref=--upload-pack=touch%20" + canary,
		"git::https://example.com/r.git?ref=-u",
		"git::https://example.com/r.git?ref=a%0Ab",
		"git::ssh://-oProxyCommand=touch%20" + canary + "/r.git",
		"git::ssh://-x@example.com/r.git",
		"git::--upload-pack=touch://example.com",
		"git::https:///r.git",
		"git::ssh://git@example.com/r.git?sshkey=!",
	} {
		p, err := c.Fetch(t.Context(), terraform, call(source))
		if err == nil {
			t.Errorf("Fetch(%q) = %v, want an error", source, p)
		}
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a source ran a command")
	}
	if c.Packages() != 0 {
		t.Errorf("%d packages were fetched", c.Packages())
	}
}

func TestGitRefusesThisMachine(t *testing.T) {
	t.Parallel()
	dir := moduletest.Repositories(t)
	s := moduletest.Serve(t, dir)
	c := newClient(t, Options{}) // this client does not admit the server
	for _, source := range []string{
		"git::" + s.URL + "/modrepo.git",
		"git::" + strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/modrepo.git",
		"git::ssh://git@127.0.0.1/r.git",
		"git::ssh://git@2130706433/r.git",
		"git::git://[::1]/r.git",
		"git::http://169.254.169.254/r.git",
		"git@169.254.169.254:o/r.git",
	} {
		if e := failing(t, c, source, problem.CodeUnreachable); !strings.Contains(e.Error(), "refused: ") {
			t.Errorf("error of %s = %v, want a refusal", source, e)
		}
	}
}

func TestGitFollowsNoRedirectItself(t *testing.T) {
	t.Parallel()
	dir := moduletest.Repositories(t)
	git := moduletest.Handler(t, dir)
	var asked atomic.Int64
	hidden := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		git.ServeHTTP(w, r)
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.UserAgent(), "git/") { // other programs get no such answer
			http.Redirect(w, r, hidden.URL+r.URL.String(), http.StatusFound)
		}
	})
	failing(t, newClient(t, Options{}, s), "git::"+s.URL+"/modrepo.git", problem.CodeUnreachable)
	if asked.Load() != 0 {
		t.Errorf("a server that nobody named was asked %d times", asked.Load())
	}
}

func TestGitFollowsNoRedirectToMetadata(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254"+r.URL.String(), http.StatusFound)
	})
	e := failing(t, newClient(t, Options{}, s), "git::"+s.URL+"/modrepo.git", problem.CodeUnreachable)
	if !strings.Contains(e.Error(), "a metadata service") {
		t.Errorf("error = %v, want the refusal", e)
	}
}

func TestGitFollowsRedirects(t *testing.T) {
	t.Parallel()
	dir := moduletest.Repositories(t)
	git := moduletest.Handler(t, dir)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/old"); ok {
			http.Redirect(w, r, "/modrepo.git"+rest+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
			return
		}
		git.ServeHTTP(w, r)
	})
	c := newClient(t, Options{}, s)
	if got := mainOf(t, fetch(t, c, "git::"+s.URL+"/old?ref=v1.0.0")); !strings.Contains(got, "0.0.1") {
		t.Errorf("main.tf = %q", got)
	}
}

// TestGitSSH replaces ssh by a program that writes down its arguments.
func TestGitSSH(t *testing.T) {
	t.Parallel()
	program(t, "cut")
	dir := moduletest.Repositories(t)
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	ssh := filepath.Join(bin, "ssh")
	writeFile(t, ssh, `#!/bin/sh
echo "$@" >>`+log+`
for a; do case $prev in -i) cat "$a" >>`+log+`; ls -l "$a" | cut -c1-10 >>`+log+`;; esac; prev=$a; done
for command; do :; done
eval "`+dir+`/run $command"
`, 0o755)
	writeFile(t, filepath.Join(dir, "run"), "#!/bin/sh\nexec git upload-pack \""+dir+"$2\"\n", 0o755)
	env := testEnv(t, Options{}.Env)
	env.Environ = append(env.Environ, "GIT_SSH_COMMAND="+ssh+" -4", "GIT_DIR=/nowhere", "GIT_TRACE=1")
	env.Getenv = nil
	opts := Options{Env: env}
	c := newClient(t, opts)
	key := base64.StdEncoding.EncodeToString([]byte("-----secret key-----\n"))
	p := fetch(t, c, "git@git.example.com:modrepo.git?ref=v1.0.0&sshkey="+url.QueryEscape(key))
	if !strings.Contains(mainOf(t, p), "0.0.1") {
		t.Errorf("main.tf = %q", mainOf(t, p))
	}
	if strings.Contains(p.ID, "secret") || strings.Contains(p.ID, key) {
		t.Errorf("ID = %q has the key", p.ID)
	}
	called, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-4 -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=4 -i ", "-----secret key-----\n-rw-------\n", "git@git.example.com git-upload-pack"} {
		if !strings.Contains(string(called), want) {
			t.Errorf("ssh was called with\n%swant %q", called, want)
		}
	}
	e := failing(t, c, "git@git.example.com:none.git?sshkey="+url.QueryEscape(key), problem.CodeUnauthorized)
	if strings.Contains(e.Error(), key) || strings.Contains(e.Error(), "sshkey") {
		t.Errorf("error = %v names the key", e)
	}
}

func TestGitErrorsHideSecrets(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusForbidden)
		w.Write([]byte("s3cret words of a server \x1b[31m"))
	})
	c := newClient(t, Options{}, s)
	u := strings.Replace(s.URL, "http://", "http://user:s3cret@", 1)
	e := failing(t, c, "git::"+u+"/r.git?ref=v1&token=s3cret", problem.CodeUnauthorized)
	if strings.Contains(e.Error(), "s3cret") || strings.Contains(e.Error(), "user") || strings.Contains(e.Error(), "\x1b") {
		t.Errorf("error = %v", e)
	}
}

func TestGitUsesNoAmbientKeysWhereNotAdmitted(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{Ambient: func(string) bool { return false }})
	e := failing(t, c, "git@github.com:o/r.git", problem.CodeUnauthorized)
	if e.Problem.Hint == "" {
		t.Errorf("error %v has no hint", e)
	}
}

// git keeps a server's advertisement in memory, so too much of it must not reach git.
func TestGitIsSparedAnEndlessAdvertisement(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		piece := bytes.Repeat([]byte("003f0000000000000000000000000000000000000000 refs/heads/branch\n"), 1<<10)
		for sent := 0; sent <= maxAdvertised; sent += len(piece) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	e := failing(t, newClient(t, Options{}, s), "git::"+s.URL+"/r.git", problem.CodeBadAnswer)
	if !strings.Contains(e.Error(), "longer than") {
		t.Errorf("error %v, want one about the length", e)
	}
}
