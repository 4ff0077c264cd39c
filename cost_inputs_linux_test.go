package main

import (
	"bytes"
	"fmt"
	"strings"
)

// hostile is an input made to cost as much as it can.
type hostile struct {
	name    string // as testdata/costs.md has it
	files   func() map[string][]byte
	answers answers  // of evil.example, where they are not usual; nil: it is not there
	rc      string   // of the CLI configuration
	args    []string // of the program; nil: scan .
	program string   // what is measured; empty: relock
	github  bool     // the servers are GitHub's API, too
	memory  int64    // how many bytes it may take; 0: mostMemory
	says    string   // what relock must say of it
	worst   bool     // of its kind
}

// slow are those of the worst that take about a second, or more.
var slow = []string{
	"`.tf.json` of 150,000 absurd numbers",
	"`terragrunt.hcl` of as many locals as fit, each of all before",
	"Terragrunt files that read each other twice",
	"module zip of 20 files of 300,000 pieces",
	"signing key of long numbers",
}

// The sizes of inputs: the largest file that is read, and the pieces of one that
// is parsed.
const (
	largest = 16<<20 - 64
	parsed  = 300_000 - 100
)

const tooMany = "the file has more than 300000 words, lines and signs"

var hostileInputs = []hostile{
	{name: "`.tf` of 16 MiB of `!`", files: tf(repeat("!", largest)), says: tooMany, worst: true},
	{name: "`.tf` of 16 MiB of `[`", files: tf(repeat("[", largest)), says: tooMany},
	{name: "`.tf` of 16 MiB of carriage returns", files: tf(repeat("\r", largest)), says: tooMany},
	{name: "`.tf` of 300,000 `!`", files: tf(repeat("!", parsed/2)), says: "nested too deeply: more than 1000 levels"},
	{name: "`.tf` of 300,000 empty blocks' signs", files: tf(numbered("a%d{}\n", parsed/5)), says: "further errors from here on are not listed"},
	{name: "`.tf` of as many providers as fit", files: tf(numbered("provider a%d {}\n", parsed/7)), says: "needed at"},
	{name: "`.tf` of a sum of 150,000 terms", files: tf(text("locals {\n a=a", repeat("+a", parsed/2), "\n}\n")), says: "1 root module"},
	{name: "`.tf` of 100,000 indices in a row", files: tf(text("locals {\n a=a", repeat("[b]", parsed/3), "\n}\n")), says: "1 root module"},
	{name: "`.tf` with an error in each line", files: tf(repeat("a b\n", parsed/4)), says: "further errors from here on are not listed"},
	{name: "`.tf` with a heredoc of 100,000 lines", files: tf(text("locals {\n a=<<E\n", repeat("x\n", parsed/3-10), "E\n}\n")), says: "in too many parts", worst: true},
	{name: "`.tf` with a string of 16 MiB", files: tf(text("locals {\n a=\"", repeat("x", largest-64), "\"\n}\n")), says: "1 root module"},
	{name: "`.tf` with a number of 16 MiB", files: tf(text("locals {\n a=", repeat("9", largest-64), "\n}\n")), says: "a number of more than 16384 digits", worst: true},
	{name: "`.tf` with 1,000 numbers of 16,000 digits", files: tf(text("locals {\n a=[", repeat(strings.Repeat("9", 16000)+",", 1000), "]\n}\n")), says: "1 root module"},
	{name: "`.tf.json` of 16 MiB of a list", files: file("main.tf.json", text(`{"locals":{"a":[`, repeat("1,", largest/2-64), "1]}}")), says: tooMany},
	{name: "`.tf.json` of 16 MiB of keys", files: file("main.tf.json", text(`{"locals":{"a":1`, numbered(`,"%d":1`, largest/12), "}}")), says: tooMany},
	{name: "`.tf.json` of 150,000 absurd numbers", files: file("main.tf.json", text(`{"locals":{"a":[`, repeat("1e-600000000,", parsed/2-20), "1]}}")), says: "1 root module", worst: true},
	{name: "`.tf.json` of as many modules as fit", files: file("main.tf.json", text(`{"module":[{}`, numbered(`,{"a%d":{}}`, parsed/8), "]}")), says: "further errors from here on are not listed"},
	{name: "lock file of 8 MB of `[`", files: lock(repeat("[", 8_000_000)), says: tooMany, worst: true},
	{name: "lock file of 600,000 hashes", files: lock(text(lockedProvider, " hashes=[\n", numbered("\"h1:%d\",\n", 600_000), "]\n}\n")), says: tooMany, worst: true},
	{name: "lock file of 16 MiB", files: lock(repeat("#", largest)), says: "larger than 8 MiB"},
	{name: "lock file of as many hashes as fit", files: lock(text(lockedProvider, " hashes=[", numbered("\"h1:a%d\",", parsed/6), "]\n}\n")), says: "1 with a lock file"},
	{name: "lock file of 110,000 providers", files: lock(numbered("provider \"registry.terraform.io/hashicorp/a%d\" {\n version=\"1.0.0\"\n}\n", 110_000)), says: tooMany},
	{name: "lock file with an error in each line", files: lock(repeat("a b\n", parsed/4)), says: "further errors from here on are not listed"},
	{name: "lock file of a number of 200,000,000 digits", files: lock(text(lockedProvider, " hashes=[\"h1:${1e200000000}\"]\n}\n")), says: "so large or small", worst: true},
	{name: "lock file with constraints of 7 MB", files: lock(text(lockedProvider, " constraints=\"", repeat("> 1.0.0, ", 800_000), "> 1.0.0\"\n}\n")), says: tooMany},
	{name: "lock file of modules of 8 MB of `[`", files: file(".modules.lock.hcl", repeat("[", 8_000_000)), args: diffModules, says: tooMany},
	{name: "lock file of modules of 16 MiB", files: file(".modules.lock.hcl", repeat("#", largest)), args: diffModules, says: "larger than 8 MiB"},
	{name: "lock file of modules of as many entries as fit", files: file(".modules.lock.hcl", lockedModules("a", parsed/30)), args: diffModules, says: "git::file:///a0", worst: true},
	{name: "lock file of modules of 10,000 entries, verified", files: file("live/.modules.lock.hcl", lockedModules("a", 10_000)), args: []string{"verify", "live"}, says: "could not be compared with git:aaaa"},
	{name: "lock file of modules of as many comments as fit", files: file(".modules.lock.hcl", repeat("#"+strings.Repeat("x", 50)+"\n", parsed/2)), args: diffModules, says: "no differences"},
	{name: "lock file of modules with an error in each line", files: file(".modules.lock.hcl", numbered("module \"a\" \"%d\" {}\n", parsed/12)), args: diffModules, says: "further errors from here on are not listed"},
	{name: "lock file of modules with a hash of 7 MB", files: file(".modules.lock.hcl", text("module \"oci://a/b\" \"\" {\n hash=\"", repeat("a", 7_000_000), "\"\n}\n")), args: diffModules, says: "must not take more than 8192 bytes"},
	{name: "lock file of modules with a label of 7 MB", files: file(".modules.lock.hcl", text("module \"oci://a/", repeat("a", 7_000_000), "\" \"\" {}\n")), args: diffModules, says: "must not take more than 8192 bytes"},
	{name: "lock files of modules that disagree about as many entries as fit", files: func() map[string][]byte {
		return map[string][]byte{"base": lockedModules("a", parsed/30)(), "ours": lockedModules("b", parsed/30)(), "theirs": lockedModules("c", parsed/30)()}
	}, args: []string{"merge-driver", "base", "ours", "theirs", ".modules.lock.hcl"}, says: "is left with a merge conflict", worst: true},
	{name: "`mise.toml` of 1 MiB of `[`", files: mise(text("a = ", repeat("[", 1<<20-64))), says: "it is no TOML"},
	{name: "`mise.toml` of one key of 500,000 parts", files: mise(text("[tools.", repeat("a.", 500_000), "a]\nb = 1\n")), says: "1 root module", worst: true},
	{name: "`mise.toml` of as many tools as fit", files: mise(text("[tools]\n", numbered("%x='1'\n", 100_000))), says: "1 root module"},
	{name: "`mise.toml` of as many versions of a tool as fit", files: mise(text("[tools]\nterraform=[", repeat("'1',", 200_000), "'1']\n", repeat("tools.terraform.version='1'\n", 8_000))), says: "the newest such release", worst: true},
	{name: "`.tool-versions` of 16 MiB", files: versions(".tool-versions", repeat("terraform 1.5.7\n", largest/16)), says: "it is larger than 1 MiB"},
	{name: "`.tool-versions` of 1 MiB", files: versions(".tool-versions", repeat("terraform 1\n", 1<<20/12)), says: "the newest such release", worst: true},
	{name: "`terragrunt.hcl` of 16 MiB of `[`", files: file("terragrunt.hcl", repeat("[", largest)), says: tooMany},
	{name: "`terragrunt.hcl` of as many locals as fit, each of all before", files: file("terragrunt.hcl", text("locals {\n a0=\"x\"\n", chained(" a%d=\"${local.a%d}${local.a%[2]d}\"\n", parsed/20), "}\nterraform {\n source=local.a9999\n}\n")), says: "too large or too complex", worst: true},
	{name: "`terragrunt.hcl` of loops in loops", files: file("terragrunt.hcl", text("terraform {\n source=", repeat("[for a in range(1000):", 50), "1", repeat("]", 50), "[0]\n}\n")), says: "too large or too complex"},
	{name: "Terragrunt files that read each other twice", files: reading(200), says: "too large or too complex", worst: true},
	{name: "Terragrunt files that include each other", files: func() map[string][]byte {
		include := []byte("include \"a\" {\n path=\"a.hcl\"\n expose=true\n}\nterraform {\n source=include.a.include.a\n}\n")
		return map[string][]byte{"terragrunt.hcl": include, "a.hcl": include}
	}, says: "includes another one"},
	{name: "Terragrunt template that calls itself", files: func() map[string][]byte {
		unit := []byte("terraform {\n source=templatefile(\"t\", {})\n}\n")
		return map[string][]byte{"terragrunt.hcl": unit, "t": repeat("${templatefile(\"t\", {})}", 20)()}
	}, says: "a template calls templatefile", worst: true},
	{name: "JSON of 900 lists in each other, decoded 200 times", files: func() map[string][]byte {
		unit := text("locals {\n", numbered(" a%d=jsondecode(file(\"d\"))\n", 200), " b=[", numbered("local.a%d,", 200), "]\n}\nterraform {\n source=local.b[0]\n}\n")
		return map[string][]byte{"terragrunt.hcl": unit(), "d": text(repeat("[", 900), repeat("]", 900))()}
	}, says: "too large or too complex"},
	{name: "Terragrunt template of 60 KB, 200 times", files: func() map[string][]byte {
		unit := []byte("terraform {\n source=[for i in range(200) : try(templatefile(\"t\", {}), \"x\")][0]\n}\n")
		return map[string][]byte{"terragrunt.hcl": unit, "t": repeat("a${b}\n", 10_000)()}
	}, says: "too large or too complex"},
	{name: "9,000 files that Terragrunt's fileset looks at 200 times", files: func() map[string][]byte {
		files := map[string][]byte{"terragrunt.hcl": []byte("locals {\n a=[for i in range(200) : length(fileset(\"many\", \"x${i}\"))]\n b=[for i in range(200) : length(fileset(\"many\", \"y${i}\"))]\n}\nterraform {\n source=\"${local.a[0]}${local.b[0]}\"\n}\n")}
		for i := range 9000 {
			files[fmt.Sprintf("many/f%d", i)] = nil
		}
		return files
	}, says: "too large or too complex"},
	{name: "Terragrunt stack file of 4,000 units", files: stackOfUnits(4000, nil), says: stackNotRead, worst: true},
	{name: "Terragrunt stack file of as many units as fit", files: stackOfUnits(parsed/27, nil), says: stackNotRead},
	{name: "Terragrunt stack file of as many units as are read", files: stackOfUnits(1700, nil), says: "1701 root modules, 1 with a lock file"},
	{name: "Terragrunt stack file of 3,000 units of one large source", files: stackOfUnits(3000, map[string]part{"u/x.tf": providers}), says: stackNotRead},
	{name: "Terragrunt stack file of 1,000 units of one source of 1,000 files", files: stackOfUnits(1000, numberedFiles("u/f%d.tf", 1000)), says: stackNotRead},
	{name: "Terragrunt stack file of 1,000 units of one large module", files: stackOfUnits(1000, map[string]part{
		"u/terragrunt.hcl": text("terraform {\n source=\"${get_repo_root()}/m\"\n}\n"), "m/x.tf": providers,
	}), says: stackNotRead},
	{name: "Terragrunt stack of itself", files: func() map[string][]byte {
		return map[string][]byte{"live/terragrunt.stack.hcl": []byte("stack \"a\" {\n source=\"${get_repo_root()}/live\"\n path=\"a\"\n}\n")}
	}, says: stackNotRead},
	{name: "Terragrunt template of 300,000 directives", files: func() map[string][]byte {
		unit := "generate \"g\" {\n path=\"g.tf\"\n if_exists=\"skip\"\n contents=templatefile(\"t\", {a=[1]})\n}\n"
		return map[string][]byte{"terragrunt.hcl": []byte(unit), "t": repeat("%{for b in a}", parsed/6)()}
	}, says: "too large or too complex"},
}

// diffModules prints what a lock file of modules has.
var diffModules = []string{"diff", "/dev/null", ".modules.lock.hcl"}

// lockedModules is a lock file of modules whose hashes are of one digit.
func lockedModules(digit string, n int) part {
	return numbered("module \"git::file:///a%d\" \"\" {\n hash=\"git:"+strings.Repeat(digit, 40)+"\"\n}\n", n)
}

const stackNotRead = "the stack is not read"

// providers is a configuration of as many providers as fit.
var providers = numbered("provider a%d {}\n", parsed/7)

// stackOfUnits is a stack of Terragrunt with units of one source, which has a lock file, and
// more files.
func stackOfUnits(units int, more map[string]part) func() map[string][]byte {
	return func() map[string][]byte {
		files := map[string][]byte{
			"live/terragrunt.stack.hcl": numbered("unit \"a%d\" {\n source=\"../u\"\n path=\"a%[1]d\"\n}\n", units)(),
			"u/terragrunt.hcl":          []byte("terraform {\n source=\".\"\n}\n"),
			"u/main.tf":                 []byte("resource \"null_resource\" \"x\" {}\n"), "u/.terraform.lock.hcl": nil,
		}
		for name, content := range more {
			files[name] = content()
		}
		return files
	}
}

// numberedFiles are empty files.
func numberedFiles(format string, n int) map[string]part {
	files := map[string]part{}
	for i := range n {
		files[fmt.Sprintf(format, i)] = text()
	}
	return files
}

// versions is a root module with a version file.
func versions(name string, src part) func() map[string][]byte {
	return func() map[string][]byte { return map[string][]byte{"main.tf": nil, name: src()} }
}

func mise(src part) func() map[string][]byte { return versions("mise.toml", src) }

// chained is a format with each number from 1 on and the one before.
func chained(format string, n int) part {
	return func() []byte {
		var b bytes.Buffer
		for i := range n {
			fmt.Fprintf(&b, format, i+1, i)
		}
		return b.Bytes()
	}
}

// reading are configurations of Terragrunt of which each reads the next one twice.
func reading(n int) func() map[string][]byte {
	return func() map[string][]byte {
		files := map[string][]byte{"terragrunt.hcl": []byte("locals {\n a=read_terragrunt_config(\"a0.hcl\")\n}\nterraform {\n source=local.a.locals.a.locals.x\n}\n")}
		for i := range n {
			files[fmt.Sprintf("a%d.hcl", i)] = fmt.Appendf(nil, "locals {\n a=read_terragrunt_config(\"a%d.hcl\")\n b=read_terragrunt_config(\"a%[1]d.hcl\", 1)\n x=local.a\n}\n", i+1)
		}
		return files
	}
}

const lockedProvider = "provider \"registry.terraform.io/hashicorp/a\" {\n version=\"1.0.0\"\n"

// A part makes bytes when they are needed: together they are a gigabyte.
type part func() []byte

func repeat(s string, n int) part { return func() []byte { return bytes.Repeat([]byte(s), n) } }

// numbered is a format with the numbers from 0 on.
func numbered(format string, n int) part {
	return func() []byte {
		var b bytes.Buffer
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.Bytes()
	}
}

// text joins strings and parts.
func text(parts ...any) part {
	return func() []byte {
		var b bytes.Buffer
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				b.WriteString(p)
			case part:
				b.Write(p())
			}
		}
		return b.Bytes()
	}
}

func file(name string, p part) func() map[string][]byte {
	return func() map[string][]byte { return map[string][]byte{name: p()} }
}

func tf(p part) func() map[string][]byte { return file("main.tf", p) }

func lock(p part) func() map[string][]byte {
	return func() map[string][]byte { return map[string][]byte{"main.tf": nil, ".terraform.lock.hcl": p()} }
}
