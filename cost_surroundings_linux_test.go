package main

import (
	"archive/tar"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// surroundings are hostile inputs that are no configuration of a root module and no
// answer of a registry: settings, mirrors, GitHub, release notes.
func surroundings() []hostile {
	return slices.Concat(directories(), settingsFiles(), cliConfigurations(), mirrors(), moduleServers(), wholePackages(), gitHub(), releaseNotes())
}

// What relock says of more than one of them.
const (
	tooDeep         = "lists and maps are nested more than 16 deep"
	tooManyBrackets = "more than 10000 brackets and braces"
	muchAnswered    = "more than 2000000 lists, objects and values"
)

// directories are file trees that are deep.
func directories() []hostile {
	const requires = "resource \"null_resource\" \"x\" {}\n"
	return []hostile{
		{name: "root module below 900 directories", says: "1 root module, 1 with a lock file", files: func() map[string][]byte {
			dir := strings.Repeat("a/", 900)
			return map[string][]byte{dir + "main.tf": []byte(requires), dir + ".terraform.lock.hcl": nil}
		}},
		{name: "root module in each of 900 directories in each other", says: "900 root modules, 900 with a lock file", files: func() map[string][]byte {
			files := map[string][]byte{}
			for n := range 900 {
				dir := strings.Repeat("a/", n+1)
				files[dir+"main.tf"], files[dir+".terraform.lock.hcl"] = []byte(requires), nil
			}
			return files
		}},
	}
}

// settingsFiles are configuration files of relock, of at most 64 KiB.
func settingsFiles() []hostile {
	const size = 64<<10 - 100
	yaml := func(name, says string, content part) hostile {
		return hostile{name: "`relock.yml` " + name, says: says, files: file(".github/relock.yml", content), args: []string{"config", "validate"}}
	}
	return []hostile{
		yaml("of 64 KiB of `[`", tooDeep, text("version: 1\ninclude: ", repeat("[", size))),
		yaml("of 64 KiB of `- `", tooDeep, text("version: 1\ninclude:\n", repeat("- ", size/2))),
		yaml("of maps in each other", tooDeep, text("version: 1\nrules: ", repeat("{a: ", size/4))),
		yaml("of deeper and deeper maps", "rules must be a list of entries", deeper(size)),
		yaml("of anchors of anchors", "unknown key", text("version: 1\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n", chained("a%d: &a%[1]d [*a%[2]d,*a%[2]d,*a%[2]d,*a%[2]d,*a%[2]d,*a%[2]d,*a%[2]d,*a%[2]d,*a%[2]d]\n", 500))),
		yaml("of one alias 16,000 times", "must be a list of texts", text("version: 1\ninclude: &a [x]\nexclude: [", repeat("*a,", size/4), "]\n")),
		yaml("of 4,000 rules", "is valid", text("version: 1\nrules:\n", repeat("- ignore: true\n", size/16))),
		yaml("of keys that differ", "unknown key", text("version: 1\n", numbered("a%d: 1\n", size/10))),
		yaml("of a text of 64 KiB", "unknown key", text("version: 1\nfooter: \"", repeat("\\n", size/2-20), "\"\n")),
		yaml("of comments", "is valid", text("version: 1\n", repeat("#\n", size/2-20))),
	}
}

func deeper(size int) part {
	return func() []byte {
		var b bytes.Buffer
		b.WriteString("version: 1\nrules:\n")
		for i := 1; b.Len() < size; i++ {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return b.Bytes()[:size]
	}
}

// cliConfigurations are CLI configurations of the tools.
func cliConfigurations() []hostile {
	const size = 1 << 20
	rc := func(name, says string, content part) hostile {
		return hostile{name: "CLI configuration " + name, says: says, files: requiresProvider, rc: string(content()), answers: answers{}, args: []string{"lock", "--create", "--platform=linux_amd64", "."}}
	}
	return []hostile{
		rc("of 1 MiB of `[`", tooManyBrackets, text("a = ", repeat("[", size))),
		rc("of blocks in each other", tooManyBrackets, repeat("a {\n", size/4)),
		rc("of 4,900 hosts", notSigned, numbered("host \"h%d.example\" {\n services = {}\n}\n", 4_900)),
		rc("of 9,900 credentials", notSigned, numbered("credentials \"h%d.example\" {\n token = \"x\"\n}\n", 9_900)),
		rc("of an installation method with 30,000 patterns", "no installation method of the CLI configuration is for", text("provider_installation {\n direct {\n  include = [", numbered("\"evil.example/a/b%d\",", 30_000), "]\n }\n}\n")),
		rc("with a string of 1 MiB", notSigned, text("plugin_cache_dir = \"", repeat("x", size), "\"\n")),
	}
}

// mirrors are answers of a network mirror and of an OCI registry.
func mirrors() []hostile {
	const network = "provider_installation {\n  network_mirror {\n    url = \"https://HOST/mirror/\"\n  }\n}\n"
	index, archives := "/mirror/evil.example/a/b/index.json", "/mirror/evil.example/a/b/1.0.0.json"
	one := text(`{"versions":{"1.0.0":{}}}`)
	mirror := func(name, path string, says string, content part) hostile {
		return hostile{name: name, says: says, files: requiresProvider, rc: network, answers: answers{index: one, path: content}, args: []string{"upgrade", "--create", "--platform=linux_amd64", "."}}
	}
	const oci = "provider_installation {\n  oci_mirror {\n    repository_template = \"HOST/b\"\n    include = [\"evil.example/a/b\"]\n  }\n}\n"
	tagged := func(name, path string, says string, content part) hostile {
		return hostile{name: name, says: says, files: requiresProvider, rc: oci, answers: answers{"/v2/b/tags/list": text(`{"name":"b","tags":["1.0.0"]}`), path: content}, args: []string{"upgrade", "--create", "--tool=opentofu", "--platform=linux_amd64", "."}}
	}
	return []hostile{
		mirror("network mirror's list of 200,000 versions", index, tooManyParts, text(`{"versions":{"1.0.0":{}`, numbered(`,"1.%d.0":{}`, 400_000/2), "}}")),
		mirror("network mirror's list of 4 MiB of brackets", index, tooManyParts, repeat("[", 4<<20-10)),
		mirror("network mirror's list of 100,000 packages", archives, tooManyParts, text(`{"archives":{"linux_amd64":{"url":"x.zip"}`, numbered(`,"linux_%d":{"url":"x"}`, 100_000), "}}")),
		mirror("network mirror's package with 300,000 hashes", archives, "downloading", text(`{"archives":{"linux_amd64":{"url":"x.zip","hashes":["zh:00"`, numbered(`,"h1:%d"`, 300_000), "]}}}")),
		tagged("OCI registry's list of 350,000 tags", "/v2/b/tags/list", "breaks the protocol of OCI registries", text(`{"name":"b","tags":["1.0.0"`, numbered(`,"1.%d.0"`, 350_000), "]}")),
		tagged("OCI registry's index of 280,000 packages", "/v2/b/manifests/1.0.0", "breaks the protocol of OCI registries", text(`{"schemaVersion":2,"manifests":[{}`, repeat(`,{"digest":"x"}`, 4<<20/15-10), "]}")),
	}
}

// moduleServers are answers of an object store and of a git server, to which a registry
// of modules leads. What git itself takes counts, too.
func moduleServers() []hostile {
	at := func(name, location, path, says string, content part) hostile {
		h := moduleRegistry(name, path, content, says, false)
		h.answers[pathLocation] = text(`{"location":"` + location + `"}`)
		return h
	}
	const bucket = "s3::https://HOST/bucket/dir?aws_access_key_id=a&aws_access_key_secret=b"
	const repository = "git::https://HOST/r.git"
	return []hostile{
		at("object store's list of 1.4 million objects", bucket, "/bucket", "is no list of objects", text(`<ListBucketResult>`, repeat("<Contents/>", 16<<20/11-10), `</ListBucketResult>`)),
		at("object store's list of 16 MiB of elements in each other", bucket, "/bucket", "is no list of objects", text(`<ListBucketResult>`, repeat("<a>", 16<<20/3-10))),
		{name: "git repository of seven trees that make 10 million files", says: "more than 200000 files and directories", args: []string{"upgrade", "--create", "."}, files: func() map[string][]byte {
			files := nestedTrees(7)
			files["main.tf"] = []byte("module \"m\" {\n source = \"git::file://HERE/r.git\"\n}\n")
			return files
		}},
		ofGit(at("git server's list of 450,000 branches", repository, "/r.git/info/refs", "could not be read", advertisedRefs(450_000))),
		at("git server's list that is longer", repository, "/r.git/info/refs", "is longer than 33554432 bytes", advertisedRefs(1_500_000)),
		ofGit(second(at("git server's list of 1.5 million branches, by protocol 2", repository, "/r.git/git-upload-pack", "could not be read", listedRefs(1_500_000)))),
	}
}

// wholePackages are packages of 200 MB that get writes to the disk. They are no attack, and must be
// in no program's memory as a whole.
func wholePackages() []hostile {
	const size = 200_000_000
	args := []string{"get", "--tool=opentofu", "."}
	const written = "1 module of 1 package written"
	large := repeat("x", size)
	archive := module("module tar.gz with a file of 200 MB that get writes", func() []byte {
		head := tarHeader(tar.Header{Name: "large.bin", Mode: 0o644, Size: size})
		return gzipped(slices.Concat(head, large(), make([]byte, 1024+512-size%512)))
	}, written, false)
	archive.args, archive.memory = args, mostWhole
	archive.files = func() map[string][]byte {
		sum := sha256.Sum256(fmt.Appendf(nil, "%x  large.bin\n", sha256.Sum256(large())))
		lock := fmt.Appendf(nil, "module \"evil.example/a/b/c\" \"1.0.0\" {\n  hash = \"h1:%s\"\n}\n", base64.StdEncoding.EncodeToString(sum[:]))
		return map[string][]byte{"main.tf": callsModule()["main.tf"], ".modules.lock.hcl": lock}
	}
	return []hostile{archive, {name: "git repository with a file of 200 MB that get writes", says: written, args: args, memory: mostWhole, files: func() map[string][]byte {
		r := newBareRepository()
		commit := r.commit(1, "100644", r.object("blob", large()))
		r.files["main.tf"] = []byte("module \"m\" {\n source = \"git::file://HERE/r.git\"\n}\n")
		r.files[".modules.lock.hcl"] = fmt.Appendf(nil, "module \"git::file://HERE/r.git\" \"\" {\n  hash = \"git:%s\"\n}\n", commit)
		return r.files
	}}}
}

// bareRepository is a bare git repository, r.git, by its files. Who serves it must have no large
// file whole in memory, either, to be measured together with who asks.
type bareRepository struct{ files map[string][]byte }

func newBareRepository() bareRepository {
	return bareRepository{map[string][]byte{
		"r.git/config": []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tbigFileThreshold = 16m\n"), "r.git/HEAD": []byte("ref: refs/heads/main\n"),
		"r.git/refs/keep": nil,
	}}
}

// object adds an object, and returns its ID.
func (r bareRepository) object(kind string, content []byte) []byte {
	whole := append(fmt.Appendf(nil, "%s %d\x00", kind, len(content)), content...)
	id := sha1.Sum(whole)
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	w.Write(whole)
	w.Close()
	r.files[fmt.Sprintf("r.git/objects/%x/%x", id[:1], id[1:])] = packed.Bytes()
	return id[:]
}

// commit adds the only commit, of a tree that holds an object so many times, and returns its ID.
func (r bareRepository) commit(times int, mode string, id []byte) string {
	const who = "a <a@example.com> 1700000000 +0000"
	commit := fmt.Sprintf("%x", r.object("commit", fmt.Appendf(nil, "tree %x\nauthor %s\ncommitter %s\n\nx\n", r.tree(times, mode, id), who, who)))
	r.files["r.git/refs/heads/main"] = []byte(commit + "\n")
	return commit
}

// tree adds a tree that holds an object so many times.
func (r bareRepository) tree(times int, mode string, id []byte) []byte {
	var tree bytes.Buffer
	for i := range times {
		fmt.Fprintf(&tree, "%s %d\x00%s", mode, i, id)
	}
	return r.object("tree", tree.Bytes())
}

// nestedTrees is a repository of a commit whose trees hold one another ten times each: of ten
// times as many files at each depth, in a few hundred bytes.
func nestedTrees(depth int) map[string][]byte {
	r := newBareRepository()
	mode, id := "100644", r.object("blob", nil)
	for range depth - 1 {
		mode, id = "40000", r.tree(10, mode, id)
	}
	r.commit(10, mode, id)
	return r.files
}

// ofGit is a row in which git itself takes most of the memory.
func ofGit(h hostile) hostile {
	h.memory = mostOfGit
	return h
}

// second lets a git server speak version 2 of the protocol, which asks for branches.
// https://git-scm.com/docs/protocol-v2
func second(h hostile) hostile {
	h.answers["/r.git/info/refs"] = text("001e# service=git-upload-pack\n0000000eversion 2\n0015agent=git/2.39.5\n0013ls-refs=unborn\n0012fetch=shallow\n0000")
	return h
}

// listedRefs is the answer of version 2, of all branches whatever was asked for.
func listedRefs(n int) part {
	return func() []byte {
		var b bytes.Buffer
		for i := range n {
			line := fmt.Sprintf("c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0 refs/heads/%d\n", i)
			fmt.Fprintf(&b, "%04x%s", len(line)+4, line)
		}
		b.WriteString("0000")
		return b.Bytes()
	}
}

// advertisedRefs is the list of branches with which a git server answers first.
// https://git-scm.com/docs/http-protocol#_smart_server_response
func advertisedRefs(n int) part {
	return func() []byte {
		var b bytes.Buffer
		line := func(text string) { fmt.Fprintf(&b, "%04x%s", len(text)+4, text) }
		line("# service=git-upload-pack\n")
		b.WriteString("0000")
		line("c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0 HEAD\x00symref=HEAD:refs/heads/main agent=git/2\n")
		for i := range n {
			line(fmt.Sprintf("c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0 refs/heads/%d\n", i))
		}
		b.WriteString("0000")
		return b.Bytes()
	}
}

// gitHub are answers of GitHub's API about a repository.
func gitHub() []hostile {
	const head = "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"
	api := "/api/repos/acme/infra"
	honest := answers{
		api:                                      text(`{"id":1,"node_id":"R","full_name":"acme/infra","default_branch":"main"}`),
		api + "/git/ref/heads/main":              text(`{"ref":"refs/heads/main","object":{"type":"commit","sha":"` + head + `"}}`),
		api + "/git/trees/" + head:               text(`{"sha":"` + head + `","tree":[]}`),
		api + "/tarball/" + head:                 text("none"),
		"/api/graphql":                           text(`{"data":{"repository":{"id":"R"}}}`),
		api + "/git/matching-refs/heads/relock/": text("[]"),
	}
	of := func(name, path, says string, content part) hostile {
		all := maps.Clone(honest)
		all[path] = content
		return hostile{name: "GitHub's " + name, says: says, files: func() map[string][]byte { return nil }, answers: all, github: true, args: []string{"pr", "--dry-run", "--repo", "acme/infra"}}
	}
	entry := `{"path":"a%d/main.tf","mode":"100644","type":"blob","sha":"c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0","size":1},`
	return []hostile{
		of("tree of 140,000 files", api+"/git/trees/"+head, "reading files of commit", text(`{"sha":"`+head+`","tree":[`, numbered(entry, 140_000), `{"path":"x","mode":"100644","type":"blob","sha":"`+head+`","size":1}]}`)),
		of("tree of 32 MiB of brackets", api+"/git/trees/"+head, muchAnswered, text(`{"tree":`, repeat("[", 32<<20-100))),
		of("tree of 11 million entries without a name", api+"/git/trees/"+head, muchAnswered, text(`{"sha":"`+head+`","tree":[{}`, repeat(",{}", 32<<20/3-100), "]}")),
		of("tree of 10,000 files below 900 directories", api+"/git/trees/"+head, "reading files of commit", text(`{"sha":"`+head+`","tree":[`, deepEntries(head), "]}")),
		of("list of 150,000 branches", api+"/git/matching-refs/heads/relock/", "there are more than 10000 of them", text(`[{"ref":"refs/heads/relock/a"}`, numbered(`,{"ref":"refs/heads/relock/all-%08d","object":{"sha":"`+head+`"}}`, 150_000), "]")),
		of("answer of 32 MiB about pull requests", "/api/graphql", "no root modules", text(`{"data":{"repository":{"id":"R","b0":{"nodes":[{}`, repeat(",{}", 32<<20/3-100), "]}}}}")),
	}
}

// deepEntries are files in directories that are 900 deep.
func deepEntries(sha string) part {
	return func() []byte {
		var b bytes.Buffer
		deep := strings.Repeat("a/", 900)
		for i := range 10_000 {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"path":"%sf%d.tf","mode":"100644","type":"blob","sha":"%s","size":1}`, deep, i, sha)
		}
		return b.Bytes()
	}
}

// releaseNotes are changelogs of a megabyte.
func releaseNotes() []hostile {
	const size = 1 << 20
	changelog := func(name string, content part) hostile {
		return hostile{
			name: "release notes of 1 MiB of " + name, says: "Bump", files: file("CHANGELOG.md", text("# 1.1.0\n", content)),
			program: "notes", args: []string{},
		}
	}
	return []hostile{
		changelog("empty lines", text("x", repeat("\n", size))),
		changelog("quotations in each other", text("# BREAKING CHANGES\n", repeat(">", size))),
		changelog("lists in each other", text("# BREAKING CHANGES\n", repeat("- ", size/2), "x")),
		changelog("emphasis", text("# BREAKING CHANGES\n", repeat("_a*", size/3))),
		changelog("open links", text("# BREAKING CHANGES\n", repeat("[a](", size/4))),
		changelog("headings", repeat("## BREAKING CHANGES\n_a*\n", size/24)),
		changelog("definitions of references", text("# BREAKING CHANGES\n", numbered("[a%d]: b\n", size/12))),
	}
}

func init() { programs["notes"] = writeNotes }

// writeNotes is a program that writes the body of a pull request for five releases whose
// notes are all the CHANGELOG.md here.
func writeNotes() {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	src := publisher(strings.ReplaceAll(string(text), "# 1.1.0\n", ""))
	from, to := versionOf("1.0.0"), versionOf("1.5.0")
	upgrade := notes.Upgrade{Addr: provider.Addr{Host: "registry.terraform.io", Namespace: "acme", Type: "tool"}, From: from, To: to}
	read := notes.Read(context.Background(), src, src, "github.com", []notes.Upgrade{upgrade})
	fmt.Println("Bump", len(render.Body(report.Report{Verb: verbs.PR, Notes: read}).String()))
}

func versionOf(text string) provider.Version {
	v, err := provider.ParseVersion(text)
	if err != nil {
		panic(err)
	}
	return v
}

// publisher is where all releases are that have one text.
type publisher string

// Versions implements notes.Source.
func (p publisher) Versions(context.Context, provider.Tool, provider.Addr) (provider.Offer, error) {
	var all []provider.Release
	for i := range 6 {
		all = append(all, provider.Release{Version: versionOf(fmt.Sprintf("1.%d.0", i))})
	}
	return provider.Offer{Releases: all}, nil
}

// Repository implements notes.Source.
func (p publisher) Repository(context.Context, provider.Tool, provider.Want) (provider.Repository, error) {
	return provider.Repository{Host: "github.com", Owner: "acme", Name: "tool", Tag: "v1.5.0"}, nil
}

// Releases implements notes.Hub.
func (p publisher) Releases(_ context.Context, asked []provider.Tagged) ([][]provider.Announcement, error) {
	found := make([][]provider.Announcement, len(asked))
	for i, a := range asked {
		for _, tag := range a.Tags {
			found[i] = append(found[i], provider.Announcement{Tag: tag, Text: string(p)})
		}
	}
	return found, nil
}

// Files implements notes.Hub.
func (p publisher) Files(_ context.Context, asked []provider.Tagged, _ string) ([]string, error) {
	return make([]string, len(asked)), nil
}
