package random

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// Wild is a world whose configuration is written in the many ways that people
// find: in several files of both syntaxes, with overrides, aliases, legacy forms,
// modules that call modules, and constraints that are spelt as nobody should.
// Mostly the tools take it.
type Wild struct {
	// Archive describes the registry, as sandbox.ParseWorld reads it.
	Archive txtar.Archive
	// Files are those of the repository; the root module is the directory root.
	Files []txtar.File
	// Earlier is the main.tf of the old lock file; empty: there is none.
	Earlier string
	// Platform was locked at that time, beside linux_amd64.
	Platform string
	// Spoil alters a lock file.
	Spoil func(string) string

	tofu  bool
	w     *World
	files map[string]string
	used  int // of names that must be distinct
}

// String shows the registry and the files.
func (x *Wild) String() string {
	return fmt.Sprintf("%s-- earlier --\n%s%s", txtar.Format(&x.Archive), x.Earlier, txtar.Format(&txtar.Archive{Files: x.Files}))
}

// NewWild makes the world of a seed, for one of the tools.
func NewWild(seed uint64, tofu bool) *Wild {
	x := &Wild{tofu: tofu, files: map[string]string{}, w: &World{rand: rand.New(rand.NewPCG(seed, 2))}}
	w := x.w
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "eta-x"}[:2+w.rand.IntN(4)] {
		w.addProvider(name)
	}
	for i, f := range w.Archive.Files {
		more := ""
		if w.chance(8) {
			more += "warnings: [\"moved to acme/new\"]\n"
		}
		if w.chance(5) {
			more += "protocols: [\"5.1\", \"6.0\"]\n"
		}
		if w.chance(8) {
			more += "packages: true\n"
		}
		w.Archive.Files[i].Data = append(f.Data, more...)
	}
	if w.chance(70) {
		x.Earlier = w.pinned()
	}
	x.Platform = pick(w.rand, "linux_amd64", "darwin_arm64")
	x.Spoil = w.spoiler()
	x.module("root", []string{"root/modules/one", "shared/two", "root/modules/one/inner", "shared/deep er/three"})
	if w.chance(30) {
		x.registryModule()
	}
	if w.chance(30) {
		x.tests()
	}
	if w.chance(15) {
		x.files["root/"+pick(w.rand, ".hidden.tf", "old.tf~", "#x.tf#", "MAIN.TF", "main.tf.bak", "x.tf/none.txt", ".terraform/modules/x/main.tf", "q.tfquery.hcl")] =
			"terraform {\n  required_providers {\n    hidden = { source = \"acme/hidden\" }\n  }\n}\n"
	}
	for _, name := range slices.Sorted(maps.Keys(x.files)) {
		x.Files = append(x.Files, txtar.File{Name: name, Data: []byte(x.files[name])})
	}
	for i, f := range w.Archive.Files {
		if strings.HasPrefix(f.Name, "registry/registry.terraform.io/") {
			w.Archive.Files[i].Data = append(f.Data, "also: [registry.opentofu.org]\n"...)
		}
	}
	x.Archive = w.Archive
	return x
}

func (x *Wild) next(prefix string) string {
	x.used++
	return fmt.Sprint(prefix, x.used)
}

// module writes a module in dir, which may call those of the other directories.
func (x *Wild) module(dir string, others []string) {
	w := x.w
	var entries []entry
	for _, p := range w.providers {
		if !w.chance(60) {
			continue
		}
		e := entry{local: p.name, source: p.source, randomProvider: p}
		if w.chance(15) {
			e.local = pick(w.rand, "my", "other") + "-" + p.name
		}
		if w.chance(70) {
			e.constraint = x.constraints(p)
		}
		entries = append(entries, e)
	}
	x.required(dir, entries)
	var b strings.Builder
	for _, e := range entries {
		x.use(&b, e, dir == "root")
	}
	for _, p := range w.providers {
		// Implied: whoever does not list a provider means that of hashicorp.
		if strings.HasPrefix(p.source, "hashicorp/") && w.chance(15) && !slices.ContainsFunc(entries, func(e entry) bool { return e.local == p.name }) {
			x.use(&b, entry{local: p.name, randomProvider: p}, dir == "root")
		}
	}
	if w.chance(15) {
		fmt.Fprintf(&b, "resource \"terraform_data\" %q {}\n", x.next("d"))
	}
	if w.chance(10) {
		fmt.Fprintf(&b, "data \"terraform_remote_state\" %q {\n  backend = \"local\"\n}\n", x.next("d"))
	}
	if w.chance(10) {
		b.WriteString(pick(w.rand, "locals {\n  a = provider::terraform::encode_expr(1)\n}\n", "output \"o\" {\n  value = 1\n}\n", "variable \"v\" {\n  default = \"${\"x\"}\"\n}\n",
			"terraform {\n  required_version = \">= 0.13\"\n}\n", "check \"c\" {\n  assert {\n    condition     = path.root != \"\"\n    error_message = \"no.\"\n  }\n}\n"))
	}
	var rest []string
	for i, other := range others {
		if !w.chance(45) {
			continue
		}
		x.call(&b, dir, other, entries)
		if _, done := x.files[other+"/main.tf"]; !done {
			rest = others[i+1:]
			x.module(other, rest)
		}
	}
	x.files[dir+"/main.tf"] = x.form(b.String()) // perhaps empty
}

// form is the same text as another editor saves it.
func (x *Wild) form(text string) string {
	switch x.w.rand.IntN(12) {
	case 0:
		return strings.ReplaceAll(text, "\n", "\r\n")
	case 1:
		return "\ufeff" + text
	case 2:
		return "/* comment\n with \"quotes\" ${x} */\n" + text + "# no newline at the end"
	case 3:
		return "// " + strings.Repeat("long ", 500) + "é\u202e\n" + text
	}
	return text
}

// host is the default one.
func (x *Wild) host() string {
	if x.tofu {
		return "registry.opentofu.org"
	}
	return "registry.terraform.io"
}
