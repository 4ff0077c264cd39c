package run

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/terragrunt"
	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

var changes = flag.Uint64("changes", 300, "how many trees TestChangeTouchesWhatItMakesDifferent changes; that of working trees a tenth of it")

// A change touches each root module of which it makes something else: a random tree,
// in which one random path is added, changed, deleted, renamed or made a link.
func TestChangeTouchesWhatItMakesDifferent(t *testing.T) {
	t.Parallel()
	different := 0
	for seed := range *changes {
		base := randomFiles(rand.New(rand.NewPCG(seed, 1)))
		head := base.mutated(rand.New(rand.NewPCG(seed, 2)))
		before := observed(t, base.tree(t), nil)
		altered := madeDifferent(before, observed(t, head.tree(t), nil))
		if len(altered) == 0 {
			continue
		}
		different += len(altered)
		changed := newChanged(changedPathsIn(head.tree(t), base.differing(head)))
		narrowed := observed(t, head.tree(t), changed.touches)
		for dir, after := range altered {
			if _, touched := narrowed[dir]; !touched {
				t.Fatalf("seed %d: %q changed, and %s is not touched by that, of which before\n%s\nand after\n%s\nin\n%s",
					seed, base.differing(head), dir, before[dir], after, head)
			}
		}
	}
	if uint64(different) < *changes/10 {
		t.Errorf("%d changes of %d trees made a root module different: the trees show nothing", different, *changes)
	}
}

// madeDifferent is what is observed of the directories of which an earlier observation has
// something else, or nothing.
func madeDifferent(before, after map[string]string) map[string]string {
	maps.DeleteFunc(after, func(dir, text string) bool {
		was, known := before[dir]
		return known && was == text
	})
	return after
}

// observed is all that a plan or a verification depends on, by the directories of the
// root modules.
func observed(t *testing.T, files fs.FS, wanted func(scan.RootModule) bool) map[string]string {
	t.Helper()
	modules, _, err := rootModules(t.Context(), files, terragrunt.Options{Source: onePackage{}, Scan: scan.Options{Orphans: true, Wanted: wanted}})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range modules {
		m.AnyChange, m.Files, m.Made.Sources, m.Tree.Dirs, m.Tests.Dirs = false, nil, nil, nil, nil // which say what it depends on
		r := report.FromScan(m)
		text, err := json.Marshal([]any{r, r.Scan})
		if err != nil {
			t.Fatal(err)
		}
		source := ""
		if m.Lock != nil {
			source = string(m.Lock.Source)
		}
		all[m.Dir] = fmt.Sprintf("%s\n%s plugins: %t, standalone: %t\n%s", text, m.Tool, hasPlugins(tree{remote: &Remote{FS: files}}, m), m.Standalone(), source)
	}
	return all
}

// onePackage is the source of a module that is the same everywhere.
type onePackage struct{}

func (onePackage) Fetch(context.Context, provider.Tool, scan.Call) (scan.Package, error) {
	var b filetree.Builder
	if err := b.AddFile("main.tf", 0o644, []byte("resource \"fetched_thing\" \"x\" {}\nvariable \"x\" {}\n")); err != nil {
		return scan.Package{}, err
	}
	return scan.Package{FS: b.Tree(), Dir: ".", ID: "one"}, nil
}

// files are the contents of a repository by their paths; a link begins with "-> ".
type files map[string]string

// randomDirs are the directories of the repositories, besides calledDirs, which have few
// files and are often called. randomNames are names of files with what they may hold,
// in which DIR is a path to a directory.
var (
	randomDirs  = []string{".", "live", "live/a", "live/b", "live/b/own", "shared", "units", "units/u", "units/u/sub", ".own/m"}
	calledDirs  = []string{"modules/x", "modules/y/z", "modules/y", "live/b/own"}
	randomNames = map[string][]string{
		"main.tf": {
			"resource \"null_resource\" \"x\" {}\n", "resource \"random_id\" \"x\" {}\n",
			"module \"a\" {\n  source = \"DIR\"\n}\n", "module \"a\" {\n  source = \"DIR\"\n}\nmodule \"b\" {\n  source = \"DIR\"\n}\n",
			"module \"far\" {\n  source = \"acme/far/any\"\n}\n",
		},
		"more.tf":                          {"resource \"tls_key\" \"x\" {}\n", "terraform {\n  required_version = \"~> 1.3.0\"\n}\n", "module \"c\" {\n  source = \"DIR\"\n}\n"},
		"early.tofu":                       {"module \"read\" {\n  source = trimspace(file(\"DIR/where.txt\"))\n}\n", "variable \"dir\" {}\nmodule \"early\" {\n  source = var.dir\n}\n"},
		"terraform.tfvars":                 {"dir = \"DIR\"\n"},
		"where.txt":                        {"../a\n", "../../modules/x\n"},
		"lock.txt":                         {lockOf("null", "3.2.2"), lockOf("tls", "4.0.0")},
		"more.txt":                         {"resource \"tls_key\" \"x\" {}\n", "resource \"aws_vpc\" \"x\" {}\n"},
		"release.txt":                      {"1.5.0\n", "1.11.0\n"},
		"vars.txt":                         {"dir = \"./one\"\n", "dir = \"./two\"\n"},
		"words.txt":                        {"resource \"dns_a\" \"x\" {}\n", "resource \"dns_b\" \"x\" {}\n"},
		"checks/two.tftest.hcl":            {"provider \"aws\" {}\n", "provider \"tls\" {}\n"},
		"plugins/x":                        {"a"},
		".terraform.lock.hcl":              {lockOf("null", "3.2.2"), lockOf("null", "3.2.4"), lockOf("random", "3.6.0"), "provider {\n"},
		".terraform-version":               {"1.5.0\n", "1.11.0\n"},
		".opentofu-version":                {"1.8.0\n"},
		".config/mise.toml":                {"[tools]\nterraform = '1.5'\n", "[tools]\nopentofu = '1.8'\n"},
		"one.tftest.hcl":                   {"mock_provider \"aws\" {\n  source = \"DIR\"\n}\n", "run \"x\" {\n  module {\n    source = \"DIR\"\n  }\n}\n"},
		"tests/two.tftest.hcl":             {"run \"y\" {\n  module {\n    source = \"DIR\"\n  }\n}\n", "provider \"aws\" {}\n"},
		"terragrunt.hcl":                   {terragruntOf("DIR"), terragruntOf("tfr:///acme/far/any?version=1.0.0"), terragruntOf("")},
		"root.hcl":                         {"generate \"p\" {\n  path = \"p.tf\"\n  if_exists = \"overwrite\"\n  contents = file(\"DIR/env.txt\")\n}\n"},
		"env.txt":                          {"resource \"dns_a\" \"x\" {}\n", "resource \"dns_b\" \"x\" {}\n"},
		"README.md":                        {"a", "b"},
		"terraform.d/plugins/x":            {"a"},
		".terraform/modules/modules.json":  {`{"Modules":[{"Key":"early","Source":"acme/far/any","Dir":".terraform/modules/early"}]}`},
		".terraform/modules/early/main.tf": {"resource \"left_behind\" \"x\" {}\n"},
	}
)

// linkable are names in a root module, of which a link may lead to what would do there.
var linkable = [][2]string{
	{".terraform.lock.hcl", "shared/lock.txt"}, {"more.tf", "shared/more.txt"}, {".terraform-version", "shared/release.txt"},
	{"terraform.tfvars", "shared/vars.txt"}, {"env.txt", "shared/words.txt"}, {"tests", "shared/checks"}, {"terraform.d", "shared"},
	{"linked", "modules/x"},
}

func terragruntOf(source string) string {
	return "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\", \"root.hcl\")\n}\nterraform {\n  source = \"" + source + "\"\n}\n" +
		"locals {\n  found = fileset(get_terragrunt_dir(), \"**/*.txt\")\n}\n" +
		"generate \"q\" {\n  path = \"q.tf\"\n  if_exists = \"overwrite\"\n  contents = join(\"\", [for f in local.found : \"resource \\\"dns_${length(f)}\\\" \\\"x\\\" {}\\n\"])\n}\n"
}

// randomFiles makes a repository in which what may be a root module often is one, and
// links lead to what is there.
func randomFiles(r *rand.Rand) files {
	f := files{}
	names := slices.Sorted(maps.Keys(randomNames))
	for _, dir := range calledDirs {
		if r.IntN(3) > 0 {
			f.add(r, path.Join(dir, []string{"main.tf", "main.tf", "README.md", "sub/main.tf"}[r.IntN(4)]))
		}
	}
	for range 2 + r.IntN(8) {
		f.add(r, path.Join(randomDirs[r.IntN(len(randomDirs))], names[r.IntN(len(names))]))
	}
	for range r.IntN(5) {
		f.link(r, f.somewhere(r))
	}
	for _, dir := range []string{"live/a", "live/b", "units/u"} {
		f.add(r, dir+"/.terraform.lock.hcl")
		f.add(r, dir+"/main.tf")
	}
	f.add(r, "units/u/terragrunt.hcl")
	for range r.IntN(4) {
		l := linkable[r.IntN(len(linkable))]
		name := path.Join([]string{"live", "live/a", "live/b", "units", "units/u", "modules/x"}[r.IntN(6)], l[0])
		for _, below := range []string{"", "/two.tftest.hcl", "/plugins/x"} {
			if len(f.texts(l[1]+below)) > 0 {
				f.add(r, l[1]+below)
			}
		}
		f.put(name, "-> "+filetree.Relative(path.Dir(name), l[1]))
	}
	return f
}

// somewhere is a path: of what is there, of a directory, or of what may be there.
func (f files) somewhere(r *rand.Rand) string {
	names := slices.Sorted(maps.Keys(f))
	switch r.IntN(4) {
	case 0:
		return path.Join(randomDirs[1+r.IntN(len(randomDirs)-1)], "linked")
	case 1:
		return randomDirs[1+r.IntN(len(randomDirs)-1)]
	}
	return names[r.IntN(len(names))]
}

// add puts a file at a path, by its name.
func (f files) add(r *rand.Rand, name string) {
	text := "nothing\n"
	if texts := f.texts(name); len(texts) > 0 {
		text = texts[r.IntN(len(texts))]
	}
	for strings.Contains(text, "DIR") {
		to := randomDirs[r.IntN(len(randomDirs))]
		switch linked := f.links(); {
		case len(linked) > 0 && r.IntN(2) == 0:
			to = linked[r.IntN(len(linked))]
		case r.IntN(3) > 0:
			to = calledDirs[r.IntN(len(calledDirs))]
		}
		from := strings.TrimSuffix(path.Dir(name), "/tests")
		relative := filetree.Relative(from, to)
		if !strings.HasPrefix(relative, ".") {
			relative = "./" + relative
		}
		text = strings.Replace(text, "DIR", relative, 1)
	}
	f.put(name, text)
}

// texts are what a file may hold, by its name.
func (files) texts(name string) (texts []string) {
	for _, suffix := range slices.Sorted(maps.Keys(randomNames)) {
		if strings.HasSuffix("/"+name, "/"+suffix) {
			texts = append(texts, randomNames[suffix]...)
		}
	}
	return texts
}

// link puts a link at a path, to what is there or is not.
func (f files) link(r *rand.Rand, name string) {
	to := f.somewhere(r)
	if r.IntN(2) == 0 {
		to = calledDirs[r.IntN(len(calledDirs))]
	}
	f.put(name, "-> "+filetree.Relative(path.Dir(name), to))
}

// links are the paths of links, sorted.
func (f files) links() []string {
	all := maps.Clone(f)
	maps.DeleteFunc(all, func(_, text string) bool { return !strings.HasPrefix(text, "-> ") })
	return slices.Sorted(maps.Keys(all))
}

// put makes place for what is at a path.
func (f files) put(name, text string) {
	maps.DeleteFunc(f, func(other, _ string) bool {
		return strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/")
	})
	f[name] = text
}

// mutated is the repository after one change of a path.
func (f files) mutated(r *rand.Rand) files {
	f = maps.Clone(f)
	names := slices.Sorted(maps.Keys(f))
	name := names[r.IntN(len(names))]
	switch r.IntN(6) {
	case 0:
		delete(f, name)
	case 1:
		f.add(r, f.somewhere(r))
	case 2:
		f.add(r, path.Join(calledDirs[r.IntN(len(calledDirs))], []string{"README.md", "sub/main.tf"}[r.IntN(2)]))
	case 3:
		f.link(r, f.somewhere(r))
	case 4:
		text := f[name]
		delete(f, name)
		f.put(path.Join(randomDirs[r.IntN(len(randomDirs))], path.Base(name)), text)
	default:
		f.add(r, name)
	}
	return f
}

// differing are the paths at which two repositories differ.
func (f files) differing(other files) []string {
	names := maps.Clone(f)
	maps.Copy(names, other)
	maps.DeleteFunc(names, func(name, _ string) bool {
		a, inF := f[name]
		b, inOther := other[name]
		return inF == inOther && a == b
	})
	return slices.Sorted(maps.Keys(names))
}

func (f files) tree(t *testing.T) *filetree.Tree {
	t.Helper()
	var b filetree.Builder
	for name, text := range f {
		target, isLink := strings.CutPrefix(text, "-> ")
		err := error(nil)
		if isLink {
			err = b.AddLink(name, target)
		} else {
			err = b.AddFile(name, 0o644, []byte(text))
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return b.Tree()
}

func (f files) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, "%s: %q\n", name, f[name])
	}
	return b.String()
}

// A root module depends on paths that nothing names: links, and files that are missing.
// Each case fails without a line that looks for it.
func TestChangeTouchesWhatHasNoName(t *testing.T) {
	t.Parallel()
	lock := lockOf("null", "3.2.2")
	for name, tt := range map[string]struct {
		files files
		path  string // of what is changed to text, or deleted if that is empty
		text  string
		dir   string // of the root module
	}{
		"a file that a function reads early": {files{
			"a/.terraform.lock.hcl": lock, "a/main.tofu": "module \"m\" {\n  source = trimspace(file(\"../where.txt\"))\n}\n", "where.txt": "./x\n",
			"a/x/main.tf": "# x\n", "a/y/main.tf": "resource \"aws_vpc\" \"x\" {}\n",
		}, "where.txt", "./y\n", "a"},
		"a link in the module of a unit": {files{
			"units/u/.terraform.lock.hcl": lock, "units/u/terragrunt.hcl": "terraform {\n  source = \"../../modules/x\"\n}\n",
			"modules/x/main.tf": "# x\n", "modules/x/more.tf": "-> ../../shared/more.txt", "shared/more.txt": "# none\n",
		}, "shared/more.txt", "resource \"aws_vpc\" \"x\" {}\n", "units/u"},
		"a link above that says the release": {files{
			"live/a/.terraform.lock.hcl": lock, "live/a/main.tf": "# a\n", "live/.terraform-version": "-> ../shared/release.txt", "shared/release.txt": "1.5.0\n",
		}, "shared/release.txt", "1.11.0\n", "live/a"},
		"the directory of tests behind a link": {files{
			"a/.terraform.lock.hcl": lock, "a/main.tf": "# a\n", "a/tests": "-> ../checks", "checks/a.tftest.hcl": "# none\n",
		}, "checks/a.tftest.hcl", "run \"x\" {\n  module {\n    source = \"acme/far/any\"\n  }\n}\n", "a"},
		"a link that is gone, above a file that a unit looks for": {files{
			"units/u/.terraform.lock.hcl": lock, "units/u/main.tf": "# u\n", "units/common": "-> ../shared", "shared/env.hcl": "# there\n",
			"units/u/terragrunt.hcl": "locals {\n  there = fileexists(\"../common/env.hcl\")\n}\n" +
				"generate \"p\" {\n  path = \"p.tf\"\n  if_exists = \"overwrite\"\n  contents = local.there ? \"resource \\\"aws_vpc\\\" \\\"x\\\" {}\" : \"\"\n}\n",
		}, "units/common", "", "units/u"},
		"the data of a mock": {files{
			"a/.terraform.lock.hcl": lock, "a/main.tf": "# a\n", "a/x.tftest.hcl": "mock_provider \"aws\" {\n  source = \"../data\"\n}\n",
			"data/only.txt": "x", "b/README.md": "x",
		}, "data/only.txt", "", "a"},
		"a file below a unit whose module is elsewhere": {files{
			"units/u/.terraform.lock.hcl": lock, "units/u/terragrunt.hcl": terragruntOf("tfr:///acme/far/any?version=1.0.0"), "root.hcl": "",
			"units/u/more.tf": "module \"s\" {\n  source = \"./sub\"\n}\n", "units/u/sub/main.tf": "# none\n",
		}, "units/u/sub/main.tf", "resource \"aws_vpc\" \"x\" {}\n", "units/u"},
		"a link below such a unit": {files{
			"units/u/.terraform.lock.hcl": lock, "units/u/terragrunt.hcl": terragruntOf("tfr:///acme/far/any?version=1.0.0"), "root.hcl": "",
			"units/u/more.tf": "module \"s\" {\n  source = \"./sub\"\n}\n", "units/u/sub/main.tf": "-> ../../../shared/more.txt", "shared/more.txt": "# none\n",
		}, "shared/more.txt", "resource \"aws_vpc\" \"x\" {}\n", "units/u"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			head := maps.Clone(tt.files)
			if head[tt.path] = tt.text; tt.text == "" {
				delete(head, tt.path)
			}
			if observed(t, tt.files.tree(t), nil)[tt.dir] == observed(t, head.tree(t), nil)[tt.dir] {
				t.Fatalf("%s makes no difference for %s", tt.path, tt.dir)
			}
			changed := newChanged(changedPathsIn(head.tree(t), tt.files.differing(head)))
			if _, touched := observed(t, head.tree(t), changed.touches)[tt.dir]; !touched {
				t.Errorf("%s is not touched by a change of %s", tt.dir, tt.path)
			}
		})
	}
}

// The same holds of a working tree and the revision that it is compared with, be the
// change committed or not, but for what the tools keep for themselves.
func TestChangeOfWorkingTreeTouchesWhatItMakesDifferent(t *testing.T) {
	t.Parallel()
	different := 0
	for seed := range *changes / 10 {
		base := randomFiles(rand.New(rand.NewPCG(seed, 1)))
		head := base.mutated(rand.New(rand.NewPCG(seed, 3)))
		paths := base.differing(head)
		if len(paths) == 0 || slices.ContainsFunc(paths, func(name string) bool { return strings.Contains(name, ".terraform/") }) {
			continue
		}
		root := lay(t)
		base.write(t, root)
		revision := worktreetest.Commit(t, root)
		before := observed(t, tree{root: root}.FS(), nil)
		for _, name := range paths {
			if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
		head.write(t, root)
		if seed%2 == 0 && len(paths) == 1 { // go-git stumbles over a file in the place of a directory
			worktreetest.Commit(t, root)
		}
		altered := madeDifferent(before, observed(t, tree{root: root}.FS(), nil))
		if len(altered) == 0 {
			continue
		}
		different += len(altered)
		changed, err := changedOnDisk(root, revision)
		if err != nil {
			t.Fatal(err)
		}
		narrowed := observed(t, tree{root: root}.FS(), changed.touches)
		for dir, after := range altered {
			if _, touched := narrowed[dir]; !touched {
				t.Fatalf("seed %d: %q changed (%v), and %s is not touched by that, of which before\n%s\nand after\n%s\nin\n%s",
					seed, paths, changed.files, dir, before[dir], after, head)
			}
		}
	}
	if different < 5 {
		t.Errorf("%d changes made a root module different: the trees show nothing", different)
	}
}

// write puts the files on disk, as far as they are not as they should be.
func (f files) write(t *testing.T, root string) {
	t.Helper()
	for name, text := range f {
		file := filepath.Join(root, filepath.FromSlash(name))
		target, isLink := strings.CutPrefix(text, "-> ")
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if _, missing := os.Lstat(file); missing != nil && err == nil {
			if isLink {
				err = os.Symlink(target, file)
			} else {
				err = os.WriteFile(file, []byte(text), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// changedOnDisk is what a working tree has changed since a commit.
func changedOnDisk(root, revision string) (*changed, error) {
	e, err := sinceFork(job{ask: Ask{change: &Change{Revision: revision}}}, tree{root: root})
	return e.differs, err
}
