// Package random makes small worlds from a seed: a registry, the configuration of
// a root module that calls another module, and the history of its lock file. The
// same seed makes the same world on every machine. The constraints of a world may
// be impossible to meet: the failures of programs are compared, too.
package random

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// World is a registry, a configuration and the history of its lock file.
type World struct {
	// Archive describes the registry, as sandbox.ParseWorld reads it.
	Archive txtar.Archive
	// Root is the main.tf of the root module, which calls ../child. Child is the
	// main.tf of that module.
	Root, Child string
	// Earlier is the root module's main.tf at the time of the old lock file;
	// empty without one.
	Earlier string
	// Platform was locked at that time, beside linux_amd64.
	Platform string
	// Tests are a test of the root module and the module that it calls, if any.
	// Names begin with root, or with its sibling tested. Their requirements must
	// not count for anything else.
	Tests []txtar.File
	// Spoil alters a lock file in a way that the tools read.
	Spoil func(string) string

	rand      *rand.Rand
	providers []randomProvider
}

type randomProvider struct {
	name, source string
	versions     []string
}

// String shows the registry and the configuration.
func (w *World) String() string {
	return fmt.Sprintf("%s-- root/main.tf --\n%s-- child/main.tf --\n%s-- earlier --\n%s%s",
		txtar.Format(&w.Archive), w.Root, w.Child, w.Earlier, txtar.Format(&txtar.Archive{Files: w.Tests}))
}

// New makes the world of a seed.
func New(seed uint64) *World {
	w := &World{rand: rand.New(rand.NewPCG(seed, 0))}
	for _, name := range []string{"alpha", "beta", "gamma", "delta"}[:1+w.rand.IntN(4)] {
		w.addProvider(name)
	}
	w.Root = w.config(w.providers, `module "child" {
  source = "../child"
}
`)
	w.Child = w.config(w.providers[:w.rand.IntN(len(w.providers)+1)], "")
	if w.chance(70) {
		w.Earlier = w.pinned()
	}
	w.Spoil = w.spoiler()
	w.Platform = pick(w.rand, "linux_amd64", "darwin_arm64")
	if w.chance(50) {
		w.addTest()
	}
	return w
}

func (w *World) chance(percent int) bool { return w.rand.IntN(100) < percent }

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (w *World) addProvider(name string) {
	p := randomProvider{name: name, source: pick(w.rand, "hashicorp/", "acme/", "reg.example/acme/") + name}
	seen := map[string]bool{}
	for range 2 + w.rand.IntN(6) {
		v := fmt.Sprintf("%d.%d.%d", w.rand.IntN(3), w.rand.IntN(12), w.rand.IntN(3))
		if seen[v] || v == "0.0.0" {
			continue
		}
		seen[v] = true
		switch {
		case w.chance(10):
			v += pick(w.rand, "-beta1", "-rc.2")
		case w.chance(5):
			v += "+build.7"
		}
		p.versions = append(p.versions, v)
	}
	if len(p.versions) == 0 {
		p.versions = []string{"1.0.0"}
	}
	host := "registry.terraform.io/" + p.source
	if strings.Count(p.source, "/") == 2 {
		host = p.source
	}
	platforms := pick(w.rand, "linux_amd64, darwin_arm64, windows_amd64", "linux_amd64, darwin_arm64", "darwin_arm64, linux_amd64, linux_arm64")
	if w.chance(5) {
		platforms = "linux_amd64"
	}
	text := fmt.Sprintf("platforms: [%s]\nversions: [%s]\n", platforms, strings.Join(p.versions, ", "))
	w.Archive.Files = append(w.Archive.Files, txtar.File{Name: "registry/" + host, Data: []byte(text)})
	w.providers = append(w.providers, p)
}

// config requires the providers. Their constraints may be impossible to meet.
func (w *World) config(providers []randomProvider, rest string) string {
	var b strings.Builder
	b.WriteString("terraform {\n  required_providers {\n")
	for _, p := range providers {
		fmt.Fprintf(&b, "    %s = {\n      source = %q\n", p.name, p.source)
		if c := w.constraints(p); c != "" {
			fmt.Fprintf(&b, "      version = %q\n", c)
		}
		b.WriteString("    }\n")
	}
	b.WriteString("  }\n}\n" + rest)
	return b.String()
}

func (w *World) constraints(p randomProvider) string {
	near := pick(w.rand, p.versions...)
	core, _, _ := strings.Cut(near, "-")
	core, _, _ = strings.Cut(core, "+")
	minor := core[:strings.LastIndex(core, ".")]
	term := func() string {
		switch w.rand.IntN(9) {
		case 0:
			return near
		case 1:
			return "~> " + minor
		case 2:
			return "~> " + core
		case 3:
			return ">= " + minor
		case 4:
			return "<= " + core
		case 5:
			return "!= " + core
		case 6:
			return "> 0.1"
		case 7:
			return "< 3"
		}
		return ">= 0"
	}
	switch w.rand.IntN(4) {
	case 0:
		return ""
	case 1:
		return term() + ", " + term()
	}
	return term()
}

// pinned is a configuration that selects some version of some providers.
func (w *World) pinned() string {
	providers := slices.Clone(w.providers)
	if len(providers) > 1 && w.chance(30) {
		providers = providers[1:]
	}
	var b strings.Builder
	b.WriteString("terraform {\n  required_providers {\n")
	for _, p := range providers {
		fmt.Fprintf(&b, "    %s = {\n      source  = %q\n      version = %q\n    }\n", p.name, p.source, pick(w.rand, p.versions...))
	}
	b.WriteString("  }\n}\n")
	return b.String()
}

// spoiler chooses one of the ways.
func (w *World) spoiler() func(string) string {
	n := w.rand.IntN(8)
	return func(lock string) string {
		lines := strings.SplitAfter(lock, "\n")
		switch n {
		case 0: // the h1 hashes are lost
			lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, `"h1:`) })
		case 1: // a hash of a scheme that nobody knows
			for i, l := range lines {
				if strings.Contains(l, "hashes = [") {
					lines[i] = l + "    \"h2:unknown\",\n"
				}
			}
		case 2: // a comment, and no header
			lines = append([]string{"# by hand\n"}, lines[2:]...)
		case 3: // the hashes in another order
			first := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"zh:`) })
			if first >= 0 && strings.Contains(lines[first+1], `"zh:`) {
				lines[first], lines[first+1] = lines[first+1], lines[first]
			}
		case 4: // other constraints
			for i, l := range lines {
				if strings.Contains(l, "constraints") {
					lines[i] = "  constraints = \">= 0.1.0\"\n"
				}
			}
		}
		return strings.Join(lines, "")
	}
}

// addTest adds a test that requires some of the providers again, by a module or
// by a provider block. It may require further providers.
func (w *World) addTest() {
	if w.chance(60) {
		w.addProvider("omega")
	}
	tested := w.config(w.providers[w.rand.IntN(len(w.providers)):], "")
	test := "run \"first\" {\n  module {\n    source = \"../tested\"\n  }\n}\n"
	name := pick(w.rand, "root/main.tftest.hcl", "root/tests/main.tftest.hcl")
	if w.chance(40) {
		text := "platforms: [linux_amd64, darwin_arm64]\nversions: [1.0.0, 1.1.0]\n"
		w.Archive.Files = append(w.Archive.Files, txtar.File{Name: "registry/registry.terraform.io/hashicorp/sigma", Data: []byte(text)})
		test = "provider \"sigma\" {\n}\n" + test
	}
	w.Tests = []txtar.File{{Name: "tested/main.tf", Data: []byte(tested)}, {Name: name, Data: []byte(test)}}
}
