package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/sandbox"
)

var (
	hiddenWorlds = flag.Int("hidden", 1, "TestWhatIsHiddenStays and TestHiddenRepositoriesStay play so many worlds for each way to hide something")
	hiddenSeed   = flag.Uint64("hidden-seed", 1, "and this is the seed of the first one")
)

const hiddenBase = "main"

// entryAt is an entry of a lock file.
type entryAt struct{ dir, provider string }

// hiddenProviders are those of the worlds, each with its versions, the oldest first.
var hiddenProviders = map[string][]string{
	"registry.terraform.io/hashicorp/null":   {"3.2.2", "3.2.3", "3.2.4"},
	"registry.terraform.io/hashicorp/random": {"3.6.0", "3.6.1"},
	"registry.example.com/corp/own":          {"1.0.0", "1.1.0"},
}

// everywhere is what the base says of where to look: also in the hidden directory of the
// worlds.
const everywhere = "include: ['**', .infra/**]\n"

// hiddenFrom is what one run does not see, by who made it so.
type hiddenFrom struct {
	args  []string
	fault string                 // of the servers, during that run
	onPR  bool                   // the other verbs see it, or are not asked about it
	disk  bool                   // only from verbs that read the disk, and not the commit
	hides func(entryAt) bool     // entries that the run cannot look at, or must not
	edit  func(dir string) error // of the checkout
	files func(dir string) bool  // root modules of which the whole lock file is hidden
}

// waysToHide are what a run may not see, a row each. A row says what it hides by itself:
// nothing here asks relock what it has seen.
var waysToHide = []struct {
	name string
	hide func(w *hidingWorld) hiddenFrom
}{
	{"directories", func(w *hidingWorld) hiddenFrom {
		shown := w.some(w.dirs)
		hidden := func(dir string) bool { return !slices.Contains(shown, dir) }
		return hiddenFrom{args: shown, onPR: true, files: hidden, hides: func(e entryAt) bool { return hidden(e.dir) }}
	}},
	{"a provider", func(w *hidingWorld) hiddenFrom {
		shown := w.some(slices.Sorted(maps.Keys(hiddenProviders)))[0]
		return hiddenFrom{args: []string{"--provider", shown}, hides: func(e entryAt) bool { return e.provider != shown && w.wants(e) }}
	}},
	{"a file that is named", func(w *hidingWorld) hiddenFrom {
		shown := w.some(w.dirs)
		hidden := func(dir string) bool { return !slices.Contains(shown, dir) && w.locked(dir) }
		from := w.scoped("include: [" + strings.Join(shown, ", ") + "]\n")
		from.files, from.hides = hidden, func(e entryAt) bool { return hidden(e.dir) }
		return from
	}},
	{"a file that is not committed", func(w *hidingWorld) hiddenFrom {
		left := w.some(w.dirs)
		hidden := func(dir string) bool { return slices.Contains(left, dir) }
		return hiddenFrom{disk: true, files: hidden, hides: func(e entryAt) bool { return hidden(e.dir) }, edit: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".github", "relock.yml"), []byte(w.settings+everywhere+"exclude: ["+strings.Join(left, ", ")+"]\n"), 0o600)
		}}
	}},
	{"a hidden directory", func(w *hidingWorld) hiddenFrom {
		// What the run is given spells no hidden directory, or another one.
		from := w.scoped([]string{"include: ['**']\n", "include: ['**', .other/**]\n", "include: ['*/**']\n"}[w.random.IntN(3)])
		hidden := func(dir string) bool { return strings.HasPrefix(dir, ".") && w.locked(dir) }
		from.files, from.hides = hidden, func(e entryAt) bool { return hidden(e.dir) }
		return from
	}},
	{"the groups of others", func(w *hidingWorld) hiddenFrom {
		shown := w.some([]string{"hashicorp/*", "registry.example.com/corp/*"})[0]
		return hiddenFrom{args: []string{"--provider", shown}, hides: func(e entryAt) bool {
			return strings.HasPrefix(e.provider, "registry.example.com/") == strings.HasPrefix(shown, "hashicorp") && w.wants(e)
		}}
	}},
	{"a group that GitHub does not tell of", func(w *hidingWorld) hiddenFrom {
		pulls := w.pulls()
		branches := slices.Sorted(maps.Keys(pulls))
		pull := pulls[branches[w.random.IntN(len(branches))]]
		proposed, before := w.entries(pull.HeadSHA), w.entries(w.fork(pull.HeadSHA))
		shown := w.some(w.dirs)
		return hiddenFrom{
			fault: "GET /github/api/v3/repos/" + w.repo + "/compare/" + hiddenBase + "..." + pull.HeadSHA + " 502", args: shown, onPR: true,
			hides: func(e entryAt) bool { return proposed[e] != before[e] || !slices.Contains(shown, e.dir) },
		}
	}},
	{"a sparse checkout", func(w *hidingWorld) hiddenFrom {
		shown := w.some(w.dirs)
		hidden := func(dir string) bool { return !slices.Contains(shown, dir) && w.locked(dir) }
		return hiddenFrom{disk: true, files: hidden, hides: func(e entryAt) bool { return hidden(e.dir) }, edit: func(dir string) error {
			return gitHere(dir, append([]string{"sparse-checkout", "set", ".github"}, shown...)...)
		}}
	}},
	{"a lock file that is deleted in the checkout", func(w *hidingWorld) hiddenFrom {
		gone := slices.DeleteFunc(w.some(w.dirs), func(dir string) bool { return !w.locked(dir) })
		hidden := func(dir string) bool { return slices.Contains(gone, dir) }
		return hiddenFrom{onPR: true, disk: true, files: hidden, hides: func(e entryAt) bool { return hidden(e.dir) }, edit: func(top string) error {
			for _, dir := range gone {
				if err := os.Remove(filepath.Join(top, filepath.FromSlash(dir), lockfile.Name)); err != nil {
					return err
				}
			}
			return nil
		}}
	}},
	{"a link", func(w *hidingWorld) hiddenFrom {
		to := w.some(w.dirs)[0]
		if !w.locked(to) {
			return hiddenFrom{hides: func(entryAt) bool { return false }}
		}
		_, err := w.hub.Push(w.repo, sandbox.Push{Branch: hiddenBase, Files: map[string]sandbox.File{
			"link/main.tf":          {Content: []byte("# requires nothing\n")},
			"link/" + lockfile.Name: {Mode: sandbox.ModeLink, Content: []byte("../" + to + "/" + lockfile.Name)},
		}})
		w.must(err)
		hidden := func(dir string) bool { return dir == to }
		return hiddenFrom{onPR: true, files: hidden, hides: func(e entryAt) bool { return hidden(e.dir) }}
	}},
	{"an outage", func(w *hidingWorld) hiddenFrom {
		return hiddenFrom{fault: "* /registry.example.com/... 503", hides: func(e entryAt) bool {
			return strings.HasPrefix(e.provider, "registry.example.com/") && w.wants(e)
		}}
	}},
	{"directories of an outage", func(w *hidingWorld) hiddenFrom {
		shown := w.some(w.dirs)
		hidden := func(dir string) bool { return !slices.Contains(shown, dir) }
		return hiddenFrom{fault: "* /registry.example.com/... 503", args: shown, onPR: true, files: hidden, hides: func(e entryAt) bool {
			return hidden(e.dir) || strings.HasPrefix(e.provider, "registry.example.com/") && w.wants(e)
		}}
	}},
}

// hidingWorld has a repository with pull requests of ours, in which things have happened
// since, or several.
type hidingWorld struct {
	*testing.T
	random   *rand.Rand
	repos    []string
	repo     string // of these, the one that is meant
	token    string
	Cleanup  string // a directory beside the checkouts
	box      *sandbox.Sandbox
	hub      *sandbox.GitHub
	dirs     []string
	settings string
	log      []string
	printed  []byte // by the last run, on standard output
	outage   bool   // of a registry, by which something is hidden
	clones   int
}

func newHidingWorld(t *testing.T, seed uint64, repos, dirs []string) *hidingWorld {
	t.Helper()
	w := &hidingWorld{
		T: t, random: rand.New(rand.NewPCG(seed, 59)), Cleanup: t.TempDir(), token: sandbox.ActionsToken,
		repos: repos, repo: repos[0], dirs: dirs,
	}
	ar := new(txtar.Archive)
	add := func(name, content string) { ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(content)}) }
	for name, versions := range hiddenProviders {
		add("registry/"+name, "versions: ["+strings.Join(versions, ", ")+"]\n")
	}
	w.settings = "version: 1\nplatforms: [linux_amd64]\n" + []string{
		"group-by: all\n", "group-by: provider\n", "group-by: directory\n", "groups: [{name: corp, providers: [registry.example.com/corp/*]}]\n",
	}[w.random.IntN(4)]
	for _, repo := range repos {
		add("github/"+repo+"/"+hiddenBase+"/.github/relock.yml", w.settings+everywhere)
		for _, dir := range dirs {
			var lock strings.Builder
			required := w.some(slices.Sorted(maps.Keys(hiddenProviders)))
			for _, name := range required {
				fmt.Fprintf(&lock, "provider %q {\n  version = %q\n}\n", name, hiddenProviders[name][0])
			}
			add("github/"+repo+"/"+hiddenBase+"/"+dir+"/main.tf", requiring(required, ""))
			add("github/"+repo+"/"+hiddenBase+"/"+dir+"/"+lockfile.Name, lock.String())
		}
	}
	world, err := sandbox.ParseWorld(ar)
	if err != nil {
		t.Fatal(err)
	}
	if w.box, err = sandbox.Start(world); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.box.Close)
	w.hub = w.box.GitHub()
	if err := os.WriteFile(filepath.Join(w.Cleanup, "terraformrc"), []byte(w.box.CLIConfig()), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// requiring is the configuration of a root module. bound is the constraint of each.
func requiring(providers []string, bound string) string {
	var b strings.Builder
	b.WriteString("terraform {\n  required_providers {\n")
	for _, name := range providers {
		fmt.Fprintf(&b, "    %s = {\n      source = %q\n", path.Base(name), name)
		if bound != "" {
			fmt.Fprintf(&b, "      version = %q\n", bound)
		}
		b.WriteString("    }\n")
	}
	return b.String() + "  }\n}\n"
}

// locked reports whether the base has a lock file in a directory.
func (w *hidingWorld) locked(dir string) bool {
	w.Helper()
	files, err := w.hub.Files(w.repo, hiddenBase)
	w.must(err)
	_, there := files[dir+"/"+lockfile.Name]
	return there
}

// gitHere runs git in a checkout.
func gitHere(dir string, args ...string) error {
	for _, args := range [][]string{{"reset", "-q", "--hard"}, args} { // which makes the index git's own
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Env = []string{"GIT_CONFIG_NOSYSTEM=1", "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, said)
		}
	}
	return nil
}

// wants reports whether the configuration on the base requires a provider, in any version:
// that nobody has to ask a registry for.
func (w *hidingWorld) wants(e entryAt) bool {
	w.Helper()
	files, err := w.hub.Files(w.repo, hiddenBase)
	w.must(err)
	config := string(files[e.dir+"/main.tf"].Content)
	return strings.Contains(config, strconv.Quote(e.provider)) && !strings.Contains(config, "version")
}

// scoped is a run that goes by a file of its own: one in the checkout, or the operator's,
// who enforces what it says.
func (w *hidingWorld) scoped(says string) hiddenFrom {
	apart := filepath.Join(w.Cleanup, "scope.yml")
	if w.random.IntN(2) == 0 {
		return hiddenFrom{args: []string{"--config", apart}, edit: func(string) error {
			return os.WriteFile(apart, []byte(w.settings+"enforced:\n  "+says), 0o600)
		}}
	}
	return hiddenFrom{args: []string{"--config", "scope.yml"}, edit: func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "scope.yml"), []byte(w.settings+says), 0o600)
	}}
}

// some are a few of several, in order, and never none.
func (w *hidingWorld) some(all []string) []string {
	for {
		if chosen := slices.DeleteFunc(slices.Clone(all), func(string) bool { return w.random.IntN(2) == 0 }); len(chosen) > 0 {
			return chosen
		}
	}
}

// inject makes the servers fail.
func (w *hidingWorld) inject(fault string) {
	w.Helper()
	f, err := sandbox.ParseFault(fault)
	w.must(err)
	w.box.Inject(f)
}

// must fails the test with what has happened.
func (w *hidingWorld) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v\n%s", err, strings.Join(w.log, "\n"))
	}
}

// clone is a checkout of the base as it is now.
func (w *hidingWorld) clone() string {
	w.Helper()
	w.clones++
	dir := filepath.Join(w.Cleanup, fmt.Sprint("clone", w.clones))
	_, err := w.hub.Clone(w.repo, hiddenBase, dir)
	w.must(err)
	return dir
}

// run starts relock in a checkout.
func (w *hidingWorld) run(dir, verb string, args ...string) (status int, said string) {
	w.Helper()
	environ := map[string]string{
		"GITHUB_REPOSITORY": w.repo, "GITHUB_TOKEN": w.token, "GITHUB_API_URL": strings.TrimSuffix(w.box.GitHubAPI(), "/"),
		"GITHUB_GRAPHQL_URL": w.box.GraphQL(), "TF_CLI_CONFIG_FILE": filepath.Join(w.Cleanup, "terraformrc"),
	}
	var list []string
	for name, value := range environ {
		list = append(list, name+"="+value)
	}
	var out, stdout bytes.Buffer
	status = command.Main(w.Context(), command.Env{
		Args: append([]string{verb}, args...), Stdout: io.MultiWriter(&stdout, &out), Stderr: &out, WorkDir: dir, Home: w.Cleanup, CacheDir: filepath.Join(w.Cleanup, "cache"),
		GOOS: runtime.GOOS, Getenv: func(name string) string { return environ[name] }, Environ: list, Now: time.Now(),
	})
	w.printed = stdout.Bytes()
	w.log = append(w.log, fmt.Sprintf("relock %s %s: %d\n%s", verb, strings.Join(args, " "), status, out.String()))
	return status, out.String()
}

// entries are those of the lock files at a branch or commit, as they are printed.
func (w *hidingWorld) entries(ref string) map[entryAt]string {
	w.Helper()
	files, err := w.hub.Files(w.repo, ref)
	w.must(err)
	all := map[entryAt]string{}
	for name, f := range files {
		if path.Base(name) != lockfile.Name || f.Mode == sandbox.ModeLink {
			continue
		}
		lock, problems := lockfile.Parse(f.Content, name)
		if len(problems) > 0 {
			w.Fatal(problems)
		}
		for _, l := range lock.Locks {
			all[entryAt{path.Dir(name), l.Addr.String()}] = string((&lockfile.File{Tool: lock.Tool, Locks: []lockfile.Lock{l.Kept()}}).Print())
		}
	}
	return all
}

// pulls are the newest pull requests, by branch.
func (w *hidingWorld) pulls() map[string]sandbox.PullRequest {
	w.Helper()
	all, err := w.hub.Pulls(w.repo)
	w.must(err)
	newest := map[string]sandbox.PullRequest{}
	for _, p := range all {
		newest[p.Head] = p
	}
	return newest
}

// fork is the commit of the base that a commit of ours stands on.
func (w *hidingWorld) fork(head string) string {
	w.Helper()
	commits, err := w.hub.Commits(w.repo, head)
	w.must(err)
	return commits[0].Parents[0]
}

// happen does something to the base, or to a pull request, for each root module.
func (w *hidingWorld) happen() {
	w.Helper()
	pulls := w.pulls()
	for _, dir := range w.dirs {
		files, err := w.hub.Files(w.repo, hiddenBase)
		w.must(err)
		lock := path.Join(dir, lockfile.Name)
		var required []string
		for _, e := range slices.SortedFunc(maps.Keys(w.entries(hiddenBase)), func(a, b entryAt) int { return strings.Compare(a.provider, b.provider) }) {
			if e.dir == dir {
				required = append(required, e.provider)
			}
		}
		push := sandbox.Push{Branch: hiddenBase, Files: map[string]sandbox.File{}}
		what := []string{"nothing", "nothing", "bound", "caught up", "removed", "less", "by hand"}[w.random.IntN(7)]
		switch what {
		case "bound": // the next plan proposes something else
			push.Files[dir+"/main.tf"] = sandbox.File{Content: []byte(requiring(required, "< "+hiddenProviders[required[0]][len(hiddenProviders[required[0]])-1]))}
			if len(required) > 1 {
				push.Files[dir+"/main.tf"] = sandbox.File{Content: []byte(requiring(required[:1], "< "+hiddenProviders[required[0]][len(hiddenProviders[required[0]])-1]))}
			}
		case "caught up": // with one of the pull requests
			for _, branch := range slices.Sorted(maps.Keys(pulls)) {
				theirs, err := w.hub.Files(w.repo, pulls[branch].HeadSHA)
				w.must(err)
				if !bytes.Equal(theirs[lock].Content, files[lock].Content) {
					push.Files[lock] = theirs[lock]
					break
				}
			}
		case "removed":
			push.Remove = []string{dir + "/main.tf", lock}
		case "less": // the last provider is not required any more
			push.Files[dir+"/main.tf"] = sandbox.File{Content: []byte(requiring(required[:len(required)-1], ""))}
		case "by hand":
			old, newer := hiddenProviders[required[0]][0], hiddenProviders[required[0]][1]
			push.Files[lock] = sandbox.File{Content: bytes.Replace(files[lock].Content, []byte(old), []byte(newer), 1)}
		}
		w.log = append(w.log, dir+": "+what)
		if len(push.Files)+len(push.Remove) > 0 {
			_, err = w.hub.Push(w.repo, push)
			w.must(err)
		}
	}
	for _, branch := range slices.Sorted(maps.Keys(pulls)) {
		if w.random.IntN(4) == 0 {
			w.log = append(w.log, "somebody closes the pull request from "+branch)
			w.must(w.hub.Close(w.repo, pulls[branch].Number, "monalisa"))
		}
	}
}

// notLookedAt is how relock names lock files, and countedOut how it counts those that it was
// to leave out.
var (
	notLookedAt = regexp.MustCompile(`(?m)^warning: \d+ lock files? .* not looked at: .*$`)
	countedOut  = regexp.MustCompile(`\b(\d+) excluded\b`)
)

// check holds what a run has done against what was hidden from it.
func (w *hidingWorld) check(from hiddenFrom, before map[string]sandbox.PullRequest, status int, said string) {
	w.Helper()
	base, after := w.entries(hiddenBase), w.pulls()
	refs, err := w.hub.Refs(w.repo)
	w.must(err)
	for branch, pull := range before {
		now := after[branch]
		was, old := w.entries(pull.HeadSHA), w.entries(w.fork(pull.HeadSHA))
		for e := range w.union(was, old) {
			if !from.hides(e) || was[e] == old[e] || was[e] == base[e] {
				continue
			}
			switch _, there := refs["refs/heads/"+branch]; {
			case pull.State == "open" && now.State != "open":
				w.Errorf("%s: #%d is closed, which proposes the hidden %v", branch, pull.Number, e)
			case pull.State == "open" && !there:
				w.Errorf("%s: the branch is gone, which proposes the hidden %v", branch, e)
			case now.State == "open" && w.entries(now.HeadSHA)[e] != was[e]:
				w.Errorf("%s: #%d has the hidden %v otherwise than #%d:\n%s", branch, now.Number, e, pull.Number, cmp.Diff(was[e], w.entries(now.HeadSHA)[e]))
			}
		}
	}
	w.green(from, "pr", status, said)
}

// green holds that a run which is green has named or counted all that was hidden from it.
func (w *hidingWorld) green(from hiddenFrom, verb string, status int, said string) {
	w.Helper()
	if status != command.ExitOK {
		return
	}
	unnamed, excluded := map[string]bool{}, 0
	for e := range w.entries(hiddenBase) {
		if from.files != nil && from.files(e.dir) && !slices.ContainsFunc(notLookedAt.FindAllString(said, -1), func(line string) bool {
			return strings.Contains(line, " "+e.dir+"/"+lockfile.Name)
		}) {
			unnamed[e.dir] = true
		}
	}
	if m := countedOut.FindStringSubmatch(said); m != nil {
		n, err := strconv.Atoi(m[1])
		w.must(err)
		excluded = n
	}
	if len(unnamed) > excluded {
		w.Errorf("%s is green, names no %v, and counts %d", verb, slices.Sorted(maps.Keys(unnamed)), excluded)
	}
}

// forge puts a hash that no package has into each lock file that is hidden from a checkout
// and is there.
func (w *hidingWorld) forge(from hiddenFrom, top string) {
	w.Helper()
	for _, dir := range w.dirs {
		name := filepath.Join(top, filepath.FromSlash(dir), lockfile.Name)
		if _, err := os.Lstat(name); err != nil || from.files == nil || !from.files(dir) {
			continue
		}
		w.must(os.WriteFile(name, []byte("provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3.2.4\"\n  hashes = [\"zh:"+strings.Repeat("0", 64)+"\"]\n}\n"), 0o600))
	}
}

func (w *hidingWorld) union(a, b map[entryAt]string) map[entryAt]bool {
	all := map[entryAt]bool{}
	for e := range a {
		all[e] = true
	}
	for e := range b {
		all[e] = true
	}
	return all
}

// whole has a run over everything, twice, and returns what there is then.
func (w *hidingWorld) whole(run func() (status int, said string)) map[string]any {
	w.Helper()
	for range 2 {
		if status, said := run(); status != command.ExitOK {
			w.Fatalf("a run over everything ends with %d:\n%s", status, said)
		}
	}
	held := map[string]any{}
	for _, w.repo = range w.repos {
		for branch, pull := range w.pulls() {
			if pull.State == "open" {
				held[w.repo+" "+branch] = []any{pull.Title, pull.ChangedFiles, w.text(pull.Body), entriesByName(w.entries(pull.HeadSHA))}
			}
		}
	}
	return held
}

func entriesByName(all map[entryAt]string) map[string]string {
	named := map[string]string{}
	for e, text := range all {
		named[e.dir+" "+e.provider] = text
	}
	return named
}

// commandLine is how to do the same by hand, which names providers where other groups had
// changes, too, when the text was written.
var commandLine = regexp.MustCompile(`(?m)^relock upgrade.*$`)

// versionsInUse are the versions of all root modules. A run that an outage keeps from some
// root modules lists the others. The text stays until something in it has changed.
var versionsInUse = regexp.MustCompile(`### Versions in use\n\n(?: *- .*\n)*`)

// text is the body of a pull request without what differs between two worlds.
func (w *hidingWorld) text(body string) string {
	if w.outage {
		body = versionsInUse.ReplaceAllString(body, "")
	}
	return commandLine.ReplaceAllString(strings.ReplaceAll(body, w.box.URL(), ""), "")
}

// TestWhatIsHiddenStays holds what a run does that does not see everything: no pull
// request is closed that proposes something hidden, none loses it, no branch of one is
// deleted, and nothing is green that does not count what was hidden. Then all is shown,
// and a run over everything makes the same as if nothing had been hidden.
func TestWhatIsHiddenStays(t *testing.T) {
	t.Parallel()
	for _, way := range waysToHide {
		for n := range *hiddenWorlds {
			seed := *hiddenSeed + uint64(n)
			t.Run(fmt.Sprintf("%s/%d", way.name, seed), func(t *testing.T) {
				t.Parallel()
				played := func(hides bool) (*hidingWorld, map[string]any) {
					w := newHidingWorld(t, seed, []string{"acme/infra"}, []string{".infra/west", "east", "north/deep"})
					w.run(w.clone(), "pr")
					w.happen()
					from := way.hide(w)
					w.outage = from.fault != ""
					if hides {
						w.unseen(from)
					}
					return w, w.whole(func() (int, string) { return w.run(w.clone(), "pr") })
				}
				w, got := played(true)
				_, want := played(false)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the pull requests are not as if nothing had been hidden (-want +got):\n%s", diff)
				}
				if t.Failed() {
					t.Log("what happened:\n" + strings.Join(w.log, "\n"))
				}
			})
		}
	}
}

// unseen is the run from which something is hidden, with what must hold of it.
func (w *hidingWorld) unseen(from hiddenFrom) {
	w.Helper()
	before, dir := w.pulls(), w.clone()
	if from.edit != nil {
		w.must(from.edit(dir))
	}
	if from.fault != "" {
		w.inject(from.fault)
	}
	w.log = append(w.log, "-- hidden --")
	status, said := w.run(dir, "pr", from.args...)
	if !from.onPR {
		w.forge(from, dir)
		for _, verb := range []string{"check", "verify"} {
			status, said := w.run(dir, verb, from.args...)
			w.green(from, verb, status, said)
		}
	}
	w.box.Mend()
	w.log = append(w.log, "-- shown --")
	if from.disk {
		from = hiddenFrom{hides: func(entryAt) bool { return false }}
	}
	w.check(from, before, status, said)
}
