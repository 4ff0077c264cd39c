package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/random"
)

// generatedWorlds are made from the seeds 1 to n.
func generatedWorlds(n int) []world {
	worlds := make([]world, n)
	for i := range worlds {
		worlds[i] = generate(uint64(i + 1))
	}
	return worlds
}

// generator adds to a random world what its kind of world lacks: how its child
// module is called, what its tests and mirrors are, what goes wrong, and which
// commands are run.
type generator struct {
	*rand.Rand
	world  world
	random *random.World
	tofu   bool
	root   string // main.tf
}

func generate(seed uint64) world {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 15)), random: random.New(seed)}
	g.tofu = g.chance(50)
	g.world = world{name: fmt.Sprintf("seed/%d", seed), home: map[string]string{}, links: map[string]string{}, mounts: map[string]http.Handler{}}
	g.root = g.random.Root
	first := step{write: map[string]string{"root/main.tf": g.random.Earlier}, dir: "root"}
	if g.random.Earlier != "" {
		first.args = append([]string{"upgrade", "--platform", "linux_amd64", "--platform", g.random.Platform, "--format", "json"}, slices.Concat(steady, g.tool())...)
	}
	files := map[string]string{"child/main.tf": g.random.Child}
	g.callChild(files)
	g.addTests(files)
	g.addModule(files)
	g.addMirror()
	g.addFault()
	files["root/main.tf"] = g.root
	g.world.steps = []step{
		first,
		{write: files, edit: map[string]func(string) string{"root/" + lockfile.Name: g.random.Spoil}},
	}
	for range 2 + g.IntN(2) {
		g.world.steps = append(g.world.steps, g.call())
	}
	archive := &g.random.Archive
	for i, f := range archive.Files {
		if strings.HasPrefix(f.Name, "registry/registry.terraform.io/") {
			// OpenTofu takes another registry for the same short addresses.
			archive.Files[i].Data = append(f.Data, "also: [registry.opentofu.org]\n"...)
		}
	}
	g.world.offer = sync.OnceValues(func() (*sandbox.World, error) { return sandbox.ParseWorld(archive) })
	return g.world
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) tool() []string {
	if g.tofu {
		return []string{"--tool", "tofu"}
	}
	return []string{"--tool", "terraform"}
}

// callChild lets the root module call its child by another source, of which most
// have to be evaluated.
func (g *generator) callChild(files map[string]string) {
	source := pick(g, `"../child"`, `"../child"`, `"../${local.name}"`, `"${path.module}/../child"`, `var.source`,
		`format("../%s", lower("CHILD"))`, `join("/", ["..", local.name])`, `local.deep.list[0].dir`, `"../${local.on ? "child" : "none"}"`,
		`"../${[for n in ["child"] : n][0]}"`, `"../${replace("ch-ild", "-", "")}"`, `try(local.deep.none, "../child")`,
		`"../${element(split(",", "a,child"), 1)}"`, `"../${trimspace(file("name.txt"))}"`, `"../${null_resource.n.id}"`, `"../link"`, `"../${jsondecode("[\"child\"]")[0]}"`,
		`"../${lookup({ dir = "child" }, "dir")}"`, `"../${coalesce("", "child")}"`, `"./../child/."`, `"../${upper("child")}"`)
	g.root = strings.Replace(g.root, `"../child"`, source, 1) + `
locals {
  name = "child"
  on   = true
  deep = { list = [{ dir = "../child" }] }
}
variable "source" {
  type    = string
  default = "../child"
` + pick(g, "  const = true\n", "") + "}\n"
	files["root/name.txt"] = "child\n"
	if g.chance(10) {
		g.world.links["link"] = pick(g, "child", "../outside", "link")
	}
	if g.chance(10) {
		files["root/main_override.tf"] = "module \"child\" {\n  source = \"" + pick(g, "../child", "./none", "../other") + "\"\n}\n"
		files["other/main.tf.json"] = `{"terraform": {"required_providers": {"alpha": {"source": "hashicorp/alpha", "version": ">= 0.1"}}}}`
	}
	if g.chance(5) {
		files["root/broken.tf"] = pick(g, "module \"x\" {\n", "terraform {\n  required_version = \"< 0.1\"\n}\n", strings.Repeat("a = [", 300))
	}
}

// addTests adds test files, which lead to modules of their own.
func (g *generator) addTests(files map[string]string) {
	if !g.chance(35) {
		return
	}
	suffix := ".tftest.hcl"
	if g.tofu {
		suffix = pick(g, ".tftest.hcl", ".tofutest.hcl")
	}
	files[pick(g, "root/tests/a", "root/a")+suffix] = pick(g,
		"run \"setup\" {\n  module {\n    source = \"./testing\"\n  }\n}\n",
		"provider \"beta\" {}\nrun \"plain\" {}\n",
		"mock_provider \"gamma\" {}\nrun \"other\" {\n  module {\n    source = \"../child\"\n  }\n}\n",
		"run \"fetched\" {\n  module {\n    source  = \"acme/net/aws\"\n    version = \"~> 1.0\"\n  }\n}\n",
		"run \"none\" {\n  module {\n    source = \"./none\"\n  }\n}\n",
	)
	files["root/testing/main.tf"] = "terraform {\n  required_providers {\n    delta = {\n      source = \"hashicorp/delta\"\n    }\n  }\n}\n"
	g.register("registry/registry.terraform.io/hashicorp/delta", "versions: [1.0.0, 1.1.0]\nplatforms: [linux_amd64, darwin_arm64]\n")
	g.register("registry/registry.terraform.io/hashicorp/beta", "versions: [1.0.0]\nplatforms: [linux_amd64, darwin_arm64]\n")
}

// addModule calls a module of a registry, or a module that is in a git
// repository, an archive or an OCI registry and cannot be had.
func (g *generator) addModule(files map[string]string) {
	host := "registry.terraform.io"
	if g.tofu {
		host = "registry.opentofu.org"
	}
	for _, v := range []string{"1.0.0", "1.2.0", "2.0.0-rc.1"} {
		g.register("modules/"+host+"/acme/net/aws/"+v+"/main.tf", "module \"sub\" {\n  source = \"./sub\"\n}\n")
		g.register("modules/"+host+"/acme/net/aws/"+v+"/sub/main.tf", "terraform {\n  required_providers {\n    epsilon = { source = \"hashicorp/epsilon\" }\n  }\n}\n")
	}
	g.register("registry/registry.terraform.io/hashicorp/epsilon", "versions: [3.0.0, 3.0.1]\nplatforms: [linux_amd64, darwin_arm64]\n")
	if !g.chance(40) {
		return
	}
	version := pick(g, `"1.0.0"`, `"~> 1.0"`, `"${1}.0.0"`, `">= 3"`, `"2.0.0-rc.1"`)
	source := pick(g, "acme/net/aws", "acme/net/aws", "acme/net/aws//sub", host+"/acme/net/aws", "acme/gone/aws", "ACME/net/aws")
	if g.chance(25) {
		version = ""
		source = pick(g, "@SECURE@/archive.zip", "@SECURE@/none.zip//sub", "git::file://@HOME@/none.git", "git@none.example:a/b.git",
			"s3::@SECURE@/bucket/x.zip", "hg::@SECURE@/x", "oci://@HOST@/acme/module?tag=1.0.0", "oci://@HOST@/acme/module//sub",
			"@SECURE@/archive.zip?checksum=sha256:00", "git::https://user:secret@none.example/x.git//sub?ref=v1", "child", "github.com/acme/../x")
		g.world.mounts["/archive.zip"] = archive(map[string]string{"main.tf": files["child/main.tf"]})
	}
	g.root += fmt.Sprintf("module \"more\" {\n  source = %q\n", source)
	if version != "" {
		g.root += "  version = " + version + "\n"
	}
	g.root += "}\n"
}

func (g *generator) register(name, text string) {
	for _, f := range g.random.Archive.Files {
		if f.Name == name {
			return
		}
	}
	g.random.Archive.Files = append(g.random.Archive.Files, txtar.File{Name: name, Data: []byte(text)})
}

// zipped is an archive of files, which has no times.
func zipped(files ...[2]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.Create(f[0])
		if err == nil {
			_, err = w.Write([]byte(f[1]))
		}
		if err != nil {
			panic(err) // a buffer takes everything
		}
	}
	z.Close()
	return b.Bytes()
}

// archive serves an archive of a module.
func archive(files map[string]string) http.Handler {
	data := zipped([2]string{"main.tf", files["main.tf"]})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/zip")
		w.Write(data)
	})
}

// addMirror puts a mirror in place of registries, or before them.
func (g *generator) addMirror() {
	direct := pick(g, "  direct {}\n", "  direct {\n    exclude = [\"*/*/alpha\"]\n  }\n", "")
	var method string
	switch g.IntN(8) {
	case 0, 1:
		method = "  network_mirror {\n    url = \"@MIRROR@\"\n" + pick(g, "", "    include = [\"*/*/alpha\"]\n", "    exclude = [\"*/acme/*\"]\n") + "  }\n"
	case 2, 3:
		method = "  filesystem_mirror {\n    path = \"@HOME@/mirror\"\n" + pick(g, "", "    include = [\"*/*/alpha\"]\n") + "  }\n"
		g.fillDirectory()
	case 4, 5:
		if !g.tofu {
			return
		}
		method = "  oci_mirror {\n    repository_template = \"@HOST@/providers/${hostname}/${namespace}/${type}\"\n" + pick(g, "", "    include = [\"*/*/alpha\"]\n") + "  }\n"
		g.fillOCI()
	default:
		return
	}
	g.world.cli = "provider_installation {\n" + method + direct + "}\n"
}

// offered calls f for each version of each provider of the world, and each of
// the hosts where it is offered.
func (g *generator) offered(f func(addr, version string)) {
	for _, file := range g.random.Archive.Files {
		addr, ok := strings.CutPrefix(file.Name, "registry/")
		if !ok {
			continue
		}
		_, list, _ := strings.Cut(string(file.Data), "versions: [")
		list, _, _ = strings.Cut(list, "]")
		for _, v := range strings.Split(list, ", ") {
			f(addr, v)
			if rest, ok := strings.CutPrefix(addr, "registry.terraform.io/"); ok {
				f("registry.opentofu.org/"+rest, v)
			}
		}
	}
}

func (g *generator) fillDirectory() {
	g.offered(func(addr, version string) {
		if g.chance(40) {
			return
		}
		typ := path.Base(addr)
		for _, p := range []string{"linux_amd64", "darwin_arm64"} {
			if g.chance(50) {
				g.world.home[path.Join("mirror", addr, "terraform-provider-"+typ+"_"+version+"_"+p+".zip")] = string(providerZip(addr, version, p))
			} else {
				g.world.home[path.Join("mirror", addr, version, p, "terraform-provider-"+typ)] = "a program for " + p + "\n"
			}
		}
	})
}

func providerZip(addr, version, platform string) []byte {
	return zipped([2]string{"terraform-provider-" + path.Base(addr) + "_v" + version, addr + " for " + platform + "\n"})
}

func (g *generator) fillOCI() {
	o := sandbox.NewOCI()
	g.offered(func(addr, version string) {
		if !g.chance(30) {
			o.AddProvider("providers/"+addr, strings.ReplaceAll(version, "+", "_"), map[string][]byte{
				"linux_amd64": providerZip(addr, version, "linux_amd64"), "darwin_arm64": providerZip(addr, version, "darwin_arm64"),
			})
		}
	})
	o.AddModule("acme/module", "1.0.0", zipped([2]string{"main.tf", "# of an OCI registry\n"}))
	g.world.mounts["/v2/"] = o
}

// addFault spoils some answer, in a way that nobody waits for.
func (g *generator) addFault() {
	if !g.chance(25) {
		return
	}
	what := pick(g, "404", "403", "410", "corrupt", "truncate=20", "html", "garbage", "empty")
	where := pick(g, "/*/v1/providers/*/alpha/versions", "/registry.terraform.io/v1/providers/hashicorp/...", "/*/v1/providers/*/*/*/download/linux/amd64", "/mirror/...", "/v2/...", "/*/v1/modules/...")
	g.world.faults = append(g.world.faults, "* "+where+" "+what)
}

// call is one run of relock with some options.
func (g *generator) call() step {
	verb := pick(g, "scan", "check", "upgrade", "upgrade", "lock", "lock")
	args := []string{verb}
	if verb == "scan" {
		args = append(args, pick(g, [][]string{nil, {"--why", "*/*/*"}}...)...)
	} else {
		args = append(args, pick(g, [][]string{nil, {"--platform", "linux_amd64,darwin_arm64"}, {"--platform", "all"}, {"--platform", "linux_amd64"}}...)...)
		args = append(args, pick(g, [][]string{nil, nil, {"--strict"}, {"--provider", "*/alpha"}, {"--hashes-from", "both"}, {"--hashes-from", "origin"}, {"--unreadable-modules", "preserve"}}...)...)
	}
	switch {
	case verb == "lock" && g.chance(25):
		args = append(args, "--prune")
	case (verb == "lock" || verb == "upgrade") && g.chance(30):
		args = append(args, "--exact")
	case verb == "upgrade" && g.chance(20):
		args = append(args, "--allow-downgrade")
	}
	if g.chance(70) {
		args = append(args, "--create")
	}
	args = append(args, g.tool()...)
	formats := []string{"json", "json", "json", "text", "markdown"}
	if verb == "scan" {
		formats = formats[:4]
	}
	if verb != "scan" {
		args = append(args, steady...)
	}
	return step{args: append(args, "--format", pick(g, formats...), "."), dir: pick(g, "root", ".")}
}
