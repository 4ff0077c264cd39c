package random

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"golang.org/x/tools/txtar"
)

// entry is an entry of required_providers.
type entry struct {
	local, source, constraint string
	provider                  randomProvider
}

// constraints returns constraints of a provider, in spellings that the tools
// accept, and a few that they refuse.
func (x *Wild) constraints(p randomProvider) string {
	w := x.w
	if w.chance(3) {
		return w.constraints(p)
	}
	near := p.versions[len(p.versions)/2]
	term := func() string {
		v := near
		if w.chance(4) {
			v = pick(w.rand, p.versions...)
		}
		core, rest := v, ""
		if i := strings.IndexAny(v, "-+"); i >= 0 {
			core, rest = v[:i], v[i:]
		}
		parts := strings.Split(core, ".")
		op := pick(w.rand, "", "=", ">=", ">=", ">=", "<=", "~>", "~>")
		n := 1 + w.rand.IntN(3)
		switch {
		case w.chance(12):
			op, parts = pick(w.rand, "!=", ">", ">="), []string{"0", "1", "7"}
		case w.chance(12):
			op, parts = pick(w.rand, "!=", "<", "<="), []string{"3", "0", "0"}
		case op == "" || op == "=" || op == "<=":
			n = 3
		}
		if w.chance(10) {
			parts[0] = "0" + parts[0]
		}
		text := strings.Join(parts[:n], ".")
		if w.chance(40) {
			text += rest
		}
		if w.chance(5) {
			text += pick(w.rand, "-beta.2", "-0", "+meta", "-rc.1+b.2", "-")
		}
		if w.chance(1) {
			text = pick(w.rand, "v"+text, text+".0", " "+text, "1.x", "")
		}
		return op + pick(w.rand, "", " ") + text
	}
	list := []string{term()}
	for w.chance(40) {
		list = append(list, term())
	}
	text := strings.Join(list, pick(w.rand, ",", ", ", " , ", ",  "))
	if op, _, ok := strings.Cut(text, " "); ok && op == "" {
		text = text[1:]
	}
	return pick(w.rand, "", "", " ") + text + pick(w.rand, "", "", " ")
}

// required writes the block of the entries into some file of the directory, and
// overrides.
func (x *Wild) required(dir string, entries []entry) {
	w := x.w
	file := dir + "/" + pick(w.rand, "versions.tf", "versions.tf", "a.tf", "zz.tf", "versions.tf.json")
	if x.tofu && w.chance(20) {
		file = dir + "/versions.tofu"
		if w.chance(50) { // the file hides the other
			x.files[dir+"/versions.tf"] = "terraform {\n  required_providers {\n    none = { source = \"acme/none\" }\n  }\n}\n"
		}
	}
	if len(entries) == 0 && w.chance(70) {
		return
	}
	if strings.HasSuffix(file, ".json") {
		x.files[file] = x.requiredJSON(entries)
	} else {
		x.files[file] = x.form(x.requiredBlock(entries))
	}
	if !w.chance(20) {
		return
	}
	var changed []entry
	for _, e := range entries {
		if w.chance(50) {
			e.constraint = x.constraints(e.provider)
			if w.chance(10) {
				e.constraint = ""
			}
			changed = append(changed, e)
		}
	}
	if len(changed) == 0 {
		return
	}
	switch over := dir + "/" + pick(w.rand, "override.tf", "a_override.tf", "z_override.tf", "override.tf.json", "x_override.tf.json"); {
	case strings.HasSuffix(over, ".json"):
		x.files[over] = x.requiredJSON(changed)
	default:
		x.files[over] = x.requiredBlock(changed)
	}
}

func (x *Wild) requiredBlock(entries []entry) string {
	w := x.w
	var b strings.Builder
	b.WriteString(pick(w.rand, "terraform {\n  required_providers {\n", "terraform {\n\trequired_providers\t{ # which\n\n", "terraform {\n  required_version = \">= 0.12, < 99\"\n  required_providers {\n"))
	for _, e := range entries {
		constraint := x.literal(e.constraint)
		legacy := e.source == "hashicorp/"+e.local && e.constraint != "" && w.chance(25)
		switch {
		case legacy:
			fmt.Fprintf(&b, "    %s = %s\n", e.local, constraint)
		default:
			source := x.source(e.source)
			fmt.Fprintf(&b, pick(w.rand, "    %s = {\n", "    %s= { # x\n", "    %s\t=\t{\n\n"), e.local)
			lines := []string{fmt.Sprintf(pick(w.rand, "source = %q", "\"source\" : %q", "source=%q // s"), source)}
			if e.source == "hashicorp/"+e.local && w.chance(20) {
				lines = nil
			}
			if e.constraint != "" {
				lines = append(lines, "version = "+constraint)
			}
			if w.chance(2) {
				lines = append(lines, fmt.Sprintf("configuration_aliases = [%s.one, %[1]s.two]", e.local))
			}
			w.rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			b.WriteString("      " + strings.Join(lines, "\n") + "\n    }\n")
		}
	}
	b.WriteString("  }\n}\n")
	return b.String()
}

// source is the same address in another spelling.
func (x *Wild) source(source string) string {
	switch x.w.rand.IntN(12) {
	case 0:
		return strings.ToUpper(source[:1]) + source[1:]
	case 1:
		if name, ok := strings.CutPrefix(source, "hashicorp/"); ok {
			return name
		}
	case 2:
		if strings.Count(source, "/") == 1 {
			return x.host() + pick(x.w.rand, "", ":443") + "/" + source
		}
	}
	return source
}

// literal is an expression for a text that needs no evaluation.
func (x *Wild) literal(text string) string {
	w := x.w
	quoted := fmt.Sprintf("%q", text)
	if text == "" {
		return quoted
	}
	half := w.rand.IntN(len(text))
	switch w.rand.IntN(14) {
	case 0:
		return fmt.Sprintf("<<EOT\n%s\nEOT\n", text)
	case 1:
		return fmt.Sprintf("\"${%q}\"", text)
	case 2:
		return fmt.Sprintf("true ? %s : \"9.9.9\"", quoted)
	case 3:
		return fmt.Sprintf("(%s)", quoted)
	case 4:
		return fmt.Sprintf("\"%s${%q}\"", text[:half], text[half:])
	case 5:
		return fmt.Sprintf("\"%%{ if 1 == 1 }%s%%{ else }no%%{ endif }\"", text)
	case 6:
		return fmt.Sprintf("[%s][0]", quoted)
	case 7:
		return fmt.Sprintf("{ a = %s }.a", quoted)
	case 8:
		return "\"\\u00" + fmt.Sprintf("%x", text[0]) + text[1:] + "\""
	}
	return quoted
}

func (x *Wild) requiredJSON(entries []entry) string {
	w := x.w
	all := map[string]any{}
	for _, e := range entries {
		if e.source == "hashicorp/"+e.local && e.constraint != "" && w.chance(25) {
			all[e.local] = e.constraint
			continue
		}
		one := map[string]any{"source": x.source(e.source)}
		if e.constraint != "" {
			one["version"] = e.constraint
		}
		if w.chance(2) {
			one["configuration_aliases"] = []string{e.local + ".one"}
		}
		all[e.local] = one
	}
	if w.chance(20) {
		all["//"] = "a comment"
	}
	var required any = all
	if w.chance(25) {
		required = []any{all}
	}
	var terraform any = map[string]any{"required_providers": required}
	if w.chance(25) {
		terraform = []any{terraform, map[string]any{"required_version": ">= 0.12"}}
	}
	text, err := json.MarshalIndent(map[string]any{"terraform": terraform, "//": map[string]any{"a": 1}}, "", pick(w.rand, "", "  "))
	if err != nil {
		panic(err) // strings and maps
	}
	return string(text)
}

// use adds blocks that refer to a provider.
func (x *Wild) use(b *strings.Builder, e entry, root bool) {
	w := x.w
	kind := e.local + pick(w.rand, "_thing", "_thing_more", "_")
	switch w.rand.IntN(11) {
	case 0:
		fmt.Fprintf(b, "resource %q %q {\n  count = 0\n}\n", kind, x.next("r"))
	case 1:
		fmt.Fprintf(b, "data %q %q {}\n", kind, x.next("r"))
	case 2:
		fmt.Fprintf(b, "resource \"any_thing\" %q {\n  provider = %s\n}\n", x.next("r"), pick(w.rand, e.local, e.local+".one", `"`+e.local+`"`))
	case 3:
		fmt.Fprintf(b, "check %q {\n  data %q %q {}\n  assert {\n    condition     = path.module != \"\"\n    error_message = \"no.\"\n  }\n}\n", x.next("c"), kind, x.next("r"))
	case 4:
		fmt.Fprintf(b, "provider %q {\n  alias = %q\n%s}\n", e.local, x.next("a"), x.legacyVersion(e))
	case 5:
		if strings.HasPrefix(e.local, "my-") || w.chance(50) {
			fmt.Fprintf(b, "provider %q {\n%s}\n", e.local, x.legacyVersion(e))
		}
	case 6:
		name := x.next("r")
		fmt.Fprintf(b, "resource %q %q {}\nmoved {\n  from = %[1]s.old%[2]s\n  to   = %[1]s.%[2]s\n}\n", kind, name)
	case 7:
		if root {
			name := x.next("r")
			fmt.Fprintf(b, "import {\n  to = %s.%s\n  id = \"x\"\n}\nresource %[1]q %[2]q {}\n", kind, name)
		}
	case 8:
		fmt.Fprintf(b, "ephemeral %q %q {}\n", kind, x.next("r"))
	case 9:
		fmt.Fprintf(b, "terraform {\n  provider_meta %q {\n    x = 1\n  }\n}\n", x.next("p"))
	}
}

func (x *Wild) legacyVersion(e entry) string {
	if !x.w.chance(30) {
		return ""
	}
	return "  version = " + fmt.Sprintf("%q", x.constraints(e.provider)) + "\n"
}

// call adds a call of the module in other by the module in dir.
func (x *Wild) call(b *strings.Builder, dir, other string, entries []entry) {
	w := x.w
	up := strings.Repeat("../", strings.Count(dir, "/")+1)
	source := up + other
	if rest, ok := strings.CutPrefix(other, dir+"/"); ok {
		source = "./" + rest
	}
	switch w.rand.IntN(8) {
	case 0:
		source = strings.Replace(source, "/", "//", 1)
	case 1:
		source += "/."
	case 2:
		source += "/"
	case 3:
		source = strings.Replace(source, "./", "././", 1)
	case 4:
		source = strings.ReplaceAll(source, path.Base(other), path.Base(other)+"/../"+path.Base(other))
	}
	text := fmt.Sprintf("%q", source)
	switch w.rand.IntN(8) {
	case 0:
		text = fmt.Sprintf("\"${%q}\"", source)
	case 1:
		if x.tofu {
			name := x.next("s")
			fmt.Fprintf(b, "locals {\n  %s = %q\n}\n", name, source)
			text = "local." + name
		}
	}
	fmt.Fprintf(b, "module %q {\n  source = %s\n", x.next("m"), text)
	b.WriteString(pick(w.rand, "", "", "", "", "", "", "  count = 0\n", "  for_each = toset([\"a\"])\n", "  count = length(path.module)\n"))
	if len(entries) > 0 && w.chance(5) {
		e := entries[0]
		fmt.Fprintf(b, "  providers = {\n    %s = %[1]s\n  }\n", e.local)
	}
	b.WriteString("}\n")
}

// registryModule lets the root module call a module of a registry.
func (x *Wild) registryModule() {
	w := x.w
	host := x.host()
	versions := []string{"1.0.0", "1.2.0", "1.2.3-beta", "2.0.0-rc.1", "2.1.0", "0.9.9"}
	for _, v := range versions[:2+w.rand.IntN(5)] {
		at := "modules/" + host + "/acme/net/aws/" + v + "/"
		p := pick(w.rand, w.providers...)
		inner := x.requiredBlock([]entry{{local: p.name, source: p.source, constraint: x.constraints(p), provider: p}})
		w.Archive.Files = append(w.Archive.Files,
			txtar.File{Name: at + "main.tf", Data: []byte("module \"sub\" {\n  source = \"./modules/sub\"\n}\n")},
			txtar.File{Name: at + "modules/sub/main.tf", Data: []byte(inner)},
			txtar.File{Name: at + "other/main.tf", Data: []byte("module \"sub\" {\n  source = \"../modules/sub\"\n}\n")})
	}
	version := pick(w.rand, "1.0.0", "~> 1.0", "~> 1", ">= 1.0, < 2.0.0", "2.0.0-rc.1", "= 1.2.3-beta", ">=  1.0", "v1.2.0", "", "> 1.0.0-alpha", "!= 2.1", "<= 2.1", "~> 1.2.0", "1.2.0.0", ">= 0.9, != 1.0.0")
	x.files["root/fetched.tf"] = fmt.Sprintf("module \"fetched\" {\n  source = %q\n", pick(w.rand, "acme/net/aws", "acme/net/aws//modules/sub", host+"/acme/net/aws//other", "acme/net/aws//modules//sub", "acme/net/aws//modules/../other"))
	if version != "" {
		x.files["root/fetched.tf"] += fmt.Sprintf("  version = %q\n", version)
	}
	x.files["root/fetched.tf"] += "}\n"
}

// tests adds a test of the root module.
func (x *Wild) tests() {
	w := x.w
	ext := ".tftest.hcl"
	if x.tofu {
		ext = pick(w.rand, ".tftest.hcl", ".tofutest.hcl")
	}
	p := pick(w.rand, w.providers...)
	x.files["root/testing/main.tf"] = x.requiredBlock([]entry{{local: p.name, source: p.source, constraint: w.constraints(p), provider: p}})
	test := pick(w.rand, "", "mock_provider \"none\" {}\n", "variables {\n  a = 1\n}\n")
	test += pick(w.rand, "run \"plain\" {}\n", "run \"setup\" {\n  command = plan\n  module {\n    source = \"./testing\"\n  }\n}\n")
	x.files["root/"+pick(w.rand, "", "tests/", "tests/sub/", "testing/tests/")+pick(w.rand, "a", ".b")+ext] = test
}
