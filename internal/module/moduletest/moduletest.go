// Package moduletest makes git repositories of modules for tests, and serves them like a
// git host. It runs the git program, and skips a test if there is none.
package moduletest

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// Commit is one commit of a repository, with all its files.
type Commit struct {
	Branch      string            // "main" if empty
	Tag         string            // lightweight; none if empty
	Annotated   string            // another tag, with a message
	Files       map[string]string // by path
	Executables map[string]string // files with the x bit, by path
	Links       map[string]string // targets by path
	Modules     map[string]string // commits of submodules by path
}

// Environ is an environment for git without any configuration of the machine.
func Environ(t testing.TB) []string {
	t.Helper()
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir(),
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
	}
}

// Git runs git in a directory and returns what it prints.
func Git(t testing.TB, dir string, stdin io.Reader, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on the PATH")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin, cmd.Env = dir, stdin, Environ(t)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// empty is a bare repository as git init makes it. It saves a process.
var empty = fstest.MapFS{
	"HEAD":    {Data: []byte("ref: refs/heads/main\n"), Mode: 0o644},
	"config":  {Data: []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n"), Mode: 0o644},
	"objects": {Mode: fs.ModeDir | 0o755},
	"refs":    {Mode: fs.ModeDir | 0o755},
}

// Repository makes a bare repository of the commits, one after the other, and
// returns their IDs. Each commit follows the one before it on its branch.
func Repository(t testing.TB, path string, commits ...Commit) []string {
	t.Helper()
	if err := os.CopyFS(path, empty); err != nil {
		t.Fatal(err)
	}
	marks := filepath.Join(path, "marks")
	Git(t, path, strings.NewReader(stream(commits)), "fast-import", "--quiet", "--export-marks="+marks)
	text, err := os.ReadFile(marks)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(commits))
	for line := range strings.Lines(string(text)) {
		var mark int
		var id string
		if _, err := fmt.Sscanf(line, ":%d %s", &mark, &id); err != nil {
			t.Fatal(err)
		}
		ids[mark-1] = id
	}
	return ids
}

// stream is what git fast-import reads.
func stream(commits []Commit) string {
	const who = "relock <relock@example.com> 1700000000 +0000\n"
	var b strings.Builder
	data := func(text string) { fmt.Fprintf(&b, "data %d\n%s\n", len(text), text) }
	for i, c := range commits {
		if c.Branch == "" {
			c.Branch = "main"
		}
		fmt.Fprintf(&b, "commit refs/heads/%s\nmark :%d\ncommitter %s", c.Branch, i+1, who)
		data("commit")
		b.WriteString("deleteall\n")
		for _, entries := range []struct {
			mode  string
			texts map[string]string
		}{{"100644", c.Files}, {"100755", c.Executables}, {"120000", c.Links}} {
			for _, name := range slices.Sorted(maps.Keys(entries.texts)) {
				fmt.Fprintf(&b, "M %s inline %s\n", entries.mode, name)
				data(entries.texts[name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.Modules)) {
			fmt.Fprintf(&b, "M 160000 %s %s\n", c.Modules[name], name)
		}
		if c.Tag != "" {
			fmt.Fprintf(&b, "reset refs/tags/%s\nfrom :%d\n\n", c.Tag, i+1)
		}
		if c.Annotated != "" {
			fmt.Fprintf(&b, "tag %s\nfrom :%d\ntagger %s", c.Annotated, i+1, who)
			data("tag")
		}
	}
	return b.String()
}

// ModuleTags are the tags of modrepo.git, in the order of its commits.
var ModuleTags = []string{
	"v1.0.0", "v1.1.0", "v1.2.0-beta1", "v2.0.0-rc1", "v2.0.0", "v2.1.0-alpha",
	"v1.0.0-beta1", "v1.0.0-beta2", "v1.0.0-build1", "v1.0.0-build2",
}

// Repositories makes the two repositories that the recorded cases call @FIXTURES@, and
// returns their directory.
//
// In tag number N of modrepo.git, main.tf requires hashicorp/random with the version "!=
// 0.0.N", and modules/sub/main.tf requires hashicorp/null with the same one. So a
// constraint shows which tag was used. In modrepo2.git, modules/x calls ../../common, and
// modules/esc calls ../../../other, which is not in the package.
func Repositories(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	var commits []Commit
	for i, tag := range ModuleTags {
		commits = append(commits, Commit{Tag: tag, Files: map[string]string{
			"main.tf":             requires("random", i+1),
			"modules/sub/main.tf": requires("null", i+1),
		}})
	}
	Repository(t, filepath.Join(dir, "modrepo.git"), commits...)
	Repository(t, filepath.Join(dir, "modrepo2.git"), Commit{Files: map[string]string{
		"modules/x/main.tf":   "module \"c\" {\n  source = \"../../common\"\n}\n",
		"modules/esc/main.tf": "module \"c\" {\n  source = \"../../../other\"\n}\n",
		"common/main.tf":      "resource \"null_resource\" \"x\" {}\n",
	}})
	return dir
}

func requires(name string, n int) string {
	return fmt.Sprintf("terraform {\n  required_providers {\n    %[1]s = {\n      source  = \"hashicorp/%[1]s\"\n      version = \"!= 0.0.%[2]d\"\n    }\n  }\n}\n", name, n)
}

// Handler serves the repositories in a directory by git's smart protocol. The
// settings are git's, KEY=VALUE, for the server's side.
func Handler(t testing.TB, dir string, settings ...string) http.Handler {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not on the PATH")
	}
	env := append(Environ(t), "GIT_PROJECT_ROOT="+dir, "GIT_HTTP_EXPORT_ALL=1", fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)))
	for i, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	return &cgi.Handler{Path: git, Args: []string{"http-backend"}, Env: env, Stderr: io.Discard}
}

// Serve serves Handler on loopback.
func Serve(t testing.TB, dir string, settings ...string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(Handler(t, dir, settings...))
	t.Cleanup(s.Close)
	return s
}
