package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/sandbox"
)

// judged are the releases with which the cases were recorded.
var judged = []struct{ tool, version string }{{"terraform", "1.11.4"}, {"tofu", "1.12.6"}}

// allWorlds are the worlds that the options choose.
func allWorlds(top string, o options) ([]world, error) {
	requirements, err := requirementWorlds(filepath.Join(top, "internal", "scan", "testdata", "cases.json"))
	if err != nil {
		return nil, err
	}
	var worlds []world
	for _, w := range requirements {
		if o.only.MatchString(w.name) {
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
	first := step{write: map[string]string{}}
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
