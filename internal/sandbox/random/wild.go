package random

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// Wild is a world with a configuration in the many forms that people use. It has
// several files of both syntaxes, overrides, aliases, legacy forms, modules that
// call modules, and oddly spelt constraints. The tools accept most of them.
type Wild struct {
	// Archive describes the registry, as sandbox.ParseWorld reads it.
	Archive txtar.Archive
	// Files are the files of the repository; root is the directory of the root
	// module.
	Files []txtar.File
	// Earlier is the main.tf of the old lock file; empty without one.
	Earlier string
	// Platform was locked at that time, beside linux_amd64.
	Platform string
	// Spoil alters a lock file.
	Spoil func(string) string
	// Installation is the installation methods of a CLI configuration; empty for
	// the default. @MIRROR@ is the URL of a network mirror, and @MIRRORDIR@ a
	// directory.
	Installation string
	// Packages are the files in that directory, by path: a program, or the name
	// of the program of a package that ends in .zip.
	Packages map[string]string

	tofu  bool
	w     *World
	files map[string]string
	used  int // names that are taken
}

// String shows the registry and the files.
func (x *Wild) String() string {
	return fmt.Sprintf("%s%s%v\n-- earlier --\n%s%s", txtar.Format(&x.Archive), x.Installation, x.Packages, x.Earlier, txtar.Format(&txtar.Archive{Files: x.Files}))
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
	x.Spoil = x.spoiler()
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
	if w.chance(35) {
		x.odd()
	}
	if w.chance(25) {
		x.Installation, x.Packages = x.installation(), x.packages()
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
		e := entry{local: p.name, source: p.source, provider: p}
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
		// A provider that is not listed is implicitly hashicorp's.
		if strings.HasPrefix(p.source, "hashicorp/") && w.chance(15) && !slices.ContainsFunc(entries, func(e entry) bool { return e.local == p.name }) {
			x.use(&b, entry{local: p.name, provider: p}, dir == "root")
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

// form is the same text in the form of another editor.
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

// spoiler chooses one of World's spoilers, or a further one.
func (x *Wild) spoiler() func(string) string {
	plain := x.w.spoiler()
	n := x.w.rand.IntN(24)
	return func(lock string) string {
		block, _, _ := strings.Cut(lock[strings.Index(lock+"provider ", "provider "):], "\n}\n")
		switch n {
		case 0:
			return strings.ReplaceAll(lock, "\n", "\r\n")
		case 1:
			return "\ufeff" + lock
		case 2: // one that nothing requires
			return lock + "\nprovider \"registry.terraform.io/acme/obsolete\" {\n  version = \"1.0.0\"\n  hashes = [\n    \"h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\",\n  ]\n}\n"
		case 3: // each hash twice
			lines := strings.SplitAfter(lock, "\n")
			for i, l := range lines {
				if strings.HasPrefix(l, "    \"") {
					lines[i] = l + l
				}
			}
			return strings.Join(lines, "")
		case 4:
			return strings.ReplaceAll(lock, "hashes = [\n", "hashes = [ # these\n    \"nothing:x\", \"h3:$${a}\",\n")
		case 5:
			return strings.ReplaceAll(strings.ReplaceAll(lock, "\"h1:", "\"${\"h1\"}:"), "  version ", "  version\t")
		case 6:
			return lock + "\nmodule \"x\" {\n  version = \"1.0\"\n}\n"
		case 7: // an entry without hashes
			if i := strings.Index(lock, "  hashes = ["); i >= 0 {
				return lock[:i] + lock[i+strings.Index(lock[i:], "  ]\n")+4:]
			}
		case 8: // twice
			return lock + "\n" + block + "\n}\n"
		case 9:
			return strings.TrimSuffix(lock, "\n")
		case 10:
			return strings.ReplaceAll(lock, "hashes = [", "hashes=[")
		case 11:
			return strings.ReplaceAll(lock, "\"zh:", "\"ZH:")
		case 12: // a version that was never published
			if i := strings.Index(lock, "version     = \""); i >= 0 {
				return lock[:i] + "version     = \"0.0.7" + lock[i+strings.Index(lock[i:], "\"\n"):]
			}
		case 13:
			return strings.ReplaceAll(lock, "\n  constraints = \"", "\n  constraints = \" ")
		case 14: // the entry of another
			return strings.Replace(lock, "hashicorp/", "acme/", 1)
		case 15: // one hash of each
			lines := strings.SplitAfter(lock, "\n")
			var kept []string
			for i, l := range lines {
				if strings.HasPrefix(l, "    \"") && !strings.HasSuffix(lines[i-1], "[\n") {
					continue
				}
				kept = append(kept, l)
			}
			return strings.Join(kept, "")
		}
		return plain(lock)
	}
}

// odd makes unusual releases of the providers: unsigned, replaced or withdrawn,
// with other lists, packages or protocols.
func (x *Wild) odd() {
	w := x.w
	for i, p := range w.providers {
		text := string(w.Archive.Files[i].Data)
		list, rest := "versions:\n", ""
		for _, v := range p.versions {
			list += "  " + v + ": {" + strings.Join(x.oddities(p, v), ", ") + "}\n"
		}
		for _, line := range strings.SplitAfter(text, "\n") {
			if !strings.HasPrefix(line, "versions:") {
				rest += line
			}
		}
		if w.chance(5) {
			rest += "extra_versions: [" + pick(w.rand, "v1.3", "1.3", "0.1.0-", "x", "\"\"", "1", "9.9.9.9", "01.4.0") + "]\n"
		}
		w.Archive.Files[i].Data = []byte(rest + list)
	}
}

func (x *Wild) oddities(p randomProvider, v string) []string {
	w := x.w
	if !w.chance(30) {
		return nil
	}
	zeros := strings.Repeat("0", 64)
	plain := fmt.Sprintf("{name: terraform-provider-%s_v%s, content: %s}", p.name, v, x.next("program"))
	files := func(more ...string) string {
		return "files: {\"*\": [" + strings.Join(append(more, plain), ", ") + "]}"
	}
	return []string{pick(w.rand,
		"platforms: [linux_amd64]", "platforms: [darwin_arm64]", "platforms: [linux_amd64, darwin_arm64, plan9_mips]",
		"protocols: [\"4.0\"]", "protocols: [\"5.0\", \"7.0\"]", "protocols: []", "protocols: [\"x\"]",
		"sign: k2, keys: [k1]", "sign: k2, keys: [k1, k2]", "sign: kexp", "no_keys: true", "keys: []",
		"no_platforms: true", "list_only: true", "unlisted: true", "manifest: [\"5.0\"]", "manifest: [\"6.0\"]",
		"shasums_extra: [\""+zeros+"  other.zip\"]", "shasums_extra: [\"zz  other.zip\"]", "shasums_extra: [\""+zeros+" a b c\"]",
		"shasums_extra: [\""+strings.Repeat("AB", 32)+"  *x\"]", "shasums_extra: [\""+zeros+"\"]", "shasums_extra: [\"  "+zeros+"  other.zip\"]",
		fmt.Sprintf("shasums_raw: \"{{linux_amd64}}  terraform-provider-%s_%s_linux_amd64.zip\\n\"", p.name, v),
		fmt.Sprintf("shasums_raw: \"{{linux_amd64}} *terraform-provider-%s_%s_linux_amd64.zip\\r\\n\"", p.name, v),
		"serve_other: {linux_amd64: darwin_arm64}", "serve_other: {darwin_arm64: linux_amd64}",
		"packages: true, packages_edit: {darwin_arm64: {hashes: [\"h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"], package_size: 1}}",
		"packages: true, packages_edit: {linux_amd64: {hashes: [\"h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"], package_size: 1}}",
		"packages: true, packages_edit: {linux_arm64: {hashes: [\"nope\"], package_size: 0}}",
		files("{name: docs/, mode: dir}", "{name: docs/x, content: y}"), files("{name: ./a, content: y}"), files("{name: /a, content: y}"), files("{name: a//b, content: y}"),
		files("{name: a, content: y}", "{name: a, content: z}"), files("{name: l, content: a, mode: symlink}"), files("{name: ../a, content: y}"), files("{name: 'a\\b', content: y}"),
		files("{name: ..a, content: y}"), files("{name: 'é', content: y}"), files("{name: 'a/', content: ''}"),
		"files: {\"*\": [{name: other, content: x}]}", "files: {\"*\": [{name: terraform-provider-"+p.name+".exe, content: x}]}",
		"files: {\"*\": [{name: sub/terraform-provider-"+p.name+"_v1, content: x}]}", "files: {\"*\": [{name: TERRAFORM-PROVIDER-"+strings.ToUpper(p.name)+", content: x}]}",
		"mirror_hashes: {linux_amd64: [\"h1:x\"]}", "mirror_hashes: {linux_amd64: [\"h2:x\"]}", "mirror_hashes: {linux_amd64: [\"x\"]}",
	)}
}

// installation chooses installation methods; @MIRROR@ and @MIRRORDIR@ are as in
// Installation.
func (x *Wild) installation() string {
	w := x.w
	pattern := func() string {
		p := pick(w.rand, w.providers...)
		return "\"" + pick(w.rand, "*/*", "*/*/*", "hashicorp/*", "acme/*", "reg.example/*/*", "reg.example/acme/*", p.source, p.source, "registry.terraform.io/*/*", "REG.example/acme/"+p.name, "hashicorp/"+strings.ToUpper(p.name), "x.example/*/*") + "\""
	}
	text := "provider_installation {\n"
	for range 1 + w.rand.IntN(3) {
		name, body := pick(w.rand, "direct", "network_mirror", "filesystem_mirror"), ""
		switch name {
		case "network_mirror":
			body = "    url = \"@MIRROR@\"\n"
		case "filesystem_mirror":
			body = "    path = \"@MIRRORDIR@\"\n"
		}
		if w.chance(40) {
			body += "    include = [" + pattern() + ", " + pattern() + "]\n"
		}
		if w.chance(30) {
			body += "    exclude = [" + pattern() + "]\n"
		}
		text += "  " + name + " {\n" + body + "  }\n"
	}
	if w.chance(70) {
		text += "  direct {}\n"
	}
	return text + "}\n"
}

// packages are some of the providers' packages, for the directory.
func (x *Wild) packages() map[string]string {
	w := x.w
	files := map[string]string{}
	for _, p := range w.providers {
		dir := p.source
		if strings.Count(dir, "/") == 1 {
			dir = x.host() + "/" + dir
		}
		for _, v := range p.versions {
			for _, platform := range []string{"linux_amd64", "darwin_arm64"} {
				program := "terraform-provider-" + p.name
				switch w.rand.IntN(5) {
				case 0:
					files[fmt.Sprintf("%s/%s_%s_%s.zip", dir, program, v, platform)] = program + "_v" + v
				case 1:
					files[dir+"/"+v+"/"+platform+"/"+program] = dir + v + platform
				}
			}
		}
	}
	return files
}

// host is the default one.
func (x *Wild) host() string {
	if x.tofu {
		return "registry.opentofu.org"
	}
	return "registry.terraform.io"
}
