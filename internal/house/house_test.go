package house

import (
	"cmp"
	"go/ast"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/zip"
)

// levels is the house: a package imports only packages of a lower level.
var levels = map[string]int{
	"provider": 0, "globs": 0, "file": 0, "inflate": 0, "zipfile": 0, "collect": 0, "verbs": 0, "examples": 0,
	"problem": 1,
	"ask":     2, "content": 2, "hash": 2, "memo": 2, "transport": 2, "hclfile": 2, "moduleaddr": 2, "staticeval": 2, "versionfile": 2, "safe": 2, "typed": 2,
	"lockfile": 3, "policy": 3, "box": 3, "cliconfig": 3, "filetree": 3,
	"tfconfig": 4, "diff": 4, "modulelock": 4, "coverage": 4, "oci": 4, "settings": 4, "github": 4, "worktree": 4,
	"scan": 5, "ledger": 5, "setup": 5,
	"module": 6, "registry": 6, "upgrade": 6, "verify": 6, "notes": 6, "comment": 6, "units": 6,
	"report": 7, "ruling": 7, "action": 7, "pr": 7, "dashboard": 7, "terragrunt": 7, "modulesdir": 7,
	"outline":      8,
	"render":       9,
	"run":          10,
	"conversation": 11, "organisation": 11,
	"command": 12,
}

// outside holds packages that stand beside the levels: what they may import of
// ours, and who may import them besides tests.
var outside = map[string]struct{ imports, importers []string }{
	"sandbox": {imports: []string{"provider", "lockfile", "hash", "transport", "settings", "sandbox/schema"}, importers: []string{"demo", "judge"}},
	// demo shows the main job in a sandbox, and is a program of its own.
	"demo": {imports: []string{"command", "sandbox"}},
	// judge compares two builds of the program, and is part of none.
	"judge": {imports: []string{"provider", "lockfile", "sandbox", "sandbox/random"}},
	// watch looks for releases of the tools, and is part of no program.
	"watch": {imports: []string{"provider", "terragrunt"}},
	// moduletest makes fixtures for tests and is part of no program.
	"module/moduletest": {},
	// worktreetest makes git repositories for tests and is part of no program.
	"worktree/worktreetest": {},
	// safetest checks Markdown for tests and is part of no program.
	"safe/safetest": {},
	// random makes worlds for tests and for the judge.
	"sandbox/random": {importers: []string{"judge"}},
	// described compares what tests ask GitHub with its own description.
	"sandbox/described": {imports: []string{"sandbox/schema"}},
	// schema is what GitHub publishes of its GraphQL.
	"sandbox/schema": {importers: []string{"sandbox", "sandbox/described"}},
	// trusted is for tests that speak https.
	"sandbox/trusted": {},
	// waves is for tests that count round trips.
	"sandbox/waves": {},
	// bubble is for tests in virtual time.
	"sandbox/bubble": {},
	// pictures draws what the README shows, and is part of no program of a release.
	"pictures":     {importers: []string{".ci/pictures"}},
	".ci/pictures": {imports: []string{"pictures"}},
	// mutate makes mistakes that the tests must notice, and is a program of its own.
	".ci/mutate": {},
	// house has the tests that read the repository, as this one.
	"house": {},
}

// rule forbids an import (a path, or a prefix of paths that ends in /) to every
// package but those named.
type rule struct {
	forbidden string
	except    []string // packages below internal/; "main" is the program
	reason    string
}

// direct rules hold for the imports that a package writes itself.
var direct = []rule{
	{"github.com/google/go-github/", []string{"github"}, "its major version is in the path; keep it in one place"},
	{"github.com/sethvargo/go-githubactions", []string{"action"}, "it escapes nothing; action does"},
	{"github.com/hashicorp/hcl/v2", []string{"hclfile", "lockfile", "modulelock", "staticeval", "tfconfig", "scan", "units", "terragrunt", "cliconfig"}, "HCL is for files of the tools"},
	{"github.com/hashicorp/hcl", []string{"cliconfig"}, "HCL 1 is for the CLI configuration alone"},
	{"github.com/go-git/go-git/", []string{"worktree", "sandbox"}, "git on disk is read in one place; the sandbox keeps repositories in it"},
	{"github.com/ProtonMail/go-crypto/", []string{"registry", "sandbox"}, "signatures are verified in one place"},
	{module + "/internal/render", []string{"conversation", "command"}, "a run results in a report; who answers or prints writes it for people"},
	{module + "/internal/comment", []string{"conversation", "command"}, "a run does not know who asks for it"},
	{"github.com/vektah/gqlparser/", []string{"sandbox", "sandbox/schema"}, "GraphQL is read where GitHub is played; relock asks, and reads none"},
	{"oras.land/oras-go/v2", []string{"cliconfig", "oci"}, "OCI registries are asked in one place; cliconfig reads their addresses"},
	{"oras.land/oras-go/v2/registry/remote", []string{"oci"}, "OCI registries are asked in one place"},
	{"github.com/owenrumney/go-sarif/", []string{"render"}, "SARIF is one format of the report"},
	{"github.com/yuin/goldmark", []string{"safe", "pictures"}, "Markdown of others is read in one place; pictures are of our own"},
	{"html/template", []string{"pictures"}, "it calls methods by name, so the linker keeps those of all libraries: 6 MB"},
	{"text/template", []string{"pictures"}, "it calls methods by name, so the linker keeps those of all libraries: 6 MB"},
	{"github.com/spf13/cobra", []string{"command"}, "the command line is one package"},
	{"github.com/goccy/go-yaml", []string{"settings", "sandbox"}, "our only YAML is the configuration file"},
	{"github.com/pelletier/go-toml/", []string{"versionfile"}, "our only TOML is mise's"},
	{"os/exec", []string{"cliconfig", "module"}, "relock runs no program but credentials helpers and git"},
	{"net/http", []string{"transport", "cliconfig", "oci", "module", "registry", "github", "sandbox"}, "the network is behind transport"},
	{"log/slog", []string{"transport", "cliconfig", "module", "registry", "github", "pr", "run", "conversation", "command", "action"}, "provider, lockfile, scan, diff and upgrade return what they know"},
}

// pure packages must not reach the network through any of our packages.
var pure = []string{"provider", "problem", "globs", "policy", "lockfile", "modulelock", "hash", "settings", "staticeval", "versionfile", "tfconfig", "scan", "diff", "units", "terragrunt", "coverage", "upgrade", "ledger", "verify", "ruling", "comment", "box", "report", "outline", "render"}

func TestHouseImportsOnlyDownwards(t *testing.T) {
	for _, s := range rooms(t) {
		if s.name == "main" {
			if !slices.Equal(s.ours(), []string{"command"}) {
				t.Errorf("main imports %v, want command alone", s.ours())
			}
			continue
		}
		own, beside := outside[s.name]
		level, known := levels[s.name]
		if !beside && !known {
			t.Errorf("%s has no place in the house: add it to the table", s.path)
		}
		for _, name := range s.ours() {
			to, isOutside := outside[name]
			switch {
			case isOutside && !slices.Contains(to.importers, s.name):
				t.Errorf("%s imports %s, which is for %v and tests", s.name, name, to.importers)
			case beside && !slices.Contains(own.imports, name):
				t.Errorf("%s imports %s, want only %v", s.name, name, own.imports)
			case !beside && !isOutside && levels[name] >= level:
				t.Errorf("%s (level %d) imports %s (level %d)", s.name, level, name, levels[name])
			}
		}
	}
}

func TestHouseKeepsLibrariesInTheirRooms(t *testing.T) {
	for _, s := range rooms(t) {
		if isForTests(s.name) {
			continue
		}
		for _, path := range s.imports {
			for _, r := range direct {
				if !slices.Contains(r.except, s.name) && forbids(r.forbidden, path) {
					t.Errorf("%s imports %s: %s", s.name, path, r.reason)
				}
			}
		}
	}
}

// isForTests reports whether no program imports a package.
func isForTests(name string) bool {
	own, ok := outside[name]
	return ok && len(own.importers) == 0
}

// forbids reports whether the pattern covers the import path. Of the two major
// versions of HCL, which share a prefix, each has a row of its own.
func forbids(pattern, path string) bool {
	if pattern == "github.com/hashicorp/hcl" {
		return path == pattern || strings.HasPrefix(path, pattern+"/") && !strings.HasPrefix(path, pattern+"/v2")
	}
	return path == pattern || strings.HasPrefix(path, strings.TrimSuffix(pattern, "/")+"/")
}

func TestHouseReachesNoNetworkFromPureRooms(t *testing.T) {
	imports := map[string][]string{}
	networked := map[string]bool{}
	for _, s := range rooms(t) {
		imports[s.name] = s.ours()
		networked[s.name] = slices.Contains(s.imports, "net/http") || slices.Contains(s.imports, "net")
	}
	var reaches func(name string) string
	reaches = func(name string) string {
		if networked[name] {
			return name
		}
		for _, next := range imports[name] {
			if via := reaches(next); via != "" {
				return name + " -> " + via
			}
		}
		return ""
	}
	for _, name := range pure {
		if via := reaches(name); via != "" {
			t.Errorf("%s reaches the network: %s", name, via)
		}
	}
}

// use forbids what a package names of another one, but to those listed: a
// package below internal/, or a file of one. What imports alone cannot say.
type use struct {
	names  []string
	except []string
	reason string
}

var uses = []use{
	{[]string{"os.Getenv", "os.LookupEnv", "os.Environ"}, []string{"main"}, "the environment is main's to read"},
	{[]string{"os.Exit"}, []string{"main"}, "a status is main's to return"},
	{[]string{"time.Sleep"}, nil, "whoever waits must be able to stop"},
	{
		[]string{"safe.Ours"},
		[]string{
			"comment/verb.go",        // the table of the language: its rows are constants
			"pr/body.go",             // a body goes back to where it was read; marker and ignores have a form that was checked
			"dashboard/dashboard.go", // a marker of digests
			"box/box.go",             // a box whose parts have a form that is checked
			"render/markdown.go",     // the body of a pull request as a report has it, which a run wrote
			"render/sentence.go",     // and the answer to a comment, which was posted
		},
		"what is posted is made of constants and known pieces",
	},
	{
		[]string{
			"net.Dial", "net.DialTimeout", "net.DialIP", "net.DialTCP", "net.DialUDP", "net.DialUnix", "net.Dialer",
			"tls.Dial", "tls.DialWithDialer", "tls.Dialer", "tls.Client", "smtp.Dial", "rpc.Dial", "rpc.DialHTTP",
			"http.Client", "http.DefaultClient", "http.Transport", "http.DefaultTransport",
			"http.Get", "http.Head", "http.Post", "http.PostForm",
			"net.Resolver", "net.DefaultResolver", "net.LookupAddr", "net.LookupHost", "net.LookupIP",
		},
		[]string{"transport"},
		"one package makes connections, by one table of what may be connected to",
	},
	{
		[]string{"net.Listen", "net.ListenTCP", "net.ListenUDP", "net.ListenUnix", "net.ListenPacket", "http.ListenAndServe", "http.Serve"},
		[]string{"sandbox"},
		"nobody asks relock anything",
	},
	{
		[]string{"git.Clone", "git.PlainClone", "git.PlainCloneContext", "git.CloneContext", "git.NewRemote"},
		nil,
		"go-git dials by itself; it is for repositories that are here",
	},
	{
		[]string{
			"os.WriteFile", "os.Create", "os.CreateTemp", "os.OpenFile", "os.Mkdir", "os.MkdirAll", "os.MkdirTemp", "os.CopyFS",
			"os.OpenRoot", "os.Rename", "os.Remove", "os.RemoveAll", "os.Symlink", "os.Link",
			"os.Chmod", "os.Chown", "os.Lchown", "os.Chtimes", "os.Truncate",
			"ioutil.WriteFile", "ioutil.TempFile", "ioutil.TempDir",
		},
		[]string{
			"file",
			"action/tell.go",       // the runner's files of outputs and summaries are appended to
			"hash/cache.go",        // the hash cache makes its directory before it is known to be of use,
			"hash/record.go",       // and is appended to while a run goes on
			"module/gitrun.go",     // git works on a directory
			"module/repository.go", // and so does what prepares one
			"modulesdir",           // a directory of packages is confined by an os.Root
			"sandbox",              // plays people who change files
		},
		"what comes from outside must not decide where relock writes",
	},
}

// TestHouseAsksTheWorldInOnePlace holds who reads the environment, makes
// connections and writes to the disk.
func TestHouseAsksTheWorldInOnePlace(t *testing.T) {
	for _, s := range rooms(t) {
		if isForTests(s.name) {
			continue
		}
		for _, sel := range selectors(t, s) {
			for _, u := range uses {
				excepted := slices.Contains(u.except, s.name) || slices.Contains(u.except, s.name+"/"+sel.file)
				if slices.Contains(u.names, sel.name) && !excepted && !sel.pointer {
					t.Errorf("%s/%s:%d uses %s: %s", s.name, sel.file, sel.line, sel.name, u.reason)
				}
			}
		}
	}
}

// fetching are libraries that take a URL and make connections of their own, or
// write what they fetch to the disk. Prefixes of packages and, but for those with
// an equals sign, of modules.
var fetching = []string{
	"github.com/hashicorp/go-getter",
	"github.com/aws/aws-sdk-go/",
	"github.com/aws/aws-sdk-go-v2/config", "github.com/aws/aws-sdk-go-v2/credentials", "github.com/aws/aws-sdk-go-v2/feature/", "github.com/aws/aws-sdk-go-v2/service/",
	"cloud.google.com/", "google.golang.org/api/", "google.golang.org/genproto", "google.golang.org/grpc",
	"=golang.org/x/oauth2/google",                           // asks the metadata service; packages below it do not
	"github.com/go-git/go-git/v5/plumbing/transport/client", // every protocol of git; the package git brings it along
}

func fetches(path string) bool {
	return slices.ContainsFunc(fetching, func(pattern string) bool {
		exact, ok := strings.CutPrefix(pattern, "=")
		return ok && path == exact || !ok && strings.HasPrefix(path+"/", pattern)
	})
}

// TestHouseHasNoLibraryThatFetches holds for all that the program is made of, and
// for all modules that go.mod names.
func TestHouseHasNoLibraryThatFetches(t *testing.T) {
	for _, path := range inProgram(t) {
		if fetches(path) {
			t.Errorf("the program has the package %s", path)
		}
	}
	for _, r := range goMod(t).Require {
		if fetches(r.Mod.Path) {
			t.Errorf("go.mod names the module %s", r.Mod.Path)
		}
	}
}

// goMod is what go.mod says.
func goMod(t *testing.T) *modfile.File {
	t.Helper()
	file, err := modfile.Parse("go.mod", read(t, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// forOthers are prefixes of packages that are for tests, for the demonstration and for
// the judge. No user has a use for them.
var forOthers = []string{
	module + "/internal/sandbox", module + "/internal/judge", module + "/internal/watch", module + "/demo",
	"github.com/getkin/kin-openapi", "github.com/vektah/gqlparser", "net/http/httptest", "testing",
}

// TestHouseKeepsTheSandboxOutOfTheProgram holds that the program has none of forOthers,
// and that each row there is a package that something of ours imports.
func TestHouseKeepsTheSandboxOutOfTheProgram(t *testing.T) {
	program := inProgram(t)
	if !slices.Contains(program, module+"/internal/command") {
		t.Fatalf("the program is made of %d packages, and command is none of them", len(program))
	}
	var used []string
	for _, s := range rooms(t) {
		used = slices.Concat(used, []string{s.path}, s.imports, s.tests)
	}
	for _, prefix := range forOthers {
		below := func(path string) bool { return strings.HasPrefix(path+"/", prefix+"/") }
		if i := slices.IndexFunc(program, below); i >= 0 {
			t.Errorf("the program has the package %s", program[i])
		}
		if !slices.ContainsFunc(used, below) {
			t.Errorf("%s is no package that we use: take it from the list", prefix)
		}
	}
}

// TestHouseRunsWithoutAClone holds what go run and go install ask of a module that they
// fetch at a version [cmd/go: go help install]: go.mod must not contain directives that
// mean something else in the main module, and each file must have a name that every
// system allows.
func TestHouseRunsWithoutAClone(t *testing.T) {
	file := goMod(t)
	for _, r := range file.Replace {
		t.Errorf("go.mod replaces %s", r.Old)
	}
	for _, e := range file.Exclude {
		t.Errorf("go.mod excludes %s", e.Mod)
	}
	if _, err := fs.Stat(repository, "demo/go.mod"); err == nil {
		t.Error("demo is a module of its own, which go run does not find in this one")
	}
	checked, err := zip.CheckDir(top)
	if err != nil {
		t.Errorf("nobody can fetch this module: %v", err)
	}
	if len(checked.Valid) < 1000 {
		t.Errorf("the module has %d files, which cannot be all", len(checked.Valid))
	}
}

// selector is what a file names of a package of the standard library, or of
// anything else that stands before a dot.
type selector struct {
	name string // as if the package had its own name there
	file string
	line int
	// pointer marks *http.Client and the like: a type that is passed, not made.
	pointer bool
}

func selectors(t *testing.T, s *room) []selector {
	t.Helper()
	var found []selector
	for _, file := range s.files {
		renamed := renamedImports(t, s, file)
		pointers := map[ast.Expr]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.StarExpr:
				pointers[n.X] = true
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok {
					of, at := cmp.Or(renamed[x.Name], x.Name), s.fset.Position(n.Pos())
					found = append(found, selector{of + "." + n.Sel.Name, path.Base(at.Filename), at.Line, pointers[n]})
				}
			}
			return true
		})
	}
	return found
}

// renamedImports are the packages of the standard library that a file gives
// another name.
func renamedImports(t *testing.T, s *room, file *ast.File) map[string]string {
	t.Helper()
	renamed := map[string]string{}
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		switch first, _, _ := strings.Cut(path, "/"); {
		case i.Name == nil:
		case i.Name.Name == ".":
			t.Errorf("%s imports %s without a name", s.path, path)
		case !strings.Contains(first, "."):
			renamed[i.Name.Name] = filepath.Base(path)
		}
	}
	return renamed
}
