package command

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// place makes a directory with two repositories, elsewhere and work, in which
// the program is started, and returns the path of the first.
func place(t *testing.T) (Env, string) {
	t.Helper()
	top := t.TempDir()
	for _, dir := range []string{"work/.git", "work/prod", "elsewhere/.git", "elsewhere/live", "plain/sub"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(name string) string {
		return map[string]string{"RELOCK_TOKEN_A": "s3cret"}[name]
	}
	return Env{WorkDir: filepath.Join(top, "work"), Getenv: getenv, Environ: []string{"A=b"}}, top
}

const operatorFile = "version: 1\nregistries: {my-registry.example.com: {token-env: RELOCK_TOKEN_A}}\n"

func TestCredentialsAreNotReadFromScannedRepositories(t *testing.T) {
	t.Parallel()
	const refused = "registries must not be in a repository's own configuration file"
	tests := []struct {
		name, file, config string
		dirs, repositories []string
		want               string
	}{
		{"outside of the repository", "op.yml", "../op.yml", nil, nil, ""},
		{"in the repository at hand", "work/op.yml", "op.yml", nil, nil, refused},
		{"below the directory", "work/prod/op.yml", "prod/op.yml", []string{"prod"}, nil, refused},
		{"above the directory, in its repository", "work/op.yml", "op.yml", []string{"prod/..."}, nil, refused},
		{"in another repository", "elsewhere/op.yml", "../elsewhere/op.yml", nil, nil, ""},
		{"in another repository that is read", "elsewhere/op.yml", "../elsewhere/op.yml", []string{"prod", "../elsewhere/live"}, nil, refused},
		{"at hand while another repository is read", "work/op.yml", "op.yml", []string{"../elsewhere"}, nil, ""},
		{"in a directory without repository", "plain/op.yml", "../plain/op.yml", []string{"../plain"}, nil, refused},
		{"beside a directory without repository", "op.yml", "../op.yml", []string{"../plain"}, nil, ""},
		{"directory that is not there", "op.yml", "../op.yml", []string{"../missing"}, nil, refused},
		{"at hand while GitHub's repositories are read", "work/op.yml", "op.yml", nil, []string{"octo/infra"}, ""},
		{"the repository's own", "work/.github/relock.yml", "", nil, nil, refused},
		{"the own of the repository at hand while others are read", "work/.github/relock.yml", "", nil, []string{"octo/infra"}, refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env, top := place(t)
			put(t, filepath.Join(top, tt.file), operatorFile)
			flags := map[string][]string{"repo": tt.repositories}
			if tt.config != "" {
				flags["config"] = []string{tt.config}
			}
			verb := verbs.Diff
			if tt.repositories != nil && tt.config != "" {
				verb = verbs.PR // diff is about no repositories of GitHub
			}
			_, _, err := settingsOfRun(t.Context(), env, verb, settings.Flags(flags), settings.Arguments(tt.dirs))
			if got := problemText(err); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("settings with %s: %q, want %q", tt.config, got, tt.want)
			}
		})
	}
}

func TestCredentialsAreNotReadThroughLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ link, target, want string }{
		{"work/link.yml", "op.yml", "leads out of the repository"},
		{"link.yml", "work/op.yml", "registries must not be"},
	} {
		link, target := tt.link, tt.target
		env, top := place(t)
		put(t, filepath.Join(top, target), operatorFile)
		if err := os.Symlink(filepath.Join(top, target), filepath.Join(top, link)); err != nil {
			if runtime.GOOS == "windows" {
				t.Skip("links take a privilege on Windows:", err)
			}
			t.Fatal(err)
		}
		_, _, err := settingsOfRun(t.Context(), env, verbs.Diff, settings.Flags(map[string][]string{"config": {filepath.Join(top, link)}}))
		if !strings.Contains(problemText(err), tt.want) {
			t.Errorf("settings with %s, a link to %s: %v, want %q", link, target, err, tt.want)
		}
	}
}

func TestRegistriesGetTheirTokens(t *testing.T) {
	t.Parallel()
	env, top := place(t)
	name := filepath.Join(top, "op.yml")
	put(t, name, operatorFile)
	_, s, err := settingsOfRun(t.Context(), env, verbs.Diff, settings.Flags(map[string][]string{"config": {name}}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"A=b", "TF_TOKEN_my-registry.example.com=s3cret"}
	if diff := cmp.Diff(want, env.ofRun(s).Environ); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestRegistriesNeedTheirTokens(t *testing.T) {
	t.Parallel()
	env, top := place(t)
	name := filepath.Join(top, "op.yml")
	put(t, name, strings.ReplaceAll(operatorFile, "RELOCK_TOKEN_A", "RELOCK_TOKEN_B"))
	_, _, err := settingsOfRun(t.Context(), env, verbs.Diff, settings.Flags(map[string][]string{"config": {name}}))
	want := name + ":2: the environment variable RELOCK_TOKEN_B, which holds the token for my-registry.example.com, is not set"
	if got := problemText(err); got != want {
		t.Errorf("settings: %q, want %q", got, want)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// problem is the text of an error, or nothing.
func problemText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestFormatsOfEveryVerb holds that help lists the formats that a verb has, and that any
// other one is refused with that list before anything is read.
func TestFormatsOfEveryVerb(t *testing.T) {
	t.Parallel()
	few, most := "text or json", "text, json, markdown or html"
	all := map[string]string{
		"scan": few, "why": few, "config show": few,
		"upgrade": most, "lock": most, "diff": most, "pr": most, "comment": most,
		"check": "text, json, markdown, html or sarif", "verify": "text, json, markdown, html or sarif",
	}
	said := map[string]string{}
	for _, cmd := range everyCommand(t, Env{}) {
		if cmd.Flags().Lookup("format") == nil {
			continue
		}
		name := commandWords(cmd)
		words := strings.Split(strings.ReplaceAll(all[name], " or ", ", "), ", ")
		if want := "\n  --format " + strings.Join(words, "|") + "\n"; !strings.Contains(help(cmd), want) {
			t.Errorf("help of %s has no %q", name, want)
		}
		for _, word := range []string{"html", "sarif"} {
			if about := strings.Contains(help(cmd), word+" is "); about != slices.Contains(words, word) {
				t.Errorf("help of %s says what %s is: %t", name, word, about)
			}
		}
		for _, format := range []string{"text", "json", "markdown", "html", "sarif", "xml"} {
			if slices.Contains(words, format) {
				continue
			}
			env, _ := place(t)
			var stdout, stderr bytes.Buffer
			env.Args, env.Stdout, env.Stderr = append(strings.Fields(name), "x", "y", "--format", format), &stdout, &stderr
			if cmd.Args != nil { // it takes none
				env.Args = append(strings.Fields(name), "--format", format)
			}
			status := Main(t.Context(), env)
			_, said[name], _ = strings.Cut(strings.TrimSpace(stderr.String()), " format; it must be ")
			if want := "relock: " + name + " has no " + format; status != ExitUsage || !strings.HasPrefix(stderr.String(), want+" ") || stdout.Len() > 0 {
				t.Errorf("%s --format %s: status %d, %q, want %q", name, format, status, &stderr, want)
			}
		}
	}
	if diff := cmp.Diff(all, said); diff != "" {
		t.Errorf("what the commands with --format say that it must be (-want +got):\n%s", diff)
	}
}
