package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/sandbox"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"relock": main})
}

// TestScript runs the scenarios of testdata/script: whole-program transcripts
// against a sandbox. Besides testscript's own commands they have
//
//	sandbox            start the world that the files below world/ describe,
//	                   and point relock at its registries and its GitHub
//	fault LINE         spoil answers from here on; mend ends that
//	requests FILE      write what was asked since the last time, a line each
//	clone REPO DIR     check the default branch of a repository out
//	push REPO BRANCH [PATH FILE]…
//	                   commit files as a person does
//	pulls REPO FILE    write the pull requests of a repository, as people see them
//	merge REPO NUMBER  merge one; close REPO NUMBER closes it
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"sandbox":  startSandbox,
			"fault":    inject,
			"mend":     mend,
			"requests": writeRequests,
			"clone":    clone,
			"push":     push,
			"pulls":    writePulls,
			"merge":    merge,
			"close":    closePull,
		},
		Setup: func(env *testscript.Env) error {
			env.Values[sceneKey{}] = new(scene)
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			return nil
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// scene is what a script has started.
type scene struct{ sandbox *sandbox.Sandbox }

type sceneKey struct{}

func sceneOf(ts *testscript.TestScript) *scene { return ts.Value(sceneKey{}).(*scene) }

func world(ts *testscript.TestScript) *sandbox.Sandbox {
	s := sceneOf(ts).sandbox
	if s == nil {
		ts.Fatalf("no sandbox has been started")
	}
	return s
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
	f, err := sandbox.ParseFault(strings.Join(args, " "))
	ts.Check(err)
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
		fmt.Fprintln(&b, r)
	}
	world(ts).ResetRequests()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o644))
}

func clone(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "clone REPO DIR")
	_, err := world(ts).GitHub().Clone(args[0], "main", ts.MkAbs(args[1]))
	ts.Check(err)
}

func push(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) >= 4 && len(args)%2 == 0, "push REPO BRANCH PATH FILE…")
	p := sandbox.Push{Branch: args[1], Files: map[string]sandbox.File{}}
	for i := 2; i < len(args); i += 2 {
		p.Files[args[i]] = sandbox.File{Content: []byte(ts.ReadFile(args[i+1]))}
	}
	_, err := world(ts).GitHub().Push(args[0], p)
	ts.Check(err)
}

func writePulls(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "pulls REPO FILE")
	pulls, err := world(ts).GitHub().Pulls(args[0])
	ts.Check(err)
	var b strings.Builder
	for _, p := range pulls {
		fmt.Fprintf(&b, "#%d %s: %s\n%s <- %s by %s\nlabels: %s\nfiles: %s\n", p.Number, p.State, p.Title,
			p.Base, p.Head, p.Author, strings.Join(p.Labels, ", "), strings.Join(p.ChangedFiles, ", "))
		for _, c := range p.Comments {
			fmt.Fprintf(&b, "%s: %s\n", c.Author, c.Body)
		}
		fmt.Fprintf(&b, "\n%s\n", p.Body)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o644))
}

func merge(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "merge REPO NUMBER")
	number, err := strconv.Atoi(args[1])
	ts.Check(err)
	_, err = world(ts).GitHub().Merge(args[0], number, "monalisa")
	ts.Check(err)
}

func closePull(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "close REPO NUMBER")
	number, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(world(ts).GitHub().Close(args[0], number, "monalisa"))
}

func usage(ts *testscript.TestScript, neg, ok bool, text string) {
	if neg || !ok {
		ts.Fatalf("usage: %s", text)
	}
}
