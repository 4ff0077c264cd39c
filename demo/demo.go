// Demo shows the main job of relock on a small monorepo, all on this machine: it makes
// the monorepo, provider registries and GitHub's API on loopback, runs the Action, and
// prints the pull request as a reviewer would see it.
//
// It calls the code of the Action in its own process, with the environment of a runner.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/sandbox"
)

// archive is the text of the demonstration's world.
//
//go:embed world.txtar
var archive []byte

// repository is the repository of that world.
const repository = "acme/infrastructure"

const usage = `Usage: demo [FLAGS]

demo makes a monorepo, provider registries and GitHub's API on loopback, runs the
Action on it, and prints the pull request as a reviewer would see it. It reaches
no other machine.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	info, _ := debug.ReadBuildInfo()
	color, width := command.Terminal(os.Stdout, os.Getenv)
	status := demo(ctx, command.Env{
		Args:   os.Args[1:],
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		GOOS:   runtime.GOOS,
		Build:  command.Stamp("", "", info),
		Now:    time.Now(),
		Color:  color,
		Width:  width,
	})
	stop()
	os.Exit(status)
}

// demo is the program from its arguments to its exit status, which means what it means
// in relock.
func demo(ctx context.Context, env command.Env) int {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(env.Stderr)
	flags.Usage = func() {
		fmt.Fprint(env.Stderr, usage)
		flags.PrintDefaults()
	}
	keep := flags.String("keep", "", "leave the repository, the report and the pull request's text in `DIR`")
	err := flags.Parse(env.Args)
	if errors.Is(err, flag.ErrHelp) {
		return command.ExitOK
	}
	if err == nil && flags.NArg() > 0 {
		flags.Usage()
	}
	if err != nil || flags.NArg() > 0 {
		return command.ExitUsage
	}
	dir, err := keptDir(*keep)
	if err != nil {
		fmt.Fprintln(env.Stderr, "demo:", err)
		return command.ExitUsage
	}
	if *keep == "" {
		defer os.RemoveAll(dir) // a temporary directory; the system's clean-up is the fallback
	}
	err = demonstrate(ctx, env, dir)
	if ctx.Err() != nil {
		fmt.Fprintln(env.Stderr, "demo: interrupted")
		return command.ExitInterrupted
	}
	if err != nil {
		fmt.Fprintln(env.Stderr, "demo:", err)
		return command.ExitFailed
	}
	if *keep != "" {
		fmt.Fprintf(env.Stdout, "\nLeft in %s: the repository, both logs, the outputs, the step summary and the pull request's text.\n", *keep)
	}
	return command.ExitOK
}

// keptDir makes the directory of the demonstration: a temporary one without a name. One
// that somebody names must be new or empty, since the demonstration writes into it.
func keptDir(name string) (string, error) {
	if name == "" {
		return os.MkdirTemp("", "relock-demo-")
	}
	dir, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty; name a new directory", name)
	}
	return dir, err
}

// demonstration is the Action in a world of its own.
type demonstration struct {
	env      command.Env
	sandbox  *sandbox.Sandbox
	dir      string // everything that is left behind
	checkout string
	vars     map[string]string
}

// demonstrate plays the main job in a directory.
func demonstrate(ctx context.Context, env command.Env, dir string) error {
	world, err := sandbox.ParseWorld(txtar.Parse(archive))
	if err != nil {
		return fmt.Errorf("reading the demonstration's world: %w", err)
	}
	s, err := sandbox.Start(world)
	if err != nil {
		return err
	}
	defer s.Close()
	d := &demonstration{env: env, sandbox: s, dir: dir, checkout: filepath.Join(dir, "infrastructure")}
	err = d.prepare()
	if err != nil {
		return err
	}
	return d.play(ctx)
}

// prepare checks the repository out and sets the environment of a runner.
func (d *demonstration) prepare() error {
	if _, err := d.sandbox.GitHub().Clone(repository, "main", d.checkout); err != nil {
		return fmt.Errorf("checking out the demonstration's repository: %w", err)
	}
	rc := filepath.Join(d.dir, "terraformrc")
	if err := os.WriteFile(rc, []byte(d.sandbox.CLIConfig()), 0o644); err != nil {
		return fmt.Errorf("writing the CLI configuration: %w", err)
	}
	d.vars = map[string]string{
		"TF_CLI_CONFIG_FILE":  rc,
		"GITHUB_ACTIONS":      "true",
		"GITHUB_API_URL":      strings.TrimSuffix(d.sandbox.GitHubAPI(), "/"),
		"GITHUB_GRAPHQL_URL":  d.sandbox.GraphQL(),
		"GITHUB_SERVER_URL":   d.sandbox.URL(),
		"GITHUB_EVENT_NAME":   "schedule",
		"GITHUB_REPOSITORY":   repository,
		"GITHUB_WORKSPACE":    d.checkout,
		"GITHUB_OUTPUT":       filepath.Join(d.dir, "outputs"),
		"GITHUB_STEP_SUMMARY": filepath.Join(d.dir, "summary.md"),
		"INPUT_TOKEN":         sandbox.ActionsToken,
	}
	return nil
}

// act runs the Action, of whose log only what became of the pull request is printed.
func (d *demonstration) act(ctx context.Context, logName string) error {
	var log bytes.Buffer
	code := d.run(ctx, &log, "action")
	if err := os.WriteFile(filepath.Join(d.dir, logName), log.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the Action's log: %w", err)
	}
	if code != command.ExitOK {
		return fmt.Errorf("the Action ended with status %d:\n%s", code, &log)
	}
	at := pullLine.FindStringIndex(log.String())
	if at == nil {
		return fmt.Errorf("the Action tells of no pull request:\n%s", &log)
	}
	d.say("%s", strings.TrimSpace(log.String()[at[0]:]))
	return nil
}

// pullLine begins what the log says of the pull request.
var pullLine = regexp.MustCompile(`(?m)^\w.* pull request \d`)

// run calls the program as a person or a runner would.
func (d *demonstration) run(ctx context.Context, stdout io.Writer, args ...string) int {
	env := d.env
	fmt.Fprintf(env.Stdout, "$ relock %s\n", strings.Join(args, " "))
	env.Stdout = stdout
	env.Args = args
	env.WorkDir = d.checkout
	env.Home, env.CacheDir = d.dir, filepath.Join(d.dir, "cache")
	env.Getenv = func(name string) string { return d.vars[name] }
	env.Environ = nil
	return command.Main(ctx, env)
}

func (d *demonstration) say(format string, args ...any) {
	fmt.Fprintf(d.env.Stdout, format+"\n", args...)
}

func (d *demonstration) play(ctx context.Context) error {
	d.say("# 1. What is there: four root modules, two tools, shared modules\n")
	if code := d.run(ctx, d.env.Stdout, "scan"); code != command.ExitOK {
		return fmt.Errorf("scan ended with status %d", code)
	}
	d.say("\n# 2. On a schedule, the Action proposes what there is to do\n")
	if err := d.act(ctx, "action-1.log"); err != nil {
		return err
	}
	if err := d.show(); err != nil {
		return err
	}
	d.say("\n# 3. The same by hand: status 3 says that something would change\n")
	if code := d.run(ctx, d.env.Stdout, "check"); code != command.ExitChanges {
		return fmt.Errorf("check ended with status %d, not %d", code, command.ExitChanges)
	}
	d.say("\n# 4. The next night: the same proposal, so nothing is written\n")
	d.sandbox.ResetRequests()
	if err := d.act(ctx, "action-2.log"); err != nil {
		return err
	}
	return d.count()
}

// show prints the pull request as its reviewer sees it.
func (d *demonstration) show() error {
	pulls, err := d.sandbox.GitHub().Pulls(repository)
	if err != nil {
		return err
	}
	if len(pulls) != 1 {
		return fmt.Errorf("the Action left %d pull requests, not 1", len(pulls))
	}
	p := pulls[0]
	rule := strings.Repeat("─", 80)
	d.say("\n%s\n#%d %s\n%s wants to merge into %s from %s   labels: %s\n%s\n", rule, p.Number, p.Title, p.Author, p.Base, p.Head, strings.Join(p.Labels, ", "), rule)
	d.say("%s\n%s\nFiles changed:", folded(p.Body), rule)
	for _, f := range p.ChangedFiles {
		d.say("  %s", f)
	}
	body := filepath.Join(d.dir, "pull-request.md")
	if err := os.WriteFile(body, []byte(p.Body), 0o644); err != nil {
		return fmt.Errorf("writing the pull request's text: %w", err)
	}
	return nil
}

var (
	collapsed = regexp.MustCompile(`(?s)<details><summary>(.*?)</summary>.*?</details>\n*`)
	markup    = regexp.MustCompile(`(?s)<!--.*?-->|</?code>`)
	gaps      = regexp.MustCompile(`\n{3,}`)
)

// folded is the text of a pull request as it opens: collapsed blocks are, and
// comments are not seen.
func folded(body string) string {
	text := markup.ReplaceAllString(collapsed.ReplaceAllString(body, "▸ $1\n"), "")
	text = strings.ReplaceAll(text, "\n###", "\n\n###")
	return strings.TrimSpace(gaps.ReplaceAllString(text, "\n\n"))
}

// count says what the second run asked of GitHub, and fails if it wrote.
func (d *demonstration) count() error {
	var asked []sandbox.Request
	for _, r := range d.sandbox.Requests() {
		if strings.HasPrefix(r.Path, "/github/") {
			asked = append(asked, r)
		}
	}
	if i := slices.IndexFunc(asked, sandbox.Request.Writes); i >= 0 {
		return fmt.Errorf("the second run wrote to GitHub: %s", asked[i])
	}
	d.say("\nThe second run read from GitHub %d times and wrote nothing.", len(asked))
	return nil
}
