package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/sandbox"
)

// world is what both programs play: servers, directories and commands. In the
// texts of cli and of files, @MIRROR@ is the network mirror, @SECURE@ the server
// with TLS, @HOST@ its host and port, and @HOME@ the home directory.
type world struct {
	name  string
	offer func() (*sandbox.World, error)
	// mounts are handlers beside the world, by the prefix of their paths.
	mounts       map[string]http.Handler
	cli          string // more of the CLI configuration
	env          map[string]string
	home         map[string]string // files of the home directory
	links        map[string]string // of the repository: path -> target
	faults       []string          // as sandbox.ParseFault reads them
	steps        []step
	ignoreOutput bool // what relock says does not count

	// script of testdata/script, in place of everything else, and what plays it.
	script string
	player func() (string, error)
	top    string
}

// step changes files of the repository, and then runs relock.
type step struct {
	write map[string]string
	edit  map[string]func(string) string // of files that are there
	shell string                         // run in the home directory
	args  []string                       // of relock; none: it is not run
	dir   string                         // where it runs, below the repository
}

// steady are flags of the verbs that ask registries. Of several concurrent
// requests, chance decides which answer makes the others unnecessary. One at a
// time leaves little to chance.
var steady = []string{"--jobs", "1"}

// replays is how often both programs play a world in which they differ. A play
// has a little chance in it; only a lasting difference counts.
var replays = 4

// verdict is the result of a world.
type verdict struct {
	world      string
	difference string // empty: none
	calls      int
	requests   int
	replayed   int
}

// outcome is what one run of relock did.
type outcome struct {
	status   int
	stdout   string
	stderr   []string // lines, sorted, since questions are asked at once
	requests []string // also sorted
	files    map[string]string
}

// patience is how long one run may take. No world waits for anything.
const patience = 2 * time.Minute

// judge plays the world with both programs, in the same directory, one after
// the other, and compares what they did step by step.
func (w world) judge(ctx context.Context, base, head program, temp string) (verdict, error) {
	v := verdict{world: w.name}
	if w.script != "" {
		return w.judgeScript(ctx, base, head)
	}
	offer, err := w.offer()
	if err != nil {
		return v, err
	}
	s, err := sandbox.Start(offer)
	if err != nil {
		return v, err
	}
	defer s.Close()
	for prefix, handler := range w.mounts {
		s.Mount(prefix, handler)
	}
	dir, err := os.MkdirTemp(temp, "world-")
	if err != nil {
		return v, err
	}
	defer os.RemoveAll(dir)
	stage := &stage{world: w, sandbox: s, dir: dir}
	s.Before(stage.note)
	wants, difference, err := replay(func(p program) ([]outcome, error) { return stage.play(ctx, p) }, base, head, w.difference)
	if err != nil {
		return v, err
	}
	v.difference, v.replayed = difference, len(wants)-1
	for _, o := range wants[0] {
		v.calls, v.requests = v.calls+1, v.requests+len(o.requests)
	}
	return v, nil
}

// replay plays something with both programs until their plays do not differ, which
// chance may need, or it has been played often enough. It returns the plays of base.
func replay[T any](play func(program) (T, error), base, head program, differ func(wants, gots []T) string) (wants []T, difference string, err error) {
	var gots []T
	for range replays {
		want, err := play(base)
		if err != nil {
			return nil, "", err
		}
		got, err := play(head)
		if err != nil {
			return nil, "", err
		}
		wants, gots = append(wants, want), append(gots, got)
		difference = differ(wants, gots)
		if difference == "" {
			break
		}
	}
	return wants, difference, nil
}

// difference is that of the first call of which no outcome of one program is one
// of the other's. Each element of the lists is one play.
func (w world) difference(wants, gots [][]outcome) string {
	calls := slices.DeleteFunc(slices.Clone(w.steps), func(s step) bool { return s.args == nil })
	for i, s := range calls {
		met := slices.ContainsFunc(wants, func(want []outcome) bool {
			return slices.ContainsFunc(gots, func(got []outcome) bool { return want[i].difference(got[i]) == "" })
		})
		if !met {
			return fmt.Sprintf("relock %s\n%s", strings.Join(s.args, " "), wants[0][i].difference(gots[0][i]))
		}
	}
	return ""
}

// stage is where a world is played.
type stage struct {
	world
	sandbox *sandbox.Sandbox
	dir     string

	mu    sync.Mutex // guards asked
	asked []string
}

func (s *stage) repository() string { return filepath.Join(s.dir, "repository") }
func (s *stage) homeDir() string    { return filepath.Join(s.dir, "home") }

// note keeps a request as the server gets it. Secrets are those of the world.
func (s *stage) note(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := r.Method + " " + r.URL.RequestURI()
	if auth := r.Header.Get("Authorization"); auth != "" {
		line += " (" + auth + ")"
	}
	s.asked = append(s.asked, line)
}

// taken are the requests since the last time.
func (s *stage) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := slices.Sorted(slices.Values(s.asked))
	s.asked = nil
	return asked
}

// play runs all steps from the same beginning and returns what each run did.
func (s *stage) play(ctx context.Context, p program) ([]outcome, error) {
	for _, dir := range []string{s.repository(), s.homeDir()} {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(s.layOut(), s.spoil()); err != nil {
		return nil, err
	}
	var outcomes []outcome
	for _, step := range s.steps {
		if err := s.prepare(ctx, step); err != nil {
			return nil, err
		}
		if step.args == nil {
			continue
		}
		o, err := s.run(ctx, p, step)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// layOut writes what is there before the first step.
func (s *stage) layOut() error {
	for name, text := range s.home {
		if err := write(filepath.Join(s.homeDir(), filepath.FromSlash(name)), s.fill(text)); err != nil {
			return err
		}
	}
	for name, target := range s.links {
		name = filepath.Join(s.repository(), filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(target, name)); err != nil {
			return err
		}
	}
	// The repository has an end, so that nothing above it is looked into.
	return errors.Join(
		os.MkdirAll(filepath.Join(s.repository(), ".git"), 0o755),
		write(filepath.Join(s.homeDir(), "terraformrc"), s.sandbox.CLIConfig()+s.fill(s.cli)),
		write(filepath.Join(s.homeDir(), "ca.pem"), string(s.sandbox.Certificate())),
	)
}

// spoil injects the faults again: some have been used up by the other program.
func (s *stage) spoil() error {
	s.sandbox.Mend()
	for _, line := range s.faults {
		f, err := sandbox.ParseFault(line)
		if err != nil {
			return err
		}
		s.sandbox.Inject(f)
	}
	return nil
}

func (s *stage) fill(text string) string {
	return strings.NewReplacer(
		"@MIRROR@", s.sandbox.Mirror(), "@SECURE@", s.sandbox.SecureURL(),
		"@HOST@", strings.TrimPrefix(s.sandbox.SecureURL(), "https://"), "@HOME@", s.homeDir(),
	).Replace(text)
}

func (s *stage) prepare(ctx context.Context, step step) error {
	if step.shell != "" {
		cmd := exec.CommandContext(ctx, "sh", "-c", step.shell)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.homeDir()}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", step.shell, err, out)
		}
	}
	for name, text := range step.write {
		if err := write(filepath.Join(s.repository(), filepath.FromSlash(name)), s.fill(text)); err != nil {
			return err
		}
	}
	for name, edit := range step.edit {
		name = filepath.Join(s.repository(), filepath.FromSlash(name))
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // relock wrote none
		}
		if err != nil {
			return err
		}
		if err := write(name, edit(string(text))); err != nil {
			return err
		}
	}
	return nil
}

func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

func (s *stage) run(ctx context.Context, p program, step step) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, step.args...)
	cmd.Dir = filepath.Join(s.repository(), filepath.FromSlash(step.dir))
	// The machine's own plugins must not matter, and a host that no sandbox
	// serves is one that nobody reaches.
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.homeDir(), "XDG_CACHE_HOME=" + filepath.Join(s.homeDir(), ".cache"),
		"XDG_DATA_DIRS=" + filepath.Join(s.homeDir(), "none"), "TF_CLI_CONFIG_FILE=" + filepath.Join(s.homeDir(), "terraformrc"),
		"SSL_CERT_FILE=" + filepath.Join(s.homeDir(), "ca.pem"), "HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1",
		"SANDBOX=" + s.sandbox.URL(),
	}, p.env...)
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		cmd.Env = append(cmd.Env, name+"="+s.fill(s.env[name]))
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return outcome{}, err
	}
	if ctx.Err() != nil {
		return outcome{}, fmt.Errorf("relock %s: %w", strings.Join(step.args, " "), ctx.Err())
	}
	o := outcome{
		status: cmd.ProcessState.ExitCode(), stdout: measured.ReplaceAllString(stdout.String(), `"$1": 0`),
		stderr: slices.Sorted(strings.Lines(stderr.String())), requests: s.taken(),
	}
	o.files, err = snapshot(s.repository())
	if s.world.ignoreOutput {
		o = o.ignoreOutput()
	}
	return o, err
}

// measured are the figures of a report in JSON that the machine decides, or
// chance: the answers about two platforms are not of the same length.
var measured = regexp.MustCompile(`"(peak_bytes|seconds|bytes)": [-+0-9.eE]+`)

// anyPlatform is the platform in a request. If one answer serves all platforms,
// chance decides which platform asks; so it is for a package that several share.
var anyPlatform = regexp.MustCompile(`/download/[a-z0-9]+/[a-z0-9]+$|_[a-z0-9]+_[a-z0-9]+\.zip$`)

// alike are requests without what is chance in them.
func alike(requests []string) []string {
	masked := make([]string, len(requests))
	for i, r := range requests {
		masked[i] = anyPlatform.ReplaceAllString(r, "PLATFORM")
	}
	slices.Sort(masked)
	return masked
}

// snapshot is every file below a directory: its text, or where its link leads.
func snapshot(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(name)
			files[rel] = "-> " + target
			return err
		}
		text, err := os.ReadFile(name)
		files[rel] = string(text)
		return err
	})
	return files, err
}

// ignoreOutput is the outcome without what relock said.
func (o outcome) ignoreOutput() outcome {
	o.stdout, o.stderr = "", nil
	return o
}

// difference describes how another program's outcome differs; empty if it does
// not.
func (o outcome) difference(other outcome) string {
	var b strings.Builder
	show := func(what, diff string) {
		if diff != "" {
			fmt.Fprintf(&b, "%s (-base +head):\n%s", what, shortened(diff))
		}
	}
	if o.status != other.status {
		fmt.Fprintf(&b, "status %d, was %d\n", other.status, o.status)
	}
	for _, name := range slices.Sorted(maps.Keys(union(o.files, other.files))) {
		show("file "+name, cmp.Diff(lines(o.files, name), lines(other.files, name)))
	}
	show("standard output", cmp.Diff(strings.SplitAfter(o.stdout, "\n"), strings.SplitAfter(other.stdout, "\n")))
	show("standard error", cmp.Diff(o.stderr, other.stderr))
	if !slices.Equal(alike(o.requests), alike(other.requests)) {
		show(fmt.Sprintf("requests, %d, were %d", len(other.requests), len(o.requests)), cmp.Diff(o.requests, other.requests))
	}
	return b.String()
}

// lines are those of a file; an empty one has one, and none that is not there.
func lines(files map[string]string, name string) []string {
	text, ok := files[name]
	if !ok {
		return nil
	}
	return strings.SplitAfter(text, "\n")
}

func union[V any](a, b map[string]V) map[string]V {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// shortened is the beginning of a difference that is long.
func shortened(diff string) string {
	const most = 40
	lines := strings.SplitAfter(diff, "\n")
	if len(lines) <= most {
		return diff
	}
	return strings.Join(lines[:most], "") + fmt.Sprintf("… %d more lines\n", len(lines)-most)
}
