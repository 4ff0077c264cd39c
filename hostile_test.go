package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/sandbox"
)

// hostileWorld is a repository whose base refuses null 3.2.5.
const hostileWorld = `
-- registry/registry.terraform.io/hashicorp/null --
platforms: [linux_amd64, darwin_arm64]
versions: [3.2.4, 3.2.5]
-- github/acme/infra/main/.github/relock.yml --
version: 1
platforms: [linux_amd64]
rules:
  - {providers: [hashicorp/null], allow-versions: "< 3.2.5"}
-- github/acme/infra/main/README.md --
words
`

// hostileActs are what a change does to hide an entry of the lock file of a directory: it
// adds, changes or removes any other file. An empty content removes a file.
var hostileActs = map[string]func(dir string) map[string]string{
	"nothing":          func(string) map[string]string { return nil },
	"no configuration": func(dir string) map[string]string { return map[string]string{dir + "/main.tf": ""} },
	"no requirement":   func(dir string) map[string]string { return map[string]string{dir + "/main.tf": "locals {}\n"} },
	"another name": func(dir string) map[string]string {
		return map[string]string{dir + "/main.tf": "", dir + "/sub/main.tf": hostileMain("3.2.4")}
	},
	"no syntax": func(dir string) map[string]string { return map[string]string{dir + "/main.tf": "resource {{{\n"} },
	"a unit that copies no lock file": func(dir string) map[string]string {
		return map[string]string{dir + "/terragrunt.hcl": "terraform {\n  copy_terraform_lock_file = false\n}\n"}
	},
	"a unit that is excluded": func(dir string) map[string]string {
		return map[string]string{dir + "/terragrunt.hcl": "exclude {\n  if      = true\n  actions = [\"all\"]\n}\n"}
	},
	"a unit in JSON": func(dir string) map[string]string {
		return map[string]string{dir + "/terragrunt.hcl.json": `{"terraform": {"copy_terraform_lock_file": false}}`}
	},
	"a unit with what a stack adds": func(dir string) map[string]string {
		return map[string]string{
			dir + "/terragrunt.hcl": "", dir + "/terragrunt.values.hcl": "copy = false\n",
			dir + "/terragrunt.autoinclude.hcl": "terraform {\n  copy_terraform_lock_file = values.copy\n}\n",
		}
	},
	"a unit that generates": func(dir string) map[string]string {
		return map[string]string{dir + "/terragrunt.hcl": "generate \"main\" {\n  path      = \"main.tf\"\n  if_exists = \"overwrite\"\n  contents  = \"locals {}\"\n}\n"}
	},
	"a stack over it": func(dir string) map[string]string {
		return map[string]string{
			"terragrunt.stack.hcl": fmt.Sprintf("unit \"x\" {\n  source = \"./units/x\"\n  path   = %q\n  no_dot_terragrunt_stack = true\n}\n", dir),
			"units/x/main.tf":      "locals {}\n", "units/x/terragrunt.hcl": "", "units/x/" + lockfile.Name: "# nothing\n",
		}
	},
	"a stack above it": func(dir string) map[string]string {
		top, rest, _ := strings.Cut(dir+"/x", "/")
		return map[string]string{
			"terragrunt.stack.hcl":                  fmt.Sprintf("unit \"x\" {\n  source = \"./units/x\"\n  path   = %q\n  no_dot_terragrunt_stack = true\n}\n", top),
			"units/x/main.tf":                       "locals {}\n",
			"units/x/" + rest + "/" + lockfile.Name: "# nothing\n",
		}
	},
	"files of OpenTofu": func(dir string) map[string]string {
		return map[string]string{dir + "/main.tofu": "locals {}\n", dir + "/.terraform-version": "1.11.4\n"}
	},
	"a component": func(dir string) map[string]string {
		return map[string]string{dir + "/x.tfcomponent.hcl": "locals {}\n"}
	},
	"a program":       func(dir string) map[string]string { return map[string]string{dir + "/cdktf.json": "{}\n"} },
	"an override":     func(dir string) map[string]string { return map[string]string{dir + "/override.tf": "terraform {}\n"} },
	"plugins":         func(dir string) map[string]string { return map[string]string{dir + "/terraform.d/plugins/x": "x"} },
	"a version":       func(dir string) map[string]string { return map[string]string{dir + "/.opentofu-version": "1.6.0\n"} },
	"a wrong version": func(string) map[string]string { return map[string]string{".tool-versions": "terraform 99.0.0\n"} },
	"settings that exclude": func(dir string) map[string]string {
		return map[string]string{".github/relock.yml": "version: 1\nexclude: ['**']\njudge: off\n"}
	},
	"settings that include": func(string) map[string]string {
		return map[string]string{".github/relock.yml": "version: 1\ninclude: [nowhere]\n"}
	},
	"settings that accept": func(string) map[string]string {
		return map[string]string{".github/relock.yml": "version: 1\nverify:\n  accept-re-released: [hashicorp/null@3.2.4]\n"}
	},
	"settings without rules": func(string) map[string]string { return map[string]string{".github/relock.yml": "version: 1\n"} },
	"no settings":            func(string) map[string]string { return map[string]string{".github/relock.yml": ""} },
	"an ignore file":         func(string) map[string]string { return map[string]string{".gitignore": "*\n"} },
	"attributes": func(string) map[string]string {
		return map[string]string{".gitattributes": "* export-ignore\n*.hcl filter=lfs\n"}
	},
	"a caller": func(dir string) map[string]string {
		return map[string]string{"caller/main.tf": fmt.Sprintf("module \"x\" {\n  source = \"../%s\"\n}\n", dir)}
	},
	"another link": func(string) map[string]string { return map[string]string{"elsewhere@": "README.md"} },
}

// hostileDirs are where the entries are; the base has lock files in some of these.
var hostileDirs = []string{"live", "envs/prod", "new", ".hidden/new", "modules/.terraform/modules/x", "examples/a", "node_modules/b"}

// TestNothingHidesAFinding holds that what a change does to any other file takes no finding
// away: of a hash that belongs to nothing, of a version that the base refuses, and of a module
// that is not what its tag names. It plays each act against each way in which a change is
// judged: with one world, by one verb for the version and by the other one for the others.
func TestNothingHidesAFinding(t *testing.T) {
	t.Parallel()
	seed := *hiddenSeed
	w := newHostileWorld(t)
	for i, act := range slices.Sorted(maps.Keys(hostileActs)) {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		for n, bad := range []struct{ name, file, lock, want string }{
			{"forged", lockfile.Name, w.forged, "h1:pGSUz"}, {"refused", lockfile.Name, w.refused, "3.2.5 is not allowed"},
			{"moved", modulelock.Name, w.moved, "git:" + strings.Repeat("1", 40) + " is locked, and it is git:"},
		} {
			dir := hostileDirs[random.IntN(len(hostileDirs))]
			files := hostileActs[act](dir)
			verbs := []string{"check", "verify"}
			if *hiddenWorlds == 1 {
				verbs = verbs[(i+n)%2:][:1]
			}
			t.Run(fmt.Sprintf("%s/%s/%s", act, bad.name, strings.ReplaceAll(dir, "/", "_")), func(t *testing.T) {
				t.Parallel()
				w.play(t, fmt.Sprintf("topic-%d-%s", i, bad.name), dir, bad.file, bad.lock, bad.want, files, verbs)
			})
		}
	}
}

type hostileRepository struct {
	box                    *sandbox.Sandbox
	hub                    *sandbox.GitHub
	dir                    string
	right, forged, refused string
	moved                  string // a lock file of modules
	base                   string // the commit
}

func newHostileWorld(t *testing.T) *hostileRepository {
	t.Helper()
	w := &hostileRepository{box: startWorld(t, hostileWorld), dir: t.TempDir()}
	w.hub = w.box.GitHub()
	modules := t.TempDir()
	moduletest.Repository(t, filepath.Join(modules, "net.git"), moduletest.Commit{Tag: "v1", Files: map[string]string{"main.tf": "locals {}\n"}})
	git := moduletest.Serve(t, modules)
	write(t, filepath.Join(w.dir, "terraformrc"), w.box.CLIConfig()+fmt.Sprintf("host %q {}\n", git.Listener.Addr()), 0o600)
	w.moved = fmt.Sprintf("module \"git::%s/net.git\" \"v1\" {\n  hash = \"git:%s\"\n}\n", git.URL, strings.Repeat("1", 40))
	lock := func(version string) string {
		dir := filepath.Join(w.dir, version)
		check(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o700))
		write(t, filepath.Join(dir, ".git", "HEAD"), "", 0o600)
		write(t, filepath.Join(dir, "main.tf"), hostileMain(version), 0o600)
		status, said := w.run(t, dir, nil, "upgrade", "--create", "--platform", "linux_amd64", ".")
		if status != 0 {
			t.Fatal(said)
		}
		return content(t, filepath.Join(dir, lockfile.Name))
	}
	w.right, w.refused = lock("3.2.4"), lock("3.2.5")
	w.forged = strings.Replace(w.right, "    \"h1:", "    \"h1:pGSUzXbDrESuGoGpYtDaHj9lc1ul6WPFkOwJ0fBp/9c=\",\n    \"h1:", 1)
	files := map[string]sandbox.File{}
	for _, dir := range []string{"live", "envs/prod", "examples/a"} {
		files[dir+"/main.tf"] = sandbox.File{Content: []byte(hostileMain("3.2.4"))}
		files[dir+"/"+lockfile.Name] = sandbox.File{Content: []byte(w.right)}
	}
	var err error
	w.base, err = w.hub.Push("acme/infra", sandbox.Push{Branch: "main", Files: files})
	check(t, err)
	return w
}

func hostileMain(version string) string {
	return fmt.Sprintf("terraform {\n  required_providers {\n    null = {\n      source  = \"hashicorp/null\"\n      version = \"%s\"\n    }\n  }\n}\n", version)
}

// play makes a pull request with a bad lock file and other changed files, and judges it in
// every way.
func (w *hostileRepository) play(t *testing.T, branch, dir, file, lock, want string, files map[string]string, verbs []string) {
	t.Helper()
	push := sandbox.Push{Branch: branch, Files: map[string]sandbox.File{dir + "/" + file: {Content: []byte(lock)}}}
	if !slices.Contains([]string{"live", "envs/prod", "examples/a"}, dir) {
		push.Files[dir+"/main.tf"] = sandbox.File{Content: []byte(hostileMain("3.2.4"))}
	}
	base, err := w.hub.Files("acme/infra", "main")
	check(t, err)
	for name, text := range files {
		link, isLink := strings.CutSuffix(name, "@")
		_, there := base[name]
		switch {
		case isLink:
			push.Files[link] = sandbox.File{Mode: sandbox.ModeLink, Content: []byte(text)}
		case text != "":
			push.Files[name] = sandbox.File{Content: []byte(text)}
		case there:
			push.Remove = append(push.Remove, name)
		default:
			delete(push.Files, name)
		}
	}
	head, err := w.hub.Push("acme/infra", push)
	check(t, err)
	number, err := w.hub.Open("acme/infra", branch, "main", "Something", "monalisa")
	check(t, err)
	checkout := filepath.Join(t.TempDir(), "checkout")
	_, err = w.hub.Clone("acme/infra", branch, checkout)
	check(t, err)
	pull := fmt.Sprintf(`{"pull_request": {"head": {"sha": %q, "repo": {"full_name": "acme/infra"}}, "base": {"sha": %q, "repo": {"full_name": "acme/infra"}}}}`, head, w.base)
	pushed := fmt.Sprintf(`{"before": %q, "after": %q, "repository": {"default_branch": "main"}, "ref": "refs/heads/main"}`, w.base, head)
	for _, verb := range verbs {
		for event, payload := range map[string]string{"pull_request": pull, "push": pushed} {
			name := filepath.Join(t.TempDir(), "event.json")
			write(t, name, payload, 0o600)
			status, said := w.run(t, checkout, map[string]string{
				"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": name, "GITHUB_WORKSPACE": checkout, "GITHUB_SHA": head,
				"INPUT_COMMAND": verb, "INPUT_TOKEN": sandbox.ActionsToken, "GITHUB_OUTPUT": filepath.Join(t.TempDir(), "outputs"),
				"GITHUB_STEP_SUMMARY": filepath.Join(t.TempDir(), "summary.md"),
			}, "action")
			red(t, verb+" of a "+event, status, said, want)
		}
		id, err := w.hub.Comment("acme/infra", number, "monalisa", "/relock "+verb)
		check(t, err)
		payload, err := w.hub.CommentEvent("acme/infra", id, "created", "monalisa")
		check(t, err)
		name := filepath.Join(t.TempDir(), "event.json")
		write(t, name, string(payload), 0o600)
		_, said := w.run(t, checkout, map[string]string{
			"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "issue_comment", "GITHUB_EVENT_PATH": name, "GITHUB_WORKSPACE": checkout, "GITHUB_TOKEN": sandbox.ActionsToken,
		}, "comment")
		red(t, "/relock "+verb, 4, said, want)
	}
	status, said := w.run(t, checkout, nil, "check", "--touched", w.base)
	red(t, "check --touched", status, said, want)
}

// red fails a test if a judgement lacks what it must find.
func red(t *testing.T, what string, status int, said, want string) {
	t.Helper()
	if (status != 4 && status != 1) || !strings.Contains(said, want) {
		t.Errorf("%s ends with %d, and must say %q:\n%s", what, status, want, said)
	}
}

// run starts relock in a directory.
func (w *hostileRepository) run(t *testing.T, dir string, environ map[string]string, args ...string) (status int, said string) {
	t.Helper()
	values := map[string]string{
		"GITHUB_REPOSITORY": "acme/infra", "GITHUB_API_URL": strings.TrimSuffix(w.box.GitHubAPI(), "/"), "GITHUB_GRAPHQL_URL": w.box.GraphQL(),
		"TF_CLI_CONFIG_FILE": filepath.Join(w.dir, "terraformrc"),
	}
	maps.Copy(values, environ)
	var list []string
	for name, value := range values {
		list = append(list, name+"="+value)
	}
	var out bytes.Buffer
	status = command.Main(t.Context(), command.Env{
		Args: args, Stdout: &out, Stderr: &out, WorkDir: dir, Home: w.dir, CacheDir: filepath.Join(t.TempDir(), "cache"),
		GOOS: runtime.GOOS, Getenv: func(name string) string { return values[name] }, Environ: list, Now: time.Now(),
	})
	return status, out.String()
}
