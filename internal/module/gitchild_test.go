package module

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
)

// secrets are variables of a runner that only relock needs. Each value contains s3cret.
var secrets = []string{
	"GITHUB_TOKEN=s3cret", "GH_TOKEN=s3cret", "INPUT_TOKEN=s3cret", "INPUT_MODULE-TOKEN=s3cret", "RELOCK_APP_PRIVATE_KEY=s3cret",
	"TF_TOKEN_app_terraform_io=s3cret", "ACTIONS_RUNTIME_TOKEN=s3cret", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=s3cret",
	"AWS_SECRET_ACCESS_KEY=s3cret", "AWS_SESSION_TOKEN=s3cret", "GOOGLE_CREDENTIALS=s3cret", "ARM_CLIENT_SECRET=s3cret",
	"GIT_TRACE_CURL=s3cret", "ANYTHING=s3cret",
	"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.https://other.example/.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: s3cret",
}

// plantedHome is a home directory whose git configuration makes git run programs. They
// write down their environment.
func plantedHome(t *testing.T) (home, dump string) {
	t.Helper()
	home = t.TempDir()
	dump = filepath.Join(t.TempDir(), "dump")
	wrapper := filepath.Join(home, "wrapper")
	writeFile(t, wrapper, "#!/bin/sh\n{ echo \"ran $*\"; env; } >>'"+dump+"'\nexit 1\n", 0o755)
	writeFile(t, filepath.Join(home, ".gitconfig"), `[core]
	sshCommand = `+wrapper+` ssh
	fsmonitor = `+wrapper+` fsmonitor
	hooksPath = `+home+`
	askPass = `+wrapper+`
[credential]
	helper = "!`+wrapper+` helper"
[protocol "ext"]
	allow = always
[url "ssh://git@evil.example/"]
	insteadOf = https://away.example/
[url "ext::`+wrapper+` ext "]
	insteadOf = https://ext.example/
`, 0o600)
	return home, dump
}

func plantedClient(t *testing.T, home string, opts Options) *Client {
	t.Helper()
	opts.Env.Environ = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "GIT_CONFIG_NOSYSTEM=1"}, secrets...)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	c := newClient(t, opts, s)
	c.transport.Admit("127.0.0.1:22")
	for _, source := range []string{
		"git::ssh://git@127.0.0.1/r.git", "git@127.0.0.1:o/r.git", "git::" + s.URL + "/r.git", "git::https://ext.example/r.git",
		"git::https://away.example/r.git", "git::ssh://git@127.0.0.1/r.git?sshkey=a2V5",
	} {
		if p, err := c.Fetch(t.Context(), terraform, call(source)); err == nil {
			t.Errorf("Fetch(%q) = %v, want an error", source, p)
		}
	}
	return c
}

// TestGitHasNothingToSteal plants a git configuration, as a module that writes files could,
// and fetches modules by git. For the base that configuration is the operator's, so its
// programs run. They must get no secret.
func TestGitHasNothingToSteal(t *testing.T) {
	t.Parallel()
	home, dump := plantedHome(t)
	plantedClient(t, home, Options{})
	text, err := os.ReadFile(dump)
	if err != nil || !strings.Contains(string(text), "ssh") || !strings.Contains(string(text), "ran helper get") {
		t.Fatalf("the operator's ssh command and credential helper did not run: %v\n%s", err, text)
	}
	if strings.Contains(string(text), "s3cret") {
		t.Errorf("a program that git runs gets\n%s", text)
	}
	if strings.Contains(string(text), "ran ext") || strings.Contains(string(text), "ran fsmonitor") {
		t.Errorf("a program ran that nobody may choose:\n%s", text)
	}
}

// Only git gets the runner's token for a host, and not the programs that git runs.
func TestGitTokenIsNotInTheEnvironment(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{Token: tokenFor("git.example.com")})
	u, _ := url.Parse("https://user:pa55@git.example.com/r.git")
	r := &gitRepository{gitProgram{means: c.means, dir: t.TempDir()}}
	if err := r.configure(gitRemote{url: u, token: "t0ken"}); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(r.env, "\n"); strings.Contains(all, "t0ken") || strings.Contains(all, basic("t0ken")) || strings.Contains(all, "pa55") {
		t.Errorf("git's environment is\n%s", all)
	}
	info, err := os.Stat(r.path("settings"))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the settings are readable by others: %v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(r.path("settings"))
	if err != nil || !strings.Contains(string(text), basic("t0ken")) {
		t.Errorf("the settings lack the token: %v\n%s", err, text)
	}
}

// TestHeadIgnoresThePlantedConfiguration holds that the operator's git configuration does
// not apply to a pull request's head, even for a host with credentials.
func TestHeadIgnoresThePlantedConfiguration(t *testing.T) {
	t.Parallel()
	home, dump := plantedHome(t)
	c := plantedClient(t, home, Options{Head: true, Ambient: func(string) bool { return true }})
	if text, err := os.ReadFile(dump); err == nil {
		t.Errorf("a program of the operator's git configuration ran:\n%s", text)
	}
	u, _ := url.Parse("https://git.example.com/r.git")
	r := &gitRepository{gitProgram{means: c.means, dir: t.TempDir()}}
	env := r.environ(gitRemote{url: u})
	for _, want := range []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "HOME=" + r.path("home"), "GIT_NO_LAZY_FETCH=1"} {
		if !slices.Contains(env, want) {
			t.Errorf("git's environment lacks %s:\n%s", want, strings.Join(env, "\n"))
		}
	}
	if slices.Contains(env, "HOME="+home) {
		t.Error("git gets the operator's home directory")
	}
}

func TestGitEnvironment(t *testing.T) {
	t.Parallel()
	env := testEnv(t, Options{}.Env)
	env.Environ = append([]string{
		"PATH=/bin", "HOME=/home/me", "SSH_AUTH_SOCK=/agent", "GIT_ASKPASS=/ask", "GIT_DIR=/else", "GIT_INDEX_FILE=/else/index",
		"GIT_CONFIG_PARAMETERS='x'", "HTTPS_PROXY=http://proxy", "https_proxy=http://proxy", "SSL_CERT_FILE=/ca",
	}, secrets...)
	u, _ := url.Parse("https://git.example.com/r.git")
	for _, ambient := range []bool{true, false} {
		c := New(newTransport(), nil, Options{Env: env, Ambient: func(host string) bool { return ambient || host != "git.example.com" }})
		r := &gitRepository{gitProgram{means: c.means, dir: "/tmp/repo"}}
		got := map[string]string{}
		for _, v := range r.environ(gitRemote{url: u}) {
			name, value, _ := strings.Cut(v, "=")
			got[name] = value
			if strings.Contains(value, "s3cret") {
				t.Errorf("with ambient credentials %v: git gets %s", ambient, name)
			}
		}
		want := map[string]string{
			"PATH": "/bin", "HOME": "/home/me", "SSH_AUTH_SOCK": "/agent", "GIT_ASKPASS": "/ask", "SSL_CERT_FILE": "/ca",
			"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "https:http:ssh:git", "HTTPS_PROXY": "http://proxy", "https_proxy": "http://proxy",
			"LC_ALL": "C", "GIT_INDEX_FILE": "", "GIT_CONFIG_PARAMETERS": "", "GIT_CONFIG_GLOBAL": "", "GIT_DIR": r.gitDir(),
		}
		if !ambient {
			want["HOME"], want["SSH_AUTH_SOCK"], want["GIT_ASKPASS"], want["GIT_CONFIG_GLOBAL"] = r.path("home"), "", "", os.DevNull
			want["HTTPS_PROXY"], want["https_proxy"] = "", ""
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("with ambient credentials %v: %s = %q, want %q", ambient, name, got[name], value)
			}
		}
	}
}

// TestGitOverDumbHTTP serves a repository as files, as any web server can. git can leave
// nothing out of such a fetch. It once requested the objects that it believed missing one
// by one, each with a process.
func TestGitOverDumbHTTP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"),
		moduletest.Commit{Tag: "v1", Files: text("one")}, moduletest.Commit{Files: map[string]string{"main.tf": "# two", "large.bin": strings.Repeat("x", 2<<20)}})
	moduletest.Git(t, filepath.Join(dir, "r.git"), nil, "update-server-info")
	files := http.FileServer(http.Dir(dir))
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		r.URL.RawQuery = ""
		files.ServeHTTP(w, r)
	})
	for _, tt := range []struct{ ref, want string }{
		{"", "two"}, {"?ref=v1", "one"}, {"?ref=" + ids[0], "one"}, {"?ref=" + ids[0][:9], "one"}, {"?ref=main~1", "one"},
	} {
		c := newClient(t, Options{}, s)
		if got := mainOf(t, fetch(t, c, "git::"+s.URL+"/r.git"+tt.ref)); got != "# "+tt.want {
			t.Errorf("main.tf of %q = %q, want %q", tt.ref, got, tt.want)
		}
	}
	failing(t, newClient(t, Options{}, s), "git::"+s.URL+"/r.git?ref="+strings.Repeat("0", 40), problem.CodeModuleForeign)
}
