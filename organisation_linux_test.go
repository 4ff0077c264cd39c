package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/sandbox"
)

var (
	fleetRepositories = flag.Int("repositories", 40, "repositories of BenchmarkOrganisation")
	fleetModules      = flag.Int("modules", 10, "root modules in each of them")
)

// estate is an organisation in the sandbox, and relock outside of it.
type estate struct {
	*sandbox.Sandbox
	dir     string
	environ []string
}

// estateRegistry is what all repositories of an estate take their providers from.
const estateRegistry = `
-- registry/registry.terraform.io/hashicorp/null --
versions: [3.2.2, 3.2.4]
platforms: [linux_amd64]
-- registry/registry.terraform.io/hashicorp/local --
versions: [2.1.0, 2.2.0]
platforms: [linux_amd64]
`

// newEstate starts an organisation, acme, of which each repository has root modules with
// the same lock file.
func newEstate(t testing.TB, repositories, modules int, lock string) *estate {
	t.Helper()
	w, err := sandbox.ParseWorld(txtar.Parse([]byte(estateRegistry)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range repositories {
		r := &sandbox.Repository{Owner: "acme", Name: fmt.Sprintf("r%04d", i), DefaultBranch: "main", Branches: map[string]map[string]sandbox.File{"main": {}}}
		for m := range modules {
			for name, text := range map[string]string{"main.tf": estateConfig(i, m), ".terraform.lock.hcl": lock} {
				r.Branches["main"][fmt.Sprintf("live/m%02d/%s", m, name)] = sandbox.File{Mode: sandbox.ModeFile, Content: []byte(text)}
			}
		}
		w.Repositories[r.Owner+"/"+r.Name] = r
	}
	s, err := sandbox.Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	e := &estate{Sandbox: s, dir: t.TempDir()}
	rc := filepath.Join(e.dir, "terraformrc")
	if err := os.WriteFile(rc, []byte(s.CLIConfig()), 0o600); err != nil {
		t.Fatal(err)
	}
	e.environ = append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "HOME="+e.dir, "XDG_CACHE_HOME="+filepath.Join(e.dir, "cache"),
		"GITHUB_TOKEN="+sandbox.UserToken, "GITHUB_API_URL="+strings.TrimSuffix(s.GitHubAPI(), "/"), "GITHUB_GRAPHQL_URL="+s.GraphQL())
	return e
}

// asApp lets relock speak for a GitHub App that is installed in all repositories, with
// these permissions besides those that it needs.
func (e *estate) asApp(t testing.TB, repositories []string, besides map[string]string) {
	t.Helper()
	granted := map[string]string{"metadata": "read", "contents": "write", "pull_requests": "write"}
	maps.Copy(granted, besides)
	app, err := e.GitHub().Register(sandbox.App{Slug: "relock", ID: 12, Permissions: granted, Repositories: repositories})
	if err != nil {
		t.Fatal(err)
	}
	e.environ = append(e.environ, "GITHUB_TOKEN=", fmt.Sprint("RELOCK_APP_ID=", app.ID), "RELOCK_APP_PRIVATE_KEY="+string(app.Key))
}

// asked are the requests to GitHub of a run, as GitHub counts them: what an archive's
// address redirects to is none.
func (e *estate) asked(t testing.TB, args ...string) []sandbox.Request {
	t.Helper()
	e.ResetRequests()
	if out, err := e.relock(args...).CombinedOutput(); err != nil {
		t.Fatalf("relock %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return slices.DeleteFunc(e.Requests(), func(r sandbox.Request) bool {
		return !strings.HasPrefix(r.Path, "/github/") || strings.HasPrefix(r.Path, "/github/_codeload/")
	})
}

func estateConfig(repository, module int) string {
	return fmt.Sprintf("# %d, %d\nresource \"null_resource\" \"x\" {}\nresource \"local_file\" \"x\" {}\n", repository, module)
}

const oldLock = "provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3.2.2\"\n}\n"

func (e *estate) relock(args ...string) *exec.Cmd {
	cmd := exec.Command("relock", args...)
	cmd.Dir, cmd.Env = e.dir, e.environ
	return cmd
}

// TestRequestsInAnOrganisation counts what one repository costs an App besides the list:
// nothing if it is remembered, one request if there is nothing to do in it; else at most
// five for its files and for what there is of pull requests, and at most twelve for each
// that is opened, with the token for that, labels and people.
func TestRequestsInAnOrganisation(t *testing.T) {
	t.Parallel()
	const name = "acme/r0000"
	e := newEstate(t, 1, 2, oldLock)
	e.asApp(t, []string{name}, map[string]string{"issues": "write", "members": "read"})
	if err := e.GitHub().Configure(name, func(s *sandbox.Settings) {
		s.People, s.Teams, s.Labels = map[string]sandbox.Role{"hubot": sandbox.RoleWrite}, []string{"platform"}, []string{"terraform"}
	}); err != nil {
		t.Fatal(err)
	}
	configure := func(text string) {
		t.Helper()
		file := sandbox.File{Mode: sandbox.ModeFile, Content: []byte(text)}
		if _, err := e.GitHub().Push(name, sandbox.Push{Branch: "main", Files: map[string]sandbox.File{".github/relock.yml": file}}); err != nil {
			t.Fatal(err)
		}
	}
	configure("version: 1\ngroup-by: provider\npull-request: {labels: [terraform, locks], reviewers: [hubot], team-reviewers: [platform], assignees: [monalisa]}\n")
	args := []string{"pr", "--org", "acme", "--platform", "linux_amd64"}
	list := len(e.asked(t, append(args, "--where", "name=none")...))
	asked := e.asked(t, args...)[list:]
	first := slices.IndexFunc(asked, func(r sandbox.Request) bool { return r.Writes() })
	pulls, err := e.GitHub().Pulls(name)
	if err != nil || len(pulls) != 2 || len(pulls[0].Reviewers)+len(pulls[0].Teams) != 2 || len(pulls[0].Labels) != 2 || len(pulls[0].Assignees) != 1 {
		t.Fatalf("%d pull requests, %v, want two with labels and people", len(pulls), err)
	}
	if first > 5 || !strings.HasSuffix(asked[first].Path, "/access_tokens") {
		t.Errorf("%d requests before the first that writes, want at most 5 and then a token: %v", first, asked)
	}
	if n := len(asked) - first; n > 2*12 {
		t.Errorf("%d requests for two new pull requests, want at most 24: %v", n, asked[first:])
	}
	if asked := e.asked(t, args...)[list:]; len(asked) > 5+2*2 {
		t.Errorf("%d requests where two pull requests are open, want at most 9: %v", len(asked), asked)
	}
	configure("version: 1\n") // one pull request in place of the two, which is merged
	e.asked(t, args...)
	pulls, err = e.GitHub().Pulls(name)
	if err != nil || len(pulls) != 3 {
		t.Fatalf("%d pull requests, %v, want three", len(pulls), err)
	}
	for _, p := range pulls {
		if p.State == "open" {
			_, err = e.GitHub().Merge(name, p.Number, "monalisa")
			err = errors.Join(err, e.GitHub().DeleteBranch(name, p.Head))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if asked := e.asked(t, args...)[list:]; len(asked) != 1 {
		t.Errorf("%d requests for a repository in which nothing is to be done, want 1: %v", len(asked), asked)
	}
	args = append(args, "--fleet", "fleet.json")
	if asked := e.asked(t, args...)[list:]; len(asked) != 1 {
		t.Errorf("%d requests for a repository that is not remembered yet, want 1: %v", len(asked), asked)
	}
	if asked := e.asked(t, args...)[list:]; len(asked) != 0 {
		t.Errorf("%d requests for a repository that is remembered, want none: %v", len(asked), asked)
	}
}

// TestKilledInAnOrganisation kills a run over some repositories at a random request or
// answer, and holds that the next one leaves each with the one pull request that it
// should have, and the one after that does nothing. -kills and -kill-seed are those of
// TestKilled.
func TestKilledInAnOrganisation(t *testing.T) {
	t.Parallel()
	const repositories = 3
	for i := range max(2, *kills/3) {
		seed := *killSeed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			e, random := newEstate(t, repositories, 1, oldLock), rand.New(rand.NewPCG(seed, 21))
			args := []string{"pr", "--org", "acme", "--fleet", "fleet.json", "--platform", "linux_amd64"}
			cmd, started := e.relock(args...), make(chan struct{})
			var asked atomic.Int64
			at := int64(1 + random.IntN(55))
			hook := func(*http.Request) {
				if asked.Add(1) == at {
					<-started
					_ = cmd.Process.Kill() // it may have ended
				}
			}
			if random.IntN(2) == 0 {
				e.Before(hook)
			} else {
				e.After(hook)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			close(started)
			_ = cmd.Wait() // it was killed
			for n := range 3 {
				if out, err := e.relock(args...).CombinedOutput(); err != nil {
					t.Fatalf("run %d after the killed one: %v\n%s", n+1, err, out)
				}
				for r := range repositories {
					name := fmt.Sprintf("acme/r%04d", r)
					pulls, err := e.GitHub().Pulls(name)
					if err != nil || len(pulls) != 1 || pulls[0].State != "open" {
						t.Errorf("killed at %d, run %d: %s has %+v, %v, want one open pull request", at, n+1, name, pulls, err)
					}
				}
			}
			e.ResetRequests()
			if out, err := e.relock(args...).CombinedOutput(); err != nil {
				t.Fatalf("the last run: %v\n%s", err, out)
			}
			for _, r := range e.Requests() {
				if strings.Contains(r.Path, "/repos/") {
					t.Errorf("killed at %d: the last run, which remembers, asks %s %s", at, r.Method, r.Path)
				}
			}
		})
	}
}

// BenchmarkOrganisation measures a run over an organisation in which nothing is to be
// done: every lock file is complete. The program is a process of its own, and so the
// peak of its memory is.
//
//	unread      the repositories are read
//	remembered  --fleet names what a run before has remembered
//
// requests and bytes are those of one run, peak-MiB the memory that it obtained from the
// system, and cpu-ms/repo the time that it used of the processors. For docs/scale.md:
//
//	go test -run '^$' -bench Organisation -benchtime 1x -timeout 1h -repositories 2000 .
func BenchmarkOrganisation(b *testing.B) {
	if _, err := exec.LookPath("relock"); err != nil {
		b.Skip("the program relock is not on PATH")
	}
	small := newEstate(b, 0, 0, "")
	for name, text := range map[string]string{"main.tf": estateConfig(0, 0), ".terraform.lock.hcl": oldLock} {
		if err := os.WriteFile(filepath.Join(small.dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	if out, err := small.relock("upgrade", "--platform", "linux_amd64", ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	lock, err := os.ReadFile(filepath.Join(small.dir, ".terraform.lock.hcl"))
	if err != nil {
		b.Fatal(err)
	}
	e := newEstate(b, *fleetRepositories, *fleetModules, string(lock))
	args := []string{"pr", "--org", "acme", "--format", "json", "--platform", "linux_amd64"}
	measure := func(b *testing.B, args ...string) {
		var r struct {
			Fleet struct{ Repositories []report.Outcome }
			Stats struct {
				Requests, Bytes int64
				Peak            int64 `json:"peak_bytes"`
			}
		}
		var spent time.Duration
		for b.Loop() {
			var doc, said bytes.Buffer
			cmd := e.relock(args...)
			cmd.Stdout, cmd.Stderr = &doc, &said
			if err := cmd.Run(); err != nil {
				b.Fatalf("%v\n%s", err, said.String())
			}
			err := json.Unmarshal(doc.Bytes(), &r)
			pending := slices.ContainsFunc(r.Fleet.Repositories, func(o report.Outcome) bool { return o.Pending > 0 })
			if err != nil || len(r.Fleet.Repositories) != *fleetRepositories || pending {
				b.Fatalf("the report has %+v, %v, want %d repositories in which nothing changes", r.Fleet, err, *fleetRepositories)
			}
			spent += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		b.ReportMetric(float64(r.Stats.Requests), "requests")
		b.ReportMetric(float64(r.Stats.Bytes), "bytes")
		b.ReportMetric(float64(r.Stats.Peak)/(1<<20), "peak-MiB")
		b.ReportMetric(float64(spent.Microseconds())/1000/float64(b.N)/float64(*fleetRepositories), "cpu-ms/repo")
	}
	b.Run("unread", func(b *testing.B) { measure(b, args...) })
	e.GitHub().LimitRate(sandbox.UserToken, 5000) // an hour later: 2,000 repositories take four fifths of it
	args = append(args, "--fleet", "fleet.json")
	if out, err := e.relock(args...).Output(); err != nil || !json.Valid(out) {
		b.Fatalf("remembering: %v", err)
	}
	b.Run("remembered", func(b *testing.B) { measure(b, args...) })
}
