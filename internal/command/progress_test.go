package command

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vbauerster/mpb/v8"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox"
)

// frame is more than the time between two pictures of the bars.
const frame = time.Second

func TestBarsShowWhatIsUnderWayAndThenVanish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // which also fails if a goroutine is left
		var out bytes.Buffer
		b := newBars(&out, mpb.WithAutoRefresh())
		aws := b.watch("hashicorp/aws 5.34.0 linux_amd64", 4<<20)
		evil := b.watch("acme/\x1b[2Jevil 1.0.0 linux_amd64", 0)
		aws.Read(1 << 20)
		evil.Read(2 << 20)
		time.Sleep(frame)
		synctest.Wait()
		want := []string{"hashicorp/aws 5.34.0 linux_amd64 .* 1.0 MiB of 4.0 MiB", "acme/evil 1.0.0 linux_amd64 .* 2.0 MiB", "0 packages .* 3.0 MiB of 4.0 MiB"}
		checkScreen(t, "under way", out.String(), want...)

		evil.Done(nil)
		aws.Read(1 << 20)
		time.Sleep(frame)
		synctest.Wait()
		checkScreen(t, "one arrived", out.String(), "hashicorp/aws 5.34.0 linux_amd64 .* 2.0 MiB of 4.0 MiB", "1 package .* 4.0 MiB of 6.0 MiB")

		if _, err := b.screen.Write([]byte("level=WARN msg=careful\n")); err != nil {
			t.Error(err)
		}
		aws.Done(errors.New("the line broke"))
		b.end()
		checkScreen(t, "at the end", out.String(), "^level=WARN msg=careful$")
	})
}

func TestBarsSayHowManyPackagesAreToCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := newBars(&out, mpb.WithAutoRefresh())
		b.fetching("acme/vpc/aws")
		b.announce(provider.Downloads{}) // all are known
		time.Sleep(frame)
		synctest.Wait()
		checkScreen(t, "with nothing to download", out.String(), "^module 1: acme/vpc/aws")

		for _, step := range []struct {
			when  string
			known provider.Downloads
			size  int64 // of a package that is downloaded then, and has two mebibytes
			want  string
		}{
			{"before a download", provider.Downloads{Packages: 40}, 0, `^0 of at most 40 packages .* 0 B$`},
			{"when the size of some is known", provider.Downloads{Sized: 30, Size: 900 << 20}, 0, `^0 of at most 40 packages .* 0 B of more than 900.0 MiB$`},
			{"when that of all is", provider.Downloads{Sized: 10, Size: 300 << 20}, 0, `^0 of at most 40 packages .* 0 B of about 1.2 GiB$`},
			{"after a download", provider.Downloads{}, 4 << 20, `^1 of at most 40 packages .* 2.0 MiB of about 1.2 GiB$`},
			{"when more are wanted", provider.Downloads{Packages: 2, Sized: 2, Size: 1 << 30}, 0, `^1 of at most 42 packages .* 2.0 MiB of about 2.2 GiB$`},
			{"after one that is larger than all", provider.Downloads{}, 4 << 30, `^2 of at most 42 packages .* 4.0 MiB of about 2.2 GiB$`},
		} {
			b.announce(step.known)
			if step.size > 0 {
				d := b.watch("hashicorp/aws 5.34.0 linux_amd64", step.size)
				d.Read(2 << 20)
				d.Done(nil)
			}
			time.Sleep(frame)
			synctest.Wait()
			checkScreen(t, step.when, out.String(), step.want)
		}
		b.end()
		checkScreen(t, "at the end", out.String())
	})
}

func TestALineShowsWhichModuleIsFetched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := newBars(&out, mpb.WithAutoRefresh())
		b.fetching("acme/vpc/aws")
		b.fetching("git::https://example.com/x\x1b[2J.git")
		b.fetching("acme/vpc/aws")
		time.Sleep(frame)
		synctest.Wait()
		checkScreen(t, "under way", out.String(), "^module 2: acme/vpc/aws")

		d := b.watch("hashicorp/aws 5.34.0 linux_amd64", 4<<20)
		time.Sleep(frame)
		synctest.Wait()
		checkScreen(t, "then", out.String(), "hashicorp/aws 5.34.0", "0 packages")
		d.Done(nil)
		b.fetching("acme/late/aws")
		time.Sleep(frame)
		b.end()
		checkScreen(t, "at the end", out.String())
	})
}

// checkScreen compares what a terminal shows with a pattern for each line.
func checkScreen(t *testing.T, when, out string, patterns ...string) {
	t.Helper()
	got := screen(out)
	if len(got) != len(patterns) {
		t.Fatalf("%s the screen has %q, want lines like %q", when, got, patterns)
	}
	for i, p := range patterns {
		if !regexp.MustCompile(p).MatchString(got[i]) {
			t.Errorf("%s line %d is %q, want it like %q", when, i+1, got[i], p)
		}
	}
}

// A narrow terminal has the name of a package cut, never what has come of it.
func TestNarrowBarsCutTheName(t *testing.T) {
	t.Parallel()
	for width, want := range map[int][]string{
		80: {
			"registry.example.com/acme/aws 5.34.0 linux_amd64  [>-] 10.0 MiB of 40.0 MiB, 25%",
			"acme/x 1.0.0                                      [--] 512.0 KiB of 40.0 MiB, 1%",
			"0 of at most 40 packages                         10.5 MiB of more than 900.0 MiB",
		},
		60: {
			"….com/acme/aws 5.34.0 linux_amd64  10.0 MiB of 40.0 MiB, 25%",
			"acme/x 1.0.0                       512.0 KiB of 40.0 MiB, 1%",
			"0 of at most 40 packages     10.5 MiB of more than 900.0 MiB",
		},
		40: {"… linux_amd64  10.0 MiB of 40.0 MiB, 25%", "acme/x 1.0.0   512.0 KiB of 40.0 MiB, 1%", "0 of 40  10.5 MiB of more than 900.0 MiB"},
	} {
		t.Run(strconv.Itoa(width), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				b := newBars(&out, mpb.WithAutoRefresh(), mpb.WithWidth(width))
				b.announce(provider.Downloads{Packages: 40, Sized: 30, Size: 900 << 20})
				long, short := b.watch("registry.example.com/acme/aws 5.34.0 linux_amd64", 40<<20), b.watch("acme/x 1.0.0", 40<<20)
				long.Read(10 << 20)
				short.Read(512 << 10)
				time.Sleep(frame)
				synctest.Wait()
				if diff := cmp.Diff(want, screen(out.String())); diff != "" {
					t.Errorf("the screen is (-want +got):\n%s", diff)
				}
				long.Done(nil)
				short.Done(nil)
				b.end()
			})
		})
	}
}

// eraseAbove is what mpb writes before each picture: up n lines, erase from there.
var eraseAbove = regexp.MustCompile(`\x1b\[(\d+)A\x1b\[J`)

// screen is what is on a terminal after the text has been written to it.
func screen(text string) []string {
	var shown []string
	for text != "" {
		at := eraseAbove.FindStringSubmatchIndex(text)
		if at != nil && at[0] == 0 {
			n, _ := strconv.Atoi(text[at[2]:at[3]]) // digits alone
			shown, text = shown[:len(shown)-n], text[at[1]:]
			continue
		}
		line, rest, _ := strings.Cut(text, "\n")
		shown, text = append(shown, line), rest
	}
	return shown
}

func TestBarsSurviveTheTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBars(broken{}, mpb.WithAutoRefresh())
		b.announce(provider.Downloads{Packages: 2, Sized: 2, Size: 20})
		first := b.watch("acme/tool 1.0.0 linux_amd64", 10)
		time.Sleep(frame)
		second := b.watch("acme/tool 1.0.0 darwin_arm64", 10)
		first.Read(10)
		second.Read(10)
		first.Done(nil)
		second.Done(nil)
		b.end()
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no terminal any more") }

func TestALogHasALineForAllPackages(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &lines{w: &out}
	aws, evil, lost := l.watch("hashicorp/aws 5.34.0 linux_amd64", 4<<20), l.watch("acme/evil\n1.0.0", 0), l.watch("acme/lost 1.0.0", 7)
	aws.Read(1 << 20)
	evil.Read(1 << 20)
	aws.Read(3 << 20)
	lost.Read(3)
	aws.Done(nil)
	lost.Done(errors.New("the line broke"))
	evil.Done(nil)
	l.end()
	if want := "downloaded 2 packages, 5.0 MiB\n"; out.String() != want {
		t.Errorf("the log is %q, want %q", out.String(), want)
	}
}

// A line every half minute says how far a long download is, and none of a short one.
func TestALogSaysHowFarALongDownloadIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := &lines{w: &out}
		short := l.watch("acme/short 1.0.0", 1<<20)
		short.Read(1 << 20)
		time.Sleep(silence - time.Second)
		short.Done(nil)
		time.Sleep(2 * silence) // nothing is under way

		aws, lost, unsized := l.watch("hashicorp/aws 5.34.0", 100<<20), l.watch("acme/lost 1.0.0", 50<<20), l.watch("acme/unsized 1.0.0", 0)
		aws.Read(30 << 20)
		lost.Read(10 << 20)
		time.Sleep(silence + time.Second)
		lost.Done(errors.New("the line broke"))
		unsized.Read(2 << 20)
		unsized.Done(nil)
		time.Sleep(2 * silence)
		aws.Read(70 << 20)
		aws.Done(nil)
		l.end()
		time.Sleep(2 * silence)
		want := "still downloading: 1 of 4 packages, 41.0 MiB of more than 151.0 MiB\n" +
			"still downloading: 2 of 3 packages, 33.0 MiB of 103.0 MiB\n" +
			"still downloading: 2 of 3 packages, 33.0 MiB of 103.0 MiB\n" +
			"downloaded 3 packages, 103.0 MiB\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
	})
}

// TestProgressByFormat runs the program with a pipe for standard error.
func TestProgressByFormat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		format string
		lines  int
	}{{"text", 1}, {"markdown", 1}, {"json", 0}} {
		t.Run(tt.format, func(t *testing.T) {
			t.Parallel()
			s := serveText(t, "-- registry/registry.terraform.io/acme/tool --\nversions: [1.0.0]\n")
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "main.tf"), "terraform {\n  required_providers {\n    tool = { source = \"acme/tool\" }\n  }\n}\n")
			status, stderr := runPiped(t, s, dir, "upgrade", "--format", tt.format, "--platform", "linux_amd64", "--platform", "darwin_arm64", ".")
			if n := len(regexp.MustCompile(`(?m)^downloaded 2 packages, \d+ B$`).FindAllString(stderr, -1)); status != ExitOK || n != tt.lines || strings.Count(stderr, "\n") != tt.lines {
				t.Errorf("status %d, standard error is %q, want %d lines about two packages", status, stderr, tt.lines)
			}
		})
	}
}

// transcript is what a person sees of both streams of a program: the pieces in their order.
type transcript struct {
	mu     sync.Mutex
	pieces []piece
}

type piece struct{ stream, text string }

// stream is one of the streams of a transcript.
type stream struct {
	of   *transcript
	name string
}

func (s stream) Write(p []byte) (int, error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.pieces = append(s.of.pieces, piece{s.name, string(p)})
	return len(p), nil
}

// TestTheReportFollowsTheTalk holds that everything on standard error comes before the
// report, and that both streams end a line before the other one goes on, and at the end.
func TestTheReportFollowsTheTalk(t *testing.T) {
	t.Parallel()
	s := serveText(t, "-- registry/registry.terraform.io/acme/tool --\nversions: [1.0.0, 1.1.0]\n")
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "main.tf"), "terraform {\n  required_providers {\n    tool = { source = \"acme/tool\" }\n  }\n}\n")
	writeFile(t, filepath.Join(dir, ".terraform.lock.hcl"), "provider \"registry.terraform.io/acme/tool\" {\n  version = \"1.0.0\"\n}\n")
	rc := filepath.Join(t.TempDir(), "terraformrc")
	writeFile(t, rc, s.CLIConfig())
	vars := map[string]string{"TF_CLI_CONFIG_FILE": rc, "XDG_DATA_DIRS": filepath.Join(dir, "none")}
	for _, args := range []string{
		"scan", "scan --format json", "why tool", "check", "check --summary", "check --lock --stats", "check --format markdown",
		"check --format markdown --max-bytes 70", "check --format html", "check --format sarif", "check --format json",
		"verify", "verify --format markdown", "upgrade --format markdown", "upgrade", "upgrade --format markdown .", "diff a b",
	} {
		var log transcript
		Main(t.Context(), Env{
			Args: strings.Fields(args), Stdout: stream{&log, "out"}, Stderr: stream{&log, "err"}, WorkDir: dir, Home: t.TempDir(), GOOS: "linux",
			Build: Build{Version: "test"}, Getenv: func(name string) string { return vars[name] },
		})
		if len(log.pieces) == 0 {
			t.Errorf("%s prints nothing", args)
		}
		for i, p := range log.pieces {
			ends := i == len(log.pieces)-1 || log.pieces[i+1].stream != p.stream
			if ends && !strings.HasSuffix(p.text, "\n") || i > 0 && p.stream == "err" && log.pieces[i-1].stream == "out" {
				t.Errorf("%s: %s piece %d of %d, %q, does not end its line or follows the report", args, p.stream, i+1, len(log.pieces), p.text)
			}
		}
	}
}

// TestALogEndsWithItsRun holds that a download that nobody ended says nothing into the
// report that follows.
func TestALogEndsWithItsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := &lines{w: &out}
		left := l.watch("acme/left 1.0.0", 1<<20)
		l.end()
		time.Sleep(2 * silence)
		left.Done(nil)
		if out.Len() > 0 {
			t.Errorf("after its end, the log says %q", out.String())
		}
	})
}

func runPiped(t *testing.T, s *sandbox.Sandbox, dir string, args ...string) (int, string) {
	t.Helper()
	rc := filepath.Join(t.TempDir(), "terraformrc")
	writeFile(t, rc, s.CLIConfig())
	env := map[string]string{"TF_CLI_CONFIG_FILE": rc, "XDG_DATA_DIRS": filepath.Join(dir, "none")}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out, talk bytes.Buffer
	status := Main(t.Context(), Env{
		Args: args, Stdout: &out, Stderr: w, WorkDir: dir, Home: t.TempDir(), GOOS: "linux", Build: Build{Version: "test"},
		Getenv: func(name string) string { return env[name] },
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := talk.ReadFrom(r); err != nil { // it fits into the pipe
		t.Fatal(err)
	}
	return status, talk.String()
}
