package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/sandbox"
)

// judged are the releases with which the cases were recorded.
var judged = []struct{ tool, version string }{{"terraform", "1.11.4"}, {"tofu", "1.12.6"}}

func allWorlds(top string, o options) ([]world, error) {
	requirements, err := requirementWorlds(filepath.Join(top, "internal", "scan", "testdata", "cases.json"))
	if err != nil {
		return nil, err
	}
	locks, err := lockWorlds(filepath.Join(top, "testdata", "lock"))
	if err != nil {
		return nil, err
	}
	files, err := lockFileWorlds(corpus(top, o.corpus))
	if err != nil {
		return nil, err
	}
	scripts, err := scriptWorlds(top)
	if err != nil {
		return nil, err
	}
	var worlds []world
	for _, w := range slices.Concat(generatedWorlds(o.seeds), requirements, locks, files, scripts) {
		w.ignoreOutput = o.ignoreOutput
		if o.only.MatchString(w.name) && !(w.ignoreOutput && w.script != "") {
			worlds = append(worlds, w)
		}
	}
	if len(worlds) == 0 {
		return nil, errors.New("no world has such a name")
	}
	return worlds, nil
}

// offered are the versions that every provider of the requirement cases has.
const offered = "0.1.0, 0.9.9, 1.0.0-alpha.1, 1.0.0-beta, 1.0.0, 1.0.1, 1.0.2, 1.1.0, 1.2.0, 1.2.3-beta.1, 1.2.3, 1.2.4, " +
	"1.9.0, 1.10.0, 2.0.0-rc1, 2.0.0, 2.1.0, 2.1.1, 3.0.0-alpha20200101"

// requirementRegistry offers what the requirement cases name. One world serves
// them all: it does not change.
var requirementRegistry = sync.OnceValues(func() (*sandbox.World, error) {
	ar := new(txtar.Archive)
	add := func(name, text string) { ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(text)}) }
	for _, name := range []string{
		"hashicorp/aws", "hashicorp/null", "hashicorp/random", "hashicorp/time", "hashicorp/foo", "hashicorp/http",
		"acme/aws", "acme/null", "acme/random", "mycorp/cloud", "mycorp/http", "1password/onepassword",
	} {
		add("registry/registry.terraform.io/"+name, "also: [registry.opentofu.org]\nplatforms: [linux_amd64]\nversions: ["+offered+"]\n")
	}
	for _, name := range []string{"example.com/acme/widget", "example.com:8443/acme/widget", "müller.example/acme/widget"} {
		add("registry/"+name, "platforms: [linux_amd64]\nversions: ["+offered+"]\n")
	}
	required := func(name string, number int) string {
		return fmt.Sprintf("terraform {\n  required_providers {\n    %[1]s = {\n      source  = \"hashicorp/%[1]s\"\n      version = \"!= 0.0.%[2]d\"\n    }\n  }\n}\n", name, number)
	}
	for i, m := range []string{
		"net/aws/1.0.0", "net/aws/1.1.0", "net/aws/1.2.0-beta1", "net/aws/2.0.0-rc1", "net/aws/2.0.0", "net/aws/2.1.0-alpha",
		"pre/aws/1.0.0-beta1", "pre/aws/1.0.0-beta2", "plus/aws/1.0.0",
	} {
		add("modules/mods.example/acme/"+m+"/main.tf", required("random", i+1))
		add("modules/mods.example/acme/"+m+"/modules/sub/main.tf", required("null", i+1))
	}
	return sandbox.ParseWorld(ar)
})

// fixtures makes the git repositories that requirement cases call modules from,
// in the home directory.
const fixtures = `set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_AUTHOR_DATE='2024-01-01T00:00:00Z'
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'
require() { printf 'terraform {\n  required_providers {\n    %s = "!= 0.0.%s"\n  }\n}\n' "$1" "$2"; }
cd "$HOME"
git init -q -b main modrepo.git && cd modrepo.git && mkdir -p modules/sub
for n in 1 2; do
  require random $n >main.tf; require null $n >modules/sub/main.tf
  git add . && git commit -q -m v$n && git tag v1.$((n-1)).0
done
cd "$HOME"
git init -q -b main modrepo2.git && cd modrepo2.git && mkdir -p modules/x modules/esc common
printf 'module "c" {\n  source = "../../common"\n}\n' >modules/x/main.tf
printf 'module "c" {\n  source = "../../../other"\n}\n' >modules/esc/main.tf
printf 'resource "null_resource" "x" {}\n' >common/main.tf
git add . && git commit -q -m first
`

// requirementWorlds put recorded configurations into one repository each dozen.
// They are scanned, and locked from nothing.
func requirementWorlds(file string) ([]world, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var cases []requirementCase
	if err := json.Unmarshal(text, &cases); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var worlds []world
	for some := range slices.Chunk(cases, 12) {
		for _, j := range judged {
			worlds = append(worlds, requirementWorld(some, j.tool, j.version))
		}
	}
	return worlds, nil
}

// requirementCase is what the judge wants of a case in cases.json.
type requirementCase struct {
	ID       string
	Files    map[string]string
	Symlinks map[string]string
	Root     string
}

func requirementWorld(cases []requirementCase, tool, version string) world {
	first := step{write: map[string]string{}, shell: fixtures}
	w := world{
		name:  "requirements/" + cases[0].ID + "-" + cases[len(cases)-1].ID + "/" + tool,
		offer: requirementRegistry, links: map[string]string{},
	}
	flags := []string{"--tool", tool, "--tool-version", version, "--format", "json"}
	for _, c := range cases {
		for name, text := range c.Files {
			first.write[path.Join(c.ID, name)] = strings.ReplaceAll(text, "@FIXTURES@", "@HOME@")
		}
		for name, target := range c.Symlinks {
			w.links[path.Join(c.ID, name)] = target
		}
		flags = append(flags, path.Join(c.ID, c.Root))
	}
	first.args = append([]string{"scan", "--create", "--why", "*/*/*"}, flags...)
	w.steps = []step{first, {args: slices.Concat([]string{"upgrade", "--create", "--platform", "linux_amd64"}, steady, flags)}}
	return w
}

// recordedCase is what the judge wants of a case.json in testdata/lock.
type recordedCase struct {
	Steps     []string
	CLI       string
	Env       map[string]string
	FSMirror  [][6]string `json:"fs_mirror"`
	KeepHosts bool        `json:"keep_hosts"`
}

// lockWorlds are the recorded lock files, each played as upgrade and lock would
// go about it, with --exact and without.
func lockWorlds(dir string) ([]world, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "case.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("there are no recorded cases in %s", dir)
	}
	var worlds []world
	for _, file := range files {
		var c recordedCase
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		files, err := sandbox.RecordedCase(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		offer := sync.OnceValues(func() (*sandbox.World, error) { return sandbox.ParseRecorded(files) })
		for _, j := range judged {
			w, err := c.world(filepath.Base(filepath.Dir(file)), files, j.tool, j.version)
			if err != nil {
				return nil, err
			}
			w.offer = offer
			worlds = append(worlds, w)
		}
	}
	return worlds, nil
}

var (
	platformFlag = regexp.MustCompile(`-platform=(\S+)`)
	recordedPort = "127.0.0.1:8702" // that the network mirror had
)

func (c recordedCase) world(name string, files fs.FS, tool, version string) (world, error) {
	w := world{
		name: "lock/" + name + "/" + tool, env: map[string]string{}, home: map[string]string{},
		cli: recordedWords.Replace(c.CLI),
	}
	for name, value := range c.Env {
		w.env[name] = recordedWords.Replace(value)
	}
	tofu := func(text string) string {
		if tool == "terraform" || c.KeepHosts {
			return text
		}
		return strings.ReplaceAll(text, "registry.terraform.io", "registry.opentofu.org")
	}
	first, err := c.files(files, tofu)
	if err != nil {
		return w, err
	}
	for _, p := range c.FSMirror {
		text, err := fs.ReadFile(files, path.Join("packages", strings.Join(p[:5], "_")+".zip"))
		if err != nil {
			return w, err
		}
		base := path.Join("mirror", tofu(p[0]), p[1], p[2])
		if p[5] == "packed" {
			w.home[path.Join(base, "terraform-provider-"+p[2]+"_"+p[3]+"_"+p[4]+".zip")] = string(text)
			continue
		}
		if err := unpack(w.home, path.Join(base, p[3], p[4]), text); err != nil {
			return w, err
		}
	}
	var platforms []string
	for _, s := range c.Steps {
		if shell, ok := strings.CutPrefix(s, "!"); ok {
			first.shell += shell + "\n"
		}
		for _, m := range platformFlag.FindAllStringSubmatch(s, -1) {
			platforms = append(platforms, "--platform", m[1])
		}
	}
	flags := slices.Concat([]string{"--platform", "linux_amd64"}, platforms, steady)
	flags = append(flags, "--tool", tool, "--tool-version", version, "--format", "json", ".")
	w.steps = []step{first}
	for _, verb := range [][]string{{"check"}, {"upgrade", "--exact"}, {"lock"}} {
		// Each begins with the same files, except for the lock file that is not
		// there at first: what the one before has written stays.
		w.steps = append(w.steps, step{write: first.write, args: append(slices.Clone(verb), flags...), dir: "root"})
	}
	return w, nil
}

// unpack puts the files of a zip archive below a directory.
func unpack(files map[string]string, dir string, archive []byte) error {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return err
	}
	for _, f := range z.File {
		if f.FileInfo().IsDir() {
			continue
		}
		text, err := fs.ReadFile(z, f.Name)
		if err != nil {
			return err
		}
		files[path.Join(dir, f.Name)] = string(text)
	}
	return nil
}

// recordedWords are those of recorded cases in our own.
var recordedWords = strings.NewReplacer("@WORK@", "@HOME@", recordedPort, "@HOST@")

// files returns a step that writes the configuration and the old lock file.
func (c recordedCase) files(given fs.FS, tofu func(string) string) (step, error) {
	first := step{write: map[string]string{}}
	config, err := fs.Sub(given, "config")
	if err != nil {
		return first, err
	}
	err = fs.WalkDir(config, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(config, name)
		first.write["root/"+name] = tofu(string(text))
		return err
	})
	if err != nil {
		return first, err
	}
	old, err := fs.ReadFile(given, "old.lock.hcl")
	if errors.Is(err, fs.ErrNotExist) {
		return first, nil
	}
	first.write["root/"+lockfile.Name] = tofu(string(old))
	return first, err
}
