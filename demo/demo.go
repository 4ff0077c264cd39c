package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/sandbox"
)

// archive is the text of the demonstration's world.
//
//go:embed world.txtar
var archive []byte

const repository = "acme/infrastructure"

// demonstration is the Action in a world of its own.
type demonstration struct {
	env      command.Env
	built    string // the program, absolute; empty: the one in this process
	sandbox  *sandbox.Sandbox
	dir      string // everything that is left behind
	checkout string
	vars     map[string]string
}

// demonstrate plays the main job in a directory, with a built program if one is named.
func demonstrate(ctx context.Context, env command.Env, built, dir string) error {
	world, err := sandbox.ParseWorld(txtar.Parse(archive))
	if err != nil {
		return fmt.Errorf("reading the demonstration's world: %w", err)
	}
	s, err := sandbox.Start(world)
	if err != nil {
		return err
	}
	defer s.Close()
	d := &demonstration{env: env, built: built, sandbox: s, dir: dir, checkout: filepath.Join(dir, "infrastructure")}
	err = d.prepare()
	if err != nil {
		return err
	}
	return d.play(ctx)
}

// prepare checks the repository out and sets the environment of a runner.
func (d *demonstration) prepare() error {
	commit, err := d.sandbox.GitHub().Clone(repository, "main", d.checkout)
	if err != nil {
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
		"GITHUB_REF":          "refs/heads/main",
		"GITHUB_REF_NAME":     "main",
		"GITHUB_REF_TYPE":     "branch",
		"GITHUB_SHA":          commit,
		"GITHUB_WORKSPACE":    d.checkout,
		"GITHUB_OUTPUT":       filepath.Join(d.dir, "outputs"),
		"GITHUB_STEP_SUMMARY": filepath.Join(d.dir, "summary.md"),
		"INPUT_TOKEN":         sandbox.ActionsToken,
	}
	return nil
}

// act runs the Action. Of its log it prints only what happened to the pull
// request.
func (d *demonstration) act(ctx context.Context, logName string) error {
	var log bytes.Buffer
	code, err := d.run(ctx, &log, "action")
	if err != nil {
		return err
	}
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

// run calls the program as a person or a runner would, and returns its exit status.
func (d *demonstration) run(ctx context.Context, stdout io.Writer, args ...string) (int, error) {
	fmt.Fprintf(d.env.Stdout, "$ relock %s\n", strings.Join(args, " "))
	if d.built != "" {
		return d.runBuilt(ctx, stdout, args)
	}
	env := d.env
	env.Stdout = stdout
	env.Args = args
	env.WorkDir = d.checkout
	env.Home, env.CacheDir = d.dir, filepath.Join(d.dir, "cache")
	env.Getenv = func(name string) string { return d.vars[name] }
	return command.Main(ctx, env), nil
}

// runBuilt starts the built program with the variables of the runner alone, and with
// those that say where its user has a home and a cache, by the system.
func (d *demonstration) runBuilt(ctx context.Context, stdout io.Writer, args []string) (int, error) {
	cache := filepath.Join(d.dir, "cache")
	cmd := exec.CommandContext(ctx, d.built, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.checkout, stdout, d.env.Stderr
	cmd.Env = []string{"HOME=" + d.dir, "USERPROFILE=" + d.dir, "XDG_CACHE_HOME=" + cache, "LocalAppData=" + cache}
	for name, value := range d.vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if !d.env.Color {
		cmd.Env = append(cmd.Env, "NO_COLOR=1")
	}
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode(), nil
	}
	return 0, err
}

func (d *demonstration) say(format string, args ...any) {
	fmt.Fprintf(d.env.Stdout, format+"\n", args...)
}

// expect runs a verb, prints what it says, and fails if it ends with another status.
func (d *demonstration) expect(ctx context.Context, status int, verb string) error {
	code, err := d.run(ctx, d.env.Stdout, verb)
	if err == nil && code != status {
		err = fmt.Errorf("%s ended with status %d, not %d", verb, code, status)
	}
	return err
}

func (d *demonstration) play(ctx context.Context) error {
	d.say("# 1. What is there: four root modules, two tools, shared modules\n")
	if err := d.expect(ctx, command.ExitOK, "scan"); err != nil {
		return err
	}
	d.say("\n# 2. On a schedule, the Action proposes what there is to do\n")
	if err := d.act(ctx, "action-1.log"); err != nil {
		return err
	}
	if err := d.show(); err != nil {
		return err
	}
	d.say("\n# 3. The same by hand: status 3 says that something would change\n")
	if err := d.expect(ctx, command.ExitChanges, "check"); err != nil {
		return err
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
