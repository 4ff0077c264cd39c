package command

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/random"
)

// TestTerraformAgreesInTheWild compares as TestTerraformAgrees does, in worlds that are
// less tidy, and of three runs: providers lock with lock --exact, init -upgrade with
// upgrade, and both commands with upgrade --exact. A fifth of the rounds is played.
//
//	go test ./internal/command -run AgreesInTheWild -rounds 10000
func TestTerraformAgreesInTheWild(t *testing.T) {
	t.Parallel()
	agreesInTheWild(t, "terraform")
}

// TestTofuAgreesInTheWild does so with the real tofu.
func TestTofuAgreesInTheWild(t *testing.T) {
	t.Parallel()
	agreesInTheWild(t, "tofu")
}

func agreesInTheWild(t *testing.T, tool string) {
	agrees(t, tool, *rounds/5, func(t *testing.T, program string, as []string, seed uint64) {
		agreeInTheWild(t, program, as, seed, tool == "tofu")
	})
}

// wildWorld makes a world of a seed. One that the sandbox cannot serve, since a release
// has something of a package that it lacks, makes way for another.
func wildWorld(t *testing.T, seed uint64, tofu bool) (*random.Wild, *sandbox.World) {
	t.Helper()
	for {
		x := random.NewWild(seed, tofu)
		world, err := sandbox.ParseWorld(&x.Archive)
		if err == nil {
			return x, world
		}
		if !strings.Contains(err.Error(), "has no package for") {
			t.Fatal(err)
		}
		seed += 1 << 32
	}
}

// moreStrict matches what the tools refuse in configuration that has requirements all
// the same, which relock is not there to find, and where they crash.
var moreStrict = regexp.MustCompile("Missing required provider configuration|Provider type mismatch|Module is incompatible with count|undefined provider|panic: ")

func agreeInTheWild(t *testing.T, program string, as []string, seed uint64, tofu bool) {
	x, world := wildWorld(t, seed, tofu)
	s := serve(t, world, nil)
	home, top := t.TempDir(), filepath.Join(t.TempDir(), "repository")
	root := filepath.Join(top, "root")
	writeWild(t, x, s, home, top, as)
	cli := strings.NewReplacer("@MIRROR@", s.Mirror(), "@MIRRORDIR@", filepath.Join(home, "mirror")).Replace(x.Installation)
	theirs := filepath.Join(t.TempDir(), "repository")
	if err := os.CopyFS(theirs, os.DirFS(top)); err != nil {
		t.Fatal(err)
	}

	init, lock, get := []string{"init", "-upgrade", "-input=false", "-no-color"}, []string{"providers", "lock"}, []string{"get", "-no-color"}
	platforms := strings.Join(judgedPlatforms, ",")
	for _, p := range judgedPlatforms {
		lock = append(lock, "-platform="+p)
	}
	commands, args := [][]string{init, lock}, []string{"upgrade", "--exact", "--platform", platforms}
	switch seed % 4 {
	case 0:
		commands, args = [][]string{get, lock}, []string{"lock", "--exact", "--platform", platforms}
	case 1:
		commands, args = [][]string{init}, []string{"upgrade", "--platform", judgedPlatforms[0]}
	}
	judged, output := runTools(t, program, s, filepath.Join(theirs, "root"), home, cli, commands...)
	before := readLock(t, root)
	status, said := session{cli: cli, home: home}.run(t, s, root, append(append(args, as...), ".")...)
	what := fmt.Sprintf("relock %s:\n%s\nthe tool:\n%s\nbefore:\n%s\n%s", args, said, output, before, x)
	want, got := before, readLock(t, root) // what a failure of any command leaves
	if judged {
		want = readLock(t, filepath.Join(theirs, "root"))
	}
	exact := len(commands) == 2
	switch ok := status == ExitOK; {
	case !judged && moreStrict.MatchString(output):
	case ok != judged:
		t.Errorf("relock succeeded: %v, the tool: %v\n%s", ok, judged, what)
	case !exact && !judged: // what did not fail is written
	default:
		if !exact {
			want, got = installed(want), installed(got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("lock file (-tool +relock):\n%s\n%s", diff, what)
		}
	}
}

// writeWild lays the repository of a world out, with the old lock file of a tool, and
// the packages of its mirror below the home directory.
func writeWild(t *testing.T, x *random.Wild, s *sandbox.Sandbox, home, top string, as []string) {
	t.Helper()
	for at, content := range x.Packages {
		at = filepath.Join(home, "mirror", filepath.FromSlash(at))
		if strings.HasSuffix(at, ".zip") {
			write(t, at, zipped(t, content))
			continue
		}
		write(t, at, []byte(content))
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root := filepath.Join(top, "root")
	main := filepath.Join(root, "main.tf")
	if x.Earlier != "" {
		write(t, main, []byte(x.Earlier))
		if status, _ := runIn(t, s, root, append([]string{"upgrade", "--platform", "linux_amd64", "--platform", x.Platform, "."}, as...)...); status == ExitOK {
			writeFile(t, filepath.Join(root, lockfile.Name), x.Spoil(readLock(t, root)))
		}
	}
	for _, f := range x.Files {
		write(t, filepath.Join(top, filepath.FromSlash(f.Name)), f.Data)
	}
}

// zipped is a package of a program.
func zipped(t *testing.T, program string) []byte {
	t.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	w, err := z.Create(program)
	if err == nil {
		_, err = w.Write([]byte(program))
	}
	if err != nil || z.Close() != nil {
		t.Fatal("the package cannot be made: ", err)
	}
	return archive.Bytes()
}

// installed is what init decides of a lock file. Without --exact relock also writes
// where constraints alone differ, and keeps hashes of schemes that it does not know.
func installed(lock string) string {
	lock = strings.ReplaceAll(strings.TrimPrefix(lock, "\ufeff"), "\r", "")
	lock = regexp.MustCompile(`(?m)^( +constraints |#|    "(ZH|nothing|h2|h3):).*\n`).ReplaceAllString(lock, "")
	return strings.ReplaceAll(strings.Join(strings.Fields(lock), " "), "hashes=[", "hashes = [")
}
