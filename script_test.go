package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/described"
	"github.com/relock-dev/relock/internal/sandbox/trusted"
)

// programs are those that the test binary can be.
var programs = map[string]func(){"relock": main}

// TestMain puts the programs on PATH, and is one of them where it is started by its
// name. testscript.Main does the same, but then scripts may not have a command relock.
func TestMain(m *testing.M) {
	if program := programs[strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")]; program != nil {
		program()
		os.Exit(0)
	}
	// Where relock waits before it tries again, others have the core meanwhile. The
	// flag of the command line wins.
	if err := flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	dir, err := installPrograms()
	if err != nil {
		panic(err)
	}
	os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	code := trusted.Main(m)
	os.RemoveAll(dir)
	os.Exit(code)
}

// installPrograms makes a directory in which this program has the names of all programs.
func installPrograms() (dir string, err error) {
	this, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir, err = os.MkdirTemp("", "programs-")
	if err != nil {
		return "", err
	}
	extension := ""
	if runtime.GOOS == "windows" {
		extension = ".exe"
	}
	for name := range programs {
		// A symbolic link would do for scripts. But the Action runs no program before it
		// has followed the links, and its tests give it no readlink.
		at := filepath.Join(dir, name+extension)
		if os.Link(this, at) == nil {
			continue
		}
		if err := os.Symlink(this, at); err != nil { // this program is on another disk
			return "", err
		}
	}
	return dir, nil
}

// TestScript runs the scenarios of testdata/script: whole-program transcripts
// against a sandbox. Besides testscript's own commands they have
//
//	relock ARGUMENT…   run relock; in the background, it is exec relock ARGUMENT… &
//	sandbox            start the world that the files below world/ describe,
//	                   and point relock at its registries and its GitHub
//	fault LINE         spoil answers from here on, as sandbox.ParseFault reads the line; with
//	                   body=FILE the file is the answer in place of the sandbox's words;
//	                   mend ends that
//	git-server DIR     serve the git repositories below a directory, at $GIT_SERVER, where
//	                   relock may ask
//	requests FILE      write what was asked since the last time, a line each:
//	                   method and path; QUERY for what GraphQL only reads
//	hold METHOD PATH   keep relock waiting for such an answer, until
//	interrupt FILE TEXT
//	                   interrupts all of relock that runs in the background, once
//	                   the text stands in the file and relock waits
//	until FILE TEXT    waits until the text is in the file
//	release            ends the hold
//	status N           is the exit status of what was interrupted, and ends the
//	                   hold; or else of the last relock
//	rate N             leave the account of relock so many requests of the hour
//	truncate-trees N   list no more than so many entries of a recursive tree
//
// What relock is on GitHub, which begins as a workflow that may write:
//
//	token LOGIN [NAME=LEVEL]…
//	                   speak for a person, or for github-actions[bot] with
//	                   those permissions alone
//	hurry              let what relock waits for GitHub pass at once, for relock and
//	                   for GitHub, where relock is done in this process
//	distrust STATUS SECONDS|ever [PERMISSION]
//	                   refuse tokens of Apps for so long after they are given, for
//	                   what needs a permission, as in contents=write; trust ends that
//	app SLUG OWNER     set APP_ID, APP_KEY and APP_INSTALLATION to those of an
//	                   App of the world and its installation at OWNER
//
// What is on GitHub:
//
//	clone REPO DIR [BRANCH]
//	                   check a branch out, or the one named main; pull/N/merge is the
//	                   test merge of a pull request
//	pulls REPO FILE    write the pull requests of a repository, as people see them
//	issues REPO FILE   write the issues that are no pull requests, likewise
//	commits REPO REF FILE
//	                   write the commits of a branch, newest first
//
//	pull-event REPO NUMBER ACTION [FROM]
//	                   leave the event of a pull request, and its test merge as
//	                   GITHUB_SHA; FROM is the base of before, if somebody retargeted it
//
// What people do there is in acts, in script_people_test.go.
//
// Where the command relock is done in this process, BUILD_VERSION is the version of its build.
//
// Whatever relock asks GitHub and whatever the sandbox answers is compared with
// GitHub's own description of its API; a script fails where they differ. The condition inside
// is that the command relock is done in this process, where the act pass moves its clock.
//
// With RELOCK_BIN, a directory that holds relock, that program plays the scripts
// in place of this one, each time as a process: without, the command relock is mostly
// done in this process, as script_here_test.go says. With -v each script ends with all
// that was asked: so the judge compares programs.
func TestScript(t *testing.T) {
	params := scripts(t)
	params.Dir = filepath.Join("testdata", "script")
	testscript.Run(t, params)
}

// scripts is how scripts are played. The caller says which.
func scripts(t *testing.T) testscript.Params {
	t.Helper()
	program(t, "sh") // where it is, the other programs of POSIX are, which scripts use
	commands := map[string]func(*testscript.TestScript, bool, []string){
		"sandbox":        startSandbox,
		"git-server":     startGitServer,
		"fault":          inject,
		"mend":           mend,
		"requests":       writeRequests,
		"hold":           hold,
		"interrupt":      interrupt,
		"release":        letGo,
		"until":          until,
		"status":         status,
		"rate":           limitRate,
		"truncate-trees": truncateTrees,
		"token":          speakFor,
		"app":            showApp,
		"clone":          clone,
		"pulls":          writePulls,
		"issues":         writeIssues,
		"commits":        writeCommits,
		"as":             actAs,
		"relock":         runRelock,
		"meanwhile":      meanwhile,
		"pull-event":     pullEvent,
		"hurry":          hurryUp,
		"distrust":       distrust,
	}
	for name := range acts {
		commands[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			perform(ts, neg, append([]string{name}, args...))
		}
	}
	return testscript.Params{
		Cmds: commands,
		Setup: func(env *testscript.Env) error {
			at := &scene{test: scripted{t, filepath.Base(env.WorkDir)}, taken: map[string]*http.Request{}}
			env.Values[sceneKey{}] = at
			env.Defer(func() { env.T().Log(at.asked.String()) })
			env.Setenv("GIT_AUTHOR_DATE", "2026-01-05T09:00:00Z") // so that commits are alike in every run
			env.Setenv("GIT_COMMITTER_DATE", "2026-01-05T09:00:00Z")
			if dir := os.Getenv("RELOCK_BIN"); dir != "" {
				env.Setenv("PATH", dir+string(filepath.ListSeparator)+env.Getenv("PATH"))
			}
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "inside" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return !ownProcess(), nil
		},
		RequireUniqueNames: true,
	}
}

// scripted is the test of all scripts that hears of one of them.
type scripted struct {
	*testing.T
	script string
}

func (s scripted) Errorf(format string, args ...any) {
	s.Helper()
	s.T.Errorf("script %s: "+format, append([]any{s.script}, args...)...)
}

// scene is what a script has started.
type scene struct {
	test    scripted // hears of what goes wrong beside the script
	sandbox *sandbox.Sandbox

	waits       chan struct{} // of hold: closed when relock waits
	release     func()        // lets it go on
	interrupted []*exec.Cmd
	ended       int // the status of the last relock, if that was not interrupted

	mu    sync.Mutex
	taken map[string]*http.Request // the last request that meanwhile acted before, by its place
	asked strings.Builder          // of sandboxes, with what was sent; empty without -v

	passed  atomic.Int64 // by how much relock's clock is ahead, as a time.Duration
	hurries bool         // what relock waits for GitHub passes at once
}

// note keeps a request, for tests that compare what programs ask.
func (s *scene) note(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		body = append(body, " and then "+err.Error()...)
	}
	fmt.Fprintf(&s.asked, "\nasked: %s %s\n", r.Method, strings.TrimSpace(r.URL.RequestURI()+" "+string(body)))
}

type sceneKey struct{}

func sceneOf(ts *testscript.TestScript) *scene { return ts.Value(sceneKey{}).(*scene) }

func world(ts *testscript.TestScript) *sandbox.Sandbox {
	s := sceneOf(ts).sandbox
	if s == nil {
		ts.Fatalf("no sandbox has been started")
	}
	return s
}

func startGitServer(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "git-server DIR")
	git, err := exec.LookPath("git")
	ts.Check(err)
	s := httptest.NewServer(&cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + ts.MkAbs(args[0]), "GIT_HTTP_EXPORT_ALL=1"},
	})
	ts.Defer(s.Close)
	ts.Setenv("GIT_SERVER", s.URL)
	rc, err := os.OpenFile(ts.Getenv("TF_CLI_CONFIG_FILE"), os.O_APPEND|os.O_WRONLY, 0)
	ts.Check(err)
	_, err = fmt.Fprintf(rc, "host %q {}\n", strings.TrimPrefix(s.URL, "http://"))
	ts.Check(errors.Join(err, rc.Close()))
}

func startSandbox(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 0, "sandbox")
	top := ts.MkAbs("world")
	ar := new(txtar.Archive)
	ts.Check(filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, name)
		ar.Files = append(ar.Files, txtar.File{Name: filepath.ToSlash(rel), Data: src})
		return err
	}))
	w, err := sandbox.ParseWorld(ar)
	ts.Check(err)
	s, err := sandbox.Start(w)
	ts.Check(err)
	ts.Defer(s.Close)
	described.Check(sceneOf(ts).test, s.GitHub())
	if testing.Verbose() {
		s.Before(sceneOf(ts).note)
	}
	rc := ts.MkAbs("terraformrc")
	ts.Check(os.WriteFile(rc, []byte(s.CLIConfig()), 0o644))
	ts.Setenv("TF_CLI_CONFIG_FILE", rc)
	ts.Setenv("GITHUB_API_URL", strings.TrimSuffix(s.GitHubAPI(), "/"))
	ts.Setenv("GITHUB_GRAPHQL_URL", s.GraphQL())
	ts.Setenv("GITHUB_TOKEN", sandbox.ActionsToken)
	ts.Setenv("SANDBOX", s.URL())
	sceneOf(ts).sandbox = s
}

func inject(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 0, "fault METHOD PATH WHAT…")
	body := ""
	words := slices.DeleteFunc(slices.Clone(args), func(word string) bool {
		file, canned := strings.CutPrefix(word, "body=")
		if canned {
			body = ts.ReadFile(file)
		}
		return canned
	})
	f, err := sandbox.ParseFault(strings.Join(words, " "))
	ts.Check(err)
	f.Body = cmp.Or(body, f.Body)
	world(ts).Inject(f)
}

func mend(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 0, "mend")
	world(ts).Mend()
}

func writeRequests(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "requests FILE")
	var b strings.Builder
	for _, r := range world(ts).Requests() {
		if r.Query {
			r.Method = "QUERY"
		}
		fmt.Fprintln(&b, r)
	}
	world(ts).ResetRequests()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o644))
}

func hold(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "hold METHOD PATH")
	at := sceneOf(ts)
	waits, released := make(chan struct{}), make(chan struct{})
	at.waits, at.release = waits, sync.OnceFunc(func() { close(released) })
	var once sync.Once
	world(ts).Before(func(r *http.Request) {
		if ok, _ := path.Match(args[1], r.URL.Path); !ok || r.Method != args[0] {
			return
		}
		once.Do(func() { close(waits) })
		select {
		case <-released:
		case <-r.Context().Done():
		}
	})
}

func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "interrupt FILE TEXT")
	at := sceneOf(ts)
	<-at.waits
	until(ts, neg, args)
	at.interrupted = ts.BackgroundCmds()
	for _, cmd := range at.interrupted {
		ts.Check(cmd.Process.Signal(os.Interrupt))
	}
}

func until(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "until FILE TEXT")
	for {
		if src, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(src), args[1]) {
			return
		}
		runtime.Gosched()
	}
}

func letGo(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 0, "release")
	sceneOf(ts).release()
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "status N")
	at := sceneOf(ts)
	codes := []int{at.ended}
	if len(at.interrupted) > 0 {
		at.release()
		codes = nil
		for _, cmd := range at.interrupted {
			codes = append(codes, cmd.ProcessState.ExitCode())
		}
	}
	for _, code := range codes {
		if got := strconv.Itoa(code); got != args[0] {
			ts.Fatalf("exit status %s, want %s", got, args[0])
		}
	}
}

func limitRate(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "rate N")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	world(ts).GitHub().LimitRate(ts.Getenv("GITHUB_TOKEN"), n)
}

func truncateTrees(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "truncate-trees N")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	world(ts).GitHub().TruncateTrees(n)
}

func speakFor(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 0, "token LOGIN [NAME=LEVEL]…")
	who := sandbox.Identity{Login: args[0], Bot: strings.HasSuffix(args[0], "[bot]")}
	if who.Bot {
		who.Permissions = map[string]string{"metadata": "read"}
	}
	for _, arg := range args[1:] {
		name, level, ok := strings.Cut(arg, "=")
		usage(ts, neg, ok && who.Bot, "token LOGIN [NAME=LEVEL]…; permissions are a bot's")
		who.Permissions[name] = level
	}
	token := "ghs_script" + strings.Join(args, "")
	world(ts).GitHub().Admit(token, who)
	ts.Setenv("GITHUB_TOKEN", token)
}

func showApp(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "app SLUG OWNER")
	app, err := world(ts).GitHub().Credentials(args[0])
	ts.Check(err)
	installation, ok := app.Installations[args[1]]
	if !ok {
		ts.Fatalf("the App %s is not installed at %s", args[0], args[1])
	}
	ts.Setenv("APP_ID", strconv.FormatInt(app.ID, 10))
	ts.Setenv("APP_KEY", string(app.Key))
	ts.Setenv("APP_INSTALLATION", strconv.FormatInt(installation, 10))
}

func clone(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2 || len(args) == 3, "clone REPO DIR [BRANCH]")
	branch := "main"
	if len(args) == 3 {
		branch = args[2]
	}
	_, err := world(ts).GitHub().Clone(args[0], branch, ts.MkAbs(args[1]))
	ts.Check(err)
}

func writePulls(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "pulls REPO FILE")
	pulls, err := world(ts).GitHub().Pulls(args[0])
	ts.Check(err)
	var b strings.Builder
	for _, p := range pulls {
		describePull(&b, args[0], p)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o644))
}

func writeIssues(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "issues REPO FILE")
	issues, err := world(ts).GitHub().AllIssues(args[0])
	ts.Check(err)
	var b strings.Builder
	for _, i := range issues {
		state := "closed"
		if i.Open {
			state = "open"
		}
		fmt.Fprintf(&b, "#%d %s: %s\nby %s, edited by %s\nlabels: %s\n", i.Number, state, i.Title, i.Author, cmp.Or(i.Editor, "nobody"), strings.Join(i.Labels, ", "))
		for _, c := range i.Comments {
			fmt.Fprintf(&b, "%s: %s\n", c.Author, c.Body)
		}
		fmt.Fprintf(&b, "\n%s\n", i.Body)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o644))
}

// describePull writes what most pull requests have, then what some have.
func describePull(b *strings.Builder, repo string, p sandbox.PullRequest) {
	state, head := p.State, p.Head
	if p.Merged {
		state = "merged"
	}
	if owner, _, _ := strings.Cut(repo, "/"); owner != p.HeadOwner {
		head = p.HeadOwner + ":" + p.Head
	}
	fmt.Fprintf(b, "#%d %s: %s\n%s <- %s by %s\nlabels: %s\nfiles: %s\n", p.Number, state, p.Title,
		p.Base, head, p.Author, strings.Join(p.Labels, ", "), strings.Join(p.ChangedFiles, ", "))
	for _, some := range []struct{ name, value string }{
		{"reviewers", strings.Join(append(p.Reviewers, p.Teams...), ", ")},
		{"assignees", strings.Join(p.Assignees, ", ")},
		{"milestone", p.Milestone},
		{"auto-merge", p.AutoMerge},
	} {
		if some.value != "" {
			fmt.Fprintf(b, "%s: %s\n", some.name, some.value)
		}
	}
	if p.Draft {
		fmt.Fprintln(b, "draft")
	}
	if p.Locked {
		fmt.Fprintln(b, "locked")
	}
	for _, c := range p.Comments {
		fmt.Fprintf(b, "%s: %s\n", c.Author, c.Body)
		for _, r := range c.Reactions {
			fmt.Fprintf(b, "  %s\n", r)
		}
	}
	fmt.Fprintf(b, "\n%s\n", p.Body)
}

func writeCommits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 3, "commits REPO REF FILE")
	commits, err := world(ts).GitHub().Commits(args[0], args[1])
	ts.Check(err)
	var b strings.Builder
	for _, c := range commits {
		signed := ""
		if c.Verified {
			signed = ", verified"
		}
		fmt.Fprintf(&b, "commit by %s%s\n%s\n\n", c.Author, signed, strings.TrimSpace(c.Message))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(b.String()), 0o644))
}

func usage(ts *testscript.TestScript, neg, ok bool, text string) {
	if neg || !ok {
		ts.Fatalf("usage: %s", text)
	}
}
